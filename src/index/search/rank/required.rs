//! The rows that AND, OR and NOT of a query leave.
//!
//! A condition admits notes, with all their chunks; a word or phrase admits the chunks that hold it. AND tests words on
//! the note and not on the chunk: if a note has two words, each in another chunk, both chunks are admitted.

use super::allowed;
use crate::search::query::Required;
use crate::search::rows::RowSet;
use crate::search::{Options, Parsed};
use crate::{LexicalError, Snapshot};

/// Rows, and what they are.
struct Met {
    rows: RowSet,
    /// Whether they are those that hold a text.
    is_text: bool,
    /// Of texts OR conditions: the rows that meet it beside others, which are all rows of a note that holds such a text.
    beside: Option<RowSet>,
}

impl Met {
    /// The rows that meet it beside others of an AND.
    fn beside(&self, snapshot: &Snapshot) -> RowSet {
        let alone = || if self.is_text { of_notes(&self.rows, snapshot) } else { self.rows.clone() };
        self.beside.clone().unwrap_or_else(alone)
    }
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
            Met { rows: rows.unwrap_or_else(|| RowSet::full(snapshot.rows())), is_text, beside: None }
        }
        Required::Not(part) => {
            let mut rows = RowSet::full(snapshot.rows());
            rows.drop_all(&met(part, asked, snapshot, options)?.rows);
            Met { rows, is_text: false, beside: None }
        }
        Required::Any(parts) => any(&each(parts)?, snapshot),
        Required::All(parts) => all(each(parts)?, snapshot),
    })
}

fn any(parts: &[Met], snapshot: &Snapshot) -> Met {
    let union = |of: &dyn Fn(&mut RowSet, &Met)| {
        let mut rows = RowSet::new(snapshot.rows());
        parts.iter().for_each(|part| of(&mut rows, part));
        rows
    };
    let is_text = parts.iter().all(|part| part.is_text);
    let is_mixed = !is_text && parts.iter().any(|part| part.is_text || part.beside.is_some());
    let beside = is_mixed.then(|| union(&|rows, part| rows.add(&part.beside(snapshot))));
    Met { rows: union(&|rows, part| rows.add(&part.rows)), is_text, beside }
}

fn all(parts: Vec<Met>, snapshot: &Snapshot) -> Met {
    let (texts, others): (Vec<Met>, Vec<Met>) = parts.into_iter().partition(|part| part.is_text);
    let (mixed, conditions): (Vec<Met>, Vec<Met>) = others.into_iter().partition(|part| part.beside.is_some());
    let mut met = RowSet::full(snapshot.rows());
    conditions.iter().for_each(|condition| met.keep(&condition.rows));
    if texts.len() + mixed.len() > 1 {
        texts.iter().chain(&mixed).for_each(|part| met.keep(&part.beside(snapshot)));
    }
    let shown = if texts.is_empty() { &mixed } else { &texts };
    let mut rows = if shown.is_empty() { RowSet::full(snapshot.rows()) } else { RowSet::new(snapshot.rows()) };
    shown.iter().for_each(|part| rows.add(&part.rows));
    rows.keep(&met);
    if let [only] = &mixed[..] {
        met.keep(&only.beside(snapshot));
    }
    let is_text = !texts.is_empty();
    Met { rows, is_text, beside: (!is_text && !mixed.is_empty()).then_some(met) }
}

/// All rows of the notes that have one of these.
fn of_notes(rows: &RowSet, snapshot: &Snapshot) -> RowSet {
    let have = snapshot.notes().filter(|note| note.rows.iter().any(|row| rows.contains(row)));
    RowSet::of(snapshot.rows(), have.flat_map(|note| note.rows.iter()))
}
