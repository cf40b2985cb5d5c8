//! The named pipe: made outside of [`super::serve`], which only serves.
//!
//! The lock ([`super::lock`]) guards the data. The pipe guards itself: its first end can be created only while no
//! process has a pipe of that name, and the pipe is gone with its process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::local::Listener;
use protocol::locate::{self, DAEMON, Surroundings};

pub use super::lock::{BindError, DataLock};

/// A listening pipe, and the lock that permits it.
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
        Listener::bind(self.path.clone()).map_err(|why| {
            io::Error::other(match why.kind() {
                io::ErrorKind::PermissionDenied => BindError::SocketInUse(self.path.clone()),
                _ => BindError::Create { path: self.path.clone(), why },
            })
        })
    }

    /// Withdraws the announcement, so that nobody connects any more: to be called first when the daemon stops.
    pub fn retire(&self) {
        let _ = fs::remove_file(self.lock.data_dir().join(DAEMON));
    }

    /// No service manager hands over pipes.
    pub fn is_handed_over(&self) -> bool {
        false
    }

    /// Nothing can be left to a process that replaces this one, because none does here.
    ///
    /// # Errors
    /// Always.
    pub fn bequeath(&self) -> io::Result<std::convert::Infallible> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// No process restarts itself here.
    pub fn is_inherited(&self) -> bool {
        false
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.retire();
    }
}

/// Chooses the path that `configured` (the setting `serve.socket`) or the surroundings give, and writes it down.
/// [`Bound::listener`] creates the pipe, because that belongs to the runtime that serves it.
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
