//! The matrix of windows: every vector of every chunk, scanned exactly.
//!
//! A chunk has one vector per window. The rows lie in blocks of contiguous int8, so that a scan reads memory
//! in order; a search looks at all of them, because at 256 bytes a row 100,000 rows are read faster than any
//! clever structure would pay back. Blocks are copied on write, as in [`super::blocks`].

mod dot;

use std::ops::Range;
use std::sync::Arc;

use self::dot::{dot, dots};
use super::blocks::Blocks;
use super::{Allowed, Row};
use crate::embed::Vector;

/// Rows of a block: 64 KiB at 256 dimensions, which is what a save copies.
const BLOCK: usize = 256;
/// Bytes of vectors from which a scan is shared between threads: one alone takes half a millisecond for them, and
/// a thread starts in a twentieth of that.
const LARGE: usize = 8 << 20;
/// Owner of a slot that is free, end of a chunk's list of slots.
const NONE: u32 = u32::MAX;

#[derive(Clone, Default)]
struct Block {
    /// `dimensions` values per slot.
    values: Vec<i8>,
    /// Factor of each slot's values; 0 for a free slot.
    scales: Vec<f32>,
    /// The chunk that each slot belongs to.
    owners: Vec<Row>,
    /// The next slot of the same chunk.
    next: Vec<u32>,
}

/// All vectors of a vault.
#[derive(Clone)]
pub(super) struct Windows {
    dimensions: usize,
    blocks: Vec<Arc<Block>>,
    /// The first slot of each chunk.
    first: Blocks<u32>,
}

/// Slots that may be used again; the writer's own, no snapshot needs them.
#[derive(Default)]
pub(super) struct FreeSlots(Vec<u32>);

impl Windows {
    /// An empty matrix for vectors of `dimensions` values.
    pub(super) fn new(dimensions: usize) -> Self {
        Windows { dimensions, blocks: Vec::new(), first: Blocks::default() }
    }

    /// Values of a vector.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Sets the vectors of a chunk. Zero vectors and vectors of another length than the matrix's are left
    /// out: no search could find a chunk by them.
    pub(super) fn set(&mut self, row: Row, vectors: &[Vector], free: &mut FreeSlots) {
        if self.vectors(row).eq(vectors.iter().filter(|v| self.usable(v)).cloned()) {
            return; // A body edit leaves most chunks as they were: copy no block for them.
        }
        self.clear(row, free);
        let mut first = None;
        for vector in vectors.iter().rev() {
            if self.usable(vector) {
                first = Some(self.push(row, vector, first.unwrap_or(NONE), free));
            }
        }
        self.first.set(row, first);
    }

    /// Takes the vectors of a chunk out.
    pub(super) fn clear(&mut self, row: Row, free: &mut FreeSlots) {
        let mut slot = self.first.set(row, None).unwrap_or(NONE);
        while slot != NONE {
            free.0.push(slot);
            let (block, at) = place(slot);
            let block = Arc::make_mut(&mut self.blocks[block]);
            block.owners[at] = NONE;
            block.scales[at] = 0.0;
            slot = std::mem::replace(&mut block.next[at], NONE);
        }
    }

    fn usable(&self, vector: &Vector) -> bool {
        vector.values.len() == self.dimensions && vector.scale.is_finite() && vector.scale != 0.0
    }

    fn push(&mut self, row: Row, vector: &Vector, next: u32, free: &mut FreeSlots) -> u32 {
        let slot = free.0.pop().unwrap_or_else(|| match self.blocks.last() {
            Some(block) if block.owners.len() < BLOCK => ((self.blocks.len() - 1) * BLOCK + block.owners.len()) as u32,
            _ => (self.blocks.len() * BLOCK) as u32,
        });
        let (at_block, at) = place(slot);
        if at_block == self.blocks.len() {
            self.blocks.push(Arc::default());
        }
        let block = Arc::make_mut(&mut self.blocks[at_block]);
        if at == block.owners.len() {
            block.values.extend_from_slice(&vector.values);
            block.scales.push(vector.scale);
            block.owners.push(row);
            block.next.push(next);
        } else {
            block.values[at * self.dimensions..][..self.dimensions].copy_from_slice(&vector.values);
            (block.scales[at], block.owners[at], block.next[at]) = (vector.scale, row, next);
        }
        slot
    }

    fn slots(&self, row: Row) -> impl Iterator<Item = (&Block, usize)> {
        let first = self.first.get(row).copied();
        std::iter::successors(first, |&slot| {
            let (block, at) = place(slot);
            Some(self.blocks[block].next[at]).filter(|&next| next != NONE)
        })
        .map(|slot| {
            let (block, at) = place(slot);
            (&*self.blocks[block], at)
        })
    }

    /// The vectors of a chunk, in the order they were given.
    pub(super) fn vectors(&self, row: Row) -> impl Iterator<Item = Vector> {
        self.slots(row)
            .map(|(block, at)| Vector { values: block.row(at, self.dimensions).into(), scale: block.scales[at] })
    }

    /// The best cosine of `query` with any window of a chunk; 0 if either has no vector.
    pub(super) fn cosine(&self, query: &Vector, row: Row) -> f32 {
        if !self.usable(query) {
            return 0.0;
        }
        let best = self
            .slots(row)
            .map(|(block, at)| {
                let product = dot(&query.values, block.row(at, self.dimensions));
                product as f32 * block.scales[at] * query.scale
            })
            .reduce(f32::max);
        best.unwrap_or(0.0)
    }

    /// The `k` chunks with the highest cosine (best window of each), best first, equals by row.
    /// `allowed` is asked only for chunks that would take a place.
    pub(super) fn nearest(&self, query: &Vector, allowed: &Allowed<'_>, k: usize) -> Vec<(Row, f32)> {
        self.scan(0..self.blocks.len(), query, allowed, k).finish()
    }

    /// The matrix in two halves that can be scanned apart, if it is so large that this is quicker.
    pub(super) fn halves(&self) -> Option<[Range<usize>; 2]> {
        let blocks = self.blocks.len();
        (blocks * BLOCK * self.dimensions >= LARGE).then_some([0..blocks / 2, blocks / 2..blocks])
    }

    /// As [`Windows::nearest`], of some blocks.
    pub(super) fn scan(&self, blocks: Range<usize>, query: &Vector, allowed: &Allowed<'_>, k: usize) -> Best {
        let mut best = Best::new(k);
        if k == 0 || !self.usable(query) || self.dimensions == 0 {
            return best;
        }
        let mut products = Vec::with_capacity(BLOCK);
        for block in self.blocks.get(blocks).unwrap_or_default() {
            dots(&query.values, &block.values, &mut products);
            for ((product, scale), owner) in products.iter().zip(&block.scales).zip(&block.owners) {
                let cosine = *product as f32 * scale * query.scale;
                if cosine >= best.threshold && *owner != NONE && allowed(*owner) {
                    best.push(*owner, cosine);
                }
            }
        }
        best
    }
}

impl Block {
    fn row(&self, at: usize, dimensions: usize) -> &[i8] {
        &self.values[at * dimensions..][..dimensions]
    }
}

fn place(slot: u32) -> (usize, usize) {
    (slot as usize / BLOCK, slot as usize % BLOCK)
}

/// Collects the `k` best chunks of a stream of windows. Candidates gather in a buffer that is cut down when
/// it is full, which costs less than a heap and lets windows of the same chunk be merged in passing.
pub(super) struct Best {
    k: usize,
    /// What a score must reach to take a place.
    pub(super) threshold: f32,
    found: Vec<(Row, f32)>,
}

impl Best {
    pub(super) fn new(k: usize) -> Self {
        Best { k, threshold: f32::NEG_INFINITY, found: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Row, cosine: f32) {
        self.found.push((row, cosine));
        if self.found.len() >= self.k.saturating_mul(2).saturating_add(64) {
            self.cut();
        }
    }

    /// Takes in what was found elsewhere.
    pub(super) fn join(mut self, other: Best) -> Best {
        self.found.extend(other.found);
        self
    }

    fn cut(&mut self) {
        self.found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        self.found.dedup_by_key(|found| found.0);
        self.found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        self.found.truncate(self.k);
        if let (true, Some(last)) = (self.found.len() == self.k, self.found.last()) {
            self.threshold = last.1;
        }
    }

    pub(super) fn finish(mut self) -> Vec<(Row, f32)> {
        self.cut();
        self.found
    }
}

#[cfg(test)]
mod tests;
