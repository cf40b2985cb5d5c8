//! A connection to a daemon with an engine behind it.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::runtime::Runtime;
use tokio::sync::{broadcast, watch};

use super::connection;
use super::methods::{Backend, Reply, RunningCall};
use super::request::Shared;
use super::results::WatchAnswer;
use engine::Engine;
use engine::handle::{Cancel, Handle};
use engine::settings::Settings;
use protocol::envelope::RpcError;
use protocol::events::{Notice, Watched};
use protocol::frame::{Line, LineDecoder, http_refusal};
use protocol::jobs::{Job, Scope};
use protocol::table::{AnyCall, Pool};
use vault::settings::VaultConfig;

use input::{Folder, Input};

#[allow(dead_code, clippy::duplicate_mod, reason = "each body stands alone, and uses what it needs")]
#[path = "../input.rs"]
mod input;

/// Longer than anything here takes, also where a fuzzer gets only what others leave of the processor.
const PATIENCE: Duration = Duration::from_secs(600);

/// The id of a request behind all others.
const LAST: &str = "the last one";

/// The vault's notes.
const NOTES: [(&str, &str); 3] = [
    ("Kestrel.md", "# Kestrel\n\nIt hovers over [[Fields/Meadow]].\n\n## Nests\n\nIn old crows' nests. #bird\n"),
    ("Fields/Meadow.md", "---\ntags: [field]\n---\n\nGrass, and voles for the [[Kestrel]].\n"),
    ("Diary.md", "---\ntags: [private]\n---\n\nNothing that an assistant may see.\n"),
];

/// An engine over a small vault, whose connections end and which goes on.
pub struct Session {
    /// Goes before the engine, for its tasks ask it.
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
    engine: Option<Engine>,
    _folder: Folder,
}

/// An engine that no client ends: it is there for the next connections, too.
struct Endless(Handle);

impl Backend for Endless {
    fn dispatch(&self, call: RunningCall, cancel: &Cancel) -> Result<Reply, RpcError> {
        match call.what {
            AnyCall::Shutdown(_) => Ok(Reply::Body(b"{}".to_vec())),
            _ => self.0.dispatch(call, cancel),
        }
    }

    fn pool(&self, call: &AnyCall) -> Pool {
        self.0.pool(call)
    }

    fn job(&self, job: u64) -> Result<Job, RpcError> {
        Backend::job(&self.0, job)
    }

    fn results(&self, shows: &Watched, cancel: &Cancel) -> Result<WatchAnswer, RpcError> {
        self.0.results(shows, cancel)
    }

    fn subscribe(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.0.subscribe()
    }
}

impl Session {
    /// Starts the engine, and waits until the notes are indexed.
    pub fn start() -> Session {
        let folder = Folder::new("session");
        let vault = folder.path().join("vault");
        for (name, text) in NOTES {
            let path = vault.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder of a vault");
            fs::write(path, text).expect("a note");
        }
        let settings = Settings::new(folder.path().join("data"), vec![VaultConfig::new("notes", vault)]);
        let again = settings.clone();
        let engine = Engine::start(settings, folder.path().join("s"), Box::new(move || Ok(again.clone())), None)
            .expect("the engine starts");
        let begun = Instant::now();
        let job = loop {
            match engine.handle.sync(Scope::default(), false, None) {
                Ok(job) => break job,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        engine.handle.wait_job(job, PATIENCE).expect("the vault is read");

        let shared = Arc::new(Shared::new(Endless(engine.handle.clone()), Duration::from_secs(10)));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Session { runtime: Some(runtime.expect("a runtime")), shared, engine: Some(engine), _folder: folder }
    }

    /// The first byte says how long the pieces are in which the others are sent. Each line that is a request, or nothing
    /// at all, gets one answer under its id; a request that comes behind them all gets its own.
    pub fn talk(&self, bytes: &[u8]) {
        let mut input = Input(bytes);
        let piece = usize::from(input.byte()) + 1;
        let runtime = self.runtime.as_ref().expect("it runs");
        runtime.block_on(self.exchange(input.0, piece));
        self.resume();
    }

    /// A job that is waited for does not go on while the daemon is paused.
    fn resume(&self) {
        let _ = self.engine.as_ref().expect("it runs").handle.resume();
    }

    async fn exchange(&self, bytes: &[u8], piece: usize) {
        let last = json!({ "jsonrpc": "2.0", "id": LAST, "method": "ping" }).to_string();
        let sent = [bytes, b"\n", last.as_bytes(), b"\n"].concat();
        let Expected { mut ids, subscribes, is_http } = Expected::of(&sent);

        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let (_close, closing) = watch::channel(None);
        let server = tokio::spawn(connection::serve(theirs, Arc::clone(&self.shared), closing));
        let (read, write) = ours.into_split();
        // Beside the reading, as the server reads no more while nobody takes its answers.
        let writer = tokio::spawn(send(write, sent, piece));
        let mut client = BufReader::new(read);
        if is_http {
            let mut refusal = Vec::new();
            let read = tokio::io::AsyncReadExt::read_to_end(&mut client, &mut refusal);
            tokio::time::timeout(PATIENCE, read).await.expect("an end").expect("it can be read");
            assert_eq!(refusal, http_refusal());
            return;
        }
        while !ids.is_empty() {
            let line = self.line(&mut client, &ids).await;
            let Some(id) = answered(&line) else { continue };
            let Some(at) = ids.iter().position(|known| *known == id) else {
                panic!("nobody has asked under this id: {}", line.escape_ascii());
            };
            ids.swap_remove(at);
        }
        let write = writer.await.expect("all was sent");
        if subscribes {
            // Notices may come for ever.
            return;
        }
        drop(write);
        loop {
            let line = self.line(&mut client, &[]).await;
            if line.is_empty() {
                break;
            }
            assert_eq!(answered(&line), None, "one answer too many: {}", line.escape_ascii());
        }
        server.await.expect("nothing panics");
    }

    /// The next line; empty at the end.
    async fn line(&self, client: &mut (impl tokio::io::AsyncBufRead + Unpin), missing: &[Value]) -> Vec<u8> {
        const LOOK: Duration = Duration::from_millis(100);
        let mut line = Vec::new();
        let begun = Instant::now();
        while tokio::time::timeout(LOOK, client.read_until(b'\n', &mut line)).await.is_err() {
            assert!(begun.elapsed() < PATIENCE, "no answer to {missing:?}");
            self.resume();
        }
        assert!(!line.is_empty() || missing.is_empty(), "the connection ended without an answer to {missing:?}");
        line
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.runtime.take());
        if let Some(engine) = self.engine.take() {
            engine.handle.shutdown();
            engine.join();
        }
    }
}

async fn send(mut write: OwnedWriteHalf, bytes: Vec<u8>, piece: usize) -> OwnedWriteHalf {
    for piece in bytes.chunks(piece) {
        // Who speaks HTTP is not heard to the end.
        if write.write_all(piece).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    write
}

/// What the specification says of some lines.
#[derive(Default)]
struct Expected {
    /// Of the answers; `null` where no id can be read.
    ids: Vec<Value>,
    subscribes: bool,
    is_http: bool,
}

impl Expected {
    fn of(mut sent: &[u8]) -> Expected {
        let mut expected = Expected::default();
        let mut decoder = LineDecoder::requests();
        while let Some(line) = decoder.next_line(&mut sent) {
            match line {
                Line::Text(text) => expected.line(&text),
                Line::TooLong => expected.ids.push(Value::Null),
                Line::Http => return Expected { is_http: true, ..expected },
            }
        }
        expected
    }

    fn line(&mut self, text: &[u8]) {
        let value: Value = serde_json::from_slice(text).unwrap_or_default();
        let is_call = value.is_object() && value["jsonrpc"] == "2.0" && value["method"].is_string();
        self.subscribes |= is_call && value["method"] == "subscribe";
        // A notification is never answered.
        if is_call && value.get("id").is_none() {
            return;
        }
        const MOST: i64 = (1 << 53) - 1;
        let is_id = |id: &Value| id.is_string() || id.as_i64().is_some_and(|id| (-MOST..=MOST).contains(&id));
        self.ids.push(value.get("id").filter(|id| is_id(id)).cloned().unwrap_or_default());
    }
}

/// The id under which a line answers; `None` for a notification.
fn answered(line: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(line).expect("a line is JSON");
    assert!(line.ends_with(b"\n") && value["jsonrpc"] == "2.0", "{value}");
    assert_ne!(value["error"]["data"]["kind"], "internal", "a fault: {value}");
    let Some(id) = value.get("id") else {
        assert!(value["method"].is_string(), "{value}");
        return None;
    };
    assert_ne!(value.get("result").is_some(), value.get("error").is_some(), "{value}");
    Some(id.clone())
}

#[cfg(test)]
#[allow(clippy::duplicate_mod, reason = "each body stands alone")]
#[path = "../kept.rs"]
mod kept;

#[cfg(test)]
mod tests {
    use super::{Session, kept};

    #[test]
    fn connections() {
        let session = Session::start();
        kept::run("session", 200, |bytes| session.talk(bytes));
    }
}
