//! Lists of short texts in one allocation: the headings of a million chunks alone would be some three million
//! allocations.

use std::fmt;

/// A list of texts, without room to grow.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PackedStrings(Box<[u8]>);

/// The headings above each chunk of a note, outermost first. Each chunk stores only how its path differs from that of
/// the chunk before it: most are under some of the same headings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadingPaths(Box<[u8]>);

/// Packed texts, in order.
#[derive(Clone)]
pub struct PackedIter<'a>(&'a [u8]);

/// Bits of a number in each byte, the lowest first; the highest bit says that more follow (LEB128, as in DWARF 5, 7.6).
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;
/// Bytes of the longest number.
pub(super) const LONGEST_NUMBER: usize = (usize::BITS as usize).div_ceil(BITS as usize);

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
        self.iter().to_vec()
    }
}

impl<T: AsRef<str>> FromIterator<T> for PackedStrings {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut bytes = Vec::new();
        texts.into_iter().for_each(|text| put_text(text.as_ref(), &mut bytes));
        PackedStrings(bytes.into())
    }
}

impl HeadingPaths {
    /// The paths as they are packed.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Paths that [`HeadingPaths::bytes`] gave.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        HeadingPaths(bytes.into())
    }

    /// The path of the chunk at this position; empty if there is none.
    pub fn get(&self, position: u32) -> Vec<String> {
        self.path(position).unwrap_or_default().into_iter().map(str::to_owned).collect()
    }

    fn path(&self, position: u32) -> Option<Vec<&str>> {
        let (mut rest, mut path) = (&*self.0, Vec::new());
        for _ in 0..=position {
            let (shared, more) = (take_number(&mut rest)?, take_number(&mut rest)?);
            path.truncate(shared);
            for _ in 0..more {
                path.push(take_text(&mut rest)?);
            }
        }
        Some(path)
    }
}

impl<P: IntoIterator<Item: AsRef<str>>> FromIterator<P> for HeadingPaths {
    fn from_iter<I: IntoIterator<Item = P>>(paths: I) -> Self {
        let (mut bytes, mut before) = (Vec::new(), Vec::new());
        for path in paths {
            let path: Vec<P::Item> = path.into_iter().collect();
            let shared = path.iter().zip(&before).take_while(|(one, other)| one.as_ref() == P::Item::as_ref(other));
            let shared = shared.count();
            put_number(shared, &mut bytes);
            put_number(path.len() - shared, &mut bytes);
            path[shared..].iter().for_each(|heading| put_text(heading.as_ref(), &mut bytes));
            before = path;
        }
        HeadingPaths(bytes.into())
    }
}

pub(super) fn put_number(mut number: usize, bytes: &mut Vec<u8>) {
    while number >= usize::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= BITS;
    }
    bytes.push(number as u8);
}

pub(super) fn put_text(text: &str, bytes: &mut Vec<u8>) {
    put_bytes(text.as_bytes(), bytes);
}

/// Appends bytes, preceded by their number.
pub(super) fn put_bytes(some: &[u8], bytes: &mut Vec<u8>) {
    put_number(some.len(), bytes);
    bytes.extend_from_slice(some);
}

/// Bytes that texts take when they are packed one behind the other.
pub(super) fn packed_length(texts: &[impl AsRef<str>]) -> usize {
    let length = |text: usize| (usize::BITS - text.leading_zeros()).div_ceil(BITS).max(1) as usize + text;
    texts.iter().map(|text| length(text.as_ref().len())).sum()
}

pub(super) fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(byte & !MORE) << shift;
        if byte & MORE == 0 {
            return Some(number);
        }
        shift += BITS;
    }
}

pub(super) fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    std::str::from_utf8(take_bytes(bytes)?).ok()
}

/// Takes so many bytes.
pub(super) fn taken<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

/// Takes as many bytes as the number before them says.
pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_number(bytes)?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

impl<'a> PackedIter<'a> {
    /// Over texts that were packed one behind the other.
    pub(super) fn of(texts: &'a [u8]) -> Self {
        PackedIter(texts)
    }

    /// The texts that are left, one by one.
    pub fn to_vec(&self) -> Vec<String> {
        self.clone().map(str::to_owned).collect()
    }
}

impl fmt::Debug for PackedIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<'a> Iterator for PackedIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        take_text(&mut self.0)
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
        self.iter().fmt(f)
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
            prop_assert_eq!(packed.0.len(), packed_length(&texts));
            prop_assert_eq!(packed.is_empty(), texts.is_empty());
            prop_assert_eq!(format!("{packed:?}"), format!("{texts:?}"));
        }
    }

    proptest! {
        #[test]
        fn paths_are_what_was_packed(paths in proptest::collection::vec(proptest::collection::vec("[ab]{0,2}", 0..4), 0..9)) {
            let packed: HeadingPaths = paths.iter().collect();
            for (position, path) in (0..).zip(&paths) {
                prop_assert_eq!(&packed.get(position), path, "{}", position);
            }
            prop_assert!(packed.get(paths.len() as u32).is_empty() && packed.get(u32::MAX).is_empty());
        }
    }

    #[test]
    fn a_heading_takes_its_room_once() {
        let long = "x".repeat(1000);
        let paths: HeadingPaths =
            [vec![&*long], vec![&*long, "a"], vec![&*long, "a"], vec![&*long, "b"]].into_iter().collect();
        assert!(paths.0.len() < 1020, "{}", paths.0.len());
    }

    #[test]
    fn a_long_text_keeps_its_length() {
        let texts = ["x".repeat(127), "é".repeat(64), "y".repeat(16_384), "z".repeat(3 << 20), String::new()];
        assert_eq!(texts.iter().collect::<PackedStrings>().to_vec(), texts);
    }
}
