//! A server on loopback that answers questions bit by bit, in the three dialects that there are, and that breaks off,
//! falls silent and cuts its bytes as it is told.

use std::collections::VecDeque;
use std::io::{BufReader, Read as _, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Listener, Request, read_request};

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Script {
    /// Says these pieces of text, and ends well.
    Says(Vec<String>),
    /// Says these pieces, then sends this error and ends.
    Fails(Vec<String>, Value),
    /// Says these pieces, then the connection breaks.
    Dies(Vec<String>),
    /// Says these pieces, then nothing more until the client closes the connection.
    Hangs(Vec<String>),
    /// This content, of this type, as it stands.
    Raw(&'static str, String),
    /// This status with this body.
    Refuses(u16, String),
}

#[derive(Default)]
struct State {
    asked: Mutex<Vec<Value>>,
    script: Mutex<VecDeque<Script>>,
    /// Connections that the client closed while the server was silent.
    left: AtomicUsize,
    /// Bytes that are written at once; 0 is all.
    bite: AtomicUsize,
}

/// A running server; it stops when dropped.
pub(crate) struct StreamModel {
    listener: Listener,
    state: Arc<State>,
}

impl StreamModel {
    pub(crate) fn start() -> Self {
        let state = Arc::new(State::default());
        let shared = state.clone();
        let listener = Listener::start(move |stream| serve(stream, &shared));
        StreamModel { listener, state }
    }

    /// A configuration that has it answer as `provider` would, and write no contexts; `more` stands behind.
    pub(crate) fn config(&self, provider: &str, more: &str) -> String {
        let url = self.listener.url();
        format!(
            "[context]\nprovider = \"{provider}\"\nbase_url = \"{url}\"\nautomatic = false\n\
             timeout = \"20s\"\ndeadline = \"40s\"\n{more}\n"
        )
    }

    /// The next requests get these answers, one each.
    pub(crate) fn script(&self, answers: impl IntoIterator<Item = Script>) {
        self.state.script.lock().unwrap().extend(answers);
    }

    /// The next requests get these answers, in place of what was to come.
    pub(crate) fn script_anew(&self, answers: impl IntoIterator<Item = Script>) {
        let mut script = self.state.script.lock().unwrap();
        script.clear();
        script.extend(answers);
    }

    /// Bodies of the requests so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.state.asked.lock().unwrap().clone()
    }

    /// Writes so many bytes at once, each in a packet of its own.
    pub(crate) fn bite(&self, bytes: usize) {
        self.state.bite.store(bytes, Ordering::SeqCst);
    }

    /// Connections that clients closed while the server was silent.
    pub(crate) fn left(&self) -> usize {
        self.state.left.load(Ordering::SeqCst)
    }
}

fn serve(stream: &TcpStream, state: &State) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    while let Some(Request { path, body, .. }) = read_request(&mut reader) {
        let streams = body["stream"] == true;
        state.asked.lock().unwrap().push(body);
        let script = state.script.lock().unwrap().pop_front().unwrap_or(Script::Says(vec!["It is so [1].".into()]));
        if answer(stream, state, &path, streams, &script).is_err() {
            return;
        }
    }
}

/// The dialect of an interface: its beginning, a piece of text, an error, its end, and an answer in one piece.
struct Dialect {
    kind: &'static str,
    begin: String,
    piece: fn(&str) -> String,
    error: fn(&Value) -> String,
    end: String,
    whole: fn(&str) -> String,
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn dialect(path: &str) -> Dialect {
    if path.ends_with("/api/chat") {
        return Dialect {
            kind: "application/x-ndjson",
            begin: String::new(),
            piece: |text| format!("{}\n", json!({"message": {"content": text}, "done": false})),
            error: |error| format!("{}\n", json!({ "error": error })),
            end: format!(
                "{}\n",
                json!({"message": {"content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 1321, "eval_count": 12})
            ),
            whole: |text| {
                let message = json!({"role": "assistant", "content": text});
                json!({"message": message, "done": true, "done_reason": "stop", "prompt_eval_count": 1321, "eval_count": 12})
                    .to_string()
            },
        };
    }
    if path.ends_with("/chat/completions") {
        return Dialect {
            kind: "text/event-stream",
            begin: event(&json!({"choices": [{"delta": {"role": "assistant", "content": ""}}]})),
            piece: |text| event(&json!({"choices": [{"delta": {"content": text}}]})),
            error: |error| event(&json!({ "error": error })),
            end: [
                event(&json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})),
                event(&json!({"choices": [], "usage": {"prompt_tokens": 1321, "completion_tokens": 12}})),
                "data: [DONE]\n\n".to_owned(),
            ]
            .concat(),
            whole: |text| {
                let choice = json!({"message": {"content": text}, "finish_reason": "stop"});
                json!({"choices": [choice], "usage": {"prompt_tokens": 1321, "completion_tokens": 12}}).to_string()
            },
        };
    }
    Dialect {
        kind: "text/event-stream; charset=utf-8",
        begin: event(
            &json!({"type": "message_start", "message": {"usage": {"input_tokens": 1321, "output_tokens": 1}}}),
        ),
        piece: |text| {
            event(&json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}))
        },
        error: |error| format!("event: error\n{}", event(&json!({ "type": "error", "error": error }))),
        end: [
            event(
                &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}}),
            ),
            event(&json!({"type": "message_stop"})),
        ]
        .concat(),
        whole: |text| {
            let content = json!([{"type": "text", "text": text}]);
            let usage = json!({"input_tokens": 1321, "output_tokens": 12});
            json!({"content": content, "stop_reason": "end_turn", "usage": usage}).to_string()
        },
    }
}

fn answer(mut stream: &TcpStream, state: &State, path: &str, streams: bool, script: &Script) -> std::io::Result<()> {
    let dialect = dialect(path);
    if let Script::Refuses(status, body) = script {
        return plain(stream, *status, "application/json", body);
    }
    if let Script::Raw(kind, body) = script {
        return plain(stream, 200, kind, body);
    }
    if let (Script::Says(pieces), false) = (script, streams) {
        return plain(stream, 200, "application/json", &(dialect.whole)(&pieces.concat()));
    }
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n\r\n", dialect.kind);
    stream.write_all(head.as_bytes())?;
    let bite = state.bite.load(Ordering::SeqCst);
    let send = |text: &str| -> std::io::Result<()> {
        let size = if bite == 0 { text.len().max(1) } else { bite };
        for part in text.as_bytes().chunks(size) {
            let mut stream = stream;
            stream.write_all(&[format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat())?;
        }
        Ok(())
    };
    let (Script::Says(pieces) | Script::Fails(pieces, _) | Script::Dies(pieces) | Script::Hangs(pieces)) = script
    else {
        return Ok(());
    };
    send(&dialect.begin)?;
    for piece in pieces {
        send(&(dialect.piece)(piece))?;
    }
    match script {
        Script::Dies(_) => return Err(std::io::ErrorKind::ConnectionAborted.into()),
        Script::Hangs(_) => {
            stream.set_read_timeout(Some(Duration::from_mins(1)))?;
            // Nothing comes but the end.
            let ended = !matches!(stream.read(&mut [0; 16]), Ok(1..) | Err(_));
            state.left.fetch_add(usize::from(ended), Ordering::SeqCst);
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        Script::Fails(_, error) => send(&(dialect.error)(error))?,
        Script::Says(_) | Script::Raw(..) | Script::Refuses(..) => send(&dialect.end)?,
    }
    stream.write_all(b"0\r\n\r\n")
}

fn plain(mut stream: &TcpStream, status: u16, kind: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
