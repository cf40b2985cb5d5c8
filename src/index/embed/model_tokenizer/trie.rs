//! A vocabulary by the bytes of its pieces.

use std::collections::VecDeque;

/// Stands for what no piece covers.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// The pieces by their bytes. Nodes are numbered level by level, so the children of a node follow those of the node
/// before it, and nine bytes are enough for each: 500,000 pieces take some 20 MB.
pub(super) struct Trie {
    /// The byte that leads to each node.
    labels: Box<[u8]>,
    /// The first child of each node; one more at the end.
    first: Box<[u32]>,
    /// The piece that ends at each node, or [`UNKNOWN`].
    pieces: Box<[u32]>,
    /// Bytes of the longest piece.
    longest: usize,
}

impl Trie {
    pub(super) const ROOT: u32 = 0;

    /// From pieces with their numbers.
    pub(super) fn new(mut sorted: Vec<(&[u8], u32)>) -> Self {
        sorted.sort_unstable();
        let longest = sorted.iter().map(|(piece, _)| piece.len()).max().unwrap_or(0);
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
        Trie { labels: labels.into(), first: first.into(), pieces: pieces.into(), longest }
    }

    /// The node that a byte leads to.
    pub(super) fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let (start, end) = (self.first[node as usize], self.first[node as usize + 1]);
        let place = self.labels[start as usize..end as usize].binary_search(&byte).ok()?;
        Some(start + place as u32)
    }

    /// Bytes of the longest piece.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The number of the piece with these bytes.
    pub(super) fn piece(&self, name: &[u8]) -> Option<u32> {
        let node = name.iter().try_fold(Trie::ROOT, |node, byte| self.child(node, *byte))?;
        Some(self.pieces[node as usize]).filter(|piece| *piece != UNKNOWN)
    }

    /// The pieces that `text` begins with, below a node: number and length, the shortest first.
    pub(super) fn beginnings(&self, node: u32, text: &[u8]) -> impl Iterator<Item = (u32, usize)> {
        let nodes = text.iter().scan(node, |node, byte| {
            *node = self.child(*node, *byte)?;
            Some(*node)
        });
        let ends = nodes.zip(1..).map(|(node, length)| (self.pieces[node as usize], length));
        ends.filter(|(piece, _)| *piece != UNKNOWN)
    }
}
