//! How sure a mean is, and whether a difference is more than luck.
//!
//! Queries are the sample: intervals come from drawing queries with repetition (the percentile bootstrap: Efron,
//! Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13; for measures of retrieval: Savoy, Information
//! Processing & Management 33(4), 1997). Two systems that answered the same queries are compared query by query,
//! by the randomisation test that Smucker, Allan and Carterette (CIKM 2007) recommend for retrieval: if the
//! systems were alike, each query's two values might as well have been exchanged. Nothing is assumed about how
//! the values are distributed.

use serde::{Deserialize, Serialize};

use super::Rng;

/// Resamples of an interval: enough that its ends move less than the last digit that is shown.
pub const RESAMPLES: usize = 1000;

/// Exchanges that the randomisation test draws: a p value of 0.05 is then known to 0.004.
pub const PERMUTATIONS: usize = 10_000;

/// Up to so many queries that differ, all 2^n exchanges are tried instead.
const EXACT: usize = 13;

/// A mean with what it may as well have been.
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

/// The mean of `values` and its interval; zeros of none.
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

/// Compares what two systems reached on the same queries, in the same order; of lists of different length
/// the rest of the longer one is left out.
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

/// The two-sided p value of the randomisation test. Each difference keeps or changes its sign; counted are the
/// ways that give at least the sum that was seen. Drawn ways count the one that was seen too, so p is never 0.
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
    // Another stream than that of the interval.
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

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Rng;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn intervals_of_nothing_and_of_equals() {
        assert_eq!(interval(&[], 1), Interval::default());
        let same = interval(&[0.5; 20], 1);
        near(same.mean, 0.5);
        near(same.low, 0.5);
        near(same.high, 0.5);
        assert_eq!(interval(&[0.0, 1.0, 0.3], 9), interval(&[0.0, 1.0, 0.3], 9));
    }

    #[test]
    fn the_interval_covers_the_truth_about_as_often_as_it_says() {
        // 300 samples of 80 queries that succeed with probability 0.6.
        let mut rng = Rng::new(2026);
        let covered = (0..300)
            .filter(|sample| {
                let values: Vec<f64> = (0..80).map(|_| f64::from(u8::from(rng.below(10) < 6))).collect();
                let Interval { low, high, .. } = interval(&values, *sample);
                (low..=high).contains(&0.6)
            })
            .count();
        assert!((270..=297).contains(&covered), "{covered} of 300");
    }

    #[test]
    fn the_permutation_test_on_known_cases() {
        // All of 5 better: 2 of 32 ways are as extreme.
        near(paired(&[0.0; 5], &[1.0; 5], 1).p, 2.0 / 32.0);
        // One up, one down, alike: every way is as extreme as a sum of 0.
        near(paired(&[0.0, 1.0], &[1.0, 0.0], 1).p, 1.0);
        // Differences 3, 2, -1: sums of at least 4 either way are +4, +6 and their negatives.
        near(paired(&[0.0, 0.0, 1.0], &[3.0, 2.0, 0.0], 1).p, 4.0 / 8.0);
        near(paired(&[0.3; 40], &[0.3; 40], 1).p, 1.0);
        near(paired(&[], &[], 1).p, 1.0);
        // 20 of 20: 2 / 2^20, below what can be drawn.
        near(paired(&[0.0; 20], &[1.0; 20], 1).p, 1.0 / 10_001.0);
        // 14 up and 6 down by the same: the sign test's two-sided p, 0.1153.
        let b: Vec<f64> = (0..20).map(|i| if i < 14 { 1.0 } else { -1.0 }).collect();
        let p = paired(&[0.0; 20], &b, 5).p;
        assert!((p - 0.1153).abs() < 0.015, "{p}");
    }

    #[test]
    fn wins_losses_and_ties() {
        let compared = paired(&[0.5, 0.5, 0.5, 0.5], &[1.0, 0.2, 0.5, 0.5 + 1e-12], 3);
        assert_eq!((compared.wins, compared.losses, compared.ties), (1, 1, 2));
        near(compared.difference.mean, 0.05);
    }

    proptest! {
        #[test]
        fn figures_are_what_they_can_be(values in proptest::collection::vec((0.0f64..1.0, 0.0f64..1.0), 1..40), seed: u64) {
            let (a, b): (Vec<f64>, Vec<f64>) = values.into_iter().unzip();
            let Interval { mean, low, high } = interval(&a, seed);
            prop_assert!(low <= high && (0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high) && mean <= 1.0);
            let (forth, back) = (paired(&a, &b, seed), paired(&b, &a, seed));
            prop_assert!(forth.p > 0.0 && forth.p <= 1.0);
            prop_assert_eq!((forth.wins, forth.losses), (back.losses, back.wins));
            prop_assert!((forth.p - back.p).abs() < 1e-9);
        }
    }
}
