//! The notes that were changed last, and what requests of assistants may see and spend.

use std::cmp::Reverse;
use std::sync::Arc;

use super::access::{hidden, in_range, ready};
use super::{Audience, CallError, Handle, RecentAnswer, RecentNote, RecentRequest};
use crate::indexer::generation_dir;
use crate::shared::VaultShared;
use context::cost::dollars;
use index::NoteEntry;
use protocol::contexts::Estimate;
use protocol::search::MAX_HITS;

/// Notes of an answer unless the request says otherwise.
const USUAL: usize = 20;

/// The sort key of notes: the newest first, then by vault and path.
type Place = (Reverse<i64>, String, String);

/// See [`Handle::recent`].
pub(super) fn recent(engine: &Handle, request: &RecentRequest) -> Result<RecentAnswer, CallError> {
    let limit = in_range("limit", request.limit.unwrap_or(USUAL), MAX_HITS)?;
    let after = request.after.as_deref().map(place_of).transpose()?;
    let (mut found, mut total): (Vec<(Place, Arc<NoteEntry>)>, u64) = (Vec::new(), 0);
    for vault in engine.served(request.vault.as_deref())?.0 {
        let (snapshot, pipeline) = ready(&vault)?;
        let hidden = hidden(&pipeline, request.audience);
        let shown = |note: &&Arc<NoteEntry>| !hidden.as_ref().is_some_and(|p| p.covers(&note.path, note.tags()));
        for note in snapshot.notes().filter(shown) {
            total += 1;
            let place = (Reverse(note.stat.mtime_ns), vault.name.clone(), note.path.as_str().to_owned());
            if after.as_ref().is_none_or(|after| place > *after) {
                found.push((place, note.clone()));
            }
        }
    }
    let more = found.len() > limit;
    if more {
        found.select_nth_unstable_by(limit, |a, b| a.0.cmp(&b.0));
        found.truncate(limit);
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let next = found.last().filter(|_| more).map(|(place, _)| cursor(place));
    let notes = found.into_iter().map(|((_, vault, path), note)| RecentNote {
        vault,
        path,
        title: note.title().to_owned(),
        tags: note.tags().to_vec(),
        note_type: note.kind().map(str::to_owned),
        mtime: note.stat.mtime_ns.div_euclid(1_000_000_000),
        bytes: note.stat.size,
    });
    Ok(RecentAnswer { notes: notes.collect(), total, next })
}

/// Whether there are private notes.
pub(super) fn has_private(engine: &Handle) -> bool {
    let vaults = engine.0.vaults.load();
    let mut open = vaults.iter().filter_map(|vault| vault.open());
    open.any(|(snapshot, pipeline)| snapshot.notes().any(|note| pipeline.private.covers(&note.path, note.tags())))
}

/// Whether somebody may use a model that costs money: the owner always, within the budget.
pub(super) fn may_spend(engine: &Handle, audience: Audience, costs: bool, what: &str) -> Result<(), CallError> {
    if audience.is_assistant() && costs && !engine.assistants_may_spend() {
        return Err(CallError::TooDear(format!("{what} costs money, and assistants may not spend any")));
    }
    Ok(())
}

/// Whether the model of a generation may be asked about these vaults. A user agrees to that by asking; an assistant
/// cannot agree for the user, so for it the model waits for the user's yes, as it does before it writes contexts.
pub(super) fn may_ask(
    engine: &Handle,
    audience: Audience,
    generation: &str,
    vaults: &[Arc<VaultShared>],
) -> Result<(), CallError> {
    let waits = if audience.is_assistant() { waits_for_yes(engine, generation, vaults) } else { None };
    waits.map_or(Ok(()), |waits| Err(CallError::Forbidden(waits)))
}

/// Why the model of a generation may not be asked about these vaults unless the user asks, if so.
pub(super) fn waits_for_yes(engine: &Handle, generation: &str, vaults: &[Arc<VaultShared>]) -> Option<String> {
    let terms = engine.0.runtime(generation).terms()?;
    let data = &engine.0.config.load().data_dir;
    let vault = vaults.iter().find(|vault| !terms.stand_in(&generation_dir(data, &vault.path, generation)))?;
    Some(format!(
        "the model waits for the user's yes in vault `{}`: `situated contexts start` in a terminal",
        vault.name
    ))
}

/// Whether an assistant may begin a rebuild with this estimate: only if assistants may spend, and within the budget of
/// a rebuild. That budget limits every rebuild while it runs, but nobody asks an assistant to confirm one, so it should
/// not begin what cannot end.
pub(super) fn may_rebuild(engine: &Handle, audience: Audience, estimate: Option<&Estimate>) -> Result<(), CallError> {
    let Some(estimate) = estimate else { return Ok(()) };
    may_spend(engine, audience, estimate.micro_dollars != Some(0), "writing these contexts anew")?;
    let budget = &engine.0.config.load().budget;
    let tokens = estimate.tokens_in + estimate.tokens_out;
    let over = match estimate.micro_dollars {
        Some(cost) if cost > budget.rebuild => {
            format!("it would cost about {}, and `budget.rebuild` is {}", dollars(cost), dollars(budget.rebuild))
        }
        None if tokens > budget.rebuild_tokens => {
            format!("it would take about {tokens} tokens, and `budget.rebuild_tokens` is {}", budget.rebuild_tokens)
        }
        _ => return Ok(()),
    };
    Err(CallError::TooDear(over))
}

fn cursor((Reverse(mtime), vault, path): &Place) -> String {
    // A vault's name holds no slash.
    format!("{mtime}/{vault}/{path}")
}

fn place_of(cursor: &str) -> Result<Place, CallError> {
    let read = || {
        let (mtime, rest) = cursor.split_once('/')?;
        let (vault, path) = rest.split_once('/')?;
        Some((Reverse(mtime.parse().ok()?), vault.to_owned(), path.to_owned()))
    };
    read().ok_or_else(|| CallError::Invalid("`after` is not the `next` of an answer".to_owned()))
}

#[cfg(test)]
mod tests;
