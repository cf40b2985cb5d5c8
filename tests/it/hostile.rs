//! Clients that do everything wrong, over the real socket of a real daemon. After each of them the daemon
//! answers the next one as if nothing had been.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use protocol::jobs::{JobKind, JobState, RebuildRequest};
use protocol::search::{Mode, SearchFilter, SearchRequest};
use serde_json::{Value, json};

use crate::manners::battery;
use crate::requests::{query, whole_rebuild};
use crate::support::{Daemon, PATIENCE, Place, eventually};

/// A connection that is spoken to line by line.
pub(crate) struct Wire(BufReader<UnixStream>);

impl Wire {
    pub(crate) fn to(place: &Place) -> Wire {
        Wire::at(&place.socket())
    }

    pub(crate) fn at(socket: &std::path::Path) -> Wire {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Wire(BufReader::new(stream))
    }

    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id: Value = id.into();
        self.send(format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})));
    }

    /// The next line; `None` once the daemon has closed the connection.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("nothing came: {error}"),
        }
    }

    /// Id and kind of the error that comes next.
    fn error(&mut self) -> (Value, String) {
        let answer = self.next().expect("the connection ended");
        let kind = answer["error"]["data"]["kind"].as_str().unwrap_or_else(|| panic!("no error: {answer}"));
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty(), "{answer}");
        (answer["id"].clone(), kind.to_owned())
    }

    /// The daemon answers, and nothing else was on its way.
    pub(crate) fn ping(&mut self) {
        self.ask("the daemon lives", "ping", json!({}));
        assert_eq!(self.next(), Some(json!({"jsonrpc": "2.0", "id": "the daemon lives", "result": {}})));
    }

    fn end_writing(&self) {
        self.0.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    }
}

/// A daemon whose memory can be measured: the C library's own reserves per thread would hide what it keeps.
fn frugal(place: &Place) -> Daemon {
    let mut command = place.command();
    command.env("MALLOC_ARENA_MAX", "1").args(["run", place.vault.to_str().unwrap()]);
    let mut daemon = place.spawn_command(&mut command);
    daemon.wait_idle();
    daemon
}

fn small() -> Place {
    Place::with(&[("a.md", "# A\n\nan aardvark\n"), ("b.md", "# B\n\na badger\n")])
}

#[test]
fn every_kind_of_garbage_gets_one_error_and_the_next_request_works() {
    let place = small();
    let _daemon = place.start();
    let deep = "[".repeat(100_000);
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{}{}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let table: [(&[u8], Value, &str); 24] = [
        (b"garbage", json!(null), "parse_error"),
        (b"\0\0\0", json!(null), "parse_error"),
        (b"\x80\x81", json!(null), "parse_error"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", json!(null), "parse_error"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, json!(null), "parse_error"),
        (br#"{"jsonrpc":"2.0","id":1,"#, json!(null), "parse_error"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, json!(null), "parse_error"),
        (b"\x1b[2J\x1b]0;owned\x07", json!(null), "parse_error"),
        (b"GET / HTTP/1.1", json!(null), "parse_error"),
        (deep.as_bytes(), json!(null), "parse_error"),
        (nested.as_bytes(), json!(null), "parse_error"),
        (b"[]", json!(null), "invalid_request"),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, json!(null), "invalid_request"),
        (b"{}", json!(null), "invalid_request"),
        (b"17", json!(null), "invalid_request"),
        (b"null", json!(null), "invalid_request"),
        (br#"{"id":1,"method":"ping"}"#, json!(1), "invalid_request"),
        (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1), "invalid_request"),
        (br#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, json!(1), "invalid_request"),
        (br#"{"jsonrpc":"2.0","id":1}"#, json!(1), "invalid_request"),
        (br#"{"jsonrpc":"2.0","id":1,"method":7}"#, json!(1), "invalid_request"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, json!(1), "invalid_params"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#, json!(1), "invalid_params"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"PING"}"#, json!(1), "unknown_method"),
    ];
    let mut wire = Wire::to(&place);
    wire.ping();
    for (bytes, id, kind) in table {
        wire.send([bytes, b"\r\n\n"].concat());
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        assert_eq!(wire.error(), (id, kind.to_owned()), "{shown}");
        wire.ping();
    }
}

#[test]
fn ids_come_back_as_they_were_and_others_are_refused() {
    let place = small();
    let _daemon = place.start();
    let mut wire = Wire::to(&place);
    let long = "i".repeat(100_000);
    for id in [json!(0), json!(-1), json!(9_007_199_254_740_991_i64), json!(""), json!("ü\n\u{0}😀"), json!(long)] {
        wire.ask(id.clone(), "ping", json!({}));
        assert_eq!(wire.next().unwrap()["id"], id);
    }
    let bad = [json!(1.5), json!(9_007_199_254_740_992_i64), json!(true), json!(null), json!([]), json!({"a": 1})];
    for id in bad {
        wire.ask(id.clone(), "ping", json!({}));
        assert_eq!(wire.error(), (Value::Null, "invalid_request".to_owned()), "{id}");
    }
    // Two requests under one id are two requests.
    wire.ask(5, "ping", json!({}));
    wire.ask(5, "ping", json!({}));
    assert_eq!((wire.next().unwrap()["id"].clone(), wire.next().unwrap()["id"].clone()), (json!(5), json!(5)));
    wire.ping();
}

#[test]
fn notifications_are_never_answered() {
    let place = small();
    let _daemon = place.start();
    let mut wire = Wire::to(&place);
    let silent = [
        ("ping", json!({})),
        ("search", json!({"query": "aardvark"})),
        ("search", json!({})),
        ("search", json!([])),
        ("frobnicate", json!({})),
        ("get", json!({"path": "../../etc/passwd"})),
        ("sync", json!({"wait": true})),
        ("cancel", json!({"id": 99})),
        ("cancel", json!({})),
    ];
    for (method, params) in silent {
        wire.send(format!("{}\n", json!({"jsonrpc": "2.0", "method": method, "params": params})));
    }
    wire.ping();
    wire.end_writing();
    assert_eq!(wire.next(), None);
}

/// The parameters that a method knows.
fn known(params: &Value, schema: &Value, definitions: &Value) -> Value {
    let name = schema["$ref"].as_str().unwrap().strip_prefix("#/$defs/").unwrap();
    let known = definitions[name].get("properties").and_then(Value::as_object);
    let members = params.as_object().unwrap().iter();
    let members = members.filter(|(name, _)| known.is_some_and(|known| known.contains_key(*name)));
    Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
}

#[test]
fn odd_parameters_are_errors_of_the_client() {
    let place = small();
    let mut daemon = place.start();
    let odd = [
        json!({"query": 5}),
        json!({"query": null}),
        json!({"query": "x", "limit": 0}),
        json!({"query": "x", "limit": 201}),
        json!({"query": "x", "limit": -1}),
        json!({"query": "x", "limit": 1e300}),
        json!({"query": "x", "limit": "many"}),
        json!({"query": "x", "mode": "psychic"}),
        json!({"query": "x", "filter": {"path": "[", "after": "never"}}),
        json!({"query": "x", "filter": {"tag": "a".repeat(100_000)}}),
        json!({"query": "x", "window_chars": u64::MAX}),
        json!({"query": "x", "per_note": u64::MAX, "limit": 200}),
        json!({"path": "a.md", "line": 0}),
        json!({"path": "a.md", "line": u32::MAX, "lines": u32::MAX}),
        json!({"path": "a.md", "line": u64::MAX}),
        json!({"path": ["a.md"]}),
        json!({"path": "a".repeat(900_000)}),
        json!({"chunk": "no chunk"}),
        json!({"chunk": "\u{202e}"}),
        json!({"text": ""}),
        json!({"text": "badger ".repeat(100_000)}),
        json!({"seconds": -1}),
        json!({"vault": ""}),
        json!({"vault": "../other"}),
        json!({"job": -1}),
        json!({"protocol": -1}),
        json!({"events": "all"}),
        json!({"surprise": {"from": ["a", "newer", "client"]}}),
    ];
    let schema = protocol::schema::schema();
    let methods = schema["methods"].as_object().unwrap().iter();
    let mut calls = 0;
    for (method, described) in methods.filter(|(method, _)| !["shutdown", "pause"].contains(&method.as_str())) {
        for params in &odd {
            // Whole, and without what the method does not know and would refuse at once.
            for params in [params.clone(), known(params, &described["params"], &schema["$defs"])] {
                if let Err(error) = daemon.try_call(method, params.clone()) {
                    let kind = error["data"]["kind"].as_str().unwrap();
                    let fault = ["internal", "storage", "timeout"].contains(&kind);
                    assert!(!fault, "{method} {}: {error}", params.to_string().chars().take(100).collect::<String>());
                }
                calls += 1;
            }
        }
    }
    assert!(calls > 800, "{calls}");
    assert_eq!(daemon.holding("badger"), ["b.md"]);
}

#[test]
fn odd_queries_find_something_or_nothing_but_never_break() {
    let place = small();
    let mut daemon = place.start();
    let long = "x".repeat(900_000);
    let words = "word ".repeat(100_000);
    let quotes = "\"".repeat(10_001);
    let minus = "-a ".repeat(10_000);
    let filters = "tag:x ".repeat(10_000);
    let queries = [
        "",
        " ",
        "\"",
        "\"\"",
        "-",
        "--",
        "tag:",
        "path:",
        "path:**[",
        "path:{a,",
        "after:",
        "after:99999-99-99",
        "before:0000-00-00",
        "modified:-1d",
        "modified:999999999999d",
        "type:\"",
        "a:b:c",
        "((((((",
        "a AND OR NOT",
        "*",
        "?*~^[]{}\\/+!",
        "\0",
        "\u{1b}[31m",
        "\u{202e}rorrim",
        "😀🦀",
        "e\u{301}\u{301}\u{301}",
        "\u{fdfa}",
        "\u{feff}",
        "会",
        long.as_str(),
        words.as_str(),
        quotes.as_str(),
        minus.as_str(),
        filters.as_str(),
    ];
    for text in queries {
        for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
            let request = SearchRequest { mode: Some(mode), explain: true, ..query(text) };
            if let Err(error) = daemon.try_ask(&request) {
                let shown: String = text.chars().take(40).collect();
                assert_eq!(error.kind, protocol::envelope::ErrorKind::InvalidParams, "{shown:?} ({mode:?}): {error:?}");
            }
        }
    }
    assert_eq!(daemon.holding("badger"), ["b.md"]);
}

#[test]
fn half_a_line_and_then_nothing() {
    let place = small();
    let _daemon = place.start();
    let mut gone = Wire::to(&place);
    gone.send(br#"{"jsonrpc":"2.0","id":1,"method":"shutd"#);
    drop(gone);
    let mut wire = Wire::to(&place);
    wire.ping();
    wire.send(br#"{"jsonrpc":"2.0","id":1,"method":"shutd"#);
    wire.end_writing();
    assert_eq!(wire.error(), (Value::Null, "parse_error".to_owned()));
    assert_eq!(wire.next(), None);
    // A whole request needs no line end if nothing follows.
    let mut wire = Wire::to(&place);
    wire.send(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    wire.end_writing();
    assert_eq!(wire.next().unwrap()["result"], json!({}));
    assert_eq!(wire.next(), None);
    Wire::to(&place).ping();
}

#[test]
fn a_line_of_a_gigabyte_costs_no_memory() {
    const PIECE: usize = 1 << 20;
    let place = small();
    let mut daemon = frugal(&place);
    let before = daemon.resident();
    let mut wire = Wire::to(&place);
    wire.send(br#"{"jsonrpc":"2.0","id":1,"method":"search","params":{"query":""#);
    let piece = vec![b'a'; PIECE];
    let mut most = 0;
    for i in 0..1024 {
        wire.send(&piece);
        if i % 64 == 63 {
            most = most.max(daemon.resident());
        }
    }
    wire.send(b"\"}}\n");
    assert_eq!(wire.error(), (Value::Null, "too_large".to_owned()));
    wire.ping();
    assert!(most < before + (64 << 20), "{before} bytes became {most}");
}

#[test]
fn ten_thousand_requests_at_once_are_each_answered_once() {
    const COUNT: u64 = 10_000;
    let place = small();
    let _daemon = place.start();
    let mut wire = Wire::to(&place);
    let mut writer = wire.0.get_ref().try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        for id in 0..COUNT {
            let (method, params) = match id % 10 {
                0 => ("search", json!({"query": "aardvark"})),
                1 => ("status", json!({})),
                2 => ("get", json!({"path": "a.md"})),
                3 => ("frobnicate", json!({})),
                _ => ("ping", json!({})),
            };
            let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            writer.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut answered = vec![0; COUNT as usize];
    while let Some(answer) = wire.next() {
        let id = answer["id"].as_u64().unwrap();
        assert_eq!(answer.get("error").is_some(), id % 10 == 3, "{answer}");
        answered[id as usize] += 1;
    }
    sender.join().unwrap();
    assert!(answered.iter().all(|count| *count == 1));
}

#[test]
fn http_is_told_what_this_is() {
    let place = small();
    let _daemon = place.start();
    let mut wire = Wire::to(&place);
    wire.send(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
    let mut answer = String::new();
    wire.0.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("JSON-RPC"), "{answer}");
    Wire::to(&place).ping();
}

#[test]
fn clients_that_go_away_in_the_middle_of_answers_leave_nothing_behind() {
    let place = small();
    place.write("long.md", "many words, all of them alike\n".repeat(100_000));
    let mut daemon = place.start();
    let descriptors = format!("/proc/{}/fd", daemon.pid());
    let open = || std::fs::read_dir(&descriptors).map_or(0, Iterator::count);
    let before = open();
    for round in 0..20 {
        let mut wire = Wire::to(&place);
        for id in 0..8 {
            wire.ask(id, "get", json!({"path": "long.md"}));
        }
        wire.ask(8, "rebuild", json!({"wait": true}));
        if round % 2 == 0 {
            wire.0.read_exact(&mut [0; 1000]).unwrap();
        }
    }
    assert_eq!(daemon.holding("badger"), ["b.md"]);
    if cfg!(target_os = "linux") {
        eventually("connections are closed", || open() <= before + 1);
    }
}

#[test]
fn sixty_four_clients_are_served_and_one_more_is_told_so() {
    let place = small();
    let _daemon = place.start();
    let mut wires: Vec<Wire> = Vec::new();
    // The daemon counts a connection that has ended until it has looked: fill up until one is refused.
    let mut refused = None;
    for _ in 0..=64 {
        let mut wire = Wire::to(&place);
        wire.ask("in", "ping", json!({}));
        let answer = wire.next().expect("neither served nor told why not");
        if answer["id"] == "in" {
            wires.push(wire);
        } else {
            refused = Some((answer, wire));
            break;
        }
    }
    let (answer, mut wire) = refused.expect("a 65th client was served");
    assert!((63..=64).contains(&wires.len()), "{} were served", wires.len());
    assert_eq!((&answer["id"], &answer["error"]["data"]["kind"]), (&Value::Null, &json!("busy")), "{answer}");
    assert!(answer["error"]["data"]["retry_after_ms"].is_u64() && answer["error"]["data"]["hint"].is_string());
    assert_eq!(wire.next(), None);
    wires.iter_mut().for_each(Wire::ping);
    wires.truncate(10);
    eventually("there is room again", || {
        let mut wire = Wire::to(&place);
        wire.ask("in", "ping", json!({}));
        wire.next().is_some_and(|answer| answer["id"] == "in")
    });
}

#[test]
fn a_subscriber_that_does_not_read_misses_events_and_harms_nobody() {
    let place = Place::with_sample();
    let mut daemon = frugal(&place);
    let before = daemon.resident();
    let mut slow = Wire::to(&place);
    slow.ask(1, "subscribe", json!({}));
    assert!(slow.next().unwrap()["result"]["events"].as_array().unwrap().len() >= 4);
    for _ in 0..40 {
        assert_eq!(daemon.ask(&whole_rebuild()).state, JobState::Done);
    }
    assert!(daemon.resident() < before + (64 << 20), "{before} bytes became {}", daemon.resident());
    let mut events = BTreeSet::new();
    let ended = loop {
        let Some(event) = slow.next() else { break true };
        events.insert(event["params"]["kind"].as_str().unwrap_or_default().to_owned());
        if event["params"]["kind"] == "lagged" {
            assert!(event["params"]["missed"].as_u64().unwrap() > 0, "{event}");
            break false;
        }
    };
    assert!(ended || events.contains("lagged"));
    assert!(events.contains("decision") && events.contains("job"), "{events:?}");
    // Who does read misses nothing of the next change.
    let mut quick = Wire::to(&place);
    quick.ask(1, "subscribe", json!({"events": ["decision"]}));
    assert_eq!(quick.next().unwrap()["result"]["events"], json!(["decision"]));
    place.write("New.md", "# New\n\nyeti\n");
    let event = quick.next().unwrap();
    assert_eq!(
        (&event["params"]["path"], &event["params"]["reason"]),
        (&json!("New.md"), &json!("NewNote")),
        "{event}"
    );
}

#[test]
fn a_cancelled_request_is_answered_once_and_its_job_goes_on() {
    let place = small();
    // On so little battery a rebuild does not end.
    place.configure(&battery(&place, 31));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let mut wire = Wire::to(&place);
    wire.ask("r", "rebuild", json!({"wait": true}));
    eventually("the rebuild runs", || {
        daemon.jobs().first().is_some_and(|job| job.kind == JobKind::Rebuild && job.is_running())
    });
    wire.ask("s", "rebuild", json!({"wait": true}));
    let (id, kind) = wire.error();
    assert_eq!((id, kind.as_str()), (json!("s"), "conflict"));
    wire.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"id\":\"r\"}}\n");
    assert_eq!(wire.error(), (json!("r"), "cancelled".to_owned()));
    wire.ask(2, "cancel", json!({"id": "r"}));
    assert_eq!(wire.error(), (json!(2), "not_found".to_owned()));
    wire.ping();
    daemon.resume();
    daemon.wait_newest(JobState::Done);

    // Nobody is to wait for a job while the user has work paused.
    daemon.pause();
    daemon.wait_for("paused", |status| status.paused_until.is_some());
    for method in ["rebuild", "sync"] {
        wire.ask(method, method, json!({"wait": true}));
        assert_eq!(wire.error(), (json!(method), "paused".to_owned()));
    }
    let job = daemon.ask(&RebuildRequest::default()).job;
    wire.ask(3, "cancel", json!({"job": job}));
    assert_eq!(wire.next().unwrap()["result"], json!({}));
    daemon.resume();
    daemon.wait_newest(JobState::Cancelled);
}

#[test]
fn nobody_is_left_without_an_answer_when_the_daemon_stops() {
    let place = small();
    // So many that making them anew waits for mains.
    for i in 0..40 {
        place.write(&format!("n{i}.md"), "# Note\n\nmany\n");
    }
    place.configure(&battery(&place, 31));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let mut waits = Wire::to(&place);
    waits.ask("w", "rebuild", json!({"wait": true}));
    let mut idle = Wire::to(&place);
    idle.ping();
    daemon.wait_newest(JobState::Running);
    daemon.signal(rustix::process::Signal::TERM);
    eventually("nobody can connect", || UnixStream::connect(place.socket()).is_err());
    // It arrives after the signal: it is answered, or the connection is closed, but nothing hangs.
    let _ = idle.0.get_mut().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    if let Some(answer) = idle.next() {
        assert_eq!(answer["id"], 1, "{answer}");
        assert_eq!(idle.next(), None);
    }
    assert_eq!(waits.error(), (json!("w"), "not_ready".to_owned()));
    assert_eq!(waits.next(), None);
    assert_eq!(daemon.wait_exit(), Some(0));
    assert!(!place.socket().exists());
}

#[test]
fn a_client_that_asks_and_never_reads_is_given_up() {
    let place = small();
    place.write("long.md", "many words, all of them alike\n".repeat(100_000));
    let mut daemon = frugal(&place);
    let before = daemon.resident();
    let mut wire = Wire::to(&place);
    for id in 0..8 {
        wire.ask(id, "get", json!({"path": "long.md"}));
    }
    // It may write nothing more once the daemon has given it up, after 5 s in which nothing was taken.
    let stream = wire.0.get_mut();
    stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    eventually("the daemon closes the connection", || {
        stream
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n")
            .is_err_and(|error| matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset))
    });
    assert_eq!(daemon.holding("badger"), ["b.md"]);
    eventually("its answers are forgotten", || daemon.resident() < before + (64 << 20));
}

#[test]
fn a_search_over_a_limit_is_refused_at_once_and_others_go_on() {
    let place = small();
    place.write("p.md", "---\nstate: open\n---\n\n# P\n\na wordy puffin\n");
    let mut daemon = frugal(&place);
    let before = daemon.resident();
    let values: Vec<String> = (0..90_000).map(|n| format!("v{n}")).collect();
    let names: serde_json::Map<String, Value> =
        values.iter().take(60_000).map(|name| (name.clone(), json!("x"))).collect();
    let words = |operator: &str| format!("{operator}\"{}\" badger", "word ".repeat(100_000));
    let cases = [
        (json!({"query": "puffin", "filter": {"properties": {"state": values}}}), "terms", 64),
        (json!({"query": "puffin", "filter": {"properties": names}}), "terms", 64),
        (json!({"query": "puffin", "filter": {"path": "*".repeat(900_000)}}), "value_bytes", 4096),
        (json!({"query": words("")}), "bytes", 65_536),
        (json!({"query": format!("\"{}\"", "word ".repeat(10_000))}), "phrase_words", 256),
        (json!({"query": format!("-\"{}\" puffin", "word ".repeat(10_000))}), "phrase_words", 256),
        (json!({"query": "-ab ".repeat(10_000)}), "terms", 64),
        (json!({"query": "prop.state:open ".repeat(1_000)}), "terms", 64),
        (json!({"query": format!("puffin prop.state:\"{}\"", "a OR ".repeat(1_000))}), "terms", 64),
    ];
    let mut wires = [Wire::to(&place), Wire::to(&place)];
    for (params, what, limit) in cases {
        for wire in &mut wires {
            for id in 0..4 {
                let mut params = params.clone();
                params["fresh"] = json!(id % 2 == 1);
                wire.ask(id, "search", params);
            }
        }
        for wire in &mut wires {
            for _ in 0..4 {
                let answer = wire.next().expect("the connection ended");
                let data = &answer["error"]["data"];
                assert_eq!((&data["kind"], &data["what"]), (&json!("invalid_params"), &json!(what)), "{answer}");
                let given = data["given"].as_u64().unwrap();
                assert!(data["limit"] == limit && given > limit, "{answer}");
                assert!(data["hint"].as_str().unwrap().contains("`situated related --text -`"), "{answer}");
                assert!(answer["error"]["message"].as_str().unwrap().contains(&given.to_string()), "{answer}");
            }
        }
        assert_eq!(daemon.holding("puffin"), ["p.md"]);
    }
    // What stays within the limits is answered.
    let within: Vec<String> = (0..63).map(|n| format!("v{n}")).chain(["open".to_owned()]).collect();
    let filter = SearchFilter { properties: [("state".to_owned(), json!(within))].into(), ..SearchFilter::default() };
    let found = daemon.ask(&SearchRequest { filter: Some(filter), ..query("puffin") });
    assert_eq!(found.hits[0].path, "p.md");
    assert!(daemon.resident() < before + (256 << 20), "{before} bytes became {}", daemon.resident());
}
