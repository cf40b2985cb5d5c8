//! A socket that the service manager holds and hands over, so that no client is refused while the daemon restarts.

use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use rustix::net::sockopt;

/// The socket that was handed over, with its path; `None` if there is none. The error says why it cannot be served.
pub(super) fn handed_over() -> Result<Option<(UnixListener, PathBuf)>, String> {
    let mut descriptors = sd_notify::listen_fds().map_err(|error| error.to_string())?;
    let Some(first) = descriptors.next() else { return Ok(None) };
    if descriptors.len() > 0 {
        tracing::warn!(more = descriptors.len(), "of the sockets that were handed over only the first is served");
    }
    // SAFETY: the manager opened it for this very process (`listen_fds` compares the pid) and nobody else in the
    // process knows of it: this is called once, by the one who binds.
    #[allow(unsafe_code)]
    let descriptor = unsafe { OwnedFd::from_raw_fd(first) };
    checked(descriptor).map(Some)
}

fn checked(descriptor: OwnedFd) -> Result<(UnixListener, PathBuf), String> {
    let listens = listens(&descriptor);
    let streams = sockopt::socket_type(&descriptor).is_ok_and(|kind| kind == rustix::net::SocketType::STREAM);
    let listener = UnixListener::from(descriptor);
    let path = listener.local_addr().ok().and_then(|address| address.as_pathname().map(PathBuf::from));
    match path {
        Some(path) if listens && streams => Ok((listener, path)),
        _ => Err("it is no Unix stream socket that listens at a path".to_owned()),
    }
}

#[cfg(not(target_os = "macos"))]
fn listens(descriptor: &OwnedFd) -> bool {
    sockopt::socket_acceptconn(descriptor).is_ok_and(|listens| listens)
}

/// A Mac cannot say it; no manager there hands over sockets this way.
#[cfg(target_os = "macos")]
fn listens(_descriptor: &OwnedFd) -> bool {
    false
}

#[cfg(test)]
mod tests;
