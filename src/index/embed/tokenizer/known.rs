//! A cache of the pieces of recent words. A text repeats its words: nine in ten of a vault's words were among the last
//! few thousand different ones, and reading their pieces from one cache line takes a fraction of the time of finding
//! them.

use crate::hash::mix;

/// Slots of the cache. They take 256 KiB, which fits the L2 cache of any processor in use.
const SLOTS: usize = 4096;
/// Bytes of the longest word that is kept. Long words cost the most, since the search for each of their pieces begins
/// with the longest possible one.
const LONGEST: usize = 32;
/// Most pieces of a word that is kept.
const MOST_PIECES: usize = 10;

/// A word's hash picks its slot; a new word replaces the one in its slot.
#[derive(Default)]
pub(in crate::embed) struct KnownWords(Vec<Known>);

/// A word and its pieces: a cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Known {
    word: Word,
    pieces: [u16; MOST_PIECES],
    /// Where each piece begins in the word.
    starts: [u8; MOST_PIECES],
    count: u8,
}

/// A word of at most [`LONGEST`] bytes, none of them zero, padded with zeros.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Word([u64; LONGEST / 8]);

impl Word {
    /// The first `length` bytes of `bytes`; `None` if they are too many.
    pub(super) fn of<const N: usize>(bytes: &[u8; N], length: usize) -> Option<Self> {
        let first = bytes.first_chunk::<LONGEST>().filter(|_| length <= LONGEST)?;
        let mut word = [0; LONGEST / 8];
        let (parts, _) = first.as_chunks();
        for ((place, part), begins) in word.iter_mut().zip(parts).zip((0..).step_by(8)) {
            let bits = 8 * length.saturating_sub(begins).min(8) as u32;
            // A part behind the end of the word keeps no bits.
            let used = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            *place = u64::from_le_bytes(*part) & used;
        }
        Some(Word(word))
    }

    fn place(self) -> usize {
        let [a, b, c, d] = self.0;
        // Few words reach into the second half.
        let hash = if c | d == 0 { mix(a, b) } else { mix(mix(a, b) ^ c, d) };
        hash as usize % SLOTS
    }
}

impl KnownWords {
    /// The pieces of a word with their places in it, if it is in the cache.
    pub(super) fn get(&self, word: Word) -> Option<&Known> {
        self.0.get(word.place()).filter(|known| known.word == word)
    }

    /// Keeps a word, unless it has too many pieces.
    pub(super) fn put(&mut self, word: Word, pieces: impl Iterator<Item = (u16, usize)>) {
        let mut known = Known { word, ..Known::default() };
        for (piece, start) in pieces {
            let at = usize::from(known.count);
            let (Some(place), Some(begins)) = (known.pieces.get_mut(at), known.starts.get_mut(at)) else { return };
            (*place, *begins) = (piece, start as u8);
            known.count += 1;
        }
        if self.0.is_empty() {
            self.0 = vec![Known::default(); SLOTS];
        }
        self.0[word.place()] = known;
    }
}

impl Known {
    /// The pieces with their places in the word.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (u16, usize)> {
        let starts = self.starts.iter().map(|start| usize::from(*start));
        self.pieces.iter().copied().zip(starts).take(usize::from(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Option<Word> {
        let mut bytes = [b'x'; 40];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Word::of(&bytes, text.len())
    }

    #[test]
    fn words_are_told_apart() {
        assert!(word("a") != word("ab") && word("ab") != word("ba") && word("abcdefgh1") != word("abcdefgh2"));
        let long = "abcdefgh".repeat(4);
        for length in 1..long.len() {
            assert!(word(&long[..length]) != word(&long[..=length]), "{length}");
        }
        assert!(word(&long).is_some() && word(&format!("{long}i")).is_none());
    }

    #[test]
    fn pieces_come_back_as_they_were_given() {
        let mut known = KnownWords::default();
        let pieces = |known: &KnownWords, word| known.get(word).map(|known| known.pieces().collect::<Vec<_>>());
        let Some((one, other)) = word("harbour").zip(word("lantern")) else { panic!("they are short") };
        assert_eq!(pieces(&known, one), None);
        known.put(one, [(7, 0), (9, 4)].into_iter());
        assert_eq!(pieces(&known, one), Some(vec![(7, 0), (9, 4)]));
        assert_eq!(pieces(&known, other), None);
        known.put(other, (0..=MOST_PIECES as u16).map(|n| (n, usize::from(n))));
        assert_eq!(pieces(&known, other), None, "of too many pieces none are kept");
    }
}
