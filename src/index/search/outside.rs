//! Chunks that were found by an engine with its own index, judged on one scale with what is found here.
//!
//! Both lanes score them like a chunk here, and the same fusion and boosts follow, except for the place among the
//! links, which is not known of notes elsewhere. Each engine counts in its own chunks how rare a word is. The counts of
//! all are added up, and every score is based on the sums ([`scores`]).

mod admitted;
mod scores;

use std::collections::HashMap;

use super::boost::{Boosts, boost_notes};
use super::elsewhere::NamesElsewhere;
use super::fuse::{self, Dense, Ranked, Scale};
use super::hit::of_note;
use super::lanes::{self, Candidate};
use super::rank::{self, corpus_of};
use super::snippet::snippet;
use super::trail::trail;
use super::{Answer, Hit, MAX_HITS, Mode, Options, Parsed, Part, Ranking};
use crate::analyze::each_word;
use crate::query::telling;
use crate::statistics::WordStatistics;
use crate::{Language, LexicalError, NoteEntry};

/// A chunk that was found elsewhere.
#[derive(Clone, Debug)]
pub struct Outside {
    /// Which engine found it: the index of its [`FoundOutside::statistics`].
    pub engine: usize,
    /// Name of its vault where it was found: the hit's vault.
    pub vault: String,
    /// Its note; `no` tells apart the notes of one answer, and its links are paths.
    pub note: NoteEntry,
    /// Its id.
    pub chunk: String,
    /// Headings above it, outermost first.
    pub heading_path: Vec<String>,
    /// First and last line.
    pub lines: (u32, u32),
    /// Raw text.
    pub text: String,
    /// Context.
    pub context: String,
    /// The language that its words are stemmed in.
    pub language: Language,
    /// Its BM25; `None` if it has none of the words.
    pub lexical: Option<f32>,
    /// Its cosine; `None` if that lane was not asked.
    pub dense: Option<f32>,
}

/// What engines elsewhere found, and what each of them counts.
#[derive(Debug, Default)]
pub struct FoundOutside {
    /// Chunks of all engines.
    pub chunks: Vec<Outside>,
    /// What each engine counts of the query's terms, by [`Outside::engine`].
    pub statistics: Vec<WordStatistics>,
    /// The names of the teams that are searched, so that a condition may name them.
    pub teams: Vec<String>,
}

/// What was found elsewhere, ranked.
#[derive(Debug, Default)]
pub struct OutsideRanking {
    chunks: Vec<Outside>,
    ranked: Vec<Ranked>,
    text: String,
    mode: Mode,
}

/// Removes the chunks that do not meet what a query asks for besides its free words; with `contextual`, contexts take
/// part.
pub fn keep_admitted(query: &Parsed, chunks: &mut Vec<Outside>, contextual: bool) {
    let (admitted, mut rows) = (admitted::admitted(query, chunks, contextual), 0..);
    chunks.retain(|_| rows.next().is_some_and(|row| admitted.contains(row)));
}

/// As [`super::rank_together`], with what was found elsewhere on the same scale.
///
/// # Errors
/// As there.
pub fn rank_beside(parts: &[Part<'_>], found: FoundOutside) -> Result<(Vec<Ranking>, OutsideRanking), LexicalError> {
    let FoundOutside { chunks: mut outside, statistics, teams } = found;
    let corpus = corpus_of(parts).beside(&statistics);
    scores::put_on_one_scale(&mut outside, &statistics, &corpus)?;
    let candidates = candidates(&outside);
    let (rankings, scale) = rank::ranked(parts, &corpus, rank::best, (&candidates, &teams))?;
    let ranking = parts.first().map(|part| ranked(outside, candidates, scale, part)).unwrap_or_default();
    Ok((rankings, ranking))
}

/// The scores of the lanes with their ranks; the row of a candidate is its index in `outside`.
fn candidates(outside: &[Outside]) -> Vec<Candidate> {
    let scores = |lane: fn(&Outside) -> Option<f32>| {
        (0..).zip(outside).filter_map(|(row, chunk)| Some((row, lane(chunk)?))).collect()
    };
    lanes::candidates(scores(|chunk| chunk.lexical), Some(scores(|chunk| chunk.dense)))
}

fn ranked(chunks: Vec<Outside>, candidates: Vec<Candidate>, scale: Scale, part: &Part<'_>) -> OutsideRanking {
    let Part { query, options, .. } = part;
    let text = query.text();
    let dense = Dense { weight: options.dense_weight, familiarity: options.familiarity };
    let mut ranked = fuse::fuse(candidates, scale, dense);
    let boosts = Boosts { graph: None, ..options.boosts.clone() };
    let notes: Vec<&NoteEntry> = chunks.iter().map(|chunk| &chunk.note).collect();
    let elsewhere = NamesElsewhere::of(chunks.iter().map(|chunk| (chunk.vault.as_str(), &chunk.note)));
    boost_notes(&notes, &elsewhere, &mut ranked, &text, &query.filter.zone, &boosts);
    let key = |row: u32| chunks.get(row as usize).map(|chunk| (&chunk.vault, chunk.note.path.as_str(), chunk.lines));
    fuse::sort(&mut ranked, |a, b| key(a).cmp(&key(b)));
    OutsideRanking { chunks, ranked, text, mode: options.mode }
}

impl OutsideRanking {
    /// Hits of the best, at most [`Options::per_note`] of each note.
    pub fn finish(self, options: &Options) -> Answer {
        let OutsideRanking { chunks, ranked, text, mode } = self;
        let mut shares: HashMap<(&str, &str), usize> = HashMap::new();
        let mut hits: Vec<Hit> = Vec::new();
        let mut truncated = false;
        for ranked in ranked {
            let Some(chunk) = chunks.get(ranked.candidate.row as usize) else { continue };
            let share = shares.entry((&chunk.vault, chunk.note.path.as_str())).or_default();
            *share += 1;
            if *share > options.per_note.max(1) {
                continue;
            }
            if hits.len() >= options.limit.min(MAX_HITS) {
                truncated = true;
                break;
            }
            hits.push(hit(chunk, &ranked, &text, options));
        }
        Answer { hits, truncated, mode, ..Answer::default() }
    }
}

fn hit(chunk: &Outside, ranked: &Ranked, query: &str, options: &Options) -> Hit {
    let Outside { vault, note, heading_path, lines, text, context, language, .. } = chunk;
    let forms = telling(query, &[*language]);
    let terms = forms.iter().map(|form| form.text.as_str()).collect();
    let passage = snippet(text, note.path.format(), &terms, &|text, each| {
        each_word(text, Some(*language), |token, _| each(token.offset_from..token.offset_to, &token.text));
    });
    Hit {
        vault: vault.clone(),
        line: lines.0,
        end_line: lines.1,
        match_line: (lines.0 + passage.lines_before).min(lines.1),
        heading_path: trail(heading_path.clone(), note.title(), passage.headings),
        score: ranked.score.clamp(0.0, 1.0),
        snippet: passage.text,
        highlights: passage.highlights,
        text: text.clone(),
        window: text.clone(),
        window_lines: *lines,
        chunk: chunk.chunk.clone(),
        has_context: !context.is_empty(),
        context: if options.contextual { context.clone() } else { String::new() },
        lanes: ranked.lanes().filter(|_| options.explain),
        ..of_note(note)
    }
}

#[cfg(test)]
mod tests;
