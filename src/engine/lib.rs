//! The engine: indexers that keep vaults current, a supervisor that keeps the indexers, and a handle for queries.
//!
//! Each generation of each vault has an [`indexer`], a thread of its own with an inbox: it looks at the disk, decides
//! about each note that differs ([`decide`]) and carries the decisions out. It decides about a saved note at once, on
//! its own thread; bulk work goes through the worker threads ([`pool`]) and never delays a save. A vault whose file
//! system hangs blocks its own indexer and no other. Queries reach none of these threads: they read published snapshots
//! through the [`handle`].

mod ask;
mod batch;
mod context_job;
mod consent;
mod control;
mod counters;
mod decide;
mod disk_access;
mod embedding;
pub mod error;
mod feed;
mod graph;
mod grep;
pub mod handle;
mod health;
pub mod host;
mod indexer;
mod interrupted;
mod jobs;
mod late;
mod outcomes;
mod own_text;
mod patience;
mod pool;
mod questions;
pub mod rerank;
mod routes;
mod runtime;
pub mod settings;
mod shared;
pub mod source;
#[cfg(test)]
mod simulation;
mod supervisor;
#[cfg_attr(not(feature = "team"), path = "no_team.rs")]
mod team;
#[cfg(test)]
mod testing;
mod throttle;
mod unkept;
mod writer;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::settings::Settings;
use control::Control;
use feed::Feed;
use graph::Grapher;
use handle::Handle;
use handle::Reckoned;
use index::LexicalError;
use indexer::disk::{Disk, file_system};
pub use indexer::{Orphan, awaits_start, orphans, served_tables, take_over, vault_dir};
use jobs::Jobs;
use pool::Pool;
use protocol::daemon::Problem;
use provider::ledger::{self, BudgetLimits, Ledger};
use provider::{Health, ProviderRuntime, Spender};
use questions::Questions;
use rerank::Reranker;
use routes::Indexers;
use runtime::GenerationRuntime;
use shared::VaultShared;
use store::StoreError;
use supervisor::Supervisor;
use throttle::Throttle;
use vault::documents::Convert;
use vault::root::VaultError;

/// How long outstanding answers of a provider, which are paid for, are awaited when the daemon stops, or its
/// configuration changes. Service managers allow 20 s for all of a stop. Without such answers nothing is awaited.
const DRAIN: Duration = Duration::from_secs(10);

/// The same for a model that costs nothing: with closing, which follows, the daemon ends within two seconds.
const DRAIN_FREE: Duration = Duration::from_millis(1200);

/// Re-reads the configuration: as at the start, with the same flags and environment.
pub type Reload = Box<dyn Fn() -> Result<Settings, NotTaken> + Send + Sync>;

/// Why a configuration is not put in force.
#[derive(Clone, Debug, PartialEq)]
pub enum NotTaken {
    /// The configuration is wrong, or asks for something that is not available.
    Wrong(Vec<Problem>),
    /// This process lacks rights that the configuration needs, and can start itself anew to get them.
    NeedsRestart,
}

/// The engine cannot go on with a vault.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index failed.
    #[error(transparent)]
    Index(#[from] LexicalError),
    /// The vault cannot be used.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The settings of the model make no sense.
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
    /// The index of a vault needs more memory than this limit, in bytes.
    #[error(
        "its index takes more than {} MiB of memory, nine tenths of what may be taken: allow more (`host.memory_max`, or \
         the unit's MemoryMax)",
        .0 >> 20
    )]
    NoRoom(u64),
}

impl EngineError {
    fn io(path: &Path, error: &std::io::Error) -> Self {
        EngineError::Io { path: path.to_owned(), message: error.to_string() }
    }
}

/// What indexers, supervisor, handles and workers share.
struct Shared {
    control: Control,
    indexers: Indexers,
    /// The generations that answer, the default vault's first.
    vaults: ArcSwap<Vec<Arc<VaultShared>>>,
    config: ArcSwap<Settings>,
    jobs: Jobs,
    feed: Feed,
    throttle: Throttle,
    spender: Arc<Spender>,
    /// The runtime in which all calls to providers run.
    provider: ProviderRuntime,
    /// Who writes contexts, by generation.
    generations: ArcSwap<BTreeMap<String, Arc<GenerationRuntime>>>,
    grapher: Grapher,
    reranker: ArcSwapOption<Reranker>,
    reckoned: Reckoned,
    /// Who answers questions.
    questions: Questions,
    /// Embedders that are open.
    services: embedding::Services,
    /// Collections that are shared with a team.
    teams: Arc<team::Teams>,
}

/// Tells an indexer that an embedder is done with a note.
fn embedded(shared: &Shared, event: embedding::worker::EmbedEvent) {
    // The indexer may have ended; what was made is in the cache.
    shared.indexers.send(event.vault, indexer::Event::Embedded(event));
}

/// Why somebody is not asked for anything, or asked nothing of a kind (`what`), at present; `who` is how a message begins.
fn unasked(who: &str, what: &str, health: Health) -> Option<String> {
    match health {
        Health::Good => None,
        Health::Stopped(why) => Some(format!("{who} is not asked{what} any more: {why}")),
        Health::Open(wait, why) => {
            Some(format!("{who} does not answer{what} and is asked again at {}: {why}", clock_in(wait)))
        }
    }
}

/// Makes the shared state, with the ledger open and no vault yet.
fn assemble(config: &Settings, control: Control, provider: ProviderRuntime) -> std::io::Result<Shared> {
    Ok(Shared {
        control,
        indexers: Indexers::default(),
        vaults: ArcSwap::default(),
        config: ArcSwap::from_pointee(config.clone()),
        jobs: Jobs::default(),
        feed: Feed::default(),
        throttle: Throttle::new(&config.host, &config.data_dir),
        spender: spender(config),
        provider,
        generations: ArcSwap::default(),
        grapher: Grapher::start()?,
        reranker: ArcSwapOption::empty(),
        reckoned: Reckoned::default(),
        questions: Questions::default(),
        services: embedding::Services::default(),
        teams: Arc::default(),
    })
}

/// Opens the ledger, and settles what former processes left reserved.
fn spender(config: &Settings) -> Arc<Spender> {
    let ledger = Ledger::open_or_refuse(&ledger::folder(&config.data_dir));
    let generations = config.generations.keys().filter_map(|name| config.context_of(name));
    let concurrency = generations.map(|context| context.concurrency).fold(config.context.concurrency, usize::max);
    if let Err(error) = ledger.mend(concurrency.max(config.embed.concurrency), &machine::zoned()) {
        tracing::warn!(%error, "calls that were never settled stay in the ledger as they are");
    }
    Spender::new(ledger, limits(config))
}

/// What a configuration allows to be spent.
fn limits(config: &Settings) -> BudgetLimits {
    BudgetLimits { day: config.budget.day, day_tokens: config.budget.day_tokens }
}

/// A running engine.
pub struct Engine {
    /// Access to it.
    pub handle: Handle,
    thread: std::thread::JoinHandle<()>,
}

impl Engine {
    /// Starts the supervisor and an indexer for each vault. These open store and index on their own threads: the handle
    /// answers `not_ready` until then.
    /// Documents are converted by `convert`; without it they are found by their names.
    pub fn start(
        config: Settings,
        socket: PathBuf,
        reload: Reload,
        convert: Option<Arc<dyn Convert>>,
    ) -> std::io::Result<Engine> {
        let disk = file_system(&config.data_dir, convert);
        Engine::start_on(config, socket, reload, disk)
    }

    fn start_on(config: Settings, socket: PathBuf, reload: Reload, disk: Arc<dyn Disk>) -> std::io::Result<Engine> {
        host::tune_allocator();
        let (events, inbox) = mpsc::channel();
        let provider = ProviderRuntime::new(host::background_thread);
        let shared = Arc::new(assemble(&config, Control::new(events, socket, reload), provider)?);
        let pool = Pool::start()?;
        let handle = Handle::new(shared.clone());
        let mut supervisor = Supervisor::new(shared.clone(), inbox, disk, pool);
        // Listed at once, so that an early request hears that they are being opened.
        supervisor.open(&config);
        let work = move || {
            if catch_unwind(AssertUnwindSafe(|| supervisor.run())).is_err() {
                tracing::error!("the supervisor failed (a bug; please report it); the process ends");
                // Put the index on the disk and stop: without the supervisor nothing keeps the answers current.
                let until = machine::now() + DRAIN;
                shared.indexers.send_all(|| indexer::Event::Stop { drain_until: until });
                shared.control.fail();
            }
        };
        let thread = std::thread::Builder::new().name("supervisor".to_owned()).spawn(work)?;
        Ok(Engine { handle, thread })
    }

    /// Waits until the engine has ended; [`Handle::shutdown`] makes it end.
    pub fn join(self) {
        if self.thread.join().is_err() {
            tracing::error!("the engine failed; what was not yet on disk is made again at the next start");
        }
    }
}

/// Seconds since 1970 (UTC).
fn now_s() -> i64 {
    machine::timestamp().as_second()
}

/// The time of day after `wait`, for people; empty if it cannot be computed.
fn clock_in(wait: Duration) -> String {
    // Rounded up: by the time that is shown, the call has been made again.
    let at = machine::zoned().checked_add(wait.saturating_add(Duration::from_millis(999)));
    at.map_or_else(|_| String::new(), |at| at.strftime("%H:%M:%S").to_string())
}
