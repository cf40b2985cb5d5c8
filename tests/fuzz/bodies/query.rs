//! The query language.

use jiff::civil::{Date, date};

use super::query::{Parsed, Required, parse};

/// A query. Of what is understood no word is made up, and what operators join prints as a query that prints the same.
pub fn query(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let today = date(2026, 11, 24);
    let Ok(parsed) = parse(text, today) else { return };
    assert_eq!(parse(text, today).as_ref(), Ok(&parsed), "equal query, equal meaning");
    let _ = (parsed.text(), parsed.unknown_elsewhere(), parsed.lexical(true));
    for words in [&parsed.words].into_iter().chain(&parsed.phrases).chain(&parsed.without) {
        for word in words.split_whitespace() {
            assert!(text.contains(word), "{word:?} was not typed");
        }
    }
    if let Some(required) = &parsed.required {
        printed(required, today);
    }
}

/// What operators join says the same when it is printed as the user could have typed it. A word with a bracket or a quote of
/// its own is left out: what is printed is shown, and not read again.
fn printed(required: &Required, today: Date) {
    if !is_plain(required) {
        return;
    }
    let typed = required.typed();
    let Ok(Parsed { required: Some(again), .. }) = parse(&typed, today) else { return };
    assert_eq!(again.typed(), typed, "printed once, printed the same");
}

fn is_plain(required: &Required) -> bool {
    match required {
        Required::One { typed, .. } => typed.chars().all(char::is_alphanumeric),
        Required::Not(part) => is_plain(part),
        Required::All(parts) | Required::Any(parts) => parts.iter().all(is_plain),
    }
}

#[cfg(test)]
#[allow(clippy::duplicate_mod, reason = "each body stands alone")]
#[path = "../kept.rs"]
mod kept;

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn queries() {
        kept::run("query", 6_000, super::query);
    }
}
