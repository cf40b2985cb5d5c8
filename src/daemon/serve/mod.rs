//! The socket: newline-delimited JSON-RPC 2.0, as `PROTOCOL.md` specifies it.
//!
//! Binding is done outside ([`mod@bind`]), serving inside ([`serve`]): a service manager, `situated run` and tests all
//! hand in a listener. Pure parts are [`protocol::frame`] (lines), [`protocol::envelope`] (the envelope),
//! [`protocol::table`] (what methods take and give) and [`results`] (how the results of a watch change); the rest is the
//! life of a connection. Nothing here knows how a query is answered.

#[cfg_attr(windows, path = "bind/windows.rs")]
pub mod bind;
#[cfg_attr(windows, path = "keep/windows.rs")]
pub mod keep;
pub mod lock;
pub mod results;

#[cfg(unix)]
mod activation;
mod connection;
mod follow;
#[cfg(all(unix, any(test, fuzzing)))]
#[path = "../../../tests/fuzz/bodies/session.rs"]
pub mod fuzz;
mod local;
mod methods;
mod outbox;
mod pool;
mod request;
#[cfg(all(test, unix))]
mod tests;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

pub use self::local::{Listener, Stream};
use self::methods::Backend;
pub(crate) use self::pool::MOST_THREADS;
use self::request::Shared;
use crate::daemon::config::ServeConfig;
use engine::handle::Handle;
use protocol::envelope::{self, ErrorKind, RpcError};

/// How long connections may take to end when the daemon stops, beside [`LONG_GRACE`]: the whole stop is over within two
/// seconds, unless a model still owes answers that are paid for, so that nobody waits at logout.
const DRAIN: Duration = Duration::from_millis(1200);

/// How long a stopping daemon listens to a client that goes on asking.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long running requests may go on when the daemon stops, before they are answered with an error. The daemon is to
/// end within two seconds, unless a model still owes answers: the engine awaits them after that.
const GRACE: Duration = Duration::from_millis(300);

/// The same when the daemon restarts itself, which need not happen at once: as long as a search may take.
const LONG_GRACE: Duration = Duration::from_secs(10);

/// How long a stopping daemon still looks for clients that connected, and for requests that arrived, just before.
const SWEEP: Duration = Duration::from_millis(20);

/// How long it looks for clients at most: if the socket cannot be removed, they may go on connecting for ever.
const LONGEST_SWEEP: Duration = Duration::from_millis(200);

/// Most refused clients that are given time to read why; more are closed at once.
const REFUSALS: usize = 16;

/// Where clients come in.
#[derive(Debug)]
pub struct Door {
    /// The listener.
    pub listener: Listener,
    /// Listeners that replace it after its socket was removed ([`keep`]).
    pub renewed: Option<mpsc::Receiver<Listener>>,
    /// Whether the service manager goes on listening when we stop: clients that wait are left to the next daemon then.
    pub handed_over: bool,
}

/// What becomes of the daemon when it no longer serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// It stops.
    Stops,
    /// This very process goes on as another daemon ([`super::sandbox::successor`]): clients that wait are left to it, as
    /// to one that a service manager starts, and running requests have time to end.
    Restarts,
}

/// What connections keep to when the daemon no longer serves.
#[derive(Clone, Copy, Debug)]
struct Closing {
    /// When reading ends at the latest.
    read_until: Instant,
    /// How long requests that run may go on after that.
    grace: Duration,
}

impl Closing {
    fn begin(grace: Duration) -> Closing {
        Closing { read_until: Instant::now() + LAST_WORDS, grace }
    }
}

/// Serves clients until `shutdown` resolves, then gives them a moment to end; returns how it resolved.
///
/// So that no request gets lost, the socket's file should be gone ([`bind::Bound::retire`]) before `shutdown` resolves:
/// what has connected by then is accepted and answered.
///
/// # Errors
/// Only what makes the listener useless; a client that fails does not concern the others.
pub async fn serve(
    door: Door,
    handle: Handle,
    limits: &ServeConfig,
    shutdown: impl Future<Output = Shutdown>,
) -> io::Result<Shutdown> {
    run(door, handle, limits, shutdown).await
}

async fn run(
    door: Door,
    backend: impl Backend + 'static,
    limits: &ServeConfig,
    shutdown: impl Future<Output = Shutdown>,
) -> io::Result<Shutdown> {
    let Door { mut listener, mut renewed, handed_over } = door;
    let (close, closing) = watch::channel(None);
    let mut server = Server {
        shared: Arc::new(Shared::new(backend, limits.query_timeout)),
        connections: JoinSet::new(),
        most: limits.max_connections,
        refusals: Arc::new(Semaphore::new(REFUSALS)),
        closing,
    };
    tokio::pin!(shutdown);
    let mut lacking = false;
    let how = loop {
        tokio::select! {
            biased;
            how = &mut shutdown => break how,
            Some(_) = server.connections.join_next() => {}
            Some(fresh) = next(&mut renewed) => {
                server.sweep(&listener).await;
                listener = fresh;
            }
            accepted = local::accept(&listener) => match accepted {
                Ok(stream) => {
                    lacking = false;
                    server.accept(stream);
                }
                Err(error) => recover(error, &mut lacking).await?,
            },
        }
    };
    let (grace, drain) = match how {
        Shutdown::Stops => (GRACE, DRAIN),
        Shutdown::Restarts => (LONG_GRACE, LONG_GRACE + DRAIN),
    };
    if !handed_over && how == Shutdown::Stops {
        server.sweep(&listener).await;
    }
    drop(listener);
    // There are receivers as long as there are connections; without any, no task waits for it.
    let _ = close.send(Some(Closing::begin(grace)));
    let ended = async { while server.connections.join_next().await.is_some() {} };
    if tokio::time::timeout(drain, ended).await.is_err() {
        tracing::warn!(open = server.connections.len(), "connections that did not end in time are closed");
        server.connections.shutdown().await;
    }
    Ok(how)
}

struct Server {
    shared: Arc<Shared>,
    connections: JoinSet<()>,
    most: usize,
    refusals: Arc<Semaphore>,
    closing: watch::Receiver<Option<Closing>>,
}

async fn next(renewed: &mut Option<mpsc::Receiver<Listener>>) -> Option<Listener> {
    match renewed {
        Some(renewed) => renewed.recv().await,
        None => None,
    }
}

impl Server {
    /// Accepts clients that connected while the socket was still there.
    async fn sweep(&mut self, listener: &Listener) {
        let until = Instant::now() + LONGEST_SWEEP;
        while Instant::now() < until
            && let Ok(Ok(stream)) = tokio::time::timeout(SWEEP, local::accept(listener)).await
        {
            self.accept(stream);
        }
    }

    fn accept(&mut self, stream: Stream) {
        if !local::is_own(&stream) {
            return;
        }
        // Connections that have ended, but were not yet removed from the set, do not count.
        while self.connections.try_join_next().is_some() {}
        if self.connections.len() < self.most {
            self.connections.spawn(connection::serve(stream, Arc::clone(&self.shared), self.closing.clone()));
            return;
        }
        tracing::warn!(most = self.most, "a client is refused: too many connections");
        let busy = RpcError::new(ErrorKind::Busy, format!("{} clients are connected, no more are served", self.most))
            .hint("close connections that are not used, or raise `serve.max_connections`")
            .retry_after_ms(1000);
        if let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() {
            tokio::spawn(async move {
                connection::refuse(stream, envelope::error_line(None, &busy)).await;
                drop(permit);
            });
        }
    }
}

/// A client that left while it waited, or a lack of descriptors, is temporary; anything else ends the listener. A lack
/// is logged when it begins.
async fn recover(error: io::Error, lacking: &mut bool) -> io::Result<()> {
    if local::is_passing(&error) {
        if !std::mem::replace(lacking, true) {
            tracing::warn!(%error, "no client can be accepted now");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        return Ok(());
    }
    match error.kind() {
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}
