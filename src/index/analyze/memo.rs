//! A cache of the latest normal forms, by the words as written: a text repeats its words, and looking one up is several
//! times faster than stemming.

use crate::hash::hash;

/// Slots of a full cache: 256 KiB, which fits the level 2 cache of any processor in use.
const SLOTS: usize = 4096;
/// Bytes that a word and its form may have together: with their lengths they fill a cache line.
const ROOM: usize = 62;

/// Slots at first: the index makes new analyzers for every save, and most have little to read.
const FEW: usize = 256;

/// A direct-mapped cache: the hash of a word gives its slot, and a new word replaces the one in its slot.
#[derive(Default)]
pub(super) struct Memo {
    slots: Vec<Slot>,
    /// Words that were put.
    puts: usize,
}

#[derive(Clone)]
#[repr(align(64))]
struct Slot {
    /// Lengths of the word, and of its form behind it. A length of 0 marks a free slot, since no word is empty.
    word: u8,
    form: u8,
    bytes: [u8; ROOM],
}

impl Memo {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.puts = 0;
    }

    /// The form of a word, if it is known.
    pub(super) fn get(&self, word: &str) -> Option<&str> {
        let slot = self.slots.get(self.place(word)?)?;
        let (known, rest) = slot.bytes.split_at_checked(usize::from(slot.word))?;
        let form = rest.get(..usize::from(slot.form)).filter(|_| slot.word > 0 && known == word.as_bytes())?;
        std::str::from_utf8(form).ok()
    }

    /// The slot of a word; `None` while there are no slots. A mask is enough: both sizes are powers of two.
    fn place(&self, word: &str) -> Option<usize> {
        Some(hash(word.as_bytes()) as usize & self.slots.len().checked_sub(1)?)
    }

    /// Keeps the form of a word, unless they are too long.
    pub(super) fn put(&mut self, word: &str, form: &str) {
        if word.len() + form.len() > ROOM {
            return;
        }
        self.puts += 1;
        if self.slots.is_empty() || (self.slots.len() == FEW && self.puts > FEW) {
            let room = if self.puts > FEW { SLOTS } else { FEW };
            self.slots.clear();
            self.slots.resize(room, Slot { word: 0, form: 0, bytes: [0; ROOM] });
        }
        let Some(slot) = self.place(word).and_then(|place| self.slots.get_mut(place)) else { return };
        (slot.word, slot.form) = (word.len() as u8, form.len() as u8);
        slot.bytes[..word.len()].copy_from_slice(word.as_bytes());
        slot.bytes[word.len()..word.len() + form.len()].copy_from_slice(form.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_it_was_given_last() {
        let mut memo = Memo::default();
        assert_eq!(memo.get("houses"), None);
        memo.put("houses", "hous");
        memo.put("Häuser", "haus");
        assert_eq!((memo.get("houses"), memo.get("Häuser")), (Some("hous"), Some("haus")));
        assert_eq!((memo.get("house"), memo.get("")), (None, None));
        memo.put("houses", "other");
        assert_eq!(memo.get("houses"), Some("other"));
        memo.clear();
        assert_eq!(memo.get("houses"), None);
    }

    #[test]
    fn never_takes_one_word_for_another() {
        let mut memo = Memo::default();
        let words: Vec<String> = (0..4 * SLOTS).map(|n| format!("word{n}")).collect();
        for word in &words {
            memo.put(word, &word.to_uppercase());
        }
        let known = words.iter().filter_map(|word| Some((word, memo.get(word)?)));
        let mut count = 0;
        for (word, form) in known {
            assert_eq!(form, word.to_uppercase());
            count += 1;
        }
        assert!(count > SLOTS / 2, "{count} of {SLOTS}");
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let mut memo = Memo::default();
        let (word, form) = ("a".repeat(40), "b".repeat(ROOM - 40));
        memo.put(&word, &form);
        assert_eq!(memo.get(&word), Some(form.as_str()));
        memo.put("c", &"d".repeat(ROOM));
        assert_eq!(memo.slots.len(), FEW);
        assert_eq!(memo.get("c"), None);
    }
}
