//! Further looks of the lanes: where their best chunks are all of a few notes, and where a query asks about a time.

use std::collections::HashMap;

use jiff::Span;
use jiff::civil::Date;

use super::Part;
use crate::search::asked::When;
use crate::search::filter::Filter;
use crate::search::lanes::{Candidate, merged};
use crate::search::rows::RowSet;
use crate::search::{Mode, Options};
use crate::{LexicalError, NoteNo};

/// What the newest notes are, in half-lives of newness: an older note's boost hardly counts. If they alone fill a lane,
/// those of the second time are looked for, too.
const NEW: [f32; 2] = [2.0, 0.25];

/// Has `run`, which asks the lanes for so many of these rows, look further than it did for `found`, if it left out what
/// the answer needs. The usual query has hits enough, and costs no further look.
pub(super) fn widened(
    part: &Part<'_>,
    allowed: Option<&RowSet>,
    mut found: Vec<Candidate>,
    depth: usize,
    run: &dyn Fn(&RowSet, usize) -> Result<Vec<Candidate>, LexicalError>,
) -> Result<Vec<Candidate>, LexicalError> {
    if found.len() < depth {
        // Neither lane has more.
        return Ok(found);
    }
    // The date boost comes after the lanes, so notes of that time must be among what they bring.
    for (start, end) in times(&part.options) {
        let of_time = Filter::on_days(start, end, part.query.filter.zone.clone());
        let Some(mut rows) = of_time.rows(part.snapshot, &part.options.cancel)? else { break };
        allowed.iter().for_each(|allowed| rows.keep(allowed));
        let further = run(&rows, depth)?;
        let is_full = further.len() >= depth;
        found = merged(found, further);
        if !is_full {
            break;
        }
    }
    let (mut rest, mut latest, mut deeper) = (None, depth, depth);
    while latest >= deeper {
        let Some(rows) = others(part, rest.as_ref().or(allowed), &found) else { break };
        deeper = deeper.saturating_mul(2);
        let further = run(&rows, deeper)?;
        latest = further.len();
        found = merged(found, further);
        rest = Some(rows);
    }
    Ok(found)
}

/// The days that the query asks about, each time within the one before.
fn times(options: &Options) -> Vec<(Date, Option<Date>)> {
    let boosts = &options.boosts;
    match (boosts.asked.filter(|_| boosts.date_weight > 0.0), boosts.today) {
        (Some(When::Days(start, end)), _) => vec![(start, end)],
        (Some(When::Newest), Some(today)) => {
            let since = |half_lives: f32| Span::new().try_days((boosts.recency_half_life * half_lives) as i64);
            NEW.into_iter().filter_map(|new| Some((today.checked_sub(since(new).ok()?).ok()?, None))).collect()
        }
        _ => Vec::new(),
    }
}

/// The rows of notes that may still bring hits: those among `allowed` that are of no note with as many chunks in `found`
/// as it may have hits. `None` if there are none, or if there are hits enough.
fn others(part: &Part<'_>, allowed: Option<&RowSet>, found: &[Candidate]) -> Option<RowSet> {
    let Part { snapshot, options, .. } = part;
    let has_words = || found.iter().any(|candidate| candidate.lexical.is_some());
    let meaning_counts =
        options.familiarity > 0.0 && (options.dense_weight > 0.0 || options.mode == Mode::Dense || !has_words());
    let mut hits = 0;
    let mut shares: HashMap<NoteNo, usize> = HashMap::new();
    for candidate in found.iter().filter(|candidate| meaning_counts || candidate.lexical.is_some()) {
        let Some(chunk) = snapshot.chunk(candidate.row) else { continue };
        let share = shares.entry(chunk.note).or_default();
        *share += 1;
        hits += usize::from(*share <= options.per_note.max(1));
        if hits >= options.limit {
            return None;
        }
    }
    let mut rest = allowed.cloned().unwrap_or_else(|| RowSet::full(snapshot.rows()));
    for (no, _) in shares.into_iter().filter(|(_, share)| *share >= options.per_note.max(1)) {
        snapshot.note(no).iter().flat_map(|note| note.rows.iter()).for_each(|row| rest.remove(row));
    }
    (!rest.is_empty()).then_some(rest)
}
