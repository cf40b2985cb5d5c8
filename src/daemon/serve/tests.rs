//! Connections over real sockets with a made-up engine behind them: what clients do wrong, and what they may rely on.

mod abuse;
mod property;
pub(super) mod watches;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{broadcast, oneshot, watch};
use tokio::task::JoinHandle;

use super::connection;
use super::methods::{Backend, Reply, RunningCall};
use super::request::Shared;
use super::results::WatchAnswer;
use super::{Closing, Door, GRACE, Shutdown};
use crate::daemon::config::ServeConfig;
use engine::handle::{CallError, Cancel};
use protocol::envelope::{RpcError, body};
use protocol::events::{Notice, Watched};
use protocol::jobs::{Job, JobKind, JobState};
use protocol::status::RunState;
use protocol::table::{AnyCall, Method, Pool};

#[test]
fn a_full_disk_is_told_of_with_what_to_do() {
    let create = |kind: std::io::ErrorKind| super::lock::BindError::create("/d/daemon.json".as_ref())(kind.into());
    assert!(create(std::io::ErrorKind::StorageFull).to_string().contains("make room on that disk"));
    assert!(!create(std::io::ErrorKind::ReadOnlyFilesystem).to_string().contains("make room"));
}

/// Longer than anything here takes on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Counts of what the made-up engine has seen.
#[derive(Default)]
pub(super) struct Seen {
    begun: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
    cancelled: AtomicUsize,
    done: AtomicU64,
    /// Looks at watches.
    pub(super) looks: AtomicUsize,
}

#[derive(Clone)]
pub(super) struct Fake {
    pub(super) seen: Arc<Seen>,
    pub(super) notices: broadcast::Sender<Arc<Notice>>,
    /// What every watch shows.
    pub(super) found: Arc<Mutex<Result<WatchAnswer, RpcError>>>,
}

impl Fake {
    pub(super) fn new() -> Fake {
        Fake {
            seen: Arc::default(),
            notices: broadcast::channel(4096).0,
            found: Arc::new(Mutex::new(Ok(WatchAnswer::default()))),
        }
    }

    pub(super) fn connect(&self) -> Client {
        self.connect_with(ServeConfig::default().query_timeout)
    }

    pub(super) fn connect_with(&self, timeout: Duration) -> Client {
        Fake::connect_to(&self.shared(timeout))
    }

    /// What several connections share.
    fn shared(&self, timeout: Duration) -> Arc<Shared> {
        Arc::new(Shared::new(self.clone(), timeout))
    }

    fn connect_to(shared: &Arc<Shared>) -> Client {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (close, closing) = watch::channel(None);
        let server = tokio::spawn(connection::serve(theirs, Arc::clone(shared), closing));
        Client { stream: BufReader::new(ours), server, close }
    }

    /// So much of the job is done, which a notice tells.
    fn moves_on_to(&self, done: u64) {
        self.seen.done.store(done, Ordering::SeqCst);
        let _ = self.notices.send(Arc::new(Notice::Job { job: Box::new(job(done)) }));
    }

    pub(super) async fn until(&self, what: &str, condition: impl Fn(&Seen) -> bool) {
        let start = Instant::now();
        while !condition(&self.seen) {
            assert!(start.elapsed() < PATIENCE, "{what} did not happen");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Backend for Fake {
    fn dispatch(&self, call: RunningCall, cancel: &Cancel) -> Result<Reply, RpcError> {
        let seen = &*self.seen;
        seen.begun.fetch_add(1, Ordering::SeqCst);
        let now = seen.running.fetch_add(1, Ordering::SeqCst) + 1;
        seen.most.fetch_max(now, Ordering::SeqCst);
        let query = match &call.what {
            AnyCall::Search(asked) => asked.query.as_str(),
            AnyCall::Ask(asked) => asked.question.as_str(),
            _ => "",
        };
        let outcome = match (call.what.method(), query) {
            (Method::Sync, _) => Ok(Reply::Wait(1)),
            (_, "slow") => wait_for_cancel(seen, cancel),
            (_, "panic") => {
                seen.running.fetch_sub(1, Ordering::SeqCst);
                panic!("a fault of this test's own")
            }
            (_, "big") => body(&json!({ "text": "x".repeat(1 << 20) })).map(Reply::Body),
            (_, "huge") => body(&json!({ "text": "x".repeat(17 << 20) })).map(Reply::Body),
            (method, query) => body(&json!({ "method": method.name(), "query": query })).map(Reply::Body),
        };
        seen.running.fetch_sub(1, Ordering::SeqCst);
        outcome
    }

    fn pool(&self, call: &AnyCall) -> Pool {
        super::pool::of(call, super::pool::Outside::default())
    }

    fn job(&self, _: u64) -> Result<Job, RpcError> {
        Ok(job(self.seen.done.load(Ordering::SeqCst)))
    }

    fn results(&self, _: &Watched, _: &Cancel) -> Result<WatchAnswer, RpcError> {
        self.seen.looks.fetch_add(1, Ordering::SeqCst);
        self.found.lock().unwrap().clone()
    }

    fn subscribe(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.notices.subscribe()
    }
}

fn wait_for_cancel(seen: &Seen, cancel: &Cancel) -> Result<Reply, protocol::envelope::RpcError> {
    let start = Instant::now();
    while !cancel.is_cancelled() {
        assert!(start.elapsed() < PATIENCE, "nobody cancelled");
        std::thread::sleep(Duration::from_millis(2));
    }
    seen.cancelled.fetch_add(1, Ordering::SeqCst);
    Err(CallError::Cancelled.into())
}

fn job(done: u64) -> Job {
    let (job, kind) = (1, JobKind::Sync);
    let state = if done < 5 { JobState::Running } else { JobState::Done };
    Job { job, kind, state, done, total: Some(5), phase: "reading".into(), seq: 9, ..Job::default() }
}

pub(super) struct Client {
    pub(super) stream: BufReader<UnixStream>,
    pub(super) server: JoinHandle<()>,
    close: watch::Sender<Option<Closing>>,
}

impl Client {
    /// The daemon stops.
    pub(super) fn closes(&self) {
        self.close.send(Some(Closing::begin(GRACE))).unwrap();
    }

    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).await.unwrap();
    }

    pub(super) async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.send(line(id, method, params)).await;
    }

    pub(super) async fn half_close(&mut self) {
        self.stream.get_mut().shutdown().await.unwrap();
    }

    /// The next line; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        next(&mut self.stream).await
    }

    pub(super) async fn error(&mut self) -> (Value, i64) {
        let reply = self.next().await.unwrap();
        (reply["id"].clone(), reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("{reply}")))
    }

    pub(super) async fn expect_ping(&mut self) {
        self.ask("p", "ping", json!({})).await;
        assert_eq!(self.next().await.unwrap(), json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
    }
}

pub(super) async fn next(stream: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Option<Value> {
    use tokio::io::AsyncBufReadExt as _;
    let mut line = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_until(b'\n', &mut line)).await.expect("an answer").unwrap();
    if line.is_empty() {
        return None;
    }
    Some(serde_json::from_slice(&line).unwrap())
}

pub(super) fn line(id: impl Into<Value>, method: &str, params: Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }))
}

#[tokio::test]
async fn notifications_are_carried_out_and_never_answered() {
    let fake = Fake::new();
    let mut client = fake.connect();
    for text in [
        r#"{"jsonrpc":"2.0","method":"status"}"#,
        r#"{"jsonrpc":"2.0","method":"nonsense"}"#,
        r#"{"jsonrpc":"2.0","method":"cancel","params":{"id":55}}"#,
        r#"{"jsonrpc":"2.0","method":"status","params":[1]}"#,
    ] {
        client.send(format!("{text}\n")).await;
    }
    client.expect_ping().await;
    fake.until("the one good notification", |seen| seen.begun.load(Ordering::SeqCst) == 1).await;
    client.half_close().await;
    assert_eq!(client.next().await, None);
    assert_eq!(fake.seen.begun.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ninth_request_waits_and_a_small_pool_does_the_work() {
    let fake = Fake::new();
    let mut client = fake.connect();
    for id in 0..9 {
        client.ask(id, "search", json!({ "query": "slow", "fresh": true })).await;
    }
    fake.until("eight requests", |seen| seen.running.load(Ordering::SeqCst) == 8).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(fake.seen.begun.load(Ordering::SeqCst), 8);
    drop(client);
    fake.until("their end", |seen| seen.cancelled.load(Ordering::SeqCst) == 8).await;
    assert_eq!(fake.seen.begun.load(Ordering::SeqCst), 8, "the ninth is never begun");

    let fake = Fake::new();
    let mut client = fake.connect();
    for id in 0..8 {
        client.ask(id, "search", json!({ "query": "slow" })).await;
    }
    let cores = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    fake.until("a full pool", |seen| seen.running.load(Ordering::SeqCst) == cores).await;
    client.expect_ping().await;
    client.ask("s", "status", json!({})).await;
    let waiting = tokio::time::timeout(Duration::from_millis(100), client.next()).await;
    assert!(waiting.is_err(), "no slot is free: {waiting:?}");
    drop(client);
    fake.until("their end", |seen| seen.cancelled.load(Ordering::SeqCst) == cores).await;
}

#[tokio::test]
async fn replies_come_out_of_order_and_a_cancelled_request_is_answered_once() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask("slow", "search", json!({ "query": "slow" })).await;
    client.ask("quick", "search", json!({ "query": "quick" })).await;
    assert_eq!(client.next().await.unwrap()["id"], "quick");
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"id\":\"slow\"}}\n").await;
    assert_eq!(client.error().await, (json!("slow"), 1003));
    fake.until("the engine's notice of it", |seen| seen.cancelled.load(Ordering::SeqCst) == 1).await;
    client.ask(1, "cancel", json!({ "id": "slow" })).await;
    assert_eq!(client.error().await, (json!(1), 1005));
    client.ask(2, "search", json!({ "query": "slow" })).await;
    client.ask(3, "cancel", json!({ "id": 2 })).await;
    let mut replies = [client.next().await.unwrap(), client.next().await.unwrap()];
    replies.sort_by_key(|reply| reply["id"].as_i64());
    assert_eq!(replies[0]["error"]["data"]["kind"], "cancelled");
    assert_eq!(replies[1]["result"], json!({}));
}

#[tokio::test]
async fn a_deadline_answers_and_stops_the_work() {
    let fake = Fake::new();
    let mut client = fake.connect_with(Duration::from_millis(50));
    client.ask(1, "search", json!({ "query": "slow" })).await;
    assert_eq!(client.error().await, (json!(1), 1004));
    fake.until("the work's end", |seen| seen.cancelled.load(Ordering::SeqCst) == 1).await;
    // A job that is waited for has none.
    client.ask(2, "sync", json!({})).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    fake.moves_on_to(5);
    assert_eq!(client.next().await.unwrap()["result"]["state"], "done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_over_their_deadline_give_their_places_back() {
    let fake = Fake::new();
    let mut client = fake.connect_with(Duration::from_millis(200));
    for round in 0..4 {
        for id in 0..8 {
            client.ask(8 * round + id, "search", json!({ "query": "slow" })).await;
        }
        for _ in 0..8 {
            assert_eq!(client.error().await.1, 1004);
        }
        // Each that began has ended.
        fake.until("their end", |seen| seen.running.load(Ordering::SeqCst) == 0).await;
    }
    client.ask("quick", "search", json!({ "query": "quick" })).await;
    assert_eq!(client.next().await.unwrap()["result"]["query"], "quick");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_ends_answers_also_what_waits_for_a_slot() {
    let fake = Fake::new();
    let mut client = fake.connect();
    for id in 0..12 {
        client.ask(id, "search", json!({ "query": "slow", "fresh": true })).await;
    }
    fake.until("eight requests", |seen| seen.running.load(Ordering::SeqCst) == 8).await;
    client.closes();
    let mut answered = Vec::new();
    for _ in 0..12 {
        let (id, code) = client.error().await;
        assert_eq!(code, 1001);
        answered.push(id.as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..12).collect::<Vec<_>>());
    assert_eq!(client.next().await, None);
}

#[test]
fn a_daemon_is_told_to_end_also_where_no_thread_is_left() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let only = tokio::task::spawn_blocking(move || wait.recv());
        let mut client = Fake::new().connect();
        client.ask(1, "shutdown", json!({})).await;
        let reply = tokio::time::timeout(PATIENCE, client.next()).await.expect("an answer").unwrap();
        assert_eq!(reply["result"]["method"], "shutdown");
        drop(end);
        only.await.unwrap().unwrap_err();
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_refuses_at_once_and_others_are_answered() {
    let fake = Fake::new();
    let server = fake.shared(Duration::from_secs(20));
    let mut clients: Vec<Client> = (0..5).map(|_| Fake::connect_to(&server)).collect();
    for client in &mut clients {
        for id in 0..8 {
            client.ask(id, "ask", json!({ "question": "slow" })).await;
        }
    }
    fake.until("a full pool", |seen| seen.running.load(Ordering::SeqCst) == 12).await;
    let mut refused = 0;
    let mut other = Fake::connect_to(&server);
    for client in &mut clients {
        while let Ok(Some(reply)) = tokio::time::timeout(Duration::from_millis(500), client.next()).await {
            assert_eq!(reply["error"]["data"]["kind"], "busy", "{reply}");
            assert!(reply["error"]["data"]["retry_after_ms"].as_u64() > Some(0), "{reply}");
            refused += 1;
        }
    }
    assert_eq!(refused, 16, "of 40 questions 12 run and 12 wait");
    fake.moves_on_to(5);
    for (method, params) in [
        ("search", json!({ "query": "x" })),
        ("search", json!({ "query": "x", "fresh": true })),
        ("search", json!({ "query": "x", "expand": "queries" })),
        ("graph", json!({})),
        ("status", json!({})),
        ("sync", json!({})),
    ] {
        other.ask(method, method, params).await;
        assert!(other.next().await.unwrap().get("result").is_some(), "{method}");
    }
    drop(clients);
    fake.until("the questions' end", |seen| seen.running.load(Ordering::SeqCst) == 0).await;
    other.ask("after", "ask", json!({ "question": "x" })).await;
    assert_eq!(other.next().await.unwrap()["result"]["method"], "ask");
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_searches_also_after_a_half_close() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask(1, "search", json!({ "query": "slow" })).await;
    fake.until("the search", |seen| seen.running.load(Ordering::SeqCst) == 1).await;
    drop(client.stream);
    client.server.await.unwrap();
    fake.until("its end", |seen| seen.cancelled.load(Ordering::SeqCst) == 1).await;

    let mut client = fake.connect();
    client.ask(1, "search", json!({ "query": "slow" })).await;
    client.half_close().await;
    fake.until("the search", |seen| seen.running.load(Ordering::SeqCst) == 1).await;
    // A half-closed client still waits for its answer.
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(fake.seen.cancelled.load(Ordering::SeqCst), 1);
    drop(client.stream);
    client.server.await.unwrap();
    fake.until("its end", |seen| seen.cancelled.load(Ordering::SeqCst) == 2).await;
}

#[tokio::test]
async fn progress_grows_and_comes_before_the_answer() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask(1, "sync", json!({ "progress": "tok" })).await;
    // What comes sooner than a tenth of a second after the last is told of later, together with what has come since.
    for (steps, done) in [(0..=0, 0), (1..=2, 2), (3..=3, 3), (4..=5, 5)] {
        steps.for_each(|step| fake.moves_on_to(step));
        let line = client.next().await.unwrap();
        assert_eq!((&line["method"], &line["params"]["token"]), (&json!("progress"), &json!("tok")));
        let (total, phase) = (&line["params"]["total"], &line["params"]["phase"]);
        assert_eq!((&line["params"]["done"], total, phase), (&json!(done), &json!(5), &json!("reading")));
    }
    let reply = client.next().await.unwrap();
    assert_eq!((&reply["result"]["state"], &reply["result"]["seq"]), (&json!("done"), &json!(9)));
    // Nobody who did not ask is told.
    client.ask(2, "sync", json!({})).await;
    assert_eq!(client.next().await.unwrap()["id"], 2);
}

#[tokio::test]
async fn subscribers_get_what_they_asked_for_until_they_leave() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask(1, "subscribe", json!({ "events": ["index", "from the future"] })).await;
    assert_eq!(client.next().await.unwrap()["result"]["events"], json!(["index"]));
    client.half_close().await;
    let index = |seq| Arc::new(Notice::Index { vault: "v".into(), seq, notes: 1, chunks: 2 });
    fake.notices.send(Arc::new(Notice::State { state: RunState::Idle })).unwrap();
    fake.notices.send(index(7)).unwrap();
    let event = client.next().await.unwrap();
    let params = json!({ "kind": "index", "vault": "v", "seq": 7, "notes": 1, "chunks": 2 });
    assert_eq!(event, json!({ "jsonrpc": "2.0", "method": "event", "params": params }));
    drop(client.stream);
    client.server.await.unwrap();
    fake.until_unsubscribed().await;
}

impl Fake {
    pub(super) async fn until_unsubscribed(&self) {
        let start = Instant::now();
        while self.notices.receiver_count() > 0 {
            assert!(start.elapsed() < PATIENCE, "still subscribed");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn draining_answers_what_has_arrived_and_ends_what_would_not() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask("slow", "search", json!({ "query": "slow" })).await;
    fake.until("the search", |seen| seen.running.load(Ordering::SeqCst) == 1).await;
    client.send(line("late", "ping", json!({}))).await;
    client.closes();
    let start = Instant::now();
    assert_eq!(client.next().await.unwrap()["id"], "late");
    assert_eq!(client.error().await, (json!("slow"), 1001));
    assert!(start.elapsed() >= GRACE / 2);
    assert_eq!(client.next().await, None);
    client.server.await.unwrap();
}

/// A server on a socket of its own.
pub(super) struct Daemon {
    pub(super) dir: tempfile::TempDir,
    pub(super) stop: oneshot::Sender<()>,
    pub(super) server: JoinHandle<std::io::Result<Shutdown>>,
}

impl Daemon {
    pub(super) fn start(fake: &Fake, limits: ServeConfig) -> Daemon {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("s")).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (backend, door) = (fake.clone(), Door { listener, renewed: None, handed_over: false });
        let server = tokio::spawn(async move {
            super::run(door, backend, &limits, async {
                drop(stopped.await);
                Shutdown::Stops
            })
            .await
        });
        Daemon { dir, stop, server }
    }

    pub(super) async fn connect(&self) -> BufReader<UnixStream> {
        BufReader::new(UnixStream::connect(self.dir.path().join("s")).await.unwrap())
    }
}

pub(super) async fn ping(stream: &mut BufReader<UnixStream>) -> Option<Value> {
    // One that is refused may find its pipe broken; what it was told is there to be read all the same.
    let _ = stream.get_mut().write_all(line(1, "ping", json!({})).as_bytes()).await;
    next(stream).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_loses_no_request_that_was_sent() {
    let fake = Fake::new();
    let daemon = Daemon::start(&fake, ServeConfig::default());
    let mut clients = Vec::new();
    for id in 0..50 {
        let mut client = daemon.connect().await;
        client.get_mut().write_all(line(id, "search", json!({ "query": "x" })).as_bytes()).await.unwrap();
        clients.push(client);
    }
    daemon.stop.send(()).unwrap();
    for (id, client) in clients.iter_mut().enumerate() {
        assert_eq!(next(client).await.unwrap()["id"], id);
        assert_eq!(next(client).await, None);
    }
    tokio::time::timeout(PATIENCE, daemon.server).await.unwrap().unwrap().unwrap();
    assert!(UnixStream::connect(daemon.dir.path().join("s")).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_while_clients_go_on_connecting() {
    let fake = Fake::new();
    // Nobody removes its socket.
    let daemon = Daemon::start(&fake, ServeConfig::default());
    let socket = daemon.dir.path().join("s");
    assert!(ping(&mut daemon.connect().await).await.is_some());
    let knocking = tokio::spawn(async move {
        while UnixStream::connect(&socket).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    daemon.stop.send(()).unwrap();
    tokio::time::timeout(PATIENCE, daemon.server).await.expect("it ends").unwrap().unwrap();
    knocking.await.unwrap();
}
