//! Bytes there and back over HTTP, with a limit to every wait for a connection and to every body.

use std::error::Error;
use std::ops::Deref;
use std::sync::Once;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Certificate, Method, Response};
use secrecy::ExposeSecret as _;

use super::reply::{Broken, Reply};
use super::wire::{Address, Request};

/// Longest body of an answer. A caption has hundreds of bytes; a longer answer has run away.
pub(super) const MOST_BODY: usize = 2 << 20;

/// How much is read of a body that explains an error.
const MOST_EXPLANATION: usize = 64 << 10;

/// Longest wait for a connection: no live server needs longer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an unused connection is kept: less than most servers do, so that no request meets a closing one.
const KEPT_UNUSED: Duration = Duration::from_secs(20);

/// Most redirects within the same server.
const MOST_REDIRECTS: usize = 3;

/// Connections to one server.
#[derive(Clone, Debug)]
pub(super) struct Transport {
    client: reqwest::Client,
    /// Host, and port if it is not the scheme's own.
    host: String,
    /// Whether that is this machine.
    local: bool,
    passes_on: bool,
    /// Longest body of an answer.
    most: usize,
}

impl Transport {
    /// For the server at an address. Opens no connection.
    pub(super) fn new(address: &Address) -> Result<Self, String> {
        Transport::trusting(address, None)
    }

    /// The same; only servers that one of the `trusted` certificates vouches for are trusted, if there are such.
    pub(super) fn trusting(address: &Address, trusted: Option<Vec<Certificate>>) -> Result<Self, String> {
        static PROVIDER: Once = Once::new();
        // If another provider was installed before, it stays.
        PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let (host, local) = (address.authority().to_owned(), address.is_loopback());
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("situated/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::custom(stay_here))
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(KEPT_UNUSED)
            .referer(false);
        if local {
            // What runs on this machine is not behind a proxy, whatever the environment says.
            builder = builder.no_proxy();
        }
        if address.is_plain() {
            // Nothing to verify: the system's certificates, which may be missing, need not be read.
            builder = builder.tls_certs_only([]);
        } else if let Some(trusted) = trusted {
            builder = builder.tls_certs_only(trusted);
        }
        let client =
            builder.build().map_err(|error| format!("cannot set up connections to {host}: {}", why(&error)))?;
        Ok(Transport { client, host, local, passes_on: false, most: MOST_BODY })
    }

    /// Host (and port) that requests go to, for `status`; `None` for an address of this machine.
    pub(super) fn leaves_to(&self) -> Option<String> {
        (!self.local || self.passes_on).then(|| self.host.clone())
    }

    /// The same; `passes_on` says whether a server on this machine passes texts on to others.
    pub(super) fn passing_on(self, passes_on: bool) -> Self {
        Transport { passes_on, ..self }
    }

    /// Host, and port if it is not the scheme's own.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// The same, for answers of up to `most` bytes.
    pub(super) fn with_answers_of(self, most: usize) -> Self {
        Transport { most, ..self }
    }

    /// Sends a request and reads all of the answer. It has no timeout: the caller sets one.
    pub(super) async fn send(&self, method: Method, request: Request) -> Result<Reply, Broken> {
        let begun = self.begin(method, request).await?;
        self.finish(begun).await
    }

    /// Reads all of an answer that has begun.
    pub(super) async fn finish(&self, mut begun: Begun) -> Result<Reply, Broken> {
        let good = begun.is_good();
        let most = if good { self.most } else { MOST_EXPLANATION };
        let mut body = Vec::new();
        let mut cut = false;
        loop {
            match begun.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() <= most => body.extend_from_slice(&chunk),
                Ok(Some(chunk)) => {
                    body.extend_from_slice(&chunk[..most - body.len()]);
                    cut = true;
                    break;
                }
                Ok(None) => break,
                // The status of a refusal says enough, even if its explanation breaks off.
                Err(_) if !good => break,
                Err(broken) => return Err(broken),
            }
        }
        Ok(Reply { status: begun.status, headers: begun.headers, body, cut })
    }

    /// Sends a request and returns once the headers of the answer are there.
    pub(super) async fn begin(&self, method: Method, request: Request) -> Result<Begun, Broken> {
        #[cfg(feature = "simulation")]
        if let Some(answer) = crate::simulation::ask(&request.url, &request.body) {
            let Reply { status, headers, body, .. } = answer.arrive().await?;
            return Ok(Begun { status, headers, body: Body::Came(body) });
        }
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers {
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| Broken {
                message: format!("the value of `{name}` (the key?) has characters that cannot be sent"),
                sent: false,
                status: None,
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let mut builder = self.client.request(method.clone(), request.url);
        if matches!(method, Method::POST | Method::PUT) {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
            builder = builder.body(request.body);
        }
        let mut response = builder.headers(headers).send().await.map_err(|error| broken(&error, None))?;
        let headers = std::mem::take(response.headers_mut());
        Ok(Begun { status: response.status().as_u16(), headers, body: Body::Comes(response) })
    }
}

/// An answer whose headers are there.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Comes(Response),
    /// A scripted one.
    #[cfg(feature = "simulation")]
    Came(Vec<u8>),
}

impl Begun {
    /// Whether the status is that of a success.
    pub(super) fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The next piece of the body; `None` after the last.
    pub(super) async fn chunk(&mut self) -> Result<Option<impl Deref<Target = [u8]> + use<>>, Broken> {
        match &mut self.body {
            Body::Comes(response) => response.chunk().await.map_err(|error| broken(&error, Some(self.status))),
            #[cfg(feature = "simulation")]
            Body::Came(bytes) => Ok(Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty()).map(Into::into)),
        }
    }
}

/// Lines of a long answer, as they come.
#[derive(Debug)]
pub(super) struct Lines {
    begun: Begun,
    /// Bytes that were read and not yet returned.
    pending: Vec<u8>,
    /// Bytes of `pending` that were searched and hold no end of a line.
    searched: usize,
    ended: bool,
}

impl Lines {
    pub(super) fn new(begun: Begun) -> Self {
        Lines { begun, pending: Vec::new(), searched: 0, ended: false }
    }

    /// The next line, without its end; empty ones are skipped. `None` after the last. A line longer than
    /// [`MOST_BODY`] is an error.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, Broken> {
        loop {
            if let Some(at) = self.pending[self.searched..].iter().position(|&byte| byte == b'\n') {
                let rest = self.pending.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.pending, rest);
                self.searched = 0;
                line.truncate(line.trim_ascii_end().len());
                if !line.is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            self.searched = self.pending.len();
            if self.ended {
                self.searched = 0;
                let line = std::mem::take(&mut self.pending);
                return Ok(Some(line).filter(|line| !line.trim_ascii().is_empty()));
            }
            if self.pending.len() > MOST_BODY {
                let message = "a line of the answer is too long".to_owned();
                return Err(Broken { message, sent: true, status: None });
            }
            match self.begun.chunk().await? {
                Some(chunk) => self.pending.extend_from_slice(&chunk),
                None => self.ended = true,
            }
        }
    }
}

/// Follows a redirect only if the same request goes to the same server: neither a note nor a key travels further.
fn stay_here(attempt: Attempt<'_>) -> Action {
    let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    // The other redirects would turn a POST into a GET.
    let whole = matches!(attempt.status().as_u16(), 307 | 308);
    if same && whole && attempt.previous().len() <= MOST_REDIRECTS { attempt.follow() } else { attempt.stop() }
}

fn broken(error: &reqwest::Error, status: Option<u16>) -> Broken {
    // A builder's error is one of the address or the headers: nothing was sent.
    Broken { message: why(error), sent: !(error.is_connect() || error.is_builder()), status }
}

/// The innermost error: the outer ones name the address in full, which may hold a signature, or only say that there was an
/// error.
pub(super) fn why(error: &reqwest::Error) -> String {
    let mut reason: &dyn Error = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    if std::ptr::eq(std::ptr::from_ref(reason).cast::<()>(), std::ptr::from_ref(error).cast::<()>()) {
        return if error.is_timeout() { "it took too long".to_owned() } else { "the request failed".to_owned() };
    }
    reason.to_string().chars().filter(|c| !c.is_control()).take(160).collect()
}

#[cfg(test)]
mod tests;
