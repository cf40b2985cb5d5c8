//! One bit per value of a vector, and an estimate of its product with a query (RaBitQ: Gao and Long, SIGMOD 2024).
//!
//! Of a rotated vector `o` only the signs `s` and one factor are kept. `⟨s, q⟩ · ⟨o, o⟩ / ⟨s, o⟩` then estimates
//! `⟨o, q⟩`: exact for a query in the direction of `o`, right on average for all others, off by some .75 / √dimensions.
//! The query's values are rounded to 15 steps, which adds a fiftieth to that error, and turns the product into four
//! counts of bits.

#![allow(clippy::inline_always)] // A loop is as wide as the function that it is inlined into.

use super::BLOCK;
use super::rotation::Rotation;
use super::wide::{LINE, Width, fetch, widened};
use crate::Vector;

/// The greatest value of a rounded query. It fits into four bits with its sign, and the range is symmetric, so that the
/// number of a vector's set bits need not be known.
const GREATEST: f32 = 7.0;
/// Slots whose counts stay in registers.
const STRIP: usize = 16;

/// One word of every slot of a block.
pub(super) type Column = [u64; BLOCK];

/// What is kept of a vector.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Code {
    /// The signs of the rotated values, 1 for those above 0; the first in the lowest bit.
    pub(super) words: Vec<u64>,
    /// Factor of a product with the signs.
    pub(super) factor: f32,
}

impl Code {
    /// The code of a vector.
    pub(super) fn of(vector: &Vector, rotation: &Rotation, width: Width) -> Code {
        let mut rotated = Vec::new();
        rotation.rotate(width, &vector.values, &mut rotated);
        let (mut words, mut length) = (vec![0; rotated.len() / 64], 0.0);
        signs(width, rotated.as_chunks().0, &mut words, &mut length);
        let square: i32 = vector.values.iter().map(|value| i32::from(*value) * i32::from(*value)).sum();
        let factor = if length > 0.0 { vector.scale * (square as f32 / length) } else { 0.0 };
        Code { words, factor }
    }
}

widened! {
    /// The signs of `rotated`, one word per 64 values, and the sum of the absolute values.
    fn signs(rotated: &[[f32; 64]], words: &mut [u64], length: &mut f32) as each_word
}

/// Sums in one order on every machine: each of 16 sums takes every sixteenth value.
#[inline(always)]
fn each_word(rotated: &[[f32; 64]], words: &mut [u64], length: &mut f32) {
    let mut sums = [0f32; 16];
    for (values, word) in rotated.iter().zip(words) {
        *word = (0..64).zip(values).fold(0, |word, (at, value)| word | u64::from(*value > 0.0) << at);
        for values in values.as_chunks::<16>().0 {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value.abs());
        }
    }
    *length = sums.iter().sum();
}

/// A query, made ready to be compared with codes.
pub(super) struct Asked {
    /// Four bit planes of the values for each word of a code: ones, twos, fours, and the bit that stands for minus
    /// eight.
    planes: Vec<[u64; 4]>,
    /// The sum of the values.
    sum: i32,
    /// What a step is worth, the query's own factor included.
    unit: f32,
    width: Width,
}

impl Asked {
    /// Rotates and rounds a query.
    pub(super) fn new(query: &Vector, rotation: &Rotation, width: Width) -> Asked {
        let mut rotated = Vec::new();
        rotation.rotate(width, &query.values, &mut rotated);
        let greatest = rotated.iter().fold(0f32, |greatest, value| greatest.max(value.abs()));
        let step = if greatest > 0.0 { greatest / GREATEST } else { 1.0 };
        let (mut planes, mut sum) = (Vec::new(), 0);
        for values in rotated.as_chunks::<64>().0 {
            let mut four = [0; 4];
            for (at, value) in (0..64).zip(values) {
                let value = (value / step + 0.5f32.copysign(*value)) as i32;
                sum += value;
                for (bit, plane) in (0..).zip(&mut four) {
                    *plane |= (value as u64 >> bit & 1) << at;
                }
            }
            planes.push(four);
        }
        Asked { planes, sum, unit: step * query.scale, width }
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
    /// As [`Code::words`], by word.
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
    each_product(&asked.planes, codes.columns, next.columns, &mut products);
    for ((estimate, product), factor) in estimates.iter_mut().zip(products).zip(codes.factors) {
        *estimate = (2 * product - asked.sum) as f32 * asked.unit * factor;
    }
}

/// Sums, for each slot, the query's values where the slot's bit is set. Between two sums a little of `next` is
/// prefetched: if all of it were requested at once, the sums would wait for it.
#[inline(always)]
fn each_product(planes: &[[u64; 4]], columns: &[Column], next: &[Column], products: &mut [i32; BLOCK]) {
    // All blocks have the same number of columns. A `next` with another number would cut the sums short below, so it is
    // not prefetched.
    let next = if next.len() == columns.len() { next } else { columns };
    for (at, strip) in products.as_chunks_mut::<STRIP>().0.iter_mut().enumerate() {
        let mut sums = [0i64; STRIP];
        for ((planes, column), next) in planes.iter().zip(columns).zip(next) {
            for (sum, word) in sums.iter_mut().zip(&column.as_chunks::<STRIP>().0[at]) {
                let [ones, twos, fours, eights] = planes.map(|plane| i64::from((word & plane).count_ones()));
                *sum += ones + 2 * twos + 4 * fours - 8 * eights;
            }
            next.as_chunks::<STRIP>().0[at].chunks(LINE / size_of::<u64>()).for_each(fetch);
        }
        strip.iter_mut().zip(sums).for_each(|(product, sum)| *product = sum as i32);
    }
}

#[cfg(test)]
mod tests;
