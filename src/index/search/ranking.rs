//! The chunks that may answer a query, in their order, before any of them is read.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::Mode;
use super::blend::blend;
use super::fuse::{self, Ranked};
use super::hit::placed;
use super::query::LinePattern;
use crate::{NoteEntry, Row, Snapshot};

/// The chunks that may answer a query, best first, before any of them is read. Boosts and rerankers change the order.
/// Valid for the snapshot it was made of.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    pub(super) ranked: Vec<Ranked>,
    pub(super) mode: Mode,
    pub(super) warnings: Vec<String>,
    /// What highlights and snippets are chosen for.
    pub(super) text: String,
    /// Regular expressions that are highlighted too.
    pub(super) patterns: Vec<LinePattern>,
    /// Phrases, which snippets are chosen by too.
    pub(super) phrases: Vec<String>,
    /// Words that few notes have in a row: a phrase to the chunks that were lifted for it.
    pub(super) run: Option<String>,
}

impl Ranking {
    /// Adds what other phrasings of the same query found; the query itself weighs most. All rankings are of one
    /// snapshot.
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

    /// The notes of the best chunks, best first: at most `n`, each once.
    pub fn notes<'a>(&self, snapshot: &'a Snapshot, n: usize) -> Vec<&'a NoteEntry> {
        let mut seen = HashSet::new();
        let notes = self.ranked.iter().filter_map(|ranked| Some(placed(snapshot, ranked.candidate.row)?.1));
        notes.filter(|note| seen.insert(note.no)).take(n).collect()
    }
}

/// By note path, then by position: the same whatever numbers the rows happen to have.
pub(super) fn in_order(snapshot: &Snapshot, a: Row, b: Row) -> Ordering {
    let key = |row| placed(snapshot, row).map(|(chunk, note)| (note.path.as_str(), chunk.position));
    key(a).cmp(&key(b))
}

/// What several vaults rank as one list, each with the index of its vault: by score; among equals each vault's own order
/// counts, then the order of `lists`.
pub(super) fn joined<T>(
    lists: impl IntoIterator<Item = impl IntoIterator<Item = T>>,
    score: impl Fn(&T) -> f32,
) -> Vec<(usize, T)> {
    let placed = lists
        .into_iter()
        .enumerate()
        .flat_map(|(of, list)| list.into_iter().enumerate().map(move |(place, one)| (place, of, one)));
    let mut all: Vec<(usize, usize, T)> = placed.collect();
    all.sort_by(|a, b| score(&b.2).total_cmp(&score(&a.2)).then((a.0, a.1).cmp(&(b.0, b.1))));
    all.into_iter().map(|(_, of, one)| (of, one)).collect()
}
