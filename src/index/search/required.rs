//! What AND, OR and NOT of a query leave, of the chunks of an index here or of those that were found elsewhere.
//!
//! A condition admits notes, with all their chunks; a word or phrase admits the chunks that hold it. AND tests words on
//! the note and not on the chunk: if a note has two words, each in another chunk, both chunks are admitted.

use std::borrow::Cow;

use super::Parsed;
use super::query::Required;
use super::rows::RowSet;

/// The chunks that are asked, each with a row.
pub(super) struct Chunks<'a, E> {
    /// How many there are.
    pub(super) rows: usize,
    /// Those that meet a query.
    pub(super) meeting: &'a dyn Fn(&Parsed) -> Result<RowSet, E>,
    /// All of the notes that have one of these.
    pub(super) of_notes: &'a dyn Fn(&RowSet) -> RowSet,
}

/// Rows, and what they are.
struct Met {
    rows: RowSet,
    /// Whether they are those that hold a text.
    is_text: bool,
    /// Of texts OR conditions: the rows that meet it beside others, which are all rows of a note that holds such a text.
    beside: Option<RowSet>,
}

impl<E> Chunks<'_, E> {
    /// The rows that meet what is required; `query` is the query that requires it.
    ///
    /// # Errors
    /// Those of [`Chunks::meeting`].
    pub(super) fn having(&self, required: &Required, query: &Parsed) -> Result<RowSet, E> {
        Ok(self.met(required, query)?.rows)
    }

    fn met(&self, required: &Required, query: &Parsed) -> Result<Met, E> {
        let each = |parts: &[Required]| parts.iter().map(|part| self.met(part, query)).collect::<Result<Vec<_>, _>>();
        Ok(match required {
            Required::One { query: one, .. } => {
                let one = Parsed { filter: one.filter.clone().asked_as(&query.filter), ..(**one).clone() };
                Met { rows: (self.meeting)(&one)?, is_text: one.holds_text(), beside: None }
            }
            Required::Not(part) => {
                let mut rows = RowSet::full(self.rows);
                rows.drop_all(&self.met(part, query)?.rows);
                Met { rows, is_text: false, beside: None }
            }
            Required::Any(parts) => self.any(&each(parts)?),
            Required::All(parts) => self.all(&each(parts)?),
        })
    }

    fn any(&self, parts: &[Met]) -> Met {
        let is_text = parts.iter().all(|part| part.is_text);
        let is_mixed = !is_text && parts.iter().any(|part| part.is_text || part.beside.is_some());
        let beside = || self.union(parts.iter().map(|part| self.beside(part)));
        Met {
            rows: self.union(parts.iter().map(|part| Cow::Borrowed(&part.rows))),
            is_text,
            beside: is_mixed.then(beside),
        }
    }

    fn all(&self, parts: &[Met]) -> Met {
        let is_text = parts.iter().any(|part| part.is_text);
        let is_mixed = !is_text && parts.iter().any(|part| part.beside.is_some());
        let is_shown = |part: &&Met| if is_text { part.is_text } else { !is_mixed || part.beside.is_some() };
        let shown: Vec<&Met> = parts.iter().filter(is_shown).collect();
        let mut met = RowSet::full(self.rows);
        // What alone is shown is among the rows of its notes: these need not be looked for.
        let is_known = |part: &Met| part.is_text && shown.len() == 1;
        parts.iter().filter(|part| !is_known(part)).for_each(|part| met.keep(&self.beside(part)));
        let mut rows = self.union(shown.iter().map(|part| Cow::Borrowed(&part.rows)));
        rows.keep(&met);
        Met { rows, is_text, beside: is_mixed.then_some(met) }
    }

    /// The rows that meet a part beside others of an AND.
    fn beside<'m>(&self, part: &'m Met) -> Cow<'m, RowSet> {
        match &part.beside {
            Some(beside) => Cow::Borrowed(beside),
            None if part.is_text => Cow::Owned((self.of_notes)(&part.rows)),
            None => Cow::Borrowed(&part.rows),
        }
    }

    fn union<'m>(&self, sets: impl Iterator<Item = Cow<'m, RowSet>>) -> RowSet {
        let mut union = RowSet::new(self.rows);
        sets.for_each(|rows| union.add(&rows));
        union
    }
}
