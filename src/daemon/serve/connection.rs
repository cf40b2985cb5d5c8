//! One connection: reads lines, gives requests their slots, and ends without losing an answer.
//!
//! One task reads, one writes, and each running request has its own. The reader stops reading while all slots are
//! taken or the queue of replies is full, so that a client that asks faster than it is answered waits in its own
//! `write`, not in our memory.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::task::JoinHandle;

use super::follow;
use super::local::{self, Stream};
use super::methods::{self, Reply, RunningCall};
use super::outbox::{self, Outbox};
use super::request::{Accepted, Running, Shared};
use super::results;
use super::{Closing, GRACE, SWEEP};
use engine::handle::{CallError, Cancel};
use protocol::daemon::Nothing;
use protocol::envelope::{self, Id, Refused, Request, RpcError};
use protocol::events::{EVENTS, Notice, SubscribeRequest, Subscribed};
use protocol::frame::{self, Line, LineDecoder, MAX_REPLY};
use protocol::jobs::CancelRequest;
use protocol::table::{self, AnyCall, Method};

/// Requests of one connection that run at once; the next waits.
const SLOTS: u32 = 8;

/// After how long the daemon first looks whether a client that no longer writes has gone altogether. It looks only
/// while it waits for such a client.
const HANGUP_POLL: Duration = Duration::from_millis(100);

/// The longest pause between such looks: a subscriber that has half-closed may stay for days.
const HANGUP_POLL_SLOWEST: Duration = Duration::from_secs(2);

/// How long a client that was refused may take to read why.
const LINGER: Duration = Duration::from_secs(1);

const READ_BYTES: usize = 16 << 10;

/// Why the reader stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The client will send no more.
    HalfClosed,
    /// The client is gone, or takes no answers.
    Gone,
    /// The daemon stops.
    Draining,
    /// It is not a client of ours.
    Refused,
}

struct Connection {
    stream: Arc<Stream>,
    shared: Arc<Shared>,
    outbox: Arc<Outbox>,
    running: Arc<Running>,
    slots: Arc<Semaphore>,
    closing: watch::Receiver<Option<Closing>>,
    writer: Owned<io::Result<()>>,
    /// Forwards events, and follows watches; empty without a subscription.
    subscription: Vec<Owned<()>>,
    /// Whether the client ever sent anything.
    heard: bool,
}

/// A task that ends with its owner.
struct Owned<T>(JoinHandle<T>);

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Serves one client until it or the daemon ends.
pub(super) async fn serve(stream: Stream, shared: Arc<Shared>, closing: watch::Receiver<Option<Closing>>) {
    let stream = Arc::new(stream);
    let outbox = Arc::new(Outbox::default());
    let writer = Owned(tokio::spawn({
        let (outbox, stream) = (Arc::clone(&outbox), Arc::clone(&stream));
        async move { outbox.write_to(&stream).await }
    }));
    let mut connection = Connection {
        stream,
        shared,
        outbox,
        running: Arc::new(Running::default()),
        slots: Arc::new(Semaphore::new(SLOTS as usize)),
        closing,
        writer,
        subscription: Vec::new(),
        heard: false,
    };
    let end = connection.read().await;
    connection.finish(end).await;
}

impl Connection {
    async fn read(&mut self) -> End {
        let mut decoder = LineDecoder::requests();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            if let Some(end) = self.readable().await {
                return end;
            }
            let count = match self.stream.try_read(&mut buffer) {
                Ok(count) => count,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    continue;
                }
                Err(_) => return End::Gone,
            };
            if count == 0 {
                if let Some(line) = decoder.finish()
                    && let Some(end) = self.line(line).await
                {
                    return end;
                }
                return End::HalfClosed;
            }
            self.heard = true;
            let mut input = &buffer[..count];
            while let Some(line) = decoder.next_line(&mut input) {
                if let Some(end) = self.line(line).await {
                    return end;
                }
            }
        }
    }

    /// Waits until there is something to read, or a reason not to.
    async fn readable(&mut self) -> Option<End> {
        let closing = *self.closing.borrow();
        let closing = if let Some(closing) = closing {
            closing
        } else {
            tokio::select! {
                biased;
                _ = &mut self.writer.0 => return Some(End::Gone),
                readable = self.stream.readable() => return readable.is_err().then_some(End::Gone),
                closing = closed(&mut self.closing) => closing,
            }
        };
        // What arrived before the daemon stops is still read, though the runtime may not know of it yet; but the daemon
        // does not listen for ever to a client that goes on asking.
        let left = closing.read_until.saturating_duration_since(Instant::now());
        // A client that has only just connected is about to ask.
        let patience = if self.heard { left.min(SWEEP) } else { left };
        match tokio::time::timeout(patience, self.stream.readable()).await {
            Ok(Ok(())) if !patience.is_zero() => None,
            Ok(Err(_)) => Some(End::Gone),
            Ok(Ok(())) | Err(_) => Some(End::Draining),
        }
    }

    async fn line(&mut self, line: Line) -> Option<End> {
        let request = match line {
            Line::Text(text) => match envelope::parse(&text) {
                Ok(request) => request,
                Err(Refused::Silent) => return None,
                Err(Refused::Answer(id, error)) => {
                    self.outbox.reply(envelope::error_line(id.as_ref(), &error)).await;
                    return None;
                }
            },
            Line::TooLong => {
                self.outbox.reply(envelope::error_line(None, &envelope::request_too_long())).await;
                return None;
            }
            Line::Http => {
                self.outbox.reply(frame::http_refusal()).await;
                return Some(End::Refused);
            }
        };
        self.request(request).await
    }

    /// Starts a request, or answers it at once if it needs nothing but this connection.
    async fn request(&mut self, request: Request) -> Option<End> {
        let Request { id, method: name, params } = request;
        let call = match Method::from_name(&name) {
            Some(method) => AnyCall::read(method, params),
            None => Err(table::unknown_method(&name)),
        };
        let outcome = match call {
            Ok(AnyCall::Ping(_)) => envelope::body(&Nothing {}).map(Some),
            Ok(AnyCall::Subscribe(wanted)) => self.subscribe(*wanted, id.as_ref()).await.map(|()| None),
            Ok(AnyCall::Cancel(ref asked)) if asked.id.is_some() => self.cancel(asked).map(Some),
            Ok(call @ AnyCall::Shutdown(_)) => self.at_once(call),
            Ok(call) => return self.start(id, RunningCall::new(call)).await,
            Err(error) => Err(error),
        };
        match (id, outcome) {
            (None, _) | (_, Ok(None)) => {}
            (Some(id), Ok(Some(body))) => self.outbox.reply(envelope::result_line(&id, &body)).await,
            (Some(id), Err(error)) => self.outbox.reply(envelope::error_line(Some(&id), &error)).await,
        }
        None
    }

    /// Carries out what takes no time and must not wait for a thread, which the system may not have.
    fn at_once(&self, call: AnyCall) -> Result<Option<Vec<u8>>, RpcError> {
        match self.shared.backend().dispatch(RunningCall::new(call), &Cancel::new())? {
            Reply::Body(body) => Ok(Some(body)),
            Reply::Wait(_) => Ok(None),
        }
    }

    async fn start(&mut self, id: Option<Id>, call: RunningCall) -> Option<End> {
        let slot = tokio::select! {
            biased;
            slot = Arc::clone(&self.slots).acquire_owned() => slot.ok()?,
            () = hangup(&self.stream) => return Some(End::Gone),
            _ = &mut self.writer.0 => return Some(End::Gone),
            () = last_words(&mut self.closing) => {
                // There is still time to answer what was asked after it, and what runs.
                if let Some(id) = &id {
                    self.outbox.reply(envelope::error_line(Some(id), &CallError::Stopping.into())).await;
                }
                return None;
            }
        };
        let accepted = Accepted::new(
            Arc::clone(&self.shared),
            Arc::clone(&self.outbox),
            Arc::clone(&self.running),
            self.closing.clone(),
            id,
            call,
        );
        tokio::spawn(async move {
            accepted.run().await;
            drop(slot);
        });
        None
    }

    fn cancel(&self, asked: &CancelRequest) -> Result<Vec<u8>, RpcError> {
        let Some(id) = &asked.id else { return Err(methods::nothing_to_cancel()) };
        if self.running.cancel(id) {
            return envelope::body(&Nothing {});
        }
        let hint = "it may have been answered already".to_owned();
        Err(CallError::NotFound { what: "request", name: id.to_string(), hint }.into())
    }

    /// Begins to forward events and to follow watches; a second call replaces the first. The result goes out before
    /// the first event, so it is queued here.
    async fn subscribe(&mut self, wanted: SubscribeRequest, id: Option<&Id>) -> Result<(), RpcError> {
        let without_watches = wanted.watch.is_none();
        let watches = results::open(wanted.watch.unwrap_or_default())?;
        let is_wanted = |kind: &str| match &wanted.events {
            Some(names) => names.iter().any(|name| name == kind),
            None => without_watches,
        };
        let kinds: Vec<&'static str> = EVENTS.iter().copied().filter(|kind| is_wanted(kind)).collect();
        let backend = self.shared.backend();
        let (notices, changes) = (backend.subscribe(), backend.subscribe());
        self.subscription = Vec::new();
        let slots = self.outbox.open_slots(watches.len());
        if let Some(id) = id {
            let events = kinds.iter().map(|&kind| kind.to_owned()).collect();
            let watch = watches.iter().map(|watch| watch.token.clone()).collect();
            let body = envelope::body(&Subscribed { events, watch })?;
            self.outbox.reply(envelope::result_line(id, &body)).await;
        }
        let outbox = || Arc::clone(&self.outbox);
        // A client that wants no events is subscribed too, and stays connected after a half-close.
        let mut tasks = vec![tokio::spawn(forward(outbox(), kinds, notices))];
        if !watches.is_empty() {
            let watches = watches.into_iter().zip(slots).collect();
            tasks.push(tokio::spawn(follow::follow(Arc::clone(&self.shared), outbox(), watches, changes)));
        }
        self.subscription = tasks.into_iter().map(Owned).collect();
        Ok(())
    }

    async fn finish(mut self, end: End) {
        let gone = match end {
            End::Gone => true,
            End::HalfClosed => self.half_closed().await,
            End::Draining | End::Refused => self.drain().await,
        };
        self.subscription.clear();
        if gone {
            self.running.stop_all(&CallError::Cancelled.into());
            self.outbox.break_off();
            return;
        }
        self.outbox.finish();
        let written = (&mut self.writer.0).await;
        if end == End::Refused && matches!(written, Ok(Ok(()))) {
            linger(&self.stream).await;
        }
    }

    /// Lets running requests end; true if the client has gone meanwhile. A subscription lasts until the client goes.
    async fn half_closed(&mut self) -> bool {
        let (slots, subscribed) = (Arc::clone(&self.slots), !self.subscription.is_empty());
        let idle = async {
            let _ = slots.acquire_many(SLOTS).await;
            if subscribed {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = idle => return false,
            () = hangup(&self.stream) => return true,
            _ = &mut self.writer.0 => return true,
            _ = closed(&mut self.closing) => {}
        }
        self.drain().await
    }

    /// Gives running requests a moment to end, then answers them with an error; true if the client has gone.
    async fn drain(&mut self) -> bool {
        let slots = Arc::clone(&self.slots);
        let idle = slots.acquire_many(SLOTS);
        let grace = self.closing.borrow().map_or(GRACE, |closing| closing.grace);
        tokio::pin!(idle);
        tokio::select! {
            biased;
            _ = &mut idle => return false,
            () = hangup(&self.stream) => return true,
            _ = &mut self.writer.0 => return true,
            () = tokio::time::sleep(grace) => self.running.stop_all(&CallError::Stopping.into()),
        }
        tokio::select! {
            _ = idle => false,
            _ = &mut self.writer.0 => true,
        }
    }
}

/// Sends events of these kinds for as long as the engine lives.
async fn forward(outbox: Arc<Outbox>, kinds: Vec<&'static str>, mut notices: broadcast::Receiver<Arc<Notice>>) {
    if kinds.is_empty() {
        return;
    }
    loop {
        match notices.recv().await {
            Ok(notice) => {
                if kinds.contains(&notice.kind()) {
                    let line = envelope::notification_line("event", &*notice);
                    if line.len() > MAX_REPLY {
                        outbox.missed(1);
                    } else {
                        outbox.notify(line);
                    }
                }
            }
            Err(RecvError::Lagged(count)) => outbox.missed(count),
            Err(RecvError::Closed) => return,
        }
    }
}

/// Returns when the daemon stops.
async fn closed(closing: &mut watch::Receiver<Option<Closing>>) -> Closing {
    let closing = closing.wait_for(Option::is_some).await;
    closing.ok().and_then(|closing| *closing).unwrap_or_else(|| Closing::begin(GRACE))
}

/// Returns when a stopping daemon no longer waits for a slot, nor listens to a client that goes on asking.
async fn last_words(closing: &mut watch::Receiver<Option<Closing>>) {
    let Closing { read_until, .. } = closed(closing).await;
    tokio::time::sleep_until(read_until.into()).await;
}

/// Returns when the client has closed both directions. A client that has only stopped writing has not.
async fn hangup(stream: &Stream) {
    let mut pause = HANGUP_POLL;
    loop {
        if local::has_hung_up(stream).await {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(HANGUP_POLL_SLOWEST);
    }
}

/// Refuses a client: sends `line`, and gives it a moment to read it.
pub(super) async fn refuse(stream: Stream, line: Vec<u8>) {
    if outbox::write_all(&stream, &line).await.is_ok() {
        linger(&stream).await;
    }
}

/// Ends our side and reads on for a moment: a close with unread bytes would make the client's next write fail before
/// it has read the answer.
async fn linger(stream: &Stream) {
    local::shut_down(stream);
    let mut sink = [0; 4096];
    let discard = async {
        while stream.readable().await.is_ok() {
            match stream.try_read(&mut sink) {
                Ok(0) => return,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => {}
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, discard).await;
}
