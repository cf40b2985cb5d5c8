//! The lanes: each ranks chunks in its own way. A chunk that only the lexical lane brings gets its cosine, too.

use std::collections::HashMap;

use super::rows::RowSet;
use super::{LaneScore, MAX_HITS, Mode};
use crate::{Allowed, Corpus, LexicalError, LexicalQuery, Meant, Row, Snapshot};
use vector::Vector;

/// Chunks that each lane brings at least: six times an answer of the usual length, for a chunk far down in both lanes
/// cannot come out on top. With 300, which costs up to twice as much, none of five sets has an nDCG@10 that is higher
/// by .001.
const DEPTH: usize = 120;

/// How many chunks a lane is asked for if the answer has `limit` hits: several hits of one note are thinned out later.
pub(super) fn depth(limit: usize) -> usize {
    DEPTH.max(limit.min(MAX_HITS) * 4)
}

/// A chunk that at least one lane brought.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    /// The chunk.
    pub(super) row: Row,
    /// How the lexical lane ranks it; `None` if it is not among that lane's best.
    pub(super) lexical: Option<LaneScore>,
    /// How the dense lane ranks it; `None` if that lane was not asked.
    pub(super) dense: Option<LaneScore>,
}

/// The lanes that can answer: a query without a vector has no dense lane, whatever was asked for.
pub(super) fn effective(mode: Mode, vector: Option<&Vector>) -> Mode {
    match (mode, vector) {
        (Mode::Hybrid, None) => Mode::Lexical,
        (mode, _) => mode,
    }
}

/// A vector that says something: the zero vector (no word known to the embedder) is like none at all.
pub(super) fn telling(vector: Option<&Vector>) -> Option<&Vector> {
    vector.filter(|v| v.scale > 0.0 && v.values.iter().any(|value| *value != 0))
}

/// Asks the lanes of `mode`, which is [`effective`], for `depth` chunks each; only rows in `allowed` (`None`: all) take
/// a place. The words are scored on the scale of `corpus`. The result is unordered.
pub(super) fn run(
    snapshot: &Snapshot,
    corpus: &Corpus<'_>,
    words: (&LexicalQuery, &Meant),
    vector: Option<&Vector>,
    allowed: Option<&RowSet>,
    mode: Mode,
    depth: usize,
) -> Result<Vec<Candidate>, LexicalError> {
    // If a filter leaves few rows, the dense lane scans each of them, so that none can be missed.
    let few = allowed.and_then(|rows| rows.few(snapshot.few(depth)));
    let only = allowed.map(|rows| |row: Row| rows.contains(row));
    let only = only.as_ref().map(|only| only as &Allowed<'_>);
    match (mode, vector) {
        (Mode::Dense, vector) => {
            let near = |vector| match &few {
                Some(rows) => snapshot.dense_among(vector, rows, depth),
                None => snapshot.dense(vector, only, depth),
            };
            Ok(joined(snapshot, Vec::new(), vector.map(|vector| (vector, near(vector)))))
        }
        (mode, vector) => {
            let vector = vector.filter(|_| mode == Mode::Hybrid);
            both(snapshot, corpus, words, vector, (only, few.as_deref()), depth)
        }
    }
}

/// Asks both lanes for `depth` chunks each, or the lexical one alone if there is no vector. `only` says which rows take
/// a place; `few` lists them if they are few.
pub(super) fn both(
    snapshot: &Snapshot,
    corpus: &Corpus<'_>,
    words: (&LexicalQuery, &Meant),
    vector: Option<&Vector>,
    (only, few): (Option<&Allowed<'_>>, Option<&[Row]>),
    depth: usize,
) -> Result<Vec<Candidate>, LexicalError> {
    let Some(vector) = vector else {
        return Ok(joined(snapshot, snapshot.find_in(corpus, words, only, depth)?, None));
    };
    let (lexical, dense) = snapshot.both_in(corpus, words, vector, (only, few), depth)?;
    Ok(joined(snapshot, lexical, Some((vector, dense))))
}

/// Both lists as one; rows that only the lexical lane found get their cosine.
fn joined(snapshot: &Snapshot, lexical: Vec<(Row, f32)>, dense: Option<(&Vector, Vec<(Row, f32)>)>) -> Vec<Candidate> {
    let Some((vector, mut dense)) = dense else {
        return candidates(lexical, None);
    };
    let missing = missing(&lexical, &dense);
    let scores = snapshot.dense_of(vector, &missing);
    dense.extend(missing.into_iter().zip(scores));
    candidates(lexical, Some(dense))
}

/// The rows of `lexical` that `dense` has no score of.
fn missing(lexical: &[(Row, f32)], dense: &[(Row, f32)]) -> Vec<Row> {
    let have: std::collections::HashSet<Row> = dense.iter().map(|(row, _)| *row).collect();
    lexical.iter().map(|(row, _)| *row).filter(|row| !have.contains(row)).collect()
}

/// The union of both lists with the ranks; `dense` is `None` if that lane was not asked.
/// A score that is no number counts as 0, lest one chunk upset the order of all.
pub(super) fn candidates(lexical: Vec<(Row, f32)>, dense: Option<Vec<(Row, f32)>>) -> Vec<Candidate> {
    let mut union: Vec<Candidate> = Vec::with_capacity(lexical.len() + dense.as_ref().map_or(0, Vec::len));
    let mut places: HashMap<Row, usize> = HashMap::with_capacity(union.capacity());
    for (row, score) in ranked(lexical) {
        places.entry(row).or_insert_with(|| {
            union.push(Candidate { row, lexical: Some(score), dense: None });
            union.len() - 1
        });
    }
    for (row, score) in ranked(dense.unwrap_or_default()) {
        let place = *places.entry(row).or_insert_with(|| {
            union.push(Candidate { row, lexical: None, dense: None });
            union.len() - 1
        });
        union[place].dense.get_or_insert(score);
    }
    union
}

/// What two looks found, as one: each chunk once, with its place among all of them.
pub(super) fn merged(found: Vec<Candidate>, further: Vec<Candidate>) -> Vec<Candidate> {
    type Lane = fn(&Candidate) -> Option<f32>;
    let scores = |lane: Lane| -> HashMap<Row, f32> {
        let both = further.iter().chain(&found);
        both.filter_map(|candidate| Some((candidate.row, lane(candidate)?))).collect()
    };
    let lexical = scores(|candidate| Some(candidate.lexical.as_ref()?.score));
    let dense = scores(|candidate| Some(candidate.dense.as_ref()?.score));
    candidates(lexical.into_iter().collect(), Some(dense.into_iter().collect()))
}

/// Scores with their ranks, best first; equal scores in order of rows.
fn ranked(mut scores: Vec<(Row, f32)>) -> impl Iterator<Item = (Row, LaneScore)> {
    for (_, score) in &mut scores {
        if !score.is_finite() {
            *score = 0.0;
        }
    }
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    (1..).zip(scores).map(|(rank, (row, score))| (row, LaneScore { rank, score }))
}

#[cfg(test)]
mod tests;
