//! The matrix of windows: every vector of every chunk, and how the nearest are found among them.
//!
//! A chunk has one vector per window. The rows lie in blocks of contiguous int8, so that a scan reads memory
//! in order. A small matrix is scanned exactly, and so is whatever a filter leaves of a large one if that is little.
//! Else a search looks twice: first at one bit per value ([`code`]), an eighth of the bytes, and then exactly at those
//! windows that seemed best. Blocks are copied on write, as in [`super::blocks`].

mod best;
mod code;
mod dot;
mod rotation;
mod scan;
mod wide;

use std::sync::Arc;

use self::code::{Code, Column};
use self::dot::dot;
use self::rotation::Rotation;
use self::wide::Width;
use super::Row;
use super::blocks::Blocks;
use crate::embed::Vector;
pub(super) use best::Best;
pub(super) use scan::Scan;

/// Rows of a block: 64 KiB at 256 dimensions, and 8 KiB of bits, which is what a save copies.
const BLOCK: usize = 256;
/// Owner of a slot that is free, end of a chunk's list of slots.
const NONE: u32 = u32::MAX;

#[derive(Clone, Default)]
struct Block {
    /// `dimensions` values per slot.
    values: Vec<i8>,
    /// Factor of each slot's values; 0 for a free slot.
    scales: Vec<f32>,
    /// Of the signs of the slots' rotated values, the first word of each slot, then the second of each: so slots are
    /// compared side by side.
    signs: Vec<Column>,
    /// The factor of each slot's signs.
    factors: Vec<f32>,
    /// The chunk that each slot belongs to.
    owners: Vec<Row>,
    /// The next slot of the same chunk.
    next: Vec<u32>,
}

/// All vectors of a vault.
#[derive(Clone)]
pub(super) struct Windows {
    dimensions: usize,
    rotation: Arc<Rotation>,
    blocks: Vec<Arc<Block>>,
    /// The first slot of each chunk.
    first: Blocks<u32>,
    /// Whether searches look once, however large it is.
    exact: bool,
}

/// Slots that may be used again; the writer's own, no snapshot needs them.
#[derive(Default)]
pub(super) struct FreeSlots(Vec<u32>);

impl Windows {
    /// An empty matrix for vectors of `dimensions` values.
    pub(super) fn new(dimensions: usize) -> Self {
        let rotation = Arc::new(Rotation::new(dimensions));
        Windows { dimensions, rotation, blocks: Vec::new(), first: Blocks::default(), exact: false }
    }

    /// The same, to be scanned exactly however large it is.
    pub(super) fn exact(&self) -> Self {
        Windows { exact: true, ..self.clone() }
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
        let code = Code::of(vector, &self.rotation, Width::chosen());
        let block = Arc::make_mut(&mut self.blocks[at_block]);
        if at == block.owners.len() {
            block.values.extend_from_slice(&vector.values);
            block.scales.push(vector.scale);
            block.factors.push(code.factor);
            block.owners.push(row);
            block.next.push(next);
        } else {
            block.values[at * self.dimensions..][..self.dimensions].copy_from_slice(&vector.values);
            (block.scales[at], block.factors[at]) = (vector.scale, code.factor);
            (block.owners[at], block.next[at]) = (row, next);
        }
        block.signs.resize(code.words.len(), [0; BLOCK]);
        block.signs.iter_mut().zip(code.words).for_each(|(column, word)| column[at] = word);
        slot
    }

    /// The numbers of a chunk's slots.
    fn numbers(&self, row: Row) -> impl Iterator<Item = u32> {
        let first = self.first.get(row).copied();
        std::iter::successors(first, |&slot| {
            let (block, at) = place(slot);
            Some(self.blocks[block].next[at]).filter(|&next| next != NONE)
        })
    }

    fn slots(&self, row: Row) -> impl Iterator<Item = (&Block, usize)> {
        self.numbers(row).map(|slot| {
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

    /// A search for the `k` chunks that are nearest to `query`.
    pub(super) fn scan<'a>(&'a self, query: &'a Vector, k: usize) -> Scan<'a> {
        Scan::new(self, query, k)
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

#[cfg(test)]
mod tests;
