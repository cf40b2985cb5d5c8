//! Work that users ask for: looks at the disk, refreshes, rebuilds.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::access::{ready, state};
use super::resolve::{self, Named};
use super::{CallError, Handle, contexts, estimates, offers, permission};
use crate::decide::NotePipeline;
use crate::indexer::Event;
use crate::indexer::rebuild::Covered;
use crate::now_s;
use crate::settings::Settings;
use crate::shared::VaultShared;
use crate::supervisor;
use note::VaultPath;
use protocol::audience::Audience;
use protocol::decision::Decision;
use protocol::jobs::{Job, JobKind, RebuildRequest, Scope};
use vault::read::ReadError;

/// How long a client waits for the vaults of another configuration; the supervisor may have other work first.
const IN_FORCE: Duration = Duration::from_secs(2);

/// Puts a configuration in force, and waits until its vaults are served by it: otherwise an indexer that ends would
/// begin the job that is asked for next.
pub(super) fn put_in_force(engine: &Handle, config: Settings) -> Result<(), CallError> {
    let (done, in_force) = mpsc::channel();
    engine.send(supervisor::Event::Reload { config: Box::new(config), done })?;
    // If that takes longer, the configuration still comes into force.
    let _ = in_force.recv_timeout(IN_FORCE);
    Ok(())
}

/// Begins a look at the disk of these vaults; returns its job.
pub(super) fn look_at(engine: &Handle, scope: Scope, vaults: &[Arc<VaultShared>], accept_deletes: bool) -> u64 {
    let job = engine.begin(JobKind::Sync, scope, vaults);
    for vault in vaults {
        engine.send_part(vault, job, Event::Sync { job, accept_deletes });
    }
    job
}

/// See [`Handle::sync`].
pub(super) fn sync(engine: &Handle, scope: Scope, accept_deletes: bool, since: Option<u64>) -> Result<u64, CallError> {
    let mut vaults = engine.choose(scope.vault.as_deref())?;
    if let Some(typed) = &scope.path {
        vaults = knowing(engine, vaults, typed)?;
    }
    if let Some(seconds) = since {
        refresh(engine, &vaults, seconds)?;
    }
    Ok(look_at(engine, scope, &vaults, accept_deletes))
}

/// Those of the vaults that know what is named: a folder or note in the index, on the disk only if it is new, or of the
/// last decisions if it was deleted a moment ago.
fn knowing(engine: &Handle, vaults: Vec<Arc<VaultShared>>, typed: &str) -> Result<Vec<Arc<VaultShared>>, CallError> {
    let known = |vault: &VaultShared, path: &VaultPath| {
        let of_it = |decision: &Decision| {
            decision.vault == vault.name && VaultPath::parse(&decision.path).is_some_and(|note| note.is_under(path))
        };
        holds(vault, path, Audience::default()) || is_on_disk(vault, path) || !engine.0.feed.last(1, of_it).is_empty()
    };
    if let Some(path) = VaultPath::parse(typed.trim_end_matches('/')) {
        let knowing: Vec<_> = vaults.iter().filter(|vault| known(vault, &path)).cloned().collect();
        if !knowing.is_empty() {
            return Ok(knowing);
        }
    }
    let Named { vault, path, .. } = resolve::note(&vaults, typed, Audience::default())?;
    if known(&vault, &path) { Ok(vec![vault]) } else { Err(resolve::unknown(&vaults, typed, Audience::default())) }
}

/// Whether there is anything at a path of a vault. A vault that does not answer may have it.
fn is_on_disk(vault: &VaultShared, path: &VaultPath) -> bool {
    state(vault, path) != Ok(Err(ReadError::Gone))
}

/// See [`Handle::jobs`].
pub(super) fn jobs(engine: &Handle, audience: Audience) -> Vec<Job> {
    let mut jobs = engine.0.jobs.all();
    if audience.is_assistant() {
        let vaults = engine.0.vaults.load();
        // Of a note that no vault has nobody knows whether it is private.
        let is_shown = |path: &str| {
            let path = VaultPath::parse(path.trim_end_matches('/'));
            path.is_some_and(|path| vaults.iter().any(|vault| holds(vault, &path, audience)))
        };
        let mut counted: Vec<(Scope, u64)> = Vec::new();
        for job in &mut jobs {
            job.failed.retain(|file| is_shown(&file.path));
            // Of a job that its owner began private notes are part.
            let known = counted.iter().find(|(scope, _)| *scope == job.scope).map(|(_, shown)| *shown);
            let shown = known.unwrap_or_else(|| shown_of(&vaults, &job.scope));
            if known.is_none() {
                counted.push((job.scope.clone(), shown));
            }
            (job.done, job.total) = (job.done.min(shown), job.total.map(|total| total.min(shown)));
            (job.changed, job.seq, job.parts) = (0, 0, Vec::new());
            job.scope.path.take_if(|path| !is_shown(path));
        }
    }
    jobs
}

/// Whether a vault has a note at or below a path that `audience` may know of.
fn holds(vault: &VaultShared, path: &VaultPath, audience: Audience) -> bool {
    let Some((snapshot, pipeline)) = vault.open() else { return false };
    let covered = Covered { under: Some(path.clone()), audience, stale: false };
    snapshot.notes().any(|note| covered.has(&pipeline, &note.path, note.tags()))
}

/// How many notes of a scope there are for an assistant.
fn shown_of(vaults: &[Arc<VaultShared>], scope: &Scope) -> u64 {
    let under = scope.path.as_deref().and_then(|path| VaultPath::parse(path.trim_end_matches('/')));
    let covered = Covered { under, audience: Audience::Assistant, stale: false };
    let of_scope = |vault: &&Arc<VaultShared>| scope.vault.as_ref().is_none_or(|name| *name == vault.name);
    let open = vaults.iter().filter(of_scope).filter_map(|vault| vault.open());
    open.map(|(snapshot, pipeline)| covered.count(&snapshot, &pipeline)).sum()
}

/// Has contexts that should be better made anew, for notes that changed in so many seconds; for all notes with 0.
fn refresh(engine: &Handle, vaults: &[Arc<VaultShared>], seconds: u64) -> Result<(), CallError> {
    let ago = i64::try_from(seconds).unwrap_or(i64::MAX);
    let since = (seconds > 0).then(|| now_s().saturating_sub(ago));
    for vault in vaults {
        if !engine.0.indexers.send(vault.id, Event::Refresh { since }) {
            return Err(CallError::NotReady);
        }
    }
    Ok(())
}

/// Those of the vaults that a scope is of, and the folder or note in it: a folder by its path, a note as its owner names it.
fn vaults_of(
    vaults: Vec<Arc<VaultShared>>,
    scope: &Scope,
    audience: Audience,
) -> Result<(Vec<Arc<VaultShared>>, Option<VaultPath>), CallError> {
    let Some(typed) = &scope.path else { return Ok((vaults, None)) };
    if let Some(path) = VaultPath::parse(typed.trim_end_matches('/'))
        && vaults.iter().any(|vault| holds(vault, &path, audience))
    {
        return Ok((vaults, Some(path)));
    }
    let Named { vault, path, .. } = resolve::note(&vaults, typed, audience)?;
    Ok((vec![vault], Some(path)))
}

/// See [`Handle::rebuild`].
pub(super) fn rebuild(engine: &Handle, asked: RebuildRequest) -> Result<Job, CallError> {
    let RebuildRequest { vault, path, dry_run, batch, stale, audience, wait: _, progress: _ } = asked;
    let scope = Scope { vault, path };
    if let Some(running) = engine.0.jobs.all().into_iter().find(|j| j.kind == JobKind::Rebuild && j.is_running())
        && !dry_run
    {
        let message = format!("rebuild {} is running", running.job);
        return Err(CallError::Conflict { message, job: running.job });
    }
    let chosen = engine.choose(scope.vault.as_deref())?;
    let is_estimated = dry_run || audience.is_assistant();
    if is_estimated {
        offers::wait_reckoned(&chosen)?;
    }
    let (vaults, under) = vaults_of(chosen.clone(), &scope, audience)?;
    let covered = Covered { under, audience, stale };
    let mut total = 0;
    for vault in &vaults {
        let (snapshot, pipeline) = ready(vault)?;
        total += covered.count(&snapshot, &pipeline);
    }
    if total == 0
        && let Some(path) = &scope.path
    {
        // Of all vaults: a vault that has a hidden note of this name must not be told from others.
        return Err(resolve::unknown(&chosen, path, audience));
    }
    if is_estimated {
        let pipelines: Vec<Arc<NotePipeline>> = vaults.iter().filter_map(|vault| vault.pipeline()).collect();
        let estimate = estimates::estimate(
            engine,
            &contexts::answering(engine),
            &pipelines,
            &covered,
            if stale { estimates::Wanted::Stale } else { estimates::Wanted::All },
            batch,
        )?;
        if dry_run {
            let of = (estimate, vaults.len());
            return Ok(estimates::dry_run(engine, JobKind::Rebuild, scope, Some(total), of));
        }
        permission::may_rebuild(engine, audience, estimate.as_ref())?;
        for vault in &vaults {
            permission::may_ask(engine, audience, &vault.generation, std::slice::from_ref(vault))?;
        }
    }
    let scope = Scope { path: covered.under.as_ref().map(ToString::to_string), ..scope };
    let job = engine.begin(JobKind::Rebuild, scope, &vaults);
    // A user who confirms what a whole vault takes agrees to the model; an assistant cannot do that for the user.
    let agreed = covered.under.is_none() && !audience.is_assistant();
    for vault in &vaults {
        engine.send_part(vault, job, Event::Rebuild { job, covered: covered.clone(), batch, agreed });
    }
    engine.0.jobs.get(job)
}
