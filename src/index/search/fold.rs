//! Comparing names as people type them: letter case and Unicode composition do not count.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// `text` in lower case and composed form (NFC), so that `Übersicht` as typed finds the decomposed name
/// that macOS gave the file.
pub(super) fn fold(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        return Cow::Owned(text.to_lowercase().nfc().collect());
    }
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_composition_do_not_count() {
        for (a, b) in [("Plan", "pLAN"), ("Übersicht", "u\u{308}bersicht"), ("ПЛАН", "план")] {
            assert_eq!(fold(a), fold(b), "{a}");
        }
        assert_ne!(fold("plan"), fold("plane"));
    }
}
