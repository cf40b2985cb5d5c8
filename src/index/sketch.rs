//! One bit per value: what a scan of many vectors reads first.
//!
//! The signs of a vector, with one factor, tell its cosine to a query to within some hundredths: enough to leave out
//! all but some thousands of the vectors, at an eighth of the memory that has to be read. The estimate is that of
//! RaBitQ (Gao, Long, "RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error Bound", SIGMOD 2024) without
//! its random rotation: `q · sign(x) · |x|² / |x|₁`. The query keeps its full precision: for each byte of signs there is
//! a table of what its 256 values add, 16 KiB for 256 dimensions, which stay in the nearest cache.

/// The signs of `values`, eight to a byte.
pub(super) fn signs(values: &[i8]) -> impl Iterator<Item = u8> + '_ {
    values.chunks(8).map(|eight| eight.iter().enumerate().fold(0, |byte, (i, v)| byte | u8::from(*v > 0) << i))
}

/// What the sum over the signs is multiplied with to estimate the sum over the values.
pub(super) fn factor(values: &[i8]) -> f32 {
    let (mut squares, mut sizes) = (0u64, 0u64);
    for &value in values {
        let size = u64::from(value.unsigned_abs());
        squares += size * size;
        sizes += size;
    }
    squares as f32 / sizes.max(1) as f32
}

/// A query made ready for many sketches.
pub(super) struct Tables(Vec<[i16; 256]>);

impl Tables {
    /// For the values of a query.
    pub(super) fn new(query: &[i8]) -> Self {
        let table = |eight: &[i8]| {
            let mut table = [0i16; 256];
            for (signs, sum) in table.iter_mut().enumerate() {
                // At most 8 × 128.
                *sum = eight
                    .iter()
                    .enumerate()
                    .map(|(i, &v)| i16::from(v) * if signs >> i & 1 == 1 { 1 } else { -1 })
                    .sum();
            }
            table
        };
        Tables(query.chunks(8).map(table).collect())
    }

    /// The sum over the signs: `Σ query · sign`.
    pub(super) fn sum(&self, signs: &[u8]) -> f32 {
        self.0.iter().zip(signs).map(|(table, &byte)| i32::from(table[usize::from(byte)])).sum::<i32>() as f32
    }
}

/// The best of a stream of estimates, in no order.
pub(super) struct Shortlist {
    most: usize,
    /// What an estimate must exceed to take a place.
    pub(super) threshold: f32,
    found: Vec<(f32, u32)>,
}

impl Shortlist {
    /// With room for `most`.
    pub(super) fn new(most: usize) -> Self {
        Shortlist { most: most.max(1), threshold: f32::NEG_INFINITY, found: Vec::with_capacity(2 * most.max(1)) }
    }

    /// Takes a slot in.
    pub(super) fn push(&mut self, slot: u32, estimate: f32) {
        self.found.push((estimate, slot));
        if self.found.len() == 2 * self.most {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.most {
            let (_, worst, _) = self.found.select_nth_unstable_by(self.most - 1, |a, b| b.0.total_cmp(&a.0));
            self.threshold = worst.0;
            self.found.truncate(self.most);
        }
    }

    /// The slots, in order, so that memory is read in order.
    pub(super) fn finish(mut self) -> Vec<u32> {
        self.cut();
        let mut slots: Vec<u32> = self.found.into_iter().map(|(_, slot)| slot).collect();
        slots.sort_unstable();
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_sum_is_that_over_the_signs(
            pairs in proptest::collection::vec((-127i8..=127, -127i8..=127), 1..70),
        ) {
            let (query, values): (Vec<i8>, Vec<i8>) = pairs.into_iter().unzip();
            let signs: Vec<u8> = signs(&values).collect();
            let expected: i32 = query.iter().zip(&values).map(|(q, v)| i32::from(*q) * if *v > 0 { 1 } else { -1 }).sum();
            prop_assert_eq!(Tables::new(&query).sum(&signs), expected as f32);
        }

        #[test]
        fn the_shortlist_has_the_best(estimates in proptest::collection::vec(-100i32..100, 0..300), most in 1usize..40) {
            let mut shortlist = Shortlist::new(most);
            for (slot, estimate) in (0..).zip(&estimates) {
                if *estimate as f32 > shortlist.threshold {
                    shortlist.push(slot, *estimate as f32);
                }
            }
            let mut got: Vec<i32> = shortlist.finish().into_iter().map(|slot| estimates[slot as usize]).collect();
            got.sort_unstable_by(|a, b| b.cmp(a));
            let mut expected = estimates;
            expected.sort_unstable_by(|a, b| b.cmp(a));
            expected.truncate(most);
            prop_assert_eq!(got, expected);
        }
    }
}
