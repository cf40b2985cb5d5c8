//! A small seeded generator: the same seed gives the same vault and the same queries everywhere.

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Rng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in 0..n; 0 for n = 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Uniform in low..=high.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Log-normal with the given median and sigma.
    pub(crate) fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        // Box–Muller; the first number must not be 0.
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        median * (sigma * radius * (std::f64::consts::TAU * self.unit()).cos()).exp()
    }
}

/// Ranks 0..n with a probability that falls as 1 / (rank + 1).
pub(crate) struct Zipf(Vec<f64>);

impl Zipf {
    pub(crate) fn new(n: usize) -> Self {
        let mut sum = 0.0;
        Zipf(
            (1..=n)
                .map(|rank| {
                    sum += 1.0 / rank as f64;
                    sum
                })
                .collect(),
        )
    }

    pub(crate) fn sample(&self, rng: &mut Rng) -> usize {
        let Some(total) = self.0.last() else { return 0 };
        let x = rng.unit() * total;
        self.0.partition_point(|sum| *sum <= x).min(self.0.len() - 1)
    }
}
