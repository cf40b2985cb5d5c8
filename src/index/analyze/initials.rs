//! The letters that words begin with which are looked for: most words of a text begin with others, and need not be stemmed
//! to know that they are none of them.

use crate::Language;

/// First bytes of normal forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Initials(u128);

impl Initials {
    /// Those of some normal forms.
    pub(crate) fn of<'a>(forms: impl IntoIterator<Item = &'a str>) -> Self {
        let bytes = forms.into_iter().filter_map(|form| form.as_bytes().first()).filter(|byte| byte.is_ascii());
        Initials(bytes.fold(0, |bits, byte| bits | 1 << byte))
    }

    /// Whether words of this language keep what they begin with: Dutch ones lose a `ge-`.
    pub(super) fn tell(language: Option<Language>) -> bool {
        matches!(language, None | Some(Language::English))
    }

    /// Whether a word as it stands in a text may have one of the forms. Only of the letters and digits of ASCII is it sure
    /// what becomes of them: lower case, and nothing else.
    pub(super) fn may_begin(self, word: &str) -> bool {
        match word.as_bytes().first() {
            Some(byte) if byte.is_ascii_alphanumeric() => self.0 >> byte.to_ascii_lowercase() & 1 == 1,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
