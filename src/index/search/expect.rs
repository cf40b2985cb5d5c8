//! Why a note was not found for a query, or stands where it stands.
//!
//! The lanes are asked again, this time for every chunk, and fused as for the answer: so rank and score of each of
//! the note's chunks are exact however far down they are. Of what keeps a note out altogether (it is ignored, or not
//! indexed) only the caller knows.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fuse::Ranked;
use super::hit::placed;
use super::rank::{Part, allowed, rank_to};
use super::{Hit, LaneScore, MAX_HITS, Mode, Options, Parsed, Ranking, lanes};
use crate::{Language, LexicalError, LexicalQuery, NoteEntry, NoteNo, Row, Snapshot, is_stop_word};

/// How a note stands to the answer of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is among the hits.
    Hit,
    /// The lanes find it, but others come before it.
    Below,
    /// A condition of the query leaves it out.
    Excluded,
    /// No lane has anything to say for it.
    Unmatched,
    /// It is on the disk and not in the index yet, or cannot be read.
    NotIndexed,
    /// It is left out of the vault, by its name or by a rule.
    Ignored,
    /// There is no such note.
    #[default]
    Missing,
}

/// Why a note was not found, or stands where it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// The vault that was looked in.
    pub vault: String,
    /// The note's path in it.
    pub path: String,
    /// How it stands.
    pub standing: Standing,
    /// Its first place among the hits, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit: Option<u32>,
    /// The hit it would be if there were no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_be: Option<u32>,
    /// The rank of its best chunk among all chunks, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// First and last line of that chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// How the words rank that chunk among all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lexical: Option<LaneScore>,
    /// How the vectors rank it among all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dense: Option<LaneScore>,
    /// The score it is ranked by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// The last hit's score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_score: Option<f32>,
    /// The conditions that leave it out, as they could be typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded_by: Vec<String>,
    /// Words of the query that stand in none of its fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// Chunks of it that would be hits but for the limit of hits per note.
    #[serde(default)]
    pub held_back: u32,
    /// Whether it has changed on disk since it was indexed.
    #[serde(default)]
    pub stale: bool,
    /// All of this in plain sentences.
    pub why: Vec<String>,
}

/// How `note`, of the vault `vault` and the part at `at`, stands to the answer `hits` of all parts: those of
/// [`rank_together`](super::rank_together).
///
/// # Errors
/// The word index fails, or the search is cancelled.
pub fn expect(
    parts: &[Part<'_>],
    at: usize,
    vault: &str,
    note: &NoteEntry,
    hits: &[Hit],
) -> Result<Expected, LexicalError> {
    let Some(Part { snapshot, query, vector, options }) = parts.get(at) else { return Ok(Expected::default()) };
    let snapshot: &Snapshot = snapshot;
    let own: HashSet<Row> = note.rows.iter().copied().collect();
    let mut expected = Expected {
        vault: vault.to_owned(),
        path: note.path.as_str().to_owned(),
        standing: Standing::Unmatched,
        last_score: hits.last().map(|hit| hit.score),
        ..Expected::default()
    };
    expected.excluded_by = excluded_by(snapshot, query, options, note)?;
    if let Some(at) = hits.iter().position(|hit| hit.vault == vault && hit.path == expected.path) {
        expected.standing = Standing::Hit;
        expected.hit = Some(at as u32 + 1);
    } else if !expected.excluded_by.is_empty() {
        expected.standing = Standing::Excluded;
    }
    if expected.standing != Standing::Excluded {
        let all = every_chunk(parts, at)?;
        if let Some(at) = all.iter().position(|ranked| own.contains(&ranked.candidate.row)) {
            expected.place(snapshot, &all, at, &own, options, hits);
        } else if let Some(vector) = lanes::telling(vector.as_ref()).filter(|_| options.mode != Mode::Lexical) {
            // Nothing that counts; how near it comes is worth knowing all the same.
            let near = snapshot.dense(vector, &|_| true, snapshot.rows());
            if let Some(at) = near.iter().position(|(row, _)| own.contains(row)) {
                let (row, score) = near[at];
                expected.lines = snapshot.chunk(row).map(|chunk| chunk.lines);
                expected.dense = Some(LaneScore { rank: at as u32 + 1, score });
            }
        }
        expected.lacks = lacks(snapshot, query, options, &own)?;
    }
    expected.why = expected.sentences(query, options, hits.len());
    Ok(expected)
}

/// The ranking of one part with all its chunks. Of the others the best are enough: they are what its scores are measured by.
fn every_chunk(parts: &[Part<'_>], of: usize) -> Result<Vec<Ranked>, LexicalError> {
    let depth = |at: usize| if at == of { parts[at].snapshot.rows() } else { lanes::depth(parts[at].options.limit) };
    let ranking = rank_to(parts, depth)?.into_iter().nth(of);
    Ok(ranking.map(Ranking::into_ranked).unwrap_or_default())
}

impl Expected {
    /// Where the note's best chunk, the one at `at`, stands among all.
    fn place(
        &mut self,
        snapshot: &Snapshot,
        all: &[Ranked],
        at: usize,
        own: &HashSet<Row>,
        options: &Options,
        hits: &[Hit],
    ) {
        if self.standing == Standing::Unmatched {
            self.standing = Standing::Below;
        }
        let best = &all[at];
        self.rank = Some(at as u32 + 1);
        self.lines = snapshot.chunk(best.candidate.row).map(|chunk| chunk.lines);
        self.lexical.clone_from(&best.candidate.lexical);
        self.dense.clone_from(&best.candidate.dense);
        self.score = Some(best.score);
        let note_of = |ranked: &&Ranked| placed(snapshot, ranked.candidate.row).map(|(_, note)| note.no);
        let mut shown: HashMap<NoteNo, usize> = HashMap::new();
        let mut thinned = all.iter().filter(|ranked| {
            note_of(ranked).is_some_and(|note| {
                let count = shown.entry(note).or_default();
                *count += 1;
                *count <= options.per_note.max(1)
            })
        });
        let would_be = thinned.position(|ranked| own.contains(&ranked.candidate.row));
        self.would_be = would_be.map(|at| at as u32 + 1);
        if self.standing == Standing::Hit
            && let Some(last) = hits.last()
        {
            let reach = |ranked: &&Ranked| own.contains(&ranked.candidate.row) && ranked.score > last.score;
            let shown = hits.iter().filter(|hit| hit.vault == self.vault && hit.path == self.path).count();
            self.held_back = all.iter().filter(reach).count().saturating_sub(shown) as u32;
        }
    }

    fn sentences(&self, query: &Parsed, options: &Options, hits: usize) -> Vec<String> {
        let mut said = Vec::new();
        match self.standing {
            Standing::Hit => said.push(format!("It is hit no. {}.", self.hit.unwrap_or(0))),
            Standing::Below => said.push(self.below(options, hits)),
            Standing::Excluded => {
                said.push(format!("The query leaves it out: {}.", self.excluded_by.join("; ")));
            }
            Standing::Unmatched if self.lacks.is_empty() => {
                said.push("No lane that was asked has anything to say for it.".to_owned());
            }
            Standing::Unmatched => {
                said.push(
                    "No passage of it has any word of the query, and meaning does not bring it either.".to_owned(),
                );
            }
            Standing::NotIndexed | Standing::Ignored | Standing::Missing => {}
        }
        said.extend(self.lanes(query));
        if !self.lacks.is_empty() {
            said.push(format!("Neither its names, headings, tags, text nor contexts have: {}.", self.lacks.join(", ")));
        }
        if self.held_back > 0 {
            said.push(format!(
                "{} more of its passages would be hits, but no more than {} of one note are shown.",
                self.held_back, options.per_note
            ));
        }
        said
    }

    /// Why it is not among the hits though it was found.
    fn below(&self, options: &Options, hits: usize) -> String {
        let depth = lanes::depth(options.limit) as u32;
        let beyond = |lane: &Option<LaneScore>| lane.as_ref().is_none_or(|lane| lane.rank > depth);
        let would_be = self.would_be.unwrap_or(0);
        let mut said = match hits {
            1 => "It is not the one hit".to_owned(),
            hits => format!("It is not among the {hits} hits"),
        };
        if let (Some(score), Some(last)) = (self.score, self.last_score) {
            said.push_str(&format!(": its best passage reaches {score:.3}, the last hit {last:.3}"));
        }
        if beyond(&self.lexical) && beyond(&self.dense) {
            said.push_str(&format!("; each lane brings its best {depth} passages, and it is among neither's"));
        } else if would_be as usize > MAX_HITS {
            said.push_str(&format!("; it would be hit no. {would_be}, beyond any limit"));
        } else if would_be as usize > options.limit {
            said.push_str(&format!("; it would be hit no. {would_be}, and the limit is {}", options.limit));
        }
        said + "."
    }

    /// How each lane judges its best passage.
    fn lanes(&self, query: &Parsed) -> Option<String> {
        let (from, to) = self.lines?;
        if !query.has_text() {
            return Some("The query has conditions only: the newest notes that meet them come first.".to_owned());
        }
        let mut parts = Vec::new();
        if let Some(LaneScore { rank, score }) = &self.lexical {
            parts.push(format!("no. {rank} by words (BM25 {score:.2})"));
        }
        if let Some(LaneScore { rank, score }) = &self.dense {
            parts.push(format!("no. {rank} by meaning (cosine {score:.2})"));
        }
        let together = self.rank.map_or(String::new(), |rank| format!(", no. {rank} of all passages"));
        let score = self.score.map_or(String::new(), |score| format!(" with {score:.3}"));
        Some(format!("Its best passage, lines {from} to {to}, is {}{together}{score}.", parts.join(" and ")))
    }
}

/// The conditions of the query that none of the note's chunks meets, in words.
fn excluded_by(
    snapshot: &Snapshot,
    query: &Parsed,
    options: &Options,
    note: &NoteEntry,
) -> Result<Vec<String>, LexicalError> {
    let admitted = allowed(snapshot, query, options)?;
    if admitted.is_none_or(|rows| note.rows.iter().any(|row| rows.contains(*row))) {
        return Ok(Vec::new());
    }
    let mut reasons = Vec::new();
    for (name, part) in query.filter.parts() {
        let met =
            part.rows(snapshot, &options.cancel)?.is_none_or(|rows| note.rows.iter().any(|row| rows.contains(*row)));
        if !met {
            reasons.push(format!("it does not meet `{name}`"));
        }
    }
    let holding = |text: &String| {
        let (contextual, cancel) = (options.contextual, options.cancel.clone());
        let asked = LexicalQuery { phrases: vec![text.clone()], contextual, cancel, ..LexicalQuery::default() };
        snapshot.lexical(&asked, &|row| note.rows.contains(&row), note.rows.len())
    };
    for phrase in &query.phrases {
        if !snapshot.forms(phrase)?.is_empty() && holding(phrase)?.is_empty() {
            reasons.push(format!("\"{phrase}\" stands nowhere in it, word for word"));
        }
    }
    for without in &query.without {
        if !snapshot.forms(without)?.is_empty() && !holding(without)?.is_empty() {
            reasons.push(format!("it has \"{without}\", which must not occur"));
        }
    }
    if reasons.is_empty() {
        reasons.push("no passage of it meets all conditions at once".to_owned());
    }
    Ok(reasons)
}

/// The words of the query, as typed, that none of these chunks has in any field.
fn lacks(
    snapshot: &Snapshot,
    query: &Parsed,
    options: &Options,
    own: &HashSet<Row>,
) -> Result<Vec<String>, LexicalError> {
    /// More would not be read.
    const MOST: usize = 32;
    let text = query.text();
    let mut words: Vec<(Range<usize>, String)> = Vec::new();
    snapshot.analyze(&text, Language::default(), &mut |range, form| words.push((range, form.to_owned())));
    // Of a compound the whole is named, not its parts too.
    let within =
        |a: &Range<usize>| words.iter().any(|(b, _)| b.start <= a.start && a.end <= b.end && b.len() > a.len());
    let mut lacks: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for (range, form) in words.iter().filter(|(range, _)| !within(range)).take(MOST) {
        let typed = &text[range.clone()];
        if is_stop_word(typed) || !seen.insert(form) {
            continue;
        }
        let (contextual, cancel) = (options.contextual, options.cancel.clone());
        let asked = LexicalQuery { words: typed.to_owned(), contextual, cancel, ..LexicalQuery::default() };
        if snapshot.lexical(&asked, &|row| own.contains(&row), 1)?.is_empty() {
            lacks.push(typed.to_owned());
        }
    }
    Ok(lacks)
}
