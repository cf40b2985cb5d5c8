//! A process: the engine's own indexer, store, index, writer and ledger, driven by hand on one thread.

use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use context::settings::{Consent, ContextConfig, ExpansionChoice, Provider};
use index::embed::settings::{EmbedConfig, EmbedProvider};
use note::chunk::Strategy;
use tokio::runtime::{Builder, Runtime};
use vault::settings::VaultConfig;

use super::dice::Dice;
use super::model::DIMENSIONS;
use super::played::Played;
use crate::batch::Files;
use crate::control::Control;
use crate::indexer::{Event, Indexer, Seed, generation_dir};
use crate::jobs::Ended;
use crate::settings::Settings;
use crate::shared::{Stage, VaultShared};
use crate::supervisor::{self, take_limits};
use crate::testing::assembled;
use crate::{DRAIN, Shared};

/// The longest wait at a time while the model has questions.
const GLANCE: Duration = Duration::from_millis(250);

/// Events that are taken in one turn, at most.
const MOST_EVENTS: usize = 4;

/// Turns at one moment, at most. More of them mean an endless loop.
const MOST_TURNS: u32 = 5_000;

/// How a process is configured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) costs: bool,
    pub(super) concurrency: usize,
    pub(super) budget: u64,
    /// Micro-dollars that a rebuild may take.
    pub(super) rebuild: u64,
    /// Whether the model has a batch interface.
    pub(super) batches: bool,
    /// Whether a provider makes the vectors.
    pub(super) remote: bool,
}

impl Setup {
    /// Half of the setups ask for questions beside contexts.
    fn expansion(self) -> ExpansionChoice {
        if self.concurrency.is_multiple_of(2) { ExpansionChoice::Questions } else { ExpansionChoice::Off }
    }
}

/// One process.
pub(super) struct Process {
    runtime: Runtime,
    machine: Rc<Played>,
    pub(super) shared: Arc<Shared>,
    pub(super) vault: Arc<VaultShared>,
    seed: Seed,
    inbox: Receiver<Event>,
    /// Events that came and were not taken yet.
    events: VecDeque<Event>,
    /// Absent while the store is opened again.
    pub(super) indexer: Option<Indexer>,
    _supervisor: Receiver<supervisor::Event>,
    pub(super) log: Vec<String>,
}

/// The settings of a process.
fn settings(setup: Setup, vault: &Path, data: &Path) -> Settings {
    let mut settings = Settings::new(data, vec![VaultConfig { poll: Some(true), ..VaultConfig::new("v", vault) }]);
    // Hints come as the schedule says; a walk finds changes that no hint told of.
    settings.watch.poll_interval = settings.watch.walk_interval;
    settings.chunk.plain.strategy = Strategy::Markdown;
    settings.host.battery = None;
    settings.host.memory = u64::MAX;
    settings.sync.background = false;
    settings.budget.day = setup.budget;
    settings.budget.rebuild = setup.rebuild;
    let key = data.with_file_name("key");
    if setup.remote {
        settings.embed = EmbedConfig {
            provider: EmbedProvider::OpenAi,
            model: Some("text-embedding-3-small".to_owned()),
            base_url: Some("http://embedder.invalid".to_owned()),
            dimensions: Some(DIMENSIONS as u32),
            consent: Consent::Given,
            concurrency: setup.concurrency,
            ..EmbedConfig::default()
        };
        settings.embed.key.file = Some(key.clone());
    }
    if setup.costs {
        settings.context = ContextConfig {
            provider: if setup.batches { Provider::Anthropic } else { Provider::OpenAi },
            base_url: Some("http://model.invalid".to_owned()),
            concurrency: setup.concurrency,
            consent: Consent::Given,
            expansion: setup.expansion(),
            ..ContextConfig::default()
        };
        settings.context.key.file = Some(key);
    }
    settings
}

impl Process {
    /// Starts a process for a vault, with the data that the data folder holds.
    pub(super) fn start(machine: &Rc<Played>, setup: Setup, vault: &Path, data: &Path) -> Self {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        machine.begin(runtime.handle());
        let settings = settings(setup, vault, data);
        std::fs::create_dir_all(data).unwrap();
        let (events, supervisor) = mpsc::channel();
        let control = Control::new(events, data.join("socket"), Box::new(|| Err(crate::NotTaken::NeedsRestart)));
        let (seed, inbox) = assembled(&settings, control, runtime.handle());
        let (shared, vault) = (seed.engine.clone(), seed.shared.clone());
        let mut process = Process {
            runtime,
            machine: machine.clone(),
            shared,
            vault,
            seed,
            inbox,
            events: VecDeque::new(),
            indexer: None,
            _supervisor: supervisor,
            log: Vec::new(),
        };
        process.open();
        process
    }

    fn open(&mut self) {
        let mut indexer =
            Indexer::open(&self.seed).unwrap_or_else(|error| panic!("a store that cannot be opened: {error}"));
        indexer.start();
        self.indexer = Some(indexer);
    }

    /// Tells the indexer of something.
    pub(super) fn send(&self, event: Event) {
        self.shared.indexers.send(self.vault.id, event);
    }

    /// Another configuration is in force, as after a reload.
    pub(super) fn reload(&self, setup: Setup) {
        let before = self.shared.config.load_full();
        let settings = settings(setup, &self.seed.vault.path, &before.data_dir);
        self.shared.config.store(Arc::new(settings.clone()));
        self.shared.spender.set_limits(crate::limits(&settings));
        if settings.budget != before.budget {
            take_limits(&self.shared, &settings);
        }
        self.send(Event::Reloaded(before));
    }

    /// Another provider is to be asked, as after a reload.
    pub(super) fn change_provider(&mut self, setup: Setup, dice: &mut Dice) {
        let settings = settings(setup, &self.seed.vault.path, &self.shared.config.load().data_dir);
        supervisor::start_runtimes(&self.shared, &settings);
        self.shared.config.store(Arc::new(settings));
        self.hand_over(dice);
    }

    /// Works until a moment, or until the process is dead.
    pub(super) fn run_until(&mut self, until: Instant, dice: &mut Dice, asked: &dyn Fn() -> usize) {
        let mut turns = 0;
        while machine::now() < until && self.machine.corpse().is_none() {
            if self.turn(dice) {
                turns += 1;
                assert!(turns < MOST_TURNS, "it turns in a circle");
            } else {
                turns = 0;
                self.wait(until, asked);
            }
        }
    }

    /// Does one thing that there is to do; `false` if there is nothing.
    pub(super) fn turn(&mut self, dice: &mut Dice) -> bool {
        self.poll();
        self.events.extend(self.inbox.try_iter());
        let jobs = self.machine.ready();
        let begin = jobs > 0 && (self.events.is_empty() || dice.percent(60));
        if begin {
            let name = self.machine.run(dice.below(jobs));
            self.note(|| format!("ran {}", name.unwrap_or_default()));
            return true;
        }
        let Some(indexer) = &mut self.indexer else { return false };
        let due = indexer.next_wake().is_some_and(|at| at <= machine::now());
        if self.events.is_empty() && !due {
            return false;
        }
        let taken = self.events.len().min(1 + dice.below(MOST_EVENTS));
        let names: Vec<&str> = self.events.iter().take(taken).map(name).collect();
        self.log.push(format!("{} turn {names:?}", self.machine.effects()));
        for event in self.events.drain(..taken) {
            indexer.take(event);
        }
        if !indexer.go_on() {
            self.reopen();
        }
        true
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        self.log.push(format!("{} {}", self.machine.effects(), what()));
    }

    /// Opens the store anew, because something could not be written.
    fn reopen(&mut self) {
        self.note(|| "opened anew".to_owned());
        self.vault.withdraw();
        self.indexer = None;
        for job in self.shared.jobs.end_all_of(self.vault.id, Ended::Failed, "the store is opened anew") {
            self.shared.tell_job(Some(job));
        }
        self.open();
    }

    /// Lets ready tasks go on without any time passing.
    fn poll(&self) {
        self.runtime.block_on(async {
            for _ in 0..6 {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Lets time pass until there may be something to do.
    fn wait(&self, until: Instant, asked: &dyn Fn() -> usize) {
        let now = machine::now();
        let wake = self.indexer.as_ref().and_then(Indexer::next_wake);
        let glance = (asked() > 0 || self.is_asking() || self.has_batch()).then(|| now + GLANCE);
        let next = [Some(until), wake, glance, self.machine.next_due()].into_iter().flatten().min().unwrap_or(until);
        // The clock of a runtime counts whole milliseconds.
        let pause = next.saturating_duration_since(now).max(Duration::from_millis(1));
        self.runtime.block_on(async { tokio::time::sleep(pause).await });
    }

    fn is_asking(&self) -> bool {
        let report = self.vault.report();
        report.asked > 0 || self.vault.embedding.lock().waiting > 0
    }

    /// Whether a batch is not settled yet.
    fn has_batch(&self) -> bool {
        let dir = generation_dir(&self.shared.config.load().data_dir, &self.seed.vault.path, "");
        !Files::runs(&dir).is_empty()
    }

    /// Whether nothing is left to be done.
    pub(super) fn is_at_rest(&self) -> bool {
        let report = self.vault.report().clone();
        let embedding = self.vault.embedding.lock().clone();
        report.stage == Stage::Open
            && !report.busy
            && (report.waiting, report.asked) == (0, 0)
            && (embedding.waiting, embedding.next.as_ref()) == (0, None)
            && self.events.is_empty()
            && self.machine.next_due().is_none()
            && self.vault.status.lock().pending == 0
            && !self.has_batch()
    }

    /// What the model's answers were worth, for the report of a failure.
    pub(super) fn outcomes(&self) -> String {
        let runtime = self.shared.runtime("");
        let outcomes = runtime.writer.as_ref().map(|writer| writer.author.outcomes.all());
        format!("{outcomes:?}")
    }

    /// What is left to be done, for the report of a failure.
    pub(super) fn left(&self) -> String {
        let (report, embedding) = (self.vault.report().clone(), self.vault.embedding.lock().clone());
        let (events, pending) = (self.events.len(), self.vault.status.lock().pending);
        format!("{events} events, {pending} pending, {embedding:?}, {report:?}")
    }

    /// Whether a store that was damaged was moved aside.
    pub(super) fn is_damaged(&self) -> bool {
        !self.vault.report().notes.is_empty()
    }

    /// Ends in good order; returns whether the process died meanwhile, or did not wait for all answers.
    pub(super) fn stop(mut self, dice: &mut Dice) -> bool {
        self.shared.generations.store(Arc::default());
        self.drain(dice);
        let owes = !self.indexer.as_ref().is_none_or(Indexer::is_drained);
        let died = self.machine.corpse().is_some();
        self.end();
        died || owes
    }

    /// Has the indexer wait for answers under way, for a while, and put everything on the disk.
    fn drain(&mut self, dice: &mut Dice) {
        let until = machine::now() + DRAIN;
        let Some(indexer) = &mut self.indexer else { return };
        indexer.begin_drain(until);
        while machine::now() < until && !self.run_or_wait(dice) {
            let Some(indexer) = &mut self.indexer else { break };
            let events =
                self.inbox.try_iter().filter(|event| matches!(event, Event::Context { .. } | Event::Batch { .. }));
            events.for_each(|event| indexer.take(event));
            if indexer.is_drained() {
                break;
            }
        }
        self.indexer.iter_mut().for_each(Indexer::flush);
    }

    /// Runs a job, or lets a moment pass if there is none; `true` if the process is dead.
    fn run_or_wait(&self, dice: &mut Dice) -> bool {
        self.poll();
        let jobs = self.machine.ready();
        if jobs > 0 {
            self.machine.run(dice.below(jobs));
        } else {
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
        }
        self.machine.corpse().is_some()
    }

    /// Another indexer takes the vault over, as after a reload that changes how it is read. The writer goes on, and what
    /// it says to the old one is lost.
    pub(super) fn hand_over(&mut self, dice: &mut Dice) {
        self.note(|| "handed over".to_owned());
        self.drain(dice);
        let store = self.vault.pipeline().map(|pipeline| Arc::downgrade(&pipeline.store));
        let Seed { engine, disk, vault, pool, .. } = &self.seed;
        let shared = VaultShared::new(self.vault.id + 1, vault, "", disk.clone(), Some(&self.vault));
        let (sender, inbox) = mpsc::channel();
        self.shared.indexers.remove(self.vault.id);
        self.shared.indexers.add(shared.id, sender.clone());
        self.shared.vaults.store(Arc::new(vec![shared.clone()]));
        for job in self.shared.jobs.end_all_of(self.vault.id, Ended::Failed, "the configuration was read again") {
            self.shared.tell_job(Some(job));
        }
        self.vault.withdraw();
        (self.indexer, self.inbox, self.vault) = (None, inbox, shared.clone());
        self.events.clear();
        let (engine, disk, vault, pool) = (engine.clone(), disk.clone(), vault.clone(), pool.clone());
        self.seed = Seed { engine, shared, vault, disk, pool, inbox: sender };
        // Other threads may still use the store.
        while store.as_ref().is_some_and(|store| store.strong_count() > 0) {
            if self.run_or_wait(dice) {
                return;
            }
        }
        self.open();
    }

    /// Ends here and now.
    pub(super) fn end(self) {
        let Process { runtime, machine, shared, vault, seed, inbox, events, indexer, .. } = self;
        vault.withdraw();
        drop((indexer, events, inbox, seed, vault));
        shared.generations.store(Arc::default());
        drop(shared);
        machine.end();
        drop(runtime);
    }
}

/// What an event is, for the log of a seed that fails.
fn name(event: &Event) -> &'static str {
    match event {
        Event::Hint(_) => "hint",
        Event::Scanned { .. } => "scanned",
        Event::Looked { .. } => "looked",
        Event::Sync { .. } => "sync",
        Event::Context { .. } => "context",
        Event::Batch { .. } => "batch",
        Event::Embedded(_) => "embedded",
        Event::Reloaded(_) => "reloaded",
        Event::Wake => "wake",
        Event::Resume => "resume",
        _ => "other",
    }
}
