//! Where the socket is: one order of places for the daemon and its clients.
//!
//! Clients often run in another environment than the daemon (tmux, cron, sudo, an editor started from a desktop), so
//! the daemon also writes the path that it really serves beside its data, and clients look there before they guess.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Longest socket path in bytes: `sun_path` holds 104 on macOS, its NUL included. Linux has four more, but a
/// configuration should not work on one of the two only.
pub const MAX_SOCKET_PATH: usize = 103;

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
    /// Seconds since 1970 (UTC).
    pub started: u64,
}

/// What the choice of a path depends on besides the configuration.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// `SITUATED_SOCKET`.
    pub socket: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`.
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
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let uid = own_uid();
        let state = variable("HOME").filter(|home| cfg!(target_os = "macos") && home.is_absolute());
        Surroundings {
            socket: variable("SITUATED_SOCKET"),
            runtime_dir: variable("XDG_RUNTIME_DIR"),
            session_dir: PathBuf::from(format!("/run/user/{uid}")),
            // `$TMPDIR` of macOS differs between shells and is swept; the state folder is stable.
            fallback_dir: match state {
                Some(home) => home.join(".local/state/situated"),
                None => PathBuf::from(format!("/tmp/situated-{uid}")),
            },
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
        (dir.join("sock"), false)
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
            started: now.map_or(0, |since| since.as_secs()),
        }
    }
}

/// Our effective user id.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
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
    File::open(data_dir.join(LOCK)).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// What a daemon has written of itself at `path`; `None` if that cannot be read.
pub fn read_running(path: &Path) -> Option<Running> {
    // The file is ours and small; more than this is not what a daemon wrote.
    const MOST: u64 = 64 << 10;
    let file = File::open(path).ok()?;
    serde_json::from_reader(io::Read::take(file, MOST)).ok()
}

/// Whether `path` is too long for a socket: its length in bytes if so.
pub fn too_long(path: &Path) -> Option<usize> {
    let length = path.as_os_str().as_bytes().len();
    (length > MAX_SOCKET_PATH).then_some(length)
}

fn is_own_dir(path: &Path, uid: u32) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(root: &Path) -> Surroundings {
        Surroundings {
            socket: None,
            runtime_dir: None,
            session_dir: root.join("missing"),
            fallback_dir: root.join("fallback"),
            uid: own_uid(),
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
        std::os::unix::fs::symlink(&xdg, &link).unwrap();
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
    fn a_discovery_file_counts_only_under_a_held_lock() {
        let data = tempfile::tempdir().unwrap();
        let around = surroundings(data.path());
        let written = Running { pid: 1, version: "0".into(), socket: Some("/there".into()), started: 0 };
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
