//! The way from a query to its answer.

use std::cmp::{Ordering, Reverse};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blend::blend;
use super::boost::boost;
use super::filter::{day_of, mtime_seconds};
use super::fuse::{self, Ranked};
use super::hit::{Maker, Pick, placed};
use super::lanes::{self, Brought};
use super::rerank::Order;
use super::rows::RowSet;
use super::{Hit, MAX_HITS, Mode, Options, Parsed};
use crate::embed::Vector;
use crate::index::{LexicalError, LexicalQuery, Row, Snapshot};

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
    /// The lanes that answered: not always those asked for (see [`search`]).
    pub mode: Mode,
}

/// The chunks that may answer a query, best first, before any of them is read: what boosts and rerankers put
/// in another order. Valid for the snapshot it was made of.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    pub(super) ranked: Vec<Ranked>,
    mode: Mode,
    warnings: Vec<String>,
    /// What highlights and snippets are chosen for.
    text: String,
    /// What a reranker made of the order.
    pub(super) order: Order,
}

/// Answers a query from one vault: [`rank`], then [`finish`].
pub fn search(
    snapshot: &Snapshot,
    vault: &str,
    query: &Parsed,
    vector: Option<&Vector>,
    options: &Options,
) -> Result<Answer, LexicalError> {
    finish(snapshot, vault, rank(snapshot, query, vector, options)?, options)
}

/// Asks the lanes and fuses what they say. `vector` is the embedding of [`Parsed::text`]; without one, or with
/// the zero vector, the words alone answer. Conditions hold in every lane. A query of conditions only gives the
/// newest notes that meet them, each with its first chunk.
pub fn rank(
    snapshot: &Snapshot,
    query: &Parsed,
    vector: Option<&Vector>,
    options: &Options,
) -> Result<Ranking, LexicalError> {
    rank_to(snapshot, query, vector, options, lanes::depth(options.limit))
}

/// As [`rank`], with so many chunks of each lane.
pub(super) fn rank_to(
    snapshot: &Snapshot,
    query: &Parsed,
    vector: Option<&Vector>,
    options: &Options,
    depth: usize,
) -> Result<Ranking, LexicalError> {
    let vector = lanes::telling(vector);
    let mode = lanes::effective(options.mode, vector);
    let (warnings, text) = (query.warnings.clone(), query.text());
    let mut ranking = Ranking { ranked: Vec::new(), mode, warnings, text, order: Order::default() };
    let allowed = allowed(snapshot, query, options)?;
    if allowed.as_ref().is_some_and(RowSet::is_empty) {
        return Ok(ranking);
    }
    if !query.has_text() {
        match allowed {
            Some(allowed) => ranking.ranked = newest(snapshot, &allowed, query).into_iter().map(Ranked::sure).collect(),
            None => ranking.warnings.push("the query is empty".to_owned()),
        }
        return Ok(ranking);
    }
    if mode == Mode::Dense && vector.is_none() {
        ranking.warnings.push("the embedder knows no word of the query; the lexical mode may find more".to_owned());
        return Ok(ranking);
    }
    let Brought { candidates, corrected, completed } =
        lanes::run(snapshot, query, vector, allowed.as_ref(), mode, options, depth)?;
    options.cancel.check()?;
    // The name may be that of a note which whoever asks is not to hear of.
    let named = corrected.is_empty() || !snapshot.notes().any(|note| query.filter.hides(note));
    for (typed, name) in &corrected {
        let instead = if named { format!("`{name}`") } else { "a name that is written almost like it".to_owned() };
        ranking.warnings.push(format!("`{typed}` is nowhere; searched for {instead}"));
    }
    for word in corrected.iter().map(|(_, name)| name).chain(&completed) {
        ranking.text.push(' ');
        ranking.text.push_str(word);
    }
    ranking.ranked = fuse::fuse(candidates, options.dense_weight);
    boost(snapshot, &mut ranking.ranked, &ranking.text, query.filter.offset, &options.boosts);
    fuse::sort(&mut ranking.ranked, |a, b| in_order(snapshot, a, b));
    Ok(ranking)
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

/// The rows that every lane is held to; `None` if all are allowed.
///
/// Phrases and exclusions are asked of the word index, each as a query of its own without a limit: the dense
/// lane, which sees no words, is then held to exactly what the lexical lane is.
pub(super) fn allowed(snapshot: &Snapshot, query: &Parsed, options: &Options) -> Result<Option<RowSet>, LexicalError> {
    let (contextual, cancel) = (options.contextual, &options.cancel);
    let mut allowed = query.filter.rows(snapshot, cancel)?;
    let holding = |phrases: Vec<String>, among: Option<&RowSet>| {
        let query = LexicalQuery { phrases, contextual, cancel: cancel.clone(), ..LexicalQuery::default() };
        let among = |row: Row| among.is_none_or(|rows| rows.contains(row));
        snapshot.lexical(&query, &among, snapshot.rows())
    };
    // A phrase of symbols alone is nothing that the word index could hold.
    let has_words = |text: &str| snapshot.forms(text).map(|forms| !forms.is_empty());
    let mut phrases = Vec::new();
    for phrase in &query.phrases {
        phrases.extend(has_words(phrase)?.then(|| phrase.clone()));
    }
    if !phrases.is_empty() {
        let rows = holding(phrases, allowed.as_ref())?;
        allowed = Some(RowSet::of(snapshot.rows(), rows.into_iter().map(|(row, _)| row)));
    }
    for without in &query.without {
        if !has_words(without)? {
            continue;
        }
        let rows = holding(vec![without.clone()], allowed.as_ref())?;
        let allowed = allowed.get_or_insert_with(|| RowSet::full(snapshot.rows()));
        rows.into_iter().for_each(|(row, _)| allowed.remove(row));
    }
    Ok(allowed)
}

/// The first allowed chunk of each note, newest note first: by its day, then by modification time.
fn newest(snapshot: &Snapshot, allowed: &RowSet, query: &Parsed) -> Vec<Row> {
    let mut notes: Vec<_> = snapshot
        .notes()
        .filter_map(|note| Some((note, *note.rows.iter().find(|row| allowed.contains(**row))?)))
        .map(|(note, row)| {
            ((Reverse((day_of(note, query.filter.offset), mtime_seconds(note))), note.path.as_str()), row)
        })
        .collect();
    notes.sort_unstable();
    notes.into_iter().map(|(_, row)| row).collect()
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
            title: String::new(),
            heading_path: Vec::new(),
            score: *score,
            snippet: String::new(),
            highlights: Vec::new(),
            text: String::new(),
            context: String::new(),
            window: String::new(),
            window_lines: (1, 2),
            chunk: String::new(),
            also: Vec::new(),
            mtime: 0,
            stale: false,
            linked: None,
            link: None,
            lanes: None,
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
