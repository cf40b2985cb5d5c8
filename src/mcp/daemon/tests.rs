//! A made-up daemon that ends while calls run.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Mutex;

use serde_json::Value;

use super::*;
use protocol::ask::AskRequest;
use protocol::contexts::GenerateRequest;
use protocol::daemon::{FEATURES, HelloRequest, Welcome};
use protocol::envelope::{ErrorKind, RpcError};
use protocol::jobs::{RebuildRequest, SyncRequest};
use protocol::status::StatusRequest;

/// A daemon that is asked by all; `answer` says how a call is answered, and `None` that it ends instead.
fn daemon(answer: impl Fn() -> Option<RpcError> + Send + 'static) -> (Daemon, Arc<Mutex<Vec<String>>>) {
    let dir = tempfile::tempdir().unwrap().keep();
    let socket = dir.join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            serve(stream.unwrap(), &answer, &hears);
        }
    });
    (Daemon::new(Discovery { socket: Some(socket), data_dir: dir, is_named: false }), heard)
}

fn serve(mut stream: UnixStream, answer: &dyn Fn() -> Option<RpcError>, heard: &Mutex<Vec<String>>) {
    for line in BufReader::new(stream.try_clone().unwrap()).lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let id = serde_json::from_value(request["id"].clone()).unwrap();
        let method = request["method"].as_str().unwrap();
        let line = if method == HelloRequest::METHOD.name() {
            let features = FEATURES.iter().map(|&feature| feature.to_owned()).collect();
            let welcome = Welcome { protocol: 1, features, ..Welcome::default() };
            format!("{}\n", json!({ "jsonrpc": "2.0", "id": request["id"], "result": welcome })).into_bytes()
        } else {
            heard.lock().unwrap().push(method.to_owned());
            let Some(error) = answer() else { return };
            protocol::envelope::error_line(Some(&id), &error)
        };
        stream.write_all(&line).unwrap();
    }
}

/// How often a daemon hears a call that it never answers as it should.
fn heard<C: Call>(call: &C, answer: impl Fn() -> Option<RpcError> + Send + 'static) -> usize {
    let (daemon, heard) = daemon(answer);
    assert!(daemon.ask(call, &Waiting::to_the_end()).is_err());
    let heard = heard.lock().unwrap();
    assert!(heard.iter().all(|method| method == C::METHOD.name()), "{heard:?}");
    heard.len()
}

#[test]
fn what_may_have_been_paid_for_is_not_asked_twice() {
    fn once<C: Call>(call: &C) {
        assert_eq!(heard(call, || None), 1, "{:?}", C::METHOD);
        let stopping = || Some(RpcError::new(ErrorKind::NotReady, "it stops").with("stopping", true));
        assert_eq!(heard(call, stopping), 1, "{:?}", C::METHOD);
        // A full queue has not begun it.
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let busy = move || {
            (asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2)
                .then(|| RpcError::new(ErrorKind::Busy, "too many"))
        };
        assert_eq!(heard(call, busy), 3, "{:?}", C::METHOD);
    }
    once(&AskRequest::default());
    once(&GenerateRequest::default());
    once(&RebuildRequest::default());
    assert_eq!(heard(&StatusRequest::default(), || None), 2);
    assert_eq!(heard(&SyncRequest::default(), || None), 2);
}
