//! The client on whose behalf the daemon is called: it hears of progress, may cancel, and may have gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::mpsc::unbounded_channel;

use super::daemon::{Daemon, Trouble, Waiting};
use protocol::table::Call;

/// The least time between two progress notifications of one request.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// The client that made a call: it gets progress, may cancel, and may have gone.
pub(super) struct Caller {
    pub(super) daemon: Daemon,
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    waiting: Waiting,
    left: Arc<AtomicBool>,
}

impl Caller {
    /// `left` is set once the client's input has ended.
    pub(super) fn new(daemon: Daemon, left: Arc<AtomicBool>, context: &RequestContext<RoleServer>) -> Self {
        let cancelled = context.ct.clone();
        Caller {
            daemon,
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            waiting: Waiting { goes_on: Arc::new(move || !cancelled.is_cancelled()), read: None },
            left,
        }
    }

    /// Whether the client still waits.
    pub(super) fn goes_on(&self) -> bool {
        (self.waiting.goes_on)()
    }

    /// Whether the client no longer waits because it has gone, rather than cancelled the call.
    pub(super) fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    /// Calls the daemon on behalf of this client.
    pub(super) async fn call<C: Call<Answer: Send>>(&self, call: C) -> Result<C::Answer, Trouble> {
        self.daemon.call(call, self.waiting.clone()).await
    }

    /// The same, with the length of the answer's text as progress while it comes.
    pub(super) async fn call_told<C: Call<Answer: Send>>(&self, call: C) -> Result<C::Answer, Trouble> {
        let (sender, mut pieces) = unbounded_channel::<usize>();
        let waiting = Waiting { read: self.token.is_some().then_some(sender), ..self.waiting.clone() };
        let tell = async {
            let (mut sum, mut told) = (0, None::<Instant>);
            while let Some(piece) = pieces.recv().await {
                sum += piece;
                if told.is_none_or(|told| told.elapsed() >= PROGRESS_INTERVAL) {
                    told = Some(Instant::now());
                    self.progress(sum as f64, None, "characters of the answer").await;
                }
            }
        };
        // The sender is dropped with what waits, so `tell` ends when the call has ended.
        tokio::join!(self.daemon.call(call, waiting), tell).0
    }

    /// Reports progress, if the client asked for it; `done` must grow.
    pub(super) async fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        let Some(token) = &self.token else { return };
        let mut param = ProgressNotificationParam::new(token.clone(), done).with_message(message);
        param.total = total;
        // A client that has gone need not be told.
        let _ = self.peer.notify_progress(param).await;
    }
}
