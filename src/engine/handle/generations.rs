//! Generations of contexts side by side, as the handle tells of them and asks for them.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::access::ready;
use super::{CallError, Handle, estimates, offers};
use crate::VaultShared;
use crate::indexer::rebuild::Covered;
use crate::jobs::{Ended, together};
use crate::runtime::shown;
use crate::supervisor::Event;
use crate::supervisor::generations::{GenerationRequest, answers_already, is_of, not_built};
use protocol::generations::{DEFAULT_GENERATION, GenerationInfo};
use protocol::jobs::{Job, JobKind, Scope};

/// Opening or closing an index takes a second; more means that the engine is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// See [`Handle::generations`].
pub(super) fn generations(engine: &Handle, vault: Option<&str>) -> Result<Vec<GenerationInfo>, CallError> {
    let config = engine.0.config.load_full();
    let mut found = Vec::new();
    for vault in engine.choose(vault)? {
        for name in std::iter::once("").chain(config.generations.keys().map(String::as_str)) {
            let Some(context) = config.context_of(name) else { continue };
            let active = vault.generation == name;
            let open = if active { Some(vault.clone()) } else { inactive(engine, &vault.name, name) };
            let status = open.as_ref().map(|open| open.status.lock().clone());
            let counts = open.as_ref().map(|open| *open.counts.lock()).unwrap_or_default();
            found.push(GenerationInfo {
                vault: vault.name.clone(),
                name: shown(name).to_owned(),
                provider: context.provider.name().to_owned(),
                model: if context.costs() { context.model().to_owned() } else { String::new() },
                active,
                built: open.is_some(),
                notes: status.as_ref().map_or(0, |status| status.notes),
                chunks: status.as_ref().map_or(0, |status| status.chunks),
                waiting: counts.due,
                failed: counts.failed,
            });
        }
    }
    Ok(found)
}

/// See [`Handle::build_generation`].
pub(super) fn build_generation(
    engine: &Handle,
    vault: Option<&str>,
    name: &str,
    dry_run: bool,
) -> Result<Job, CallError> {
    let name = known(engine, name)?;
    let vaults = engine.choose(vault)?;
    let scope = Scope { vault: vault.map(str::to_owned), path: None };
    if dry_run {
        return would_take(engine, &name, scope, &vaults);
    }
    if vaults.iter().any(|vault| vault.generation == name) {
        return Err(answers_already(&name));
    }
    let job = engine.begin(JobKind::Generation, scope, &vaults);
    for vault in &vaults {
        if let Err(error) = request(engine, vault, &name, GenerationRequest::Build(job)) {
            // Vaults where the build has begun go on; it does not begin in the later ones.
            for vault in &vaults {
                engine.0.tell_job(engine.0.jobs.end_part(job, vault.id, Ended::Failed, Some(error.to_string())));
            }
            return Err(error);
        }
    }
    engine.0.jobs.get(job)
}

/// What building a generation would take.
fn would_take(engine: &Handle, name: &str, scope: Scope, vaults: &[Arc<VaultShared>]) -> Result<Job, CallError> {
    offers::wait_reckoned(vaults)?;
    let (mut contexts, mut vectors) = (Vec::new(), Vec::new());
    for vault in vaults {
        let (_, pipeline) = ready(vault)?;
        let (of, wanted) = (std::slice::from_ref(&pipeline), estimates::Wanted::Unbought);
        let estimate = estimates::estimate(engine, name, of, &Covered::default(), wanted, false)?;
        let chunks = estimate.as_ref().map_or(0, |estimate| estimate.chunks);
        let is_new = inactive(engine, &vault.name, name).is_none();
        vectors.extend(estimates::vectors(engine, name, (vault, &pipeline), is_new, chunks)?);
        contexts.extend(estimate);
    }
    let estimate = contexts.into_iter().reduce(together);
    let job = estimates::dry_run(engine, JobKind::Generation, scope, None, (estimate, vaults.len()));
    Ok(Job { vectors, ..job })
}

/// See [`Handle::use_generation`].
pub(super) fn use_generation(engine: &Handle, vault: Option<&str>, name: &str) -> Result<(), CallError> {
    let name = known(engine, name)?;
    engine.choose(vault)?.iter().try_for_each(|vault| request(engine, vault, &name, GenerationRequest::Use))
}

/// See [`Handle::drop_generation`].
pub(super) fn drop_generation(engine: &Handle, vault: Option<&str>, name: &str) -> Result<(), CallError> {
    let name = known(engine, name)?;
    engine.choose(vault)?.iter().try_for_each(|vault| request(engine, vault, &name, GenerationRequest::Drop))
}

/// For each vault, the generation that a search names.
pub(super) fn of_generation(
    engine: &Handle,
    vaults: Vec<Arc<VaultShared>>,
    name: &str,
) -> Result<Vec<Arc<VaultShared>>, CallError> {
    let name = known(engine, name)?;
    let find = |vault: Arc<VaultShared>| {
        if vault.generation == name {
            return Ok(vault);
        }
        inactive(engine, &vault.name, &name).ok_or_else(|| not_built(&name, &vault.name))
    };
    vaults.into_iter().map(find).collect()
}

fn inactive(engine: &Handle, vault: &str, generation: &str) -> Option<Arc<VaultShared>> {
    engine.0.indexers.inactive.load().iter().find(|other| is_of(other, vault, generation)).cloned()
}

/// The internal name of a generation that the configuration has.
fn known(engine: &Handle, name: &str) -> Result<String, CallError> {
    let config = engine.0.config.load();
    let name = if name == DEFAULT_GENERATION { "" } else { name };
    if config.context_of(name).is_some() {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> =
        std::iter::once(DEFAULT_GENERATION).chain(config.generations.keys().map(String::as_str)).collect();
    Err(CallError::NotFound {
        what: "generation",
        name: name.to_owned(),
        hint: format!("there are: {}; others are written as `[generation.NAME]`", names.join(", ")),
    })
}

fn request(engine: &Handle, vault: &VaultShared, name: &str, request: GenerationRequest) -> Result<(), CallError> {
    ready(vault)?;
    let (reply, answer) = mpsc::channel();
    engine.send(Event::Generation { vault: vault.id, name: name.to_owned(), request, reply })?;
    answer.recv_timeout(PATIENCE).unwrap_or(Err(CallError::Timeout(PATIENCE.as_millis() as u64)))
}
