//! The second stage: a model that reads the query and a chunk together judges the best of the first stage anew.
//!
//! Whoever asks the model is elsewhere; this says what it is shown ([`best`], [`document`]), by what an answer is
//! known again ([`key`]), and what becomes of the order ([`reorder`]): what was judged comes first, by the model's
//! score, then all else as it was. Scores of different models are on different scales (some give a probability, some
//! a logit), so they order, and are only brought into 0..=1 to be shown.

mod settings;

use std::collections::HashMap;

pub use settings::{RerankConfig, RerankProvider};

use super::answer::Ranking;
use super::{Lanes, Rejudged};
use crate::Row;
use note::fingerprint::Fields;

/// Characters of a chunk that a model is shown at most, its place in the note included: about a thousand tokens.
/// Rerankers charge by the token or by blocks of 500, and many read 512 tokens and cut the rest off.
pub const MOST_DOCUMENT: usize = 4000;

/// What is not judged is shown below this, what is judged above.
const FLOOR: f32 = 0.01;

/// A chunk among several rankings: the index of its ranking, and its row there.
pub type RankedRow = (usize, Row);

/// What a reranker made of a ranking.
#[derive(Clone, Debug, Default)]
pub(super) struct Order(HashMap<Row, Rejudged>);

impl Order {
    /// Adds to what is told of a hit.
    pub(super) fn explain(&self, row: Row, lanes: Lanes) -> Lanes {
        Lanes { rerank: self.0.get(&row).cloned(), ..lanes }
    }
}

/// The best `top` chunks of several rankings together, in the order in which their answers are merged.
pub fn best(rankings: &[Ranking], top: usize) -> Vec<RankedRow> {
    let mut all: Vec<(f32, usize, usize, Row)> = Vec::new();
    for (of, ranking) in rankings.iter().enumerate() {
        let ranked = ranking.ranked.iter().take(top).enumerate();
        all.extend(ranked.map(|(place, ranked)| (ranked.score, place, of, ranked.candidate.row)));
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    all.into_iter().take(top).map(|(_, _, of, row)| (of, row)).collect()
}

/// What a model is shown of a chunk: where it stands, what situates it, and its text, cut off at
/// [`MOST_DOCUMENT`] characters. The title alone can lift a pair's score from next to nothing to certainty.
pub fn document(title: &str, heading_path: &[String], context: &str, text: &str) -> String {
    // The title of a note is often its first heading: once is enough.
    let headings = heading_path.iter().map(String::as_str).skip_while(|heading| *heading == title);
    let path = std::iter::once(title).chain(headings).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ");
    let parts = [path.as_str(), context.trim(), text.trim()];
    let mut whole = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    if let Some((end, _)) = whole.char_indices().nth(MOST_DOCUMENT) {
        whole.truncate(end);
    }
    whole
}

/// By what an answer is known again: the model, the query, and all that was shown, in its order.
pub fn key(model: &str, query: &str, documents: &[String]) -> [u8; 16] {
    let fields = Fields::new("rerank/1").bytes(model.as_bytes()).bytes(query.as_bytes());
    documents.iter().fold(fields, |fields, document| fields.bytes(document.as_bytes())).finish()
}

/// Puts rankings in the order that the model's scores give. `scores` belong to `shown` one by one; what it did not
/// judge, or not with a number, stays behind what it did. Without a single score everything stays as it is.
pub fn reorder(rankings: &mut [Ranking], shown: &[RankedRow], scores: &[Option<f32>]) {
    let mut judged: Vec<(RankedRow, f32)> = shown
        .iter()
        .zip(scores)
        .filter_map(|(place, score)| Some((*place, score.filter(|score| score.is_finite())?)))
        .collect();
    if judged.is_empty() {
        return;
    }
    let first: Vec<RankedRow> = best(rankings, usize::MAX);
    let before: HashMap<RankedRow, u32> = first.iter().copied().zip(1..).collect();
    let rank = |place: &RankedRow| before.get(place).copied().unwrap_or(u32::MAX);
    judged.sort_by(|a, b| b.1.total_cmp(&a.1).then(rank(&a.0).cmp(&rank(&b.0))));
    judged.dedup_by_key(|(place, _)| *place);
    let raw: Vec<f32> = judged.iter().map(|(_, score)| *score).collect();
    let after: HashMap<RankedRow, (u32, f32)> =
        (1..).zip(&judged).map(|(n, (place, score))| (*place, (n, *score))).collect();
    let mut scores: HashMap<RankedRow, f32> = judged.iter().map(|(place, _)| *place).zip(normal(&raw)).collect();
    // Below everything that was judged, in the order that it had, also where that was one of equals.
    let mut last = FLOOR;
    let rest: HashMap<RankedRow, f32> = rankings
        .iter()
        .enumerate()
        .flat_map(|(of, ranking)| ranking.ranked.iter().map(move |r| ((of, r.candidate.row), r.score.clamp(0.0, 1.0))))
        .collect();
    for place in first.iter().filter(|place| !after.contains_key(place)) {
        let score = rest.get(place).map_or(0.0, |score| score * FLOOR);
        last = score.min(last.next_down()).max(0.0);
        scores.insert(*place, last);
    }
    for (of, ranking) in rankings.iter_mut().enumerate() {
        for ranked in &mut ranking.ranked {
            let place = (of, ranked.candidate.row);
            let new = after.get(&place);
            ranked.score = scores.get(&place).copied().unwrap_or(0.0);
            let rejudged =
                Rejudged { before: rank(&place), rank: new.map(|(n, _)| *n), score: new.map(|(_, raw)| *raw) };
            ranking.order.0.insert(ranked.candidate.row, rejudged);
        }
        let order = &ranking.order.0;
        let place = |row: Row| order.get(&row).map(|r| (r.rank.unwrap_or(u32::MAX), r.before));
        ranking.ranked.sort_by_key(|ranked| place(ranked.candidate.row));
    }
}

/// Falling scores brought into [`FLOOR`]..=1 and kept apart: none is as high as the one before it.
fn normal(raw: &[f32]) -> Vec<f32> {
    let probable = raw.iter().all(|score| (0.0..=1.0).contains(score));
    let mut last = f32::INFINITY;
    let normal = raw.iter().map(|score| {
        let score = if probable { *score } else { 1.0 / (1.0 + (-score).exp()) };
        last = (FLOOR + (1.0 - FLOOR) * score).min(last.next_down());
        last
    });
    normal.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fuse::Ranked;
    use super::*;

    fn ranking(chunks: &[(Row, f32)]) -> Ranking {
        let ranked = chunks.iter().map(|(row, score)| Ranked { score: *score, ..Ranked::sure(*row) }).collect();
        Ranking { ranked, ..Ranking::default() }
    }

    fn rows(ranking: &Ranking) -> Vec<Row> {
        ranking.ranked.iter().map(|ranked| ranked.candidate.row).collect()
    }

    /// All chunks as the answers of the rankings would be merged.
    fn merged(rankings: &[Ranking]) -> Vec<RankedRow> {
        best(rankings, usize::MAX)
    }

    #[test]
    fn the_best_of_several_rankings() {
        let rankings = [ranking(&[(7, 0.9), (8, 0.5)]), ranking(&[(7, 0.7), (9, 0.5), (1, 0.1)])];
        assert_eq!(best(&rankings, 3), [(0, 7), (1, 7), (0, 8)]);
        assert_eq!(best(&rankings, 99), [(0, 7), (1, 7), (0, 8), (1, 9), (1, 1)]);
        assert_eq!(best(&[], 3), []);
    }

    #[test]
    fn the_judged_come_first_and_the_rest_as_it_was() {
        let mut rankings = [ranking(&[(1, 0.9), (2, 0.8), (3, 0.7), (4, 0.2)]), ranking(&[(1, 0.85), (5, 0.1)])];
        let shown = best(&rankings, 4);
        assert_eq!(shown, [(0, 1), (1, 1), (0, 2), (0, 3)]);
        // The second was not judged, the third not with a number.
        reorder(&mut rankings, &shown, &[Some(0.2), None, Some(f32::NAN), Some(0.95)]);
        assert_eq!((rows(&rankings[0]), rows(&rankings[1])), (vec![3, 1, 2, 4], vec![1, 5]));
        assert_eq!(merged(&rankings), [(0, 3), (0, 1), (1, 1), (0, 2), (0, 4), (1, 5)]);
        let told = |of: usize, row: Row| rankings[of].order.0[&row].clone();
        assert_eq!(told(0, 3), Rejudged { before: 4, rank: Some(1), score: Some(0.95) });
        assert_eq!(told(0, 1), Rejudged { before: 1, rank: Some(2), score: Some(0.2) });
        assert_eq!(told(1, 5), Rejudged { before: 6, rank: None, score: None });
        assert!((rankings[0].ranked[0].score - 0.95).abs() < 0.01);
    }

    #[test]
    fn without_scores_nothing_moves() {
        let mut rankings = [ranking(&[(1, 0.9), (2, 0.8)])];
        let shown = best(&rankings, 9);
        for scores in [&[][..], &[None, None], &[Some(f32::INFINITY)]] {
            reorder(&mut rankings, &shown, scores);
            assert_eq!((rows(&rankings[0]), rankings[0].ranked[0].score), (vec![1, 2], 0.9));
        }
    }

    #[test]
    fn logits_are_brought_into_bounds_and_kept_apart() {
        let scores = normal(&[80.0, 79.0, 2.0, -3.0, -90.0, -90.0]);
        assert!(scores.windows(2).all(|pair| pair[0] > pair[1]), "{scores:?}");
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
        assert!(normal(&[1.0, 0.5])[0] >= 1.0);
    }

    #[test]
    fn documents_say_where_they_stand() {
        let path = ["Plan".to_owned(), "Risks".to_owned()];
        assert_eq!(document("Plan", &path, "Of the plan.", " Money.\n"), "Plan > Risks\n\nOf the plan.\n\nMoney.");
        assert_eq!(document("", &[], "", "x"), "x");
        assert_eq!(document("T", &[], "", &"ä".repeat(9999)).chars().count(), MOST_DOCUMENT);
    }

    #[test]
    fn another_order_or_model_is_another_key() {
        let texts = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let keys = [
            key("m", "q", &texts(&["a", "b"])),
            key("m", "q", &texts(&["b", "a"])),
            key("m", "q", &texts(&["ab"])),
            key("m2", "q", &texts(&["a", "b"])),
            key("m", "q2", &texts(&["a", "b"])),
        ];
        assert!(keys.iter().enumerate().all(|(i, key)| !keys[..i].contains(key)));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_order_is_the_models(
            sizes in proptest::collection::vec(0usize..12, 1..4), top in 0usize..30,
            scores in proptest::collection::vec(proptest::option::of(-9.0f32..9.0), 30),
        ) {
            let falling = |n: usize| (0..n).map(|i| (i as Row, 1.0 - i as f32 / 20.0)).collect::<Vec<_>>();
            let mut rankings: Vec<Ranking> = sizes.iter().map(|n| ranking(&falling(*n))).collect();
            let before = merged(&rankings);
            let shown = best(&rankings, top);
            let scores = &scores[..shown.len()];
            reorder(&mut rankings, &shown, scores);
            let after = merged(&rankings);
            let score = |place: &RankedRow| shown.iter().position(|p| p == place).and_then(|i| scores[i]);
            let first = |place: &RankedRow| before.iter().position(|p| p == place);
            let mut expected = before.clone();
            expected.sort_by(|a, b| {
                let by_score = score(b).partial_cmp(&score(a)).unwrap();
                by_score.then(first(a).cmp(&first(b)))
            });
            prop_assert_eq!(after, expected);
            prop_assert!(rankings.iter().flat_map(|r| &r.ranked).all(|r| (0.0..=1.0).contains(&r.score)));
        }
    }
}
