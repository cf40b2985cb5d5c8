use proptest::prelude::*;

use super::super::fuse;
use super::*;

fn ranking(scores: &[(Row, f32)]) -> Vec<Ranked> {
    scores.iter().map(|(row, score)| Ranked { score: *score, fused: *score, ..Ranked::sure(*row) }).collect()
}

fn blended(own: &[(Row, f32)], others: &[&[(Row, f32)]]) -> Vec<(Row, f32)> {
    let mut all = blend(ranking(own), others.iter().map(|other| ranking(other)).collect());
    fuse::sort(&mut all, |a, b| a.cmp(&b));
    all.iter().map(|ranked| (ranked.candidate.row, (ranked.score * 1e4).round() / 1e4)).collect()
}

#[test]
fn the_query_itself_weighs_most() {
    assert_eq!(blended(&[(1, 0.9), (2, 0.5)], &[]), [(1, 0.9), (2, 0.5)]);
    // What only guesses find does not come before a good hit of the query's own…
    assert_eq!(blended(&[(1, 0.9)], &[&[(2, 1.0)], &[(2, 1.0)]]), [(1, 0.54), (2, 0.4)]);
    // …but before a poor one.
    assert_eq!(blended(&[(1, 0.3)], &[&[(2, 0.9)]]), [(2, 0.36), (1, 0.18)]);
    // What all agree on gains.
    assert_eq!(blended(&[(1, 0.6), (2, 0.5)], &[&[(2, 0.8)], &[(2, 0.4)]]), [(2, 0.54), (1, 0.36)]);
    assert_eq!(blended(&[], &[&[], &[]]), []);
}

proptest! {
    #[test]
    fn scores_stay_scores(
        own in proptest::collection::vec(-0.5f32..1.5, 0..12),
        others in proptest::collection::vec(proptest::collection::vec(-0.5f32..1.5, 0..12), 0..4),
    ) {
        let scores = |scores: &[f32]| -> Vec<(Row, f32)> { (0..).zip(scores.iter().copied()).collect() };
        let (own, others): (_, Vec<_>) = (scores(&own), others.iter().map(|other| scores(other)).collect());
        let others: Vec<&[(Row, f32)]> = others.iter().map(Vec::as_slice).collect();
        let all = blended(&own, &others);
        let rows: std::collections::HashSet<Row> = all.iter().map(|(row, _)| *row).collect();
        prop_assert_eq!(rows.len(), all.len());
        prop_assert!(others.is_empty() || all.iter().all(|(_, score)| (0.0..=1.5001).contains(score)));
        // Agreement changes no order.
        if !others.is_empty() {
            let same = blended(&own, &vec![own.as_slice(); others.len()]);
            let score_of = |row: Row| own[row as usize].1.max(0.0);
            prop_assert!(same.windows(2).all(|pair| score_of(pair[0].0) >= score_of(pair[1].0) - 1e-3));
        }
    }
}
