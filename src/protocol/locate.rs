//! Where the socket is: one order of places for the daemon and its clients.
//!
//! Clients often run in another environment than the daemon (tmux, cron, sudo, an editor started from a desktop), so
//! the daemon also writes the path that it really serves beside its data, and clients look there before they guess.

use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use platform::files::{open_at_once, owner};
use serde::{Deserialize, Serialize};

use crate::folders::{Folders, Location, session_dir};

/// Longest socket path in bytes: `sun_path` holds 104 on macOS, its NUL included. Linux has four more, but a
/// configuration should not work on one of the two only.
pub const MAX_SOCKET_PATH: usize = 103;

/// Name of the socket in a folder that the user did not choose.
const SOCKET: &str = "sock";

/// Name of the lock in the data folder.
pub const LOCK: &str = "lock";

/// Name of the discovery file in the data folder.
pub const DAEMON: &str = "daemon.json";

/// Who holds a data folder; content of `lock` and `daemon.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Process of the daemon, for messages only: a pid is no proof of life.
    pub pid: u32,
    /// Version of the daemon.
    pub version: String,
    /// The socket that it serves; absent before it is bound.
    #[serde(default)]
    pub socket: Option<PathBuf>,
    /// After how many milliseconds it gives a query up.
    #[serde(default)]
    pub answers_within_ms: Option<u64>,
    /// Seconds since 1970 (UTC).
    pub started: u64,
}

/// What the choice of a path depends on besides the configuration.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// `SITUATED_SOCKET`.
    pub socket: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`; see [`Folders::runtime_dir`].
    pub runtime_dir: Option<PathBuf>,
    /// The folder that a login session gets, whether or not the variable says so.
    pub session_dir: PathBuf,
    /// Where to go without a runtime folder.
    pub fallback_dir: PathBuf,
    /// Our user id.
    pub uid: u32,
}

impl Surroundings {
    /// Those of this process. An empty variable counts as unset.
    pub fn here() -> Self {
        let named = std::env::var_os("SITUATED_SOCKET").filter(|value| !value.is_empty()).map(PathBuf::from);
        let (uid, folders) = (platform::user::id(), Folders::here());
        Surroundings {
            socket: named,
            runtime_dir: folders.runtime_dir,
            session_dir: session_dir(uid),
            fallback_dir: fallback_dir(folders.socket_dir, uid),
            uid,
        }
    }

    /// The socket that a daemon binds, and whether the user named it. `configured` is the setting `serve.socket`.
    pub fn choose(&self, configured: Option<&Path>) -> (PathBuf, bool) {
        if let Some(named) = configured.or(self.socket.as_deref()) {
            return (named.to_owned(), true);
        }
        let runtime = self.runtime_dir.iter().chain([&self.session_dir]);
        let dir = runtime
            .filter(|dir| dir.is_absolute() && is_own_dir(dir, self.uid))
            .map(|dir| dir.join("situated"))
            .next()
            .unwrap_or_else(|| self.fallback_dir.clone());
        (dir.join(SOCKET), false)
    }

    /// The socket at which a client asks: a named one, else the one that the daemon over `data_dir` has written down,
    /// else the one that a daemon would bind.
    pub fn find(&self, configured: Option<&Path>, data_dir: &Path) -> PathBuf {
        match self.choose(configured) {
            (named, true) => named,
            (guess, false) => running(data_dir).and_then(|daemon| daemon.socket).unwrap_or(guess),
        }
    }
}

impl Running {
    /// This process, serving at `socket`.
    pub fn this(socket: Option<PathBuf>) -> Running {
        let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
        Running {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            socket,
            answers_within_ms: None,
            started: now.map_or(0, |since| since.as_secs()),
        }
    }
}

/// The folder of the user's own for sockets, if a path in it fits into a socket's address.
fn fallback_dir(own: Option<PathBuf>, uid: u32) -> PathBuf {
    let short = own.filter(|dir| too_long(&dir.join(SOCKET)).is_none());
    short.unwrap_or_else(|| PathBuf::from(format!("/tmp/situated-{uid}")))
}

/// The data folder of a daemon that was given none: that of the one that runs, else the one in use. A daemon of an earlier
/// version may serve from its own place although the present one is there.
pub fn data_dir(location: &Location) -> &Path {
    match &location.former {
        Some(former) if is_locked(&former.path) && !is_locked(&location.path) => &former.path,
        _ => location.in_use(),
    }
}

/// The daemon that holds the lock of `data_dir` now, as far as it has written itself down; `None` if nobody does.
pub fn running(data_dir: &Path) -> Option<Running> {
    if !is_locked(data_dir) {
        return None;
    }
    read_running(&data_dir.join(DAEMON))
}

/// Whether a daemon holds the lock of `data_dir`, or is about to.
pub fn is_locked(data_dir: &Path) -> bool {
    // A shared lock, so that clients that look at the same moment do not take each other for a daemon. A daemon that
    // starts at that moment tries again for longer than this is held.
    open_at_once(&data_dir.join(LOCK)).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// What a daemon has written of itself at `path`; `None` if that cannot be read.
pub fn read_running(path: &Path) -> Option<Running> {
    // The file is ours and small; more than this is not what a daemon wrote.
    const MOST: u64 = 64 << 10;
    let file = open_at_once(path).ok()?;
    serde_json::from_reader(io::Read::take(file, MOST)).ok()
}

/// Whether `path` is too long for a socket: its length in bytes if so.
pub fn too_long(path: &Path) -> Option<usize> {
    let length = path.as_os_str().len();
    (length > MAX_SOCKET_PATH).then_some(length)
}

fn is_own_dir(path: &Path, uid: u32) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && owner(&meta) == uid)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn surroundings(root: &Path) -> Surroundings {
        Surroundings {
            socket: None,
            runtime_dir: None,
            session_dir: root.join("missing"),
            fallback_dir: root.join("fallback"),
            uid: platform::user::id(),
        }
    }

    #[test]
    fn order_of_places() {
        let root = tempfile::tempdir().unwrap();
        let mut around = surroundings(root.path());
        assert_eq!(around.choose(None), (root.path().join("fallback/sock"), false));

        around.session_dir = root.path().join("session");
        fs::create_dir(&around.session_dir).unwrap();
        assert_eq!(around.choose(None).0, root.path().join("session/situated/sock"));

        let xdg = root.path().join("xdg");
        around.runtime_dir = Some(xdg.clone());
        assert_eq!(around.choose(None).0, root.path().join("session/situated/sock"), "it does not exist");
        fs::create_dir(&xdg).unwrap();
        assert_eq!(around.choose(None).0, xdg.join("situated/sock"));
        around.runtime_dir = Some("xdg".into());
        assert_eq!(around.choose(None).0, root.path().join("session/situated/sock"), "relative counts as unset");
        let link = root.path().join("link");
        platform::files::symlink(&xdg, &link).unwrap();
        around.runtime_dir = Some(link);
        assert_eq!(around.choose(None).0, root.path().join("session/situated/sock"), "a link is not followed");
        around.runtime_dir = Some(xdg.clone());
        around.uid += 1;
        assert_eq!(around.choose(None).0, root.path().join("fallback/sock"), "not ours");

        around.socket = Some("/env/sock".into());
        assert_eq!(around.choose(None), ("/env/sock".into(), true));
        assert_eq!(around.choose(Some(Path::new("/set/sock"))), ("/set/sock".into(), true));
    }

    #[test]
    fn a_home_that_is_too_deep_for_a_socket_is_not_taken() {
        let short = PathBuf::from("/Users/me/Library/Application Support/situated/run");
        assert_eq!(fallback_dir(Some(short.clone()), 7), short);
        let deep = Path::new("/Users").join("m".repeat(60)).join("Library/Application Support/situated/run");
        assert_eq!(fallback_dir(Some(deep), 7), Path::new("/tmp/situated-7"));
        assert_eq!(fallback_dir(None, 7), Path::new("/tmp/situated-7"));
    }

    #[test]
    fn a_daemon_that_runs_says_which_data_folder_counts() {
        let root = tempfile::tempdir().unwrap();
        let (new, old) = (root.path().join("new"), root.path().join("old"));
        let former = Some(crate::folders::Former { path: old.clone(), named: false });
        let location = Location { path: new.clone(), former };
        assert_eq!(data_dir(&location), new);
        fs::create_dir(&old).unwrap();
        let of_old = File::create(old.join(LOCK)).unwrap();
        assert_eq!(data_dir(&location), old, "only it is there");
        fs::create_dir(&new).unwrap();
        let of_new = File::create(new.join(LOCK)).unwrap();
        assert_eq!(data_dir(&location), new);
        of_old.try_lock().unwrap();
        assert_eq!(data_dir(&location), old, "a daemon serves from it");
        of_new.try_lock().unwrap();
        assert_eq!(data_dir(&location), new);
    }

    #[test]
    fn a_discovery_file_counts_only_under_a_held_lock() {
        let data = tempfile::tempdir().unwrap();
        let around = surroundings(data.path());
        let written =
            Running { pid: 1, version: "0".into(), socket: Some("/there".into()), answers_within_ms: None, started: 0 };
        fs::write(data.path().join(DAEMON), serde_json::to_vec(&written).unwrap()).unwrap();
        let guess = data.path().join("fallback/sock");
        assert_eq!(around.find(None, data.path()), guess);

        let lock = File::create(data.path().join(LOCK)).unwrap();
        assert!(!is_locked(data.path()));
        lock.try_lock().unwrap();
        assert!(is_locked(data.path()));
        assert_eq!(running(data.path()), Some(written));
        assert_eq!(around.find(None, data.path()), Path::new("/there"));
        assert_eq!(around.find(Some(Path::new("/set")), data.path()), Path::new("/set"));
        fs::write(data.path().join(DAEMON), "{ half").unwrap();
        assert_eq!(around.find(None, data.path()), guess);
    }
}
