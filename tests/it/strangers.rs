//! What else may stand where the daemon's socket is looked for: nothing, a file, a daemon of another version, somebody
//! else. Each command says what is the matter and what to do, ends in time, and ends nobody.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Place;

/// A daemon of another kind: answers each line with what `answer` makes of it. Counts the requests.
fn stranger(place: &Place, answer: impl Fn(&Value) -> Vec<u8> + Send + Sync + 'static) -> Arc<AtomicUsize> {
    let listener = UnixListener::bind(place.socket_place()).unwrap();
    let (asked, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(answer));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer, count) = (stream.unwrap(), Arc::clone(&answer), Arc::clone(&count));
            std::thread::spawn(move || {
                for line in BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok) {
                    count.fetch_add(1, Ordering::SeqCst);
                    // Whoever has understood nothing is gone.
                    let _ = stream.write_all(&answer(&serde_json::from_str(&line).unwrap()));
                }
            });
        }
    });
    asked
}

/// As if a daemon of that version ran over the place's data, as far as locks and files tell.
fn pretend(place: &Place, version: &str) -> File {
    std::fs::create_dir_all(place.data()).unwrap();
    let lock = File::create(place.data().join("lock")).unwrap();
    lock.try_lock().unwrap();
    let running = json!({"pid": 4_000_000, "version": version, "socket": place.socket(), "started": 1});
    std::fs::write(place.data().join("daemon.json"), running.to_string()).unwrap();
    lock
}

fn said(output: &Output) -> (i32, String) {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
    (output.status.code().expect("it ends by itself"), said)
}

/// Commands that only ask.
const COMMANDS: [&[&str]; 8] = [
    &["status"],
    &["search", "heron"],
    &["related", "a.md"],
    &["get", "a.md"],
    &["jobs"],
    &["cost"],
    &["explain", "a.md"],
    &["call", "ping"],
];

#[test]
fn a_daemon_of_another_protocol_is_to_be_restarted() {
    let place = Place::with(&[("a.md", "# A\n")]);
    let asked = stranger(&place, |request| {
        let error = json!({"code": 1006, "message": "protocol 1 is not spoken here",
            "data": {"kind": "unsupported_protocol", "protocols": [7]}});
        format!("{}\n", json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).into_bytes()
    });
    for command in COMMANDS {
        let (code, said) = said(&place.run(command));
        assert_eq!(code, 70, "{command:?}: {said}");
        let parts =
            ["protocol 1 is not spoken here", "restart the daemon", "situated service restart", "situated stop"];
        assert!(parts.iter().all(|part| said.contains(part)), "{command:?}: {said}");
    }
    // Asked once each, and not told to end.
    assert_eq!(asked.load(Ordering::SeqCst), COMMANDS.len());
}

#[test]
fn answers_of_another_shape_are_not_taken_for_good() {
    let shapes: [&[u8]; 9] = [
        b"hello\n",
        b"[]\n",
        b"\x00\xff\xfe\x1b]0;owned\x07\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"hits\":\"\\u001b[2Jnone\",\"state\":\"\\u001b[31mfine\"}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"\\u001b]0;owned\\u0007\"}\n",
    ];
    for shape in shapes {
        let place = Place::with(&[("a.md", "# A\n")]);
        stranger(&place, move |_| shape.to_vec());
        for command in [&["status"][..], &["search", "heron"], &["jobs"]] {
            let start = Instant::now();
            let output = place.run(command);
            let (code, said) = said(&output);
            let shown = String::from_utf8_lossy(shape);
            assert_ne!(code, 0, "{command:?} takes {shown:?} for an answer: {:?}", output.stdout);
            assert!(said.contains("daemon"), "{command:?}, {shown:?}: {said}");
            assert!(start.elapsed() < Duration::from_secs(10), "{command:?}, {shown:?}: {:?}", start.elapsed());
            assert!(!output.stdout.contains(&0x1b), "{command:?}, {shown:?}");
        }
    }
}

#[test]
fn versions_that_differ_are_named() {
    let place = Place::with(&[("a.md", "# A\n")]);
    let _lock = pretend(&place, "9.8.7");
    stranger(&place, |request| {
        let error = json!({"code": -32601, "message": "there is no such method", "data": {"kind": "unknown_method"}});
        format!("{}\n", json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).into_bytes()
    });
    let (code, text) = said(&place.run(&["search", "heron"]));
    assert_eq!(code, 2, "{text}");
    for part in ["9.8.7", env!("CARGO_PKG_VERSION"), "process 4000000", "restart the daemon"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let other = Place::with(&[]);
    let _lock = pretend(&other, "9.8.7");
    stranger(&other, |_| b"{\"id\":1}\n".to_vec());
    let (code, text) = said(&other.run(&["search", "heron"]));
    assert!(code == 70 && text.contains("9.8.7") && text.contains("restart the daemon"), "{code}: {text}");
}

#[test]
fn a_daemon_without_its_socket_is_told_from_no_daemon() {
    let place = Place::with(&[]);
    let (code, text) = said(&place.run(&["search", "heron"]));
    assert!(code == 69 && text.contains("no daemon is running: start it with"), "{code}: {text}");

    let _lock = pretend(&place, env!("CARGO_PKG_VERSION"));
    for command in [&["search", "heron"][..], &["status"]] {
        let (code, text) = said(&place.run(command));
        assert_eq!(code, 75, "{text}");
        for part in ["process 4000000", "its socket was removed", "situated service restart", "kill 4000000"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    // One that nobody listens at any more is no better.
    drop(UnixListener::bind(place.socket_place()).unwrap());
    assert_eq!(said(&place.run(&["search", "heron"])).0, 75);
}

#[test]
fn a_daemon_that_serves_elsewhere_is_named_with_its_socket() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let mut daemon = place.start();
    let elsewhere = place.dir.path().join("elsewhere");
    let output = place.command().env("SITUATED_SOCKET", &elsewhere).args(["search", "aardvark"]).output().unwrap();
    let (code, text) = said(&output);
    assert_eq!(code, 75, "{text}");
    for part in [place.socket().to_str().unwrap(), elsewhere.to_str().unwrap(), "SITUATED_SOCKET"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Whoever names none finds it by its data.
    let output = place.command().env_remove("SITUATED_SOCKET").args(["search", "aardvark"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(daemon.holding("aardvark"), ["a.md"]);
}

#[test]
fn what_is_no_socket_is_told_and_left_alone() {
    let place = Place::with(&[]);
    std::fs::write(place.socket_place(), "mine").unwrap();
    for command in [&["search", "heron"][..], &["status"], &["call", "ping"]] {
        let (code, text) = said(&place.run(command));
        assert_eq!(code, 78, "{command:?}: {text}");
        let parts = [place.socket().to_str().unwrap().to_owned(), "is no socket".to_owned(), "serve.socket".to_owned()];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    assert_eq!(std::fs::read_to_string(place.socket()).unwrap(), "mine");
    std::fs::remove_file(place.socket()).unwrap();
    std::fs::create_dir(place.socket()).unwrap();
    assert_eq!(said(&place.run(&["search", "heron"])).0, 78);
}

#[test]
#[cfg_attr(not(has_other_users), ignore = "needs root, and a build folder that others may enter")]
fn nothing_is_sent_to_the_socket_of_another_user() {
    const NOBODY: u32 = 65534;
    const OTHER: u32 = 54321;
    let place = Place::with(&[]);
    let asked = stranger(&place, |_| Vec::new());
    chown(place.socket(), Some(OTHER), Some(OTHER)).unwrap();
    for (path, mode) in [(place.socket(), 0o777), (place.dir.path().to_owned(), 0o755)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = place.command();
    let (code, text) = said(&command.args(["search", "secret"]).uid(NOBODY).gid(NOBODY).output().unwrap());
    assert_eq!(code, 77, "{text}");
    assert!(text.contains("belongs to user 54321"), "{text}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn a_daemon_that_says_nothing_is_given_up() {
    let place = Place::with(&[]);
    stranger(&place, |_| Vec::new());
    let start = Instant::now();
    let (code, text) = said(&place.run(&["call", "ping"]));
    assert_eq!(code, 124, "{text}");
    assert!(text.contains("did not answer within") && start.elapsed() < Duration::from_secs(20), "{text}");
}
