//! Collecting the best of a stream: slots by their estimates, chunks by their cosines.

use crate::Row;

/// Collects the `k` best chunks of a stream of windows. Candidates gather in a buffer that is cut down when
/// it is full, which costs less than a heap and lets windows of the same chunk be merged in passing.
pub struct Best {
    k: usize,
    /// What a score must reach to take a place.
    pub threshold: f32,
    /// As [`keyed`], of chunks.
    found: Vec<u64>,
}

impl Best {
    /// None yet.
    pub fn new(k: usize) -> Self {
        Best { k, threshold: f32::NEG_INFINITY, found: Vec::new() }
    }

    /// Takes in a window of a chunk. Worthwhile only if its score reaches the threshold.
    pub fn push(&mut self, row: Row, cosine: f32) {
        self.found.push(keyed(row, cosine));
        if self.found.len() >= full(self.k) {
            self.cut();
        }
    }

    /// Takes in what was found elsewhere.
    #[must_use]
    pub fn join(mut self, other: Best) -> Best {
        self.found.extend(other.found);
        self
    }

    fn cut(&mut self) {
        self.found.sort_unstable_by(|a, b| b.cmp(a));
        // The best window of each chunk stays: the first of those with its row.
        let mut by_row: Vec<u64> = (0..).zip(&self.found).map(|(at, key)| u64::from(number(*key)) << 32 | at).collect();
        by_row.sort_unstable();
        let mut again: Vec<u32> =
            by_row.windows(2).filter(|two| two[0] >> 32 == two[1] >> 32).map(|two| two[1] as u32).collect();
        again.sort_unstable();
        let mut at = 0;
        let mut again = again.into_iter().peekable();
        self.found.retain(|_| {
            at += 1;
            again.next_if_eq(&(at - 1)).is_none()
        });
        self.found.truncate(self.k);
        if let (true, Some(last)) = (self.found.len() == self.k, self.found.last()) {
            self.threshold = score(*last);
        }
    }

    /// The best chunks with their scores, best first, equals by row.
    pub fn finish(mut self) -> Vec<(Row, f32)> {
        self.cut();
        self.found.into_iter().map(|key| (number(key), score(key))).collect()
    }
}

/// Collects the slots with the highest estimates; of equal ones those of the lowest numbers.
pub(super) struct Likely {
    most: usize,
    /// What an estimate must reach to take a place.
    pub(super) threshold: f32,
    /// As [`keyed`], of slots.
    found: Vec<u64>,
    /// A copy of `found` to select from.
    other: Vec<u64>,
}

impl Likely {
    /// A collector of `most` slots.
    pub(super) fn new(most: usize) -> Self {
        Likely { most, threshold: f32::NEG_INFINITY, found: Vec::new(), other: Vec::new() }
    }

    pub(super) fn push(&mut self, slot: u32, estimate: f32) {
        self.found.push(keyed(slot, estimate));
        if self.found.len() >= full(self.most) {
            self.cut();
        }
    }

    /// Takes in what was found in a later part.
    pub(super) fn join(mut self, other: Likely) -> Likely {
        self.found.extend(other.found);
        self
    }

    /// Keeps the best `most`, in the order in which they came.
    fn cut(&mut self) {
        if self.found.len() > self.most && self.most > 0 {
            self.other.clone_from(&self.found);
            let (_, last, _) = self.other.select_nth_unstable_by(self.most - 1, |a, b| b.cmp(a));
            self.threshold = score(*last);
            self.found.retain(|key| key >= last); // No two are equal.
        }
        self.found.truncate(self.most);
    }

    /// The slots, in the order in which they came, so that the second look reads memory in this order too.
    pub(super) fn finish(mut self) -> Vec<u32> {
        self.cut();
        self.found.into_iter().map(number).collect()
    }
}

/// Candidates in a buffer before it is cut down to `k`.
fn full(k: usize) -> usize {
    k.saturating_mul(2).saturating_add(64)
}

/// A score and the number of its chunk or slot as one key: greater for a higher score, then for a lower number.
/// Integers are fastest to sort and to select from.
fn keyed(number: u32, score: f32) -> u64 {
    u64::from(ordered(score)) << 32 | u64::from(!number)
}

fn number(key: u64) -> u32 {
    !(key as u32)
}

fn score(key: u64) -> f32 {
    unordered((key >> 32) as u32)
}

/// An integer that orders as `x` does.
fn ordered(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// The opposite of [`ordered`].
fn unordered(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits })
}

#[cfg(test)]
mod tests;
