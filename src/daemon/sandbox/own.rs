//! The daemon's own files, which no other user may open. A folder that was made by hand, copied or restored may be open
//! to other users, and so may everything that was made in it; the daemon closes it when it starts. On the way it finds
//! what is not a file at all.

use std::fs;
use std::path::{Path, PathBuf};

use platform::files;

use crate::daemon::strange::Strange;

/// What the daemon makes in its data folder: folders with all below them, and files.
pub const OWN: [&str; 10] = [
    "vaults",
    "ledger",
    "models",
    "paused",
    "consent.json",
    "team-keeper",
    "daemon.log",
    "daemon.log.1",
    "daemon.json",
    "lock",
];

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// Files and folders that others could open and cannot any more.
    pub closed: u64,
    /// Those that stay open, and why.
    pub failed: Vec<(PathBuf, String)>,
    /// What cannot be one of the daemon's files: reading it would block for ever, or writing it would make a file
    /// elsewhere.
    pub strange: Option<Strange>,
}

/// From now on nobody else can open what this process makes, unless it says otherwise.
pub fn make_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

/// Takes all rights of others from the data folder and from what the daemon has made in it: folders become 0700, files
/// 0600. Links are not followed, and what belongs to another user is left alone, as is whatever else is in the folder.
/// With `shared`, the folder itself stays as it is, because it holds more than the daemon's data.
pub fn close_to_others(data_dir: &Path, shared: bool) -> Closed {
    let mut closed = Closed::default();
    if !shared {
        closed.one(data_dir);
    }
    let mut waiting: Vec<PathBuf> = OWN.iter().map(|name| data_dir.join(name)).collect();
    while let Some(path) = waiting.pop() {
        if closed.one(&path) {
            waiting.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
    closed
}

impl Closed {
    /// Closes one file or folder; returns whether it is a folder of ours.
    fn one(&mut self, path: &Path) -> bool {
        let Ok(meta) = fs::symlink_metadata(path) else { return false };
        if self.strange.is_none() {
            self.strange = Strange::of(path, &meta);
        }
        let own = files::owner(&meta) == platform::user::id();
        if !own || !(meta.is_dir() || meta.is_file()) {
            return false;
        }
        match files::close_to_others(path, &meta) {
            Ok(closed) => self.closed += u64::from(closed),
            Err(error) => self.failed.push((path.to_owned(), error.to_string())),
        }
        meta.is_dir()
    }
}

#[cfg(all(test, unix))]
mod tests;
