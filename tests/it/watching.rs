//! Watches against a real daemon on real files: an editor's side pane.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use protocol::daemon::PingRequest;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, eventually};

/// A subscriber of its own.
struct Watcher {
    stream: BufReader<UnixStream>,
}

impl Watcher {
    fn new(place: &Place) -> Watcher {
        let stream = UnixStream::connect(place.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Watcher { stream: BufReader::new(stream) }
    }

    fn send(&mut self, id: u64, method: &str, params: &Value) {
        let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.stream.get_mut().write_all(line.as_bytes()).unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.stream.read_line(&mut line).unwrap(), 0, "the daemon hung up");
        serde_json::from_str(&line).unwrap()
    }

    fn subscribe(&mut self, params: &Value) -> Value {
        self.send(1, "subscribe", params);
        loop {
            let line = self.next();
            if line["id"] == 1 {
                return line["result"].clone();
            }
        }
    }

    /// The next results for which `holds`.
    fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let line = self.next();
            if line["params"]["kind"] == "results" && holds(&line["params"]) {
                return line["params"].clone();
            }
            assert!(start.elapsed() < PATIENCE, "not in time: {what}; the last was {line}");
        }
    }

    /// What comes before the answer to a `ping`, once nothing more can come of what was done before.
    fn quiet(&mut self) -> Vec<Value> {
        std::thread::sleep(Duration::from_millis(600));
        self.send(99, "ping", &json!({}));
        let mut lines = Vec::new();
        loop {
            let line = self.next();
            if line["id"] == 99 {
                return lines;
            }
            lines.push(line);
        }
    }
}

fn paths(results: &Value) -> Vec<&str> {
    results["hits"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect()
}

const HERON: &str = "# Heron\n\nThe quibbleheron nests in alders.\n";

#[test]
fn a_query_is_followed_through_a_notes_life() {
    let place = Place::with(&[("Heron.md", HERON), ("Other.md", "# Other\n\nNothing of the kind.\n")]);
    let mut daemon = place.start();
    let mut watcher = Watcher::new(&place);
    let watch = json!({"token": "q", "query": "quibbleheron", "mode": "lexical"});
    assert_eq!(watcher.subscribe(&json!({"watch": [watch]})), json!({"events": [], "watch": ["q"]}));
    let first = watcher.until("the first results", |_| true);
    assert_eq!((paths(&first), &first["came"]), (vec!["Heron.md"], &json!([first["hits"][0]["chunk"]])));

    place.write("Egret.md", "# Egret\n\nNot a quibbleheron at all, but near.\n");
    let came = watcher.until("a new note", |r| paths(r).contains(&"Egret.md"));
    assert_eq!(came["came"].as_array().unwrap().len(), 1);
    assert!(came["seq"].as_u64() > first["seq"].as_u64());

    place.write("Heron.md", "# Heron\n\nThe quibbleheron nests in old alders now.\n");
    let changed = watcher.until("a changed note", |r| r["changed"] != json!([]));
    assert_eq!((&changed["came"], &changed["went"]), (&json!([]), &json!([])));
    assert!(changed.to_string().contains("old alders now"));

    std::fs::rename(place.vault.join("Egret.md"), place.vault.join("Little egret.md")).unwrap();
    watcher.until("a moved note", |r| paths(r).contains(&"Little egret.md") && !paths(r).contains(&"Egret.md"));
    std::fs::remove_file(place.vault.join("Little egret.md")).unwrap();
    let went = watcher.until("a removed note", |r| paths(r) == ["Heron.md"]);
    assert_eq!(went["went"].as_array().unwrap().len(), 1);

    // What does not show is not told.
    for round in 0..5 {
        place.write("Other.md", format!("# Other\n\nStill nothing of the kind, round {round}.\n"));
        daemon.sync();
    }
    assert_eq!(watcher.quiet(), Vec::<Value>::new());
}

#[test]
fn a_note_is_followed_with_its_decisions_and_neighbours() {
    let place = Place::with(&[
        ("Heron.md", HERON),
        ("Stork.md", "# Stork\n\nStorks nest on chimneys.\n"),
        ("Sourdough.md", "# Sourdough\n\nFlour, water, salt and patience.\n"),
    ]);
    let _daemon = place.start();
    let mut watcher = Watcher::new(&place);
    // As an editor knows it: by its absolute path; and one that is not there yet.
    let note = place.vault.join("Heron.md");
    watcher.subscribe(&json!({"watch": [
        {"token": "here", "path": note, "group": "note", "limit": 5},
        {"token": "soon", "path": "Egret.md", "group": "note", "limit": 5},
    ]}));
    let first = watcher.until("the first", |r| r["token"] == "here");
    assert!(paths(&first).contains(&"Stork.md") && !paths(&first).contains(&"Heron.md"));
    assert_eq!(first["decision"]["path"], "Heron.md");
    let missing = watcher.until("that it is missing", |r| r["token"] == "soon");
    assert_eq!(missing["error"]["data"]["kind"], "not_found");

    place.write("Heron.md", "# Heron\n\nThe quibbleheron nests in alders, beside storks.\n");
    let decided = watcher.until("a decision", |r| r["token"] == "here" && r["decision"]["reason"] == "BodyChanged");
    assert!(decided["decision"]["seq"].as_u64() > first["decision"]["seq"].as_u64());

    place.write("Egret.md", "# Egret\n\nEgrets and the quibbleheron nest in alders.\n");
    let (mut here, mut soon) = (false, false);
    while !(here && soon) {
        let results = watcher.until("the new neighbour", |_| true);
        here |= results["token"] == "here" && paths(&results).contains(&"Egret.md");
        soon |= results["token"] == "soon" && results.get("error").is_none() && paths(&results).contains(&"Heron.md");
    }
    std::fs::remove_file(place.vault.join("Egret.md")).unwrap();
    watcher.until("that it is gone", |r| r["token"] == "soon" && r["error"]["data"]["kind"] == "not_found");
}

#[test]
fn every_lone_save_is_an_index_event() {
    let place = Place::with(&[("Heron.md", HERON)]);
    let _daemon = place.start();
    let mut watcher = Watcher::new(&place);
    watcher.subscribe(&json!({"events": ["index"]}));
    let mut last = 0;
    for round in 0..3 {
        place.write("Heron.md", format!("# Heron\n\nRound {round} of the quibbleheron.\n"));
        let line = watcher.next();
        assert_eq!(line["params"]["kind"], "index");
        let seq = line["params"]["seq"].as_u64().unwrap();
        assert!(seq > last, "{line}");
        last = seq;
    }
}

#[test]
fn a_storm_of_saves_is_told_as_a_few_results_and_ends_with_the_last() {
    let place = Place::with(&[("Heron.md", HERON)]);
    let mut daemon = place.start();
    let mut watcher = Watcher::new(&place);
    watcher.subscribe(&json!({"watch": [{"query": "quibbleheron", "mode": "lexical", "limit": 50}]}));
    watcher.until("the first results", |_| true);
    let start = Instant::now();
    for round in 0..40 {
        place.write("Heron.md", format!("# Heron\n\nThe quibbleheron, round {round}.\n"));
        daemon.sync();
    }
    let most = start.elapsed().as_millis() / 250 + 2;
    let mut told = 1;
    while !watcher.until("the last round", |_| true).to_string().contains("round 39.") {
        told += 1;
    }
    assert!(told <= most, "{told} results in {:?}", start.elapsed());
}

#[test]
fn watchers_that_never_read_harm_nobody_and_are_given_up() {
    let place = Place::with_sample();
    let mut daemon = place.start();
    // Results of hundreds of kilobytes, which the socket's buffer does not hold.
    let watch = json!({"query": "the", "limit": 200, "per_note": 200, "window_chars": 2000, "merge": false});
    let watches = vec![watch; 8];
    let mut mute: Vec<Watcher> = (0..10).map(|_| Watcher::new(&place)).collect();
    for watcher in &mut mute {
        watcher.send(1, "subscribe", &json!({"watch": watches}));
    }
    let before = daemon.resident();
    let start = Instant::now();
    for round in 0..10 {
        place.write("Heron.md", format!("# Heron\n\nThe quibbleheron, round {round}.\n"));
        daemon.sync();
        assert_eq!(daemon.search("quibbleheron")[0], "Heron.md");
    }
    assert!(start.elapsed() < PATIENCE / 2, "saves and queries go on: {:?}", start.elapsed());
    // Ten times eight slots of a mebibyte at most, and what looks take.
    let after = daemon.resident();
    assert!(after < before + (200 << 20), "{before} → {after}");
    // Writing to a connection that the daemon has closed fails.
    eventually("the connections are closed", || {
        mute.iter_mut().all(|watcher| watcher.stream.get_mut().write_all(b"\n").is_err())
    });
    daemon.ask(&PingRequest::default());
}
