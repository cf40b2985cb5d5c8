//! The text of a TOML file that is edited: comments, order, a byte order mark and the ends of lines stay. Pure.

use toml_edit::DocumentMut;

/// Some editors write this before the first line of a file.
pub(super) const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// The document of a text.
///
/// # Errors
/// It is not TOML: the line, counted from 1, and what is wrong with it. The line itself, which may hold a key, is not quoted.
pub(super) fn parsed(text: &str) -> Result<DocumentMut, (usize, String)> {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    body.parse().map_err(|error: toml_edit::TomlError| {
        let line = error.span().map_or(1, |span| body[..span.start].matches('\n').count() + 1);
        (line, error.message().lines().next().unwrap_or_default().to_owned())
    })
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
        assert_eq!(parsed("a = 1\n\nb = key\n").unwrap_err().0, 3);
    }
}
