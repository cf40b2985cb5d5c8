//! A Hugging Face hub on loopback with one model, `org/name`: it describes it, hands out its files and parts of them, and can
//! be told to misbehave.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::http::Listener;

/// The commit that every file is of.
pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// What the hub does beside handing out files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mood {
    /// Answers with this status and error code.
    pub(crate) refuse: Option<(u16, &'static str)>,
    /// Ends after so many bytes of the weights, and sends none when it is asked for the others.
    pub(crate) cut: Option<usize>,
    /// Sends weights that are not those it names the hash of.
    pub(crate) lie: bool,
}

/// A request for a file's bytes: its path, and where they begin.
type Asked = (String, Option<usize>);

#[derive(Default)]
struct State {
    files: BTreeMap<String, Vec<u8>>,
    mood: Mutex<Mood>,
    asked: Mutex<Vec<Asked>>,
}

/// A running hub; it stops when dropped.
pub(crate) struct Hub {
    listener: Listener,
    state: Arc<State>,
}

impl Hub {
    /// With these files.
    pub(crate) fn with(files: BTreeMap<String, Vec<u8>>) -> Self {
        let state = Arc::new(State { files, ..State::default() });
        let shared = state.clone();
        // A client that goes away is not the hub's concern.
        Hub { listener: Listener::start(move |stream| drop(answer(stream, &shared))), state }
    }

    /// What `HF_ENDPOINT` is to be.
    pub(crate) fn url(&self) -> String {
        self.listener.url()
    }

    pub(crate) fn is(&self, mood: Mood) {
        *self.state.mood.lock().unwrap() = mood;
    }

    /// The files whose bytes were asked for since the last call.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state.asked.lock().unwrap())
    }
}

fn answer(stream: &TcpStream, state: &State) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut range = None;
    for line in lines {
        match line?.to_ascii_lowercase().split_once(": ") {
            Some(("range", value)) => {
                range = value.trim_start_matches("bytes=").trim_end_matches('-').parse::<usize>().ok();
            }
            Some(_) => {}
            None => break,
        }
    }
    let mood = state.mood.lock().unwrap().clone();
    let mut out = stream;
    let mut head =
        |status: u16, headers: &str| write!(out, "HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n");
    if let Some((status, code)) = mood.refuse {
        return head(status, &format!("x-error-code: {code}\r\ncontent-length: 0\r\n"));
    }
    let weights = "model.safetensors";
    if path.starts_with("/api/models/org/name/revision/") {
        let siblings: Vec<_> =
            state.files.iter().map(|(name, bytes)| json!({ "rfilename": name, "size": bytes.len() })).collect();
        let body =
            json!({ "id": "org/name", "sha": COMMIT, "cardData": { "license": "apache-2.0" }, "siblings": siblings });
        let body = body.to_string();
        head(200, &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()))?;
        return out.write_all(body.as_bytes());
    }
    let name = path.strip_prefix("/org/name/resolve/").and_then(|rest| Some(rest.split_once('/')?.1));
    let Some((name, file)) = name.and_then(|name| Some((name, state.files.get(name)?))) else {
        let code = if path.starts_with("/org/name/") { "EntryNotFound" } else { "RepoNotFound" };
        return head(404, &format!("x-error-code: {code}\r\ncontent-length: 0\r\n"));
    };
    let sha: String = Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect();
    let etag = if name == weights { sha } else { sha[..40].to_owned() };
    let mut headers = format!("x-repo-commit: {COMMIT}\r\netag: \"{etag}\"\r\n");
    let from = range.unwrap_or(0).min(file.len());
    let mut body = file[from..].to_vec();
    headers += &format!("content-length: {}\r\n", body.len());
    if range.is_some() {
        headers += &format!("content-range: bytes {from}-{}/{}\r\n", file.len() - 1, file.len());
    }
    head(if range.is_some() { 206 } else { 200 }, &headers)?;
    if method == "HEAD" {
        return Ok(());
    }
    state.asked.lock().unwrap().push((name.to_owned(), range));
    if name == weights {
        body[0] ^= u8::from(mood.lie);
        if let Some(cut) = mood.cut {
            body.truncate(if range.is_some() { 0 } else { cut });
        }
    }
    out.write_all(&body)
}
