//! What may be shown to a model, and what may be spent on it: assistants may not decide that for the user.

use std::sync::Arc;

use super::{Audience, CallError, Handle};
use crate::indexer::generation_dir;
use crate::shared::VaultShared;
use context::cost::dollars;
use protocol::contexts::Estimate;

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
