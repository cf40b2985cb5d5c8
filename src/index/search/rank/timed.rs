//! A query that says nothing but a time: the notes of that time come first, the newest before the others. The lanes would
//! find notes that have the words, and few notes say of themselves that they are of last week.

use super::newest::together;
use super::{Begun, Listed, Part, newest};
use crate::search::Mode;
use crate::search::asked::When;
use crate::search::filter::Filter;
use crate::search::fuse::Ranked;
use crate::search::hit::placed;
use crate::search::ranking::Ranking;
use crate::{LexicalError, Row};

/// What a note's score is below that of the next newer one: whatever sorts them again leaves them in this order.
const STEP: f32 = 1e-4;

/// The first chunks of the notes of the time that a query is all about, the newest note first.
pub(super) fn rows(part: &Part<'_>, begun: &Begun) -> Result<Listed, LexicalError> {
    let Part { snapshot, query, options, .. } = part;
    let asked = options.boosts.asked.filter(|_| options.boosts.date_weight > 0.0 && options.mode == Mode::Hybrid);
    let Some(When::Days(start, end)) = asked.filter(|_| begun.lanes && query.asks_time_alone()) else {
        return Ok(Vec::new());
    };
    let mut of_time = Filter::on_days(start, end, query.filter.zone.clone());
    of_time.hidden.clone_from(&query.filter.hidden);
    let Some(mut rows) = of_time.rows(snapshot, &options.cancel)? else { return Ok(Vec::new()) };
    begun.allowed.iter().for_each(|allowed| rows.keep(allowed));
    let mut newest = newest(snapshot.notes(), Some(&rows), query);
    newest.truncate(options.limit);
    Ok(newest)
}

/// Puts them before all else but notes that are called so, the newest of all vaults first.
pub(super) fn put_first(parts: &[Part<'_>], rankings: &mut [Ranking], of_time: &[Listed]) {
    if of_time.iter().all(Vec::is_empty) {
        return;
    }
    let note_of = |of: usize, row: Row| placed(parts[of].snapshot, row).map(|(_, note)| note.no);
    let mut rest: Vec<Vec<Ranked>> = Vec::with_capacity(rankings.len());
    for ranking in rankings.iter_mut() {
        let ranked = std::mem::take(&mut ranking.ranked).into_iter();
        let (called, others) = ranked.partition(|hit| hit.boosted.name > 0.0);
        ranking.ranked = called;
        rest.push(others);
    }
    let called = rankings.iter().flat_map(|ranking| &ranking.ranked);
    let mut score = called.map(|hit| hit.score).fold(1.0, f32::min);
    for (of, row) in together(of_time) {
        let is_same = |hit: &Ranked| note_of(of, hit.candidate.row) == note_of(of, row);
        if rankings[of].ranked.iter().any(is_same) {
            continue;
        }
        let known = rest[of].iter().position(is_same);
        let hit = known.map_or_else(|| Ranked::sure(row), |at| rest[of].remove(at));
        rankings[of].ranked.push(Ranked { score, ..hit });
        score -= STEP;
    }
    for (ranking, mut rest) in rankings.iter_mut().zip(rest) {
        rest.iter_mut().for_each(|hit| hit.score = hit.score.min(score));
        ranking.ranked.append(&mut rest);
    }
}
