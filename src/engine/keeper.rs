//! One vault's mutable state, and how decisions are carried out in it: store, then index, then snapshot.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::contexts::Contexts;
use super::decide::{Decided, Desk, NO_HASH, Task, facts, note_entry};
use super::embedding::switch::Switch;
use super::embedding::{Awaited, serving};
use super::report::{DecidedStep, Decision, DecisionCount, SkippedFile};
use super::scan::KnownNotes;
use super::{EngineError, Shared, VaultShared, now_s};
use crate::config::{Config, VaultConfig};
use crate::context::TEMPLATE;
use crate::context::prompt::Prompter;
use crate::embed::Embedder;
use crate::fingerprint::{Fields, context_key};
use crate::index::{ChunkEntry, Index, Language, Verdict};
use crate::plan::{Action, Generation, Known, Reason, Trigger};
use crate::store::record::NoteRecord;
use crate::store::{NoteWrite, Opened, Store, StoreError};
use crate::vault::pending::Pending;
use crate::vault::policy::Policy;
use crate::vault::root::RootId;
use crate::vault::watch::Watcher;
use crate::vault::{FileStat, VaultPath};

/// After how long what could not be written or opened is tried again.
pub(super) const TRY_AGAIN: Duration = Duration::from_secs(10);

/// Up to this many notes are a save and not work in bulk.
pub(super) const AT_ONCE: usize = 16;

/// A bulk index is published at least this often, so that what is done can be found.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

/// A vault as the engine keeps it.
pub(super) struct Keeper {
    pub(super) config: VaultConfig,
    pub(super) desk: Arc<Desk>,
    pub(super) shared: Arc<VaultShared>,
    pub(super) policy: Arc<Policy>,
    pub(super) watcher: Option<Watcher>,
    pub(super) polled: Option<String>,
    pub(super) pending: Pending,
    pub(super) known: KnownNotes,
    pub(super) queue: VecDeque<(u64, Task)>,
    /// What workers hold: the newest ticket for each note, and whether it is decided about in any case.
    pub(super) in_flight: HashMap<VaultPath, (u64, bool)>,
    pub(super) batches: BTreeMap<u64, Batch>,
    pub(super) scanning: bool,
    /// Whether there was a look at the disk since the vault was opened.
    pub(super) looked: bool,
    pub(super) scan_again: Option<crate::vault::RescanReason>,
    pub(super) waiting_jobs: Vec<u64>,
    pub(super) next_walk: Instant,
    pub(super) doubt: Option<Doubt>,
    pub(super) accept_deletes: bool,
    pub(super) root_id: Option<RootId>,
    /// Notes found empty that were not: looked at again before that is believed.
    pub(super) emptied: HashMap<VaultPath, Instant>,
    /// What keeps decisions from being carried out: a full disk, as a rule.
    pub(super) trouble: Option<Trouble>,
    /// What a model is to write.
    pub(super) contexts: Contexts,
    /// Which generation of contexts; the plain one has no name.
    pub(super) generation: String,
    /// Whether it stands beside the one that answers.
    pub(super) beside: bool,
    /// Quiet of a note before its structural changes are sent.
    pub(super) settle: Duration,
    /// Vectors that a slow embedder is to make.
    pub(super) awaited: Awaited,
    /// Another embedder that is to take over.
    pub(super) switch: Option<Switch>,
    pub(super) index: Index,
    pub(super) numbers: HashMap<VaultPath, u32>,
    /// Notes with warnings.
    warned: HashSet<u32>,
    counts: BTreeMap<(Action, Reason), u64>,
    pub(super) dir: PathBuf,
    published: Instant,
    /// Since when the index is in bulk mode.
    bulk_since: Option<Instant>,
    /// Whether the segments of a bulk may still be merged behind the snapshot's back.
    merging: bool,
    /// Segments of the lexical index when the last snapshot was published.
    segments: usize,
    dirty: bool,
}

/// Work that began together and ends together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) jobs: Vec<u64>,
    pub(super) size: usize,
    pub(super) left: usize,
    pub(super) done: u64,
    pub(super) changed: u64,
    /// Too many to tell one by one.
    pub(super) quiet: bool,
}

/// Something could not be written. The database takes nothing more after that, so it is opened anew.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) why: String,
    pub(super) reopen_at: Instant,
}

/// A vault that seems gone or emptied: nothing is dropped until a second look agrees.
#[derive(Debug)]
pub(super) struct Doubt {
    pub(super) why: String,
    pub(super) look_at: Instant,
    /// Whether a second look can settle it, or only the user can.
    pub(super) second_look: bool,
}

impl Keeper {
    /// Opens store and index of a vault and publishes what they hold.
    pub(super) fn open(
        config: &Config,
        vault: &VaultConfig,
        shared: Arc<VaultShared>,
        engine: &Arc<Shared>,
    ) -> Result<(Self, Opened), EngineError> {
        let dir = generation_dir(&config.data_dir, &vault.path, &shared.generation);
        std::fs::create_dir_all(&dir).map_err(|e| EngineError::io(&dir, &e))?;
        let (service, asked_for) = serving(engine, config, &dir);
        let embedder = &service.embedder;
        let (store, opened) = Store::open(&dir, embedder.identity(), embedder.dimensions())?;
        let lexical = dir.join("lexical");
        if opened.quarantined.is_some() && lexical.exists() {
            // The new store counts from the start: its numbers would mean other notes to the old words.
            std::fs::remove_dir_all(&lexical).map_err(|e| EngineError::io(&lexical, &e))?;
        }
        let language = Language::of_code(&config.search.language);
        let index = Index::open_for(&lexical, embedder.dimensions(), language)?;
        let desk = Arc::new(Desk {
            root: vault.path.clone(),
            max_note_bytes: vault.max_note_bytes,
            rules: vault.rules.clone(),
            private: Arc::new(crate::note::Private::new(&vault.private)),
            chunk: config.chunk.clone(),
            generation: generation(config, embedder),
            vectors: store.vectors(),
            service,
            prompter: prompter(config)?,
            writer_leaves: crate::llm::leaves(&config.context),
            store: Arc::new(store),
        });
        let policy = Arc::new(Policy::new(&vault.path, vault)?);
        let mut keeper = Keeper {
            config: vault.clone(),
            desk,
            generation: shared.generation.clone(),
            shared,
            policy,
            watcher: None,
            polled: None,
            pending: Pending::new(super::timing(&config.watch)),
            known: HashMap::new(),
            queue: VecDeque::new(),
            in_flight: HashMap::new(),
            batches: BTreeMap::new(),
            scanning: false,
            looked: false,
            scan_again: None,
            waiting_jobs: Vec::new(),
            next_walk: Instant::now(),
            doubt: None,
            accept_deletes: false,
            root_id: read_root_id(&dir),
            emptied: HashMap::new(),
            trouble: None,
            contexts: Contexts::default(),
            beside: false,
            settle: config.context.settle,
            awaited: Awaited::default(),
            switch: (!asked_for).then(|| Switch::new(config.embed.clone())),
            index,
            numbers: HashMap::new(),
            warned: HashSet::new(),
            counts: BTreeMap::new(),
            dir,
            published: Instant::now(),
            bulk_since: None,
            merging: false,
            segments: 0,
            dirty: true,
        };
        keeper.load()?;
        keeper.shared.policy.store(Some(keeper.policy.clone()));
        Ok((keeper, opened))
    }

    /// Brings the store's notes into the index; those that the index has lost, or that other rules made, are
    /// queued to be decided again.
    fn load(&mut self) -> Result<(), EngineError> {
        let mut again = Vec::new();
        for record in self.desk.store.take_scanned()? {
            let inputs: Vec<_> = record.chunks.iter().flat_map(|c| c.inputs.iter().copied()).collect();
            let mut vectors = self.desk.vectors.get_all(&inputs).into_iter();
            let mut complete = true;
            let mut chunks = Vec::with_capacity(record.chunks.len());
            for (position, chunk) in record.chunks.iter().enumerate() {
                let found: Vec<_> = vectors.by_ref().take(chunk.inputs.len()).flatten().collect();
                complete &= found.len() == chunk.inputs.len();
                chunks.push((chunk_entry(&record, position), found));
            }
            let current = self.index.load(note_entry(&record), chunks) == Verdict::Current;
            if !(current && (complete || self.desk.withholds_vectors(&record)) && self.desk.is_current(&record)) {
                again.push(record.path.clone());
            }
            self.known.insert(record.path.clone(), Known { hash: record.hash, stat: record.stat });
            if !record.warnings.is_empty() {
                self.warned.insert(record.no);
            }
            // They were quiet long enough while nobody looked.
            self.wishes(&record, Duration::ZERO);
            self.numbers.insert(record.path, record.no);
        }
        self.desk.store.release_loaded();
        self.index.drop_unknown()?;
        self.publish()?;
        if !again.is_empty() {
            let tasks = again.into_iter().map(Task::again);
            self.enqueue(tasks.collect(), Vec::new(), true);
        }
        Ok(())
    }

    /// Queues tasks as one batch, a few before work in bulk; returns its number.
    pub(super) fn enqueue(&mut self, tasks: Vec<Task>, jobs: Vec<u64>, quiet: bool) -> u64 {
        let number = self.batches.keys().next_back().map_or(0, |last| last + 1).max(self.shared.next_batch());
        let batch = Batch { jobs, size: tasks.len(), left: tasks.len(), quiet, ..Batch::default() };
        self.batches.insert(number, batch);
        if tasks.len() <= AT_ONCE {
            tasks.into_iter().rev().for_each(|task| self.queue.push_front((number, task)));
        } else {
            self.queue.extend(tasks.into_iter().map(|task| (number, task)));
        }
        number
    }

    /// Carries decisions out: one store transaction, then the index. Nothing is visible before `publish`.
    pub(super) fn apply(
        &mut self,
        decided: Vec<(Task, Decided)>,
        began: Instant,
    ) -> Result<Vec<Decision>, EngineError> {
        let mut writes = Vec::with_capacity(decided.len());
        let mut rest = Vec::with_capacity(decided.len());
        let mut vectors = Vec::new();
        for (task, decided) in decided {
            let Decided { plan, write, entry, docs, vectors: fresh, missing, before } = decided;
            vectors.extend(fresh);
            writes.push((task.path.clone(), write));
            rest.push((task, plan, entry, docs, missing, before));
        }
        // Vectors first: a record that names an input whose vector is missing would have to be decided again.
        self.desk.vectors.put(&vectors)?;
        let bulk = rest.len() > AT_ONCE;
        let moved: Vec<Option<VaultPath>> = writes.iter().map(|(_, w)| w.moved_from.clone()).collect();
        let records = self.desk.store.apply_many(writes)?;
        let mut decisions = Vec::with_capacity(records.len());
        for ((record, moved_from), (task, plan, mut entry, docs, missing, before)) in
            records.into_iter().zip(moved).zip(rest)
        {
            (entry.no, entry.seq) = (record.no, record.seq);
            self.order_vectors(&record, missing, bulk);
            self.switch.iter_mut().for_each(|switch| switch.changed(&task.path));
            if let Some(old) = moved_from {
                self.switch.iter_mut().for_each(|switch| switch.changed(&old));
                self.contexts.queue.remove(&old);
                self.known.remove(&old);
                self.numbers.remove(&old);
            }
            self.known.insert(task.path.clone(), Known { hash: record.hash, stat: record.stat });
            self.numbers.insert(task.path.clone(), record.no);
            self.warned.remove(&record.no);
            if !record.warnings.is_empty() {
                self.warned.insert(record.no);
            }
            self.wishes(&record, self.settle);
            decisions.push(self.tell(&task.path, &plan, &record, &before, began));
            self.index.put(entry, docs)?;
            self.dirty = true;
        }
        Ok(decisions)
    }

    /// Takes notes out of store and index.
    pub(super) fn remove(&mut self, paths: &[VaultPath], began: Instant) -> Result<Vec<Decision>, EngineError> {
        let mut writes = Vec::with_capacity(paths.len());
        let mut decisions = Vec::new();
        for path in paths {
            let Some(record) = self.desk.store.note(path)? else { continue };
            let contexts = self.desk.store.contexts(path)?;
            let facts = facts(&record, &contexts);
            let plan = crate::plan::plan(Some(&facts), None, &self.desk.generation, Trigger::Save, &|_| None);
            let paid = record.chunks.iter().zip(contexts).filter(|(_, c)| c.is_paid());
            let archive = paid.map(|(chunk, context)| (context_key(&chunk.keys, chunk.hash), context)).collect();
            writes.push((path.clone(), NoteWrite { put: None, moved_from: None, archive }));
            let before: Vec<_> =
                record.chunks.iter().map(|c| (c.heading_path.clone(), c.lines, c.id.to_string())).collect();
            decisions.push(self.tell(path, &plan, &record, &before, began));
        }
        self.desk.store.apply_many(writes)?;
        for path in paths {
            self.known.remove(path);
            self.switch.iter_mut().for_each(|switch| switch.changed(path));
            if let Some(no) = self.numbers.remove(path) {
                self.warned.remove(&no);
                self.contexts.tally.remove(no);
                self.contexts.queue.remove(path);
                self.index.remove(no)?;
                self.dirty = true;
            }
        }
        Ok(decisions)
    }

    /// The text is the same, `stat` is not: only that is written.
    pub(super) fn touch(&mut self, path: &VaultPath, stat: FileStat) -> Result<(), EngineError> {
        self.desk.store.touch(path, stat)?;
        if let Some(known) = self.known.get_mut(path) {
            known.stat = stat;
        }
        if let Some(no) = self.numbers.get(path) {
            self.index.touch(*no, stat);
            self.dirty = true;
        }
        Ok(())
    }

    /// Remembers that something could not be written, to tell of it and to open the store anew.
    pub(super) fn be_troubled(&mut self, error: &EngineError) {
        if self.trouble.is_none() {
            tracing::error!(%error, vault = self.config.name, "writing failed; it is tried again");
        }
        let reopen_at = self.trouble.take().map_or_else(|| Instant::now() + TRY_AGAIN, |trouble| trouble.reopen_at);
        let why = format!(
            "changes of vault `{}` cannot be written ({error}); what was indexed before is found, and the rest is \
             tried again every {} s: is the disk full?",
            self.config.name,
            TRY_AGAIN.as_secs()
        );
        self.trouble = Some(Trouble { why, reopen_at });
    }

    /// A note that is known and cannot be indexed now is looked at again when its `stat` changes.
    pub(super) fn skip(&mut self, path: &VaultPath, why: String) {
        if let Some(known) = self.known.get_mut(path) {
            known.hash = NO_HASH;
        }
        self.forget_skipped(path);
        let mut status = self.shared.status();
        status.skipped_total += 1;
        if status.skipped.len() < 100 {
            status.skipped.push(SkippedFile { path: path.to_string(), why });
        }
    }

    /// Somebody looks at a path that was skipped: if it still has to be, that is told again.
    pub(super) fn forget_skipped(&self, path: &VaultPath) {
        let mut status = self.shared.status();
        let before = status.skipped.len();
        status.skipped.retain(|file| file.path != path.as_str());
        status.skipped_total -= (before - status.skipped.len()) as u64;
    }

    /// Publishes if there is something new and, in a bulk, if the last time is long enough ago.
    pub(super) fn publish_if_due(&mut self, bulk: bool) -> Result<bool, EngineError> {
        // Every publishing ends segments of the lexical index early, so a long bulk does it ever less often.
        let pause = self.bulk_since.map_or(PUBLISH_EVERY, |since| PUBLISH_EVERY.max(since.elapsed() / 4));
        if !self.dirty || (bulk && self.published.elapsed() < pause) {
            return Ok(false);
        }
        self.publish()?;
        Ok(true)
    }

    pub(super) fn publish(&mut self) -> Result<(), EngineError> {
        let snapshot = self.index.publish(self.desk.store.seq())?;
        {
            let mut status = self.shared.status();
            status.notes = snapshot.note_count() as u64;
            status.chunks = snapshot.chunk_count() as u64;
            status.seq = snapshot.seq();
            status.warned = self.warned.len() as u64;
            status.conflicts = snapshot.notes().filter(|n| n.conflict).take(100).map(|n| n.path.to_string()).collect();
            if self.published != Instant::now() && status.last_change.is_some() || self.dirty {
                status.last_change = Some(now_s());
            }
            let counts = self.counts.iter();
            status.decisions = counts
                .map(|((action, reason), n)| DecisionCount { action: *action, reason: *reason, count: *n })
                .collect();
        }
        self.shared.publish(snapshot, self.desk.clone());
        self.put_lost_again();
        (self.dirty, self.published, self.segments) = (false, Instant::now(), self.index.segments());
        Ok(())
    }

    /// Notes whose words a failed write (a full disk) has cost are decided again.
    fn put_lost_again(&mut self) {
        let lost = self.index.take_lost();
        if lost.is_empty() {
            return;
        }
        let paths = self.numbers.iter().filter(|(_, no)| lost.contains(no)).map(|(path, _)| path.clone());
        let tasks: Vec<Task> = paths.map(Task::again).collect();
        tracing::warn!(notes = tasks.len(), "words were lost when writing the index; these notes are indexed again");
        self.enqueue(tasks, Vec::new(), true);
    }

    /// Chooses how the index writes: much at once, or a note at a time.
    pub(super) fn bulk(&mut self, bulk: bool) {
        if bulk == self.bulk_since.is_some() {
            return;
        }
        self.bulk_since = bulk.then(Instant::now);
        self.merging = !bulk;
        if let Err(error) = self.index.bulk(bulk) {
            tracing::warn!(%error, "the index goes on writing as it did");
        }
    }

    /// The segments that a bulk leaves are merged while the loop goes on: what is searched then answers faster.
    pub(super) fn follow_merges(&mut self) -> Result<(), EngineError> {
        if self.merging && !self.dirty && self.index.segments() < self.segments {
            self.publish()?;
            self.merging = false;
        }
        Ok(())
    }

    /// Puts everything on the disk for a clean stop.
    pub(super) fn close(&mut self) -> Result<(), EngineError> {
        self.desk.store.flush(true)?;
        self.index.sync()?;
        Ok(())
    }

    /// Waits until nobody uses the store any more, so that it can be opened again.
    pub(super) fn let_go(self) {
        /// Queries and workers are done long before.
        const PATIENCE: Duration = Duration::from_secs(5);
        self.shared.published.store(None);
        self.shared.graph.store(None);
        let store = self.desk.store.clone();
        drop(self);
        let until = Instant::now() + PATIENCE;
        while Arc::strong_count(&store) > 1 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Remembers which folder the vault is, to notice another one mounted in its place.
    pub(super) fn remember_root(&mut self, root: RootId) {
        if self.root_id != Some(root) {
            self.root_id = Some(root);
            let text = format!("{} {}\n", root.dev, root.ino);
            if let Err(error) = std::fs::write(self.dir.join("root"), text) {
                tracing::warn!(%error, "the vault's identity could not be remembered");
            }
        }
    }

    fn tell(
        &mut self,
        path: &VaultPath,
        plan: &crate::plan::Plan,
        record: &NoteRecord,
        before: &[(Vec<String>, (u32, u32), String)],
        began: Instant,
    ) -> Decision {
        for step in &plan.steps {
            *self.counts.entry((step.action, step.reason)).or_default() += 1;
        }
        decision(&self.config.name, path, plan, record, before, began)
    }

    /// The state that `status` shows.
    pub(super) fn refresh_status(&self) {
        *self.shared.counts() = self.contexts.tally.sum();
        *self.shared.embedding() = self.embed_status();
        let mut status = self.shared.status();
        status.pending = (self.pending.len() + self.queue.len() + self.in_flight.len()) as u64;
        status.watch = match (&self.polled, &self.watcher) {
            (Some(_), _) | (None, None) => "poll".to_owned(),
            (None, Some(watcher)) => watcher.mode().to_owned(),
        };
        status.watch_problem = self.watcher.as_ref().and_then(Watcher::problem);
        status.doubt = self.doubt.as_ref().map(|d| d.why.clone());
    }
}

/// A plan in the words of the protocol.
pub(super) fn decision(
    vault: &str,
    path: &VaultPath,
    plan: &crate::plan::Plan,
    record: &NoteRecord,
    before: &[(Vec<String>, (u32, u32), String)],
    began: Instant,
) -> Decision {
    let step = |step: &crate::plan::Step| {
        let (heading_path, lines, chunk) = if step.action == Action::Remove {
            before.get(step.chunk).cloned().unwrap_or_default()
        } else {
            let chunk = record.chunks.get(step.chunk);
            chunk.map(|c| (c.heading_path.clone(), c.lines, c.id.to_string())).unwrap_or_default()
        };
        DecidedStep { action: step.action, reason: step.reason, chunk, heading_path, lines, later: step.later }
    };
    Decision {
        vault: vault.to_owned(),
        path: path.to_string(),
        reason: plan.reason,
        kept: plan.count(Action::Keep),
        reembedded: plan.count(Action::Reembed),
        regenerated: plan.count(Action::Regenerate),
        removed: plan.count(Action::Remove),
        steps: plan.steps.iter().map(step).collect(),
        seq: record.seq,
        took_ms: began.elapsed().as_secs_f64() * 1e3,
        at: now_s(),
    }
}

fn chunk_entry(record: &NoteRecord, position: usize) -> ChunkEntry {
    let chunk = &record.chunks[position];
    ChunkEntry {
        id: chunk.id,
        note: record.no,
        position: position as u32,
        span: chunk.span,
        lines: chunk.lines,
        heading_path: chunk.heading_path.clone().into(),
    }
}

/// The generation that a configuration puts in force.
pub(super) fn generation(config: &Config, embedder: &Embedder) -> Generation {
    Generation {
        // With a model it depends on the kind of note: see `Desk::contextualizer`.
        contextualizer: if config.context.costs() { String::new() } else { TEMPLATE.to_owned() },
        costs: config.context.costs(),
        embedder: embedder.identity().to_owned(),
        chunker: format!("{}, {}", config.chunk.identity(), crate::note::READING),
        llm_min_chunks: config.context.llm_min_chunks,
    }
}

/// How notes are shown to the model of a configuration.
fn prompter(config: &Config) -> Result<Option<Arc<Prompter>>, EngineError> {
    let context = &config.context;
    if !context.costs() {
        return Ok(None);
    }
    let model = crate::llm::model(context).map_err(EngineError::Model)?;
    Ok(Some(Arc::new(Prompter::new(context, &model))))
}

/// Where a vault's index lives: named after the folder, told apart by its whole path.
pub fn vault_dir(data_dir: &Path, vault: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let name = vault.file_name().map_or("root".into(), |name| name.to_string_lossy());
    let slug: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(32).collect();
    let hash = Fields::new("vault-dir/1").bytes(vault.as_os_str().as_bytes()).finish();
    let short: String = hash[..4].iter().map(|b| format!("{b:02x}")).collect();
    data_dir.join("vaults").join(format!("{slug}-{short}"))
}

/// Where a generation that is not the plain one lives.
pub(super) fn generation_dir(data_dir: &Path, vault: &Path, generation: &str) -> PathBuf {
    let dir = vault_dir(data_dir, vault);
    if generation.is_empty() { dir } else { dir.join(GENERATIONS).join(generation) }
}

/// The folder of the generations beside the plain one.
pub(super) const GENERATIONS: &str = "generations";

fn read_root_id(dir: &Path) -> Option<RootId> {
    let text = std::fs::read_to_string(dir.join("root")).ok()?;
    let (dev, ino) = text.trim().split_once(' ')?;
    Some(RootId { dev: dev.parse().ok()?, ino: ino.parse().ok()? })
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        EngineError::Store(error)
    }
}
