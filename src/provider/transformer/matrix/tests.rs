//! Products against a plain loop.

use proptest::prelude::*;

use super::*;

fn plain(a: &[f32], b: &[f32], width: usize) -> Vec<f32> {
    let rows = a.chunks(width).flat_map(|a| b.chunks(width).map(move |b| a.iter().zip(b).map(|(a, b)| a * b).sum()));
    rows.collect()
}

fn close(ours: &[f32], theirs: &[f32]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= 1e-4 * (1.0 + b.abs()))
}

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

proptest! {
    #[test]
    fn products_are_those_of_a_plain_loop(rows in 0..20_usize, width in 1..40_usize, outputs in 1..150_usize, seed: u64) {
        let (x, weights) = (numbers(rows * width, seed), numbers(outputs * width, !seed));
        let halves: Box<[u16]> = weights.iter().map(|x| (x.to_bits() >> 16) as u16).collect();
        let wide: Vec<f32> = halves.iter().map(|half| widened(*half)).collect();
        let single = Matrix::new(Numbers::Single(weights.clone().into()), outputs, width);
        prop_assert!(close(&single.apply(&x), &plain(&x, &weights, width)));
        let upper = Matrix::new(Numbers::Upper(halves), outputs, width);
        prop_assert!(close(&upper.apply(&x), &plain(&x, &wide, width)));
        let both = Matrix::stacked(vec![single, upper]);
        let all = [weights, wide].concat();
        prop_assert!(close(&both.apply(&x), &plain(&x, &all, width)));
    }
}
