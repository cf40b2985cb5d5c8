//! A session on the socket: a client that sends anything and closes its half.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{broadcast, watch};

use super::connection;
use super::methods::{Backend, Reply};
use super::pool::{self, Outside};
use super::request::Shared;
use super::results::WatchAnswer;
use protocol::envelope::body;
use protocol::frame::{Line, LineDecoder};
use protocol::jobs::{Job, JobKind, JobState, Scope};
use protocol::table::Method;

/// Longer than a session takes on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime"));

/// An engine that does nothing, at once.
fn backend() -> Backend {
    let notices = broadcast::channel(8).0;
    Backend {
        dispatch: Arc::new(|call, _| match call.what.method() {
            Method::Sync | Method::Rebuild => Ok(Reply::Wait(1)),
            method => body(&json!({"method": method.name()})).map(Reply::Body),
        }),
        pool: Arc::new(|call| pool::of(call, Outside::default())),
        wait: Arc::new(|_, _| Ok(done())),
        results: Arc::new(|_, _| Ok(WatchAnswer::default())),
        subscribe: Arc::new(move || notices.subscribe()),
    }
}

fn done() -> Job {
    Job {
        job: 1,
        kind: JobKind::Sync,
        scope: Scope::default(),
        state: JobState::Done,
        done: 1,
        total: Some(1),
        failed: Vec::new(),
        changed: 0,
        bought: 0,
        started_at: 0,
        took_ms: 0,
        phase: String::new(),
        seq: 1,
        contexts: None,
        estimate: None,
        problem: None,
        parts: Vec::new(),
    }
}

/// The ids of the answers that the specification promises for these lines, in any order. `None` where an HTTP client is
/// told off instead.
fn promised(bytes: &[u8]) -> Option<Vec<String>> {
    let (mut decoder, mut input, mut ids) = (LineDecoder::requests(), bytes, Vec::new());
    let mut lines: Vec<Line> = std::iter::from_fn(|| decoder.next_line(&mut input)).collect();
    lines.extend(decoder.finish());
    for line in lines {
        let Line::Text(text) = line else { return None };
        let value: Value = serde_json::from_slice(&text).unwrap_or_default();
        let is_request = value["jsonrpc"] == "2.0" && value["method"].is_string();
        match value.get("id") {
            // Without an id it is a notification, if it is a request at all.
            None if is_request => {}
            Some(id) if id.is_string() || id.as_i64().is_some_and(|n| n.abs() < 1 << 53) => ids.push(id.to_string()),
            _ => ids.push("null".to_owned()),
        }
    }
    ids.sort_unstable();
    Some(ids)
}

/// Each request is answered once under its id, whatever stands beside it, and the connection ends.
pub fn session(bytes: &[u8]) {
    let said = RUNTIME.block_on(async {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let shared = Arc::new(Shared::new(backend(), Duration::from_secs(10)));
        let (_drain, draining) = watch::channel(false);
        let server = tokio::spawn(connection::serve(theirs, shared, draining));
        let (mut reading, mut writing) = ours.into_split();
        let sent = bytes.to_vec();
        let writer = tokio::spawn(async move {
            // Who is refused need not take the rest.
            let _ = writing.write_all(&sent).await;
            let _ = writing.shutdown().await;
            writing
        });
        let mut said = Vec::new();
        tokio::time::timeout(PATIENCE, reading.read_to_end(&mut said)).await.expect("it ends").expect("it can be read");
        drop((reading, writer.await));
        tokio::time::timeout(PATIENCE, server).await.expect("the connection ends").expect("it has no fault");
        said
    });
    let Some(promised) = promised(bytes) else { return };
    let mut answered = Vec::new();
    for line in said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let reply: Value = serde_json::from_slice(line).expect("each line is JSON");
        assert_eq!(reply["jsonrpc"], "2.0");
        let Some(id) = reply.get("id") else {
            assert!(reply["method"].is_string(), "{reply}");
            continue;
        };
        assert!(reply.get("result").is_some() != reply.get("error").is_some(), "{reply}");
        answered.push(id.to_string());
    }
    answered.sort_unstable();
    assert_eq!(answered, promised);
}

#[cfg(test)]
#[path = "../kept.rs"]
mod kept;

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn sessions() {
        kept::run("session", 400, super::session);
    }
}
