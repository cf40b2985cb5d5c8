//! Where things lie for this user: configuration, data, logs, and the folders for the socket.
//!
//! The crate `directories` says which folders the platform has for these, XDG's or those of a Mac's Library; nothing else in
//! the program asks for them. Where an earlier version used another place, a [`Location`] knows both: the daemon moves what
//! is there when it starts, and everybody else uses it where it lies.

mod bases;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use bases::{Bases, Platform};

/// The folder of the configuration, as it is shown to a user who has set no variable.
pub const SHOWN_CONFIG: &str =
    shown("~/.config/situated", "~/Library/Application Support/situated", r"%APPDATA%\situated");

/// The configuration file, as it is shown to a user who has set no variable.
pub const SHOWN_CONFIG_FILE: &str = shown(
    "~/.config/situated/config.toml",
    "~/Library/Application Support/situated/config.toml",
    r"%APPDATA%\situated\config.toml",
);

/// The folder of the data, as it is shown to a user who has set no variable.
pub const SHOWN_DATA: &str =
    shown("~/.local/share/situated", "~/Library/Application Support/situated/data", r"%LOCALAPPDATA%\situated\data");

/// The folder of the socket, as it is shown to a user who has set no variable.
pub const SHOWN_SOCKET: &str =
    shown("$XDG_RUNTIME_DIR/situated", "~/Library/Application Support/situated/run", r"%LOCALAPPDATA%\situated\run");

const fn shown(xdg: &'static str, mac: &'static str, windows: &'static str) -> &'static str {
    match Platform::HERE {
        Platform::Xdg => xdg,
        Platform::Mac => mac,
        Platform::Windows => windows,
    }
}

/// Where one thing lies that nobody has given another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The place on this platform.
    pub path: PathBuf,
    /// Where an earlier version kept it, if that was elsewhere.
    pub former: Option<Former>,
}

/// A place that an earlier version used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Former {
    /// The place.
    pub path: PathBuf,
    /// Whether the user named it, by a variable: then what is there stays there.
    pub named: bool,
}

impl Location {
    /// Where it is: at the former place if only that holds something.
    pub fn in_use(&self) -> &Path {
        match &self.former {
            Some(former) if holds(&former.path) && !holds(&self.path) => &former.path,
            _ => &self.path,
        }
    }

    /// What lies at the former place although the present one is used.
    pub fn left_behind(&self) -> Option<&Path> {
        let former = self.former.as_ref().filter(|former| holds(&former.path) && holds(&self.path));
        former.map(|former| former.path.as_path())
    }

    /// Whether a program that no variable of this shell reaches looks at `path` too.
    pub fn is_usual(&self, path: &Path) -> bool {
        self.path == path || self.former.as_ref().is_some_and(|former| !former.named && former.path == path)
    }
}

/// The folders of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The home folder; `None` if there is none, or its path is relative.
    pub home: Option<PathBuf>,
    /// The folder in which programs keep their configuration.
    pub config_dir: PathBuf,
    /// The configuration file.
    pub config_file: Location,
    /// The folder of indexes, paid contexts and the ledger.
    pub data_dir: Location,
    /// Where logs go that no journal takes; `None` where the platform has no such folder.
    pub state_dir: Option<PathBuf>,
    /// What `XDG_RUNTIME_DIR` says; `None` if it says nothing, and on a Mac.
    pub runtime_dir: Option<PathBuf>,
    /// A folder for the socket that does not change from shell to shell, where the user's home has one.
    pub socket_dir: Option<PathBuf>,
    /// Where other programs have put models of a Hugging Face hub: `HF_HUB_CACHE`, `HF_HOME`, or the usual place.
    pub hub_cache: PathBuf,
}

impl Folders {
    /// Those of this process. An empty or relative variable counts as unset.
    pub fn here() -> Folders {
        Folders::of(Platform::HERE, &Bases::here(Platform::HERE), &|name| std::env::var_os(name))
    }

    /// Those of a process of this user for which no variable is set, as for a service.
    pub fn without_variables(home: &Path) -> Folders {
        Folders::of(Platform::HERE, &Bases::usual(Platform::HERE, home), &|_| None)
    }

    fn of(platform: Platform, bases: &Bases, variable: &dyn Fn(&str) -> Option<OsString>) -> Folders {
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        // Of the hub's variables a relative one counts too, as it does for the hub's own programs.
        let given = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let own = bases.data.join("situated");
        let former = |name: &str, usual: &str, file: &str| {
            let usual = Former { path: bases.root().join(usual).join(file), named: false };
            let named = absolute(name).map(|dir| Former { path: dir.join(file), named: true });
            Some(named.filter(|named| holds(&named.path)).unwrap_or(usual))
        };
        const CONFIG_FILE: &str = "situated/config.toml";
        let (data_dir, former_config, former_data, socket_dir) = match platform {
            Platform::Xdg => (own, None, None, None),
            // A pipe lies in no folder; its name is made of the path.
            Platform::Windows => (own.join("data"), None, None, bases.home.is_some().then(|| own.join("run"))),
            Platform::Mac => (
                // Configuration and data have one folder there, and are moved apart from each other.
                own.join("data"),
                former("XDG_CONFIG_HOME", ".config", CONFIG_FILE),
                former("XDG_DATA_HOME", ".local/share", "situated"),
                // `$TMPDIR` differs between shells and is swept.
                bases.home.is_some().then(|| own.join("run")),
            ),
        };
        let hub_cache = given("HF_HUB_CACHE").or_else(|| Some(given("HF_HOME")?.join("hub")));
        Folders {
            home: bases.home.clone(),
            config_dir: bases.config.clone(),
            config_file: Location { path: bases.config.join(CONFIG_FILE), former: former_config },
            data_dir: Location { path: data_dir, former: former_data },
            state_dir: bases.state.as_ref().map(|state| state.join("situated")),
            runtime_dir: bases.runtime.clone(),
            socket_dir,
            hub_cache: hub_cache.unwrap_or_else(|| bases.cache.join("huggingface/hub")),
        }
    }
}

/// The user's home folder, if there is one.
pub fn home() -> Option<PathBuf> {
    Bases::here(Platform::HERE).home
}

/// The folder that a login session of a user gets, whether or not `XDG_RUNTIME_DIR` says so: tmux, cron and sudo lose the
/// variable.
pub fn session_dir(uid: u32) -> PathBuf {
    PathBuf::from(format!("/run/user/{uid}"))
}

/// Whether something is at `path`: an empty folder is nothing, and what cannot be looked at is something.
fn holds(path: &Path) -> bool {
    let gone = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => path.read_dir().map_or(true, |mut entries| entries.next().is_some()),
        Ok(_) => true,
        Err(error) => !gone(&error),
    }
}

#[cfg(test)]
mod tests;
