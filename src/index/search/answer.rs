//! What was found: from a ranking to an answer, and from the answers of several vaults to one.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blend::blend;
use super::fuse::{self, Ranked};
use super::hit::{Maker, Pick, placed};
use super::rerank::Order;
use super::{Hit, MAX_HITS, Mode, Options};
use crate::{LexicalError, Row, Snapshot};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// The snapshot's sequence number; of several vaults the highest.
    pub seq: u64,
    /// Whether there were more hits than were asked for.
    pub truncated: bool,
    /// What was not understood; may quote the query.
    pub warnings: Vec<String>,
    /// The lanes that answered: not always those asked for (see [`fn@super::rank`]).
    pub mode: Mode,
}

/// The chunks that may answer a query, best first, before any of them is read: what boosts and rerankers put
/// in another order. Valid for the snapshot it was made of.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    pub(super) ranked: Vec<Ranked>,
    pub(super) mode: Mode,
    pub(super) warnings: Vec<String>,
    /// What highlights and snippets are chosen for.
    pub(super) text: String,
    /// What a reranker made of the order.
    pub(super) order: Order,
}

impl Ranking {
    /// With what other phrasings of the same query found; the query itself weighs most. All are of one snapshot.
    #[must_use]
    pub fn blended(mut self, snapshot: &Snapshot, others: Vec<Ranking>) -> Ranking {
        if others.is_empty() {
            return self;
        }
        self.ranked = blend(self.ranked, others.into_iter().map(|other| other.ranked).collect());
        fuse::sort(&mut self.ranked, |a, b| in_order(snapshot, a, b));
        self
    }

    /// The best `n` chunks.
    pub fn rows(&self, n: usize) -> Vec<Row> {
        self.ranked.iter().take(n).map(|ranked| ranked.candidate.row).collect()
    }

    /// All of them, with what each lane says.
    pub(super) fn into_ranked(self) -> Vec<Ranked> {
        self.ranked
    }
}

/// Makes hits of the best, each with its window: at most [`Options::per_note`] of each note.
pub fn finish(snapshot: &Snapshot, vault: &str, ranking: Ranking, options: &Options) -> Result<Answer, LexicalError> {
    let Ranking { ranked, mode, warnings, text, order } = ranking;
    let picks = ranked.into_iter().map(|ranked| {
        let lanes = ranked.lanes().map(|lanes| order.explain(ranked.candidate.row, lanes));
        Pick { row: ranked.candidate.row, score: ranked.score, lanes, link: None }
    });
    let (hits, truncated) = Maker::new(snapshot, vault, &text, options)?.hits(picks)?;
    Ok(Answer { hits, seq: snapshot.seq(), mode, warnings, truncated })
}

/// By note path, then by position: the same whatever numbers the rows happen to have.
pub(super) fn in_order(snapshot: &Snapshot, a: Row, b: Row) -> Ordering {
    let key = |row| placed(snapshot, row).map(|(chunk, note)| (note.path.as_str(), chunk.position));
    key(a).cmp(&key(b))
}

/// Joins the answers of several vaults to one query: by score; among equals each vault's own order counts,
/// then the order of `answers`.
pub fn merge(answers: Vec<Answer>, limit: usize) -> Answer {
    let mut merged = Answer { mode: answers.first().map(|a| a.mode).unwrap_or_default(), ..Answer::default() };
    let mut hits: Vec<(usize, usize, Hit)> = Vec::new();
    for (vault, answer) in answers.into_iter().enumerate() {
        merged.seq = merged.seq.max(answer.seq);
        merged.truncated |= answer.truncated;
        if answer.mode == Mode::Hybrid {
            merged.mode = Mode::Hybrid;
        }
        for warning in answer.warnings {
            if !merged.warnings.contains(&warning) {
                merged.warnings.push(warning);
            }
        }
        hits.extend(answer.hits.into_iter().enumerate().map(|(place, hit)| (place, vault, hit)));
    }
    hits.sort_by(|a, b| b.2.score.total_cmp(&a.2.score).then((a.0, a.1).cmp(&(b.0, b.1))));
    let limit = limit.min(MAX_HITS);
    merged.truncated |= hits.len() > limit;
    merged.hits = hits.into_iter().take(limit).map(|(_, _, hit)| hit).collect();
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(vault: &str, seq: u64, scores: &[f32]) -> Answer {
        let hit = |score: &f32| Hit {
            vault: vault.to_owned(),
            path: "a.md".to_owned(),
            line: 1,
            end_line: 2,
            score: *score,
            window_lines: (1, 2),
            ..Hit::default()
        };
        let warnings = vec!["same".to_owned()];
        Answer { hits: scores.iter().map(hit).collect(), seq, truncated: false, warnings, mode: Mode::Lexical }
    }

    #[test]
    fn answers_merge_by_score() {
        let merged = merge(vec![answer("a", 7, &[0.9, 0.5, 0.1]), answer("b", 3, &[0.7, 0.5])], 4);
        let got: Vec<_> = merged.hits.iter().map(|hit| (hit.vault.as_str(), hit.score)).collect();
        assert_eq!(got, [("a", 0.9), ("b", 0.7), ("a", 0.5), ("b", 0.5)]);
        assert_eq!((merged.seq, merged.truncated, merged.warnings.len(), merged.mode), (7, true, 1, Mode::Lexical));
    }

    #[test]
    fn equal_scores_are_taken_in_turn() {
        let merged = merge(vec![answer("a", 1, &[1.0, 1.0]), answer("b", 1, &[1.0, 1.0])], 9);
        assert_eq!(merged.hits.iter().map(|hit| hit.vault.as_str()).collect::<Vec<_>>(), ["a", "b", "a", "b"]);
        assert!(!merged.truncated);
        assert_eq!(merge(Vec::new(), 9), Answer::default());
    }

    #[test]
    fn a_hit_goes_over_the_wire_and_back() {
        let answer = answer("a", 1, &[0.5]);
        let json = serde_json::to_string(&answer).unwrap();
        assert!(!json.contains("linked") && !json.contains("lanes"), "{json}");
        assert_eq!(serde_json::from_str::<Answer>(&json).unwrap(), answer);
    }
}
