//! The named pipe: made outside of [`super::serve`], which only serves.
//!
//! The lock ([`super::lock`]) guards the data. The pipe guards itself: its first end can be made only while nobody has one
//! of that name, and it is gone with the process that has it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::local::Listener;
use protocol::locate::{self, DAEMON, Surroundings};

pub use super::lock::{BindError, DataLock};

/// A pipe that listens, and the lock that it stands under.
#[derive(Debug)]
pub struct Bound {
    path: PathBuf,
    lock: DataLock,
}

impl Bound {
    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.path
    }

    /// The listener for [`super::serve`]; to be called once, within its runtime.
    ///
    /// # Errors
    /// [`BindError`]: another process has the pipe, or the system refuses.
    pub fn listener(&self) -> io::Result<Listener> {
        Listener::bind(self.path.clone()).map_err(|source| {
            io::Error::other(match source.kind() {
                io::ErrorKind::PermissionDenied => BindError::SocketInUse(self.path.clone()),
                _ => BindError::Create { path: self.path.clone(), source },
            })
        })
    }

    /// Says that nobody is to connect any more: to be called first when the daemon stops.
    pub fn retire(&self) {
        let _ = fs::remove_file(self.lock.data_dir().join(DAEMON));
    }

    /// No service manager hands over pipes.
    pub fn is_handed_over(&self) -> bool {
        false
    }

    /// Nothing can be left to a process that takes this one's place, for none does here.
    ///
    /// # Errors
    /// Always.
    pub fn bequeath(&self) -> io::Result<std::convert::Infallible> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// No process starts itself anew here.
    pub fn is_inherited(&self) -> bool {
        false
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.retire();
    }
}

/// Chooses the path that `configured` (the setting `serve.socket`) or the surroundings give, and writes it down. The pipe is
/// made by [`Bound::listener`], for it is of the runtime that serves it.
///
/// # Errors
/// The path is too long, or cannot be written down.
pub fn bind(configured: Option<&Path>, lock: DataLock) -> Result<Bound, BindError> {
    let (path, _) = Surroundings::here().choose(configured);
    if let Some(length) = locate::too_long(&path) {
        return Err(BindError::PathTooLong { path, length });
    }
    let bound = Bound { path, lock };
    bound.lock.announce(&bound.path)?;
    Ok(bound)
}
