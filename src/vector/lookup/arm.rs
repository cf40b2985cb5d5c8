//! Lookups with NEON, which every 64-bit Arm has.

#[allow(clippy::wildcard_imports, reason = "the names say whose they are")]
use std::arch::aarch64::*;

use super::{Column, STRIP, Sums, pairs};

/// Bytes of a register.
const BYTES: usize = 16;

/// See [`super::Kernel`].
pub(super) fn neon(halves: &[[Sums; 2]], columns: &[Column], next: &[Column]) -> [u16; STRIP] {
    // SAFETY: every processor of the target has these instructions.
    unsafe { with_neon(halves, columns, next) }
}

#[target_feature(enable = "neon")]
fn with_neon(halves: &[[Sums; 2]], columns: &[Column], next: &[Column]) -> [u16; STRIP] {
    let four = vdupq_n_u8(15);
    // SAFETY: the pointer is to as many bytes as are read.
    let load = |bytes: &[u8; BYTES]| unsafe { vld1q_u8(bytes.as_ptr()) };
    let mut sums = [[vdupq_n_u16(0); 2]; STRIP / BYTES];
    for (halves, columns, _) in pairs(halves, columns, next) {
        let tables = halves.each_ref().map(|[low, high]| [load(low), load(high)]);
        for (at, sums) in sums.iter_mut().enumerate() {
            let looked_up = |[low, high]: [uint8x16_t; 2], column: &Column| {
                let codes = load(&column.as_chunks().0[at]);
                vaddq_u8(vqtbl1q_u8(low, vandq_u8(codes, four)), vqtbl1q_u8(high, vshrq_n_u8::<4>(codes)))
            };
            let two = vaddq_u8(looked_up(tables[0], &columns[0]), looked_up(tables[1], &columns[1]));
            sums[0] = vaddw_u8(sums[0], vget_low_u8(two));
            sums[1] = vaddw_high_u8(sums[1], two);
        }
    }
    // SAFETY: any bits are as many numbers, one after another.
    unsafe { std::mem::transmute::<[[uint16x8_t; 2]; STRIP / BYTES], [u16; STRIP]>(sums) }
}
