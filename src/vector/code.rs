//! One bit per value of a vector, and an estimate of its product with a query (RaBitQ: Gao and Long, SIGMOD 2024).
//!
//! Of a rotated vector `o` only the signs `s` and one factor are kept. `⟨s, q⟩ · ⟨o, o⟩ / ⟨s, o⟩` then estimates
//! `⟨o, q⟩`: exact for a query in the direction of `o`, right on average for all others, off by some .75 / √dimensions.
//! The query's values are rounded to 15 steps, which adds a fiftieth to that error, and lets the product be looked up
//! ([`Lookup`]).

#![allow(clippy::inline_always)] // A loop is as wide as the function that it is inlined into.

use super::BLOCK;
use super::lookup::{Column, GREATEST, Lookup};
use super::rotation::Rotation;
use super::wide::{LINE, Width, fetch, widened};
use crate::Vector;

/// What is kept of a vector.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Code {
    /// The signs of the rotated values, 1 for those above 0; the first in the lowest bit of the first byte. A multiple
    /// of eight bytes.
    pub(super) signs: Vec<u8>,
    /// Factor of a product with the signs.
    pub(super) factor: f32,
}

impl Code {
    /// The code of a vector.
    pub(super) fn of(vector: &Vector, rotation: &Rotation, width: Width) -> Code {
        let mut rotated = Vec::new();
        rotation.rotate(width, &vector.values, &mut rotated);
        let (mut signs, mut length) = (vec![0; rotated.len() / 8], 0.0);
        signs_of(width, rotated.as_chunks().0, signs.as_chunks_mut().0, &mut length);
        let square: i32 = vector.values.iter().map(|value| i32::from(*value) * i32::from(*value)).sum();
        let factor = if length > 0.0 { vector.scale * (square as f32 / length) } else { 0.0 };
        Code { signs, factor }
    }
}

widened! {
    /// The signs of `rotated`, eight bytes per 64 values, and the sum of the absolute values.
    fn signs_of(rotated: &[[f32; 64]], signs: &mut [[u8; 8]], length: &mut f32) as each_word
}

/// Sums in one order on every machine: each of 16 sums takes every sixteenth value.
#[inline(always)]
fn each_word(rotated: &[[f32; 64]], signs: &mut [[u8; 8]], length: &mut f32) {
    let mut sums = [0f32; 16];
    for (values, signs) in rotated.iter().zip(signs) {
        *signs = (0..64).zip(values).fold(0, |word, (at, value)| word | u64::from(*value > 0.0) << at).to_le_bytes();
        for values in values.as_chunks::<16>().0 {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value.abs());
        }
    }
    *length = sums.iter().sum();
}

/// A query, made ready to be compared with codes.
pub(super) struct Asked {
    /// Sums of the rounded values.
    lookup: Lookup,
    /// The sum of all of them.
    sum: i32,
    /// What a step is worth, the query's own factor included.
    unit: f32,
    width: Width,
}

impl Asked {
    /// Rotates and rounds a query. The range of rounded values is symmetric, so that the number of a vector's set bits
    /// need not be known.
    pub(super) fn new(query: &Vector, rotation: &Rotation, width: Width) -> Asked {
        let mut rotated = Vec::new();
        rotation.rotate(width, &query.values, &mut rotated);
        let greatest = rotated.iter().fold(0f32, |greatest, value| greatest.max(value.abs()));
        let step = if greatest > 0.0 { greatest / f32::from(GREATEST) } else { 1.0 };
        let rounded = |value: &f32| (value / step + 0.5f32.copysign(*value)) as i8;
        Asked::of(&rotated.iter().map(rounded).collect::<Vec<_>>(), step * query.scale, width)
    }

    fn of(rounded: &[i8], unit: f32, width: Width) -> Asked {
        let sum = rounded.iter().map(|value| i32::from(*value)).sum();
        Asked { lookup: Lookup::new(rounded, width), sum, unit, width }
    }

    /// Fills `estimates` with the estimated cosine of the query and each slot of a block: NaN where the factor is NaN.
    /// Meanwhile it prefetches what the call for `next` will read.
    pub(super) fn estimates(&self, codes: Codes<'_>, next: Codes<'_>, estimates: &mut [f32; BLOCK]) {
        estimates_with(self.width, self, codes, next, estimates);
    }
}

/// The codes of a block.
#[derive(Clone, Copy)]
pub(super) struct Codes<'a> {
    /// As [`Code::signs`]: strip by strip, and byte by byte.
    pub(super) columns: &'a [Column],
    /// As [`Code::factor`], by slot.
    pub(super) factors: &'a [f32; BLOCK],
}

widened! {
    /// [`Asked::estimates`].
    fn estimates_with(asked: &Asked, codes: Codes<'_>, next: Codes<'_>, estimates: &mut [f32; BLOCK]) as each_slot
}

#[inline(always)]
fn each_slot(asked: &Asked, codes: Codes<'_>, next: Codes<'_>, estimates: &mut [f32; BLOCK]) {
    let mut products = [0; BLOCK];
    next.factors.chunks(LINE / size_of::<f32>()).for_each(fetch);
    asked.lookup.sum(codes.columns, next.columns, &mut products);
    for ((estimate, product), factor) in estimates.iter_mut().zip(products).zip(codes.factors) {
        *estimate = (2 * product - asked.sum) as f32 * asked.unit * factor;
    }
}

#[cfg(test)]
mod tests;
