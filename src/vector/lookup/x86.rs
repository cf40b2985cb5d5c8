//! Lookups with AVX2. Sums of 8 bits are spread over two registers of 16: those of the even slots, and those of the odd
//! ones.

#[allow(clippy::wildcard_imports, reason = "the names say whose they are")]
use std::arch::x86_64::*;

use super::{Column, STRIP, Sums, pairs};
use crate::wide::fetch;

/// See [`super::Kernel`].
pub(super) fn avx2(halves: &[[Sums; 2]], columns: &[Column], next: &[Column]) -> [u16; STRIP] {
    // SAFETY: this is the kernel of `Level::Avx2` and above, which only a processor with these instructions has.
    unsafe { with_avx2(halves, columns, next) }
}

#[target_feature(enable = "avx2")]
fn with_avx2(halves: &[[Sums; 2]], columns: &[Column], next: &[Column]) -> [u16; STRIP] {
    let (four, byte) = (_mm256_set1_epi8(15), _mm256_set1_epi16(255));
    // SAFETY: the pointer is to as many bytes as are read.
    let load = |bytes: &[u8; 32]| unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    // SAFETY: as above.
    let table = |sums: &Sums| unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(sums.as_ptr().cast())) };
    let mut sums = [[_mm256_setzero_si256(); 2]; 2];
    for (halves, columns, next) in pairs(halves, columns, next) {
        let tables = halves.each_ref().map(|[low, high]| [table(low), table(high)]);
        for (at, sums) in sums.iter_mut().enumerate() {
            let looked_up = |[low, high]: [__m256i; 2], column: &Column| {
                let codes = load(&column.as_chunks().0[at]);
                let low = _mm256_shuffle_epi8(low, _mm256_and_si256(codes, four));
                let high = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16::<4>(codes), four));
                _mm256_add_epi8(low, high)
            };
            let two = _mm256_add_epi8(looked_up(tables[0], &columns[0]), looked_up(tables[1], &columns[1]));
            sums[0] = _mm256_add_epi16(sums[0], _mm256_and_si256(two, byte));
            sums[1] = _mm256_add_epi16(sums[1], _mm256_srli_epi16::<8>(two));
        }
        next.iter().for_each(fetch);
    }
    let mut strip = [0; STRIP];
    for (strip, [even, odd]) in strip.as_chunks_mut::<32>().0.iter_mut().zip(sums) {
        // SAFETY: any bits are sixteen numbers.
        let [even, odd] = [even, odd].map(|sums| unsafe { std::mem::transmute::<__m256i, [u16; 16]>(sums) });
        *strip = std::array::from_fn(|at| if at % 2 == 0 { even[at / 2] } else { odd[at / 2] });
    }
    strip
}
