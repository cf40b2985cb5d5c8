//! What was found: from a ranking to an answer, and from the answers of several vaults to one.

use serde::{Deserialize, Serialize};

use super::hit::{Maker, Pick};
use super::ranking::Ranking;
use super::{Hit, MAX_HITS, Mode, Options};
use crate::{LexicalError, Snapshot};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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

/// Makes hits of the best, each with its window: at most [`Options::per_note`] of each note.
pub fn finish(snapshot: &Snapshot, vault: &str, ranking: Ranking, options: &Options) -> Result<Answer, LexicalError> {
    let Ranking { ranked, mode, warnings, text, patterns, phrases, order } = ranking;
    let picks = ranked.into_iter().map(|ranked| {
        let lanes = ranked.lanes().map(|lanes| order.explain(ranked.candidate.row, lanes));
        Pick { row: ranked.candidate.row, score: ranked.score, lanes, link: None }
    });
    let (hits, truncated) = Maker::new(snapshot, vault, (&text, patterns, phrases), options)?.hits(picks)?;
    Ok(Answer { hits, seq: snapshot.seq(), mode, warnings, truncated })
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
mod tests;
