//! Why a note was not found for a query, or stands where it stands.
//!
//! The lanes are asked again, this time for every chunk, and fused as for the answer: so rank and score of each of the
//! note's chunks are exact however far down they are. Only the caller knows what keeps a note out altogether (it is
//! ignored, or not indexed).

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::fuse::Ranked;
use super::hit::placed;
use super::rank::{Part, allowed_of, conditions, corpus_of, ranked};
use super::ranking::joined;
use super::rows::RowSet;
use super::{Expected, Hit, LaneScore, MAX_HITS, Mode, NoteStanding, Options, Parsed, Ranking, finish, lanes, merge};
use crate::{Language, LexicalError, LexicalQuery, NoteEntry, NoteNo, Row, Snapshot, is_stop_word};

/// How `note`, of the vault `vault` and the part at `at`, relates to `hits`, the answer of all `parts`: those given to
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
    let own: HashSet<Row> = note.rows.iter().collect();
    let mut expected = Expected {
        vault: vault.to_owned(),
        path: note.path.as_str().to_owned(),
        standing: NoteStanding::Unmatched,
        last_score: hits.last().map(|hit| hit.score),
        ..Expected::default()
    };
    expected.excluded_by = excluded_by(snapshot, query, options, note)?;
    if let Some(at) = hits.iter().position(|hit| hit.vault == vault && hit.path == expected.path) {
        expected.standing = NoteStanding::Hit;
        expected.hit = Some(at as u32 + 1);
    } else if !expected.excluded_by.is_empty() {
        expected.standing = NoteStanding::Excluded;
    }
    if expected.standing != NoteStanding::Excluded {
        let rankings = ranked(parts, &corpus_of(parts), |part| part.snapshot.rows(), (&[], &[]))?.0;
        let window = window(parts, rankings.clone(), (at, note))?;
        let all = joined(rankings.into_iter().map(|ranking| ranking.ranked), |ranked| ranked.score);
        if let Some(first) = all.iter().position(|(part, ranked)| *part == at && own.contains(&ranked.candidate.row)) {
            place(&mut expected, parts, (at, &own), (&all, first), hits);
            expected.would_be = window.or(expected.would_be);
        } else if let Some(vector) = lanes::telling(vector.as_ref()).filter(|_| options.mode != Mode::Lexical) {
            // It does not count for the answer, but how near it comes is worth knowing.
            let near = snapshot.dense(vector, None, snapshot.rows());
            if let Some(at) = near.iter().position(|(row, _)| own.contains(row)) {
                let (row, score) = near[at];
                expected.lines = snapshot.chunk(row).map(|chunk| chunk.lines);
                expected.dense = Some(LaneScore { rank: at as u32 + 1, score });
            }
        }
        expected.lacks = lacks(snapshot, query, options, &own)?;
    }
    expected.why = sentences(&expected, query, options, hits.len());
    Ok(expected)
}

/// Which hit the note of the part at `at` would be in the longest answer there is, from 1: hits are windows, which may
/// hold several chunks.
fn window(
    parts: &[Part<'_>],
    rankings: Vec<Ranking>,
    (at, note): (usize, &NoteEntry),
) -> Result<Option<u32>, LexicalError> {
    let answer = |(part, (ranking, Part { snapshot, options, .. })): (usize, (Ranking, &Part<'_>))| {
        finish(snapshot, &part.to_string(), ranking, &Options { limit: MAX_HITS, ..options.clone() })
    };
    let answers = rankings.into_iter().zip(parts).enumerate().map(answer).collect::<Result<Vec<_>, _>>()?;
    let is_of_note = |hit: &Hit| hit.vault == at.to_string() && hit.path == note.path.as_str();
    Ok(merge(answers, MAX_HITS).hits.iter().position(is_of_note).map(|at| at as u32 + 1))
}

/// Where the note's best chunk, the one at `first`, stands among all.
fn place(
    expected: &mut Expected,
    parts: &[Part<'_>],
    (at, own): (usize, &HashSet<Row>),
    (all, first): (&[(usize, Ranked)], usize),
    hits: &[Hit],
) {
    let Part { snapshot, options, .. } = &parts[at];
    if expected.standing == NoteStanding::Unmatched {
        expected.standing = NoteStanding::Below;
    }
    let is_own = |(part, ranked): &(usize, Ranked)| *part == at && own.contains(&ranked.candidate.row);
    let best = &all[first].1;
    expected.rank = Some(first as u32 + 1);
    expected.lines = snapshot.chunk(best.candidate.row).map(|chunk| chunk.lines);
    expected.lexical.clone_from(&best.candidate.lexical);
    expected.dense.clone_from(&best.candidate.dense);
    expected.score = Some(best.score);
    let mut shown: HashMap<(usize, NoteNo), usize> = HashMap::new();
    let mut thinned = all.iter().filter(|(part, ranked)| {
        placed(parts[*part].snapshot, ranked.candidate.row).is_some_and(|(_, note)| {
            let count = shown.entry((*part, note.no)).or_default();
            *count += 1;
            *count <= options.per_note.max(1)
        })
    });
    expected.would_be = thinned.position(is_own).map(|at| at as u32 + 1);
    if expected.standing == NoteStanding::Hit
        && let Some(last) = hits.last()
    {
        let reach = |ranked: &&(usize, Ranked)| is_own(ranked) && ranked.1.score > last.score;
        let shown = hits.iter().filter(|hit| hit.vault == expected.vault && hit.path == expected.path).count();
        expected.held_back = all.iter().filter(reach).count().saturating_sub(shown) as u32;
    }
}

fn sentences(expected: &Expected, query: &Parsed, options: &Options, hits: usize) -> Vec<String> {
    let mut said = Vec::new();
    match expected.standing {
        NoteStanding::Hit => said.push(format!("It is hit no. {}.", expected.hit.unwrap_or(0))),
        NoteStanding::Below => said.push(below(expected, options, hits)),
        NoteStanding::Excluded => {
            said.push(format!("The query leaves it out: {}.", expected.excluded_by.join("; ")));
        }
        NoteStanding::Unmatched if expected.lacks.is_empty() => {
            said.push("No lane that was asked has anything to say for it.".to_owned());
        }
        NoteStanding::Unmatched => {
            said.push("No passage of it has any word of the query, and meaning does not bring it either.".to_owned());
        }
        NoteStanding::NotIndexed | NoteStanding::Ignored | NoteStanding::Missing => {}
    }
    said.extend(judged(expected, query));
    if !expected.lacks.is_empty() {
        said.push(format!("Neither its names, headings, tags, text nor contexts have: {}.", expected.lacks.join(", ")));
    }
    if expected.held_back > 0 {
        said.push(format!(
            "{} more of its passages would be hits, but no more than {} of one note are shown.",
            expected.held_back, options.per_note
        ));
    }
    said
}

/// Why it is not among the hits though it was found.
fn below(expected: &Expected, options: &Options, hits: usize) -> String {
    let depth = lanes::depth(options.limit) as u32;
    let beyond = |lane: &Option<LaneScore>| lane.as_ref().is_none_or(|lane| lane.rank > depth);
    let would_be = expected.would_be.unwrap_or(0);
    let mut said = match hits {
        1 => "It is not the one hit".to_owned(),
        hits => format!("It is not among the {hits} hits"),
    };
    if let (Some(score), Some(last)) = (expected.score, expected.last_score) {
        said.push_str(&format!(": its best passage reaches {score:.3}, the last hit {last:.3}"));
    }
    if beyond(&expected.lexical) && beyond(&expected.dense) {
        said.push_str(&format!("; each lane brings its best {depth} passages, and it is among neither's"));
    } else if would_be as usize > MAX_HITS {
        said.push_str(&format!("; it would be hit no. {would_be}, beyond any limit"));
    } else if would_be as usize > options.limit {
        said.push_str(&format!("; it would be hit no. {would_be}, and the limit is {}", options.limit));
    }
    said + "."
}

/// How each lane judges its best passage.
fn judged(expected: &Expected, query: &Parsed) -> Option<String> {
    let (from, to) = expected.lines?;
    if !query.has_text() {
        return Some("The query has conditions only: the newest notes that meet them come first.".to_owned());
    }
    let mut parts = Vec::new();
    if let Some(LaneScore { rank, score }) = &expected.lexical {
        parts.push(format!("no. {rank} by words (BM25 {score:.2})"));
    }
    if let Some(LaneScore { rank, score }) = &expected.dense {
        parts.push(format!("no. {rank} by meaning (cosine {score:.2})"));
    }
    let together = expected.rank.map_or(String::new(), |rank| format!(", no. {rank} of all passages"));
    let score = expected.score.map_or(String::new(), |score| format!(" with {score:.3}"));
    Some(format!("Its best passage, lines {from} to {to}, is {}{together}{score}.", parts.join(" and ")))
}

/// The conditions of the query that none of the note's chunks meets, in words.
fn excluded_by(
    snapshot: &Snapshot,
    query: &Parsed,
    options: &Options,
    note: &NoteEntry,
) -> Result<Vec<String>, LexicalError> {
    let own = RowSet::of(snapshot.rows(), note.rows.iter());
    if own.is_empty() || allowed_of(snapshot, Some(&own), query, options)?.is_none_or(|rows| !rows.is_empty()) {
        return Ok(Vec::new());
    }
    let mut reasons = Vec::new();
    for condition in conditions(query) {
        if !condition.is_met((snapshot, Some(&own)), query, options)? {
            reasons.push(condition.unmet);
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
    // A compound is named as a whole, without its parts.
    let within =
        |a: &Range<usize>| words.iter().any(|(b, _)| b.start <= a.start && a.end <= b.end && b.len() > a.len());
    let mut lacks: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for (range, form) in words.iter().filter(|(range, _)| !within(range)).take(MOST) {
        let typed = &text[range.clone()];
        if is_stop_word(typed) || !seen.insert(form) {
            continue;
        }
        let (contextual, expansion, cancel) = (options.contextual, options.expansion(), options.cancel.clone());
        let asked = LexicalQuery { words: typed.to_owned(), contextual, expansion, cancel, ..LexicalQuery::default() };
        if snapshot.lexical(&asked, &|row| own.contains(&row), 1)?.is_empty() {
            lacks.push(typed.to_owned());
        }
    }
    Ok(lacks)
}
