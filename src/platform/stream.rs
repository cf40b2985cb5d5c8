//! The client's end of the daemon's socket: a Unix socket, or on Windows a named pipe. It blocks, and every wait has an end.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

#[cfg(windows)]
pub use system::listen;
pub use system::{Stream, address, connect};
