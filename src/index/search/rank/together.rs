//! Notes that alone have all words of a query. In a row they are most likely what was copied from the note. If each is in
//! another passage, no single passage says so, and the lanes judge passages; yet whoever remembers some words of a note
//! finds it among the first.

use std::collections::HashMap;
use std::ops::Range;

use super::Part;
use crate::search::fuse::{self, Ranked};
use crate::search::hit::placed;
use crate::search::ranking::{Ranking, in_order};
use crate::together::HavingAll;
use crate::{ChunkText, NoteNo, Row, Snapshot, terms};

/// If more notes have all words, that tells none of them from others.
const FEW: usize = 3;

/// How far the passage of the best note that has the words in a row is above that note's others.
const ABOVE: f32 = 1e-4;

/// Chunks of a note that are read to see where the words stand.
const MOST_READ: usize = 16;

/// Puts the best chunks of notes that have all words, in whichever passages, behind the hits of the best two notes, if they
/// are not before those. `benches/TRIED.md` has what other places are worth.
pub(super) fn put_third(parts: &[Part<'_>], rankings: &mut [Ranking], having: &[HavingAll]) {
    if !are_few(having.iter().map(|having| having.apart.len())) {
        return;
    }
    let best = Best::of(parts, rankings);
    let Some(score) = best.behind(2) else { return };
    for (at, ((part, ranking), having)) in parts.iter().zip(rankings).zip(having).enumerate() {
        for (no, row) in &having.apart {
            if best.of_note(at, *no) < score {
                let is_of_note = |row: Row| placed(part.snapshot, row).is_some_and(|(_, note)| note.no == *no);
                lift(ranking, &is_of_note, *row, score);
            }
        }
        fuse::sort(&mut ranking.ranked, |a, b| in_order(part.snapshot, a, b));
    }
}

/// Puts the best chunks that have all words in a row behind the hits of the best note, or before them if they are that
/// note's own.
pub(super) fn put_second(parts: &[Part<'_>], rankings: &mut [Ranking], having: &[HavingAll]) {
    if !are_few(having.iter().map(|having| having.in_a_row.len())) {
        return;
    }
    let best = Best::of(parts, rankings);
    let (first, second) = (best.scores.first().copied().unwrap_or(0.0), best.behind(1).unwrap_or(0.0));
    for (at, ((part, ranking), having)) in parts.iter().zip(rankings).zip(having).enumerate() {
        for (no, rows) in &having.in_a_row {
            let read = rows.iter().take(MOST_READ).copied();
            let rows: Vec<Row> = read.filter(|row| says(part.snapshot, *row, &part.query.words)).collect();
            let score = if best.of_note(at, *no) < first { second } else { first + ABOVE };
            if let Some(row) = rows.first() {
                lift(ranking, &|row| rows.contains(&row), *row, score);
            }
        }
        if !having.in_a_row.is_empty() {
            ranking.run = Some(part.query.words.clone());
            fuse::sort(&mut ranking.ranked, |a, b| in_order(part.snapshot, a, b));
        }
    }
}

/// The best score of each note of each part, and all of these in order.
struct Best {
    of: HashMap<(usize, NoteNo), f32>,
    scores: Vec<f32>,
}

impl Best {
    fn of(parts: &[Part<'_>], rankings: &[Ranking]) -> Best {
        let mut of: HashMap<(usize, NoteNo), f32> = HashMap::new();
        for (at, (part, ranking)) in parts.iter().zip(rankings).enumerate() {
            for hit in &ranking.ranked {
                let Some((_, note)) = placed(part.snapshot, hit.candidate.row) else { continue };
                let known = of.entry((at, note.no)).or_insert(hit.score);
                *known = known.max(hit.score);
            }
        }
        let mut scores: Vec<f32> = of.values().copied().collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        Best { of, scores }
    }

    /// A score between those of this many notes and the next; `None` if there are fewer.
    fn behind(&self, notes: usize) -> Option<f32> {
        let last = self.scores.get(notes.checked_sub(1)?)?;
        Some((last + self.scores.get(notes).copied().unwrap_or(0.0)) / 2.0)
    }

    fn of_note(&self, part: usize, no: NoteNo) -> f32 {
        self.of.get(&(part, no)).copied().unwrap_or(0.0)
    }
}

/// Whether a chunk has these words in a row elsewhere than in the text of a link: that is a name of another note.
fn says(snapshot: &Snapshot, row: Row, words: &str) -> bool {
    let Ok(ChunkText { text, language, .. }) = snapshot.text(row) else { return false };
    let is_linked = |run: &Range<usize>| {
        let before = text[..run.start].rfind(['[', ']']).map(|at| text.as_bytes()[at]);
        let behind = text[run.end..].find(['[', ']']).map(|at| text.as_bytes()[run.end + at]);
        (before, behind) == (Some(b'['), Some(b']'))
    };
    let runs = terms::runs(&text, words, language);
    runs.is_empty() || !runs.iter().all(is_linked)
}

fn are_few(notes: impl Iterator<Item = usize>) -> bool {
    (1..=FEW).contains(&notes.sum())
}

/// Gives the best of these chunks at least this score, unless it is of a note that is called so; `row` if no lane has found
/// any.
fn lift(ranking: &mut Ranking, is: &dyn Fn(Row) -> bool, row: Row, score: f32) {
    let ranked = &mut ranking.ranked;
    let best = ranked.iter().enumerate().filter(|(_, hit)| is(hit.candidate.row));
    let best = best.max_by(|(_, a), (_, b)| a.score.total_cmp(&b.score)).map(|(at, _)| at);
    let at = best.unwrap_or_else(|| {
        ranked.push(Ranked::unscored(row));
        ranked.len() - 1
    });
    let hit = &mut ranked[at];
    if hit.boosted.name <= 0.0 {
        (hit.score, hit.boosted.all_words) = (hit.score.max(score), 1.0);
    }
}
