//! What models are to write, what that takes, and the user's yes to it.

use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::access::ready;
use super::estimates::{Wanted, estimate};
use super::{CallError, Handle, VaultShared};
use crate::EngineError;
use crate::counters::Counts;
use crate::decide::NotePipeline;
use crate::embedding;
use crate::indexer::rebuild::Covered;
use crate::indexer::{Event, vault_dir};
use crate::jobs::together;
use crate::patience::LOOK;
use protocol::contexts::{Estimate, Offer, OfferedWork, Offers, StartContextsRequest};

/// How long an indexer may take to write down what the user said; it may be busy with something else first.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a request waits until it is known what the models are to do; that is less than it may take.
const RECKONED_WITHIN: Duration = Duration::from_secs(5);

/// The last estimates, each with the state of the index that it was made for: an estimate reads the store.
#[derive(Debug, Default)]
pub(crate) struct Reckoned {
    /// What making old contexts anew would take; the state is how many are old, and the vaults' numbers with their
    /// sequence numbers.
    pub(super) renewal: Mutex<Option<(Renewable, Estimate)>>,
    /// Offers that wait for a yes, by vault; the state is the counts of its records, and the sequence number.
    offers: Mutex<HashMap<u64, ((Counts, u64), Offer)>>,
}

/// See [`Reckoned::renewal`].
type Renewable = (u64, Vec<(u64, u64)>);

/// See [`Handle::start_contexts`].
pub(super) fn start(engine: &Handle, request: &StartContextsRequest) -> Result<Offers, CallError> {
    let vault = request.vault.as_deref();
    wait_reckoned(&engine.choose(vault)?)?;
    let offers = offers(engine, vault, request.replace)?;
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
    say(engine, vault, offers, (true, request.replace))
}

/// See [`Handle::stop_contexts`].
pub(super) fn stop(engine: &Handle, vault: Option<&str>) -> Result<Offers, CallError> {
    let mut offers = say(engine, vault, offers(engine, vault, false)?, (false, false))?;
    // A generation beside the one that answers got its yes when it was built.
    let chosen = engine.choose(vault)?;
    let beside = engine.0.indexers.inactive.load();
    for other in beside.iter().filter(|other| chosen.iter().any(|vault| vault.name == other.name)) {
        tell(engine, other, (false, false))?;
        if let Some(pipeline) = other.pipeline() {
            offers.vaults.extend(offer(engine, other, &pipeline, false)?);
        }
    }
    // What is free and stays here, and what the configuration agrees to, goes on.
    offers.vaults.retain(|offer| !offer.agreed);
    if offers.vaults.is_empty() {
        let message = "there is no yes to take back: what models do here is free, or `consent = \"given\"` in the \
                       configuration agrees; `automatic = false` in [context] stops contexts";
        return Err(CallError::Invalid(message.to_owned()));
    }
    Ok(offers)
}

/// Tells the indexers and the reranker what the user said of their offers, and waits until it is written down.
fn say(
    engine: &Handle,
    vault: Option<&str>,
    mut offers: Offers,
    (agreed, replace): (bool, bool),
) -> Result<Offers, CallError> {
    let vaults = engine.choose(vault)?;
    let concerned = vaults.iter().filter(|vault| offers.vaults.iter().any(|offer| offer.vault == vault.name));
    for vault in concerned {
        tell(engine, vault, (agreed, replace))?;
    }
    // Generations beside the one that answers have the same embedder.
    engine.0.indexers.send_all(|| Event::Wake);
    for offer in &mut offers.vaults {
        let of = vaults.iter().find(|vault| vault.name == offer.vault);
        offer.agreed = match offer.what {
            OfferedWork::Contexts => of.is_none_or(|vault| !vault.report().unagreed),
            // The change of embedders begins anew, with a new estimate; until then the report says nothing of it.
            OfferedWork::Vectors => agreed,
            OfferedWork::Reranking => say_of_reranker(engine, agreed)?,
        };
    }
    Ok(offers)
}

/// Tells an indexer what the user said, and waits until it is written down.
fn tell(engine: &Handle, vault: &VaultShared, (agreed, replace): (bool, bool)) -> Result<(), CallError> {
    let (reply, said) = mpsc::channel();
    if !engine.0.indexers.send(vault.id, Event::Consent { agreed, replace, reply }) {
        return Err(CallError::NotReady);
    }
    said.recv_timeout(PATIENCE).map_err(|_| CallError::NotReady)?
}

/// The user agrees that every search is judged, or takes that back.
fn say_of_reranker(engine: &Handle, agreed: bool) -> Result<bool, CallError> {
    let Some(reranker) = engine.0.reranker.load_full() else { return Ok(false) };
    let dir = engine.0.config.load().data_dir.clone();
    let written = reranker.set_agreed(&dir, agreed);
    written.map_err(|error| CallError::Storage(EngineError::io(&dir, &error).to_string()))?;
    Ok(reranker.is_agreed())
}

/// Waits until it is known what the models are to do: an estimate of the notes that happen to be read is far too low.
///
/// # Errors
/// That takes longer, for the reason that is given.
pub(super) fn wait_reckoned(vaults: &[Arc<VaultShared>]) -> Result<(), CallError> {
    let until = Instant::now() + RECKONED_WITHIN;
    for vault in vaults {
        while vault.is_unreckoned() {
            if Instant::now() >= until {
                let read = || format!("what models are to do in vault `{}` is being worked out", vault.name);
                let why = vault.incomplete().unwrap_or_else(read);
                return Err(CallError::NotYet(format!(
                    "{why}. What it takes is not known before that: ask again then"
                )));
            }
            std::thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// What models are to do, by vault; the reranker's offer is for all vaults. With `replace` they also rewrite contexts.
fn offers(engine: &Handle, vault: Option<&str>, replace: bool) -> Result<Offers, CallError> {
    let mut offers = Offers::default();
    for vault in engine.choose(vault)? {
        let (_, pipeline) = ready(&vault)?;
        offers.vaults.extend(offer(engine, &vault, &pipeline, replace)?);
        offers.vaults.extend(vault.report().vectors_offer.clone());
        // The embedder that serves, if it needed a yes: nothing waits for it, and the yes can be taken back.
        let dir = vault_dir(&engine.0.config.load().data_dir, &vault.path);
        let consent = embedding::consent(&pipeline.service.config(), &dir);
        offers.vaults.extend(consent.offer(&vault.name, OfferedWork::Vectors, Estimate::default()));
    }
    if vault.is_none() {
        offers.vaults.extend(engine.0.reranker.load().as_ref().and_then(|reranker| reranker.offer()));
    }
    Ok(offers)
}

/// The offers of `vaults` that wait for the user's yes, and that of the reranker.
pub(super) fn waiting(engine: &Handle, vaults: &[Arc<VaultShared>]) -> Vec<Offer> {
    let mut offers = Vec::new();
    for vault in vaults {
        let (unagreed, vectors) = {
            let report = vault.report();
            (report.unagreed, report.vectors_offer.clone())
        };
        offers.extend(unagreed.then(|| reckoned(engine, vault)).flatten());
        offers.extend(vectors.filter(|offer| !offer.agreed));
    }
    let reranker = engine.0.reranker.load().as_ref().and_then(|reranker| reranker.offer());
    offers.extend(reranker.filter(|offer| !offer.agreed));
    offers
}

/// What a model is to write for a vault that is served, as of the present state of its index.
fn reckoned(engine: &Handle, vault: &VaultShared) -> Option<Offer> {
    let pipeline = vault.pipeline()?;
    let state = (*vault.counts.lock(), vault.status.lock().seq);
    let mut known = engine.0.reckoned.offers.lock();
    if let Some((_, offer)) = known.get(&vault.id).filter(|(of, _)| *of == state) {
        return Some(offer.clone());
    }
    let offer = offer(engine, vault, &pipeline, false).ok().flatten()?;
    known.insert(vault.id, (state, offer.clone()));
    Some(offer)
}

/// What a model is to write for a vault; `None` if none is configured. With `replace` the days are those of rewriting
/// contexts, too.
fn offer(
    engine: &Handle,
    vault: &VaultShared,
    pipeline: &Arc<NotePipeline>,
    replace: bool,
) -> Result<Option<Offer>, CallError> {
    let runtime = engine.0.runtime(&vault.generation);
    let Some(writer) = &runtime.writer else { return Ok(None) };
    let of = |wanted| {
        let pipelines = std::slice::from_ref(pipeline);
        let estimate = estimate(engine, &vault.generation, pipelines, &Covered::default(), wanted, false)?;
        Ok::<_, CallError>(estimate.unwrap_or_default())
    };
    let budget = engine.0.config.load().budget.clone();
    let (at_first, replacing) = (of(Wanted::AtFirst)?, of(Wanted::OldPaid)?);
    let all = if replace { together(at_first.clone(), replacing.clone()) } else { at_first.clone() };
    Ok(Some(Offer {
        vault: vault.name.clone(),
        what: OfferedWork::Contexts,
        provider: writer.author.model.provider.name().to_owned(),
        model: writer.author.model.id.clone(),
        leaves_to: writer.author.client.leaves_to(),
        agreed: !vault.report().unagreed,
        days: budget.days(all.micro_dollars, all.tokens_in + all.tokens_out),
        estimate: at_first,
        kept: replacing.chunks,
        replacing: Some(replacing).filter(|replacing| replacing.chunks > 0),
    }))
}
