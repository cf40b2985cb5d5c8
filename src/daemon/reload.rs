//! How the configuration is read while the daemon runs: by a process that has given up the rights which it did not need,
//! and on a thread of its own, because a look at a vault whose file system hangs does not end.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::config::{Config, ConfigErrors, Loaded, Overrides, real_folder};
use super::guard_keys;
use super::sandbox::Rules;
use super::sandbox::successor::Keeper;
use engine::host::sandbox::is_held;
use engine::settings::Settings;
use engine::source::SettingsSource;
use engine::{NotTaken, Reload};
use protocol::daemon::Problem;

/// How long a reading may take: less than a request may, so that who asks for one hears why there is none.
pub(super) const READ_WITHIN: Duration = Duration::from_secs(8);

/// Has `read` read the configuration, and waits for it no longer than `within`. A reading that comes later than that is
/// not used. Readings take turns, so that however many are asked for, one thread hangs.
pub(super) fn in_time(
    read: impl Fn() -> Result<Settings, NotTaken> + Send + Sync + 'static,
    within: Duration,
) -> Reload {
    let read = Arc::new(read);
    let last = Mutex::new(None::<Receiver<Result<Settings, NotTaken>>>);
    Box::new(move || {
        let until = Instant::now() + within;
        let left = || until.saturating_duration_since(Instant::now());
        let late = || not_taken(format!("it could not be read within {} s: {HANGS}", within.as_secs_f32()));
        let mut last = last.try_lock_until(until).ok_or_else(late)?;
        if let Some(before) = &*last
            && matches!(before.recv_timeout(left()), Err(RecvTimeoutError::Timeout))
        {
            return Err(late());
        }
        let (done, read) = {
            let (sender, receiver) = mpsc::channel();
            let read = Arc::clone(&read);
            // Nobody may wait any more.
            (receiver, move || drop(sender.send(read())))
        };
        let thread = thread::Builder::new().name("reload".to_owned()).spawn(read);
        thread.map_err(|error| not_taken(format!("it cannot be read now: {error}")))?;
        let outcome = done.recv_timeout(left());
        *last = outcome.is_err().then_some(done);
        outcome.unwrap_or_else(|_| Err(late()))
    })
}

/// What is kept to read the configuration again.
pub(super) struct Reloading {
    pub(super) arguments: Arguments,
    pub(super) file: PathBuf,
    pub(super) socket: PathBuf,
    /// The configuration that the daemon began with.
    pub(super) began: Config,
    /// The rights that it has kept.
    pub(super) rules: Rules,
    /// What can start a new process that has others.
    pub(super) keeper: Option<Arc<Keeper>>,
}

impl Reloading {
    /// Reads the configuration as it is now.
    pub(super) fn read(&self) -> Result<Settings, NotTaken> {
        let mut source = SettingsSource::of(self.file.clone());
        let loaded = self.arguments.present().map_err(|errors| {
            // The problem may only be that this process must not look.
            let anew = if is_held() { self.anew() } else { None };
            anew.unwrap_or_else(|| NotTaken::Wrong(errors.problems.into_iter().map(explained).collect()))
        })?;
        let needed = Rules::of(&loaded.config, &self.file, &self.socket);
        guard_keys(&needed);
        let engine = &loaded.config.engine;
        let lacking = self.rules.lacks(&needed).filter(|_| is_held());
        let why = match (engine::awaits_start(&engine.data_dir, &engine.vaults), lacking) {
            (Some(vault), _) => format!("vault `{vault}` takes over its index when the daemon starts; {START_AGAIN}"),
            (None, Some(lacking)) => format!("the daemon must be allowed to {lacking}; {RESTART}"),
            (None, None) => {
                source.awaits_start = awaits_start(&self.began, &loaded.config);
                source.awaits_start.extend(loaded.left_out.iter().map(|name| format!("vault `{name}`")));
                if !source.awaits_start.is_empty() {
                    tracing::warn!("taken at the next start of the daemon only: {}", source.awaits_start.join(", "));
                }
                return Ok(Settings { source, ..loaded.config.for_engine() });
            }
        };
        Err(self.anew().unwrap_or_else(|| NotTaken::Wrong(vec![whole(&loaded, why)])))
    }

    /// What a new process would make of the present configuration: one that could not use it must not replace this one.
    fn anew(&self) -> Option<NotTaken> {
        let arguments = self.arguments.clone();
        let read = self.keeper.as_ref()?.with_all_rights(move || arguments.present())?;
        Some(read.map_or_else(|errors| NotTaken::Wrong(errors.problems), |_| NotTaken::NeedsRestart))
    }
}

/// What the daemon was started with, to be applied again when the configuration is reloaded.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    pub(super) overrides: Overrides,
    /// Whether `situated run VAULT...` named vaults that the file did not name.
    exception: bool,
    /// What of `overrides` still counts. Once the file has named a vault of the command line, it says whether that is
    /// served: what it says of the vault, as which notes are private, must not be lost with its name.
    now: Arc<Mutex<Overrides>>,
}

impl Arguments {
    pub(super) fn new(overrides: Overrides, loaded: &Loaded) -> Self {
        let exception = !loaded.beside_file.is_empty();
        let arguments = Arguments { exception, now: Arc::new(Mutex::new(overrides.clone())), overrides };
        arguments.compare(&mut arguments.now.lock(), loaded);
        arguments
    }

    /// Takes what the file says now into account. Once it names all vaults of the command line, these are no exception any
    /// more, and all vaults of the file are served, from then on; so they are where both name the same.
    fn compare(&self, now: &mut Overrides, loaded: &Loaded) {
        now.named = now.vaults.iter().filter(|folder| !loaded.beside_file.contains(folder)).cloned().collect();
        let decides = self.exception || loaded.left_out.is_empty();
        if decides && loaded.beside_file.is_empty() && !loaded.config.engine.vaults.is_empty() {
            now.vaults.clear();
        }
    }

    /// The configuration as it is now.
    fn load(&self) -> Result<Loaded, ConfigErrors> {
        let mut now = self.now.lock();
        let loaded = Config::load(&now)?;
        if now.vaults.is_empty() {
            return Ok(loaded);
        }
        self.compare(&mut now, &loaded);
        if now.vaults.is_empty() { Config::load(&now) } else { Ok(loaded) }
    }

    /// As [`Arguments::load`].
    ///
    /// # Errors
    /// It is wrong, or names no vault: a daemon that starts with none ends at once, so one that runs keeps those that it
    /// has.
    fn present(&self) -> Result<Loaded, ConfigErrors> {
        let loaded = self.load()?;
        if loaded.config.engine.vaults.is_empty() {
            let message = if loaded.left_out.is_empty() {
                "no vault is named, and a daemon without one has nothing to do: `situated vault add FOLDER` names one, \
                 `situated stop` ends the daemon"
            } else {
                "it names no vault any more that `situated run` was given, and a daemon without one has nothing to do: \
                 `situated stop` ends the daemon, and `situated run` serves those that are named"
            };
            return Err(ConfigErrors { problems: vec![whole(&loaded, message.to_owned())] });
        }
        Ok(loaded)
    }

    /// The arguments of this process, without vaults that the file decides about.
    pub(super) fn of_successor(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        // The file may have come to name them since it was read last; what else is in it does not matter here.
        let loaded = self.load();
        let served = |folder: &PathBuf| {
            let folder = real_folder(folder);
            let vaults =
                |loaded: &Loaded| loaded.config.engine.vaults.iter().any(|vault| real_folder(&vault.path) == folder);
            loaded.as_ref().map_or(true, vaults)
        };
        let counts = !self.now.lock().vaults.is_empty();
        for vault in self.overrides.vaults.iter().filter(|folder| !(counts && served(folder))) {
            if let Some(at) = arguments.iter().rposition(|given| given == vault.as_os_str()) {
                arguments.remove(at);
            }
        }
        arguments
    }
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
    if !(vault && is_held() && problem.message.contains(&refused)) {
        return problem;
    }
    Problem { message: format!("{}; {RESTART}", problem.message), ..problem }
}

/// What may have happened, and what to do.
const HANGS: &str = "the file system of a vault, or of the file itself, does not answer; `situated call reload` reads it \
    again once that does";

fn not_taken(message: String) -> NotTaken {
    NotTaken::Wrong(vec![Problem { file: None, line: None, column: None, key: None, message }])
}

#[cfg(test)]
mod tests;
