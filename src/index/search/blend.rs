//! Blends the rankings of several phrasings of a query into one.
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
/// phrasings nothing changes. The result is unordered: see [`super::fuse::sort`].
pub(super) fn blend(own: Vec<Ranked>, others: Vec<Vec<Ranked>>) -> Vec<Ranked> {
    if others.is_empty() {
        return own;
    }
    let share = (1.0 - OWN_WEIGHT) / others.len() as f32;
    let mut places: HashMap<Row, usize> = HashMap::with_capacity(own.len());
    let mut blended: Vec<Ranked> = Vec::with_capacity(own.len());
    for (ranking, weight) in std::iter::once((own, OWN_WEIGHT)).chain(others.into_iter().map(|other| (other, share))) {
        for mut ranked in ranking {
            // Only what is below 0 is cut off: boosts lift no score above 1.
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
mod tests;
