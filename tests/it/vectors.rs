//! A server on loopback that makes vectors as OpenAI's, Ollama's, Voyage's and Cohere's interfaces would. It keeps what
//! it is asked and can be told to misbehave. A text's vector counts its words, so that texts of the same words are near
//! each other.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Listener, Request, read_request};

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) body: Value,
    /// All texts.
    pub(crate) texts: Vec<String>,
}

#[derive(Default)]
struct State {
    asked: Mutex<Vec<Asked>>,
    /// Every request gets this instead.
    refuse: Mutex<Option<(u16, String)>>,
    /// The connection is closed without a word.
    down: AtomicBool,
    /// The same, unless all texts begin so.
    only: Mutex<Option<String>>,
    latency: Mutex<Duration>,
    dimensions: AtomicUsize,
}

/// A running server; it stops when dropped.
pub(crate) struct Vectors {
    listener: Listener,
    state: Arc<State>,
}

impl Vectors {
    /// A server at a free port whose vectors have so many dimensions.
    pub(crate) fn start(dimensions: usize) -> Self {
        let state = Arc::new(State { dimensions: AtomicUsize::new(dimensions), ..State::default() });
        let shared = state.clone();
        let listener = Listener::start(move |stream| serve(stream, &shared));
        Vectors { listener, state }
    }

    /// A configuration that has it make vectors as `provider` would, and agrees to that; `more` goes into `[embed]`.
    pub(crate) fn config(&self, provider: &str, model: &str, more: &str) -> String {
        let url = self.listener.url();
        format!(
            "[embed]\nprovider = \"{provider}\"\nmodel = \"{model}\"\nbase_url = \"{url}\"\nconsent = \"given\"\n{more}\n"
        )
    }

    /// All that was asked, in order of arrival.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    /// All texts that were asked about, by requests that hold more than the word that asks for dimensions.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.asked().into_iter().flat_map(|asked| asked.texts).filter(|text| text != "dimensions").collect()
    }

    /// Closes every connection without a word, or answers again.
    pub(crate) fn down(&self, down: bool) {
        self.state.down.store(down, Ordering::SeqCst);
    }

    /// Closes connections that ask about other texts than those that begin so.
    pub(crate) fn only(&self, beginning: &str) {
        *self.state.only.lock().unwrap() = Some(beginning.to_owned());
    }

    /// Every request gets this answer; `None`: good ones again.
    pub(crate) fn refuse(&self, with: Option<(u16, &str)>) {
        *self.state.refuse.lock().unwrap() = with.map(|(status, body)| (status, body.to_owned()));
    }

    /// Answers take so long.
    pub(crate) fn latency(&self, latency: Duration) {
        *self.state.latency.lock().unwrap() = latency;
    }

    /// Its vectors have so many dimensions from now on.
    pub(crate) fn dimensions(&self, dimensions: usize) {
        self.state.dimensions.store(dimensions, Ordering::SeqCst);
    }
}

fn serve(stream: &TcpStream, state: &State) {
    let mut reader = BufReader::new(stream);
    while let Some(Request { path, body, .. }) = read_request(&mut reader) {
        if state.down.load(Ordering::SeqCst) {
            return;
        }
        let list = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let documents: Vec<Vec<String>> = match path.as_str() {
            "/v1/contextualizedembeddings" => body["inputs"].as_array().unwrap().iter().map(list).collect(),
            "/v2/embed" => vec![list(&body["texts"])],
            _ => vec![list(&body["input"])],
        };
        let texts: Vec<String> = documents.iter().flatten().cloned().collect();
        state.asked.lock().unwrap().push(Asked { path: path.clone(), body, texts: texts.clone() });
        let only = state.only.lock().unwrap().clone();
        if only.is_some_and(|beginning| !texts.iter().all(|text| text.starts_with(&beginning))) {
            return;
        }
        let latency = *state.latency.lock().unwrap();
        std::thread::sleep(latency);
        let refused = state.refuse.lock().unwrap().clone();
        let (status, answer) = match refused {
            Some((status, body)) => (status, body),
            None => (200, answer(&path, &documents, state.dimensions.load(Ordering::SeqCst)).to_string()),
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        let mut stream = stream;
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(answer.as_bytes())).is_err() {
            return;
        }
    }
}

fn answer(path: &str, documents: &[Vec<String>], dimensions: usize) -> Value {
    let vector = |text: &String| json!(vector(text, dimensions));
    let texts: Vec<&String> = documents.iter().flatten().collect();
    let tokens: usize = texts.iter().map(|text| text.len() / 4 + 1).sum();
    let items = |texts: &[String]| -> Vec<Value> {
        texts.iter().enumerate().rev().map(|(i, text)| json!({"index": i, "embedding": vector(text)})).collect()
    };
    match path {
        "/api/embed" => json!({"embeddings": texts.into_iter().map(vector).collect::<Vec<_>>()}),
        "/v2/embed" => json!({
            "embeddings": {"float": texts.into_iter().map(vector).collect::<Vec<_>>()},
            "meta": {"billed_units": {"input_tokens": tokens}},
        }),
        "/v1/contextualizedembeddings" => {
            let data = documents.iter().enumerate().map(|(i, texts)| json!({"index": i, "data": items(texts)}));
            json!({"data": data.collect::<Vec<_>>(), "usage": {"total_tokens": tokens}})
        }
        _ => json!({"data": items(&documents[0]), "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}),
    }
}

fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.01; dimensions];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3) {
        let place = word.bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        vector[place % dimensions] += 1.0;
    }
    vector
}
