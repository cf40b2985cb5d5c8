//! How sure a mean is, and whether a difference is more than luck.
//!
//! Queries are the sample: intervals come from drawing queries with repetition (the percentile bootstrap: Efron,
//! Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13; for measures of retrieval: Savoy, Information
//! Processing & Management 33(4), 1997). Two systems that answered the same queries are compared query by query,
//! by the randomisation test that Smucker, Allan and Carterette (CIKM 2007) recommend for retrieval: if the
//! systems were alike, each query's two values might as well have been exchanged. Nothing is assumed about how
//! the values are distributed.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::Rng;

/// Resamples of an interval: enough that its ends move less than the last digit that is shown.
pub const RESAMPLES: usize = 1000;

/// Exchanges that the randomisation test draws: a p value of 0.05 is then known to 0.004.
pub const PERMUTATIONS: usize = 10_000;

/// With at most this many queries that differ, all 2^n exchanges are tried instead.
const EXACT: usize = 13;

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Two systems on the same queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// The mean of the differences, second less first.
    pub difference: Interval,
    /// The probability of a difference as large as this, either way, if the two were alike.
    pub p: f64,
    /// Queries on which the second is better.
    pub wins: usize,
    /// Queries on which it is worse.
    pub losses: usize,
    /// Queries on which both are alike.
    pub ties: usize,
}

/// The mean of `values` and its interval; zeros if there are none.
pub fn interval(values: &[f64], seed: u64) -> Interval {
    let mut rng = Rng::new(seed);
    let draw = |rng: &mut Rng| values.get(rng.below(values.len())).copied().unwrap_or(0.0);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| (0..values.len()).map(|_| draw(&mut rng)).sum::<f64>() / values.len().max(1) as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means.get((share * RESAMPLES as f64) as usize).copied().unwrap_or(0.0);
    Interval { mean: mean(values), low: at(0.025), high: at(0.975) }
}

/// Compares what two systems reached on the same queries, in the same order; if the lists differ in length, the rest of
/// the longer one is left out.
pub fn paired(a: &[f64], b: &[f64], seed: u64) -> Paired {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let count = |test: fn(f64) -> bool| differences.iter().filter(|d| test(**d)).count();
    let (wins, losses) = (count(|d| d > NEAR), count(|d| d < -NEAR));
    Paired {
        difference: interval(&differences, seed),
        p: randomisation(&differences, seed),
        wins,
        losses,
        ties: differences.len() - wins - losses,
    }
}

/// Differences below this are noise of the arithmetic.
const NEAR: f64 = 1e-9;

/// The two-sided p value of the randomisation test. Each difference keeps or changes its sign; p is the share of such
/// ways whose sum is at least the one observed. If the ways are drawn, the observed one counts too, so p is never 0.
fn randomisation(differences: &[f64], seed: u64) -> f64 {
    let moved: Vec<f64> = differences.iter().copied().filter(|d| d.abs() > NEAR).collect();
    let seen = moved.iter().sum::<f64>().abs() - NEAR;
    let sum = |sign: &mut dyn FnMut(usize) -> bool| -> f64 {
        moved.iter().enumerate().map(|(i, d)| if sign(i) { *d } else { -d }).sum::<f64>().abs()
    };
    if moved.len() <= EXACT {
        let ways = 1_u32 << moved.len();
        let as_large = (0..ways).filter(|way| sum(&mut |i| way >> i & 1 == 1) >= seen).count();
        return as_large as f64 / f64::from(ways);
    }
    // A different stream of random bits than that of the interval.
    let mut rng = Rng::new(!seed);
    let mut bits = 0;
    let mut sign = |i: usize| {
        if i.is_multiple_of(64) {
            bits = rng.bits();
        }
        bits >> (i % 64) & 1 == 1
    };
    let as_large = (0..PERMUTATIONS).filter(|_| sum(&mut sign) >= seen).count();
    (as_large + 1) as f64 / (PERMUTATIONS + 1) as f64
}

/// How much two orders of the same things agree: Kendall's tau-b (Biometrika 33(3), 1945), from 1, the same, to -1, the
/// reverse. Each item says how the two orders rank one pair of things; `Equal` is a tie. A pair that only one order
/// ties counts against them. `None` if an order ties everything.
pub fn tau_b(pairs: impl Iterator<Item = (Ordering, Ordering)>) -> Option<f64> {
    let sign = |order: Ordering| f64::from(order as i8);
    let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
    for (a, b) in pairs.map(|(a, b)| (sign(a), sign(b))) {
        (both, first, second) = (both + a * b, first + a * a, second + b * b);
    }
    (first > 0.0 && second > 0.0).then(|| both / (first * second).sqrt())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests;
