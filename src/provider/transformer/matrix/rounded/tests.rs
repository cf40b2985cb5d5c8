#![allow(clippy::float_cmp)] // Whole numbers are summed: nothing depends on an order.

use proptest::prelude::*;

use super::*;

fn row(width: usize) -> impl Strategy<Value = Vec<f32>> {
    proptest::collection::vec((-20_000i16..20_000).prop_map(|n| f32::from(n) / 10_000.0), width)
}

/// Two matrices whose rows are as wide.
fn two() -> impl Strategy<Value = (usize, Vec<f32>, Vec<f32>)> {
    (1usize..500, 0usize..15, 0usize..70)
        .prop_flat_map(|(width, rows, columns)| (Just(width), row(width * rows), row(width * columns)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_product_is_that_of_the_rounded_values_and_near_that_of_the_given_ones((width, x, weights) in two()) {
        let rounded = |values: &[f32]| Rounded::of(values.chunks_exact(width), width);
        let (left, right) = (rounded(&x), rounded(&weights));
        let mut out = vec![7.0; left.count() * right.count()];
        right.product(&x, &mut out);
        let greatest = |row: &[f32]| row.iter().fold(0f32, |most, value| most.max(value.abs()));
        for (at, out) in out.iter().enumerate() {
            let (row, column) = (at / right.count(), at % right.count());
            let whole: i64 = left.pairs_of(row).as_flattened().iter().zip(right.pairs_of(column).as_flattened())
                .map(|(one, other)| i64::from(*one) * i64::from(*other)).sum();
            prop_assert_eq!(*out, whole as f32 * (left.steps[row] * right.steps[column]));
            let (x, weights) = (&x[row * width..][..width], &weights[column * width..][..width]);
            let exact: f64 = x.iter().zip(weights).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum();
            // Each value is off by half a step at most.
            let off = greatest(x) * greatest(weights) * width as f32 / most(width) * 1.01;
            prop_assert!((exact - f64::from(*out)).abs() <= f64::from(off), "{} is not {}", out, exact);
        }
    }

    #[test]
    fn all_kinds_of_processors_compute_the_same(
        pairs in proptest::collection::vec((any::<[[i16; 2]; ROWS]>(), any::<[[i16; 2]; COLUMNS]>()), 0..20),
        begin in any::<i32>(),
    ) {
        // Within what rounding gives: no sum leaves 32 bits.
        let smaller = |[one, other]: Pair| [one / 64, other / 64];
        let (left, right): (Vec<Left>, Vec<Right>) =
            pairs.into_iter().map(|(left, right)| (left.map(smaller), right.map(smaller))).unzip();
        let sums = all().into_iter().map(|multiply| {
            let mut sums = [[begin / 2; COLUMNS]; ROWS];
            multiply(&left, &right, &mut sums);
            sums
        });
        let sums: Vec<Sums> = sums.collect();
        prop_assert!(sums.iter().all(|other| *other == sums[0]));
    }
}

#[test]
fn no_sum_leaves_32_bits() {
    for width in [1, 2, 383, 384, 1536, 4864, 70_000] {
        let values = vec![-3.0; width];
        let mut out = [0.0];
        Rounded::of([&*values].into_iter(), width).product(&values, &mut out);
        let (found, expected) = (f64::from(out[0]), 9.0 * width as f64);
        assert!((found / expected - 1.0).abs() < 1e-5, "{width}: {found}, not {expected}");
    }
}

#[test]
fn what_is_no_number_stays_none_and_what_is_nothing_nothing() {
    let product = |x: [f32; 3]| {
        let mut out = [1.0];
        Rounded::of([&[1.0f32, -2.0, 0.5][..]].into_iter(), 3).product(&x, &mut out);
        out[0]
    };
    assert!(product([1.0, f32::NAN, 0.0]).is_nan() && product([f32::INFINITY, 0.0, 0.0]).is_nan());
    assert_eq!(product([0.0; 3]), 0.0);
    assert_eq!(product([f32::MIN_POSITIVE / 4.0; 3]), 0.0, "too little to be scaled");
}

#[test]
fn rows_come_back_and_are_stacked() {
    let rows = [[1.0f32, -0.25, 0.5], [0.0, 0.0, 0.0]];
    let one = Rounded::of(rows.iter().map(|row| &row[..]), 3);
    let all = Rounded::stacked(&[&one, &one]);
    assert_eq!(all.count(), 4);
    for (at, row) in rows.iter().chain(&rows).enumerate() {
        let back = all.row(at);
        assert!(back.len() == 3 && back.iter().zip(row).all(|(back, value)| (back - value).abs() < 1e-4), "{back:?}");
    }
}
