//! The daemon's own files, which no other user may open. A folder that was made by hand, copied or restored may be open
//! to other users, and so may everything that was made in it; the daemon closes it when it starts. On the way it finds
//! what is not a file at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use platform::files;

/// What the daemon makes in its data folder: folders with all below them, and files.
const OWN: [&str; 8] = ["vaults", "ledger", "models", "lock", "daemon.json", "paused", "daemon.log", "daemon.log.1"];

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

/// What is in the place of a file of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Strange {
    /// A pipe, socket or device, or a link to one.
    #[error("{} is a pipe, a socket or a device, where the daemon keeps a file: move it away and start again", .0.display())]
    NoFile(PathBuf),
    /// A link to nothing.
    #[error(
        "{} is a link to {}, which is not there: mount what it leads to, or remove the link, and start again",
        .0.display(), .1.display()
    )]
    Dangling(PathBuf, PathBuf),
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
            self.strange = strange(path, &meta);
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

/// What is wrong with a path of ours whose metadata are `meta`, links not followed.
fn strange(path: &Path, meta: &fs::Metadata) -> Option<Strange> {
    if meta.is_dir() || meta.is_file() {
        return None;
    }
    match fs::metadata(path) {
        Ok(target) if target.is_dir() || target.is_file() => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Some(Strange::Dangling(path.to_owned(), fs::read_link(path).unwrap_or_default()))
        }
        // A path that must not be looked at is reported by whoever opens it.
        Err(_) => None,
        Ok(_) => Some(Strange::NoFile(path.to_owned())),
    }
}

#[cfg(all(test, unix))]
mod tests;
