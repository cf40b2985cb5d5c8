//! A made-up daemon that behaves, dies, babbles or says nothing.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixListener;

use super::*;
use crate::envelope::{ErrorKind, RpcError};
use crate::events::SubscribeRequest;
use crate::jobs::{Job, JobKind, Scope, SyncRequest};
use crate::status::StatusRequest;
use crate::table::{AnyCall, Method};

/// Answers each line of one client with what `answer` makes of it; ends when that is `None`.
fn daemon(dir: &Path, answer: impl Fn(Value) -> Option<String> + Send + 'static) -> (PathBuf, thread::JoinHandle<()>) {
    let path = dir.join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let thread = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut writer = stream.try_clone().unwrap();
        for line in BufReader::new(stream).lines() {
            match answer(serde_json::from_str(&line.unwrap()).unwrap()) {
                Some(reply) => writer.write_all(reply.as_bytes()).unwrap(),
                None => return,
            }
        }
    });
    (path, thread)
}

fn reply(request: &Value, result: Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))
}

#[test]
fn calls_and_progress() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _thread) = daemon(dir.path(), |request| {
        let params = json!({ "token": 7, "done": 3, "phase": "p" });
        let progress = format!("{}\n\n", json!({ "jsonrpc": "2.0", "method": "progress", "params": params }));
        let result = match request["method"].as_str() {
            Some("sync") => json!(Job::dry_run(JobKind::Sync, Scope::default(), Some(3), None)),
            _ => request["method"].clone(),
        };
        Some(progress + &reply(&request, result))
    });
    let mut client = Client::connect_to(&path).unwrap();
    assert_eq!(client.call_raw("ping", Value::Null).unwrap(), "ping");
    assert_eq!(client.call(&SyncRequest::default()).unwrap().kind, JobKind::Sync);
    let error = client.call(&StatusRequest::default()).unwrap_err();
    assert!(matches!(&error, ClientError::Protocol(why) if why.contains("`status`")), "{error}");
    assert_eq!(client.call_raw("status", json!({ "vault": "x" })).unwrap(), "status");
}

#[test]
fn errors_keep_their_kind_and_map_to_exit_codes() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _thread) = daemon(dir.path(), |request| {
        let data = json!({ "kind": request["method"], "hint": "do this" });
        let error = json!({ "code": 1005, "message": "no", "data": data });
        Some(format!("{}\n", json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })))
    });
    let mut client = Client::connect_to(&path).unwrap();
    let table = [("not_found", 1), ("invalid_params", 2), ("busy", 75), ("timeout", 124), ("internal", 70)];
    for (kind, exit) in table {
        let error = client.call_raw(kind, json!({})).unwrap_err();
        assert_eq!((error.exit_code(), error.hint(), error.to_string()), (exit, Some("do this"), "no; do this".into()));
    }
}

#[test]
fn what_to_do_stands_behind_what_is_wrong() {
    let shown = |error: RpcError| {
        let told = error.to_value();
        let remote = Remote {
            code: error.kind.code(),
            kind: error.kind.name().to_owned(),
            message: error.message,
            hint: error.hint,
            data: told["data"].as_object().cloned().unwrap(),
        };
        remote.to_string()
    };
    assert_eq!(shown(RpcError::new(ErrorKind::Busy, "no").hint("do this")), "no; do this");
    assert_eq!(shown(RpcError::new(ErrorKind::Busy, "no; do this").hint("do this")), "no; do this");
    let params = json!({ "vaut": "notes" });
    let error = AnyCall::read(Method::Status, params.as_object().cloned().unwrap()).unwrap_err();
    let expected = "`status` knows no parameter `vaut`; did you mean `vault`? (known here: audience vault)";
    assert_eq!(shown(error), expected);
}

#[test]
fn nobody_there_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let discovery = Discovery { socket: Some(socket.clone()), data_dir: dir.path().to_owned(), is_named: false };
    let start = Instant::now();
    let error = Client::connect(&discovery).unwrap_err();
    assert_eq!(error.exit_code(), 69);
    assert!(error.to_string().starts_with("no daemon is running: start it with `situated run` ("));
    drop(UnixListener::bind(&socket).unwrap());
    assert_eq!(Client::connect(&discovery).unwrap_err().exit_code(), 69, "a stale socket");
    assert!(start.elapsed() < START_PATIENCE, "nobody holds the lock, so nobody is waited for");
}

#[test]
fn a_daemon_that_is_starting_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let lock = File::create(dir.path().join("lock")).unwrap();
    lock.try_lock().unwrap();
    let socket = dir.path().join("s");
    let discovery = Discovery { socket: Some(socket.clone()), data_dir: dir.path().to_owned(), is_named: false };
    let connecting = thread::spawn(move || Client::connect(&discovery).is_ok());
    thread::sleep(Duration::from_millis(100));
    let _listener = UnixListener::bind(&socket).unwrap();
    assert!(connecting.join().unwrap());
}

#[test]
fn silence_ends_in_a_timeout_and_a_late_answer_is_not_taken_for_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _thread) = daemon(dir.path(), |request| {
        if request["method"] == "slow" {
            thread::sleep(Duration::from_millis(200));
        }
        Some(reply(&request, request["method"].clone()))
    });
    let mut client = Client::connect_to(&path).unwrap();
    client.set_timeout(Some(Duration::from_millis(50)));
    let error = client.call_raw("slow", Value::Null).unwrap_err();
    assert!(matches!(error, ClientError::Timeout { .. }) && error.exit_code() == 124, "{error}");
    assert!(error.to_string().ends_with("`situated stop` ends it"), "{error}");
    client.set_timeout(Some(Duration::from_secs(20)));
    assert_eq!(client.call_raw("next", Value::Null).unwrap(), "next");
    // If it is known which process hangs, it is named.
    let lock = std::fs::File::create(dir.path().join(locate::LOCK)).unwrap();
    lock.try_lock().unwrap();
    let running = json!({ "pid": 77, "version": "1", "started": 1 });
    std::fs::write(dir.path().join(locate::DAEMON), running.to_string()).unwrap();
    let discovery = Discovery { socket: Some(path), data_dir: dir.path().to_owned(), is_named: false };
    let mut client = Client::connect(&discovery).unwrap();
    client.set_timeout(Some(Duration::from_millis(50)));
    let error = client.call_raw("slow", Value::Null).unwrap_err();
    assert!(
        error.to_string().starts_with("the daemon (process 77) did not answer within 0.1 s; `situated status`"),
        "{error}"
    );
    assert!(error.to_string().ends_with("`kill -9 77` ends it"), "{error}");
}

#[test]
fn a_daemon_with_a_late_deadline_is_waited_for_longer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    let lock = std::fs::File::create(dir.path().join(locate::LOCK)).unwrap();
    lock.try_lock().unwrap();
    let discovery = Discovery { socket: Some(path), data_dir: dir.path().to_owned(), is_named: false };
    for (answers_within_ms, waits) in [(None, 11_000), (Some(3_000), 11_000), (Some(30_000), 31_000)] {
        let running = locate::Running { answers_within_ms, ..locate::Running::this(None) };
        std::fs::write(dir.path().join(locate::DAEMON), json!(running).to_string()).unwrap();
        let client = Client::connect(&discovery).unwrap();
        assert_eq!(client.timeout, Some(Duration::from_millis(waits)));
    }
}

#[test]
fn a_daemon_that_dies_or_babbles() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _thread) = daemon(dir.path(), |_| None);
    assert!(matches!(Client::connect_to(&path).unwrap().call_raw("ping", Value::Null), Err(ClientError::Closed)));
    for babble in ["hello\n", "[]\n", "{\"id\":99,\"result\":1}\n", "{\"id\":1}\n"] {
        let dir = tempfile::tempdir().unwrap();
        let (path, _thread) = daemon(dir.path(), |_| Some(babble.to_owned()));
        let error = Client::connect_to(&path).unwrap().call_raw("ping", Value::Null).unwrap_err();
        assert!(matches!(error, ClientError::Protocol(_)), "{babble}: {error}");
    }
}

#[test]
fn events_until_enough() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _thread) = daemon(dir.path(), |request| {
        let event = |n: u64| json!({ "jsonrpc": "2.0", "method": "event", "params": { "seq": n } });
        Some(format!("{}{}\n{}\n", reply(&request, json!({ "events": ["index"] })), event(1), event(2)))
    });
    let mut seen = Vec::new();
    let mut client = Client::connect_to(&path).unwrap();
    client.call(&SubscribeRequest { events: Some(vec!["index".to_owned()]), watch: None }).unwrap();
    while seen.len() < 2 {
        seen.push(client.next_event().unwrap()["seq"].as_u64());
    }
    assert_eq!(seen, [Some(1), Some(2)]);
}
