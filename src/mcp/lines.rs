//! Stands between a client and the protocol's library, which ends if anything except a request comes first, and passes
//! over what it cannot read. Here lines before the first request are skipped, a last line without a line feed counts as
//! a line, and a request that cannot be read is refused, so that its client does not wait for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// Bytes buffered between the client's streams and the library.
const BUFFER: usize = 64 << 10;

/// Bytes of a request's outermost object that are searched for its id.
const MOST_TOP: usize = 4 << 10;

/// The codes of errors that JSON-RPC has for what cannot be read, and for what is no request here.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// What the library reads and writes in place of a client's streams, and the task that ends once all is written. Lines
/// longer than `most` are refused. `left` is set at the end of the input.
pub(super) fn between(
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
    most: usize,
    left: Arc<AtomicBool>,
) -> (DuplexStream, DuplexStream, JoinHandle<()>) {
    let (requests, to_library) = tokio::io::duplex(BUFFER);
    let (answers, from_library) = tokio::io::duplex(BUFFER);
    let (refuse, refused) = unbounded_channel();
    tokio::spawn(read(BufReader::new(input), to_library, most, refuse, left));
    (requests, answers, tokio::spawn(write(output, from_library, refused)))
}

async fn read(
    mut input: impl AsyncBufRead + Unpin,
    mut library: DuplexStream,
    most: usize,
    refuse: UnboundedSender<Value>,
    left: Arc<AtomicBool>,
) {
    let mut began = false;
    // When either side ends, the client or the server has ended, so there is no one to report it to.
    while let Ok(Some(line)) = next_line(&mut input, most).await {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(top) => {
                tracing::warn!(most, "a line was too long, and is passed over");
                let why = format!("a request has at most {most} bytes");
                let _ = top.id().map(|id| refuse.send(refusal(&id, INVALID_REQUEST, &why)));
                continue;
            }
        };
        match serde_json::from_slice::<Value>(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line)) {
            Ok(message) => {
                let refused = refusals(&message);
                if !refused.is_empty() {
                    refused.into_iter().for_each(|refusal| drop(refuse.send(refusal)));
                    continue;
                }
                began = began || is_request(&message);
            }
            Err(error) => {
                let mut top = Top::default();
                top.add(&line);
                if let Some(id) = top.id() {
                    let why = format!("the request is not JSON: {error}");
                    let _ = refuse.send(refusal(&id, PARSE_ERROR, &why));
                    continue;
                }
            }
        }
        if !began {
            tracing::warn!("a line that is no request came before the first one, and is passed over");
            continue;
        }
        if library.write_all(&line).await.is_err() {
            return;
        }
    }
    left.store(true, Ordering::Relaxed);
    let _ = library.shutdown().await;
}

/// Writes the lines of the library, and between them those that refuse.
async fn write(mut output: impl AsyncWrite + Unpin, library: DuplexStream, mut refused: UnboundedReceiver<Value>) {
    let mut lines = BufReader::new(library).split(b'\n');
    loop {
        let mut line = tokio::select! {
            // The library ends after the input, so nothing that was refused is left then.
            biased;
            Some(refusal) = refused.recv() => refusal.to_string().into_bytes(),
            line = lines.next_segment() => match line {
                Ok(Some(line)) => line,
                _ => return,
            },
        };
        line.push(b'\n');
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

fn refusal(id: &Value, code: i32, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
}

/// What is answered to requests that the library does not take, and would answer without their ids, for which a client
/// waits: each of a batch, and one that is not as JSON-RPC has it.
pub(super) fn refusals(message: &Value) -> Vec<Value> {
    let (requests, why) = match message {
        Value::Array(batch) => (&batch[..], "batches are not taken: send each request by itself"),
        message if is_read(message) => return Vec::new(),
        message => (std::slice::from_ref(message), "this is no request of JSON-RPC 2.0, or its `params` are no object"),
    };
    let ids = requests.iter().filter(|request| request.get("method").is_some()).filter_map(|request| request.get("id"));
    ids.filter(|id| is_id(id)).map(|id| refusal(id, INVALID_REQUEST, why)).collect()
}

/// Whether the library can read a message.
fn is_read(message: &Value) -> bool {
    RxJsonRpcMessage::<RoleServer>::deserialize(message).is_ok()
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

fn is_request(message: &Value) -> bool {
    message.get("id").is_some() && message.get("method").is_some_and(Value::is_string)
}

/// Some programs begin a text with it.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

enum Line {
    /// With its end.
    Whole(Vec<u8>),
    TooLong(Top),
}

/// The next line; `None` at the end.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), most: usize) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long: Option<Top> = None;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(match too_long {
                Some(top) => Some(Line::TooLong(top)),
                None if line.is_empty() => None,
                None => {
                    line.push(b'\n');
                    Some(Line::Whole(line))
                }
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let used = end.unwrap_or(available.len());
        if too_long.is_none() && line.len() + used > most {
            too_long.get_or_insert_default().add(&std::mem::take(&mut line));
        }
        match &mut too_long {
            Some(top) => top.add(&available[..used]),
            None => line.extend_from_slice(&available[..used]),
        }
        input.consume(used);
        if end.is_some() {
            return Ok(Some(too_long.map_or_else(|| Line::Whole(line), Line::TooLong)));
        }
    }
}

/// The outermost object of a text that may be no JSON, without what is in the objects and lists in it.
#[derive(Default)]
struct Top {
    kept: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Top {
    fn add(&mut self, text: &[u8]) {
        for &byte in text {
            if self.depth <= 1 && self.kept.len() < MOST_TOP {
                self.kept.push(byte);
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// The id of a request. Without one no client waits, and an answer to noise may come back as more noise.
    fn id(&self) -> Option<Value> {
        let text = String::from_utf8_lossy(&self.kept);
        text.match_indices("\"id\"").find_map(|(at, key)| {
            let value = text[at + key.len()..].trim_start().strip_prefix(':')?;
            let id = serde_json::Deserializer::from_str(value).into_iter::<Value>().next()?.ok()?;
            is_id(&id).then_some(id)
        })
    }
}

#[cfg(test)]
mod tests;
