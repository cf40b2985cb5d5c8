//! How the engine is, and what it is doing.

use std::collections::BTreeMap;

use super::{CallError, Handle, contexts, vectors};
use crate::host;
use index::Snapshot;
use protocol::status::{ConfigStatus, Status};

/// How many notes there are of each format.
fn formats(snapshot: &Snapshot) -> BTreeMap<String, u64> {
    let mut formats: BTreeMap<&str, u64> = BTreeMap::new();
    for note in snapshot.notes() {
        let format = note.path.format();
        *formats.entry(format.name()).or_default() += 1;
    }
    formats.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// See [`Handle::status`].
pub(super) fn status(engine: &Handle, vault: Option<&str>) -> Result<Status, CallError> {
    let chosen =
        if vault.is_none() && engine.0.vaults.load().is_empty() { Vec::new() } else { engine.choose(vault)? };
    // Read before the state: an indexer reports that work has begun before it reports that nothing waits for it any
    // more.
    let (embedding, contexts) = (vectors::embed_status(&chosen), contexts::context_status(engine));
    let (state, problems) = engine.0.state();
    let vaults = chosen.iter().map(|vault| {
        let mut status = vault.status().clone();
        if let Some(pipeline) = vault.pipeline() {
            status.index_bytes = pipeline.store.bytes_on_disk();
        }
        status.formats = vault.published.load().as_ref().map(|served| formats(&served.0)).unwrap_or_default();
        status
    });
    let vaults = vaults.collect();
    let pipeline = chosen.iter().find_map(|vault| vault.pipeline());
    let names = pipeline.map(|pipeline| (pipeline.contextualizer(None), pipeline.generation.embedder.clone()));
    let (contextualizer, embedder) = names.unwrap_or_default();
    let source = &engine.0.config.load().source;
    let config = ConfigStatus { changed: source.has_changed(), awaits_start: source.awaits_start.clone() };
    Ok(Status {
        state,
        vaults,
        problems,
        leaves_machine: contexts::leaves_machine(engine),
        contextualizer,
        embedder,
        embedding,
        contexts,
        sandbox: host::sandbox::state().cloned().unwrap_or_default(),
        held: engine.0.waits(),
        config,
        paused_until: engine.0.throttle.paused_until(),
        uptime_s: engine.0.control.started.elapsed().as_secs(),
        rss_bytes: host::resident_bytes(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        supervisor: host::service_manager().to_owned(),
        socket: engine.0.control.socket.clone(),
    })
}
