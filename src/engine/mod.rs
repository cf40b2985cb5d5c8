//! The event loop: the one owner of all mutable state.
//!
//! [`Event`] lists everything that can wake the daemon. Hints from the watcher gather in each vault's
//! `Pending`; when it is quiet the engine looks at the disk ([`scan`]), decides about each note that differs
//! ([`decide`]) and carries the decisions out ([`keeper`]). A saved note is decided on this thread at once;
//! work in bulk goes through the workers ([`pool`]) and never stands in front of a save. Queries do not come
//! here at all: they read published snapshots through the [`handle`].

mod ask;
mod batch;
mod brake;
mod contexts;
mod decide;
mod doubt;
mod due;
mod embedding;
mod graph;
pub mod handle;
mod jobs;
mod keeper;
mod open;
mod outcomes;
mod pool;
mod questions;
mod rebuild;
pub mod report;
pub(crate) mod rerank;
mod beside;
mod scan;
mod seat;
mod shared;
mod tally;
mod work;
mod writer;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{broadcast, watch};

use crate::config::{Config, VaultConfig, WatchConfig};
use crate::context::cost::Estimate;
use crate::embed::EmbedError;
use crate::index::LexicalError;
use crate::llm::ledger::{self, BudgetLimits, Ledger};
use crate::llm::{ProviderRuntime, Spender};
use crate::sandbox::power::Brake;
use crate::store::StoreError;
use crate::vault::pending::Timing;
use crate::vault::root::VaultError;
use crate::vault::{Hint, RescanReason, VaultPath};
use batch::BatchTold;
use brake::Brakes;
use decide::{Outcome, Task};
use graph::Grapher;
use handle::Handle;
use jobs::Jobs;
use keeper::Keeper;
pub use keeper::vault_dir;
use pool::{Errand, Pool};
use questions::Questions;
use report::{CallError, Decision, Notice, Problem, State};
use rerank::Reranker;
use scan::{Extent, Findings};
use seat::Seat;
use shared::VaultShared;
use writer::{Told, Writer};

/// The engine looks at the clock at least this often: a machine that slept sends no event.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Decisions that `explain` remembers.
const REMEMBERED: usize = 1000;

/// Re-reads the configuration: as at the start, with the same flags and environment.
pub type Reload = Box<dyn Fn() -> Result<Config, Vec<Problem>> + Send + Sync>;

/// The engine cannot go on with a vault.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store failed.
    #[error("{0}")]
    Store(StoreError),
    /// The index failed.
    #[error("{0}")]
    Index(#[from] LexicalError),
    /// The vault cannot be used.
    #[error("{0}")]
    Vault(#[from] VaultError),
    /// What is said about the model makes no sense.
    #[error("{0}")]
    Model(String),
    /// A folder of ours cannot be written.
    #[error("{path}: {message}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        message: String,
    },
}

impl EngineError {
    fn io(path: &Path, error: &std::io::Error) -> Self {
        EngineError::Io { path: path.to_owned(), message: error.to_string() }
    }
}

/// Everything that can wake the engine.
enum Event {
    /// Something may have changed on disk.
    Hint { vault: u64, hint: Hint },
    /// A look at the disk is finished.
    Scanned { vault: u64, extent: Extent, jobs: Vec<u64>, result: Result<Findings, VaultError> },
    /// A worker has decided about a note.
    Looked { errand: Errand, outcome: Outcome },
    /// A user asks for a look at everything; with `accept_deletes` a doubt is settled.
    Sync { vault: u64, job: u64, accept_deletes: bool },
    /// A user asks for contexts that should be better to be made anew, of notes that changed since.
    Refresh { vault: u64, since: Option<i64> },
    /// A user asks for notes to be made anew.
    Rebuild { vault: u64, job: u64, under: Option<VaultPath>, batch: bool },
    /// A user wants something of a generation.
    Generation { vault: u64, name: String, wish: beside::Wish, reply: Sender<Result<(), CallError>> },
    /// The writer says what came of an order.
    Told { vault: u64, path: VaultPath, told: Told },
    /// The writer says what came of a batch.
    Batch { vault: u64, ticket: u64, told: BatchTold },
    /// Vectors that were ordered have come.
    Embedded(embedding::worker::Told),
    /// An embedder that is to take over was opened, or could not be.
    Opened { vault: u64, ticket: u64, result: Result<Arc<embedding::Service>, EmbedError> },
    /// Notes were looked at with its eyes.
    Surveyed { vault: u64, ticket: u64, surveyed: Vec<embedding::survey::Surveyed> },
    /// A job was cancelled.
    Cancelled,
    /// No work until then, or until `Resume`.
    Pause(brake::Until),
    /// Work again.
    Resume,
    /// Another configuration is in force.
    Reload(Box<Config>),
    /// Close everything and end.
    Stop,
}

/// What engine, handles and workers share.
struct Shared {
    events: Sender<Event>,
    vaults: ArcSwap<Vec<Arc<VaultShared>>>,
    config: ArcSwap<Config>,
    reload: Reload,
    jobs: Jobs,
    notices: broadcast::Sender<Arc<Notice>>,
    decisions: Mutex<VecDeque<Arc<Decision>>>,
    spender: Arc<Spender>,
    /// Where everything that is asked of providers is under way.
    provider: ProviderRuntime,
    /// Generations that stand beside those that answer.
    beside: ArcSwap<Vec<Arc<VaultShared>>>,
    writers: ArcSwap<BTreeMap<String, Arc<Writer>>>,
    grapher: Grapher,
    reranker: ArcSwapOption<Reranker>,
    /// What making old contexts anew would take, for a state of the index.
    renewal: Mutex<Option<((u64, u64), Estimate)>>,
    /// Who answers questions.
    questions: Questions,
    /// Embedders that are open.
    services: embedding::Services,
    /// Vectors of queries.
    queries: embedding::queries::Queries,
    /// Where embedders send texts, off this machine.
    embedders: Mutex<Vec<String>>,
    /// Why nothing is asked of the model at present.
    held: Mutex<Option<String>>,
    /// Why work waits.
    waits: Mutex<Vec<String>>,
    paused: Mutex<Option<brake::Until>>,
    state: Mutex<(State, Vec<String>)>,
    socket: PathBuf,
    started: Instant,
    beat: AtomicU64,
    stopping: watch::Sender<bool>,
    wants_restart: AtomicBool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, (State, Vec<String>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, decision: Decision) {
        let decision = Arc::new(decision);
        {
            let mut log = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
            log.push_front(decision.clone());
            log.truncate(REMEMBERED);
        }
        self.notify(Notice::Decision((*decision).clone()));
    }

    fn notify(&self, notice: Notice) {
        // An error means that nobody listens.
        let _ = self.notices.send(Arc::new(notice));
    }
}

/// Opens the ledger, and settles what former processes left reserved.
fn spender(config: &Config) -> Arc<Spender> {
    let ledger = Ledger::open_or_refuse(&ledger::folder(&config.data_dir));
    let generations = config.generations.keys().filter_map(|name| config.context_of(name));
    let concurrency = generations.map(|context| context.concurrency).fold(config.context.concurrency, usize::max);
    if let Err(error) = ledger.mend(concurrency.max(config.embed.concurrency), &jiff::Zoned::now()) {
        tracing::warn!(%error, "calls that were never settled stay in the ledger as they are");
    }
    Spender::new(ledger, limits(config))
}

/// What a configuration allows to be spent.
fn limits(config: &Config) -> BudgetLimits {
    BudgetLimits { day: config.budget.day, day_tokens: config.budget.day_tokens }
}

/// A running engine.
pub struct Engine {
    /// Access to it.
    pub handle: Handle,
    thread: std::thread::JoinHandle<()>,
}

impl Engine {
    /// Starts the engine's thread. Vaults are opened there: the handle answers `not_ready` until then.
    pub fn start(config: Config, socket: PathBuf, reload: Reload) -> std::io::Result<Engine> {
        let spender = spender(&config);
        let (events, inbox) = mpsc::channel();
        let listed: BTreeMap<u64, Arc<VaultShared>> = (0..)
            .zip(&config.vaults)
            .map(|(id, vault)| (id, VaultShared::new(id, vault, &beside::active(&config, vault))))
            .collect();
        let shared = Arc::new(Shared {
            events: events.clone(),
            // Listed at once, so that whoever asks early hears that they are being opened.
            vaults: ArcSwap::from_pointee(listed.values().cloned().collect()),
            config: ArcSwap::from_pointee(config.clone()),
            reload,
            jobs: Jobs::default(),
            notices: broadcast::channel(1024).0,
            decisions: Mutex::default(),
            spender,
            provider: ProviderRuntime::new(crate::sandbox::background_thread),
            beside: ArcSwap::default(),
            writers: ArcSwap::default(),
            grapher: Grapher::start()?,
            reranker: ArcSwapOption::empty(),
            questions: Questions::default(),
            services: embedding::Services::default(),
            queries: embedding::queries::Queries::default(),
            embedders: Mutex::default(),
            held: Mutex::default(),
            waits: Mutex::default(),
            paused: Mutex::default(),
            renewal: Mutex::default(),
            state: Mutex::new((State::Starting, Vec::new())),
            socket,
            started: Instant::now(),
            beat: AtomicU64::new(0),
            stopping: watch::Sender::new(false),
            wants_restart: AtomicBool::new(false),
        });
        let pool = Pool::start(move |errand, outcome| {
            // The engine ends before the workers do; then nobody needs the outcome.
            let _ = events.send(Event::Looked { errand, outcome });
        })?;
        let handle = Handle::new(shared.clone());
        let run = Loop {
            shared,
            inbox,
            pool,
            keepers: BTreeMap::new(),
            landed: Vec::new(),
            tickets: 0,
            next_vault: listed.len() as u64,
            listed,
            paused: None,
            brakes: Brakes::new(&config.host),
            asleep: time_asleep(),
            notes_of_trouble: Vec::new(),
            unopened: BTreeMap::new(),
            seats: BTreeMap::new(),
            next_sync: None,
        };
        let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || run.run(&config))?;
        Ok(Engine { handle, thread })
    }

    /// Waits until the engine has ended; [`Handle::shutdown`] makes it end.
    pub fn join(self) {
        if self.thread.join().is_err() {
            tracing::error!("the engine failed; what was not yet on disk is made again at the next start");
        }
    }
}

struct Loop {
    shared: Arc<Shared>,
    inbox: Receiver<Event>,
    pool: Pool,
    keepers: BTreeMap<u64, Keeper>,
    landed: Vec<(Errand, Outcome)>,
    tickets: u64,
    next_vault: u64,
    /// What is told of, opened or not.
    listed: BTreeMap<u64, Arc<VaultShared>>,
    /// `Some(None)`: until resumed.
    paused: Option<brake::Until>,
    brakes: Brakes,
    asleep: Duration,
    notes_of_trouble: Vec<String>,
    unopened: BTreeMap<u64, Unopened>,
    /// Who writes contexts, by generation.
    seats: BTreeMap<String, Seat>,
    /// Seconds since 1970 (UTC); looked at anew when vaults are opened.
    next_sync: Option<i64>,
}

/// A vault that could not be opened, and when that is tried again.
struct Unopened {
    config: VaultConfig,
    why: String,
    again_at: Instant,
}

impl Loop {
    fn run(mut self, config: &Config) {
        self.recall_pause();
        self.start_writers(config);
        self.start_reranker(config);
        self.open(config);
        // What is stored answers from here on, however long the first look at the disk takes.
        self.settle();
        let mut stopping = false;
        while !stopping {
            stopping = self.take_events();
            self.check_clock();
            if self.paused.is_none() {
                self.open_again();
                self.land();
                self.flush_pending();
                self.look_at_battery();
                if !self.all_waits() {
                    self.sync_if_due();
                    self.ask_models();
                }
                self.tend_vectors();
                self.feed();
            }
            self.settle();
        }
        self.shared.grapher.stop();
        self.drain_writers();
        for keeper in self.keepers.values_mut() {
            if let Err(error) = keeper.close() {
                tracing::error!(%error, vault = keeper.config.name, "closing");
            }
        }
    }

    /// Waits for an event or a deadline, then takes what is there; tells whether to stop.
    fn take_events(&mut self) -> bool {
        let first = match self.wait() {
            Duration::ZERO => self.inbox.try_recv().ok(),
            wait => match self.inbox.recv_timeout(wait) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return true,
            },
        };
        self.shared.beat.fetch_add(1, Ordering::Relaxed);
        let Some(first) = first else { return false };
        let mut next = Some(first);
        let mut taken = 0;
        while let Some(event) = next {
            if matches!(event, Event::Stop) {
                return true;
            }
            self.take(event);
            taken += 1;
            next = if taken < 256 { self.inbox.try_recv().ok() } else { None };
        }
        false
    }

    fn wait(&self) -> Duration {
        let now = Instant::now();
        let mut until = now + HEARTBEAT;
        until = self.pause_left().map_or(until, |left| until.min(now + left));
        until = self.next_look().map_or(until, |look| until.min(look));
        if self.paused.is_none() {
            until = self.unopened.values().map(|unopened| unopened.again_at).fold(until, Instant::min);
            for keeper in self.keepers.values() {
                until = keeper.next_wake().map_or(until, |wake| until.min(wake));
            }
            until = self.next_question().map_or(until, |ready| until.min(ready));
            if let Some(at) = self.next_sync {
                let left = u64::try_from(at.saturating_sub(now_s())).unwrap_or(0);
                until = until.min(now + Duration::from_secs(left.max(1)));
            }
        }
        until.saturating_duration_since(now)
    }

    fn take(&mut self, event: Event) {
        let now = Instant::now();
        match event {
            Event::Hint { vault, hint } => {
                if let Some(keeper) = self.keepers.get_mut(&vault) {
                    keeper.pending.hint(now, hint);
                }
            }
            Event::Looked { errand, outcome } => self.landed.push((errand, outcome)),
            Event::Scanned { vault, extent, jobs, result } => {
                if let Some(keeper) = self.keepers.get_mut(&vault) {
                    keeper.scanning = false;
                    keeper.looked = true;
                }
                self.scanned(vault, &extent, jobs, result);
                self.scan_if_asked_meanwhile(vault);
            }
            Event::Sync { vault, job, accept_deletes } => {
                if let Some(keeper) = self.keepers.get_mut(&vault) {
                    keeper.accept_deletes |= accept_deletes;
                }
                self.scan(vault, Extent::Everything, RescanReason::Asked, vec![job]);
            }
            Event::Refresh { vault, since } => self.refresh(vault, since),
            Event::Rebuild { vault, job, under, batch } => self.rebuild(vault, job, under.as_ref(), batch),
            Event::Generation { vault, name, wish, reply } => {
                let done = self.generation(vault, &name, wish);
                // Whoever asked may have gone.
                let _ = reply.send(done);
            }
            Event::Told { vault, path, told } => self.told(vault, path, told),
            Event::Batch { vault, ticket, told } => self.batch_told(vault, ticket, told),
            Event::Embedded(told) => self.embedded(told),
            Event::Opened { vault, ticket, result } => self.embedder_opened(vault, ticket, result),
            Event::Surveyed { vault, ticket, surveyed } => self.surveyed(vault, ticket, surveyed),
            Event::Cancelled => {
                self.drop_cancelled();
                self.stop_cancelled_runs();
            }
            Event::Pause(until) => self.pause(Some(until)),
            Event::Resume => {
                self.pause(None);
                self.brakes.insist();
                self.let_go();
            }
            Event::Reload(config) => self.reload(&config),
            Event::Stop => {}
        }
    }

    /// A machine that slept sent no events meanwhile: everything is looked at.
    fn check_clock(&mut self) {
        let now = Instant::now();
        if self.pause_left().is_some_and(|left| left.is_zero()) {
            self.pause(None);
        }
        let asleep = time_asleep();
        if asleep > self.asleep + Duration::from_secs(5) {
            self.asleep = asleep;
            for keeper in self.keepers.values_mut() {
                keeper.pending.hint(now, Hint::Rescan(RescanReason::Resume));
            }
        }
    }

    /// Brings the shared state up to date after a turn of the loop.
    fn settle(&mut self) {
        let bulk = |keeper: &Keeper| !keeper.queue.is_empty() || !keeper.in_flight.is_empty();
        for keeper in self.keepers.values_mut() {
            if let Err(error) = keeper.publish_if_due(bulk(keeper)) {
                keeper.be_troubled(&error);
            }
            // Lone saves, vectors that came and another embedder are published where they land.
            if keeper.shared.take_untold() && !keeper.beside {
                self.shared.grapher.changed(&keeper.shared);
                let status = keeper.shared.status();
                let (vault, seq) = (status.name.clone(), status.seq);
                let (notes, chunks) = (status.notes, status.chunks);
                drop(status);
                self.shared.notify(Notice::Index { vault, seq, notes, chunks });
            }
            // The same notes in fewer segments: nobody's answers change.
            if let Err(error) = keeper.follow_merges() {
                keeper.be_troubled(&error);
            }
            keeper.shared.take_untold();
        }
        self.finish_batches();
        self.tend_batches();
        self.watch_runs();
        for keeper in self.keepers.values() {
            keeper.refresh_status();
        }
        self.show_embedders();
        let held = self.model_problem();
        *self.shared.waits() = self.waits();
        let (state, problems) = self.state(held.clone());
        *self.shared.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
        let mut shared = self.shared.state();
        let changed = shared.0 != state;
        *shared = (state, problems);
        drop(shared);
        if changed {
            self.shared.notify(Notice::State { state });
        }
    }

    fn state(&self, held: Option<String>) -> (State, Vec<String>) {
        let mut problems = self.notes_of_trouble.clone();
        problems.extend(self.shared.spender.ledger().problem());
        problems.extend(self.unopened.values().map(|unopened| unopened.why.clone()));
        problems.extend(held);
        problems.extend(self.shared.reranker.load().as_ref().and_then(|reranker| reranker.problem()));
        problems.extend(self.vector_problems());
        for keeper in self.keepers.values() {
            let status = keeper.shared.status();
            problems.extend(status.doubt.clone());
            problems.extend(status.watch_problem.clone());
            problems.extend(keeper.trouble.as_ref().map(|trouble| trouble.why.clone()));
        }
        let busy = self.keepers.values().any(Keeper::is_busy);
        let flying = self.keepers.values().any(|keeper| !keeper.in_flight.is_empty() || !keeper.looked);
        let braked = self.brakes.level() != Brake::Off && !self.shared.waits().is_empty() && !flying;
        let state = match () {
            () if self.paused.is_some() || braked => State::Paused,
            () if busy => State::Indexing,
            () if !problems.is_empty() => State::Degraded,
            () => State::Idle,
        };
        (state, problems)
    }
}

/// How long the machine has been asleep since it was started.
fn time_asleep() -> Duration {
    #[cfg(target_os = "linux")]
    {
        use rustix::time::{ClockId, clock_gettime};
        let read = |clock| {
            let time = clock_gettime(clock);
            Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32)
        };
        read(ClockId::Boottime).saturating_sub(read(ClockId::Monotonic))
    }
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

/// Seconds since 1970 (UTC).
fn now_s() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// The watcher's timing in the terms of `Pending`.
fn timing(watch: &WatchConfig) -> Timing {
    Timing {
        lone: watch.lone,
        burst: watch.burst,
        storm: watch.storm,
        burst_longest: watch.burst_longest,
        storm_longest: watch.storm_longest,
        storm_paths: watch.storm_paths,
    }
}

/// A flag that is never raised.
static NEVER: AtomicBool = AtomicBool::new(false);
