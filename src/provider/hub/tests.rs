//! A hub on the loopback that also fails.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};

use super::*;

/// A request: method, path, and the headers that matter.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    method: String,
    path: String,
    range: Option<String>,
    token: Option<String>,
}

#[derive(Default)]
struct State {
    /// By path.
    files: HashMap<String, Vec<u8>>,
    /// Large files lie on another server.
    store: Option<SocketAddr>,
    /// Answers with this status and error code.
    refuse: Option<(u16, &'static str)>,
    /// Breaks off after so many bytes of a body, so many times.
    cut: (usize, usize),
    /// Sends another byte than it should.
    lie: bool,
    /// Knows nothing of parts.
    whole: bool,
    /// Fails so many times.
    trouble: usize,
    seen: Vec<Seen>,
}

/// It ends with the process.
struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = Server { address: listener.local_addr().expect("an address"), state: Arc::default() };
        let state = server.state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away is not the server's concern.
                let _ = answer(&stream, &state);
            }
        });
        server
    }

    /// With a model whose weights have `size` bytes.
    fn with_model(size: usize) -> Self {
        let server = Server::start();
        let weights: Vec<u8> = (0..size).map(|i| (i * 7 % 251) as u8).collect();
        server.put("config.json", b"{}");
        server.put("tokenizer.json", b"{\"a\":1}");
        server.put("modules.json", br#"[{"path":""},{"path":"1_Pooling"},{"path":"2_Normalize"},{"path":"../up"}]"#);
        server.put("1_Pooling/config.json", b"{\"b\":2}");
        server.put("model.safetensors", &weights);
        server
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        for revision in ["main", "c0ffee"] {
            self.with(|state| state.files.insert(format!("/org/name/resolve/{revision}/{name}"), bytes.to_vec()));
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().expect("no panic"))
    }

    fn hub(&self) -> Hub {
        let hub = Hub::new(&format!("http://{}", self.address), Some(SecretString::from("s3cret")));
        // Time is real here: a clock that is held would run out while the server thinks.
        Hub { pause: Duration::from_millis(1), ..hub.expect("a hub") }
    }

    /// Requests for the weights' bytes.
    fn weights(&self) -> Vec<Seen> {
        let all = self.with(|state| state.seen.clone());
        all.into_iter().filter(|seen| seen.method == "GET" && seen.path.ends_with(".safetensors")).collect()
    }
}

fn answer(stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut seen = Seen { method, path, range: None, token: None };
    for line in lines {
        let line = line?;
        match line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())) {
            Some((name, value)) if name == "range" => seen.range = Some(value),
            Some((name, value)) if name == "authorization" => seen.token = Some(value),
            Some(_) => {}
            None => break,
        }
    }
    let mut state = state.lock().expect("no panic");
    state.seen.push(seen.clone());
    let mut out = stream;
    let mut head =
        |status: u16, headers: &str| write!(out, "HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n");
    if state.trouble > 0 {
        state.trouble -= 1;
        return head(503, "content-length: 0\r\n");
    }
    if let Some((status, code)) = state.refuse {
        return head(status, &format!("x-error-code: {code}\r\ncontent-length: 0\r\n"));
    }
    let Some(file) = state.files.get(&seen.path).cloned() else {
        return head(404, "x-error-code: EntryNotFound\r\ncontent-length: 0\r\n");
    };
    let sha: String = Sha256::digest(&file).iter().map(|byte| format!("{byte:02x}")).collect();
    let large = seen.path.ends_with(".safetensors");
    let mut headers = "x-repo-commit: c0ffee\r\n".to_owned();
    headers += &if large { format!("etag: \"{sha}\"\r\n") } else { format!("etag: W/\"{}\"\r\n", &sha[..40]) };
    if let Some(store) = state.store.filter(|_| large) {
        headers = headers.replace("etag:", "x-linked-etag:");
        headers += &format!("x-linked-size: {}\r\nlocation: http://{store}{}\r\n", file.len(), seen.path);
        return head(302, &format!("{headers}content-length: 0\r\n"));
    }
    let from = seen
        .range
        .as_deref()
        .filter(|_| !state.whole)
        .map(|range| range.trim_start_matches("bytes=").trim_end_matches('-').parse::<usize>().expect("a range"));
    let mut body = file[from.unwrap_or(0)..].to_vec();
    headers += &format!("content-length: {}\r\n", body.len());
    if let Some(from) = from {
        headers += &format!("content-range: bytes {from}-{}/{}\r\n", file.len() - 1, file.len());
    }
    head(if from.is_some() { 206 } else { 200 }, &headers)?;
    if seen.method == "HEAD" {
        return Ok(());
    }
    if state.lie && large {
        body[0] ^= 1;
    }
    if large && state.cut.1 > 0 {
        state.cut.1 -= 1;
        body.truncate(state.cut.0);
    }
    drop(state);
    out.write_all(&body)
}

fn quiet(_: &str, _: u64, _: Option<u64>) {}

fn cache() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Downloads all of a model to `folder`.
async fn pull(hub: &Hub, folder: &Path, progress: OnProgress<'_>) -> Result<(), HubError> {
    let id = ModelId::parse("org/name").expect("a name");
    let commit = hub.pull(&id, None, Layout::Transformer, Part::Texts, folder, progress).await?;
    hub.pull(&id, commit.as_deref(), Layout::Transformer, Part::Weights, folder, progress).await.map(drop)
}

async fn fails(server: &Server, folder: &Path) -> String {
    pull(&server.hub(), folder, &quiet).await.expect_err("an error").to_string()
}

#[tokio::test]
async fn a_model_is_downloaded_once_and_of_one_commit() {
    let (server, cache) = (Server::with_model(100_000), cache());
    let most = Mutex::new(0);
    let progress = |file: &str, here: u64, all: Option<u64>| {
        if file == "model.safetensors" {
            assert_eq!(all, Some(100_000));
            let mut most = most.lock().expect("no panic");
            *most = here.max(*most);
        }
    };
    let folder = cache.path();
    pull(&server.hub(), folder, &progress).await.expect("a model");
    assert_eq!(*most.lock().expect("no panic"), 100_000);
    let weights = server.with(|state| state.files["/org/name/resolve/main/model.safetensors"].clone());
    assert_eq!(std::fs::read(folder.join("model.safetensors")).expect("weights"), weights);
    assert_eq!(std::fs::read(folder.join("1_Pooling/config.json")).expect("a file"), b"{\"b\":2}");
    let mut names: Vec<_> = std::fs::read_dir(folder).expect("a folder").flatten().map(|e| e.file_name()).collect();
    names.sort();
    let all = ["1_Pooling", "config.json", "model.safetensors", "modules.json", "tokenizer.json"];
    assert_eq!(names, all, "nothing is left behind");
    let seen = server.with(|state| std::mem::take(&mut state.seen));
    assert!(seen.iter().skip(1).all(|seen| seen.path.contains("/c0ffee/")), "{seen:#?}");
    assert!(seen.iter().all(|seen| seen.token.as_deref() == Some("Bearer s3cret") && !seen.path.contains("..")));
    pull(&server.hub(), cache.path(), &quiet).await.expect("a model");
    assert!(server.with(|state| state.seen.iter().all(|seen| seen.method == "HEAD")), "what is here is not sent again");
}

#[tokio::test]
async fn what_was_interrupted_goes_on_where_it_stopped() {
    let (server, cache) = (Server::with_model(100_000), cache());
    server.with(|state| state.cut = (30_000, 2));
    pull(&server.hub(), cache.path(), &quiet).await.expect("a model");
    let ranges: Vec<_> = server.weights().into_iter().map(|seen| seen.range).collect();
    assert_eq!(ranges, [None, Some("bytes=30000-".to_owned()), Some("bytes=60000-".to_owned())]);
}

#[tokio::test]
async fn what_was_given_up_goes_on_another_day() {
    let (server, cache) = (Server::with_model(100_000), cache());
    server.with(|state| state.cut = (0, usize::MAX));
    let error = fails(&server, cache.path()).await;
    assert!(error.contains("model.safetensors of org/name") && error.contains("try again later"), "{error}");
    assert_eq!(server.weights().len(), 4);
    // The process ends after the first part.
    server.with(|state| state.cut = (40_000, usize::MAX));
    let hub = server.hub();
    tokio::select! {
        result = pull(&hub, cache.path(), &quiet) => panic!("{result:?}"),
        () = async { while part(cache.path()) < 40_000 { tokio::task::yield_now().await } } => {}
    }
    server.with(|state| (state.cut, state.seen) = ((0, 0), Vec::new()));
    pull(&server.hub(), cache.path(), &quiet).await.expect("a model");
    let first = server.weights().remove(0).range.expect("a part");
    assert!(["bytes=40000-", "bytes=80000-"].contains(&first.as_str()), "{first}");
}

/// Bytes of the weights that are here, of a model that is not here yet.
fn part(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let parts = files.filter(|file| file.file_name().to_string_lossy().starts_with("model.safetensors."));
    parts.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

#[tokio::test]
async fn another_version_is_not_put_behind_a_part_of_the_first() {
    let (server, cache) = (Server::with_model(100_000), cache());
    std::fs::write(cache.path().join("model.safetensors.0123456789.part"), [0; 500]).expect("a file");
    pull(&server.hub(), cache.path(), &quiet).await.expect("a model");
    assert_eq!(server.weights()[0].range, None);
    assert_eq!(std::fs::metadata(cache.path().join("model.safetensors")).expect("weights").len(), 100_000);
}

#[tokio::test]
async fn servers_without_parts_send_it_all_again() {
    let (server, cache) = (Server::with_model(50_000), cache());
    server.with(|state| (state.cut, state.whole) = ((20_000, 1), true));
    pull(&server.hub(), cache.path(), &quiet).await.expect("a model");
    assert_eq!(std::fs::metadata(cache.path().join("model.safetensors")).expect("weights").len(), 50_000);
}

#[tokio::test]
async fn a_wrong_hash_is_refused_and_what_came_is_removed() {
    let (server, cache) = (Server::with_model(5_000), cache());
    server.with(|state| state.lie = true);
    let error = fails(&server, cache.path()).await;
    assert!(error.contains("model.safetensors of org/name") && error.contains("sha256"), "{error}");
    assert!(!cache.path().join("model.safetensors").exists());
    server.with(|state| state.lie = false);
    pull(&server.hub(), cache.path(), &quiet).await.expect("a model");
}

#[tokio::test]
async fn the_token_does_not_go_to_another_server() {
    let (server, store, cache) = (Server::with_model(70_000), Server::with_model(70_000), cache());
    server.with(|state| state.store = Some(store.address));
    pull(&server.hub(), cache.path(), &quiet).await.expect("a model");
    let seen = store.with(|state| state.seen.clone());
    assert_eq!(seen.len(), 1, "the store is asked for the bytes only: {seen:?}");
    assert!(seen[0].token.is_none() && seen[0].method == "GET");
    // What the hub says of it counts, not what the store says.
    store.put("model.safetensors", &vec![1; 70_000]);
    let error = fails(&server, &cache.path().join("other")).await;
    assert!(error.contains("sha256"), "{error}");
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    for (status, code, words) in [
        (401, "RepoNotFound", ["401", "HF_TOKEN"]),
        (403, "GatedRepo", ["403", "terms"]),
        (404, "RepoNotFound", ["404", "check the name"]),
        (404, "RevisionNotFound", ["404", "revision"]),
        (418, "", ["418", "HF_ENDPOINT"]),
        (500, "", ["500", "try again later"]),
        (429, "", ["429", "try again later"]),
    ] {
        let (server, cache) = (Server::with_model(10), cache());
        server.with(|state| state.refuse = Some((status, code)));
        let error = fails(&server, cache.path()).await;
        assert!(words.iter().all(|word| error.contains(word)) && error.contains("org/name"), "{error}");
        assert!(error.contains(&server.address.to_string()) && !error.contains("s3cret"), "{error}");
    }
}

#[tokio::test]
async fn a_model_without_weights_is_none_and_trouble_passes() {
    let (server, cache) = (Server::with_model(10), cache());
    server.with(|state| state.trouble = 3);
    server.with(|state| state.files.retain(|path, _| !path.ends_with(".safetensors")));
    let error = fails(&server, cache.path()).await;
    assert!(error.contains("no model.safetensors of org/name") && error.contains("choose another model"), "{error}");
    let away = Hub::new("http://127.0.0.1:1", None).expect("a hub");
    let away = Hub { pause: Duration::ZERO, ..away };
    let error = pull(&away, &cache.path().join("x"), &quiet).await.expect_err("nobody is there").to_string();
    assert!(error.contains("127.0.0.1:1") && error.contains("try again later"), "{error}");
}

#[tokio::test]
async fn any_thread_may_fetch() {
    let (server, cache) = (Server::with_model(10), cache());
    let (hub, path) = (server.hub(), cache.path().to_owned());
    let fetched = tokio::spawn(async move { pull(&hub, &path, &quiet).await });
    fetched.await.expect("no panic").expect("a model");
}

#[test]
fn who_is_not_at_a_hub_is_told_so() {
    for bad in ["", "huggingface.co", "ftp://x.org", "file:///etc"] {
        assert!(Hub::new(bad, None).is_err(), "{bad}");
    }
}

#[test]
fn a_lock_keeps_all_others_out_even_while_its_file_is_removed() {
    let (cache, inside) = (cache(), std::sync::atomic::AtomicBool::new(false));
    let hold = || {
        for _ in 0..2_000 {
            if let Ok(_held) = Held::take(cache.path(), "org--name", "org/name") {
                assert!(!inside.swap(true, std::sync::atomic::Ordering::SeqCst), "another has it");
                std::thread::yield_now();
                inside.store(false, std::sync::atomic::Ordering::SeqCst);
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(hold))));
    assert_eq!(std::fs::read_dir(cache.path()).expect("a folder").count(), 0, "nothing is left behind");
}
