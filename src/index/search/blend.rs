//! One ranking out of those of several phrasings of a query.
//!
//! A convex combination of scores, as between the lanes and for the same reason (see [`super::fuse`]): a phrasing that
//! finds nothing good says so by low scores, while by ranks its best chunk would count as much as any. The query as
//! the user wrote it weighs more than all phrasings together, for they are a model's guesses at it: what only the
//! guesses find can join the answer, and come out on top only where the query itself finds nothing much better.
//! What several phrasings agree on gains most.

use std::collections::HashMap;

use super::fuse::Ranked;
use crate::Row;

/// Weight of the query as it was written; the phrasings share the rest evenly.
const OWN_WEIGHT: f32 = 0.6;

/// Blends the ranking of a query with those of its phrasings. A chunk that a ranking lacks scores 0 there. Without
/// phrasings nothing changes. In no order: see [`super::fuse::sort`].
pub(super) fn blend(own: Vec<Ranked>, others: Vec<Vec<Ranked>>) -> Vec<Ranked> {
    if others.is_empty() {
        return own;
    }
    let share = (1.0 - OWN_WEIGHT) / others.len() as f32;
    let mut places: HashMap<Row, usize> = HashMap::with_capacity(own.len());
    let mut blended: Vec<Ranked> = Vec::with_capacity(own.len());
    for (ranking, weight) in std::iter::once((own, OWN_WEIGHT)).chain(others.into_iter().map(|other| (other, share))) {
        for mut ranked in ranking {
            // Boosts may lift a score above 1, and are not to be cut off before they are added up.
            let (score, fused) = (weight * ranked.score.max(0.0), weight * ranked.fused.max(0.0));
            if let Some(there) = places.get(&ranked.candidate.row).and_then(|place| blended.get_mut(*place)) {
                there.score += score;
                there.fused += fused;
            } else {
                places.insert(ranked.candidate.row, blended.len());
                (ranked.score, ranked.fused) = (score, fused);
                blended.push(ranked);
            }
        }
    }
    blended
}

#[cfg(test)]
mod tests {
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
}
