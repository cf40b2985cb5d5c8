//! The listening end of the daemon's socket: a Unix socket, or on Windows a named pipe. Both are read and written without
//! waiting, and tell when they are ready.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use system::{Listener, Stream};
pub(super) use system::{accept, has_hung_up, is_own, is_passing, shut_down};
