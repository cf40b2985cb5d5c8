//! Words as pieces that are merged from their characters, pair by pair (BPE), and the bytes of a text as the characters
//! in which such vocabularies are written.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::trie::Trie;

/// Stands for a missing neighbour.
const NONE: u32 = u32::MAX;

/// Which pairs of tokens become one, and which of them first.
pub(super) struct Merges {
    /// For each pair: its rank, the least merges first, and the token that it becomes.
    pairs: HashMap<(u32, u32), (u32, u32)>,
    /// Whether a word that is a token stays that token, whatever its pairs would become.
    whole_words: bool,
    /// The token for a character that is no token itself; such a character is left out if this is `None`.
    unknown: Option<u32>,
    /// Whether a stretch of unknown characters becomes one unknown token.
    fuse: bool,
}

/// A token while pairs are merged, and its neighbours.
struct Symbol {
    token: u32,
    before: u32,
    after: u32,
    gone: bool,
}

impl Merges {
    /// From pairs in the order of their ranks. Their tokens must be in `vocabulary`; the error names the one that is
    /// not.
    pub(super) fn new(
        vocabulary: &Trie,
        pairs: impl Iterator<Item = (String, String)>,
        (whole_words, unknown, fuse): (bool, Option<u32>, bool),
    ) -> Result<Self, String> {
        let token = |name: &str| {
            let missing = || format!("a merge names `{}`, which is no token", name.escape_debug());
            vocabulary.piece(name.as_bytes()).ok_or_else(missing)
        };
        let merge = |((left, right), rank): ((String, String), u32)| {
            let both = (token(&left)?, token(&right)?);
            Ok((both, (rank, token(&(left + &right))?)))
        };
        let pairs = pairs.zip(0..).map(merge).collect::<Result<_, String>>()?;
        Ok(Merges { pairs, whole_words, unknown, fuse })
    }

    /// The token for an unknown character.
    pub(super) fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    /// Adds the tokens of a word.
    pub(super) fn cover(&self, vocabulary: &Trie, word: &str, out: &mut Vec<u32>) {
        if self.whole_words
            && let Some(token) = vocabulary.piece(word.as_bytes())
        {
            out.push(token);
            return;
        }
        let mut symbols = self.characters(vocabulary, word);
        // A queue of possible merges. A search for the best pair at every step would take minutes for a word of 100 kB.
        // An entry is stale if its pair is no longer there.
        let mut queue = BinaryHeap::new();
        let propose = |queue: &mut BinaryHeap<_>, symbols: &[Symbol], at: u32, after: u32| {
            if at != NONE && after != NONE {
                let pair = (symbols[at as usize].token, symbols[after as usize].token);
                queue.extend(self.pairs.get(&pair).map(|(rank, token)| Reverse((*rank, at, *token))));
            }
        };
        for at in 1..symbols.len() as u32 {
            propose(&mut queue, &symbols, at - 1, at);
        }
        while let Some(Reverse((_, at, token))) = queue.pop() {
            let Symbol { token: left, before, after, gone } = symbols[at as usize];
            if gone || after == NONE {
                continue;
            }
            let right = &mut symbols[after as usize];
            if self.pairs.get(&(left, right.token)).is_none_or(|(_, becomes)| *becomes != token) {
                continue;
            }
            right.gone = true;
            let next = right.after;
            (symbols[at as usize].token, symbols[at as usize].after) = (token, next);
            if next != NONE {
                symbols[next as usize].before = at;
            }
            propose(&mut queue, &symbols, before, at);
            propose(&mut queue, &symbols, at, next);
        }
        out.extend(symbols.iter().filter(|symbol| !symbol.gone).map(|symbol| symbol.token));
    }

    /// A token for each character of a word.
    fn characters(&self, vocabulary: &Trie, word: &str) -> Vec<Symbol> {
        let mut tokens = Vec::with_capacity(word.len());
        let mut was_unknown = false;
        for c in word.chars() {
            let token = vocabulary.piece(c.encode_utf8(&mut [0; 4]).as_bytes());
            let again = was_unknown && self.fuse;
            was_unknown = token.is_none();
            tokens.extend(token.or(self.unknown.filter(|_| !again)));
        }
        let last = tokens.len().saturating_sub(1);
        let symbol = |(at, token)| Symbol {
            token,
            before: if at == 0 { NONE } else { at as u32 - 1 },
            after: if at == last { NONE } else { at as u32 + 1 },
            gone: false,
        };
        tokens.into_iter().enumerate().map(symbol).collect()
    }
}

/// A text with a character for each of its bytes, as GPT-2's vocabulary writes them: bytes that ISO 8859-1 prints stand for
/// themselves, the others are numbered from U+0100 on.
pub(super) fn bytes_as_characters(text: &str) -> String {
    text.bytes().map(byte_as_character).collect()
}

fn byte_as_character(byte: u8) -> char {
    let code = u32::from(byte);
    let code = match byte {
        0..=0x20 => 0x100 + code,
        0x7f..=0xa0 => 0x121 + code - 0x7f,
        0xad => 0x143,
        _ => code,
    };
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}
