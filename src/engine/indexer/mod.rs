//! An indexer serves one generation of one vault on its own thread. It owns store, index and watcher. Every change
//! reaches it through its inbox; queries read what it publishes.
//!
//! Sub-machines hold its state. They take an event and the time, and return what to do: when to look at the disk
//! ([`freshness`]), how far to believe a look ([`deletion_guard`]), which notes to decide about ([`work_queue`]), what
//! to write ([`commit`]), what to have a model write ([`buyer`]), and how to change embedders ([`migration`]). The
//! turns of the loop ([`turn`]) carry that out; [`notes`] has the part that concerns notes alone.

mod batches;
mod buyer;
pub(super) mod commit;
mod context_queue;
mod contexts;
mod deletion_guard;
pub(super) mod disk;
mod dry_run;
mod failures;
mod folder;
mod freshness;
mod migration;
mod notes;
mod opening;
mod part;
mod reader;
pub(super) mod rebuild;
pub(super) mod scan;
mod turn;
mod upkeep;
mod vectors;
mod watch;
mod work_queue;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::batch::BatchEvent;
use super::context_job::ContextEvent;
use super::decide::{NotePipeline, Outcome, Task};
use super::embedding::{self, serving};
use super::error::CallError;
use super::pool::Pool;
use super::runtime::config_of;
use super::{DRAIN_FREE, EngineError, Shared, VaultShared};
use crate::settings::Settings;
use buyer::{Buyer, Work};
use commit::Committer;
use context::plan::Generation;
use context::prompt::Prompter;
use context::settings::{ExpansionChoice, Levels, Provider};
use context::{NONE, TEMPLATE};
use deletion_guard::DeletionGuard;
use disk::Disk;
use dry_run::DryRun;
pub(super) use folder::{GENERATIONS, generation_dir};
pub use folder::{Orphan, awaits_start, orphans, served_tables, take_over, vault_dir};
use folder::{read_root_id, write_root_id};
use freshness::Freshness;
use index::Language;
use index::embed::settings::EmbedConfig;
use migration::EmbedderMigration;
use note::{NoteRules, VaultPath};
use notes::NoteIndexer;
use opening::Opening;
use provider::{EmbedError, Embedder};
use reader::Reader;
use rebuild::Covered;
use scan::{Extent, Findings};
use store::StoreError;
use upkeep::Upkeep;
use vault::Hint;
use vault::root::VaultError;
use vault::settings::VaultConfig;
use vectors::PendingVectors;
use watch::VaultWatch;
use work_queue::WorkQueue;

/// Delay before a failed write or a failed opening is retried.
pub(super) const TRY_AGAIN: Duration = Duration::from_secs(10);

/// The same for a vault that did not fit into memory: finding that out again takes as long as opening it.
const TRY_MEMORY_AGAIN: Duration = Duration::from_mins(10);

/// Events that are taken in one turn.
const MOST_EVENTS: usize = 256;

/// Everything that can wake an indexer.
pub(super) enum Event {
    /// Something may have changed on disk.
    Hint(Hint),
    /// A look at the disk has ended.
    Scanned { extent: Extent, jobs: Vec<u64>, result: Result<Findings, VaultError> },
    /// A worker has decided about a note.
    Looked { path: VaultPath, ticket: u64, outcome: Outcome },
    /// A user asks for a look at everything; with `accept_deletes` a doubt is settled.
    Sync { job: u64, accept_deletes: bool },
    /// A user asks to have stale contexts written anew; with `since` only those of notes that changed since then.
    Refresh { since: Option<i64> },
    /// The user agrees that the models are asked automatically, or takes that back. With `replace` the model in force
    /// also rewrites contexts that another one wrote.
    Consent { agreed: bool, replace: bool, reply: Sender<Result<(), CallError>> },
    /// A user asks for a rebuild of notes; `agreed` says that the user thereby agrees to the model too.
    Rebuild { job: u64, covered: Covered, batch: bool, agreed: bool },
    /// A user asks for this generation to be built beside the one that answers.
    Build { job: u64, reply: Sender<Result<(), CallError>> },
    /// The writer says what came of a job.
    Context { path: VaultPath, event: ContextEvent },
    /// The writer says what came of a batch.
    Batch { ticket: u64, event: BatchEvent },
    /// Vectors that were ordered have arrived, or are given up.
    Embedded(embedding::worker::EmbedEvent),
    /// An embedder that is to take over was opened, or could not be.
    Opened { ticket: u64, result: Result<Arc<embedding::Service>, EmbedError> },
    /// A dry run has looked at notes for that embedder.
    DryRun { ticket: u64, notes: Vec<DryRun> },
    /// Shared state has changed: a pause, a cancelled job, the generation that answers.
    Wake,
    /// The user says that work is to go on.
    Resume,
    /// Another configuration is in force; this one was.
    Reloaded(Arc<Settings>),
    /// Close everything and end. Answers that a model still owes may arrive until `drain_until`.
    Stop { drain_until: Instant },
}

/// What an indexer is made from, as often as it is opened.
pub(super) struct Seed {
    pub(super) engine: Arc<Shared>,
    pub(super) shared: Arc<VaultShared>,
    pub(super) vault: VaultConfig,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) pool: Pool,
    pub(super) inbox: Sender<Event>,
}

/// Which vault, and the folder of its index.
pub(super) struct Place {
    vault: VaultConfig,
    dir: PathBuf,
    /// The folder of the plain generation.
    vault_dir: PathBuf,
}

/// Which vault and generation an indexer serves, and the inbox that reaches it.
pub(super) struct ActorContext {
    engine: Arc<Shared>,
    shared: Arc<VaultShared>,
    place: Place,
    inbox: Sender<Event>,
}

/// An indexer, as it is given to what buys contexts for it.
pub(super) struct At<'a> {
    actor: &'a ActorContext,
    pipeline: &'a Arc<NotePipeline>,
}

/// The threads that decide about notes in bulk, and their results that are not carried out yet.
struct Workers {
    reader: Reader,
    pool: Pool,
    landed: Vec<(VaultPath, u64, Outcome)>,
    /// Whether the last turn found work that can wait.
    had_work: bool,
}

/// One generation of one vault.
pub(super) struct Indexer {
    actor: Arc<ActorContext>,
    notes: NoteIndexer,
    buyer: Buyer,
    vectors: PendingVectors,
    migration: Option<EmbedderMigration>,
    upkeep: Upkeep,
    /// What happened when it was opened.
    opened: Vec<String>,
}

/// How an indexer ends.
enum Exit {
    /// It was told to stop.
    Stop,
    /// Its store is to be opened anew.
    Reopen,
}

/// Runs an indexer until [`Event::Stop`]. Retries if the vault cannot be opened.
pub(super) fn run(seed: &Seed, inbox: &Receiver<Event>) {
    loop {
        seed.shared.set_turn(Some(seed.engine.now_ms()));
        let (why, pause) = match Indexer::open(seed) {
            Ok(indexer) => match indexer.run(inbox) {
                Exit::Stop => return,
                Exit::Reopen => {
                    seed.fail_jobs("the store is opened anew");
                    continue;
                }
            },
            Err(error) => {
                let pause = if matches!(error, EngineError::NoRoom(_)) { TRY_MEMORY_AGAIN } else { TRY_AGAIN };
                (format!("vault `{}` cannot be served: {error}", seed.vault.name), pause)
            }
        };
        crate::host::give_memory_back();
        seed.shared.set_turn(None);
        if seed.shared.close(why.clone()) {
            tracing::error!("{why}; it is tried again");
        }
        seed.engine.control.tell_changed();
        seed.fail_jobs(&why);
        if seed.wait_closed(inbox, &why, pause) {
            return;
        }
    }
}

impl Seed {
    /// Waits until it is time to retry opening; returns whether to stop.
    fn wait_closed(&self, inbox: &Receiver<Event>, why: &str, pause: Duration) -> bool {
        let until = machine::now() + pause;
        loop {
            match inbox.recv_timeout(until.saturating_duration_since(machine::now())) {
                Ok(Event::Stop { .. }) | Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
                Ok(Event::Resume | Event::Reloaded(_)) => return false,
                Ok(Event::Consent { reply, .. } | Event::Build { reply, .. }) => {
                    // The caller may have gone.
                    let _ = reply.send(Err(CallError::Storage(why.to_owned())));
                    self.fail_jobs(why);
                }
                Ok(Event::Sync { .. } | Event::Rebuild { .. }) => self.fail_jobs(why),
                // Nothing that happens meanwhile is lost: opening ends with a look at everything.
                Ok(_) => {}
            }
        }
    }

    fn fail_jobs(&self, why: &str) {
        self.engine.fail_jobs(self.shared.id, why);
    }
}

impl Indexer {
    /// Opens store and index of a vault and publishes what they hold. A damaged store is moved aside and made anew.
    pub(super) fn open(seed: &Seed) -> Result<Self, EngineError> {
        let open = |opening| {
            let opened = Self::open_from(seed, opening);
            if opened.is_err() {
                // What was restored may have answered queries already.
                seed.shared.withdraw();
            }
            opened
        };
        let opened = match open(Opening::Unscanned) {
            Err(EngineError::Store(StoreError::Damaged(..))) => open(Opening::Scanned),
            // Words that could not be used once restored tables had answered. A second opening restores nothing, and
            // makes such words anew.
            Err(EngineError::Index(_)) => open(Opening::Unscanned),
            opened => opened,
        };
        opened.map_err(|error| match error {
            EngineError::Store(StoreError::NoRoom) => seed.engine.throttle.no_room(),
            error => error,
        })
    }

    fn open_from(seed: &Seed, opening: Opening) -> Result<Self, EngineError> {
        let Seed { engine, shared, vault, disk, pool, inbox } = seed;
        let plain = engine.config.load_full();
        let config = config_of(&plain, &shared.generation).unwrap_or_else(|| (*plain).clone());
        let dir = generation_dir(&config.data_dir, &vault.path, &shared.generation);
        std::fs::create_dir_all(&dir).map_err(|e| EngineError::io(&dir, &e))?;
        let plain_dir = vault_dir(&config.data_dir, &vault.path);
        let (service, asked_for) = serving(engine, &config, (&dir, &plain_dir));
        let embedder = &service.embedder;
        let room = |bytes| engine.throttle.find_room(bytes);
        let language = Language::of_code(&config.search.language);
        let moved = plain.source.moved.get(&vault.name).cloned();
        let (store, mut index, told) = opening.open((&vault.name, &dir), (embedder, language), &room)?;
        index.set_matrix(store.vectors());
        let rules = rules(vault, disk.as_ref(), None);
        let pipeline = Arc::new(NotePipeline {
            root: vault.path.clone(),
            disk: shared.disk.clone(),
            max_note_bytes: vault.max_note_bytes,
            generation: generation(&config, embedder, &rules),
            rules,
            private: Arc::new(note::Private::new(&vault.private)),
            chunk: config.chunk.clone(),
            vectors: store.vectors(),
            service,
            prompter: prompter(&config)?,
            levels: config.context.levels,
            expansion: config.context.expansion == ExpansionChoice::Questions,
            writer_leaves: provider::leaves(&config.context),
            store: Arc::new(store),
        });
        let policy = Arc::new(disk.policy(vault)?);
        shared.policy.store(Some(policy.clone()));
        let now = machine::now();
        let reader = Reader::start(disk.clone(), pool.clone()).map_err(|error| EngineError::io(&dir, &error))?;
        let actor = Arc::new(ActorContext {
            engine: engine.clone(),
            shared: shared.clone(),
            place: Place { vault: vault.clone(), dir, vault_dir: plain_dir },
            inbox: inbox.clone(),
        });
        let migration = (!asked_for).then(|| migration_to(&config.embed, &actor));
        let mut indexer = Indexer {
            notes: NoteIndexer {
                watch: VaultWatch::new(disk.clone(), policy),
                freshness: Freshness::new((&config.watch).into(), now),
                guard: DeletionGuard::new(&vault.name, read_root_id(&actor.place.dir)),
                work: WorkQueue::default(),
                workers: Workers { reader, pool: pool.clone(), landed: Vec::new(), had_work: false },
                commit: Committer::new(pipeline, index, shared.clone()),
                failure: None,
                was_read: shared.was_away(),
                changes: Vec::new(),
                decisions: Vec::new(),
                urgent: false,
                actor: actor.clone(),
            },
            actor,
            buyer: Buyer::new(engine.runtime(&shared.generation)),
            vectors: PendingVectors::default(),
            migration,
            upkeep: Upkeep::new(now),
            opened: told.into_iter().chain(moved).collect(),
        };
        let Indexer { notes, buyer, .. } = &mut indexer;
        buyer.read_consent(&At { actor: &notes.actor, pipeline: &notes.commit.pipeline });
        let again = notes.commit.load(&room, &mut |record| buyer.pending.loaded(record, now))?;
        if !again.is_empty() {
            notes.work.enqueue(again.into_iter().map(Task::again).collect(), true);
        }
        Ok(indexer)
    }

    fn run(mut self, inbox: &Receiver<Event>) -> Exit {
        self.start();
        let exit = loop {
            if let Some(drain_until) = self.take_events(inbox) {
                self.drain(inbox, drain_until);
                break Exit::Stop;
            }
            if !self.go_on() {
                break Exit::Reopen;
            }
        };
        if matches!(exit, Exit::Stop) {
            self.flush();
        }
        self.close();
        exit
    }

    /// Begins, and publishes what the store holds, so that searches are answered while the first look at the disk runs.
    pub(super) fn start(&mut self) {
        self.begin();
        self.end_of_tick();
    }

    /// One turn of the loop, after the events that it takes; `false` if the store is to be opened anew.
    pub(super) fn go_on(&mut self) -> bool {
        if self.notes.must_reopen() {
            return false;
        }
        self.turn();
        self.end_of_tick();
        true
    }

    /// Puts everything on the disk for a clean stop.
    pub(super) fn flush(&mut self) {
        // The journal may take what the database does not.
        self.buy(|buyer, at, _| buyer.write_unkept(at));
        if let Err(error) = self.notes.commit.flush() {
            tracing::error!(%error, vault = self.actor.place.vault.name, "closing");
        }
    }

    /// Waits for an event or a deadline, then takes the events that are there. Returns the deadline for draining if the
    /// indexer is to stop.
    fn take_events(&mut self, inbox: &Receiver<Event>) -> Option<Instant> {
        let wake = self.next_wake();
        self.actor.shared.set_turn(None);
        let first = match wake {
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(wake) => inbox.recv_timeout(wake.saturating_duration_since(machine::now())),
        };
        self.actor.shared.set_turn(Some(self.actor.engine.now_ms()));
        let mut next = match first {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Some(machine::now()),
        };
        let mut taken = 0;
        while let Some(event) = next {
            if let Event::Stop { drain_until } = event {
                return Some(drain_until);
            }
            self.take(event);
            taken += 1;
            next = if taken < MOST_EVENTS { inbox.try_recv().ok() } else { None };
        }
        None
    }

    /// Asks the models nothing more, and keeps the answers that arrive in time.
    fn drain(&mut self, inbox: &Receiver<Event>, until: Instant) {
        let landing = self.close_embedders(until);
        self.drain_contexts(inbox, until);
        for (landed, until) in landing {
            // Nothing is ever sent: the channel disconnects when the last call is over.
            let _ = landed.recv_timeout(until.saturating_duration_since(machine::now()));
        }
    }

    /// Has the embedders sent nothing more of the vault. Returns what disconnects when the calls under way are over, and
    /// until when to wait for that.
    fn close_embedders(&self, until: Instant) -> Vec<(Receiver<()>, Instant)> {
        let next = self.migration.as_ref().and_then(EmbedderMigration::service);
        let services = [&self.notes.commit.pipeline.service].into_iter().chain(next);
        let close = |service: &Arc<embedding::Service>| {
            let free = service.price == Some(0);
            let until = if free { until.min(machine::now() + DRAIN_FREE) } else { until };
            Some((service.worker.as_ref()?.close(self.actor.shared.id), until))
        };
        services.filter_map(close).collect()
    }

    fn drain_contexts(&mut self, inbox: &Receiver<Event>, until: Instant) {
        let writer = self.buyer.pending.runtime.writer.as_ref();
        let until = writer.map_or(until, |writer| until.min(machine::now() + writer.author.drain()));
        self.begin_drain(until);
        if !self.is_drained() {
            let seconds = until.saturating_duration_since(machine::now()).as_secs();
            let (vault, notes) = (&self.actor.place.vault.name, self.buyer.pending.asked());
            tracing::info!(vault, notes, "a model's answers are awaited before the end, for {seconds} s at most");
        }
        while !self.is_drained() {
            match inbox.recv_timeout(until.saturating_duration_since(machine::now())) {
                Ok(event @ (Event::Context { .. } | Event::Batch { .. })) => self.take(event),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    pub(super) fn begin_drain(&mut self, until: Instant) {
        let runtime = Arc::new(self.buyer.pending.runtime.without_writer());
        self.buyer.replace_runtime(runtime, until);
        self.end_of_tick();
    }

    /// Whether the model owes no more answers.
    pub(super) fn is_drained(&self) -> bool {
        self.buyer.pending.asked() == 0
    }

    /// Waits until nobody uses the store any more, so that it can be opened again.
    fn close(self) {
        /// Queries and workers are done long before.
        const PATIENCE: Duration = Duration::from_secs(5);
        self.actor.shared.withdraw();
        let store = self.notes.commit.pipeline.store.clone();
        drop(self);
        let until = machine::now() + PATIENCE;
        while Arc::strong_count(&store) > 1 && machine::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Does something with the buyer.
    fn buy(&mut self, act: impl FnOnce(&mut Buyer, &At<'_>, Work) -> Result<(), EngineError>) {
        let work = self.buyer_work();
        let Indexer { actor, notes, buyer, .. } = self;
        let result = act(buyer, &At { actor, pipeline: &notes.commit.pipeline }, work);
        let mut amended = buyer.pending.take_amended();
        amended.retain(|path| notes.work.is_looked_at(path));
        if !amended.is_empty() {
            amended.iter().for_each(|path| notes.work.doubt(path));
            notes.work.enqueue(amended.into_iter().map(Task::again).collect(), false);
        }
        self.notes.attempt(result);
    }

    fn buyer_work(&self) -> Work {
        let (freshness, work) = (&self.notes.freshness, &self.notes.work);
        let deciding = if self.actor.shared.is_inactive() {
            !freshness.has_looked() || !work.has_no_batch()
        } else {
            self.buyer.run_job().is_some_and(|job| work.works_for(job))
        };
        let landing = work.queued() > 0 || work.under_way() > 0;
        Work { deciding, landing, troubled: self.notes.is_troubled() }
    }
}

/// A change to the embedder of a configuration.
fn migration_to(config: &EmbedConfig, actor: &Arc<ActorContext>) -> EmbedderMigration {
    EmbedderMigration::new(actor, config.clone(), embedding::consent(config, &actor.place.vault_dir))
}

/// How the notes of a vault are read, by the settings on the disk. What is wrong with settings that differ from those
/// `before` is logged.
fn rules(vault: &VaultConfig, disk: &dyn Disk, before: Option<&NoteRules>) -> NoteRules {
    let read = |path: &VaultPath| disk.read(&vault.path, path, vault::obsidian::LONGEST).ok().map(|text| text.bytes);
    let (rules, problems) = vault::obsidian::rules(vault, read);
    for problem in problems.iter().filter(|_| before != Some(&rules)) {
        tracing::warn!(vault = %vault.name, "{problem}; such notes are known by the usual forms of their names");
    }
    rules
}

/// The generation that a configuration puts in force.
fn generation(config: &Settings, embedder: &Embedder, rules: &NoteRules) -> Generation {
    let contextualizer = match config.context.provider {
        Provider::None => NONE,
        Provider::Template => TEMPLATE,
        // It depends on the kind of note: see `NotePipeline::contextualizer`.
        _ => "",
    };
    // Part of the identity: a note decided without these vectors is decided again and gets them.
    let alone = config.embed.text_vectors && !embedder.is_local_and_fast();
    let alone = if alone { ", texts alone" } else { "" };
    let levels = match config.context.levels {
        Levels::Chunk => String::new(),
        levels => format!(", {}", <&str>::from(levels)),
    };
    // Part of the identity too: questions that were bought earlier take part in searches at once, or no longer.
    let expansion = match config.context.expansion {
        ExpansionChoice::Off => "",
        ExpansionChoice::Questions => ", questions",
    };
    Generation {
        contextualizer: contextualizer.to_owned(),
        costs: config.context.costs(),
        embedder: embedder.identity().to_owned(),
        chunker: format!("{}, {}{alone}{levels}{expansion}", config.chunk.identity(), rules.reading()),
        llm_min_chunks: config.context.llm_min_chunks,
    }
}

/// How notes are shown to the model of a configuration.
fn prompter(config: &Settings) -> Result<Option<Arc<Prompter>>, EngineError> {
    let context = &config.context;
    if !context.costs() {
        return Ok(None);
    }
    let model = provider::model(context).map_err(EngineError::Model)?;
    Ok(Some(Arc::new(Prompter::new(context, &model))))
}
