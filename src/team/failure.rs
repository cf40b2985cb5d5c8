//! Why a collection was not written or read: what, where, and what to do next.

use provider::rest::RestError;
use serde_json::Value;

/// The most characters of a server's explanation that are passed on.
const MOST_SAID: usize = 200;

/// A collection was not written or read. The message is for the user; no key and no text of a note is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What follows from it.
    pub kind: Kind,
    /// What, where, what to do.
    pub message: String,
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server is down, late or full; try again later.
    Unavailable,
    /// The key does not allow it.
    Forbidden,
    /// The collection is not there.
    Missing,
    /// The collection is not one that this may be written to or read from.
    Other,
    /// Somebody else keeps the vault.
    Kept,
    /// Notes of this machine cannot be read now.
    Local,
}

impl Kind {
    /// Whether trying again may help without anybody doing anything.
    pub fn may_pass(self) -> bool {
        matches!(self, Kind::Unavailable | Kind::Local)
    }
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Failure { kind, message: message.into() }
    }

    /// The failure of a request about the collection `name` at `host`.
    pub(crate) fn of(error: RestError, host: &str, name: &str) -> Self {
        let (kind, message) = match error {
            RestError::Key(why) => (Kind::Forbidden, why),
            RestError::Late(within) => {
                (Kind::Unavailable, format!("{host} did not answer within {} ms", within.as_millis()))
            }
            RestError::Broken(why) if names_certificate(&why) => (
                Kind::Other,
                format!(
                    "the certificate of {host} is not to be trusted: {why}; `url` must name the host as its certificate does"
                ),
            ),
            RestError::Broken(why) => (Kind::Unavailable, format!("{host} cannot be reached: {why}")),
            RestError::Refused(status, body) => refused(status, &said(&body), host, name),
        };
        Failure { kind, message }
    }

    /// Whether this answer says that the server's disk is full.
    pub(crate) fn is_full(status: u16, body: &[u8]) -> bool {
        tells_full(status, &said(body))
    }
}

fn tells_full(status: u16, said: &str) -> bool {
    let full = ["no space left", "disk usage", "out of disk", "wal buffer size exceeds"];
    status == 507 || full.iter().any(|word| said.to_lowercase().contains(word))
}

fn refused(status: u16, said: &str, host: &str, name: &str) -> (Kind, String) {
    match status {
        401 => (Kind::Forbidden, format!("{host} asks for a key; name its file in `[team] key_file`")),
        403 => (Kind::Forbidden, format!("the key is not allowed this in the collection `{name}` at {host}: {said}")),
        404 => (Kind::Missing, format!("there is no collection `{name}` at {host}; `situated team init` makes it")),
        _ if tells_full(status, said) => {
            (Kind::Unavailable, format!("the disk of {host} is full: {said}; it goes on when there is room"))
        }
        400 | 422 if said.contains("dimension") => {
            (Kind::Other, format!("the collection `{name}` at {host} has vectors of other dimensions: {said}"))
        }
        400 | 409 | 413 | 422 => (Kind::Other, format!("{host} refuses what was asked of `{name}`: {said}")),
        _ => (Kind::Unavailable, format!("{host} answers with HTTP {status}: {said}")),
    }
}

/// Whether a TLS error is about the certificate of the other side.
fn names_certificate(why: &str) -> bool {
    let why = why.to_lowercase();
    ["certificate", "notvalidforname", "unknownissuer", "not valid for name"].iter().any(|word| why.contains(word))
}

/// The server's own explanation, cut and in one line.
fn said(body: &[u8]) -> String {
    let read: Value = serde_json::from_slice(body).unwrap_or_default();
    let text =
        read["status"]["error"].as_str().map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST_SAID).collect()
}

#[cfg(test)]
mod tests;
