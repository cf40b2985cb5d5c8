//! The sum of a query's values where a code has bits set, looked up four bits at a time.
//!
//! Each four bits of a code are the number of an entry in a table of sixteen sums, which one register holds; so an
//! instruction looks up as many slots as a register has bytes (André, Kermarrec and Le Scouarnec, "Cache locality is not
//! enough", VLDB 2015; RaBitQ does so, too). No loop that a compiler vectorises comes to this instruction, so there is
//! one for each set of instructions. Counting bits instead, 64 at a time, takes three times as long with AVX2.

#![allow(clippy::inline_always)] // An iterator belongs into the loop of its width.

use super::BLOCK;
use super::wide::{LINE, Level, Width};

/// Slots whose sums stay in registers: a cache line of one byte each.
pub(super) const STRIP: usize = LINE;
/// One byte of the code of each slot of a strip.
pub(super) type Column = [u8; STRIP];

/// A sum for each four bits, plus [`ABOVE`].
type Sums = [u8; 16];

/// The least and the greatest value of a query: its sums of four fit into five bits, and of sixteen into a byte.
pub(super) const LEAST: i8 = -8;
pub(super) const GREATEST: i8 = 7;
/// What a sum of four values is stored above its worth, so that none is negative.
const ABOVE: i32 = -4 * LEAST as i32;
/// Bytes of codes whose sums 16 bits hold: a byte is two sums of at most `4 * GREATEST + ABOVE`.
const LONGEST: usize = 512;

/// The tables of a query.
pub(super) struct Lookup {
    /// For each byte of a code: the sums of its lower four bits, and of its upper ones.
    halves: Vec<[Sums; 2]>,
    /// The same for the byte as one; only where the processor looks up one at a time.
    bytes: Vec<[u16; 256]>,
    width: Width,
}

impl Lookup {
    /// Of a query's values, a multiple of 16, each from [`LEAST`] to [`GREATEST`].
    pub(super) fn new(values: &[i8], width: Width) -> Lookup {
        let sum_of = |values: &[i8], bits: usize| {
            let set = values.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            (ABOVE + set.map(|(_, value)| i32::from(*value)).sum::<i32>()) as u8
        };
        let sums = |values: &[i8]| std::array::from_fn(|bits| sum_of(values, bits));
        let halves: Vec<[Sums; 2]> =
            values.as_chunks::<8>().0.iter().map(|byte| [sums(&byte[..4]), sums(&byte[4..])]).collect();
        let whole = |[low, high]: &[Sums; 2]| {
            std::array::from_fn(|byte| u16::from(low[byte & 15]) + u16::from(high[byte >> 4]))
        };
        let bytes = if kernel(width).is_none() { halves.iter().map(whole).collect() } else { Vec::new() };
        Lookup { halves, bytes, width }
    }

    /// Fills `products` with the sum of each slot of a block, whose strips lie one after another. Meanwhile it
    /// prefetches what the call for `next` will read, if that has as many columns.
    pub(super) fn sum(&self, columns: &[Column], next: &[Column], products: &mut [i32; BLOCK]) {
        let next = if next.len() == columns.len() { next } else { columns };
        let bytes = self.halves.len();
        *products = [-2 * ABOVE * bytes as i32; BLOCK];
        let strips = columns.chunks_exact(bytes.max(1)).zip(next.chunks_exact(bytes.max(1)));
        for (products, (columns, next)) in products.as_chunks_mut::<STRIP>().0.iter_mut().zip(strips) {
            let parts = (0..bytes).step_by(LONGEST).map(|begin| begin..bytes.min(begin + LONGEST));
            for part in parts {
                let sums = match kernel(self.width) {
                    Some(kernel) => kernel(&self.halves[part.clone()], &columns[part.clone()], &next[part]),
                    None => one_by_one(&self.bytes[part.clone()], &columns[part]),
                };
                products.iter_mut().zip(sums).for_each(|(product, sum)| *product += i32::from(sum));
            }
        }
    }
}

/// The sums of a strip's slots over at most [`LONGEST`] columns. It prefetches as many of another strip: a line between
/// two lookups, for if all were requested at once, the lookups would wait for them.
type Kernel = fn(&[[Sums; 2]], &[Column], &[Column]) -> [u16; STRIP];

/// The kernel of a width; `None` if it has no instruction that looks up many bytes.
fn kernel(width: Width) -> Option<Kernel> {
    match width.level() {
        // With registers of 64 bytes a search was no faster, for it waits for memory.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 => Some(x86::avx2),
        #[cfg(target_arch = "aarch64")]
        Level::Portable => Some(arm::neon),
        #[cfg(not(target_arch = "aarch64"))]
        Level::Portable => None,
    }
}

/// As a [`Kernel`], without special instructions.
fn one_by_one(bytes: &[[u16; 256]], columns: &[Column]) -> [u16; STRIP] {
    let mut sums = [0; STRIP];
    for (sum_of, column) in bytes.iter().zip(columns) {
        sums.iter_mut().zip(column).for_each(|(sum, byte)| *sum += sum_of[usize::from(*byte)]);
    }
    sums
}

/// Columns two at a time, with their tables and the columns to prefetch: two bytes of four sums of four fit into one.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn pairs<'a>(
    halves: &'a [[Sums; 2]],
    columns: &'a [Column],
    next: &'a [Column],
) -> impl Iterator<Item = (&'a [[Sums; 2]; 2], &'a [Column; 2], &'a [Column; 2])> {
    let columns = columns.as_chunks::<2>().0.iter().zip(next.as_chunks::<2>().0);
    halves.as_chunks::<2>().0.iter().zip(columns).map(|(halves, (columns, next))| (halves, columns, next))
}

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
mod arm;

#[cfg(test)]
mod tests;
