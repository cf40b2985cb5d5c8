//! Which words of a text still have to be written as they are spelt. The index has stems, and a typo may be in an
//! ending that the stem lacks. So the index also has every word as written, once or a few times, to compare misspelt
//! words with.

use crate::NoteNo;
use crate::hash::{ByHash, hash};

/// A bulk writes a spelling with this many notes: while one of them is unchanged, the spelling stays known.
const ENOUGH: u8 = 3;

/// Longest run between blanks that counts as a word or a few, in bytes; a longer one is data, an address or text
/// without blanks.
const LONGEST: usize = 48;

/// Counts the notes that each spelling was written with, by its hash, because a first index has hundreds of thousands
/// of spellings. If two of them share a hash, one may be missing as a correction, and nothing else happens.
#[derive(Default)]
pub(super) struct Spellings(ByHash<(NoteNo, u8)>);

impl Spellings {
    /// The words of a note's text that still have to be written as they are spelt.
    pub(super) fn missing_of(&mut self, no: NoteNo, text: &str) -> String {
        let mut missing = String::new();
        for run in text.split_ascii_whitespace() {
            let run = run.trim_matches(|c: char| !c.is_alphanumeric());
            if run.is_empty() || run.len() > LONGEST {
                continue;
            }
            let (last, times) = self.0.entry(hash(run.as_bytes())).or_default();
            if *times == 0 || (*last != no && *times < ENOUGH) {
                (*last, *times) = (no, *times + 1);
                missing.push_str(run);
                missing.push(' ');
            }
        }
        missing
    }

    /// Forgets which spellings were written.
    pub(super) fn forget(&mut self) {
        self.0 = ByHash::default();
    }
}

#[cfg(test)]
mod tests;
