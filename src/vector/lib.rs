//! The matrix of windows: every vector of every chunk, and how the nearest are found among them.
//!
//! A chunk has one vector per window. Its values lie in a file that is mapped ([`Matrix`]), or here if they are in none. A
//! small matrix is scanned exactly, and so is whatever a filter leaves of a large one if that is little. Else a search looks
//! twice: first at one bit per value ([`code`]), an eighth of the bytes, which are always here, and then exactly at those
//! windows that seemed best. Blocks are copied on write, as in [`Blocks`].

#[cfg(target_endian = "big")]
compile_error!(
    "the built-in model and the signs of vectors are read as little-endian numbers: there is no situated for a big-endian processor"
);

mod best;
mod blocks;
mod code;
mod dot;
#[cfg(any(test, fuzzing))]
#[path = "../../tests/fuzz/bodies/kernels.rs"]
mod fuzz;
mod int8;
mod matrix;
mod rotation;
mod scan;
mod wide;

use std::num::NonZeroU32;
use std::sync::Arc;

use self::code::{Code, Codes, Column};
use self::dot::dot;
use self::matrix::HERE;
use self::rotation::Rotation;
use self::wide::Width;
pub use best::Best;
pub use blocks::Blocks;
#[cfg(any(test, fuzzing))]
pub use fuzz::kernels as fuzz_kernels;
pub use int8::Vector;
pub use matrix::{Coder, Matrix, Rows, WindowVector};
pub use scan::{Found, Scan};

/// A chunk's place in the snapshot's tables. Valid within one snapshot only.
pub type Row = u32;

/// Which chunks a search may bring.
pub type Allowed<'a> = dyn Fn(Row) -> bool + Sync + 'a;

/// Windows of a block: 3 KiB, and 8 KiB of bits at 256 dimensions, which is what a save copies; 64 KiB more if their values
/// are here.
const BLOCK: usize = 256;
/// Owner of a slot that is free.
const NONE: u32 = u32::MAX;
/// Says beside a slot's owner that this has another one.
const MORE: u32 = 1 << 31;

/// Where a window's values are, and whose it is. What a search looks up of it comes from memory at once.
#[derive(Clone, Copy)]
struct Slot {
    /// Where the matrix has its values and their factor; [`HERE`] if they are in [`Block::values`].
    record: u32,
    /// The chunk that it belongs to, of which there are fewer than [`MORE`], and whether that has another slot.
    owner: u32,
}

impl Slot {
    const FREE: Slot = Slot { record: HERE, owner: NONE };

    /// The chunk that it belongs to; `None` if it is free.
    fn row(self) -> Option<Row> {
        (self.owner != NONE).then_some(self.owner & !MORE)
    }

    /// Whether its chunk has another slot.
    fn has_next(self) -> bool {
        self.owner != NONE && self.owner & MORE != 0
    }
}

/// Windows side by side.
#[derive(Clone)]
struct Block {
    /// The factor of each slot's signs; no number for a free slot.
    factors: [f32; BLOCK],
    /// Of the signs of the slots' rotated values, the first word of each slot, then the second of each: so slots are
    /// compared side by side.
    signs: Vec<Column>,
    slots: [Slot; BLOCK],
    /// How many of them have ever been used; all behind them are free.
    used: usize,
    /// `dimensions` values per slot, as far as the last whose values are here.
    values: Vec<i8>,
    /// The factor of each slot's values, as far as that.
    scales: Vec<f32>,
}

impl Block {
    /// Without a window.
    fn empty() -> Self {
        let (factors, slots) = ([f32::NAN; BLOCK], [Slot::FREE; BLOCK]);
        Block { factors, signs: Vec::new(), slots, used: 0, values: Vec::new(), scales: Vec::new() }
    }

    fn codes(&self) -> Codes<'_> {
        Codes { columns: &self.signs, factors: &self.factors }
    }
}

/// All vectors of a vault.
#[derive(Clone)]
pub struct Windows {
    dimensions: usize,
    matrix: Option<Arc<dyn Matrix>>,
    rotation: Arc<Rotation>,
    blocks: Vec<Arc<Block>>,
    /// One more than the first slot of each chunk.
    first: Blocks<NonZeroU32>,
    /// The next slot of the same chunk, where that is not the one before: it is unless slots are used again.
    jumps: Blocks<u32>,
    /// Whether searches look once, however large it is.
    exact: bool,
}

/// Slots that may be used again; the writer's own, no snapshot needs them.
#[derive(Default)]
pub struct FreeSlots(Vec<u32>);

impl Windows {
    /// No windows yet, for vectors of `dimensions` values; `matrix` has those that are given with a place in it.
    pub fn new(dimensions: usize, matrix: Option<Arc<dyn Matrix>>) -> Self {
        let rotation = Arc::new(Rotation::new(dimensions));
        let (first, jumps) = (Blocks::default(), Blocks::default());
        Windows { dimensions, matrix, rotation, blocks: Vec::new(), first, jumps, exact: false }
    }

    /// No windows, for vectors that lie where these do.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Windows { blocks: Vec::new(), first: Blocks::default(), jumps: Blocks::default(), ..self.clone() }
    }

    /// The same, to be scanned exactly however large it is.
    #[must_use]
    pub fn exact(&self) -> Self {
        Windows { exact: true, ..self.clone() }
    }

    /// Prepares vectors for these windows.
    pub fn coder(&self) -> Coder {
        Coder { rotation: self.rotation.clone(), dimensions: self.dimensions }
    }

    /// Values of a vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Sets the vectors of a chunk. Zero vectors and vectors of another length than the matrix's are left
    /// out: no search could find a chunk by them.
    pub fn set(&mut self, row: Row, windows: &[WindowVector], free: &mut FreeSlots) {
        let usable = || windows.iter().filter(|window| self.has(window));
        // Asks the system, which a record that is known makes needless, and so does a chunk that is new.
        let rows = std::cell::LazyCell::new(|| self.rows());
        let same = |((block, at), window): ((&Block, usize), &WindowVector)| {
            let Vector { values, scale } = &window.vector;
            let is_row = |(row, of): (&[i8], f32)| row == &**values && of.to_bits() == scale.to_bits();
            window.record.map_or_else(|| is_row(self.row(block, at, &rows)), |record| block.slots[at].record == record)
        };
        if self.count(row) == usable().count() && self.slots(row).zip(usable()).all(same) {
            return; // A body edit leaves most chunks as they were: copy no block for them.
        }
        self.clear(row, free);
        let mut first = None;
        for window in windows.iter().rev() {
            if self.has(window) {
                first = Some(self.push(row, window, first, free));
            }
        }
        self.first.set(row, first.and_then(|slot| NonZeroU32::new(slot + 1)));
    }

    /// Takes the vectors of a chunk out.
    pub fn clear(&mut self, row: Row, free: &mut FreeSlots) {
        let slots: Vec<u32> = self.numbers(row).collect();
        self.first.set(row, None);
        for &slot in &slots {
            let (block, at) = place(slot);
            let block = Arc::make_mut(&mut self.blocks[block]);
            block.factors[at] = f32::NAN;
            // It keeps saying where its values are: an exact scan looks at those of free slots, too.
            block.slots[at] = Slot { record: block.slots[at].record, ..Slot::FREE };
            self.jumps.set(slot, None);
        }
        free.0.extend(slots);
    }

    /// Whether a window can be found, by its values or by what was made of them.
    fn has(&self, window: &WindowVector) -> bool {
        let is_prepared = window.record.is_some() && window.code.is_some();
        if is_prepared { is_factor(window.vector.scale) } else { self.usable(&window.vector) }
    }

    fn usable(&self, vector: &Vector) -> bool {
        vector.values.len() == self.dimensions && is_factor(vector.scale)
    }

    fn push(&mut self, row: Row, window: &WindowVector, next: Option<u32>, free: &mut FreeSlots) -> u32 {
        let WindowVector { vector, record, code } = window;
        let slot = free.0.pop().unwrap_or_else(|| match self.blocks.last() {
            Some(block) if block.used < BLOCK => ((self.blocks.len() - 1) * BLOCK + block.used) as u32,
            _ => (self.blocks.len() * BLOCK) as u32,
        });
        let (at_block, at) = place(slot);
        if at_block == self.blocks.len() {
            self.blocks.push(Arc::new(Block::empty()));
        }
        let code = code.clone().unwrap_or_else(|| Code::of(vector, &self.rotation, Width::chosen()));
        let block = Arc::make_mut(&mut self.blocks[at_block]);
        block.used = block.used.max(at + 1);
        if record.is_none() {
            let values = at * self.dimensions..(at + 1) * self.dimensions;
            block.values.resize(block.values.len().max(values.end), 0);
            block.values[values].copy_from_slice(&vector.values);
            block.scales.resize(block.scales.len().max(at + 1), 0.0);
            block.scales[at] = vector.scale;
        }
        let more = if next.is_some() { MORE } else { 0 };
        block.slots[at] = Slot { record: record.unwrap_or(HERE), owner: row | more };
        self.jumps.set(slot, next.filter(|next| next + 1 != slot));
        block.factors[at] = code.factor;
        block.signs.resize(code.words.len(), [0; BLOCK]);
        block.signs.iter_mut().zip(code.words).for_each(|(column, word)| column[at] = word);
        slot
    }

    /// The numbers of a chunk's slots.
    fn numbers(&self, row: Row) -> impl Iterator<Item = u32> {
        let first = self.first.get(row).map(|first| first.get() - 1);
        std::iter::successors(first, |&slot| {
            let (block, at) = place(slot);
            let next = || self.jumps.get(slot).copied().or_else(|| slot.checked_sub(1));
            self.blocks[block].slots[at].has_next().then(next)?
        })
    }

    fn slots(&self, row: Row) -> impl Iterator<Item = (&Block, usize)> {
        self.numbers(row).map(|slot| {
            let (block, at) = place(slot);
            (&*self.blocks[block], at)
        })
    }

    /// How many vectors a chunk has.
    pub fn count(&self, row: Row) -> usize {
        self.numbers(row).count()
    }

    /// What the matrix shows now.
    fn rows(&self) -> Rows {
        self.matrix.as_ref().and_then(|matrix| matrix.rows()).unwrap_or_default()
    }

    /// The values of a slot and their factor; none if the matrix does not show them.
    fn row<'a>(&'a self, block: &'a Block, at: usize, rows: &'a Rows) -> (&'a [i8], f32) {
        match block.slots[at].record {
            HERE => (&block.values[at * self.dimensions..][..self.dimensions], block.scales[at]),
            record => {
                let is_whole = |(row, scale): &(&[i8], f32)| row.len() == self.dimensions && is_factor(*scale);
                rows.get(record).filter(is_whole).unwrap_or_default()
            }
        }
    }

    /// The vectors of a chunk, in the order they were given; without those that the matrix does not show.
    pub fn vectors(&self, row: Row) -> Vec<WindowVector> {
        let rows = self.rows();
        let window = |(block, at): (&Block, usize)| {
            let (record, (values, scale)) = (block.slots[at].record, self.row(block, at, &rows));
            let vector = Vector { values: values.into(), scale };
            WindowVector::at(Some(record).filter(|record| *record != HERE), vector)
        };
        self.slots(row).map(window).filter(|window| self.usable(&window.vector)).collect()
    }

    /// The best cosine of `query` with any window of each chunk; 0 if either has no vector.
    pub fn cosines(&self, query: &Vector, chunks: &[Row]) -> Vec<f32> {
        if !self.usable(query) {
            return vec![0.0; chunks.len()];
        }
        let rows = self.rows();
        let cosine = |(block, at): (&Block, usize)| {
            let (values, scale) = self.row(block, at, &rows);
            dot(&query.values, values) as f32 * scale * query.scale
        };
        chunks.iter().map(|&row| self.slots(row).map(cosine).reduce(f32::max).unwrap_or(0.0)).collect()
    }

    /// A search for the `k` chunks that are nearest to `query`.
    pub fn scan<'a>(&'a self, query: &'a Vector, k: usize) -> Scan<'a> {
        Scan::new(self, query, k)
    }
}

/// Whether a vector with this factor points anywhere.
fn is_factor(scale: f32) -> bool {
    scale.is_finite() && scale != 0.0
}

fn place(slot: u32) -> (usize, usize) {
    (slot as usize / BLOCK, slot as usize % BLOCK)
}

#[cfg(test)]
mod tests;
