//! Comparing names as people type them: letter case and Unicode composition do not count.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// `text` in lower case and composed form (NFC), so that `Übersicht` as typed finds the decomposed name
/// that macOS gave the file.
pub fn fold(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        return Cow::Owned(text.to_lowercase().nfc().collect());
    }
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests;
