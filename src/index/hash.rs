//! A hash of short byte strings for tables in memory: fast where SipHash is slow, and the same on every machine. Pure.
//!
//! [`hash`] does not resist an attacker who looks for collisions: if two texts have the same hash, its callers must
//! stay correct, if slower, or lose little.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::LazyLock;

/// Odd numbers without a pattern: the fractional parts of the square roots of 2 and 3.
const FIRST: u64 = 0x6a09_e667_f3bc_c909;
const SECOND: u64 = 0xbb67_ae85_84ca_a73b;

/// 64 good bits for some bytes: eight bytes at a time, mixed by a product whose halves are folded together.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut state = FIRST ^ (bytes.len() as u64).wrapping_mul(SECOND);
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        state = fold(state ^ u64::from_le_bytes(last));
    }
    fold(state)
}

/// 64 good bits for sixteen bytes.
pub(super) fn mix(low: u64, high: u64) -> u64 {
    fold(fold(FIRST ^ low) ^ high)
}

fn fold(state: u64) -> u64 {
    let product = u128::from(state) * u128::from(SECOND);
    (product as u64) ^ (product >> 64) as u64
}

/// A hash that resists those who look for collisions: SipHash with a key of this process.
pub(super) fn keyed(text: &str) -> u64 {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    HASHER.hash_one(text)
}

/// A map from hashes, which are not hashed again.
pub(super) type ByHash<V> = HashMap<u64, V, BuildHasherDefault<Given>>;

/// Passes a hash through unchanged.
#[derive(Clone, Copy, Default)]
pub(super) struct Given(u64);

impl Hasher for Given {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn what_differs_a_little_has_other_hashes() {
        let mut seen = HashSet::new();
        for length in 0..40 {
            let mut bytes = vec![b'a'; length];
            assert!(seen.insert(hash(&bytes)), "{length} times the same");
            for at in 0..length {
                bytes[at] = b'b';
                assert!(seen.insert(hash(&bytes)), "{length} bytes, another at {at}");
                bytes[at] = b'a';
            }
            bytes.push(0);
            assert!(seen.insert(hash(&bytes)), "{length} bytes and a zero");
        }
    }

    #[test]
    fn all_bits_are_used() {
        let (mut ones, n) = ([0_u32; 64], 4096_u32);
        for i in 0..n {
            let hash = hash(format!("word{i}").as_bytes());
            ones.iter_mut().enumerate().for_each(|(bit, ones)| *ones += (hash >> bit) as u32 & 1);
        }
        assert!(ones.iter().all(|ones| ones.abs_diff(n / 2) < n / 8), "{ones:?}");
    }
}
