//! One call to the daemon: it opens a connection, has a timeout, ends when the client cancels it, and waits for its
//! turn, so that no more calls run at once than the daemon has room for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;

use protocol::audience::Audience;
use protocol::client::{Client, ClientError, Discovery, Remote};
use protocol::table::{Call, Deadline, Method};

/// Calls at once that no model is asked for. The daemon has 64 connections, and this is not its only client.
const AT_ONCE: usize = 8;

/// Calls at once that ask a model, which may take minutes: they have turns of their own, so that no search waits for one.
const MODELS_AT_ONCE: usize = 4;

/// How long a call that asks a model may be silent: as long as the slowest provider thinks before it begins.
const MODEL_PATIENCE: Duration = Duration::from_mins(10);

/// How long to wait for a daemon that is opening its index.
const OPENING: Duration = Duration::from_secs(5);

/// Features that a daemon must know: one keeps private notes private, the other is what searches ask for.
const NEEDED: [&str; 2] = ["audience", "include"];

/// Who waits for a call.
#[derive(Clone)]
pub(super) struct Waiting {
    /// Whether the client still waits.
    pub(super) goes_on: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Hears how many characters of the answer have come.
    pub(super) read: Option<UnboundedSender<usize>>,
}

impl Waiting {
    /// For a call that nobody cancels, nor reads while it comes.
    pub(super) fn to_the_end() -> Waiting {
        Waiting { goes_on: Arc::new(|| true), read: None }
    }
}

/// The daemon, wherever it is at the time of a call.
#[derive(Clone)]
pub(super) struct Daemon {
    discovery: Arc<Discovery>,
    turns: Arc<Semaphore>,
    model_turns: Arc<Semaphore>,
}

impl Daemon {
    pub(super) fn new(discovery: Discovery) -> Self {
        Daemon {
            discovery: Arc::new(discovery),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            model_turns: Arc::new(Semaphore::new(MODELS_AT_ONCE)),
        }
    }

    /// Makes a call; the error is a message for the assistant.
    pub(super) async fn call<C>(&self, call: C, waiting: Waiting) -> Result<C::Answer, Trouble>
    where
        C: Call<Answer: Send>,
    {
        let turns = if asks_a_model::<C>() { &self.model_turns } else { &self.turns };
        let Ok(_turn) = turns.acquire().await else { return Err(Trouble::internal("the bridge is ending")) };
        let daemon = self.clone();
        let asked = tokio::task::spawn_blocking(move || daemon.ask(&for_an_assistant(&call)?, &waiting));
        asked.await.unwrap_or_else(|_| Err(Trouble::internal("the call met a fault and was given up")))
    }

    fn ask<C: Call>(&self, call: &C, waiting: &Waiting) -> Result<C::Answer, Trouble> {
        let began = Instant::now();
        let mut again = true;
        loop {
            match self.once(call, waiting) {
                // The daemon restarted during a call: the next daemon is there, or about to be.
                Err(ClientError::Closed) if again && may_repeat::<C>() && (waiting.goes_on)() => again = false,
                Err(ClientError::Remote(remote))
                    if (is_opening(&remote) || is_stopping(&remote) && may_repeat::<C>())
                        && began.elapsed() < OPENING =>
                {
                    if !(waiting.goes_on)() {
                        return Err(Daemon::trouble(ClientError::Remote(remote)));
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
                outcome => return outcome.map_err(Daemon::trouble),
            }
        }
    }

    fn once<C: Call>(&self, call: &C, waiting: &Waiting) -> Result<C::Answer, ClientError> {
        let mut client = Client::connect(&self.discovery)?;
        let welcome = client.hello()?;
        if let Some(unknown) = NEEDED.iter().find(|feature| !welcome.knows(feature)) {
            return Err(ClientError::Protocol(format!(
                "the daemon ({}) is older than this program, and lacks `{unknown}`; restart it, so that it is of this version",
                welcome.server.version
            )));
        }
        if asks_a_model::<C>() {
            client.set_timeout(Some(MODEL_PATIENCE));
        }
        let mut on_text = |piece: &str| {
            // A client that does not want progress has no reader.
            let _ = waiting.read.as_ref().map(|read| read.send(piece.chars().count()));
        };
        client.ask_with_text(call, &mut on_text, &*waiting.goes_on)?.read()
    }

    /// What to tell an assistant of an error: what happened, and what its user can do.
    fn trouble(error: ClientError) -> Trouble {
        match error {
            ClientError::NotRunning(socket) => {
                let message = format!(
                    "no situated daemon answers at {}. The user can start it with `situated service install` (`situated \
                     service start` where that is done), or with `situated run VAULT` in a terminal; then call again",
                    socket.display()
                );
                Trouble::new("not_running", message)
            }
            ClientError::Remote(remote) => Trouble::new(&remote.kind, remote.to_string()),
            ClientError::Closed => Trouble::new("closed", "the daemon ended during the call; call again in a moment"),
            other => Trouble::new("unreachable", other.to_string()),
        }
    }
}

/// The call with the assistant as its audience. Every call of a tool goes through here, so that none can forget it.
fn for_an_assistant<C: Call>(call: &C) -> Result<C, Trouble> {
    let odd = |_| Trouble::internal("the call cannot be made for an assistant");
    let mut params = serde_json::to_value(call).map_err(odd)?;
    params["audience"] = json!(Audience::Assistant);
    serde_json::from_value(params).map_err(odd)
}

/// Whether the answer may take as long as a model does.
fn asks_a_model<C: Call>() -> bool {
    C::METHOD.deadline() == Deadline::Provider
}

/// Whether a call may be made again after a daemon ended that had begun it. One that asks a model has been paid for.
fn may_repeat<C: Call>() -> bool {
    !asks_a_model::<C>() && C::METHOD != Method::Rebuild
}

/// Whether the daemon has not begun the call, and soon may.
fn is_opening(remote: &Remote) -> bool {
    matches!(remote.kind.as_str(), "not_ready" | "busy") && !is_stopping(remote)
}

/// Whether the daemon ends, and may have begun the call.
fn is_stopping(remote: &Remote) -> bool {
    remote.data.get("stopping") == Some(&json!(true))
}

/// Why a call failed.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    /// As in the protocol of the socket, or one of the bridge's own.
    pub(super) kind: String,
    /// For the assistant.
    pub(super) message: String,
}

impl Trouble {
    fn new(kind: &str, message: impl Into<String>) -> Self {
        Trouble { kind: kind.to_owned(), message: message.into() }
    }

    pub(super) fn internal(message: &str) -> Self {
        Trouble::new("internal", message)
    }

    /// The arguments are wrong.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Trouble::new("invalid_params", message)
    }
}

#[cfg(all(test, unix))]
mod tests;
