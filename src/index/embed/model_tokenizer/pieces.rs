//! Words as pieces of a vocabulary: by the longest piece from the left (WordPiece), by the most likely ones (Unigram), or by
//! pairs that become one (BPE).

use super::merges::Merges;
use super::trie::{Trie, UNKNOWN};

/// A character that no piece covers scores this much less than the least likely piece, as in SentencePiece.
const PENALTY: f32 = 10.0;

/// How words are covered.
pub(super) enum Pieces {
    /// By the longest piece from the left; if that leaves something, the word is unknown.
    WordPiece {
        trie: Trie,
        /// The node from which pieces that continue a word are looked up.
        later: Option<u32>,
        /// A word with more characters is unknown.
        most_chars: usize,
    },
    /// By the pieces whose scores add up to the most.
    Unigram {
        trie: Trie,
        scores: Box<[f32]>,
        /// The unknown piece, and the score of an unknown character.
        unknown: (Option<u32>, f32),
    },
    /// By the pieces into which their characters merge.
    Bpe { trie: Trie, merges: Merges },
}

/// If only the first tokens of a word are wanted, the word is cut behind the bytes that these and this many more tokens
/// may take. Tokens are made from the text near them, from the left, so the cut does not affect the wanted ones.
const BEYOND: usize = 32;

impl Pieces {
    /// From a vocabulary with numbers; pieces that continue a word begin with `prefix`.
    pub(super) fn word_piece(vocabulary: &[(String, u32)], prefix: &str, most_chars: usize) -> Self {
        let trie = Trie::new(vocabulary.iter().map(|(piece, id)| (piece.as_bytes(), *id)).collect());
        let later = prefix.bytes().try_fold(Trie::ROOT, |node, byte| trie.child(node, byte));
        Pieces::WordPiece { trie, later, most_chars }
    }

    /// From a vocabulary with scores, in the order of its numbers; `unknown` is the unknown piece, if it has one.
    pub(super) fn unigram(vocabulary: &[(String, f64)], unknown: Option<u32>) -> Self {
        let numbered = vocabulary.iter().zip(0..).filter(|((piece, _), _)| !piece.is_empty());
        let trie = Trie::new(numbered.map(|((piece, _), id)| (piece.as_bytes(), id)).collect());
        let scores: Box<[f32]> = vocabulary.iter().map(|(_, score)| *score as f32).collect();
        let penalty = scores.iter().copied().fold(0.0, f32::min) - PENALTY;
        Pieces::Unigram { trie, scores, unknown: (unknown, penalty) }
    }

    /// From a vocabulary with numbers, and its merges.
    pub(super) fn bpe(vocabulary: Trie, merges: Merges) -> Self {
        Pieces::Bpe { trie: vocabulary, merges }
    }

    /// Adds the pieces of a word; [`UNKNOWN`] for each stretch that none covers.
    pub(super) fn cover(&self, word: &str, out: &mut Vec<u32>) {
        match self {
            Pieces::WordPiece { trie, later, most_chars } => {
                let before = out.len();
                if word.chars().nth(*most_chars).is_some() || !longest_first(trie, *later, word.as_bytes(), out) {
                    out.truncate(before);
                    out.push(UNKNOWN);
                }
            }
            Pieces::Unigram { trie, scores, unknown } => most_likely(trie, scores, *unknown, word, out),
            Pieces::Bpe { trie, merges } => {
                let before = out.len();
                merges.cover(trie, word, out);
                out[before..].iter_mut().filter(|piece| Some(**piece) == merges.unknown()).for_each(|it| *it = UNKNOWN);
            }
        }
    }

    /// As [`Pieces::cover`], for a caller that uses at most `most` pieces: the rest of a very long word is not read.
    pub(super) fn cover_first(&self, word: &str, most: usize, out: &mut Vec<u32>) {
        let wanted = most.saturating_add(BEYOND);
        let enough = wanted.saturating_mul(self.vocabulary().longest());
        // WordPiece needs no cut: it finds out at once that a word is too long.
        if word.len() > enough && !matches!(self, Pieces::WordPiece { .. }) {
            let before = out.len();
            self.cover(&word[..word.floor_char_boundary(enough)], out);
            if out.len() - before >= wanted {
                return;
            }
            // There are fewer only if long stretches are unknown, which become one piece each, or none.
            out.truncate(before);
        }
        self.cover(word, out);
    }

    /// The pieces with their numbers.
    pub(super) fn vocabulary(&self) -> &Trie {
        let (Pieces::WordPiece { trie, .. } | Pieces::Unigram { trie, .. } | Pieces::Bpe { trie, .. }) = self;
        trie
    }
}

/// Whether the longest pieces from the left cover the word.
fn longest_first(trie: &Trie, later: Option<u32>, word: &[u8], out: &mut Vec<u32>) -> bool {
    let (mut from, mut rest) = (Some(Trie::ROOT), word);
    while !rest.is_empty() {
        let longest = from.and_then(|node| trie.beginnings(node, rest).last());
        let Some((id, length)) = longest else { return false };
        out.push(id);
        (from, rest) = (later, &rest[length..]);
    }
    true
}

/// The best way to cover a word up to some byte: its score, and its last piece with its start.
#[derive(Clone, Copy)]
struct Way {
    score: f32,
    start: u32,
    piece: u32,
}

fn most_likely(trie: &Trie, scores: &[f32], unknown: (Option<u32>, f32), word: &str, out: &mut Vec<u32>) {
    let bytes = word.as_bytes();
    // Every character is covered, by a piece or as unknown, so there is a way to the end of each.
    let mut ways = vec![Way { score: f32::NEG_INFINITY, start: 0, piece: UNKNOWN }; bytes.len() + 1];
    ways[0].score = 0.0;
    for (start, c) in word.char_indices() {
        let before = ways[start].score;
        let mut reach = |length: usize, piece, score| {
            let way = &mut ways[start + length];
            if before + score > way.score {
                *way = Way { score: before + score, start: start as u32, piece };
            }
        };
        let mut alone = false;
        for (piece, length) in trie.beginnings(Trie::ROOT, &bytes[start..]) {
            alone |= length == c.len_utf8();
            reach(length, piece, scores[piece as usize]);
        }
        if !alone {
            reach(c.len_utf8(), UNKNOWN, unknown.1);
        }
    }
    let (before, mut end) = (out.len(), bytes.len());
    while end > 0 {
        let Way { start, piece, .. } = ways[end];
        let piece = if Some(piece) == unknown.0 { UNKNOWN } else { piece };
        // A stretch of unknown characters becomes one unknown piece.
        if !(piece == UNKNOWN && out.len() > before && out.last() == Some(&UNKNOWN)) {
            out.push(piece);
        }
        end = start as usize;
    }
    out[before..].reverse();
}
