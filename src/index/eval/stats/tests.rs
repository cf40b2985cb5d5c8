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

#[test]
fn orders_agree_by_tau_b() {
    use Ordering::{Equal, Greater, Less};
    let tau = |a: &[Ordering], b: &[Ordering]| tau_b(a.iter().copied().zip(b.iter().copied()));
    assert_eq!(tau(&[Less, Less, Greater], &[Less, Less, Greater]), Some(1.0));
    assert_eq!(tau(&[Less, Less, Greater], &[Greater, Greater, Less]), Some(-1.0));
    assert_eq!(tau(&[Less, Equal], &[Greater, Equal]), Some(-1.0), "what neither parts does not count");
    // Two pairs alike, one of three in the second order alone: 2 / sqrt(2 · 3).
    let found = tau(&[Less, Less, Equal], &[Less, Less, Greater]).unwrap();
    assert!((found - 2.0 / 6.0_f64.sqrt()).abs() < 1e-12, "{found}");
    assert_eq!(tau(&[Equal, Equal], &[Less, Less]), None);
}
