use super::*;
use proptest::prelude::*;

fn ranked(ids: &str) -> Vec<String> {
    ids.split_whitespace().map(str::to_owned).collect()
}

fn judged(ids: &[(&str, f64)]) -> Relevance {
    ids.iter().map(|(id, gain)| ((*id).to_owned(), *gain)).collect()
}

#[test]
fn of_nothing_found_no_measure_is_below_zero() {
    let none = QueryMeasures::of(&[], &judged(&[("a", 1.0)]));
    assert!(none.values().iter().all(|value| value.is_sign_positive()), "{none:?}");
}

#[test]
fn values_computed_by_hand() {
    let table: [(&str, &[(&str, f64)], [f64; 4]); 6] = [
        // Ranks 2 and 6: nDCG = (1/log2 3 + 1/log2 7) / (1 + 1/log2 3).
        ("x a y z w b v", &[("a", 1.0), ("b", 1.0)], [0.5, 1.0, 0.5, (0.630_930 + 0.356_207) / 1.630_930]),
        // Graded, the lesser first: (1 + 2/log2 3) / (2 + 1/log2 3).
        ("a b", &[("a", 1.0), ("b", 2.0), ("c", 0.0)], [1.0, 1.0, 1.0, 2.261_860 / 2.630_930]),
        // At rank 11 it counts for recall only.
        ("q w e r t y u i o p a", &[("a", 1.0)], [0.0, 1.0, 0.0, 0.0]),
        ("", &[("a", 1.0)], [0.0; 4]),
        ("a", &[("a", -1.0)], [0.0; 4]),
        ("b a", &[("a", 1.0)], [1.0, 1.0, 0.5, 0.630_930]),
    ];
    for (ids, gains, expected) in table {
        let got = QueryMeasures::of(&ranked(ids), &judged(gains)).values();
        assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{ids}: {got:?}, not {expected:?}");
    }
}

#[test]
fn means_and_ranks() {
    let half =
        QueryMeasures::mean(&[QueryMeasures { recall_20: 1.0, ..QueryMeasures::default() }, QueryMeasures::default()]);
    assert_eq!(half, QueryMeasures { recall_20: 0.5, ..QueryMeasures::default() });
    assert_eq!(QueryMeasures::mean(&[]), QueryMeasures::default());
    assert_eq!(first(&ranked("x y a"), &judged(&[("a", 1.0), ("x", 0.0)])), Some(3));
    assert_eq!(first(&ranked("x y"), &judged(&[("a", 1.0)])), None);
}

proptest! {
    #[test]
    fn measures_are_shares(
        order in Just((0..30).collect::<Vec<u32>>()).prop_shuffle(),
        gains in proptest::collection::hash_map(0u32..40, 0.0f64..3.0, 1..10),
    ) {
        let ranked: Vec<String> = order.iter().map(u32::to_string).collect();
        let judged: Relevance = gains.iter().map(|(id, gain)| (id.to_string(), *gain)).collect();
        let measures = QueryMeasures::of(&ranked, &judged);
        prop_assert!(measures.values().iter().all(|v| (0.0..=1.0 + 1e-9).contains(v)), "{:?}", measures);
        prop_assert!(measures.recall_5 <= measures.recall_20);
    }
}
