//! A reranker on loopback: it answers in the shape that the request has, and can be told to misbehave.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Listener, Request, read_request};

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) key: Option<String>,
    pub(crate) body: Value,
}

impl Asked {
    /// The documents, whatever they are called.
    pub(crate) fn documents(&self) -> Vec<String> {
        let documents = self.body.get("documents").or_else(|| self.body.get("texts"));
        documents.and_then(Value::as_array).into_iter().flatten().map(|d| d.as_str().unwrap().to_owned()).collect()
    }
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Documents that hold `wanted` are best.
    Good,
    /// This status and body.
    Raw(u16, String),
}

struct State {
    wanted: &'static str,
    asked: Mutex<Vec<Asked>>,
    always: Mutex<Answer>,
    latency: Mutex<Duration>,
}

/// A running server; it stops when dropped.
pub(crate) struct Reranker {
    listener: Listener,
    state: Arc<State>,
}

impl Reranker {
    /// A server at a free port to which documents that hold `wanted` are best.
    pub(crate) fn start(wanted: &'static str) -> Self {
        let state = Arc::new(State {
            wanted,
            asked: Mutex::default(),
            always: Mutex::new(Answer::Good),
            latency: Mutex::default(),
        });
        let shared = state.clone();
        let listener = Listener::start(move |stream| serve(stream, &shared));
        Reranker { listener, state }
    }

    /// A configuration that has it judge as `provider` would; `more` goes into `[rerank]`.
    pub(crate) fn config(&self, provider: &str, more: &str) -> String {
        // Long, so that a busy machine fails no test that is not about it.
        let deadline = if more.contains("deadline") { "" } else { "deadline = \"9s\"\n" };
        format!(
            "[rerank]\nprovider = \"{provider}\"\nbase_url = \"{}\"\nconsent = \"given\"\n{deadline}{more}\n",
            self.listener.url()
        )
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    /// Every request gets this answer.
    pub(crate) fn always(&self, answer: Answer) {
        *self.state.always.lock().unwrap() = answer;
    }

    /// Answers take so long.
    pub(crate) fn latency(&self, latency: Duration) {
        *self.state.latency.lock().unwrap() = latency;
    }
}

fn serve(stream: &TcpStream, state: &State) {
    let mut reader = BufReader::new(stream);
    while let Some(Request { path, key, body, .. }) = read_request(&mut reader) {
        let asked = Asked { path, key, body };
        state.asked.lock().unwrap().push(asked.clone());
        let latency = *state.latency.lock().unwrap();
        std::thread::sleep(latency);
        let (status, body) = match state.always.lock().unwrap().clone() {
            Answer::Good => (200, good(&asked, state.wanted)),
            Answer::Raw(status, body) => (status, body),
        };
        let head = format!(
            "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = stream;
        if stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).is_err() {
            return;
        }
    }
}

/// Scores by how often the wanted word stands in a document, in the shape that the request asks for; best first.
fn good(asked: &Asked, wanted: &str) -> String {
    let documents = asked.documents();
    let mut scores: Vec<(usize, f64)> = documents
        .iter()
        .enumerate()
        .map(|(i, document)| (i, (0.05 + document.matches(wanted).count() as f64 / 2.0).min(0.99)))
        .collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    let results =
        |name: &str| -> Vec<Value> { scores.iter().map(|(i, score)| json!({ "index": i, name: score })).collect() };
    let answer = match (asked.path.as_str(), asked.body.get("texts")) {
        (_, Some(_)) => json!(results("score")),
        ("/v2/rerank", _) => {
            json!({ "id": "x", "results": results("relevance_score"), "meta": { "billed_units": { "search_units": 1 } } })
        }
        (_, None) if asked.body.get("truncation").is_some() => {
            json!({ "object": "list", "data": results("relevance_score"), "usage": { "total_tokens": 1000 } })
        }
        _ => json!({ "results": results("relevance_score"), "usage": { "total_tokens": 1000 } }),
    };
    answer.to_string()
}
