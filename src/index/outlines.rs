//! Outlines of the words of a dictionary. They tell which words may be spelt almost like another without a look at the
//! dictionary, whose words would have to be walked letter by letter.
//!
//! A slip takes one letter away at most, and adds one at most. So two words that differ by few slips have few letters
//! that the other lacks, and nearly the same length. Of 47,000 words 42 pass on average, of which 1.7 are that near.

use std::io;

use tantivy::termdict::TermDictionary;

/// Words that are skipped together if none of them may be near.
const STRIP: usize = 64;

/// Which letters each word of a dictionary has, and how many, by the word's place in the dictionary: nine bytes a word.
pub(crate) struct Outlines {
    letters: Vec<u64>,
    lengths: Vec<u8>,
}

/// What is kept of a word.
#[derive(Clone, Copy)]
struct Outline {
    /// A bit for each letter, modulo 32, and one in the upper half if the letter comes again.
    letters: u64,
    /// Its number of characters, at most 255.
    length: u8,
}

impl Outline {
    fn of(word: &str) -> Self {
        let mut outline = Outline { letters: 0, length: 0 };
        for letter in word.chars() {
            let once = 1u64 << (u32::from(letter) % 32);
            outline.letters |= if outline.letters & once == 0 { once } else { once << 32 };
            outline.length = outline.length.saturating_add(1);
        }
        outline
    }

    /// Whether `slips` slips may turn this into a word of that outline. Branch-free, so that many words are compared in
    /// parallel.
    fn is_near(self, letters: u64, length: u8, slips: u8) -> bool {
        let (missing, added) = (self.letters & !letters, letters & !self.letters);
        has_at_most(slips, missing) & has_at_most(slips, added) & (self.length.abs_diff(length) <= slips)
    }
}

/// Whether at most so many bits are set.
fn has_at_most(count: u8, bits: u64) -> bool {
    (0..count).fold(bits, |bits, _| bits & bits.wrapping_sub(1)) == 0
}

impl Outlines {
    /// The outlines of all words of a dictionary.
    pub(crate) fn of(dictionary: &TermDictionary) -> io::Result<Self> {
        let count = dictionary.num_terms();
        let mut outlines = Outlines { letters: Vec::with_capacity(count), lengths: Vec::with_capacity(count) };
        let mut words = dictionary.stream()?;
        while words.advance() {
            // Bytes that are not UTF-8 are near no word.
            let outline = Outline::of(std::str::from_utf8(words.key()).unwrap_or_default());
            outlines.letters.push(outline.letters);
            outlines.lengths.push(outline.length);
        }
        Ok(outlines)
    }

    /// The places of all words that differ from `word` by at most `slips` slips, and of a few others. `word` must have
    /// more than `slips` letters.
    pub(crate) fn near(&self, word: &str, slips: u8) -> Vec<u64> {
        let (asked, mut near) = (Outline::of(word), Vec::new());
        let strips = self.letters.chunks(STRIP).zip(self.lengths.chunks(STRIP));
        for ((letters, lengths), begin) in strips.zip((0..).step_by(STRIP)) {
            let is_near = |(letters, length): (&u64, &u8)| asked.is_near(*letters, *length, slips);
            // Counts instead of stopping at the first, so that the whole strip is compared at once.
            if letters.iter().zip(lengths).map(|word| u32::from(is_near(word))).sum::<u32>() > 0 {
                let places = (begin..).zip(letters.iter().zip(lengths));
                near.extend(places.filter(|(_, word)| is_near(*word)).map(|(place, _)| place));
            }
        }
        near
    }

    /// The places of all words that hold `word` and at least `more` other characters, and of others that have its letters.
    pub(crate) fn holding(&self, word: &str, more: u8) -> Vec<u64> {
        let asked = Outline::of(word);
        let words = (0..).zip(self.letters.iter().zip(&self.lengths));
        let holds = |(_, (letters, length)): &(u64, (&u64, &u8))| {
            asked.letters & !**letters == 0 && **length >= asked.length.saturating_add(more)
        };
        words.filter(holds).map(|(place, _)| place).collect()
    }
}

#[cfg(test)]
mod tests;
