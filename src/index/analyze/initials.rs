//! The first letters of words that are looked for: most words of a text begin with other letters, and can be ruled out
//! without stemming them.

use crate::Language;

/// First ASCII bytes of normal forms, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Initials(u128);

impl Initials {
    /// The first bytes of these normal forms.
    pub(crate) fn of<'a>(forms: impl IntoIterator<Item = &'a str>) -> Self {
        let bytes = forms.into_iter().filter_map(|form| form.as_bytes().first()).filter(|byte| byte.is_ascii());
        Initials(bytes.fold(0, |bits, byte| bits | 1 << byte))
    }

    /// Whether a normal form in this language keeps the first letter of its word: Dutch stems lose a `ge-`.
    pub(super) fn tell(language: Option<Language>) -> bool {
        matches!(language, None | Some(Language::English))
    }

    /// Whether a word as written in a text may have one of the forms. Only a letter or digit of ASCII can rule it out,
    /// for it is sure to become its lower case and nothing else.
    pub(super) fn may_begin(self, word: &str) -> bool {
        match word.as_bytes().first() {
            Some(byte) if byte.is_ascii_alphanumeric() => self.0 >> byte.to_ascii_lowercase() & 1 == 1,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
