//! BERT's uncased WordPiece tokenizer over a vocabulary that is not copied. Pure.
//!
//! Text is cut into words at white space and punctuation, accents and case are dropped, and each word is
//! covered by the longest pieces of the vocabulary from the left. Most text is ASCII, where cutting and
//! lowering are table look-ups; a word that holds anything else takes the slow way through Unicode. Both
//! ways give every piece the byte of the original text where it begins.

mod known;

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::char::decompose_canonical;

pub(super) use known::KnownWords;
use known::Word;

/// The piece of words that cannot be covered.
pub(super) const UNKNOWN: u16 = 0;
/// A word with more characters is unknown.
const LONGEST_WORD: usize = 100;
/// No piece of the vocabulary is longer, in bytes; checked when the tables are built.
const LONGEST_PIECE: usize = 24;
/// Begins the pieces that continue a word.
const CONTINUES: &[u8] = b"##";

/// Receives the pieces.
pub(super) trait Sink {
    /// Takes a piece that begins at byte `at`.
    fn push(&mut self, id: u16, at: usize);
}

/// Takes the pieces' row numbers.
impl Sink for Vec<u16> {
    fn push(&mut self, id: u16, _at: usize) {
        self.push(id);
    }
}

/// Takes the pieces' beginnings.
impl Sink for Vec<u32> {
    fn push(&mut self, _id: u16, at: usize) {
        self.push(at as u32);
    }
}

/// Counts the pieces.
impl Sink for usize {
    fn push(&mut self, _id: u16, _at: usize) {
        *self += 1;
    }
}

/// Cuts text into pieces.
pub(super) struct Tokenizer<'a> {
    vocab: Vocabulary<'a>,
    /// Pieces that begin a word.
    first: Table,
    /// Pieces that continue one, without [`CONTINUES`].
    later: Table,
    /// The piece of each ASCII character that is a word by itself.
    single: [u16; 128],
}

impl<'a> Tokenizer<'a> {
    /// A tokenizer for a vocabulary: pieces joined by line feeds, the first one unknown. `Err` says what
    /// is wrong with it.
    pub(super) fn new(vocab: &'a [u8]) -> Result<Self, String> {
        let vocab = Vocabulary::new(vocab)?;
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for id in 1..vocab.len() as u16 {
            let piece = vocab.piece(id);
            match piece.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => later.push((id, rest)),
                _ => first.push((id, piece)),
            }
        }
        let (first, later) = (Table::new(&first, 0), Table::new(&later, CONTINUES.len()));
        let mut single = [UNKNOWN; 128];
        for (byte, id) in single.iter_mut().enumerate() {
            let byte = [byte as u8];
            *id = first.get(&vocab, hash(&byte), &byte).unwrap_or(UNKNOWN);
        }
        Ok(Tokenizer { vocab, first, later, single })
    }

    /// Number of pieces in the vocabulary.
    pub(super) fn pieces(&self) -> usize {
        self.vocab.len()
    }

    /// Gives all pieces of `text` to `sink`, in order; the words that are `known` need not be looked up.
    pub(super) fn run(&self, text: &str, mut known: Option<&mut KnownWords>, sink: &mut impl Sink) {
        let bytes = text.as_bytes();
        let mut scratch = Scratch::default();
        let mut lower = [0; LONGEST_WORD];
        let mut i = 0;
        while let Some(&byte) = bytes.get(i) {
            match CLASS[usize::from(byte)] {
                Class::Space => i += 1,
                Class::Punctuation => {
                    sink.push(self.single[usize::from(byte & 0x7f)], i);
                    i += 1;
                }
                Class::Other => i = self.slow(text, i, &mut scratch, sink),
                Class::Word => {
                    let start = i;
                    let end = loop {
                        match bytes.get(i).map(|b| (CLASS[usize::from(*b)], *b)) {
                            Some((Class::Word, b)) => {
                                if let Some(place) = lower.get_mut(i - start) {
                                    // Lowers letters and leaves digits as they are.
                                    *place = b | 0x20;
                                }
                                i += 1;
                            }
                            Some((Class::Other, _)) => break None,
                            _ => break Some(i),
                        }
                    };
                    match end {
                        None => i = self.slow(text, start, &mut scratch, sink),
                        Some(end) => {
                            let key = Word::of(&lower, end - start);
                            if let Some(word) = known.as_ref().zip(key).and_then(|(known, word)| known.get(word)) {
                                word.pieces().for_each(|(id, k)| sink.push(id, start + k));
                                continue;
                            }
                            let Some(word) = lower.get(..end - start) else {
                                sink.push(UNKNOWN, start);
                                continue;
                            };
                            self.cover(word, &mut scratch.pieces);
                            scratch.pieces.iter().for_each(|(id, k)| sink.push(*id, start + k));
                            if let Some((known, word)) = known.as_mut().zip(key) {
                                known.put(word, scratch.pieces.iter().copied());
                            }
                        }
                    }
                }
            }
        }
    }

    /// Covers one lowered word with pieces, each with its place in the word.
    fn cover(&self, word: &[u8], pieces: &mut Vec<(u16, usize)>) {
        pieces.clear();
        let mut position = 0;
        let mut table = &self.first;
        while position < word.len() {
            let Some((id, length)) = self.longest(table, &word[position..]) else {
                pieces.clear();
                pieces.push((UNKNOWN, 0));
                return;
            };
            pieces.push((id, position));
            position += length;
            table = &self.later;
        }
    }

    /// The longest piece of `table` that `text` begins with, and its length. The hashes of all prefixes
    /// come from one pass; a piece never ends within a character, since pieces and text are UTF-8.
    fn longest(&self, table: &Table, text: &[u8]) -> Option<(u16, usize)> {
        let text = &text[..text.len().min(table.longest)];
        let mut hashes = [0; LONGEST_PIECE];
        let mut state = 0;
        for (byte, place) in text.iter().zip(&mut hashes) {
            state = mix(state, *byte);
            *place = state;
        }
        (1..=text.len()).rev().find_map(|length| {
            let id = table.get(&self.vocab, hashes[length - 1], &text[..length])?;
            Some((id, length))
        })
    }

    /// Takes the text from the word that begins at byte `start` up to the next ASCII white space or
    /// punctuation, and returns where that is.
    #[inline(never)]
    fn slow(&self, text: &str, start: usize, scratch: &mut Scratch, sink: &mut impl Sink) -> usize {
        for (offset, c) in text[start..].char_indices() {
            let at = start + offset;
            if c.is_ascii() {
                match CLASS[c as usize & 0x7f] {
                    Class::Word => scratch.push(c, at),
                    Class::Space | Class::Punctuation => {
                        self.flush(scratch, sink);
                        return at;
                    }
                    // Control characters are dropped, and do not end a word.
                    Class::Other => {}
                }
                continue;
            }
            use GeneralCategory as G;
            match get_general_category(c) {
                G::Control | G::Format | G::Unassigned | G::PrivateUse => {}
                G::SpaceSeparator | G::LineSeparator | G::ParagraphSeparator => {
                    self.flush(scratch, sink);
                }
                _ if c == char::REPLACEMENT_CHARACTER => {}
                _ if is_ideograph(c) => {
                    self.flush(scratch, sink);
                    decompose_canonical(c, |d| scratch.push(d, at));
                    self.flush(scratch, sink);
                }
                _ => decompose_canonical(c, |d| self.decomposed(d, at, scratch, sink)),
            }
        }
        self.flush(scratch, sink);
        text.len()
    }

    /// Takes a character of the canonical decomposition (NFD). Reordering of marks is left out: it moves
    /// nothing but marks, and those are dropped.
    fn decomposed(&self, c: char, at: usize, scratch: &mut Scratch, sink: &mut impl Sink) {
        use GeneralCategory as G;
        match get_general_category(c) {
            G::NonspacingMark => {}
            category if is_punctuation(c, category) => self.alone(c, at, scratch, sink),
            _ => scratch.push(c, at),
        }
    }

    /// Takes a character that is a word by itself.
    fn alone(&self, c: char, at: usize, scratch: &mut Scratch, sink: &mut impl Sink) {
        self.flush(scratch, sink);
        scratch.push(c, at);
        self.flush(scratch, sink);
    }

    /// Ends the word that was gathered, if any.
    fn flush(&self, scratch: &mut Scratch, sink: &mut impl Sink) {
        if let Some(first) = scratch.at.first() {
            if scratch.chars > LONGEST_WORD {
                sink.push(UNKNOWN, *first);
            } else {
                let mut pieces = std::mem::take(&mut scratch.pieces);
                self.cover(scratch.lower().as_bytes(), &mut pieces);
                // `at` has an entry for every byte of the covered word; see `Scratch::lower`.
                let last = scratch.at.len() - 1;
                pieces.iter().for_each(|(id, k)| sink.push(*id, scratch.at[*k.min(&last)]));
                scratch.pieces = pieces;
            }
        }
        scratch.clear();
    }
}

/// The word on the slow way, and the pieces of a word on either way.
#[derive(Default)]
struct Scratch {
    /// The pieces of the current word, each with its place in it.
    pieces: Vec<(u16, usize)>,
    /// The word, lowered character by character.
    word: String,
    /// Where each byte of `word` stands in the text.
    at: Vec<usize>,
    /// Characters in `word`.
    chars: usize,
    /// The word, not lowered from its first capital sigma on, if it has one.
    sigma: Option<String>,
}

impl Scratch {
    fn push(&mut self, c: char, at: usize) {
        if c == 'Σ' && self.sigma.is_none() {
            self.sigma = Some(self.word.clone());
        }
        if let Some(word) = &mut self.sigma {
            word.push(c);
        }
        for lower in c.to_lowercase() {
            self.word.push(lower);
            self.chars += 1;
        }
        self.at.resize(self.word.len(), at);
    }

    /// The lowered word. A sigma at the end of a word has a special form (of the same length). It is the only case in
    /// which lowering depends on the neighbours.
    fn lower(&self) -> std::borrow::Cow<'_, str> {
        match &self.sigma {
            Some(word) => word.to_lowercase().into(),
            None => self.word.as_str().into(),
        }
    }

    fn clear(&mut self) {
        self.word.clear();
        self.at.clear();
        self.chars = 0;
        self.sigma = None;
    }
}

/// What an ASCII byte is to the tokenizer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// White space.
    Space,
    /// A letter or digit.
    Word,
    /// A word by itself.
    Punctuation,
    /// A control character, or part of a character that is not ASCII.
    Other,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        table[byte] = match b {
            b' ' | b'\t' | b'\n' | b'\r' => Class::Space,
            _ if b.is_ascii_alphanumeric() => Class::Word,
            _ if b.is_ascii_punctuation() => Class::Punctuation,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
};

/// Whether BERT treats the character, which is of this category, as punctuation.
pub(super) fn is_punctuation(c: char, category: GeneralCategory) -> bool {
    use GeneralCategory as G;
    c.is_ascii_punctuation()
        || matches!(
            category,
            G::ConnectorPunctuation
                | G::DashPunctuation
                | G::OpenPunctuation
                | G::ClosePunctuation
                | G::InitialPunctuation
                | G::FinalPunctuation
                | G::OtherPunctuation
        )
}

/// Whether BERT treats the character as a Chinese word by itself.
pub(super) fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F
        | 0x2B740..=0x2B81F | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

/// The pieces, in the bytes that they came in.
struct Vocabulary<'a> {
    bytes: &'a [u8],
    /// Where piece `i` begins; one more at the end.
    starts: Box<[u32]>,
}

impl<'a> Vocabulary<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, String> {
        if std::str::from_utf8(bytes).is_err() {
            return Err("the vocabulary is not UTF-8".to_owned());
        }
        let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i as u32 + 1);
        let starts: Box<[u32]> = std::iter::once(0).chain(ends).chain([bytes.len() as u32 + 1]).collect();
        let vocab = Vocabulary { bytes, starts };
        if vocab.len() > usize::from(u16::MAX) {
            return Err(format!("{} pieces are too many", vocab.len()));
        }
        let longest = (0..vocab.len() as u16).map(|id| vocab.piece(id).len()).max();
        if longest > Some(LONGEST_PIECE) {
            return Err(format!("a piece is longer than {LONGEST_PIECE} bytes"));
        }
        Ok(vocab)
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn piece(&self, id: u16) -> &'a [u8] {
        let id = usize::from(id);
        &self.bytes[self.starts[id] as usize..self.starts[id + 1] as usize - 1]
    }
}

/// Open addressing, linear probing. A slot holds 16 bits of the hash above the piece's number; 0 is free
/// (piece 0, the unknown one, is never looked up). The pieces' bytes stay in the vocabulary.
struct Table {
    slots: Box<[u32]>,
    /// Bytes of the longest piece.
    longest: usize,
    /// Bytes of a piece that are not part of the text.
    prefix: usize,
}

impl Table {
    /// A table of the given pieces, each without its first `prefix` bytes in the vocabulary. It is at
    /// most half full, so that a search ends soon at a free slot.
    fn new(pieces: &[(u16, &[u8])], prefix: usize) -> Self {
        let size = (pieces.len() * 2).next_power_of_two().max(2);
        let mut slots = vec![0; size].into_boxed_slice();
        for (id, text) in pieces {
            let hash = hash(text);
            let mut slot = home(hash, size);
            while slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = tag(hash) | u32::from(*id);
        }
        let longest = pieces.iter().map(|(_, text)| text.len()).max().unwrap_or(0);
        Table { slots, longest, prefix }
    }

    fn get(&self, vocab: &Vocabulary<'_>, hash: u64, text: &[u8]) -> Option<u16> {
        let size = self.slots.len();
        let mut slot = home(hash, size);
        loop {
            let entry = self.slots[slot];
            if entry == 0 {
                return None;
            }
            let id = entry as u16;
            if entry & 0xffff_0000 == tag(hash) && &vocab.piece(id)[self.prefix..] == text {
                return Some(id);
            }
            slot = (slot + 1) & (size - 1);
        }
    }
}

/// One step of a hash in the manner of FxHash: the high bits are the good ones.
fn mix(state: u64, byte: u8) -> u64 {
    (state.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |state, byte| mix(state, *byte))
}

/// The slot where a search begins; `size` is a power of two, at least 2.
fn home(hash: u64, size: usize) -> usize {
    (hash >> (64 - size.trailing_zeros())) as usize
}

/// Bits of the hash that [`home`] does not use.
fn tag(hash: u64) -> u32 {
    (hash >> 16) as u32 & 0xffff_0000
}

#[cfg(test)]
mod tests;
