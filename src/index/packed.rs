//! A list of short texts in one piece of memory: of a million chunks the headings alone would be some three million pieces.

use std::fmt;

/// A list of texts, without room to grow.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PackedStrings(Box<[u8]>);

/// The texts of [`PackedStrings`], in order.
#[derive(Clone)]
pub struct PackedIter<'a>(&'a [u8]);

/// Bits of a length in each byte, the lowest first; the highest bit says that more follow (LEB128, as in DWARF 5, 7.6).
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

impl PackedStrings {
    /// The texts, in order.
    pub fn iter(&self) -> PackedIter<'_> {
        PackedIter(&self.0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The texts, one by one.
    pub fn to_vec(&self) -> Vec<String> {
        self.iter().map(str::to_owned).collect()
    }
}

impl<T: AsRef<str>> FromIterator<T> for PackedStrings {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut bytes = Vec::new();
        for text in texts {
            let text = text.as_ref();
            let mut length = text.len();
            while length >= usize::from(MORE) {
                bytes.push(length as u8 | MORE);
                length >>= BITS;
            }
            bytes.push(length as u8);
            bytes.extend_from_slice(text.as_bytes());
        }
        PackedStrings(bytes.into())
    }
}

impl<'a> Iterator for PackedIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (mut length, mut shift) = (0, 0);
        loop {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            length |= usize::from(byte & !MORE) << shift;
            if byte & MORE == 0 {
                break;
            }
            shift += BITS;
        }
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

impl<'a> IntoIterator for &'a PackedStrings {
    type Item = &'a str;
    type IntoIter = PackedIter<'a>;

    fn into_iter(self) -> PackedIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for PackedStrings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_is_what_was_packed(texts in proptest::collection::vec(".{0,300}", 0..8)) {
            let packed: PackedStrings = texts.iter().collect();
            prop_assert_eq!(packed.to_vec(), texts.clone());
            prop_assert_eq!(packed.is_empty(), texts.is_empty());
            prop_assert_eq!(format!("{packed:?}"), format!("{texts:?}"));
        }
    }

    #[test]
    fn a_long_text_keeps_its_length() {
        let texts = ["x".repeat(127), "é".repeat(64), "y".repeat(16_384), "z".repeat(3 << 20), String::new()];
        assert_eq!(texts.iter().collect::<PackedStrings>().to_vec(), texts);
    }
}
