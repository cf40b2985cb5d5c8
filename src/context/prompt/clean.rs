//! A model's text made into a context: one line of plain words.

use crate::document::is_unseen;

/// Rounds of cleaning at most. One or two are enough for anything that a model writes in earnest; what needs
/// more was built to get through, and is dropped.
const MOST_ROUNDS: usize = 32;

/// The most characters that a word has on average: a cap for text without spaces.
const WORD_CHARS: usize = 10;

/// What models put before their answer.
const LABELS: [&str; 5] = ["caption", "search caption", "context", "answer", "summary"];

/// Quotes that may stand around the whole.
const QUOTES: [(char, char); 8] =
    [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’'), ('«', '»'), ('„', '“'), ('「', '」'), ('»', '«')];

/// Plain text in one line, of at most `most_words` words.
///
/// Markup goes: links become their text, addresses are removed, as are emphasis, the marks of headings, lists
/// and quotations, a code fence around the whole, a label (`Caption:`), quotes around the whole, and our own
/// passage marks. So do characters nobody sees. Control characters become U+FFFD, which stays: the gate should
/// see that a text was garbled. HTML and JSON stay for the same reason. Cleaning again changes nothing.
pub fn clean(text: &str, most_words: usize) -> String {
    let most_chars = most_words.saturating_mul(WORD_CHARS);
    // Markup is longer than what it shows, but not without bounds.
    let input = text.char_indices().nth(most_chars.saturating_mul(4)).map_or(text, |(end, _)| &text[..end]);
    let mut now = visible(input);
    for _ in 0..MOST_ROUNDS {
        let next = round(&now, most_words, most_chars);
        if next == now {
            return now;
        }
        now = next;
    }
    String::new()
}

fn visible(text: &str) -> String {
    let seen = |c: char| match c {
        c if c.is_whitespace() => Some(c),
        c if c.is_control() => Some('\u{fffd}'),
        c if is_unseen(c) => None,
        c => Some(c),
    };
    text.chars().filter_map(seen).collect()
}

fn round(text: &str, most_words: usize, most_chars: usize) -> String {
    let text = unfenced(text.trim());
    let lines: Vec<&str> = text.lines().map(|line| without_block_marks(line.trim())).collect();
    let text = without_links(&lines.join(" "));
    let text = without_emphasis(&text);
    let text = without_addresses(&text);
    let text = text.split_whitespace().take(most_words).collect::<Vec<_>>().join(" ");
    let text = text.char_indices().nth(most_chars).map_or(text.as_str(), |(end, _)| &text[..end]).trim();
    let text = without_quotes(without_label(without_quotes(text)));
    text.to_owned()
}

/// The text in a code fence, if there is nothing around the fence.
pub(super) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|text| text.split_once('\n')).map(|(_, inner)| inner);
    match inner {
        Some(inner) => inner.trim_end().strip_suffix("```").unwrap_or(inner).trim(),
        None => text,
    }
}

/// Without the marks of headings, quotations and bullets. Numbers stay: `1. FC Köln` is no list.
fn without_block_marks(line: &str) -> &str {
    let mut line = line;
    loop {
        let hashes = line.len() - line.trim_start_matches('#').len();
        line = if (1..=6).contains(&hashes) && line[hashes..].starts_with([' ', '\t']) {
            line[hashes..].trim_start()
        } else if let Some(rest) = ["- ", "* ", "+ ", "> ", "• "].iter().find_map(|mark| line.strip_prefix(mark)) {
            rest.trim_start()
        } else {
            return line;
        };
    }
}

/// Links and images as their text, and without our own marks (`⟦3⟧`).
fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', '!', '⟦']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((shown, after)) = link(rest.strip_prefix('!').unwrap_or(rest)) {
            out.push_str(shown);
            rest = after;
        } else if let Some(after) = our_mark(rest) {
            rest = after;
        } else {
            let first = rest.chars().next().map_or(rest.len(), char::len_utf8);
            out.push_str(&rest[..first]);
            rest = &rest[first..];
        }
    }
    out.push_str(rest);
    out
}

/// The text of the link that `text` begins with, and what follows it. Links are short: looking far for an end
/// would take for ever on text made of beginnings.
fn link(text: &str) -> Option<(&str, &str)> {
    let near = &text[..text.floor_char_boundary(600.min(text.len()))];
    if let Some(inner) = near.strip_prefix("[[") {
        let end = inner.find("]]").filter(|end| !inner[..*end].contains("[["))?;
        let shown = inner[..end].rsplit_once('|').map_or(&inner[..end], |(_, alias)| alias);
        return Some((shown, &text[end + 4..]));
    }
    let inner = near.strip_prefix('[')?;
    let middle = inner.find("](").filter(|end| !inner[..*end].contains('['))?;
    let end = middle + inner[middle..].find(')')?;
    Some((&inner[..middle], &text[end + 2..]))
}

/// What follows the passage mark that `text` begins with.
fn our_mark(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('⟦')?;
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    inner.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('⟧')
}

/// Without the stars, underscores, backticks and pairs of `~` and `=` that stress or mark a word. Single marks
/// between blanks and within words (`5 * 3`, `snake_case`) are left.
fn without_emphasis(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        if !matches!(c, '*' | '_' | '`' | '~' | '=') {
            out.push(c);
            before = c;
            continue;
        }
        let mut length = 1;
        while chars.next_if_eq(&c).is_some() {
            length += 1;
        }
        let after = chars.peek().copied().unwrap_or(' ');
        let within = before.is_alphanumeric() && after.is_alphanumeric();
        let beside = before.is_whitespace() && after.is_whitespace();
        let marks = match c {
            '`' => true,
            '*' => !beside && (length > 1 || !within),
            '_' => !within && !beside,
            _ => length == 2 && !beside,
        };
        if !marks {
            out.extend(std::iter::repeat_n(c, length));
            before = c;
        }
    }
    out
}

/// Without addresses of the web, bare or in brackets. A full stop behind one belongs to the sentence.
fn without_addresses(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let bytes = word.as_bytes();
        let is_there = |at: usize, address: &str| {
            bytes.get(at..at + address.len()).is_some_and(|b| b.eq_ignore_ascii_case(address.as_bytes()))
        };
        let begins = |at: &usize| ["http://", "https://", "www."].iter().any(|address| is_there(*at, address));
        // All begin with an ASCII letter, so `start` is at a character boundary.
        let Some(start) = (0..bytes.len()).find(begins) else {
            push_word(&mut out, word);
            continue;
        };
        let rest = &word[start..];
        let close = ['>', ')', ']', '"'];
        let end = rest.find(close).unwrap_or(rest.trim_end_matches(['.', ',', ';', '!', '?']).len());
        push_word(&mut out, word[..start].trim_end_matches(['<', '(', '[', '"']));
        let after = rest[end..].trim_start_matches(close);
        match after {
            "." | "!" | "?" => out.push_str(after),
            "," | ";" => {}
            after => push_word(&mut out, after),
        }
    }
    out
}

fn push_word(out: &mut String, word: &str) {
    if !out.is_empty() && !word.is_empty() {
        out.push(' ');
    }
    out.push_str(word);
}

fn without_label(text: &str) -> &str {
    let Some((label, rest)) = text.split_once(':') else { return text };
    let known = LABELS.iter().any(|known| known.eq_ignore_ascii_case(label.trim()));
    if known && !rest.trim().is_empty() { rest.trim() } else { text }
}

/// Without the quotes around the whole, if they are a pair and no other such quote stands within.
fn without_quotes(text: &str) -> &str {
    let inner = |(open, close): &(char, char)| {
        let inner = text.strip_prefix(*open)?.strip_suffix(*close)?;
        (!inner.contains([*open, *close])).then(|| inner.trim())
    };
    QUOTES.iter().find_map(inner).unwrap_or(text)
}

#[cfg(test)]
mod tests;
