//! A socket that the service manager holds and hands over, so that no client is refused while the daemon restarts.

use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use rustix::net::sockopt;

/// The variable that tells a daemon that restarts itself about the listener that it keeps: process, descriptor, and
/// whether it is the service manager's (1) or our own (0).
pub(super) const LISTENER: &str = "SITUATED_LISTENER";

/// The value of [`LISTENER`] for this process.
pub(super) fn told(descriptor: BorrowedFd<'_>, handed_over: bool) -> String {
    format!("{}:{}:{}", std::process::id(), descriptor.as_raw_fd(), u8::from(handed_over))
}

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

/// The socket that this process had before it restarted itself, with its path, and whether it is the service manager's;
/// `None` if it did not restart. The error says why it cannot be served.
pub(super) fn inherited() -> Result<Option<(UnixListener, PathBuf, bool)>, String> {
    let Some(told) = std::env::var(LISTENER).ok() else { return Ok(None) };
    let wrong = || format!("{LISTENER} is `{told}`, which no daemon says; unset it");
    let mut parts = told.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.parse::<i32>().ok()).ok_or_else(wrong);
    let (process, descriptor, managed) = (number()?, number()?, number()?);
    // A program that this process starts inherits the variable, but not the socket.
    if u32::try_from(process) != Ok(std::process::id()) {
        return Ok(None);
    }
    if descriptor < 3 {
        return Err(wrong());
    }
    // SAFETY: this very process left it open for us when it became this program, and nobody else in the process knows of
    // it: this is called once, by the one who binds. One that is not open fails in `checked`.
    #[allow(unsafe_code)]
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC).map_err(|error| error.to_string())?;
    let (listener, path) = checked(descriptor)?;
    Ok(Some((listener, path, managed == 1)))
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

/// macOS cannot tell; no manager there hands over sockets this way.
#[cfg(target_os = "macos")]
fn listens(_descriptor: &OwnedFd) -> bool {
    false
}

#[cfg(test)]
mod tests;
