//! An indexer: one generation of one vault, on a thread of its own. It owns store, index and watcher, and everything that
//! changes comes to it through its inbox; queries read what it publishes.
//!
//! What it knows is kept by sub-machines that take what happened and the time, and return what is to be done:
//! when to look at the disk ([`freshness`]), how far to believe a look ([`deletion_guard`]), what to decide about
//! ([`work_queue`]), what to write ([`commit`]), what to have written by a model ([`buyer`]), and how to change embedders
//! ([`migration`]). The turns of its loop ([`turn`]) carry that out; what concerns notes alone is in [`notes`].

mod batches;
mod buyer;
pub(super) mod commit;
mod context_queue;
mod contexts;
mod deletion_guard;
pub(super) mod disk;
mod dry_run;
mod failures;
mod freshness;
mod migration;
mod notes;
mod reader;
mod rebuild;
pub(super) mod scan;
mod turn;
mod upkeep;
mod vectors;
mod watch;
mod work_queue;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::batch::BatchEvent;
use super::context_job::ContextEvent;
use super::decide::{NotePipeline, Outcome, Task};
use super::embedding::{self, served_table, serving};
use super::error::CallError;
use super::pool::Pool;
use super::runtime::config_of;
use super::shared::Stage;
use super::{EngineError, Shared, VaultShared};
use crate::settings::Settings;
use buyer::{At, Buyer, Work};
use commit::{Committer, open_index};
use context::plan::Generation;
use context::prompt::Prompter;
use context::settings::{ExpansionChoice, Levels, Provider};
use context::{NONE, TEMPLATE};
use deletion_guard::DeletionGuard;
use disk::Disk;
use dry_run::DryRun;
use freshness::Freshness;
use index::Language;
use index::embed::settings::EmbedConfig;
use migration::EmbedderMigration;
use note::fingerprint::Fields;
use note::{NoteRules, VaultPath};
use notes::NoteIndexer;
use provider::{EmbedError, Embedder};
use reader::Reader;
use scan::{Extent, Findings};
use store::{Store, StoreError};
use upkeep::Upkeep;
use vault::Hint;
use vault::root::{RootId, VaultError};
use vault::settings::VaultConfig;
use vectors::PendingVectors;
use watch::VaultWatch;
use work_queue::WorkQueue;

/// After how long what could not be written or opened is tried again.
pub(super) const TRY_AGAIN: Duration = Duration::from_secs(10);

/// The same of what did not fit into memory: to find that out again takes as long as it does to open it.
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
    /// A user asks for contexts that should be better to be made anew, of notes that changed since.
    Refresh { since: Option<i64> },
    /// The user agrees that the models are asked by themselves, or takes that back; with `replace` contexts that another
    /// one wrote are to be written anew.
    Consent { agreed: bool, replace: bool, reply: Sender<Result<(), CallError>> },
    /// A user asks for notes to be made anew; `agreed` if that agrees to the model too.
    Rebuild { job: u64, under: Option<VaultPath>, batch: bool, agreed: bool },
    /// A user asks for this generation to be built beside the one that answers.
    Build { job: u64, reply: Sender<Result<(), CallError>> },
    /// The writer says what came of an order.
    Context { path: VaultPath, event: ContextEvent },
    /// The writer says what came of a batch.
    Batch { ticket: u64, event: BatchEvent },
    /// Vectors that were ordered have come.
    Embedded(embedding::worker::EmbedEvent),
    /// An embedder that is to take over was opened, or could not be.
    Opened { ticket: u64, result: Result<Arc<embedding::Service>, EmbedError> },
    /// Notes were looked at with its eyes.
    DryRun { ticket: u64, notes: Vec<DryRun> },
    /// Something that is shared has changed: a pause, a job that was cancelled, the generation that answers.
    Wake,
    /// The user says that work is to go on.
    Resume,
    /// Another configuration is in force; this one was.
    Reloaded(Arc<Settings>),
    /// Close everything and end; what was asked of a model may come until then.
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

/// Which vault, which generation, and where its index lies.
pub(super) struct Place {
    vault: VaultConfig,
    /// The plain one has no name.
    generation: String,
    dir: PathBuf,
    /// The folder of the plain one.
    vault_dir: PathBuf,
}

/// Whose indexer it is, and how it is reached.
pub(super) struct ActorContext {
    engine: Arc<Shared>,
    shared: Arc<VaultShared>,
    place: Place,
    inbox: Sender<Event>,
}

/// Who decides about notes in bulk, and what came of it.
struct Workers {
    reader: Reader,
    pool: Pool,
    landed: Vec<(VaultPath, u64, Outcome)>,
    /// Whether there was work that could wait when it was last asked.
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
    /// It was told to.
    Stop,
    /// Its store is to be opened anew.
    Reopen,
}

/// Runs an indexer until [`Event::Stop`]. What cannot be opened is tried again.
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
        let stage = Stage::Closed(why.clone());
        if std::mem::replace(&mut seed.shared.report().stage, stage.clone()) != stage {
            tracing::error!("{why}; it is tried again");
        }
        seed.engine.changed();
        seed.fail_jobs(&why);
        if seed.wait_closed(inbox, &why, pause) {
            return;
        }
    }
}

impl Seed {
    /// Waits until opening is tried again; tells whether to stop.
    fn wait_closed(&self, inbox: &Receiver<Event>, why: &str, pause: Duration) -> bool {
        let until = machine::now() + pause;
        loop {
            match inbox.recv_timeout(until.saturating_duration_since(machine::now())) {
                Ok(Event::Stop { .. }) | Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
                Ok(Event::Resume | Event::Reloaded(_)) => return false,
                Ok(Event::Consent { reply, .. }) => {
                    let _ = reply.send(Err(CallError::Storage(why.to_owned())));
                }
                Ok(Event::Build { reply, .. }) => {
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
        for job in self.engine.jobs.fail_all_of(self.shared.id, why) {
            self.engine.tell_job(Some(job));
        }
    }
}

impl Indexer {
    /// Opens store and index of a vault and publishes what they hold.
    pub(super) fn open(seed: &Seed) -> Result<Self, EngineError> {
        let Seed { engine, shared, vault, disk, pool, inbox } = seed;
        let plain = engine.config.load_full();
        let config = config_of(&plain, &shared.generation).unwrap_or_else(|| (*plain).clone());
        let dir = generation_dir(&config.data_dir, &vault.path, &shared.generation);
        std::fs::create_dir_all(&dir).map_err(|e| EngineError::io(&dir, &e))?;
        let plain_dir = vault_dir(&config.data_dir, &vault.path);
        let (service, asked_for) = serving(engine, &config, (&dir, &plain_dir));
        let embedder = &service.embedder;
        let room = || engine.throttle.find_room();
        let opened = Store::open_within(&dir, embedder.identity(), embedder.dimensions(), &|| room().is_ok());
        let (store, opened) = match opened {
            Err(StoreError::NoRoom) => return Err(engine.throttle.no_room()),
            opened => opened?,
        };
        let lexical = dir.join("lexical");
        if opened.quarantined.is_some() && lexical.exists() {
            // The new store counts from the start: its numbers would mean other notes to the old words.
            std::fs::remove_dir_all(&lexical).map_err(|e| EngineError::io(&lexical, &e))?;
        }
        let opened_notes = opened.quarantined.iter().map(|(moved_to, why)| {
            format!(
                "the store of vault `{}` was damaged ({why}); it was moved to {} and the index is rebuilt; {} contexts \
                 came back from the journal",
                vault.name,
                moved_to.display(),
                opened.contexts_recovered
            )
        });
        let mut index = open_index(&lexical, embedder.dimensions(), Language::of_code(&config.search.language))?;
        index.set_matrix(store.vectors());
        let rules = rules(vault, disk.as_ref());
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
        let migration = (!asked_for).then(|| migration_to(&config.embed, &plain_dir));
        let actor = Arc::new(ActorContext {
            engine: engine.clone(),
            shared: shared.clone(),
            place: Place { vault: vault.clone(), generation: shared.generation.clone(), dir, vault_dir: plain_dir },
            inbox: inbox.clone(),
        });
        let mut indexer = Indexer {
            notes: NoteIndexer {
                watch: VaultWatch::new(disk.clone(), policy),
                freshness: Freshness::new((&config.watch).into(), now),
                guard: DeletionGuard::new(&vault.name, read_root_id(&actor.place.dir)),
                work: WorkQueue::default(),
                workers: Workers { reader, pool: pool.clone(), landed: Vec::new(), had_work: false },
                commit: Committer::new(pipeline, index, shared.clone()),
                failure: None,
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
            opened: opened_notes.collect(),
        };
        let Indexer { notes, buyer, .. } = &mut indexer;
        buyer.read_consent(&notes.actor);
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

    /// Begins, and has what is stored answer, however long the first look at the disk takes.
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
        if let Err(error) = self.notes.commit.flush() {
            tracing::error!(%error, vault = self.actor.place.vault.name, "closing");
        }
    }

    /// Waits for an event or a deadline, then takes what is there; returns until when to drain if it is to stop.
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

    /// Asks for nothing more, and keeps what was asked for and comes in time.
    fn drain(&mut self, inbox: &Receiver<Event>, until: Instant) {
        self.begin_drain(until);
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

    /// Whether nothing that was asked of a model is still to come.
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

/// A change to the embedder of a configuration; for `vault_dir` see [`embedding::consent`].
fn migration_to(config: &EmbedConfig, vault_dir: &Path) -> EmbedderMigration {
    EmbedderMigration::new(config.clone(), embedding::consent(config, vault_dir))
}

/// How the notes of a vault are read.
fn rules(vault: &VaultConfig, disk: &dyn Disk) -> NoteRules {
    let read = |path: &VaultPath| disk.read(&vault.path, path, vault::obsidian::LONGEST).ok().map(|text| text.bytes);
    let (rules, problems) = vault::obsidian::rules(vault, read);
    for problem in problems {
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
    // Who did not make these vectors is to make them now.
    let alone = config.embed.text_vectors && !embedder.is_local_and_fast();
    let alone = if alone { ", texts alone" } else { "" };
    let level = Levels::ALL.iter().find(|(_, levels)| *levels == config.context.levels);
    let levels = level.filter(|(_, levels)| *levels != Levels::default());
    let levels = levels.map_or_else(String::new, |(name, _)| format!(", {name}"));
    // What is bought of them already takes part at once, or no more.
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

/// Where a vault's index lives: named after the folder, told apart by its whole path.
pub fn vault_dir(data_dir: &Path, vault: &Path) -> PathBuf {
    let name = vault.file_name().map_or("root".into(), |name| name.to_string_lossy());
    let slug: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(32).collect();
    let hash = Fields::new("vault-dir/1").bytes(vault.as_os_str().as_encoded_bytes()).finish();
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

/// Folders of static tables that made the vectors which serve a vault: they go on serving until others take over, though
/// the configuration may not name them any more.
pub fn served_tables(data_dir: &Path, vault: &Path) -> Vec<PathBuf> {
    let plain = vault_dir(data_dir, vault);
    let beside = std::fs::read_dir(plain.join(GENERATIONS)).into_iter().flatten().flatten().map(|entry| entry.path());
    beside.chain([plain.clone()]).filter_map(|dir| served_table(&dir)).collect()
}

fn read_root_id(dir: &Path) -> Option<RootId> {
    let text = std::fs::read_to_string(dir.join("root")).ok()?;
    let (dev, ino) = text.trim().split_once(' ')?;
    Some(RootId { dev: dev.parse().ok()?, ino: ino.parse().ok()? })
}

/// Remembers which folder the vault is, to notice another one mounted in its place.
fn write_root_id(dir: &Path, root: RootId) {
    let text = format!("{} {}\n", root.dev, root.ino);
    if let Err(error) = std::fs::write(dir.join("root"), text) {
        tracing::warn!(%error, "the vault's identity could not be remembered");
    }
}
