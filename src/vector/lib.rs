//! The matrix of windows: every vector of every chunk, and how the nearest are found among them.
//!
//! A chunk has one vector per window. Its values are in a mapped file ([`Matrix`]), or here if no file has them. A
//! small matrix is scanned exactly, and so are the windows that a filter leaves of a large one if they are few.
//! Otherwise a search looks twice: first at one bit per value ([`code`]), an eighth of the bytes, which are always
//! here, and then exactly at the windows that seemed best. Blocks are copied on write, as in [`Blocks`].

#[cfg(target_endian = "big")]
compile_error!(
    "the built-in model and the signs of vectors are read as little-endian numbers: there is no situated for a big-endian processor"
);

mod best;
mod bits;
mod blocks;
mod code;
mod dot;
#[cfg(any(test, fuzzing))]
#[path = "../../tests/fuzz/bodies/kernels.rs"]
mod fuzz;
mod int8;
mod lookup;
mod matrix;
mod random;
mod rotation;
mod saved;
mod scan;
mod wide;

use std::num::NonZeroU32;
use std::sync::Arc;

use self::code::{Code, Codes};
use self::lookup::{Column, STRIP};
use self::matrix::HERE;
use self::rotation::Rotation;
use self::wide::Width;
pub use best::Best;
pub use bits::ones;
pub use blocks::Blocks;
#[cfg(any(test, fuzzing))]
pub use fuzz::kernels as fuzz_kernels;
pub use int8::Vector;
pub use matrix::{Coder, Matrix, Rows, WindowVector};
pub use random::SplitMix64;
pub use scan::{Found, Scan};

/// A chunk's place in the snapshot's tables. Valid within one snapshot only.
pub type Row = u32;

/// Which chunks a search may return.
pub type Allowed<'a> = dyn Fn(Row) -> bool + Sync + 'a;

/// Windows of a block. A save copies whole blocks: 3 KiB, and 8 KiB of signs at 256 dimensions; 64 KiB more if the
/// values are here.
const BLOCK: usize = 256;
/// Owner of a free slot.
const NONE: u32 = u32::MAX;
/// Bit of a slot's owner: the owner has another slot.
const MORE: u32 = 1 << 31;

/// Where a window's values are, and which chunk owns it. A search gets both with one access to memory.
#[derive(Clone, Copy)]
struct Slot {
    /// The row of the matrix with its values and their factor; [`HERE`] if they are in [`Block::values`].
    record: u32,
    /// The chunk that it belongs to, plus [`MORE`] if that chunk has another slot. There are fewer than [`MORE`]
    /// chunks.
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

/// [`BLOCK`] slots, which a search compares side by side.
#[derive(Clone)]
struct Block {
    /// The factor of each slot's signs; NaN for a free slot.
    factors: [f32; BLOCK],
    /// The signs of the slots' rotated values: of each strip of slots the first byte of every slot, then the second byte
    /// of every slot. So slots are compared side by side, and memory is read from end to end.
    signs: Vec<Column>,
    slots: [Slot; BLOCK],
    /// How many slots have ever been used; all behind them are free.
    used: usize,
    /// `dimensions` values per slot, up to the last slot whose values are here.
    values: Vec<i8>,
    /// The factor of each slot's values, up to the same slot.
    scales: Vec<f32>,
}

impl Block {
    /// A block without windows.
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
    /// The number of each chunk's first slot, plus one.
    first: Blocks<NonZeroU32>,
    /// The next slot of the same chunk, where it is not the slot before this one. Only reuse of free slots leads to
    /// that.
    jumps: Blocks<u32>,
    /// Whether every search scans exactly, however many windows there are.
    exact: bool,
}

/// Free slots that can be reused. Only the writer needs them; snapshots do not.
#[derive(Default)]
pub struct FreeSlots(Vec<u32>);

impl Windows {
    /// No windows yet, for vectors of `dimensions` values. `matrix` has the values of those that come with a record.
    pub fn new(dimensions: usize, matrix: Option<Arc<dyn Matrix>>) -> Self {
        let rotation = Arc::new(Rotation::new(dimensions));
        let (first, jumps) = (Blocks::default(), Blocks::default());
        Windows { dimensions, matrix, rotation, blocks: Vec::new(), first, jumps, exact: false }
    }

    /// No windows, for vectors of the same matrix.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Windows { blocks: Vec::new(), first: Blocks::default(), jumps: Blocks::default(), ..self.clone() }
    }

    /// The same windows, whose values are in the matrix of `other`.
    #[must_use]
    pub fn in_matrix_of(self, other: &Windows) -> Self {
        Windows { matrix: other.matrix.clone(), ..self }
    }

    /// The same windows, to be scanned exactly however many there are.
    #[must_use]
    pub fn exact(&self) -> Self {
        Windows { exact: true, ..self.clone() }
    }

    /// A coder that prepares vectors for these windows.
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
        // Lazy, because it asks the system: windows with a record do not need it, nor does a chunk that is new.
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
            // Keeps its record: an exact scan also reads the values of free slots.
            block.slots[at] = Slot { record: block.slots[at].record, ..Slot::FREE };
            self.jumps.set(slot, None);
        }
        free.0.extend(slots);
    }

    /// Whether a search can find a window, by its values or by the code that was made of them.
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
        block.signs.resize(BLOCK / STRIP * code.signs.len(), [0; STRIP]);
        let columns = &mut block.signs[at / STRIP * code.signs.len()..];
        columns.iter_mut().zip(code.signs).for_each(|(column, signs)| column[at % STRIP] = signs);
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
        self.numbers(row).map(|slot| self.slot(slot))
    }

    /// The block of a slot, and its place there.
    fn slot(&self, slot: u32) -> (&Block, usize) {
        let (block, at) = place(slot);
        (&self.blocks[block], at)
    }

    /// How many vectors a chunk has.
    pub fn count(&self, row: Row) -> usize {
        self.numbers(row).count()
    }

    /// The rows of the matrix with a chunk's vectors, in the order they were given; `None` for one that is here.
    pub fn records(&self, row: Row) -> impl Iterator<Item = Option<u32>> {
        self.slots(row).map(|(block, at)| Some(block.slots[at].record).filter(|record| *record != HERE))
    }

    /// What the matrix shows now.
    fn rows(&self) -> Rows {
        self.matrix.as_ref().and_then(|matrix| matrix.rows()).unwrap_or_default()
    }

    /// The values of a slot and their factor; empty if the matrix does not show them.
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

    /// A search for the `k` chunks that are nearest to `query`.
    pub fn scan<'a>(&'a self, query: &'a Vector, k: usize) -> Scan<'a> {
        Scan::new(self, query, k)
    }
}

/// Whether a vector with this factor has a direction.
fn is_factor(scale: f32) -> bool {
    scale.is_finite() && scale != 0.0
}

fn place(slot: u32) -> (usize, usize) {
    (slot as usize / BLOCK, slot as usize % BLOCK)
}

#[cfg(test)]
mod tests;
