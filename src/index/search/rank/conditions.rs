//! The conditions of a query one by one, to tell which of them leaves notes out.

use super::allowed_of;
use crate::search::query::Required;
use crate::search::rows::RowSet;
use crate::search::{Options, Parsed};
use crate::{LexicalError, Snapshot};

/// One condition of a query; conditions of which one is enough are one.
pub(in crate::search) struct Condition {
    /// As it could be typed, in backticks.
    pub(in crate::search) typed: String,
    /// What is to be said of a note that does not meet it.
    pub(in crate::search) unmet: String,
    /// A query that has it alone.
    pub(super) alone: Parsed,
}

impl Condition {
    /// Whether a chunk among these (`None`: all) meets it, as far as the asker of `query` sees them.
    pub(in crate::search) fn is_met(
        &self,
        (snapshot, among): (&Snapshot, Option<&RowSet>),
        query: &Parsed,
        options: &Options,
    ) -> Result<bool, LexicalError> {
        let alone = Parsed { filter: self.alone.filter.clone().asked_as(&query.filter), ..self.alone.clone() };
        Ok(allowed_of(snapshot, among, &alone, options)?.is_none_or(|rows| !rows.is_empty()))
    }
}

/// Each condition of a query.
pub(in crate::search) fn conditions(query: &Parsed) -> Vec<Condition> {
    let mut all = Vec::new();
    let mut push = |typed: String, unmet: Option<String>, alone: Parsed| {
        let typed = format!("`{typed}`");
        let unmet = unmet.unwrap_or_else(|| format!("it does not meet {typed}"));
        all.push(Condition { typed, unmet, alone });
    };
    for (typed, filter) in query.filter.parts() {
        push(typed, None, Parsed { filter, ..Parsed::default() });
    }
    for phrase in &query.phrases {
        let unmet = format!("\"{phrase}\" stands nowhere in it, word for word");
        let alone = Parsed { phrases: vec![phrase.clone()], ..Parsed::default() };
        push(format!("\"{phrase}\""), Some(unmet), alone);
    }
    for without in &query.without {
        let unmet = format!("it has \"{without}\", which must not occur");
        let alone = Parsed { without: vec![without.clone()], ..Parsed::default() };
        push(format!("-\"{without}\""), Some(unmet), alone);
    }
    for (holds, pattern) in &query.patterns {
        let typed = pattern.typed();
        let (typed, unmet) = if *holds {
            (typed.clone(), format!("no line of it matches `{typed}`"))
        } else {
            (format!("-{typed}"), format!("a line of it matches `{typed}`, and none may"))
        };
        push(typed, Some(unmet), Parsed { patterns: vec![(*holds, pattern.clone())], ..Parsed::default() });
    }
    for part in query.required.iter().flat_map(Required::parts) {
        push(part.typed(), None, Parsed { required: Some(part.clone()), ..Parsed::default() });
    }
    all
}

/// Each condition on the note that stands between AND, OR and NOT, and under no NOT; but for the vault, whose names are
/// checked where vaults are known.
pub(super) fn alternatives(query: &Parsed) -> Vec<Condition> {
    let shown = query.shown().skip(1).filter(|one| one.filter.vaults().next().is_none());
    shown.flat_map(|one| conditions(&Parsed { filter: one.filter.clone(), ..Parsed::default() })).collect()
}
