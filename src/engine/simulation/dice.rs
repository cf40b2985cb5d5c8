//! The numbers that a seed gives.

use index::eval::Rng;

/// A generator of numbers: the same seed gives the same numbers, everywhere.
#[derive(Clone, Debug)]
pub(super) struct Dice(Rng);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Dice(Rng::new(seed))
    }

    /// Separate dice, so that one part of a schedule does not draw the numbers of another.
    pub(super) fn split(&mut self) -> Dice {
        Dice::new(self.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `n`, which is not 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Whether something happens that has this chance, in percent.
    pub(super) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// In `0.0..1.0`.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
