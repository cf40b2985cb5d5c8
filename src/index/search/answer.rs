//! What was found: from a ranking to an answer, and from the answers of several vaults to one.

use serde::{Deserialize, Serialize};

use super::hit::{Maker, Pick};
use super::ranking::{Ranking, joined};
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
    let Ranking { ranked, mode, warnings, text, patterns, phrases, run } = ranking;
    let picks = ranked.into_iter().map(|ranked| Pick {
        row: ranked.candidate.row,
        score: ranked.score,
        lanes: ranked.lanes(),
        link: None,
    });
    let mut maker = Maker::new(snapshot, vault, (&text, patterns, phrases), options)?;
    maker.run = run;
    let (hits, truncated) = maker.hits(picks)?;
    Ok(Answer { hits, seq: snapshot.seq(), mode, warnings, truncated })
}

/// Joins the answers of several vaults to one query: by score; among equals each vault's own order counts,
/// then the order of `answers`.
pub fn merge(answers: Vec<Answer>, limit: usize) -> Answer {
    let mut merged = Answer { mode: answers.first().map(|a| a.mode).unwrap_or_default(), ..Answer::default() };
    let mut lists = Vec::with_capacity(answers.len());
    for answer in answers {
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
        lists.push(answer.hits);
    }
    merged.hits = joined(lists, |hit| hit.score).into_iter().map(|(_, hit)| hit).collect();
    let limit = limit.min(MAX_HITS);
    merged.truncated |= merged.hits.len() > limit;
    merged.hits.truncate(limit);
    merged
}

#[cfg(test)]
mod tests;
