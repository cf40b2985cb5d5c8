//! The text of a TOML file that is edited: comments, order, a byte order mark and the ends of lines stay. Pure.

use toml_edit::{DocumentMut, Item, RawString, TableLike, Value, value};

/// Some editors write this before the first line of a file.
pub(super) const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// The document of a text.
///
/// # Errors
/// It is not TOML: which line is wrong, and why. The line itself, which may hold a key, is not quoted.
pub(super) fn parsed(text: &str) -> Result<DocumentMut, String> {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    body.parse().map_err(|error: toml_edit::TomlError| {
        let line = error.span().map_or(1, |span| body[..span.start].matches('\n').count() + 1);
        format!("line {line} is wrong: {}", error.message().lines().next().unwrap_or_default())
    })
}

/// Sets a key of a table. A comment behind the value stays.
pub(super) fn set(table: &mut dyn TableLike, key: &str, new: impl Into<Value>) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(known) => {
            let mut decor = known.decor().clone();
            if !decor.suffix().and_then(RawString::as_str).is_some_and(|text| text.contains('#')) {
                decor.set_suffix("");
            }
            *known = new.into();
            *known.decor_mut() = decor;
        }
        None => drop(table.insert(key, value(new))),
    }
}

/// An edited document as the text `old` that it was parsed from is written.
pub(super) fn written(old: &str, document: &DocumentMut) -> String {
    let new = document.to_string();
    // The parser makes all ends of lines line feeds.
    let new = if old.contains("\r\n") { new.replace('\n', "\r\n") } else { new };
    if old.starts_with(BYTE_ORDER_MARK) { format!("{BYTE_ORDER_MARK}{new}") } else { new }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_edited_stays_byte_for_byte() {
        for text in ["", "a = 1\n", "a = 1\r\n# b\r\n[c]\r\nd = \"e\"\r\n", "\u{FEFF}a = 1\n", "\u{FEFF}a = 1\r\n\r\n"]
        {
            assert_eq!(written(text, &parsed(text).unwrap()), text);
        }
        let text = "a = 1\r\n";
        let mut document = parsed(text).unwrap();
        document["b"] = toml_edit::value(2);
        assert_eq!(written(text, &document), "a = 1\r\nb = 2\r\n");
        assert!(parsed("a = 1\n\nb = key\n").unwrap_err().starts_with("line 3 is wrong: "));
    }
}
