//! What models are to write, what that takes, and the user's yes to it.

use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::Mutex;

use super::access::ready;
use super::estimates::{Wanted, estimate};
use super::{CallError, Handle, VaultShared};
use crate::counters::Counts;
use crate::decide::NotePipeline;
use crate::indexer::Event;
use protocol::contexts::{Estimate, Offer, Offers, StartContextsRequest};

/// How long an indexer may take to write down what the user said; it may be at something else first.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was reckoned last, each with the state of the index that it is of: reckoning reads the store.
#[derive(Debug, Default)]
pub(crate) struct Reckoned {
    /// What making old contexts anew would take; by how many are old, and the sequence numbers of all vaults.
    pub(super) renewal: Mutex<Option<((u64, u64), Estimate)>>,
    /// Offers that wait for a yes, by vault; by what the records want, and the sequence number.
    offers: Mutex<HashMap<u64, ((Counts, u64), Offer)>>,
}

/// See [`Handle::start_contexts`].
pub(super) fn start(engine: &Handle, request: &StartContextsRequest) -> Result<Offers, CallError> {
    let offers = offers(engine, request.vault.as_deref())?;
    if offers.vaults.is_empty() {
        return Err(CallError::Invalid(
            "no model writes contexts: they are the free template's; `provider` in [context] names a model".to_owned(),
        ));
    }
    if request.dry_run {
        return Ok(offers);
    }
    if request.audience.is_assistant() {
        let message = "only the user can agree to what a model costs: `situated contexts start` in a terminal";
        return Err(CallError::Forbidden(message.to_owned()));
    }
    say(engine, offers, true, request.replace)
}

/// See [`Handle::stop_contexts`].
pub(super) fn stop(engine: &Handle, vault: Option<&str>) -> Result<Offers, CallError> {
    let mut offers = say(engine, offers(engine, vault)?, false, false)?;
    // What is free and stays here, and what the configuration agrees to, goes on.
    offers.vaults.retain(|offer| !offer.agreed);
    if offers.vaults.is_empty() {
        let message = "nothing was waiting for a yes that could be taken back: the contexts are free, or                        `consent = \"given\"` in [context] agrees; `automatic = false` there stops them";
        return Err(CallError::Invalid(message.to_owned()));
    }
    Ok(offers)
}

/// Tells the indexers what the user said, and waits until it is written down.
fn say(engine: &Handle, mut offers: Offers, agreed: bool, replace: bool) -> Result<Offers, CallError> {
    for offer in &mut offers.vaults {
        for vault in engine.choose(Some(&offer.vault))? {
            let (reply, said) = mpsc::channel();
            if !engine.0.indexers.send(vault.id, Event::Consent { agreed, replace, reply }) {
                return Err(CallError::NotReady);
            }
            offer.agreed = said.recv_timeout(PATIENCE).map_err(|_| CallError::NotReady)??;
        }
    }
    Ok(offers)
}

/// What models are to write, by vault.
fn offers(engine: &Handle, vault: Option<&str>) -> Result<Offers, CallError> {
    let mut offers = Offers::default();
    for vault in engine.choose(vault)? {
        let (_, pipeline) = ready(&vault)?;
        offers.vaults.extend(offer(engine, &vault, &pipeline)?);
    }
    Ok(offers)
}

/// Those that wait for the user's yes.
pub(super) fn waiting(engine: &Handle) -> Vec<Offer> {
    let vaults = engine.0.vaults.load();
    let unagreed = vaults.iter().filter(|vault| vault.report().unagreed);
    unagreed.filter_map(|vault| reckoned(engine, vault)).collect()
}

/// What a model is to write for a vault that is served, as of the present state of its index.
fn reckoned(engine: &Handle, vault: &VaultShared) -> Option<Offer> {
    let pipeline = vault.pipeline()?;
    let state = (*vault.counts(), vault.status().seq);
    let mut known = engine.0.reckoned.offers.lock();
    if let Some((_, offer)) = known.get(&vault.id).filter(|(of, _)| *of == state) {
        return Some(offer.clone());
    }
    let offer = offer(engine, vault, &pipeline).ok().flatten()?;
    known.insert(vault.id, (state, offer.clone()));
    Some(offer)
}

/// What a model is to write for a vault; `None` if none is configured.
fn offer(engine: &Handle, vault: &VaultShared, pipeline: &Arc<NotePipeline>) -> Result<Option<Offer>, CallError> {
    let runtime = engine.0.runtime(&vault.generation);
    let Some(writer) = &runtime.writer else { return Ok(None) };
    let of = |wanted| {
        let pipelines = std::slice::from_ref(pipeline);
        let estimate = estimate(engine, &vault.generation, pipelines, None, wanted, false)?;
        Ok::<_, CallError>(estimate.unwrap_or_default())
    };
    let budget = engine.0.config.load().budget.clone();
    let (at_first, replacing) = (of(Wanted::AtFirst)?, of(Wanted::OldPaid)?);
    Ok(Some(Offer {
        vault: vault.name.clone(),
        provider: writer.author.model.provider.name().to_owned(),
        model: writer.author.model.id.clone(),
        leaves_to: writer.author.client.leaves_to(),
        agreed: !vault.report().unagreed,
        days: budget.days(at_first.micro_dollars, at_first.tokens_in + at_first.tokens_out),
        estimate: at_first,
        kept: replacing.chunks,
        replacing: Some(replacing).filter(|replacing| replacing.chunks > 0),
    }))
}
