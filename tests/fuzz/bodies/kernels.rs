//! The loops over vectors, for each set of instructions that this processor has, against plain ones.

use super::BLOCK;
use super::code::{Asked, Code, Codes};
use super::dot::{dots, dots_of};
use super::int8::Vector;
use super::lookup::{Column, STRIP};
use super::rotation::Rotation;
use super::wide::Width;

use input::Input;

#[allow(dead_code, clippy::duplicate_mod, reason = "each body stands alone, and uses what it needs")]
#[path = "../input.rs"]
mod input;

/// Values of the longest vector: the built-in model's have 256, and others no multiple of a register's.
const MOST_DIMENSIONS: usize = 300;

/// A query and rows of int8 values: products, rotations, signs and estimates are the same whatever computes them.
pub fn kernels(bytes: &[u8]) {
    let mut input = Input(bytes);
    let dimensions = (usize::from(input.byte()) << 1 | usize::from(input.below(2))) % MOST_DIMENSIONS + 1;
    let row = |input: &mut Input<'_>| {
        let mut row: Vec<i8> = input.take(dimensions).iter().map(|byte| byte.cast_signed()).collect();
        row.resize(dimensions, 0);
        row
    };
    let query = row(&mut input);
    let mut rows = Vec::new();
    while !input.is_over() && rows.len() < BLOCK {
        rows.push(row(&mut input));
    }
    products(&query, &rows);
    codes(query, rows);
}

fn products(query: &[i8], rows: &[Vec<i8>]) {
    // In 64 bits, so that no width of a sum is taken on trust.
    let plain = |row: &Vec<i8>| query.iter().zip(row).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum::<i64>();
    let fits = |sum: i64| i32::try_from(sum).expect("it fits for any real embedder");
    let expected: Vec<i32> = rows.iter().map(plain).map(fits).collect();
    let together = rows.concat();
    let apart: Vec<&[i8]> = rows.iter().map(Vec::as_slice).collect();
    for width in Width::all() {
        let mut found = vec![7];
        dots(width, query, &together, &mut found);
        assert_eq!(found, expected, "{width:?}, one after another");
        dots(width, query, &together[..together.len().saturating_sub(1)], &mut found);
        assert_eq!(found, expected[..expected.len().saturating_sub(1)], "{width:?}, a part of a row at the end");
        dots_of(width, query, &apart, &mut found);
        assert_eq!(found, expected, "{width:?}, apart");
    }
}

fn codes(query: Vec<i8>, rows: Vec<Vec<i8>>) {
    let rotation = Rotation::new(query.len());
    let vectors: Vec<Vector> = rows.into_iter().map(|row| Vector { values: row.into(), scale: 0.01 }).collect();
    let query = Vector { values: query.into(), scale: 0.02 };
    let mut first: Option<(Vec<Vec<u32>>, Vec<Code>, Vec<u32>)> = None;
    for width in Width::all() {
        let rotated = |vector: &Vector| {
            let mut rotated = Vec::new();
            rotation.rotate(width, &vector.values, &mut rotated);
            assert_eq!(rotated.len(), rotation.length());
            rotated
        };
        let codes: Vec<Code> = vectors.iter().map(|vector| Code::of(vector, &rotation, width)).collect();
        for (vector, code) in vectors.iter().zip(&codes) {
            let signs = (0..rotation.length()).map(|at| code.signs[at / 8] >> (at % 8) & 1 == 1);
            assert!(signs.eq(rotated(vector).iter().map(|value| *value > 0.0)), "{width:?}");
        }
        let mut columns: Vec<Column> = vec![[0; STRIP]; BLOCK / STRIP * rotation.length() / 8];
        for (slot, code) in codes.iter().enumerate() {
            let columns = columns[slot / STRIP * code.signs.len()..].iter_mut();
            columns.zip(&code.signs).for_each(|(column, signs)| column[slot % STRIP] = *signs);
        }
        let mut factors = [f32::NAN; BLOCK];
        factors.iter_mut().zip(&codes).for_each(|(factor, code)| *factor = code.factor);
        let mut estimates = [0.0; BLOCK];
        let asked = Asked::new(&query, &rotation, width);
        let block = Codes { columns: &columns, factors: &factors };
        asked.estimates(block, block, &mut estimates);
        let estimates = &estimates[..codes.len()];
        assert!(estimates.iter().all(|estimate| estimate.is_finite()));
        // Bit for bit, as a search is to answer the same on every processor.
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        let all = (vectors.iter().map(|vector| bits(&rotated(vector))).collect(), codes, bits(estimates));
        match &first {
            Some(first) => assert!(*first == all, "{width:?} computes something else"),
            None => first = Some(all),
        }
    }
}

#[cfg(test)]
#[allow(clippy::duplicate_mod, reason = "each body stands alone")]
#[path = "../kept.rs"]
mod kept;

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn loops() {
        kept::run("kernels", 800, super::kernels);
    }
}
