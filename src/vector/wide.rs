//! How wide the loops over vectors are: which of the processor's instructions they are compiled for.
//!
//! The loops are plain ones, but for lookups ([`super::lookup`]). Each is compiled once for every [`Width`], inlined
//! into a function that may use the instructions of that width. All of them give the same numbers, bit for bit: none
//! sums in another order.

#![allow(clippy::inline_always)] // A prefetch belongs between two steps of a loop, so it must be inlined there.

use std::ffi::OsStr;
use std::sync::OnceLock;

/// The environment variable that limits the width for tests: `avx2`, or `portable`.
const VARIABLE: &str = "SITUATED_TEST_WIDTH";

/// Instructions that this processor has. Only asking the processor makes a width, so code that has one may use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Width(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// What every processor of the target has: on 64-bit Arm this includes NEON.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With the dot products of VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Width {
    /// The widest, chosen once.
    pub(super) fn chosen() -> Width {
        static CHOSEN: OnceLock<Width> = OnceLock::new();
        *CHOSEN.get_or_init(|| Width::at_most(std::env::var_os(VARIABLE).as_deref()))
    }

    /// The widest that a name allows; an unknown name, or none, allows all.
    fn at_most(name: Option<&OsStr>) -> Width {
        let all = Width::all();
        let most = match name.and_then(OsStr::to_str) {
            Some("portable") => 1,
            Some("avx2") => 2,
            _ => all.len(),
        };
        all[all.len().min(most) - 1]
    }

    /// All widths of this processor, the narrowest first; at least one.
    pub(super) fn all() -> Vec<Width> {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut all = vec![Width(Level::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") {
                all.push(Width(Level::Avx2));
                if has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512vnni") {
                    all.push(Width(Level::Avx512));
                }
            }
        }
        all
    }

    /// For [`widened`], and for loops that are written for each level.
    pub(super) fn level(self) -> Level {
        self.0
    }
}

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// Prefetches the cache line in which a value begins into the second-level cache, without waiting. Processors do so by
/// themselves where memory is read from end to end, but seldom in time: without it a search of 2.1 million windows by
/// their vectors took 11 ms, and takes 7.
#[inline(always)]
pub(super) fn fetch<T: ?Sized>(of: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: it reads nothing, and no address makes it fail. Every processor of the target has it.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(of).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = of;
}

/// Makes a function that calls a plain one, `#[inline(always)]`, compiled for the width that it is given.
macro_rules! widened {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) as $plain:ident) => {
        $(#[$doc])*
        pub(super) fn $name(width: $crate::wide::Width, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn with_avx2($($argument: $type),*) {
                    $plain($($argument),*);
                }
                #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512vnni")]
                fn with_avx512($($argument: $type),*) {
                    $plain($($argument),*);
                }
                match width.level() {
                    // SAFETY: the processor has these instructions: `Width::all` asked for each before it made this
                    // width.
                    $crate::wide::Level::Avx512 => return unsafe { with_avx512($($argument),*) },
                    // SAFETY: as above.
                    $crate::wide::Level::Avx2 => return unsafe { with_avx2($($argument),*) },
                    $crate::wide::Level::Portable => {}
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = width;
            $plain($($argument),*);
        }
    };
}
pub(super) use widened;

#[cfg(test)]
mod tests;
