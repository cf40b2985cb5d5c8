//! A server on loopback that answers like a good model: Anthropic's Messages, OpenAI's chat completions and
//! Ollama's chat. It counts what it is asked, keeps the requests, and can be told to misbehave.

use std::collections::VecDeque;
use std::io::{BufReader, Read as _, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Listener, Request, read_request};

#[path = "model_batch.rs"]
mod batch;

pub(crate) use batch::Batches;

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Captions that situate.
    Good,
    /// This status with this body and these headers.
    Raw(u16, String, Vec<(&'static str, String)>),
    /// Captions with this text for every passage.
    Text(String),
    /// The connection is closed without an answer.
    Hangup,
    /// There is none, until the client has gone.
    Silence,
}

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) body: Value,
    /// Numbers of the passages asked for.
    pub(crate) wanted: Vec<u32>,
    /// The note as it was shown; empty if it was not.
    pub(crate) document: String,
    /// The question.
    pub(crate) task: String,
}

impl Asked {
    /// Whether questions and terms are asked for beside captions.
    pub(crate) fn expands(&self) -> bool {
        self.body.to_string().contains("3 to 5 questions")
    }
}

#[derive(Default)]
struct State {
    asked: Mutex<Vec<Asked>>,
    answered: AtomicU64,
    tokens: [AtomicU64; 2],
    script: Mutex<VecDeque<Answer>>,
    always: Mutex<Option<Answer>>,
    latency: Mutex<Duration>,
    at_once: AtomicU64,
    most_at_once: AtomicU64,
    caption: Mutex<Option<Arc<Caption>>>,
    beside: Mutex<Option<Arc<Beside>>>,
    pub(crate) batches: Batches,
}

/// What to say about a passage, given the note as shown and the passage's text; `None` is up to the server.
type Caption = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

/// Questions and terms beside a caption, given the note as shown and the passage's text.
type Beside = dyn Fn(&str, &str) -> (Vec<String>, Vec<String>) + Send + Sync;

/// A running server; it stops when dropped.
pub(crate) struct Model {
    listener: Listener,
    state: Arc<State>,
}

impl Model {
    /// A server at a free port.
    pub(crate) fn start() -> Self {
        let state = Arc::new(State::default());
        let shared = state.clone();
        let listener = Listener::start(move |stream| serve(stream, &shared));
        Model { listener, state }
    }

    /// Its batch interface.
    pub(crate) fn batches(&self) -> &Batches {
        &self.state.batches
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        self.listener.url()
    }

    /// A configuration that has it write contexts as `provider` would; `more` goes into `[context]`.
    pub(crate) fn config(&self, provider: &str, more: &str) -> String {
        format!(
            "[context]\nprovider = \"{provider}\"\nbase_url = \"{}\"\nconsent = \"given\"\nsettle = \"50ms\"\n{more}\n",
            self.url()
        )
    }

    /// All that was asked, in order of arrival.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    /// How many requests came.
    pub(crate) fn calls(&self) -> usize {
        self.state.asked.lock().unwrap().len()
    }

    /// How many requests were answered well.
    pub(crate) fn answered(&self) -> u64 {
        self.state.answered.load(Ordering::SeqCst)
    }

    /// Tokens in and out, as it told its callers.
    pub(crate) fn tokens(&self) -> (u64, u64) {
        (self.state.tokens[0].load(Ordering::SeqCst), self.state.tokens[1].load(Ordering::SeqCst))
    }

    /// The next requests get these answers, one each; then good ones again.
    pub(crate) fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.state.script.lock().unwrap().extend(answers);
    }

    /// Every request gets this answer, `None`: good ones again.
    pub(crate) fn always(&self, answer: Option<Answer>) {
        *self.state.always.lock().unwrap() = answer;
    }

    /// Answers take so long.
    pub(crate) fn latency(&self, latency: Duration) {
        *self.state.latency.lock().unwrap() = latency;
    }

    /// How many requests were open at the same time at most.
    pub(crate) fn most_at_once(&self) -> u64 {
        self.state.most_at_once.load(Ordering::SeqCst)
    }

    /// Says this about passages.
    pub(crate) fn captions(&self, caption: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static) {
        *self.state.caption.lock().unwrap() = Some(Arc::new(caption));
    }

    /// Writes these questions and terms where it is asked for some; else it answers as if it had overlooked that.
    pub(crate) fn beside(&self, beside: impl Fn(&str, &str) -> (Vec<String>, Vec<String>) + Send + Sync + 'static) {
        *self.state.beside.lock().unwrap() = Some(Arc::new(beside));
    }
}

fn serve(stream: &TcpStream, state: &State) {
    let mut reader = BufReader::new(stream);
    while let Some(Request { method, path, body, .. }) = read_request(&mut reader) {
        if path.starts_with(batch::PATH) {
            if batch::serve(stream, state, &method, &path, body).is_err() {
                return;
            }
            continue;
        }
        let at_once = state.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        state.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        let asked = understand(path, body);
        state.asked.lock().unwrap().push(asked.clone());
        let scripted = state.script.lock().unwrap().pop_front();
        let answer = scripted.or_else(|| state.always.lock().unwrap().clone()).unwrap_or(Answer::Good);
        let latency = *state.latency.lock().unwrap();
        std::thread::sleep(latency);
        let written = match answer {
            Answer::Hangup => Err(()),
            Answer::Silence => reader.read(&mut [0]).map(drop).map_err(drop).and(Err(())),
            Answer::Raw(status, body, headers) => respond(stream, status, &body, &headers),
            Answer::Good => respond(stream, 200, &good(&asked, state, None), &[]),
            Answer::Text(text) => respond(stream, 200, &good(&asked, state, Some(&text)), &[]),
        };
        state.at_once.fetch_sub(1, Ordering::SeqCst);
        if written.is_err() {
            return;
        }
    }
}

/// Texts of a request in the order in which the model reads them, whoever's dialect it is.
fn texts(body: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        match &message["content"] {
            Value::String(text) if message["role"] == "user" => texts.push(text.clone()),
            Value::Array(parts) if message["role"] == "user" => {
                texts.extend(parts.iter().filter_map(|part| part["text"].as_str()).map(str::to_owned));
            }
            _ => {}
        }
    }
    texts
}

fn understand(path: String, body: Value) -> Asked {
    let whole = texts(&body).join("\n");
    let (document, task) = match whole.rsplit_once("</note>") {
        Some((document, task)) => (document.to_owned(), task.to_owned()),
        None => (String::new(), whole),
    };
    let wanted = match task.rsplit_once("passages:") {
        Some((_, numbers)) => {
            numbers.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
        }
        None => task
            .split_once("<passage n=\"")
            .and_then(|(_, rest)| rest.split('"').next()?.parse().ok())
            .into_iter()
            .collect(),
    };
    Asked { path, body, wanted, document, task }
}

/// The text of a passage as the note shows it.
fn passage(asked: &Asked, n: u32) -> String {
    let between = |text: &str, from: &str, to: &str| {
        let (_, rest) = text.split_once(from)?;
        Some(rest.split_once(to)?.0.to_owned())
    };
    between(&asked.document, &format!("⟦{n}⟧"), &format!("⟦/{n}⟧"))
        .or_else(|| between(&asked.task, "<passage", "</passage>"))
        .unwrap_or_default()
}

/// Words that make a caption: letters only, for numbers would have to be the note's.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().count() > 4).collect()
}

/// A caption that is the note's own: its title, and words of the note that the passage lacks.
fn caption(asked: &Asked, passage: &str) -> String {
    let source = if asked.document.is_empty() { &asked.task } else { &asked.document };
    let title = source.split_once("title=\"").and_then(|(_, rest)| rest.split('"').next()).unwrap_or("the note");
    let body = source.split_once('>').map_or(source.as_str(), |(_, body)| body);
    let own: Vec<&str> = words(passage);
    let mut others: Vec<&str> = words(body).into_iter().filter(|word| !own.contains(word)).collect();
    others.dedup();
    let others: Vec<&str> = others.into_iter().take(10).collect();
    let own: Vec<&str> = own.into_iter().take(8).collect();
    format!("{title}: {} and {}.", own.join(" "), others.join(" "))
}

fn good(asked: &Asked, state: &State, fixed: Option<&str>) -> String {
    let special = state.caption.lock().unwrap().clone();
    let say = |n: u32| {
        let passage = passage(asked, n);
        let from = special.as_ref().and_then(|special| special(&asked.document, &passage));
        fixed.map(str::to_owned).or(from).unwrap_or_else(|| caption(asked, &passage))
    };
    let beside = state.beside.lock().unwrap().clone().filter(|_| asked.expands());
    let json = asked.task.contains("passages:") || beside.is_some();
    let text = if json {
        let caption = |n: &u32| match &beside {
            None => json!({"n": n, "text": say(*n)}),
            Some(beside) => {
                let (questions, terms) = beside(&asked.document, &passage(asked, *n));
                json!({"n": n, "text": say(*n), "questions": questions, "terms": terms})
            }
        };
        let captions: Vec<Value> = asked.wanted.iter().map(caption).collect();
        json!({ "captions": captions }).to_string()
    } else {
        say(asked.wanted.first().copied().unwrap_or(1))
    };
    let system = asked.body["system"].to_string().len();
    let tokens_in = ((asked.document.len() + asked.task.len() + system) / 4) as u64;
    let tokens_out = (text.len() / 4) as u64;
    state.answered.fetch_add(1, Ordering::SeqCst);
    state.tokens[0].fetch_add(tokens_in, Ordering::SeqCst);
    state.tokens[1].fetch_add(tokens_out, Ordering::SeqCst);
    let answer = if asked.path.ends_with("/chat/completions") {
        json!({
            "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": tokens_in, "completion_tokens": tokens_out },
        })
    } else if asked.path.ends_with("/api/chat") {
        json!({
            "model": "m", "message": { "role": "assistant", "content": text }, "done": true, "done_reason": "stop",
            "prompt_eval_count": tokens_in, "eval_count": tokens_out,
        })
    } else {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": { "input_tokens": tokens_in, "output_tokens": tokens_out },
        })
    };
    answer.to_string()
}

fn respond(mut stream: &TcpStream, status: u16, body: &str, headers: &[(&str, String)]) -> Result<(), ()> {
    let mut head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).map_err(|_| ())
}
