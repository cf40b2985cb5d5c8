//! Notes that are listed and not judged: the newest first, in all vaults together.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::civil::Date;

use super::Begun;
use crate::search::filter::{day_of, mtime_seconds};
use crate::search::fuse::Ranked;
use crate::search::hit::placed;
use crate::search::query::LinePattern;
use crate::search::rows::RowSet;
use crate::search::{Options, Parsed};
use crate::{LexicalError, NoteEntry, Row, Snapshot};

/// First chunks of notes, the newest first, each with the note's day and the time of its last modification.
pub(super) type Listed = Vec<((Date, i64), Row)>;

/// The first allowed chunk (`None`: all are) of each note, newest note first: by its day, then by modification time.
pub(super) fn newest<'n>(
    notes: impl Iterator<Item = &'n Arc<NoteEntry>>,
    allowed: Option<&RowSet>,
    query: &Parsed,
) -> Listed {
    let is_allowed = |row: &Row| allowed.is_none_or(|allowed| allowed.contains(*row));
    let mut notes: Vec<_> = notes
        .filter_map(|note| Some((note, note.rows.iter().find(is_allowed)?)))
        .map(|(note, row)| {
            ((Reverse((day_of(note, &query.filter.zone), mtime_seconds(note))), note.path.as_str()), row)
        })
        .collect();
    notes.sort_unstable();
    notes.into_iter().map(|((Reverse(age), _), row)| (age, row)).collect()
}

/// Takes, of each note that may be shown, the first allowed chunk in which one of these lines stands, if there is one.
///
/// # Errors
/// The search is cancelled.
pub(super) fn open_at(
    listed: &mut [((Date, i64), Row)],
    lines: &[LinePattern],
    (snapshot, allowed): (&Snapshot, &RowSet),
    options: &Options,
) -> Result<(), LexicalError> {
    let has_line = |row: &Row| {
        let text = snapshot.text(*row).unwrap_or_default().text;
        lines.iter().any(|line| !line.pattern().ranges(&text, 1).is_empty())
    };
    let shown = if lines.is_empty() { 0 } else { options.limit };
    for (_, row) in listed.iter_mut().take(shown) {
        options.cancel.check()?;
        let rows = placed(snapshot, *row).into_iter().flat_map(|(_, note)| note.rows.iter());
        *row = rows.filter(|row| allowed.contains(*row)).find(has_line).unwrap_or(*row);
    }
    Ok(())
}

/// The chunks of all lists from the newest on, each with the index of its list; among equals the first list's come first.
pub(super) fn together(lists: &[Listed]) -> impl Iterator<Item = (usize, Row)> + use<> {
    let each = lists.iter().enumerate().flat_map(|(of, list)| list.iter().map(move |(age, row)| (*age, of, *row)));
    let mut all: Vec<_> = each.collect();
    all.sort_by_key(|(age, ..)| Reverse(*age));
    all.into_iter().map(|(_, of, row)| (of, row))
}

/// Ranks what the parts list. All of it answers equally well; what is merged by score stays in this order because the
/// score falls a little where the next newest note is another vault's.
pub(super) fn list(begun: &mut [Begun]) {
    let lists: Vec<Listed> = begun.iter_mut().map(|begun| std::mem::take(&mut begun.listed)).collect();
    let (mut score, mut last) = (1.0_f32, None);
    for (of, row) in together(&lists) {
        if last.replace(of).is_some_and(|last| last != of) {
            score = score.next_down();
        }
        begun[of].ranking.ranked.push(Ranked { score, ..Ranked::sure(row) });
    }
}
