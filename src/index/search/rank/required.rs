//! The rows that AND, OR and NOT of a query leave.
//!
//! A condition admits notes, with all their chunks; a word or phrase admits the chunks that hold it. AND tests words on
//! the note and not on the chunk: if a note has two words, each in another chunk, both chunks are admitted.

use super::allowed;
use crate::search::query::Required;
use crate::search::rows::RowSet;
use crate::search::{Options, Parsed};
use crate::{LexicalError, Snapshot};

/// Rows, and whether they are those that hold a text.
struct Met {
    rows: RowSet,
    is_text: bool,
}

/// The rows that meet what is required; `asked` is the query that requires it.
///
/// # Errors
/// A word index cannot be read, or the search is cancelled.
pub(super) fn rows(
    required: &Required,
    asked: &Parsed,
    snapshot: &Snapshot,
    options: &Options,
) -> Result<RowSet, LexicalError> {
    Ok(met(required, asked, snapshot, options)?.rows)
}

fn met(required: &Required, asked: &Parsed, snapshot: &Snapshot, options: &Options) -> Result<Met, LexicalError> {
    let each = |parts: &[Required]| {
        parts.iter().map(|part| met(part, asked, snapshot, options)).collect::<Result<Vec<_>, _>>()
    };
    Ok(match required {
        Required::One { query, .. } => {
            let mut query = (**query).clone();
            query.filter = query.filter.asked_as(&asked.filter);
            let is_text = query.holds_text();
            let rows = allowed(snapshot, &query, options)?;
            Met { rows: rows.unwrap_or_else(|| RowSet::full(snapshot.rows())), is_text }
        }
        Required::Not(part) => {
            let mut rows = RowSet::full(snapshot.rows());
            rows.drop_all(&met(part, asked, snapshot, options)?.rows);
            Met { rows, is_text: false }
        }
        Required::Any(parts) => {
            let parts = each(parts)?;
            let mut rows = RowSet::new(snapshot.rows());
            parts.iter().for_each(|part| rows.add(&part.rows));
            Met { rows, is_text: parts.iter().all(|part| part.is_text) }
        }
        Required::All(parts) => all(each(parts)?, snapshot),
    })
}

fn all(parts: Vec<Met>, snapshot: &Snapshot) -> Met {
    let (texts, conditions): (Vec<Met>, Vec<Met>) = parts.into_iter().partition(|part| part.is_text);
    let is_text = !texts.is_empty();
    let mut rows = if is_text { RowSet::new(snapshot.rows()) } else { RowSet::full(snapshot.rows()) };
    texts.iter().for_each(|text| rows.add(&text.rows));
    if texts.len() > 1 {
        let holding = |text: &Met| of_notes(&text.rows, snapshot);
        texts.iter().for_each(|text| rows.keep(&holding(text)));
    }
    conditions.iter().for_each(|condition| rows.keep(&condition.rows));
    Met { rows, is_text }
}

/// All rows of the notes that have one of these.
fn of_notes(rows: &RowSet, snapshot: &Snapshot) -> RowSet {
    let have = snapshot.notes().filter(|note| note.rows.iter().any(|row| rows.contains(row)));
    RowSet::of(snapshot.rows(), have.flat_map(|note| note.rows.iter()))
}
