//! The daemon put together: lock, engine, socket, signals, and what it tells its supervisor.

pub mod config;
pub mod relocate;
pub mod sandbox;
pub mod serve;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{broadcast, mpsc};

use engine::handle::Handle;
use engine::{Engine, Reload};
use protocol::daemon::Problem;
use protocol::events::Notice;
use protocol::folders;
use protocol::status::RunState;

use config::{Config, Loaded, Overrides, config_file};
use relocate::Relocation;
use sandbox::{Closed, Rules};
use serve::bind::{self, BindError, DataLock};
use serve::{Door, keep};

/// Target of what a log says about the daemon's own beginning and end.
pub const LIFE: &str = "situated::life";

/// How the daemon runs.
#[derive(Default)]
pub struct RunOptions {
    /// Where the configuration came from, to read it again.
    pub overrides: Overrides,
    /// Called on a thread of its own once the socket listens: shows what the daemon does.
    pub listen: Option<Box<dyn FnOnce(Handle) + Send>>,
}

/// The supervisor of the indexers died: the process ends, to be started again, rather than answer from an index that is no
/// longer kept current.
#[derive(Debug, thiserror::Error)]
#[error("the daemon failed inside the program (a bug; please report it); what is on disk is as it should be")]
pub struct SupervisorDied;

/// A configuration whose data are this process's alone.
#[derive(Debug)]
pub struct Claimed {
    config: Config,
    lock: DataLock,
    relocations: Vec<Relocation>,
}

impl Claimed {
    /// Takes the lock of the data. What an earlier version kept elsewhere, and nobody gave a place, is moved first.
    ///
    /// # Errors
    /// If another daemon has the data, or their folder cannot be made.
    pub fn take(loaded: Loaded, overrides: &Overrides) -> Result<Claimed, BindError> {
        sandbox::make_files_private();
        let unnamed = Config::unnamed(&loaded, overrides);
        let mut config = loaded.config;
        let (lock, data) = match &unnamed.data_dir {
            Some(location) => relocate::data(location)?,
            None => (DataLock::acquire(&config.engine.data_dir)?, None),
        };
        lock.data_dir().clone_into(&mut config.engine.data_dir);
        let file = unnamed.config_file.as_ref().and_then(relocate::config_file);
        Ok(Claimed { config, lock, relocations: data.into_iter().chain(file).collect() })
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
    let Claimed { config, lock, relocations } = claimed;
    relocations.iter().for_each(Relocation::tell);
    close_to_others(&config);
    let bound = Arc::new(bind::bind(config.serve.socket.as_deref(), lock)?);
    let serve_config = config.serve.clone();
    let reload = hold(&config, options.overrides, bound.socket());
    let engine =
        Engine::start(config.for_engine(), bound.socket().to_owned(), reload).context("starting the engine")?;
    let handle = engine.handle.clone();
    if let Some(listen) = options.listen {
        let handle = handle.clone();
        std::thread::Builder::new().name("report".to_owned()).spawn(move || listen(handle))?;
    }
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.min(4))
        // One more, for a reload that a signal asks for.
        .max_blocking_threads(crate::daemon::serve::MOST_THREADS + 1)
        .enable_all()
        .build()?;
    tracing::info!(target: LIFE, version = env!("CARGO_PKG_VERSION"), socket = %bound.socket().display(), "the daemon listens");
    let served = runtime.block_on(async {
        let listener = tokio::net::UnixListener::from_std(bound.listener()?)?;
        let (renew, renewed) = mpsc::channel(1);
        let door = Door { listener, renewed: Some(renewed), handed_over: bound.is_handed_over() };
        let kept = tokio::spawn(keep::keep(Arc::clone(&bound), renew));
        let supervised = tokio::spawn(supervise(handle.clone()));
        let stop = stopped(handle.clone());
        let shutdown = async {
            stop.await;
            notify(&[sd_notify::NotifyState::Stopping]);
            // What is removed now is not to be made anew.
            kept.abort();
            bound.retire();
        };
        let served = serve::serve(door, handle.clone(), &serve_config, shutdown).await;
        supervised.abort();
        served
    });
    handle.shutdown();
    engine.join();
    runtime.shutdown_timeout(Duration::from_millis(200));
    drop(bound);
    tracing::info!(target: LIFE, "the daemon has ended");
    if handle.has_failed() {
        return Err(SupervisorDied.into());
    }
    if handle.wants_restart() {
        // A failure, for a supervisor starts again only what failed.
        let why = "another folder is in a vault's place, and only a new process may read it";
        return Err(std::io::Error::other(why).into());
    }
    served.context("serving the socket")
}

/// Keeps others out of the data folder, and says so if they were not.
fn close_to_others(config: &Config) {
    let dir = &config.engine.data_dir;
    let holds = |path: &Path| path.starts_with(dir);
    let shared =
        folders::home().is_some_and(|home| holds(&home)) || config.engine.vaults.iter().any(|vault| holds(&vault.path));
    let Closed { closed, failed } = sandbox::close_to_others(dir, shared);
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
}

/// Keeps the memory of a process that may hold a provider's key out of core dumps.
fn guard_keys(rules: &Rules) {
    if rules.connects || rules.commands {
        sandbox::no_core_dumps();
    }
}

/// Gives up all rights that the configuration does not need, before there is any other thread, and says how the
/// configuration is read again under that.
fn hold(config: &Config, overrides: Overrides, socket: &Path) -> Reload {
    let file = config_file(&overrides);
    let rules = Rules::of(config, &file, socket);
    guard_keys(&rules);
    if rules.commands && config.engine.host.sandbox {
        provider::keep_command_runner();
    }
    sandbox::landlock::enter(config, &rules);
    let socket = socket.to_owned();
    let (data_dir, own_socket) = (config.engine.data_dir.clone(), config.serve.socket.clone());
    Box::new(move || {
        let loaded = Config::load(&overrides).map_err(|errors| {
            let explained = errors.problems.into_iter().map(explained);
            explained.collect::<Vec<_>>()
        })?;
        let needed = Rules::of(&loaded.config, &file, &socket);
        guard_keys(&needed);
        let lacking = rules.lacks(&needed);
        match lacking.filter(|_| engine::host::sandbox::is_held()) {
            None => {
                if loaded.config.engine.data_dir != data_dir || loaded.config.serve.socket != own_socket {
                    tracing::warn!("another `data_dir` or `serve.socket` takes effect when the daemon is started anew");
                }
                Ok(loaded.config.for_engine())
            }
            Some(lacking) => Err(vec![Problem {
                file: loaded.file,
                line: None,
                column: None,
                key: None,
                message: format!("the daemon must be allowed to {lacking}; {RESTART}"),
            }]),
        }
    })
}

/// What the kernel holds the daemon to cannot be widened while it runs.
const RESTART: &str = "the kernel holds it to what it needed when it started, so start it again: `situated service restart`, or \
     `situated stop` and `situated run`";

/// A vault that others can read is kept from the daemon by what holds it.
fn explained(problem: Problem) -> Problem {
    let vault =
        problem.key.as_deref().is_some_and(|key| key.starts_with("vault.") && key.rsplit('.').next() == Some("path"));
    // All that is left of the system's error is its text.
    let refused = std::io::Error::from_raw_os_error(libc::EACCES).to_string();
    if !(vault && engine::host::sandbox::is_held() && problem.message.contains(&refused)) {
        return problem;
    }
    Problem { message: format!("{}; {RESTART}", problem.message), ..problem }
}

/// Resolves when the daemon is to stop: SIGTERM, SIGINT, or the engine ended (a client's `shutdown`). SIGHUP
/// re-reads the configuration on the way.
async fn stopped(handle: Handle) {
    let listen = |kind| signal(kind).ok();
    let mut terminate = listen(SignalKind::terminate());
    let mut interrupt = listen(SignalKind::interrupt());
    let mut hangup = listen(SignalKind::hangup());
    loop {
        tokio::select! {
            () = received(&mut terminate) => return,
            () = received(&mut interrupt) => return,
            () = handle.stopping() => return,
            () = received(&mut hangup) => reload(&handle).await,
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

async fn reload(handle: &Handle) {
    notify(&[
        sd_notify::NotifyState::Reloading,
        sd_notify::NotifyState::monotonic_usec_now().unwrap_or(sd_notify::NotifyState::Reloading),
    ]);
    let handle = handle.clone();
    match tokio::task::spawn_blocking(move || handle.reload()).await {
        Ok(Ok(problems)) if problems.is_empty() => tracing::info!("the configuration was read again"),
        Ok(Ok(problems)) => {
            for problem in problems {
                tracing::error!("the old configuration stays: {problem}");
            }
        }
        Ok(Err(error)) => tracing::error!(%error, "the old configuration stays"),
        Err(error) => tracing::error!(%error, "the old configuration stays"),
    }
    notify(&[sd_notify::NotifyState::Ready]);
}

/// Tells systemd that the daemon is ready (what is stored can be searched), what it is doing, and that it is
/// alive: the watchdog is fed only while the supervisor's loop turns: a vault whose file system hangs keeps its own
/// indexer, and starting again would not help it.
async fn supervise(handle: Handle) {
    use broadcast::error::RecvError;
    let mut notices = handle.subscribe();
    while handle.status(None).is_ok_and(|status| status.state == RunState::Starting) {
        if matches!(notices.recv().await, Err(RecvError::Closed)) {
            return;
        }
    }
    notify(&[sd_notify::NotifyState::Ready]);
    // The engine may have come to rest before anybody listened.
    tell_state(&handle);
    let watchdog = sd_notify::watchdog_enabled().filter(|within| !within.is_zero());
    let mut tick = tokio::time::interval(watchdog.map_or(Duration::from_secs(3600), |within| within / 3));
    let mut beat = handle.beat();
    loop {
        tokio::select! {
            _ = tick.tick() => {
                let now = handle.beat();
                if watchdog.is_some() && now != beat {
                    notify(&[sd_notify::NotifyState::Watchdog]);
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
    let told = format!("{word}; {}, {}", counted(notes, "note"), counted(chunks, "chunk"));
    notify(&[sd_notify::NotifyState::Status(&told)]);
}

fn notify(states: &[sd_notify::NotifyState<'_>]) {
    // Without a supervisor no process listens.
    let _ = sd_notify::notify(states);
}
