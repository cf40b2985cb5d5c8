//! Notes that alone have all words of a query, each word in another passage: whoever remembers some words of a note finds it
//! among the first. No single passage says so, and the lanes judge passages.

use std::collections::{BTreeMap, HashMap};

use super::{Part, best_of};
use crate::search::fuse::{self, Ranked};
use crate::search::hit::placed;
use crate::search::ranking::{Ranking, in_order};
use crate::{NoteNo, Row};

/// If more notes have all words, that tells none of them from others.
const FEW: usize = 3;

/// Puts the best chunks of notes that have all words behind the hits of the best two notes, if they are not before those.
/// `having` are these notes of each part, with a chunk. `benches/TRIED.md` has what other places are worth.
pub(super) fn put_third(parts: &[Part<'_>], rankings: &mut [Ranking], having: &[BTreeMap<NoteNo, Row>]) {
    let count: usize = having.iter().map(BTreeMap::len).sum();
    if !(1..=FEW).contains(&count) {
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
        for (no, row) in having {
            if best.get(&(at, *no)).is_some_and(|best| *best >= score) {
                continue;
            }
            if let Some(hit) = best_of(part.snapshot, &mut ranking.ranked, *no) {
                (hit.score, hit.boosted.all_words) = (score, 1.0);
            } else {
                let mut hit = Ranked { score, ..Ranked::unscored(*row) };
                hit.boosted.all_words = 1.0;
                ranking.ranked.push(hit);
            }
        }
        fuse::sort(&mut ranking.ranked, |a, b| in_order(part.snapshot, a, b));
    }
}
