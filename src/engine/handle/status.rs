//! How the engine is, and what it is doing.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{CallError, Handle, contexts, vectors};
use crate::VaultShared;
use crate::host;
use index::NoteEntry;
use note::{Format, VaultPath};
use protocol::audience::Audience;
use protocol::jobs::SkippedFile;
use protocol::status::{ConfigStatus, EmbedStatus, Status, VaultStatus};

/// How many notes there are of each format.
fn formats<'a>(notes: impl Iterator<Item = &'a Arc<NoteEntry>>) -> BTreeMap<String, u64> {
    let mut formats: BTreeMap<&str, u64> = BTreeMap::new();
    for note in notes {
        // Plain text counts as what it is read as.
        let format = Some(note.path.format()).filter(|format| *format != Format::Text).unwrap_or(Format::Markdown);
        *formats.entry(format.name()).or_default() += 1;
    }
    formats.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// What an assistant is told of a vault: nothing that private notes count in or that a save of one changes.
fn without_private(status: &VaultStatus, vault: &VaultShared) -> VaultStatus {
    let open = vault.open();
    let notes =
        open.iter().flat_map(|(snapshot, pipeline)| snapshot.notes().map(move |note| (note, &pipeline.private)));
    let shown = notes.filter(|(note, private)| !private.covers(&note.path, note.tags())).map(|(note, _)| note);
    let shown: Vec<&Arc<NoteEntry>> = shown.collect();
    let covers = |path: &str| {
        let private = open.as_ref().map(|(_, pipeline)| &pipeline.private);
        private.zip(VaultPath::parse(path)).is_none_or(|(private, path)| private.covers_path(&path))
    };
    let skipped: Vec<SkippedFile> = status.skipped.iter().filter(|file| !covers(&file.path)).cloned().collect();
    VaultStatus {
        name: status.name.clone(),
        path: status.path.clone(),
        notes: shown.len() as u64,
        chunks: shown.iter().map(|note| note.rows.len() as u64).sum(),
        last_change: shown.iter().map(|note| note.stat.mtime_ns.div_euclid(1_000_000_000)).max(),
        pending: status.pending,
        skipped_total: skipped.len() as u64,
        skipped,
        formats: formats(shown.into_iter()),
        watch: status.watch.clone(),
        watch_problem: status.watch_problem.clone(),
        ..VaultStatus::default()
    }
}

/// See [`Handle::status`].
pub(super) fn status(engine: &Handle, vault: Option<&str>, audience: Audience) -> Result<Status, CallError> {
    let chosen =
        if vault.is_none() && engine.0.vaults.load().is_empty() { Vec::new() } else { engine.choose(vault)? };
    // Read before the state: an indexer reports that work has begun before it reports that nothing waits for it any
    // more.
    let (embedding, contexts) = (vectors::embed_status(&chosen), contexts::context_status(engine, &chosen));
    let (state, problems) = engine.0.state();
    let vaults = chosen.iter().map(|vault| {
        let mut status = vault.status.lock().clone();
        if let Some(pipeline) = vault.pipeline() {
            status.index_bytes = pipeline.store.bytes_on_disk();
        }
        status.formats = vault.published.load().as_ref().map(|served| formats(served.0.notes())).unwrap_or_default();
        if audience.is_assistant() { without_private(&status, vault) } else { status }
    });
    let vaults = vaults.collect();
    let pipeline = chosen.iter().find_map(|vault| vault.pipeline());
    let names = pipeline.map(|pipeline| (pipeline.contextualizer(None), pipeline.generation.embedder.clone()));
    let (contextualizer, embedder) = names.unwrap_or_default();
    let source = &engine.0.config.load().source;
    let config =
        ConfigStatus { file: source.file(), changed: source.has_changed(), awaits_start: source.awaits_start.clone() };
    Ok(Status {
        state,
        vaults,
        problems,
        leaves_machine: contexts::leaves_machine(engine),
        contextualizer,
        embedder,
        // Its numbers are of all notes.
        embedding: if audience.is_assistant() { EmbedStatus::default() } else { embedding },
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
