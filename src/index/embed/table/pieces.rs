//! Words as pieces of a vocabulary: by the longest piece from the left (WordPiece), or by the most likely ones (Unigram).

use std::collections::VecDeque;

/// Stands for what no piece covers.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// What is subtracted from the least likely piece for a character that no piece covers, as SentencePiece does.
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
        /// The piece that stands for what is unknown, and what such a character counts.
        unknown: (Option<u32>, f32),
    },
}

impl Pieces {
    /// Of a vocabulary with numbers; pieces that continue a word begin with `prefix`.
    pub(super) fn word_piece(vocabulary: &[(String, u32)], prefix: &str, most_chars: usize) -> Self {
        let trie = Trie::new(vocabulary.iter().map(|(piece, id)| (piece.as_bytes(), *id)).collect());
        let later = prefix.bytes().try_fold(Trie::ROOT, |node, byte| trie.child(node, byte));
        Pieces::WordPiece { trie, later, most_chars }
    }

    /// Of a vocabulary with scores, in the order of its numbers; one of them may stand for what is unknown.
    pub(super) fn unigram(vocabulary: &[(String, f64)], unknown: Option<u32>) -> Self {
        let numbered = vocabulary.iter().zip(0..).filter(|((piece, _), _)| !piece.is_empty());
        let trie = Trie::new(numbered.map(|((piece, _), id)| (piece.as_bytes(), id)).collect());
        let scores: Box<[f32]> = vocabulary.iter().map(|(_, score)| *score as f32).collect();
        let penalty = scores.iter().copied().fold(0.0, f32::min) - PENALTY;
        Pieces::Unigram { trie, scores, unknown: (unknown, penalty) }
    }

    /// Adds the pieces of a word; [`UNKNOWN`] for each stretch that none covers.
    pub(super) fn cover(&self, word: &str, out: &mut Vec<u32>) {
        match self {
            Pieces::WordPiece { trie, later, most_chars } => {
                let before = out.len();
                if word.chars().count() > *most_chars || !longest_first(trie, *later, word.as_bytes(), out) {
                    out.truncate(before);
                    out.push(UNKNOWN);
                }
            }
            Pieces::Unigram { trie, scores, unknown } => most_likely(trie, scores, *unknown, word, out),
        }
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

/// The best way to the end of a stretch of a word.
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
        // What is unknown in one stretch is unknown once.
        if !(piece == UNKNOWN && out.len() > before && out.last() == Some(&UNKNOWN)) {
            out.push(piece);
        }
        end = start as usize;
    }
    out[before..].reverse();
}

/// The pieces by their bytes. Nodes are numbered level by level, so the children of a node follow those of the node
/// before it, and nine bytes are enough for each: 500,000 pieces take some 20 MB.
pub(super) struct Trie {
    /// The byte that leads to each node.
    labels: Box<[u8]>,
    /// The first child of each node; one more at the end.
    first: Box<[u32]>,
    /// The piece that ends at each node, or [`UNKNOWN`].
    pieces: Box<[u32]>,
}

impl Trie {
    const ROOT: u32 = 0;

    fn new(mut sorted: Vec<(&[u8], u32)>) -> Self {
        sorted.sort_unstable();
        let (mut labels, mut first, mut pieces) = (vec![0], Vec::new(), Vec::new());
        let mut level = VecDeque::from([(0..sorted.len(), 0)]);
        while let Some((range, depth)) = level.pop_front() {
            first.push(labels.len() as u32);
            let (mut start, mut ends_here) = (range.start, UNKNOWN);
            while start < range.end && sorted[start].0.len() == depth {
                ends_here = sorted[start].1;
                start += 1;
            }
            pieces.push(ends_here);
            while start < range.end {
                let label = sorted[start].0[depth];
                let end = start + sorted[start..range.end].partition_point(|(piece, _)| piece[depth] == label);
                labels.push(label);
                level.push_back((start..end, depth + 1));
                start = end;
            }
        }
        first.push(labels.len() as u32);
        Trie { labels: labels.into(), first: first.into(), pieces: pieces.into() }
    }

    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let (start, end) = (self.first[node as usize], self.first[node as usize + 1]);
        let place = self.labels[start as usize..end as usize].binary_search(&byte).ok()?;
        Some(start + place as u32)
    }

    /// The pieces that `text` begins with, below a node: number and length, the shortest first.
    fn beginnings(&self, node: u32, text: &[u8]) -> impl Iterator<Item = (u32, usize)> {
        let nodes = text.iter().scan(node, |node, byte| {
            *node = self.child(*node, *byte)?;
            Some(*node)
        });
        let ends = nodes.zip(1..).map(|(node, length)| (self.pieces[node as usize], length));
        ends.filter(|(piece, _)| *piece != UNKNOWN)
    }
}
