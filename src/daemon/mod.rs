//! The daemon put together: lock, engine, socket, signals, and what it tells its supervisor.

pub mod config;
pub mod relocate;
mod reload;
pub mod sandbox;
pub mod serve;
pub(crate) mod signals;
pub mod strange;
mod told;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::{Notify, broadcast, mpsc};

use engine::handle::Handle;
use engine::source::SettingsSource;
use engine::{Engine, Reload};
use protocol::daemon::Problems;
use protocol::events::Notice;
use protocol::folders;
use protocol::status::RunState;

use config::{Config, Loaded, Overrides, ServeConfig, config_file};
use reload::{Arguments, READ_WITHIN, Reloading};
use relocate::Relocation;
use sandbox::converter::Converter;
use sandbox::successor::Keeper;
use sandbox::{Closed, Rules};
use serve::bind::{self, BindError, Bound, DataLock};
use serve::{Door, Shutdown, keep};
use signals::{Signals, Told};
use strange::Strange;
use told::{Tell, tell};
use vault::documents::Convert;

/// Log target of lines about the daemon's own start and end.
pub const LIFE: &str = "situated::life";

/// How the daemon runs.
#[derive(Default)]
pub struct RunOptions {
    /// Called on a separate thread once the socket listens: shows what the daemon does.
    pub listen: Option<Box<dyn FnOnce(Handle) + Send>>,
}

/// The supervisor of the indexers died: the process ends, so that it gets restarted, rather than answer from an index
/// that is no longer kept current.
#[derive(Debug, thiserror::Error)]
#[error("the daemon failed inside the program (a bug; please report it); what is on disk is as it should be")]
pub struct SupervisorDied;

/// A configuration whose data folder this process has locked.
#[derive(Debug)]
pub struct Claimed {
    config: Config,
    arguments: Arguments,
    lock: DataLock,
    relocations: Vec<Relocation>,
}

impl Claimed {
    /// Takes the lock of the data. First moves what an earlier version kept elsewhere, unless the user named its place.
    ///
    /// # Errors
    /// If another daemon has the data, or their folder cannot be made.
    pub fn take(loaded: Loaded, overrides: &Overrides) -> Result<Claimed, BindError> {
        sandbox::make_files_private();
        let unnamed = Config::unnamed(&loaded, overrides);
        let arguments = Arguments::new(overrides.clone(), &loaded);
        let mut config = loaded.config;
        let (lock, data) = match &unnamed.data_dir {
            Some(location) => relocate::data(location)?,
            None => (DataLock::acquire(&config.engine.data_dir)?, None),
        };
        lock.data_dir().clone_into(&mut config.engine.data_dir);
        let file = unnamed.config_file.as_ref().and_then(relocate::config_file);
        Ok(Claimed { config, arguments, lock, relocations: data.into_iter().chain(file).collect() })
    }

    /// Where the data are.
    pub fn data_dir(&self) -> &Path {
        self.lock.data_dir()
    }
}

/// Runs until a signal or a client's `shutdown` stops it.
///
/// # Errors
/// [`BindError`] if the socket cannot be made; else what the runtime says.
pub fn daemon(claimed: Claimed, options: RunOptions) -> anyhow::Result<()> {
    let Claimed { mut config, arguments, mut lock, relocations } = claimed;
    lock.answers_within = Some(config.serve.query_timeout);
    relocations.iter().for_each(Relocation::tell);
    config.engine.source = SettingsSource::of(config_file(&arguments.overrides));
    close_to_others(&config)?;
    let bound = Arc::new(bind::bind(config.serve.socket.as_deref(), lock)?);
    let serve_config = config.serve.clone();
    let keeper = if config.engine.host.sandbox { Keeper::start().map(Arc::new) } else { None };
    // Started before rights are given up, like the keeper.
    let converter = Converter::start().map(|converter| Arc::new(converter) as Arc<dyn Convert>);
    let reload = hold(&config, arguments.clone(), bound.socket(), keeper.clone());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.min(4))
        // One more, for a reload that a signal asks for.
        .max_blocking_threads(crate::daemon::serve::MOST_THREADS + 1)
        .thread_keep_alive(machine::THREAD_KEEP_ALIVE)
        .enable_all()
        .build()?;
    // Before anything that takes time: a hang-up that nobody listens to would end a daemon that restarts itself.
    let signals = {
        let _within = runtime.enter();
        Signals::listen()
    };
    // Under the restrictions, for reading a store starts threads.
    config.engine.source.moved = engine::take_over(&config.engine.data_dir, &config.engine.vaults);
    let engine = Engine::start(config.for_engine(), bound.socket().to_owned(), reload, converter)
        .context("starting the engine")?;
    let handle = engine.handle.clone();
    if let Some(listen) = options.listen {
        let handle = handle.clone();
        std::thread::Builder::new().name("report".to_owned()).spawn(move || listen(handle))?;
    }
    tracing::info!(target: LIFE, version = env!("CARGO_PKG_VERSION"), socket = %bound.socket().display(), "the daemon listens");
    let served = runtime.block_on(serve_until_told(&bound, &handle, &serve_config, signals, keeper.is_some()));
    handle.shutdown();
    engine.join();
    runtime.shutdown_timeout(Duration::from_millis(200));
    if matches!(served, Ok(Shutdown::Restarts))
        && !handle.has_failed()
        && let Some(keeper) = keeper
    {
        return Err(start_anew(&keeper, &arguments, &bound).into());
    }
    drop(bound);
    tracing::info!(target: LIFE, "the daemon has ended");
    if handle.has_failed() {
        return Err(SupervisorDied.into());
    }
    if handle.wants_restart() {
        // A failure, because a supervisor restarts only what failed.
        let why = "another folder is in a vault's place, and only a new process may read it";
        return Err(std::io::Error::other(why).into());
    }
    served.map(drop).context("serving the socket")
}

/// Serves clients until the daemon is to end, and keeps the supervisor of the process informed; returns how it ends.
async fn serve_until_told(
    bound: &Arc<Bound>,
    handle: &Handle,
    limits: &ServeConfig,
    signals: Signals,
    can_restart: bool,
) -> std::io::Result<Shutdown> {
    let (renew, renewed) = mpsc::channel(1);
    let door = Door { listener: bound.listener()?, renewed: Some(renewed), handed_over: bound.is_handed_over() };
    let kept = tokio::spawn(keep::keep(Arc::clone(bound), renew, can_restart.then(|| handle.clone())));
    let supervised = tokio::spawn(supervise(handle.clone()));
    if bound.is_inherited() {
        // Clients of a daemon that restarted itself must not hear that it is not ready yet: until it is, they wait
        // where they connect.
        let _ = tokio::time::timeout(READY_WITHIN, started(handle)).await;
    }
    let shutdown = async {
        stopped(handle.clone(), signals).await;
        // A socket that is removed now must not be recreated.
        kept.abort();
        if can_restart && handle.wants_restart() {
            tell(Tell::Reloading);
            Shutdown::Restarts
        } else {
            tell(Tell::Stopping);
            bound.retire();
            Shutdown::Stops
        }
    };
    let served = serve::serve(door, handle.clone(), limits, shutdown).await;
    supervised.abort();
    served
}

/// Continues this process as a new daemon that has the rights that the configuration needs now. Returns only if that
/// fails.
fn start_anew(keeper: &Keeper, arguments: &Arguments, bound: &Bound) -> std::io::Error {
    tracing::info!(target: LIFE, "the daemon starts itself anew");
    let known = arguments.clone();
    let Some(arguments) = keeper.with_all_rights(move || known.of_successor()) else {
        return std::io::Error::other("the thread that starts the daemon anew has ended");
    };
    let error = match bound.bequeath() {
        Ok(bequest) => keeper.begin(arguments, bequest),
        Err(error) => error,
    };
    std::io::Error::new(error.kind(), format!("the daemon cannot start itself anew: {error}"))
}

/// How long clients wait for a daemon that has restarted itself before they are told that it is not ready.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// Keeps other users out of the data folder, and logs it if they could open it until now.
///
/// # Errors
/// Something in there is not a file.
fn close_to_others(config: &Config) -> Result<(), Strange> {
    let dir = &config.engine.data_dir;
    let holds = |path: &Path| path.starts_with(dir);
    let shared =
        folders::home().is_some_and(|home| holds(&home)) || config.engine.vaults.iter().any(|vault| holds(&vault.path));
    let Closed { closed, failed, strange } = sandbox::close_to_others(dir, shared);
    if closed > 0 {
        tracing::warn!(
            "other users could open {closed} of the daemon's files and folders in {}; they cannot any more",
            dir.display()
        );
    }
    if let Some((path, why)) = failed.first() {
        let (path, n) = (path.display(), failed.len());
        tracing::warn!("other users can open {n} of the daemon's files, {path} among them: {why}");
    }
    strange.map_or(Ok(()), Err)
}

/// Keeps the memory of a process that may hold a provider's key out of core dumps.
fn guard_keys(rules: &Rules) {
    if rules.connects || rules.commands {
        sandbox::no_core_dumps();
    }
}

/// Gives up all rights that the configuration does not need, before any threads exist except the keeper's and the
/// converter's. Returns how the configuration is reloaded under these restrictions.
fn hold(config: &Config, arguments: Arguments, socket: &Path, keeper: Option<Arc<Keeper>>) -> Reload {
    let file = config_file(&arguments.overrides);
    let rules = Rules::of(config, &file, socket);
    guard_keys(&rules);
    if config.engine.host.sandbox {
        // A command that prints a key may be one that gains rights.
        let may_gain = rules.commands;
        provider::keep_key_reader(move || {
            if !may_gain {
                sandbox::gain_no_rights();
            }
        });
    }
    let rules = rules.granted();
    sandbox::landlock::enter(config, &rules);
    let reloading = Reloading { arguments, file, socket: socket.to_owned(), began: config.clone(), rules, keeper };
    reload::in_time(move || reloading.read(), READ_WITHIN)
}

/// Resolves when the daemon is to stop: the user or the system says so, or the engine ended (a client's `shutdown`).
/// Meanwhile, a hang-up reloads the configuration, which nothing else waits for.
async fn stopped(handle: Handle, mut signals: Signals) {
    let hang_up = Notify::new();
    let told = async {
        while signals.next().await == Told::HangUp {
            hang_up.notify_one();
        }
    };
    let reloads = async {
        loop {
            hang_up.notified().await;
            reload(&handle).await;
        }
    };
    tokio::select! {
        () = told => {}
        () = reloads => {}
        () = handle.stopping() => {}
    }
}

async fn reload(handle: &Handle) {
    tell(Tell::Reloading);
    let handle = handle.clone();
    match tokio::task::spawn_blocking(move || handle.reload()).await {
        Ok(Ok(Problems { restarts: true, .. })) => return,
        Ok(Ok(Problems { problems, .. })) if problems.is_empty() => tracing::info!("the configuration was read again"),
        Ok(Ok(Problems { problems, .. })) => {
            for problem in problems {
                tracing::error!("the old configuration stays: {problem}");
            }
        }
        Ok(Err(error)) => tracing::error!(%error, "the old configuration stays"),
        Err(error) => tracing::error!(%error, "the old configuration stays"),
    }
    tell(Tell::Ready);
}

/// Resolves when what is stored can be searched, or the engine has ended.
async fn started(handle: &Handle) {
    let mut notices = handle.subscribe();
    while handle.status(None).is_ok_and(|status| status.state == RunState::Starting) {
        if matches!(notices.recv().await, Err(broadcast::error::RecvError::Closed)) {
            return;
        }
    }
}

/// Tells systemd that the daemon is ready (what is stored can be searched), what it is doing, and that it is alive: the
/// watchdog is fed only while the supervisor's loop turns. A vault whose file system hangs blocks only its own indexer,
/// and a restart would not help it.
async fn supervise(handle: Handle) {
    use broadcast::error::RecvError;
    let mut notices = handle.subscribe();
    started(&handle).await;
    tell(Tell::Ready);
    // The engine may have become idle before anybody listened.
    tell_state(&handle);
    let watchdog = told::watchdog();
    let mut tick = tokio::time::interval(watchdog.map_or(Duration::from_secs(3600), |within| within / 3));
    let mut beat = handle.beat();
    loop {
        tokio::select! {
            _ = tick.tick() => {
                let now = handle.beat();
                if watchdog.is_some() && now != beat {
                    tell(Tell::Alive);
                }
                beat = now;
            }
            notice = notices.recv() => match notice {
                Ok(notice) if matches!(*notice, Notice::State { .. }) => tell_state(&handle),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => tell_state(&handle),
                Err(RecvError::Closed) => return,
            },
        }
    }
}

fn tell_state(handle: &Handle) {
    let Ok(status) = handle.status(None) else { return };
    let (notes, chunks) = status.vaults.iter().fold((0, 0), |(n, c), v| (n + v.notes, c + v.chunks));
    let word = match status.state {
        RunState::Starting => "starting",
        RunState::Indexing => "indexing",
        RunState::Idle => "idle",
        RunState::Degraded => "needs attention: see `situated status`",
        RunState::Paused => "paused",
    };
    let counted = |n: u64, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let doing = format!("{word}; {}, {}", counted(notes, "note"), counted(chunks, "chunk"));
    tell(Tell::Doing(&doing));
}
