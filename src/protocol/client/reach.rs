//! The way to the daemon: what stands at the socket's path, and who is there when nobody answers.

use std::path::Path;

use platform::files::{is_socket, owner};

use super::{ClientError, Discovery, Remote};
use crate::locate;
use crate::locate::Running;

/// What to do when client and daemon do not understand each other.
pub(super) const RESTART: &str =
    "restart the daemon: `situated service restart`, or `situated stop` and start it as before";

/// Looks at what stands at the path before it is asked anything. A query is private: a socket that another user has put
/// there is no place to send it.
pub(super) fn look(socket: &Path) -> Result<(), ClientError> {
    // Not there, or not to be looked at: connecting says why.
    let Ok(there) = std::fs::metadata(socket) else { return Ok(()) };
    if !is_socket(&there) {
        return Err(ClientError::NotASocket(socket.to_owned()));
    }
    let (own, uid) = (platform::user::id(), owner(&there));
    if own != 0 && uid != own && uid != 0 {
        return Err(ClientError::Foreign { socket: socket.to_owned(), uid });
    }
    Ok(())
}

/// Why nobody answers at `socket`, though a daemon holds the data folder.
pub(super) fn deaf(discovery: &Discovery, socket: &Path) -> Option<ClientError> {
    let Running { pid, version, socket: serves, .. } = locate::running(&discovery.data_dir)?;
    let why = match serves.filter(|serves| serves != socket) {
        Some(serves) => format!(
            "it serves {}, and `--socket`, SITUATED_SOCKET or `serve.socket` says something else here",
            serves.display()
        ),
        None => format!(
            "its socket was removed, or it is just ending; `situated service restart`, or `kill {pid}` and start it as before"
        ),
    };
    Some(ClientError::Deaf { socket: socket.to_owned(), pid, version, why })
}

/// The process of a daemon, to be put after that word.
pub(super) fn process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// How a daemon that does not answer is ended.
pub(super) fn ending(pid: Option<u32>) -> String {
    let status = "`situated status` shows what it does";
    pid.map_or_else(
        || format!("{status}, `situated stop` ends it"),
        |pid| format!("{status}; if that does not answer either, `kill -9 {pid}` ends it"),
    )
}

/// Adds to an error which process the daemon is, or what another version of it has to do with the error.
pub(super) fn explain(error: ClientError, discovery: Option<&Discovery>) -> ClientError {
    let daemon = discovery.and_then(|discovery| locate::running(&discovery.data_dir));
    if let ClientError::Timeout { after, pid } = error {
        return ClientError::Timeout { after, pid: daemon.map(|daemon| daemon.pid).or(pid) };
    }
    let own = env!("CARGO_PKG_VERSION");
    let other = daemon.filter(|daemon| daemon.version != own).map(|daemon| {
        format!("the daemon (process {}) is of version {}, this program of {own}", daemon.pid, daemon.version)
    });
    match (error, other) {
        (ClientError::Protocol(what), Some(other)) => ClientError::Protocol(format!("{what}; {other}")),
        (ClientError::Remote(remote), other) if is_of_version(&remote, other.is_some()) => {
            let hint = other.map_or_else(|| RESTART.to_owned(), |other| format!("{other}; {RESTART}"));
            ClientError::Remote(Remote { hint: Some(hint), ..remote })
        }
        (error, _) => error,
    }
}

/// Whether an error is one that versions in common would not make.
fn is_of_version(remote: &Remote, differ: bool) -> bool {
    match remote.kind.as_str() {
        "unsupported_protocol" => true,
        "unknown_method" | "invalid_params" | "invalid_request" => differ,
        _ => false,
    }
}
