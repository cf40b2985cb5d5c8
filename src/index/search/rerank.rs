//! The second stage: a model that reads the query and a chunk together judges the best of the first stage anew.
//!
//! Other code asks the model; this module says what it is shown ([`best`], [`document`]), under which key an answer is
//! cached ([`key`]), and what becomes of the order ([`reorder`]): chunks that were shown stand by the model's score in the
//! places that they had, and all others keep theirs. Scores of different models are on different scales (some give a probability, some a
//! logit), so they order, and are only brought into 0..=1 to be shown.

mod settings;

use std::collections::{HashMap, HashSet};

pub use settings::{RerankConfig, RerankProvider, RerankWhen};

use super::Rejudged;
use super::ranking::{Ranking, joined};
use crate::Row;
use note::fingerprint::Fields;

/// Characters of a chunk that a model is shown at most, its place in the note included: about a thousand tokens.
/// Rerankers charge by the token or by blocks of 500, and many read 512 tokens and cut the rest off.
pub const MOST_DOCUMENT: usize = 4000;

/// Judged chunks are shown with scores from here up, those behind them with scores below.
const FLOOR: f32 = 0.01;

/// A chunk among several rankings: the index of its ranking, and its row there.
pub type RankedRow = (usize, Row);

/// The best `top` chunks of several rankings together, in the order in which their answers are merged.
pub fn best(rankings: &[Ranking], top: usize) -> Vec<RankedRow> {
    let lists = rankings.iter().map(|ranking| ranking.ranked.iter().take(top));
    joined(lists, |ranked| ranked.score).into_iter().take(top).map(|(of, ranked)| (of, ranked.candidate.row)).collect()
}

/// What a model is shown of a chunk: where it stands, what situates it, and its text, cut off at
/// [`MOST_DOCUMENT`] characters. The title alone can lift a pair's score from next to nothing to certainty.
pub fn document<'a>(title: &'a str, headings: impl IntoIterator<Item = &'a str>, context: &str, text: &str) -> String {
    // The title of a note is often its first heading: once is enough.
    let headings = headings.into_iter().skip_while(|heading| *heading == title);
    let path = std::iter::once(title).chain(headings).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ");
    let parts = [path.as_str(), context.trim(), text.trim()];
    let mut whole = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    if let Some((end, _)) = whole.char_indices().nth(MOST_DOCUMENT) {
        whole.truncate(end);
    }
    whole
}

/// The cache key of an answer: the model, the query, and all that was shown, in its order.
pub fn key(model: &str, query: &str, documents: &[String]) -> [u8; 16] {
    let fields = Fields::new("rerank/1").bytes(model.as_bytes()).bytes(query.as_bytes());
    documents.iter().fold(fields, |fields, document| fields.bytes(document.as_bytes())).finish()
}

/// Puts rankings in the order that the model's scores give. `scores` belong to `shown` one by one; of the chunks that were
/// shown those without a finite score stay behind those that have one. Chunks that were not shown keep their place among
/// all: a note that may not be sent is no worse for that. Without a single score everything stays as it is.
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
    let scores: HashMap<RankedRow, f32> = judged.iter().map(|(place, _)| *place).zip(normal(&raw)).collect();
    let shown: HashSet<RankedRow> = shown.iter().copied().collect();
    let unscored = first.iter().filter(|place| shown.contains(*place) && !after.contains_key(*place));
    let mut moved = judged.iter().map(|(place, _)| place).chain(unscored);
    let order = first.iter().map(|place| *if shown.contains(place) { moved.next().unwrap_or(place) } else { place });
    let order: Vec<RankedRow> = order.collect();
    let own: HashMap<RankedRow, f32> = rankings
        .iter()
        .enumerate()
        .flat_map(|(of, ranking)| ranking.ranked.iter().map(move |r| ((of, r.candidate.row), r.score.clamp(0.0, 1.0))))
        .collect();
    // What was not judged scores like the next that was, or below all that were.
    let mut next = None;
    let score = |place: &RankedRow| {
        next = scores.get(place).copied().or(next);
        next.unwrap_or_else(|| own.get(place).map_or(0.0, |score| score * FLOOR))
    };
    let falling: Vec<f32> = order.iter().rev().map(score).collect();
    let mut last = f32::INFINITY;
    let distinct = falling.into_iter().rev().map(|score| {
        last = score.min(last.next_down()).max(0.0);
        last
    });
    let places: HashMap<RankedRow, (usize, f32)> = order.iter().copied().zip(distinct.enumerate()).collect();
    for (of, ranking) in rankings.iter_mut().enumerate() {
        for ranked in &mut ranking.ranked {
            let place = (of, ranked.candidate.row);
            let new = after.get(&place);
            ranked.score = places.get(&place).map_or(0.0, |(_, score)| *score);
            let (before, score) = (rank(&place), new.map(|(_, raw)| *raw));
            ranked.rejudged = Some(Rejudged { before, rank: new.map(|(n, _)| *n), score });
        }
        ranking.ranked.sort_by_key(|ranked| places.get(&(of, ranked.candidate.row)).map(|(at, _)| *at));
    }
}

/// Brings falling scores into [`FLOOR`]..=1 and keeps them distinct: each is below the one before it.
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
mod tests;
