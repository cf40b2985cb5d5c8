//! Which words of texts are yet to be written as they are spelt. The index has stems, and a slip may stand in an ending that
//! a stem has not; so it also has every word once or a few times as it stands, to compare misspelt ones with.

use crate::NoteNo;
use crate::hash::{ByHash, hash};

/// Notes of a bulk that a spelling is written with: while one of them stays as it is, the spelling is known.
const ENOUGH: u8 = 3;

/// Bytes of the longest run of characters between blanks that is a word, or a few; what is longer is data, an address or
/// text without blanks.
const LONGEST: usize = 48;

/// Counts the notes that a spelling was written with, by its hash: a first index has hundreds of thousands of spellings, and
/// where two of them have one hash, one of them is no correction of a slip, no more.
#[derive(Default)]
pub(super) struct Spellings(ByHash<(NoteNo, u8)>);

impl Spellings {
    /// What of a note's text is to be written as it is spelt.
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

    /// Nothing counts as written any more.
    pub(super) fn forget(&mut self) {
        self.0 = ByHash::default();
    }
}

#[cfg(test)]
mod tests;
