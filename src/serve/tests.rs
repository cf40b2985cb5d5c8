//! Connections over real sockets with a made-up engine behind them: what clients do wrong, and what they may rely on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{broadcast, oneshot, watch};
use tokio::task::JoinHandle;

use super::connection::{self, GRACE};
use super::frame::MAX_REQUEST;
use super::methods::{Backend, Reply};
use super::proto::{Method, body};
use super::request::Shared;
use crate::config::ServeConfig;
use crate::engine::handle::{CallError, Cancel, Job, Notice, Scope, State};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Counts of what the made-up engine has seen.
#[derive(Default)]
struct Seen {
    begun: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
    cancelled: AtomicUsize,
    done: AtomicU64,
}

struct Fake {
    seen: Arc<Seen>,
    notices: broadcast::Sender<Arc<Notice>>,
}

impl Fake {
    fn new() -> Fake {
        Fake { seen: Arc::default(), notices: broadcast::channel(4096).0 }
    }

    fn backend(&self) -> Backend {
        let (seen, waits, notices) = (Arc::clone(&self.seen), Arc::clone(&self.seen), self.notices.clone());
        Backend {
            dispatch: Arc::new(move |call, cancel| {
                seen.begun.fetch_add(1, Ordering::SeqCst);
                let now = seen.running.fetch_add(1, Ordering::SeqCst) + 1;
                seen.most.fetch_max(now, Ordering::SeqCst);
                let query = call.params.get("query").and_then(Value::as_str).unwrap_or_default();
                let outcome = match (call.method, query) {
                    (Method::Sync, _) => Ok(Reply::Wait(1)),
                    (_, "slow") => wait_for_cancel(&seen, cancel),
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
            }),
            wait: Arc::new(move |_, patience| {
                std::thread::sleep(patience / 20);
                Ok(job(waits.done.fetch_add(1, Ordering::SeqCst)))
            }),
            subscribe: Arc::new(move || notices.subscribe()),
        }
    }

    fn connect(&self) -> Client {
        self.connect_with(ServeConfig::default().query_timeout)
    }

    fn connect_with(&self, timeout: Duration) -> Client {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (drain, draining) = watch::channel(false);
        let shared = Arc::new(Shared::new(self.backend(), timeout));
        let server = tokio::spawn(connection::serve(theirs, shared, draining));
        Client { stream: BufReader::new(ours), server, drain }
    }

    async fn until(&self, what: &str, condition: impl Fn(&Seen) -> bool) {
        let start = Instant::now();
        while !condition(&self.seen) {
            assert!(start.elapsed() < PATIENCE, "{what} did not happen");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn wait_for_cancel(seen: &Seen, cancel: &Cancel) -> Result<Reply, super::proto::RpcError> {
    let start = Instant::now();
    while !cancel.is_cancelled() {
        assert!(start.elapsed() < PATIENCE, "nobody cancelled");
        std::thread::sleep(Duration::from_millis(2));
    }
    seen.cancelled.fetch_add(1, Ordering::SeqCst);
    Err(CallError::Cancelled.into())
}

fn job(done: u64) -> Job {
    Job {
        job: 1,
        kind: "sync".into(),
        scope: Scope::default(),
        state: if done < 5 { "running" } else { "done" }.into(),
        done,
        total: Some(5),
        failed: vec![],
        changed: 0,
        took_ms: 0,
        phase: "reading".into(),
        seq: 9,
    }
}

struct Client {
    stream: BufReader<UnixStream>,
    server: JoinHandle<()>,
    drain: watch::Sender<bool>,
}

impl Client {
    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).await.unwrap();
    }

    async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.send(line(id, method, params)).await;
    }

    async fn half_close(&mut self) {
        self.stream.get_mut().shutdown().await.unwrap();
    }

    /// The next line; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        next(&mut self.stream).await
    }

    async fn error(&mut self) -> (Value, i64) {
        let reply = self.next().await.unwrap();
        (reply["id"].clone(), reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("{reply}")))
    }

    async fn expect_ping(&mut self) {
        self.ask("p", "ping", json!({})).await;
        assert_eq!(self.next().await.unwrap(), json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
    }
}

async fn next(stream: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Option<Value> {
    use tokio::io::AsyncBufReadExt as _;
    let mut line = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_until(b'\n', &mut line)).await.expect("an answer").unwrap();
    if line.is_empty() {
        return None;
    }
    Some(serde_json::from_slice(&line).unwrap())
}

fn line(id: impl Into<Value>, method: &str, params: Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }))
}

#[tokio::test]
async fn every_kind_of_garbage_gets_one_error_and_the_next_request_works() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let fake = Fake::new();
    let mut client = fake.connect();
    let table: [(&[u8], i64); 9] = [
        (b"garbage", -32700),
        (b"\0\0\0", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", -32700),
        (b"\x80\x81", -32700),
        (deep.as_bytes(), -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,", -32700),
        (b"[]", -32600),
        (b"{}", -32600),
        (b"GET / HTTP/1.1", -32700),
    ];
    for (bytes, code) in table {
        client.send([bytes, b"\r\n\n"].concat()).await;
        assert_eq!(client.error().await, (Value::Null, code), "{:?}", String::from_utf8_lossy(bytes));
        client.expect_ping().await;
    }
    client.ask(7, "frobnicate", json!({})).await;
    assert_eq!(client.error().await, (json!(7), -32601));
    client.ask(8, "cancel", json!({ "id": 1.5 })).await;
    assert_eq!(client.error().await, (json!(8), -32602));
    client.ask(9, "subscribe", json!({ "events": 1 })).await;
    assert_eq!(client.error().await, (json!(9), -32602));
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

#[tokio::test]
async fn a_line_of_20_mb_is_answered_and_the_connection_goes_on() {
    let fake = Fake::new();
    let mut client = fake.connect();
    let piece = vec![b'a'; MAX_REQUEST];
    for _ in 0..20 {
        client.send(&piece).await;
    }
    client.send("\n").await;
    assert_eq!(client.error().await, (Value::Null, 1007));
    client.expect_ping().await;
    client.ask(1, "search", json!({ "query": "q".repeat(MAX_REQUEST - 100) })).await;
    assert_eq!(client.next().await.unwrap()["result"]["method"], "search");
}

#[tokio::test]
async fn half_a_line_and_a_half_close() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.send(line(1, "search", json!({ "query": "a" })).trim_end()).await;
    client.half_close().await;
    assert_eq!(client.next().await.unwrap()["id"], 1, "a last line needs no line end");
    assert_eq!(client.next().await, None);

    let mut client = fake.connect();
    client.send(r#"{"jsonrpc":"2.0","id":2,"method":"shutd"#).await;
    client.half_close().await;
    assert_eq!(client.error().await, (Value::Null, -32700));
    assert_eq!(client.next().await, None);
    client.server.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_pipelined_requests_are_all_answered_once() {
    const COUNT: u64 = 10_000;
    let fake = Fake::new();
    let client = fake.connect();
    let (read, mut write) = client.stream.into_inner().into_split();
    let writer = tokio::spawn(async move {
        for id in 0..COUNT {
            let method = if id % 10 == 0 { "search" } else { "ping" };
            write.write_all(line(id, method, json!({ "query": "x" })).as_bytes()).await.unwrap();
        }
    });
    let mut read = BufReader::new(read);
    let mut answered = vec![0; COUNT as usize];
    while let Some(reply) = next(&mut read).await {
        assert!(reply.get("result").is_some(), "{reply}");
        answered[reply["id"].as_u64().unwrap() as usize] += 1;
    }
    writer.await.unwrap();
    assert!(answered.iter().all(|&count| count == 1));
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
    let cores = std::thread::available_parallelism().map_or(2, usize::from).max(2).min(8);
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
    assert_eq!(client.next().await.unwrap()["result"]["state"], "done");
}

#[tokio::test]
async fn a_panic_is_one_error() {
    let fake = Fake::new();
    let mut client = fake.connect();
    for id in 0..20 {
        client.ask(id, "search", json!({ "query": "panic" })).await;
        assert_eq!(client.error().await, (json!(id), -32603));
    }
    client.ask("after", "search", json!({ "query": "x" })).await;
    assert_eq!(client.next().await.unwrap()["result"]["query"], "x");
}

#[tokio::test]
async fn an_answer_that_is_too_large_says_so() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask(1, "search", json!({ "query": "huge" })).await;
    assert_eq!(client.error().await, (json!(1), 1007));
    client.expect_ping().await;
}

#[tokio::test]
async fn http_gets_a_line_of_its_own_kind() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n{}").await;
    let mut answer = String::new();
    tokio::time::timeout(PATIENCE, client.stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("JSON-RPC"), "{answer}");
    drop(client.stream);
    client.server.await.unwrap();
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
async fn a_client_that_leaves_in_the_middle_of_an_answer() {
    let fake = Fake::new();
    let mut client = fake.connect();
    for id in 0..8 {
        client.ask(id, "search", json!({ "query": "big" })).await;
    }
    let mut some = [0; 1000];
    client.stream.read_exact(&mut some).await.unwrap();
    drop(client.stream);
    tokio::time::timeout(PATIENCE, client.server).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_given_up() {
    let fake = Fake::new();
    let mut client = fake.connect();
    for id in 0..4 {
        client.ask(id, "search", json!({ "query": "big" })).await;
    }
    let start = Instant::now();
    tokio::time::timeout(PATIENCE, client.server).await.unwrap().unwrap();
    assert!(start.elapsed() >= Duration::from_secs(4), "it was given its time");
}

#[tokio::test]
async fn progress_grows_and_comes_before_the_answer() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask(1, "sync", json!({ "progress": "tok" })).await;
    let mut done = Vec::new();
    let reply = loop {
        let line = client.next().await.unwrap();
        if line.get("id").is_some() {
            break line;
        }
        assert_eq!((&line["method"], &line["params"]["token"]), (&json!("progress"), &json!("tok")));
        assert_eq!((&line["params"]["total"], &line["params"]["phase"]), (&json!(5), &json!("reading")));
        done.push(line["params"]["done"].as_u64().unwrap());
    };
    assert_eq!(done, [0, 1, 2, 3, 4, 5]);
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
    fake.notices.send(Arc::new(Notice::State { state: State::Idle })).unwrap();
    fake.notices.send(index(7)).unwrap();
    let event = client.next().await.unwrap();
    let params = json!({ "kind": "index", "vault": "v", "seq": 7, "notes": 1, "chunks": 2 });
    assert_eq!(event, json!({ "jsonrpc": "2.0", "method": "event", "params": params }));
    drop(client.stream);
    client.server.await.unwrap();
    fake.until_unsubscribed().await;
}

impl Fake {
    async fn until_unsubscribed(&self) {
        let start = Instant::now();
        while self.notices.receiver_count() > 0 {
            assert!(start.elapsed() < PATIENCE, "still subscribed");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn a_slow_subscriber_loses_events_but_no_reply() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask(1, "subscribe", json!({})).await;
    client.next().await.unwrap();
    let notice = Arc::new(Notice::Index { vault: "v".repeat(10_000), seq: 1, notes: 1, chunks: 1 });
    const SENT: u64 = 2000;
    for _ in 0..SENT {
        fake.notices.send(Arc::clone(&notice)).unwrap();
    }
    client.ask("r", "ping", json!({})).await;
    // Only now does it read.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (mut events, mut missed, mut replied) = (0, 0, 0);
    while events + missed < SENT || replied == 0 {
        let line = client.next().await.unwrap();
        match line["params"]["kind"].as_str() {
            Some("lagged") => missed += line["params"]["missed"].as_u64().unwrap(),
            Some(_) => events += 1,
            None => replied += 1,
        }
    }
    assert_eq!((events + missed, replied), (SENT, 1));
    assert!(missed > 0 && events >= 256, "{events} events, {missed} missed");
}

#[tokio::test]
async fn draining_answers_what_has_arrived_and_ends_what_would_not() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask("slow", "search", json!({ "query": "slow" })).await;
    fake.until("the search", |seen| seen.running.load(Ordering::SeqCst) == 1).await;
    client.send(line("late", "ping", json!({}))).await;
    client.drain.send(true).unwrap();
    let start = Instant::now();
    assert_eq!(client.next().await.unwrap()["id"], "late");
    assert_eq!(client.error().await, (json!("slow"), 1001));
    assert!(start.elapsed() >= GRACE / 2);
    assert_eq!(client.next().await, None);
    client.server.await.unwrap();
}

/// A server on a socket of its own.
struct Daemon {
    dir: tempfile::TempDir,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Daemon {
    fn start(fake: &Fake, limits: ServeConfig) -> Daemon {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("s")).unwrap();
        let (stop, stopped) = oneshot::channel();
        let backend = fake.backend();
        let server = tokio::spawn(async move {
            super::run(listener, backend, &limits, async { drop(stopped.await) }).await
        });
        Daemon { dir, stop, server }
    }

    async fn connect(&self) -> BufReader<UnixStream> {
        BufReader::new(UnixStream::connect(self.dir.path().join("s")).await.unwrap())
    }
}

async fn ping(stream: &mut BufReader<UnixStream>) -> Option<Value> {
    // One that is refused may find its pipe broken; what it was told is there to be read all the same.
    let _ = stream.get_mut().write_all(line(1, "ping", json!({})).as_bytes()).await;
    next(stream).await
}

#[tokio::test]
async fn one_client_too_many_is_told_and_places_come_free() {
    let fake = Fake::new();
    let daemon = Daemon::start(&fake, ServeConfig { max_connections: 4, ..ServeConfig::default() });
    let mut clients = Vec::new();
    for _ in 0..4 {
        let mut client = daemon.connect().await;
        assert!(ping(&mut client).await.unwrap()["result"].is_object());
        clients.push(client);
    }
    let mut refused = daemon.connect().await;
    let reply = ping(&mut refused).await.unwrap();
    assert_eq!((&reply["id"], &reply["error"]["data"]["kind"]), (&Value::Null, &json!("busy")));
    assert_eq!(next(&mut refused).await, None);
    clients.pop();
    let start = Instant::now();
    while ping(&mut daemon.connect().await).await.unwrap()["result"].is_null() {
        assert!(start.elapsed() < PATIENCE, "no place came free");
    }
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
