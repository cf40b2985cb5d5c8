//! The supervisor: starts, reloads, pauses and stops indexers, and restarts one that died. It decides which vaults are
//! served and by which generation. It blocks on nothing but its inbox, so no vault can block it.

pub(super) mod generations;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::error::CallError;
use super::health::SLOW_TO_OPEN;
use super::indexer::disk::Disk;
use super::indexer::{self, Seed};
use super::jobs::Ended;
use super::pool::Pool;
use super::rerank::Reranker;
use super::runtime::{GenerationRuntime, config_of};
use super::shared::Stage;
use super::throttle::Until;
use super::writer::Writer;
use super::{DRAIN, Shared, VaultShared};
use crate::settings::Settings;
use generations::{GenerationRequest, active, built};
use protocol::events::Notice;
use protocol::status::RunState;
use vault::settings::VaultConfig;
use vault::{Hint, RescanReason};

#[cfg(test)]
mod tests;

/// The supervisor looks at the clock at least this often: a machine that slept sends no event.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// The first backoff before an indexer that died is opened again; each death doubles it, up to [`REOPEN_LONGEST`].
const REOPEN_FIRST: Duration = Duration::from_secs(1);

/// The longest backoff.
const REOPEN_LONGEST: Duration = Duration::from_mins(1);

/// The death of an indexer that lived longer than this counts as its first: the cause is probably new.
const HEALTHY_AFTER: Duration = Duration::from_mins(5);

/// Timeout for an indexer to close, when the daemon stops or another indexer takes its place.
const CLOSE_WITHIN: Duration = Duration::from_secs(15);

/// Everything that can wake the supervisor.
pub(super) enum Event {
    /// An indexer's report has changed.
    Changed,
    /// An indexer's thread has ended.
    Ended { id: u64, died: bool },
    /// A user's request about a generation.
    Generation { vault: u64, name: String, request: GenerationRequest, reply: Reply },
    /// A generation was dropped, or why it stays.
    Dropped { child: Box<Child>, result: Result<(), String>, reply: Reply },
    /// Pauses all work until the given time, or until `Resume`.
    Pause(Until),
    /// Ends a pause.
    Resume,
    /// A new configuration is in force; the supervisor replies on `done` when the vaults are served by it.
    Reload { config: Box<Settings>, done: Sender<()> },
    /// A watchdog checks that the supervisor is alive.
    Beat,
    /// Closes everything and ends the supervisor.
    Stop,
    #[cfg(test)]
    Panic,
}

pub(super) type Reply = Sender<Result<(), CallError>>;

/// An indexer, as its supervisor knows it.
pub(super) struct Child {
    pub(super) vault: VaultConfig,
    pub(super) shared: Arc<VaultShared>,
    /// Disconnected when its thread has ended and released the store.
    ended: Receiver<()>,
    opened: Instant,
    /// How often it died lately.
    deaths: u32,
    /// When it is opened again, if it died.
    reopen_at: Option<Instant>,
}

impl Child {
    /// Waits until its thread has released the store, for at most [`CLOSE_WITHIN`].
    pub(super) fn wait_closed(&self) -> Result<(), String> {
        // Nothing is ever sent: the channel disconnects when the thread ends.
        match self.ended.recv_timeout(CLOSE_WITHIN) {
            Err(RecvTimeoutError::Disconnected) => Ok(()),
            _ => Err("its indexer does not end".to_owned()),
        }
    }
}

/// The supervisor's state.
pub(super) struct Supervisor {
    pub(super) shared: Arc<Shared>,
    inbox: Receiver<Event>,
    disk: Arc<dyn Disk>,
    pool: Pool,
    pub(super) children: BTreeMap<u64, Child>,
    next_id: u64,
    asleep: Duration,
    /// The state that subscribers were told last, unless they are to be told anew.
    announced: Option<RunState>,
}

impl Supervisor {
    pub(super) fn new(shared: Arc<Shared>, inbox: Receiver<Event>, disk: Arc<dyn Disk>, pool: Pool) -> Self {
        Supervisor {
            shared,
            inbox,
            disk,
            pool,
            children: BTreeMap::new(),
            next_id: 0,
            asleep: time_asleep(),
            announced: Some(RunState::Starting),
        }
    }

    /// Opens what is configured; returns when the threads are started, before any vault is open.
    pub(super) fn open(&mut self, config: &Settings) {
        start_runtimes(&self.shared, config);
        for vault in &config.vaults {
            self.open_vault(config, vault, &mut BTreeMap::new());
        }
        self.publish_vaults();
        self.shared.teams.configure(&self.shared, config);
    }

    pub(super) fn run(mut self) {
        self.start_reranker(&self.shared.config.load());
        loop {
            let event = self.inbox.recv_timeout(self.wait());
            self.shared.control.beat.fetch_add(1, Ordering::Relaxed);
            match event {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.check_clock();
            self.reopen_dead();
            self.tell_state();
        }
        self.shared.grapher.stop();
        self.stop_all();
    }

    fn wait(&self) -> Duration {
        let now = Instant::now();
        let reopen = self.children.values().filter_map(|child| child.reopen_at).min();
        let started = (!self.shared.control.has_started()).then(|| self.shared.control.started + SLOW_TO_OPEN);
        let deadlines = [reopen, started].into_iter().flatten().map(|at| at.saturating_duration_since(now));
        deadlines.chain(self.shared.throttle.pause_left()).fold(HEARTBEAT, Duration::min)
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Changed => self.shared.control.take_changed(),
            Event::Beat | Event::Stop => {}
            Event::Ended { id, died } => self.ended(id, died),
            Event::Generation { vault, name, request, reply } => self.generation(vault, &name, request, reply),
            Event::Dropped { child, result, reply } => self.dropped(*child, result, &reply),
            Event::Pause(until) => self.pause(Some(until)),
            Event::Resume => {
                self.pause(None);
                self.shared.throttle.insist();
                if let Some(reranker) = &*self.shared.reranker.load() {
                    reranker.resume();
                }
                self.shared.indexers.send_all(|| indexer::Event::Resume);
            }
            Event::Reload { config, done } => {
                self.reload(&config);
                self.announced = None;
                // The caller may have stopped waiting.
                let _ = done.send(());
            }
            #[cfg(test)]
            Event::Panic => panic!("a test wants to see what happens"),
        }
    }

    fn pause(&self, until: Option<Until>) {
        self.shared.throttle.pause(until);
        self.shared.indexers.send_all(|| indexer::Event::Wake);
    }

    /// Ends a pause that is over, lets go on what waited for memory, and rescans all vaults if the machine slept: it
    /// sent no events meanwhile.
    fn check_clock(&mut self) {
        if self.shared.throttle.pause_left().is_some_and(|left| left.is_zero()) {
            self.pause(None);
        }
        if self.shared.throttle.is_relieved() {
            self.shared.indexers.send_all(|| indexer::Event::Wake);
        }
        let asleep = time_asleep();
        if asleep > self.asleep + Duration::from_secs(5) {
            self.asleep = asleep;
            self.shared.indexers.send_all(|| indexer::Event::Hint(Hint::Rescan(RescanReason::Resume)));
        }
    }

    /// Tells subscribers when the state of the daemon changes.
    fn tell_state(&mut self) {
        let control = &self.shared.control;
        if !control.has_started() {
            let opening = self.children.values().any(|child| child.shared.report().stage == Stage::Opening);
            if !opening || control.started.elapsed() >= SLOW_TO_OPEN {
                control.set_started();
            }
        }
        let (state, _) = self.shared.state();
        if self.announced.replace(state) != Some(state) {
            self.shared.feed.notify(Notice::State { state });
        }
    }

    /// Handles the end of an indexer's thread: one that died is scheduled to be opened again.
    fn ended(&mut self, id: u64, died: bool) {
        self.shared.indexers.remove(id);
        let Some(child) = self.children.get_mut(&id).filter(|_| died) else {
            // It may have begun a job after it was told to stop.
            let why = "its vault was taken away, renamed or configured otherwise";
            return self.shared.end_jobs(id, Ended::Cancelled, why);
        };
        child.deaths = if child.opened.elapsed() > HEALTHY_AFTER { 1 } else { child.deaths.saturating_add(1) };
        let pause = (REOPEN_FIRST * 2_u32.saturating_pow(child.deaths.min(16) - 1)).min(REOPEN_LONGEST);
        child.reopen_at = Some(Instant::now() + pause);
        let why = format!(
            "indexing vault `{}` failed inside the program (a bug; please report it); it is begun again in {} s",
            child.vault.name,
            pause.as_secs()
        );
        tracing::error!("{why}");
        child.shared.close(why.clone());
        self.shared.fail_jobs(id, &why);
    }

    /// Opens indexers that died again, when their backoff is over.
    fn reopen_dead(&mut self) {
        let now = Instant::now();
        let due = |child: &Child| child.reopen_at.is_some_and(|at| at <= now);
        for id in self.children.iter().filter(|(_, child)| due(child)).map(|(id, _)| *id).collect::<Vec<_>>() {
            let Some(child) = self.children.remove(&id) else { continue };
            let deaths = child.deaths;
            self.spawn(child.vault, child.shared, None, deaths);
        }
    }

    /// Starts an indexer for a vault and for each of its generations that is built. `places` holds the indexers that are
    /// being replaced.
    fn open_vault(&mut self, config: &Settings, vault: &VaultConfig, places: &mut Places) {
        let answering = active(config, vault);
        let inactive = built(config, vault, &answering);
        self.start(vault, &answering, false, places);
        for name in inactive {
            self.start(vault, &name, true, places);
        }
    }

    /// Starts an indexer; returns its id.
    pub(super) fn start(&mut self, vault: &VaultConfig, generation: &str, inactive: bool, places: &mut Places) -> u64 {
        let after = places.remove(&(vault.path.clone(), generation.to_owned()));
        // What was published under other rules of what is private must not answer.
        let before =
            after.as_ref().filter(|before| before.vault.private == vault.private).map(|before| &*before.shared);
        let shared = VaultShared::new(self.next_id, vault, generation, self.disk.clone(), before);
        shared.set_inactive(inactive);
        self.next_id += 1;
        let id = shared.id;
        self.spawn(vault.clone(), shared, after.map(|before| before.ended), 0);
        id
    }

    fn spawn(&mut self, vault: VaultConfig, shared: Arc<VaultShared>, after: Option<Receiver<()>>, deaths: u32) {
        let (inbox, events) = mpsc::channel();
        let (alive, ended) = mpsc::channel::<()>();
        let id = shared.id;
        shared.report().stage = Stage::Opening;
        self.shared.indexers.add(id, inbox.clone());
        let seed = Seed {
            engine: self.shared.clone(),
            shared: shared.clone(),
            vault: vault.clone(),
            disk: self.disk.clone(),
            pool: self.pool.clone(),
            inbox,
        };
        let child = Child { vault, shared, ended, opened: Instant::now(), deaths, reopen_at: None };
        self.children.insert(id, child);
        let engine = self.shared.clone();
        let work = move || {
            if let Some(after) = after {
                // Nothing is ever sent: the channel disconnects when the store is free.
                let _ = after.recv_timeout(CLOSE_WITHIN);
            }
            let died = catch_unwind(AssertUnwindSafe(|| indexer::run(&seed, &events))).is_err();
            seed.shared.withdraw();
            seed.shared.set_turn(None);
            drop(seed);
            drop(alive);
            engine.control.send(Event::Ended { id, died });
        };
        if let Err(error) = std::thread::Builder::new().name(format!("index-{id}")).spawn(work) {
            tracing::error!(%error, "no thread for a vault");
            self.shared.control.send(Event::Ended { id, died: true });
        }
    }

    /// Starts the reranker, if one is configured.
    fn start_reranker(&self, config: &Settings) {
        let reranker = Reranker::start(config, &self.shared.provider, &self.shared.spender).unwrap_or_else(|why| {
            tracing::error!("searches are not reranked: {why}");
            self.shared.indexers.set_problem(Some(format!("searches are not reranked: {why}")));
            None
        });
        self.shared.reranker.store(reranker);
    }

    /// Publishes which vaults are served, in the order of the configuration: the first is the default.
    pub(super) fn publish_vaults(&self) {
        let order = self.shared.config.load_full();
        let place = |vault: &Arc<VaultShared>| order.vaults.iter().position(|other| other.name == vault.name);
        let all = self.children.values().map(|child| child.shared.clone());
        let (inactive, mut vaults): (Vec<_>, Vec<_>) = all.partition(|shared| shared.is_inactive());
        vaults.sort_by_key(place);
        self.shared.vaults.store(Arc::new(vaults));
        self.shared.indexers.inactive.store(Arc::new(inactive));
    }

    fn reload(&mut self, config: &Settings) {
        let before = self.shared.config.load_full();
        let same = config.context == before.context && config.generations == before.generations;
        self.shared.config.store(Arc::new(config.clone()));
        self.shared.spender.set_limits(super::limits(config));
        if !same {
            start_runtimes(&self.shared, config);
        } else if config.budget != before.budget {
            take_limits(&self.shared, config);
        }
        // As below: the user may have repaired what keeps a model from being asked.
        let runtimes = self.shared.generations.load();
        if runtimes.values().any(|runtime| runtime.problem(0).is_some()) {
            self.shared.indexers.send_all(|| indexer::Event::Resume);
        }
        if self.shared.questions.problem(config).is_some() {
            self.shared.questions.resume();
        }
        if config.rerank != before.rerank {
            self.shared.indexers.set_problem(None);
            self.start_reranker(config);
        } else if let Some(reranker) = &*self.shared.reranker.load() {
            // The user may have repaired its model.
            reranker.resume();
        }
        self.shared.throttle.configure(&config.host);
        let kept = |child: &Child| config.vaults.contains(&child.vault) && config.chunk == before.chunk && same;
        let old: Vec<u64> = self.children.iter().filter(|(_, child)| !kept(child)).map(|(id, _)| *id).collect();
        let mut places = Places::new();
        for id in old {
            if let Some(child) = self.stop(id, "the configuration was read again") {
                let is_it = |vault: &VaultConfig| vault.name == child.vault.name && vault.path == child.vault.path;
                if !config.vaults.iter().any(is_it) {
                    self.shared.feed.forget(&child.vault.name);
                }
                places.insert((child.vault.path.clone(), child.shared.generation.clone()), child);
            }
        }
        self.shared.indexers.send_all(|| indexer::Event::Reloaded(before.clone()));
        let served: Vec<VaultConfig> = self.children.values().map(|child| child.vault.clone()).collect();
        for vault in config.vaults.iter().filter(|vault| !served.contains(vault)) {
            self.open_vault(config, vault, &mut places);
        }
        self.publish_vaults();
        self.shared.teams.configure(&self.shared, config);
    }

    /// Tells an indexer to end; for up to [`DRAIN`] it still stores answers that a model owes.
    pub(super) fn stop(&mut self, id: u64, why: &str) -> Option<Child> {
        let child = self.children.remove(&id)?;
        self.shared.indexers.send(id, indexer::Event::Stop { drain_until: Instant::now() + DRAIN });
        self.shared.fail_jobs(id, why);
        Some(child)
    }

    /// Ends all indexers, and waits for them for at most [`CLOSE_WITHIN`].
    fn stop_all(&mut self) {
        let now = Instant::now();
        self.shared.indexers.send_all(|| indexer::Event::Stop { drain_until: now + DRAIN });
        // Drops the last handles except the indexers' own: writers end when the indexers have dropped theirs.
        self.shared.generations.store(Arc::default());
        for (id, child) in std::mem::take(&mut self.children) {
            let left = (now + CLOSE_WITHIN).saturating_duration_since(Instant::now());
            if matches!(child.ended.recv_timeout(left), Err(RecvTimeoutError::Timeout)) {
                tracing::warn!(id, vault = child.vault.name, "this vault does not close; it is left as it is");
            }
        }
    }
}

/// Starts the writers that ask the models of a configuration, for every generation. Answers to requests of the previous
/// writers still arrive, or are given up after [`DRAIN`].
pub(super) fn start_runtimes(shared: &Arc<Shared>, config: &Settings) {
    let names = std::iter::once("").chain(config.generations.keys().map(String::as_str));
    let runtime = |name: &str| {
        let config = config_of(config, name)?;
        let engine = Arc::downgrade(shared);
        let tell = move |vault, path, event| {
            if let Some(engine) = engine.upgrade() {
                // If the indexer has ended, the journal has what the event reports, or another indexer is to write it.
                if !engine.indexers.send(vault, indexer::Event::Context { path, event }) {
                    engine.indexers.send_all(|| indexer::Event::Wake);
                }
            }
        };
        let Shared { provider, spender, indexers, teams, .. } = &**shared;
        let writer = Writer::start(&config, provider, (spender, &indexers.unkept, teams), tell);
        if let Err(why) = &writer {
            tracing::error!("contexts cannot be asked for: {why}");
        }
        Some((name.to_owned(), Arc::new(GenerationRuntime::new(Arc::new(config), writer))))
    };
    shared.generations.store(Arc::new(names.filter_map(runtime).collect()));
}

/// Applies new limits when nothing else changed: requests under way go on, and requests that a budget held are sent.
pub(super) fn take_limits(shared: &Shared, config: &Settings) {
    let runtimes = shared.generations.load_full();
    let renewed = |(name, runtime): (&String, &Arc<GenerationRuntime>)| {
        let config = config_of(config, name).map_or_else(|| runtime.config.clone(), Arc::new);
        (name.clone(), Arc::new(runtime.with_settings(config)))
    };
    shared.generations.store(Arc::new(runtimes.iter().map(renewed).collect()));
}

/// Indexers that end, by vault and generation: an indexer waits for the end of the one that it replaces.
pub(super) type Places = BTreeMap<(std::path::PathBuf, String), Child>;

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
