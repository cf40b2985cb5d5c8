//! A Unix socket.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A connection.
pub type Stream = UnixStream;

/// What another program connects to for the socket at `path`: the path.
pub fn address(path: &Path) -> OsString {
    path.into()
}

/// Connects to the socket at `path`. This blocks while the listener's backlog is full.
///
/// # Errors
/// What the system says.
pub fn connect(path: &Path) -> io::Result<Stream> {
    UnixStream::connect(path)
}
