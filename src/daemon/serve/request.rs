//! One request on its way: its turn, its deadline, its cancellation, the job that it waits for, its one answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{oneshot, watch};

use super::Closing;
use super::methods::{self, Backend, Reply, RunningCall};
use super::outbox::Outbox;
use super::pool::Pools;
use super::results::WatchAnswer;
use engine::handle::{CallError, Cancel};
use protocol::envelope::{self, ErrorKind, Id, RpcError};
use protocol::events::{Notice, Watched};
use protocol::jobs::Job;
use protocol::notification::{Progress, Text};
use protocol::table::{AnyCall, Deadline, Pool};

/// Shortest time between two progress notifications of one request.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The client of waits whose number is already bounded for each connection.
const NOBODY: usize = 0;

/// What all connections share.
pub(super) struct Shared {
    backend: Arc<dyn Backend>,
    query_timeout: Duration,
    pools: Pools,
}

/// Cancels the work when the task that waits for it is dropped.
struct StopOnDrop(Cancel);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Shared {
    pub(super) fn new(backend: impl Backend + 'static, query_timeout: Duration) -> Self {
        let backend = Arc::new(backend);
        Shared { backend, query_timeout, pools: Pools::new() }
    }

    pub(super) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Runs `work` on a thread that may block, once it is its turn in the pool, of which each client has a fair share.
    /// A panic fails only this request.
    async fn blocking<R: Send + 'static>(
        &self,
        pool: Pool,
        client: usize,
        work: impl FnOnce() -> Result<R, RpcError> + Send + 'static,
    ) -> Result<R, RpcError> {
        let place = self.pools.enter(pool, client).await?;
        let work = move || {
            // The work keeps its place until it ends, even if its request has been answered before: then it was
            // cancelled, and ends soon.
            let _place = place;
            work()
        };
        // If the system has no thread to give, tokio panics here, and a client would wait for ever. The work that tokio
        // has taken still runs once there is a thread, and gives its place back then.
        let Ok(handed) = catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(work))) else {
            let why = "the system has no thread for the request: it is short of memory, or a limit of tasks is reached";
            return Err(RpcError::new(ErrorKind::Busy, why).hint("try again in a moment").retry_after_ms(1_000));
        };
        match handed.await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => Err(RpcError::internal("the request met a fault and was given up")),
            Err(_) => Err(CallError::Stopping.into()),
        }
    }

    /// What a watch shows now. The work ends when the task that waits for it is dropped.
    pub(super) async fn results(&self, shows: &Watched) -> Result<WatchAnswer, RpcError> {
        let (stop, shows) = (StopOnDrop(Cancel::new()), shows.clone());
        let (cancel, backend) = (stop.0.clone(), Arc::clone(&self.backend));
        self.blocking(Pool::Watch, NOBODY, move || backend.results(&shows, &cancel)).await
    }
}

/// Requests of one connection that are not answered yet.
#[derive(Default)]
pub(super) struct Running(Mutex<Vec<Entry>>);

struct Entry {
    key: u64,
    id: Option<Id>,
    cancel: Cancel,
    stop: Option<oneshot::Sender<RpcError>>,
}

impl Running {
    fn begin(&self, id: Option<Id>, cancel: Cancel) -> (u64, oneshot::Receiver<RpcError>) {
        let (stop, stopped) = oneshot::channel();
        let mut entries = self.0.lock();
        let key = entries.last().map_or(0, |last| last.key + 1);
        entries.push(Entry { key, id, cancel, stop: Some(stop) });
        (key, stopped)
    }

    fn end(&self, key: u64) {
        self.0.lock().retain(|entry| entry.key != key);
    }

    /// Ends the requests of that id with error 1003; returns whether there was one.
    pub(super) fn cancel(&self, id: &Id) -> bool {
        self.stop(|entry| entry.id.as_ref() == Some(id), &CallError::Cancelled.into())
    }

    /// Ends all requests with `error`.
    pub(super) fn stop_all(&self, error: &RpcError) {
        self.stop(|_| true, error);
    }

    fn stop(&self, which: impl Fn(&Entry) -> bool, error: &RpcError) -> bool {
        let mut any = false;
        for entry in self.0.lock().iter_mut().filter(|entry| which(entry)) {
            entry.cancel.cancel();
            if let Some(stop) = entry.stop.take() {
                // A request that has just been answered no longer listens.
                any |= stop.send(error.clone()).is_ok();
            }
        }
        any
    }
}

/// A request that has been accepted and is to be answered.
pub(super) struct Accepted {
    shared: Arc<Shared>,
    outbox: Arc<Outbox>,
    running: Arc<Running>,
    closing: watch::Receiver<Option<Closing>>,
    id: Option<Id>,
    call: RunningCall,
    cancel: Cancel,
    key: u64,
    stopped: oneshot::Receiver<RpcError>,
}

impl Accepted {
    /// Records the request as running, so that a `cancel` right behind it finds it.
    pub(super) fn new(
        shared: Arc<Shared>,
        outbox: Arc<Outbox>,
        running: Arc<Running>,
        closing: watch::Receiver<Option<Closing>>,
        id: Option<Id>,
        call: RunningCall,
    ) -> Self {
        let cancel = Cancel::new();
        let (key, stopped) = running.begin(id.clone(), cancel.clone());
        Accepted { shared, outbox, running, closing, id, call, cancel, key, stopped }
    }

    /// Carries the request out and queues its one answer.
    pub(super) async fn run(mut self) {
        let start = Instant::now();
        let method = self.call.what.method();
        let outcome = self.outcome().await;
        // Work for an answer that has been given some other way may stop.
        self.cancel.cancel();
        self.running.end(self.key);
        let kind = outcome.as_ref().err().map_or("ok", |error| error.kind.name());
        tracing::debug!(
            method = method.name(),
            outcome = kind,
            took_ms = start.elapsed().as_secs_f64() * 1e3,
            "request"
        );
        if let Some(id) = &self.id {
            let line = match outcome {
                Ok(body) => envelope::result_line(id, &body),
                Err(error) => envelope::error_line(Some(id), &error),
            };
            self.outbox.reply(line).await;
        }
    }

    async fn outcome(&mut self) -> Result<Vec<u8>, RpcError> {
        let shared = Arc::clone(&self.shared);
        let token = methods::progress_token(&self.call.what).cloned();
        let limit = shared.query_timeout;
        // A call that asks a model ends by itself, however late: its provider has deadlines.
        let is_endless = self.call.what.method().deadline() == Deadline::Provider;
        let mut texts = self.texts();
        let answer = self.answer(shared.as_ref());
        let late = tokio::time::sleep(limit);
        tokio::pin!(answer, late);
        let reply = loop {
            tokio::select! {
                biased;
                stopped = &mut self.stopped => return Err(stopped.unwrap_or_else(|_| CallError::Stopping.into())),
                Some(text) = texts.recv() => self.tell(text, &mut texts).await,
                reply = &mut answer => break reply?,
                () = &mut late, if !is_endless => {
                    return Err(CallError::Timeout(limit.as_millis() as u64).into());
                }
            }
        };
        // The answer comes after all of its text.
        if let Ok(text) = texts.try_recv() {
            self.tell(text, &mut texts).await;
        }
        match reply {
            Reply::Body(body) => Ok(body),
            // A job belongs to the daemon and takes as long as it takes; only the wait for it can be cut short.
            Reply::Wait(job) => {
                let waiting = wait(shared.as_ref(), &self.outbox, job, token);
                tokio::select! {
                    biased;
                    stopped = &mut self.stopped => Err(stopped.unwrap_or_else(|_| CallError::Stopping.into())),
                    job = waiting => envelope::body(&job?),
                    _ = self.closing.wait_for(Option::is_some) => Err(CallError::Stopping.into()),
                }
            }
        }
    }

    /// Text of an answer as it comes, if the client wants that. The channel need not be bounded: an answer is at most
    /// `ask.max_tokens` long.
    fn texts(&mut self) -> UnboundedReceiver<String> {
        let (sender, texts) = unbounded_channel();
        let wanted = matches!(&self.call.what, AnyCall::Ask(asked) if asked.stream != Some(false));
        self.call.text = Some(sender).filter(|_| self.id.is_some() && wanted);
        texts
    }

    /// Sends text, together with what has come after it. Waits for room, because an answer with a gap is no answer.
    async fn tell(&self, mut text: String, texts: &mut UnboundedReceiver<String>) {
        while let Ok(more) = texts.try_recv() {
            text.push_str(&more);
        }
        let Some(id) = self.id.clone() else { return };
        self.outbox.reply(envelope::notification_line("text", &Text { id, text })).await;
    }

    fn answer<'a>(&self, shared: &'a Shared) -> impl Future<Output = Result<Reply, RpcError>> + use<'a> {
        let (call, cancel) = (self.call.clone(), self.cancel.clone());
        let backend = Arc::clone(&shared.backend);
        // The address of a connection's list of running requests identifies the connection.
        let client = Arc::as_ptr(&self.running).addr();
        shared.blocking(backend.pool(&call.what), client, move || backend.dispatch(call, &cancel))
    }
}

/// Waits until the job has ended, telling how far it is if a token was given for that.
async fn wait(shared: &Shared, outbox: &Outbox, job: u64, token: Option<Id>) -> Result<Job, RpcError> {
    // Before the first look, so that no end of the job in between is missed.
    let mut notices = shared.backend.subscribe();
    let mut told = None;
    let mut next_telling = Instant::now();
    loop {
        let state = shared.backend.job(job)?;
        let mut news = token.as_ref().filter(|_| told.is_none_or(|told| state.done > told));
        if let Some(token) = news.filter(|_| !state.is_running() || next_telling <= Instant::now()) {
            outbox.notify(progress_line(token, &state));
            (told, news, next_telling) = (Some(state.done), None, Instant::now() + PROGRESS_INTERVAL);
        }
        if !state.is_running() {
            return Ok(state);
        }
        moved_on(&mut notices, job, news.map(|_| next_telling)).await?;
    }
}

/// Waits for a notice that tells of the job, at most until `by`.
async fn moved_on(notices: &mut Receiver<Arc<Notice>>, job: u64, by: Option<Instant>) -> Result<(), RpcError> {
    loop {
        match hear(notices, by).await {
            Some(Ok(notice)) if !matches!(&*notice, Notice::Job { job: other } if other.job == job) => {}
            Some(Err(RecvError::Closed)) => return Err(CallError::Stopping.into()),
            None | Some(Ok(_) | Err(RecvError::Lagged(_))) => return Ok(()),
        }
    }
}

/// The next notice; `None` if none comes until `by`.
pub(super) async fn hear(
    notices: &mut Receiver<Arc<Notice>>,
    by: Option<Instant>,
) -> Option<Result<Arc<Notice>, RecvError>> {
    match by {
        None => Some(notices.recv().await),
        Some(by) => tokio::time::timeout_at(by.into(), notices.recv()).await.ok(),
    }
}

fn progress_line(token: &Id, job: &Job) -> Vec<u8> {
    let progress =
        Progress { token: token.clone(), done: job.done, total: job.total, phase: job.phase.clone(), message: None };
    envelope::notification_line("progress", &progress)
}
