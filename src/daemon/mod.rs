//! The daemon put together: lock, engine, socket, signals, and what it tells its supervisor.

pub mod config;
pub mod relocate;
mod reload;
pub mod sandbox;
pub mod serve;
pub(crate) mod signals;
pub mod strange;
mod told;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::{Notify, broadcast, mpsc};

use engine::handle::Handle;
use engine::settings::Settings;
use engine::source::SettingsSource;
use engine::{Engine, NotTaken, Reload};
use protocol::daemon::{Problem, Problems};
use protocol::events::Notice;
use protocol::folders;
use protocol::status::RunState;

use config::{Config, ConfigErrors, Loaded, Overrides, config_file, real_folder};
use reload::READ_WITHIN;
use relocate::Relocation;
use sandbox::converter::Converter;
use sandbox::successor::Keeper;
use sandbox::{Closed, Rules};
use serve::bind::{self, BindError, Bound, DataLock};
use serve::{Door, keep};
use signals::{Signals, Told};
use strange::Strange;
use told::{Tell, tell};
use vault::documents::Convert;

/// Log target of lines about the daemon's own start and end.
pub const LIFE: &str = "situated::life";

/// How the daemon runs.
#[derive(Default)]
pub struct RunOptions {
    /// Where the configuration came from, to read it again.
    pub overrides: Overrides,
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
    let Claimed { mut config, mut lock, relocations } = claimed;
    lock.answers_within = Some(config.serve.query_timeout);
    relocations.iter().for_each(Relocation::tell);
    config.engine.source = SettingsSource::of(config_file(&options.overrides));
    close_to_others(&config)?;
    let bound = Arc::new(bind::bind(config.serve.socket.as_deref(), lock)?);
    let serve_config = config.serve.clone();
    let keeper = if config.engine.host.sandbox { Keeper::start().map(Arc::new) } else { None };
    let arguments = Arguments::new(options.overrides);
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
    let served = runtime.block_on(async {
        let listener = bound.listener()?;
        let (renew, renewed) = mpsc::channel(1);
        let restarts = Arc::new(AtomicBool::new(false));
        let handed_over = bound.is_handed_over();
        let door = Door { listener, renewed: Some(renewed), handed_over, restarts: restarts.clone() };
        let kept = tokio::spawn(keep::keep(Arc::clone(&bound), renew));
        let supervised = tokio::spawn(supervise(handle.clone()));
        if bound.is_inherited() {
            // Clients of a daemon that restarted itself must not hear that it is not ready yet: until it is, they wait
            // where they connect.
            let _ = tokio::time::timeout(READY_WITHIN, started(&handle)).await;
        }
        let stop = stopped(handle.clone(), signals);
        let shutdown = async {
            stop.await;
            // A socket that is removed now must not be recreated.
            kept.abort();
            if keeper.is_some() && handle.wants_restart() {
                restarts.store(true, Ordering::Relaxed);
                tell(Tell::Reloading);
            } else {
                tell(Tell::Stopping);
                bound.retire();
            }
        };
        let served = serve::serve(door, handle.clone(), &serve_config, shutdown).await;
        supervised.abort();
        served
    });
    handle.shutdown();
    engine.join();
    runtime.shutdown_timeout(Duration::from_millis(200));
    if let Some(keeper) = keeper.filter(|_| handle.wants_restart() && !handle.has_failed()) {
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
    served.context("serving the socket")
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

/// What the daemon was started with, to be applied again when the configuration is reloaded.
#[derive(Clone, Debug)]
struct Arguments {
    overrides: Overrides,
    /// Whether `situated run VAULT...` named vaults that the file did not name.
    exception: bool,
    /// Whether the file has come to name all of them. From then on it says what is served, even if it drops one again.
    taken_over: Arc<AtomicBool>,
}

impl Arguments {
    fn new(overrides: Overrides) -> Self {
        let exception = !are_named(&overrides);
        Arguments { overrides, exception, taken_over: Arc::default() }
    }

    /// The overrides to reload with. If the file has come to name all vaults of the command line, these are no exception
    /// any more: all vaults of the file are served.
    fn now(&self) -> Overrides {
        let known = self.taken_over.load(Ordering::Relaxed);
        let taken_over = known || (self.exception && are_named(&self.overrides));
        self.taken_over.store(taken_over, Ordering::Relaxed);
        let vaults = if taken_over { Vec::new() } else { self.overrides.vaults.clone() };
        Overrides { vaults, ..self.overrides.clone() }
    }

    /// The arguments of this process, without vaults that are no exception any more.
    fn of_successor(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let gone = if self.now().vaults.is_empty() { self.overrides.vaults.as_slice() } else { &[] };
        for vault in gone {
            if let Some(at) = arguments.iter().rposition(|given| given == vault.as_os_str()) {
                arguments.remove(at);
            }
        }
        arguments
    }
}

/// Whether the file names all vaults of the command line.
fn are_named(overrides: &Overrides) -> bool {
    if overrides.vaults.is_empty() {
        return true;
    }
    let (loaded, _) = Config::read(&Overrides { vaults: Vec::new(), ..overrides.clone() });
    let in_file: Vec<PathBuf> = loaded.config.engine.vaults.iter().map(|known| real_folder(&known.path)).collect();
    overrides.vaults.iter().all(|vault| in_file.contains(&real_folder(vault)))
}

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
    if rules.commands && config.engine.host.sandbox {
        provider::keep_command_runner();
    }
    let rules = rules.granted();
    sandbox::landlock::enter(config, &rules);
    let socket = socket.to_owned();
    let began = config.clone();
    // What a new process would make of the present configuration: one that could not use it must not replace this one.
    let anew = move |arguments: &Arguments| {
        let arguments = arguments.clone();
        let read = keeper.as_ref()?.with_all_rights(move || present(&arguments));
        read.map(|read| read.map_or_else(|errors| NotTaken::Wrong(errors.problems), |_| NotTaken::NeedsRestart))
    };
    let read = move || {
        let mut source = SettingsSource::of(file.clone());
        let loaded = present(&arguments).map_err(|errors| {
            // The problem may only be that this process must not look.
            let held = engine::host::sandbox::is_held();
            let anew = if held { anew(&arguments) } else { None };
            anew.unwrap_or_else(|| NotTaken::Wrong(errors.problems.into_iter().map(explained).collect()))
        })?;
        let needed = Rules::of(&loaded.config, &file, &socket);
        guard_keys(&needed);
        let engine = &loaded.config.engine;
        if let Some(vault) = engine::awaits_start(&engine.data_dir, &engine.vaults) {
            let message = format!("vault `{vault}` takes over its index when the daemon starts; {START_AGAIN}");
            return Err(anew(&arguments).unwrap_or_else(|| NotTaken::Wrong(vec![whole(&loaded, message)])));
        }
        let lacking = rules.lacks(&needed);
        match lacking.filter(|_| engine::host::sandbox::is_held()) {
            None => {
                source.awaits_start = awaits_start(&began, &loaded.config);
                if !source.awaits_start.is_empty() {
                    tracing::warn!("taken at the next start of the daemon only: {}", source.awaits_start.join(", "));
                }
                Ok(Settings { source, ..loaded.config.for_engine() })
            }
            Some(lacking) => Err(anew(&arguments).unwrap_or_else(|| {
                NotTaken::Wrong(vec![whole(&loaded, format!("the daemon must be allowed to {lacking}; {RESTART}"))])
            })),
        }
    };
    reload::in_time(read, READ_WITHIN)
}

/// The settings that differ from those that the daemon began with, and that are read only then.
fn awaits_start(began: &Config, now: &Config) -> Vec<String> {
    let differs = [
        ("data_dir", began.engine.data_dir != now.engine.data_dir),
        ("serve.socket", began.serve.socket != now.serve.socket),
        ("serve.max_connections", began.serve.max_connections != now.serve.max_connections),
        ("serve.query_timeout", began.serve.query_timeout != now.serve.query_timeout),
        ("host.sandbox", began.engine.host.sandbox != now.engine.host.sandbox),
        ("search.language", began.engine.search.language != now.engine.search.language),
    ];
    differs.iter().filter(|(_, differs)| *differs).map(|(name, _)| (*name).to_owned()).collect()
}

/// The configuration as it is now.
///
/// # Errors
/// It is wrong, or names no vault: a daemon that starts with none ends at once, so one that runs keeps those that it has.
fn present(arguments: &Arguments) -> Result<Loaded, ConfigErrors> {
    let loaded = Config::load(&arguments.now())?;
    if loaded.config.engine.vaults.is_empty() {
        let message = "no vault is named, and a daemon without one has nothing to do: `situated vault add FOLDER` \
                       names one, `situated stop` ends the daemon"
            .to_owned();
        return Err(ConfigErrors { problems: vec![whole(&loaded, message)] });
    }
    Ok(loaded)
}

/// A problem of no line of the file.
fn whole(loaded: &Loaded, message: String) -> Problem {
    Problem { file: loaded.file.clone(), line: None, column: None, key: None, message }
}

/// The kernel's restrictions on the daemon cannot be widened while it runs.
const RESTART: &str = "the kernel holds it to what it needed when it started, so start it again: `situated service restart`, or \
     `situated stop` and `situated run`";

/// What a user can do who wants a start.
const START_AGAIN: &str = "start it again: `situated service restart`, or `situated stop` and `situated run`";

/// `EACCES`: something restricts the process.
const ACCESS_DENIED: i32 = 13;

/// Adds to the problem of an unreadable vault that the daemon's own restrictions may be the reason.
fn explained(problem: Problem) -> Problem {
    let vault =
        problem.key.as_deref().is_some_and(|key| key.starts_with("vault.") && key.rsplit('.').next() == Some("path"));
    // All that is left of the system's error is its text.
    let refused = std::io::Error::from_raw_os_error(ACCESS_DENIED).to_string();
    if !(vault && engine::host::sandbox::is_held() && problem.message.contains(&refused)) {
        return problem;
    }
    Problem { message: format!("{}; {RESTART}", problem.message), ..problem }
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
