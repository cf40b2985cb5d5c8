//! A small seeded generator: the same seed draws the same queries and the same resamples everywhere.

use vector::SplitMix64;

/// Draws numbers and orders.
#[derive(Clone, Debug)]
pub struct Rng(SplitMix64);

impl Rng {
    /// Begins at a seed.
    pub fn new(seed: u64) -> Self {
        Rng(SplitMix64::new(seed))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// Uniform in `0..n`; 0 for `n` = 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Puts a list in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests;
