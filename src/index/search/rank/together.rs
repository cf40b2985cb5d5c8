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

/// How far the scores of passages that have the words in a row are below those of notes that are called by their names,
/// and how far apart.
const BELOW: f32 = 1e-4;

/// Chunks of a note that are read to see where the words stand.
const MOST_READ: usize = 16;

/// Puts the best chunks of notes that have all words, in whichever passages, behind the hits of the best two notes, if they
/// are not before those. `benches/TRIED.md` has what other places are worth.
pub(super) fn put_third(parts: &[Part<'_>], rankings: &mut [Ranking], having: &[HavingAll]) {
    if !are_few(having.iter().map(|having| having.apart.len())) {
        return;
    }
    let mut best: HashMap<(usize, NoteNo), f32> = HashMap::new();
    for (at, (part, ranking)) in parts.iter().zip(rankings.iter()).enumerate() {
        for hit in &ranking.ranked {
            let Some((_, note)) = placed(part.snapshot, hit.candidate.row) else { continue };
            let known = best.entry((at, note.no)).or_insert(hit.score);
            *known = known.max(hit.score);
        }
    }
    let mut scores: Vec<f32> = best.values().copied().collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    let (Some(second), third) = (scores.get(1), scores.get(2).copied().unwrap_or(0.0)) else { return };
    let score = (second + third) / 2.0;
    for (at, ((part, ranking), having)) in parts.iter().zip(rankings).zip(having).enumerate() {
        for (no, row) in &having.apart {
            if best.get(&(at, *no)).is_none_or(|best| *best < score) {
                let is_of_note = |row: Row| placed(part.snapshot, row).is_some_and(|(_, note)| note.no == *no);
                lift(ranking, &is_of_note, *row, &|_| score);
            }
        }
        fuse::sort(&mut ranking.ranked, |a, b| in_order(part.snapshot, a, b));
    }
}

/// Puts the best chunks that have all words in a row before all but notes that are called so, in their order.
pub(super) fn put_first(parts: &[Part<'_>], rankings: &mut [Ranking], having: &[HavingAll]) {
    if !are_few(having.iter().map(|having| having.in_a_row.len())) {
        return;
    }
    for ((part, ranking), having) in parts.iter().zip(rankings).zip(having) {
        for rows in having.in_a_row.values() {
            let read = rows.iter().take(MOST_READ).copied();
            let rows: Vec<Row> = read.filter(|row| says(part.snapshot, *row, &part.query.words)).collect();
            if let Some(first) = rows.first() {
                lift(ranking, &|row| rows.contains(&row), *first, &|score| 1.0 - BELOW * (2.0 - score));
            }
        }
        if !having.in_a_row.is_empty() {
            ranking.phrases.push(part.query.words.clone());
            fuse::sort(&mut ranking.ranked, |a, b| in_order(part.snapshot, a, b));
        }
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

/// Gives the best of these chunks another score, unless it is of a note that is called so; `row` if no lane has found any.
fn lift(ranking: &mut Ranking, is: &dyn Fn(Row) -> bool, row: Row, score: &dyn Fn(f32) -> f32) {
    let ranked = &mut ranking.ranked;
    let best = ranked.iter().enumerate().filter(|(_, hit)| is(hit.candidate.row));
    let best = best.max_by(|(_, a), (_, b)| a.score.total_cmp(&b.score)).map(|(at, _)| at);
    let at = best.unwrap_or_else(|| {
        ranked.push(Ranked::unscored(row));
        ranked.len() - 1
    });
    let hit = &mut ranked[at];
    if hit.boosted.name <= 0.0 {
        (hit.score, hit.boosted.all_words) = (score(hit.score), 1.0);
    }
}
