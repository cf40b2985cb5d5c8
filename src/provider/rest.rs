//! The user's own server, which is asked by REST: its address, its key, and a limit to every wait.
//!
//! The caller decides what is asked. A key goes to this server alone, and only over a connection that nobody can read:
//! unencrypted only to this machine.

use std::path::Path;
use std::time::Duration;

use reqwest::Certificate;
pub use reqwest::Method;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::{Instant, timeout_at};

use super::key::{Key, Whose};
use super::keyring::{Found, Keyring};
use super::transport::Transport;
use super::wire::{Address, Request};
use context::settings::KeyConfig;

/// Longest answer in bytes: a page of ten thousand points with their payloads.
const MOST_ANSWER: usize = 256 << 20;

/// A server, and how it knows us. Cheap to clone.
#[derive(Clone)]
pub struct RestServer {
    transport: Transport,
    /// Scheme, host, port and path, without a slash at the end.
    base: String,
    /// The header that the key goes into.
    header: &'static str,
    key: std::sync::Arc<Keyring>,
}

impl std::fmt::Debug for RestServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RestServer").field("host", &self.transport.host()).finish_non_exhaustive()
    }
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestError {
    /// The key could not be found, and why.
    #[error("{0}")]
    Key(String),
    /// Nothing came back, or not all of it; the words of the system.
    #[error("{0}")]
    Broken(String),
    /// It did not answer within this time.
    #[error("no answer within {} ms", .0.as_millis())]
    Late(Duration),
    /// It answered with an error: the status, and what it said.
    #[error("HTTP {0}")]
    Refused(u16, Vec<u8>),
}

impl RestServer {
    /// A server at `url`, whose key goes into `header`. With `authority`, a file of certificates (PEM), only servers
    /// that one of them vouches for are trusted, otherwise those that this machine trusts. Reads no key and opens no
    /// connection yet.
    ///
    /// # Errors
    /// What is wrong with the address or with that file.
    pub fn new(url: &str, header: &'static str, key: &KeyConfig, authority: Option<&Path>) -> Result<Self, String> {
        let address = Address::parse(url, &[])?;
        let has_key = key.file.is_some() || key.command.is_some() || key.credential.is_some();
        if has_key && !address.is_loopback() && address.is_plain() {
            return Err(
                "its key would go over the network for all to read; write an address with `https://`".to_owned()
            );
        }
        let trusted = authority.map(certificates).transpose()?;
        let transport = Transport::trusting(&address, trusted)?;
        let transport = transport.with_answers_of(MOST_ANSWER);
        let base = address.join("");
        // If no place for a key is configured, there is none: keys in the environment are for other servers.
        let whose = if has_key { Whose::team() } else { Whose::nobody() };
        let key = std::sync::Arc::new(Keyring::new(whose, key.clone()));
        Ok(RestServer { transport, base, header, key })
    }

    /// The same; `passes_on` says whether a server on this machine passes on to others what it is sent.
    #[must_use]
    pub fn passing_on(self, passes_on: bool) -> Self {
        RestServer { transport: self.transport.passing_on(passes_on), ..self }
    }

    /// Host, and port if it is not the scheme's own.
    pub fn host(&self) -> &str {
        self.transport.host()
    }

    /// The same; `None` for an address of this machine.
    pub fn leaves_to(&self) -> Option<String> {
        self.transport.leaves_to()
    }

    /// Asks, with `within` as the deadline, and returns the body of a successful answer. A key that is refused is
    /// looked up once more: it may have changed.
    ///
    /// # Errors
    /// See [`RestError`].
    pub async fn ask(&self, method: Method, path: &str, body: Vec<u8>, within: Duration) -> Result<Vec<u8>, RestError> {
        let until = Instant::now() + within;
        let answer = async {
            let unfound = |failure: super::Failure| RestError::Key(failure.message);
            let key = self.key.get().await.map_err(unfound)?;
            match self.once(method.clone(), path, body.clone(), &key).await {
                Err(RestError::Refused(status @ (401 | 403), said)) => {
                    match self.key.another(&key).await.map_err(unfound)? {
                        Some(another) => self.once(method, path, body, &another).await,
                        None => Err(RestError::Refused(status, said)),
                    }
                }
                answer => answer,
            }
        };
        timeout_at(until, answer).await.unwrap_or(Err(RestError::Late(within)))
    }

    async fn once(&self, method: Method, path: &str, body: Vec<u8>, key: &Found) -> Result<Vec<u8>, RestError> {
        let mut headers = Vec::new();
        if let Some(Key::Bearer(key)) = key.as_deref() {
            headers.push((self.header, SecretString::from(key.expose_secret())));
        }
        let request = Request { url: format!("{}{path}", self.base), headers, body };
        let reply = self.transport.send(method, request).await.map_err(|broken| RestError::Broken(broken.message))?;
        match reply.status {
            200..=299 if reply.cut => Err(RestError::Broken("its answer is too long".to_owned())),
            200..=299 => Ok(reply.body),
            status => Err(RestError::Refused(status, reply.body)),
        }
    }
}

/// The certificates of a file.
fn certificates(file: &Path) -> Result<Vec<Certificate>, String> {
    let wrong = |why: String| format!("`ca_file` {}: {why}", file.display());
    let bytes = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    match Certificate::from_pem_bundle(&bytes) {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(wrong("there is no certificate in it; it is to be in PEM (`-----BEGIN CERTIFICATE-----`)".to_owned())),
    }
}

#[cfg(test)]
mod tests;
