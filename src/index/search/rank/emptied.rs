//! Why the conditions of a query leave nothing: which of them no note meets.

use super::conditions::{Condition, alternatives, conditions};
use super::{Part, allowed};
use crate::LexicalError;
use crate::search::Parsed;
use crate::search::filter::Filter;
use crate::search::query::Required;

/// The warning if no chunk of any vault is admitted: it names the conditions that no note meets, or says that none
/// meets all. Notes that are hidden from the asker do not count, nor do conditions that name one of the `teams` instead
/// of a vault. `None` if there is nothing to name.
///
/// # Errors
/// A word index cannot be read, or the search is cancelled.
pub(super) fn emptied(parts: &[Part<'_>], teams: &[String]) -> Result<Option<String>, LexicalError> {
    let names_team =
        |filter: &Filter| filter.vaults().next().is_some() && teams.iter().any(|team| filter.admits_team(team));
    let mut conditions = parts.first().map(|part| conditions(&part.query)).unwrap_or_default();
    conditions.retain(|condition| !names_team(&condition.alone.filter));
    let unmet = unmet(parts, &conditions)?;
    if unmet.is_empty()
        && let Some(of_note) = parts.first().and_then(|part| of_note(&part.query))
    {
        for Part { snapshot, query, options, .. } in parts {
            let asked = Parsed { phrases: Vec::new(), required: Some(of_note.clone()), ..query.clone() };
            if allowed(snapshot, &asked, options)?.is_none_or(|rows| !rows.is_empty()) {
                let typed = of_note.typed();
                return Ok(Some(format!("no passage has all that must occur, but a note has: ask for `{typed}`")));
            }
        }
    }
    let names: Vec<&str> = conditions.iter().map(|condition| condition.typed.as_str()).collect();
    Ok(match (&unmet[..], names.len()) {
        ([], 0 | 1) => None,
        ([], _) => Some(format!("notes meet each of these conditions, but none meets all: {}", names.join(", "))),
        (unmet, _) => Some(none_meets(unmet)),
    })
}

/// The warning about conditions between AND, OR and NOT that no note meets, though the query leaves some.
///
/// # Errors
/// As [`emptied`].
pub(super) fn idle(parts: &[Part<'_>]) -> Result<Option<String>, LexicalError> {
    let alternatives = parts.first().map(|part| alternatives(&part.query)).unwrap_or_default();
    let unmet = unmet(parts, &alternatives)?;
    Ok((!unmet.is_empty()).then(|| none_meets(&unmet)))
}

fn none_meets(unmet: &[&str]) -> String {
    format!("no note meets {}", unmet.join(" or "))
}

/// Those of the conditions, as typed, that no note meets.
fn unmet<'c>(parts: &[Part<'_>], conditions: &'c [Condition]) -> Result<Vec<&'c str>, LexicalError> {
    let mut unmet = Vec::new();
    for condition in conditions {
        let mut is_met = false;
        for Part { snapshot, query, options, .. } in parts {
            is_met = is_met || condition.is_met((snapshot, None), query, options)?;
        }
        if !is_met {
            unmet.push(condition.typed.as_str());
        }
    }
    Ok(unmet)
}

/// What asks a note, and not one passage of it, for each of several phrases.
fn of_note(query: &Parsed) -> Option<Required> {
    let one = |phrase: &String| {
        let typed = if crate::word_count(phrase) > 1 { format!("\"{phrase}\"") } else { phrase.clone() };
        let query = Parsed { phrases: vec![phrase.clone()], ..Parsed::default() };
        Required::One { typed, query: Box::new(query) }
    };
    let phrases = query.phrases.iter().map(one);
    (query.phrases.len() > 1).then(|| Required::All(phrases.chain(query.required.clone()).collect()))
}
