//! The server's batch interface: what was handed in, what becomes of it, and where it can be made to stand still.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::{State, good, respond, understand};

pub(super) const PATH: &str = "/v1/messages/batches";

/// What becomes of a question of a batch, by its place.
pub(crate) type Fate = fn(usize) -> &'static str;

/// What the provider has.
#[derive(Default)]
pub(crate) struct Batches {
    known: Mutex<Vec<Batch>>,
    /// Questions that were answered, and are to be paid for.
    answered: AtomicU64,
    /// Nothing is answered yet.
    pub(crate) working: AtomicBool,
    /// A batch arrives and nobody hears of it.
    pub(crate) mute: AtomicBool,
    /// What is handed in gets lost on the way, and nobody hears of it.
    pub(crate) deaf: AtomicBool,
    /// Nothing is taken: 503.
    pub(crate) refusing: AtomicBool,
    /// How often that was said.
    pub(crate) refused: AtomicU64,
    /// The key is another account's, which knows no batch.
    pub(crate) unknown: AtomicBool,
    /// Of results only the first half is sent.
    pub(crate) half: AtomicBool,
    /// `succeeded`, `expired`, `errored`, or `nonsense` for an answer of no use.
    pub(crate) fate: Mutex<Option<Fate>>,
    /// Looks at batches.
    pub(crate) polls: AtomicU64,
}

struct Batch {
    id: String,
    requests: Vec<Value>,
    cancelled: bool,
    /// As they are sent, once they have been fetched.
    results: Option<String>,
}

impl Batches {
    /// How many batches there are, and how many questions in them.
    pub(crate) fn submitted(&self) -> Vec<usize> {
        self.known.lock().unwrap().iter().map(|batch| batch.requests.len()).collect()
    }

    /// Questions that were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }

    /// Whether any batch was given up.
    pub(crate) fn cancelled(&self) -> bool {
        self.known.lock().unwrap().iter().any(|batch| batch.cancelled)
    }

    /// The questions of a batch.
    pub(crate) fn requests(&self, at: usize) -> Vec<Value> {
        self.known.lock().unwrap()[at].requests.clone()
    }

    /// Somebody else hands in a batch of `count` questions.
    pub(crate) fn add_foreign(&self, count: usize) {
        let requests = (0..count).map(|n| json!({"custom_id": format!("foreign-{n}"), "params": {}})).collect();
        let mut known = self.known.lock().unwrap();
        let id = format!("msgbatch_foreign_{}", known.len());
        known.push(Batch { id, requests, cancelled: false, results: None });
    }

    fn status(&self, batch: &Batch) -> Value {
        let count = batch.requests.len();
        let ended = batch.cancelled || !self.working.load(Ordering::SeqCst);
        let results = ended.then(|| format!("http://example.invalid/{}", batch.id));
        json!({
            "id": batch.id, "type": "message_batch", "processing_status": if ended { "ended" } else { "in_progress" },
            "request_counts": {
                "processing": if ended { 0 } else { count }, "succeeded": if ended { count } else { 0 },
                "errored": 0, "canceled": 0, "expired": 0,
            },
            "created_at": jiff::Timestamp::now().to_string(), "expires_at": "2099-01-01T00:00:00Z",
            "results_url": results,
        })
    }
}

/// Results in another order than that of the questions.
fn results(state: &State, batch: &Batch) -> String {
    let fate = *state.batches.fate.lock().unwrap();
    let working = state.batches.working.load(Ordering::SeqCst);
    let mut lines = String::new();
    for (at, request) in batch.requests.iter().enumerate().rev() {
        let fate = fate.map_or("succeeded", |fate| fate(at));
        // Half of a batch that is given up had been answered.
        let fate = if batch.cancelled && working && at % 2 == 1 { "canceled" } else { fate };
        let asked = understand("/v1/messages".to_owned(), request["params"].clone());
        let result = match fate {
            "expired" | "canceled" => json!({"type": fate}),
            "errored" => json!({"type": "errored", "error": {
                "type": "error", "error": {"type": "invalid_request_error", "message": "not this one"},
            }}),
            fate => {
                let fixed = (fate == "nonsense").then_some("I'm sorry, but I can't help with that.");
                state.batches.answered.fetch_add(1, Ordering::SeqCst);
                let message: Value = serde_json::from_str(&good(&asked, state, fixed)).unwrap();
                json!({"type": "succeeded", "message": message})
            }
        };
        lines.push_str(&format!("{}\n", json!({"custom_id": request["custom_id"], "result": result})));
    }
    lines
}

pub(super) fn serve(stream: &TcpStream, state: &State, method: &str, path: &str, body: Value) -> Result<(), ()> {
    let batches = &state.batches;
    let rest = path[PATH.len()..].split('?').next().unwrap_or("").trim_start_matches('/');
    let (id, what) = rest.split_once('/').unwrap_or((rest, ""));
    let mut known = batches.known.lock().unwrap();
    let at = known.iter().position(|batch| batch.id == id && !batches.unknown.load(Ordering::SeqCst));
    let answer = match (method, at, what) {
        ("POST", None, "") if id.is_empty() => {
            if batches.refusing.load(Ordering::SeqCst) {
                batches.refused.fetch_add(1, Ordering::SeqCst);
                return respond(stream, 503, "{}", &[]);
            }
            if batches.deaf.load(Ordering::SeqCst) {
                drop(known);
                return wait_while(&batches.deaf);
            }
            let requests = body["requests"].as_array().cloned().unwrap_or_default();
            let batch = Batch { id: format!("msgbatch_{}", known.len()), requests, cancelled: false, results: None };
            let status = batches.status(&batch);
            known.push(batch);
            if batches.mute.load(Ordering::SeqCst) {
                drop(known);
                return wait_while(&batches.mute);
            }
            status
        }
        ("GET", None, "") if id.is_empty() => {
            let data: Vec<Value> = known.iter().rev().map(|batch| batches.status(batch)).collect();
            json!({"data": data, "has_more": false, "first_id": null, "last_id": null})
        }
        ("GET", Some(at), "") => {
            batches.polls.fetch_add(1, Ordering::SeqCst);
            batches.status(&known[at])
        }
        ("POST", Some(at), "cancel") => {
            known[at].cancelled = true;
            batches.status(&known[at])
        }
        ("GET", Some(at), "results") => {
            if known[at].results.is_none() {
                known[at].results = Some(results(state, &known[at]));
            }
            let lines = known[at].results.clone().unwrap();
            drop(known);
            if batches.half.load(Ordering::SeqCst) {
                let head = format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n", lines.len());
                let mut stream = stream;
                let sent = stream
                    .write_all(head.as_bytes())
                    .and_then(|()| stream.write_all(&lines.as_bytes()[..lines.len() / 2]));
                return sent.map_err(|_| ()).and_then(|()| wait_while(&batches.half));
            }
            return respond(stream, 200, &lines, &[]);
        }
        _ => {
            let error = json!({"type": "error", "error": {"type": "not_found_error", "message": "no such batch"}});
            return respond(stream, 404, &error.to_string(), &[]);
        }
    };
    drop(known);
    respond(stream, 200, &answer.to_string(), &[])
}

/// Stands still, then hangs up.
fn wait_while(flag: &AtomicBool) -> Result<(), ()> {
    while flag.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(())
}
