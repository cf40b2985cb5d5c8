//! Products of matrices whose values are rounded to whole numbers of about eleven bits. These take half the bytes of
//! `f32`, and products are nearly twice as fast on processors that multiply and add pairs of them at once, as those
//! with AVX2 do; VNNI adds a little more.
//!
//! Each row has its own factor, so that its greatest value takes all of the bits. There are as many bits as the sums
//! allow: no sum of products exceeds 32 bits, whatever the values, so all processors compute the same.

/// Rows of the left side and columns of the product that are computed together: their sums stay in registers.
const ROWS: usize = 6;
const COLUMNS: usize = 32;

/// Pairs of a row that are multiplied at once: a panel of this depth stays in the L1 cache.
const DEPTH: usize = 192;

/// Added to a value, this rounds it to a whole number, which is then in the low bits of the `f32`.
const SHIFT: f32 = 1.5 * (1 << 23) as f32;

/// The values of a row, two by two.
type Pair = [i16; 2];
/// A pair from each of `ROWS` rows of the left side.
type Left = [Pair; ROWS];
/// A pair from each of `COLUMNS` rows of the right side.
type Right = [Pair; COLUMNS];
type Sums = [[i32; COLUMNS]; ROWS];

/// Rows of rounded values.
pub(in super::super) struct Rounded {
    /// Values of a row.
    width: usize,
    /// For each row half as many pairs; a last value alone is paired with 0.
    pairs: Vec<Pair>,
    /// The factor of each row: what a step of 1 is worth.
    steps: Vec<f32>,
}

impl Rounded {
    /// Rounds rows of `width` values.
    pub(super) fn of<'r>(rows: impl Iterator<Item = &'r [f32]>, width: usize) -> Rounded {
        let length = rows.size_hint().0 * width.div_ceil(2);
        let mut rounded = Rounded { width, pairs: Vec::with_capacity(length), steps: Vec::new() };
        rows.for_each(|row| rounded.push(row));
        rounded
    }

    fn push(&mut self, row: &[f32]) {
        // Without its sign, a greater number has greater bits; infinity and NaN have the greatest.
        let greatest = f32::from_bits(row.iter().map(|value| value.abs().to_bits()).max().unwrap_or(0));
        let most = most(self.width);
        let (step, inverse) = match most / greatest {
            // The row becomes NaN, so that the network's result is refused and not used.
            _ if !greatest.is_finite() => (f32::NAN, 0.0),
            inverse if inverse.is_finite() => (greatest / most, inverse),
            _ => (0.0, 0.0),
        };
        let rounded = |value: &f32| (value * inverse + SHIFT).to_bits() as i16;
        let (pairs, last) = row.as_chunks::<2>();
        self.pairs.extend(pairs.iter().map(|pair| pair.each_ref().map(rounded)));
        self.pairs.extend(last.first().map(|value| [rounded(value), 0]));
        self.steps.push(step);
    }

    /// The number of rows.
    fn count(&self) -> usize {
        self.steps.len()
    }

    /// The values of a row.
    pub(super) fn row(&self, row: usize) -> Vec<f32> {
        let step = self.steps[row];
        self.pairs_of(row).as_flattened()[..self.width].iter().map(|value| f32::from(*value) * step).collect()
    }

    fn pairs_of(&self, row: usize) -> &[Pair] {
        let length = self.width.div_ceil(2);
        &self.pairs[row * length..(row + 1) * length]
    }

    /// The rows of all of these, which are of one width.
    pub(super) fn stacked(parts: &[&Rounded]) -> Rounded {
        let pairs = parts.iter().flat_map(|part| part.pairs.iter().copied()).collect();
        let steps = parts.iter().flat_map(|part| part.steps.iter().copied()).collect();
        Rounded { width: parts.first().map_or(0, |part| part.width), pairs, steps }
    }

    /// `out` becomes `x · selfᵀ`: for each row of `x`, which are as wide, one value for each of these rows.
    pub(super) fn product(&self, x: &[f32], out: &mut [f32]) {
        let (left, columns) = (Rounded::of(x.chunks_exact(self.width), self.width), self.count());
        let (rows, length) = (left.count(), self.width.div_ceil(2));
        let mut groups: Vec<Left> = vec![[[0; 2]; ROWS]; rows.div_ceil(ROWS) * length];
        for row in 0..rows {
            put(left.pairs_of(row), row % ROWS, &mut groups[row / ROWS * length..]);
        }
        let (mut panel, multiply) = (vec![[[0; 2]; COLUMNS]; length.min(DEPTH)], chosen());
        let mut sums = vec![[[0; COLUMNS]; ROWS]; rows.div_ceil(ROWS)];
        for first in (0..columns).step_by(COLUMNS) {
            let within = COLUMNS.min(columns - first);
            sums.fill([[0; COLUMNS]; ROWS]);
            for start in (0..length).step_by(DEPTH) {
                let panel = &mut panel[..DEPTH.min(length - start)];
                (0..within).for_each(|column| put(&self.pairs_of(first + column)[start..], column, panel));
                for (group, sums) in groups.chunks_exact(length).zip(&mut sums) {
                    multiply(&group[start..][..panel.len()], panel, sums);
                }
            }
            for ((row, step), sums) in left.steps.iter().enumerate().zip(sums.as_flattened()) {
                let out = &mut out[row * columns + first..][..within];
                for ((out, sum), own) in out.iter_mut().zip(sums).zip(&self.steps[first..]) {
                    *out = *sum as f32 * (step * own);
                }
            }
        }
    }
}

/// The greatest whole number for rows of this width: `width` squares of it sum to less than 2³¹.
fn most(width: usize) -> f32 {
    let most = (f64::from(i32::MAX) / width.max(1) as f64).sqrt().floor();
    most.min(f64::from(i16::MAX)) as f32
}

/// Writes the pairs of a row to place `at` of the groups.
fn put<const MANY: usize>(row: &[Pair], at: usize, among: &mut [[Pair; MANY]]) {
    among.iter_mut().zip(row).for_each(|(among, pair)| among[at] = *pair);
}

/// Adds the products of left and right rows, which are of one length, to sums.
type Multiply = fn(&[Left], &[Right], &mut Sums);

/// Whether this processor computes these products faster than those of `f32`.
pub(super) fn is_quicker() -> bool {
    all().len() > 1
}

/// The fastest that this processor supports.
fn chosen() -> Multiply {
    all().last().copied().unwrap_or(portable)
}

/// All that this processor supports, the slowest first.
fn all() -> Vec<Multiply> {
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut all: Vec<Multiply> = vec![portable];
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") {
            // SAFETY: the processor supports it.
            #[allow(unsafe_code)]
            all.push(|left, right, sums| unsafe { wide::with_avx2(left, right, sums) });
        }
        if has!("avx512f") && has!("avx512bw") && has!("avx512vnni") {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            all.push(|left, right, sums| unsafe { wide::with_vnni(left, right, sums) });
        }
    }
    all
}

fn portable(left: &[Left], right: &[Right], sums: &mut Sums) {
    for (left, right) in left.iter().zip(right) {
        for (left, sums) in left.iter().zip(&mut *sums) {
            let [one, other] = left.map(i32::from);
            for (sum, pair) in sums.iter_mut().zip(right) {
                *sum += one * i32::from(pair[0]) + other * i32::from(pair[1]);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[allow(clippy::cast_ptr_alignment)] // All loads and stores are unaligned ones.
mod wide {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_add_epi32, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_set1_epi32,
        _mm256_storeu_si256, _mm512_dpwssd_epi32, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_storeu_si512,
    };

    use super::{COLUMNS, Left, Pair, Right, Sums};

    /// Both values of a pair in one number, as they lie in memory.
    fn both([one, other]: Pair) -> i32 {
        i32::from(other) << 16 | i32::from(one.cast_unsigned())
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn with_avx2(left: &[Left], right: &[Right], sums: &mut Sums) {
        const LANES: usize = 8;
        // The registers suffice for the sums of half of the columns.
        for columns in (0..COLUMNS).step_by(2 * LANES) {
            let places = sums.each_mut().map(|sums| sums[columns..][..2 * LANES].as_mut_ptr().cast::<__m256i>());
            // SAFETY: as many sums as two registers hold begin there.
            let mut all = places.map(|from| unsafe { [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))] });
            for (left, right) in left.iter().zip(right) {
                let from = right[columns..][..2 * LANES].as_ptr().cast::<__m256i>();
                // SAFETY: as many pairs as two registers hold begin there.
                let right = unsafe { [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))] };
                for (left, sums) in left.iter().zip(&mut all) {
                    let left = _mm256_set1_epi32(both(*left));
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(left, right));
                    }
                }
            }
            for (to, [one, other]) in places.into_iter().zip(all) {
                // SAFETY: as above.
                unsafe {
                    _mm256_storeu_si256(to, one);
                    _mm256_storeu_si256(to.add(1), other);
                }
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn with_vnni(left: &[Left], right: &[Right], sums: &mut Sums) {
        let places = sums.each_mut().map(|sums| sums.as_mut_ptr().cast::<__m512i>());
        // SAFETY: the sums of a row are as many as two registers hold.
        let mut all = places.map(|from| unsafe { [_mm512_loadu_si512(from), _mm512_loadu_si512(from.add(1))] });
        for (left, right) in left.iter().zip(right) {
            let from = right.as_ptr().cast::<__m512i>();
            // SAFETY: a panel has as many pairs as two registers hold.
            let right = unsafe { [_mm512_loadu_si512(from), _mm512_loadu_si512(from.add(1))] };
            for (left, sums) in left.iter().zip(&mut all) {
                let left = _mm512_set1_epi32(both(*left));
                for (sum, right) in sums.iter_mut().zip(right) {
                    *sum = _mm512_dpwssd_epi32(*sum, left, right);
                }
            }
        }
        for (to, [one, other]) in places.into_iter().zip(all) {
            // SAFETY: as above.
            unsafe {
                _mm512_storeu_si512(to, one);
                _mm512_storeu_si512(to.add(1), other);
            }
        }
    }
}

#[cfg(test)]
mod tests;
