//! Watches against a real daemon on real files: an editor's side pane.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use protocol::daemon::PingRequest;
use protocol::decision::{ExplainRequest, Reason};
use protocol::envelope::Id;
use protocol::events::{Event, Notice, Results, SubscribeRequest, Subscribed, Watch, Watched};
use protocol::search::{Group, Include, RelatedRequest, SearchRequest};
use protocol::table::Call;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::requests::{by_words, near, paths, query};
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

    fn send<C: Call>(&mut self, id: u64, call: &C) {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": C::METHOD.name(), "params": call});
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.stream.read_line(&mut line).unwrap(), 0, "the daemon hung up");
        serde_json::from_str(&line).unwrap()
    }

    fn subscribe(&mut self, request: &SubscribeRequest) -> Subscribed {
        self.send(1, request);
        loop {
            let line = self.next();
            if line["id"] == 1 {
                return Subscribed::deserialize(&line["result"]).unwrap_or_else(|error| panic!("{error}: {line}"));
            }
        }
    }

    fn watch(&mut self, watches: Vec<Watch>) -> Subscribed {
        self.subscribe(&SubscribeRequest { watch: Some(watches), ..SubscribeRequest::default() })
    }

    fn event(&mut self) -> Event {
        let line = self.next();
        Event::deserialize(&line["params"]).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The next results for which `holds`.
    fn until(&mut self, what: &str, holds: impl Fn(&Results) -> bool) -> Results {
        let start = Instant::now();
        loop {
            let event = self.event();
            assert!(start.elapsed() < PATIENCE, "not in time: {what}; the last was {event:?}");
            if let Event::Results(results) = event
                && holds(&results)
            {
                return *results;
            }
        }
    }

    /// What comes before the answer to a `ping`, once nothing more can come of what was done before.
    fn quiet(&mut self) -> Vec<Value> {
        std::thread::sleep(Duration::from_millis(600));
        self.send(99, &PingRequest::default());
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

fn token(name: &str) -> Id {
    Id::Text(name.to_owned())
}

fn search(name: Option<&str>, request: SearchRequest) -> Watch {
    Watch { token: name.map(token), shows: Watched::Search(Box::new(request)) }
}

/// Notes that lie near one, five of them.
fn neighbours(name: &str, path: &str) -> Watch {
    let request = RelatedRequest { group: Group::Note, limit: Some(5), ..near(path) };
    Watch { token: Some(token(name)), shows: Watched::Related(Box::new(request)) }
}

/// Whether there is no such note.
fn is_missing(results: &Results) -> bool {
    results.error.as_ref().is_some_and(|error| error["data"]["kind"] == "not_found")
}

const HERON: &str = "# Heron\n\nThe quibbleheron nests in alders.\n";

#[test]
fn a_query_is_followed_through_a_notes_life() {
    let place = Place::with(&[("Heron.md", HERON), ("Other.md", "# Other\n\nNothing of the kind.\n")]);
    let mut daemon = place.start();
    let mut watcher = Watcher::new(&place);
    let subscribed = watcher.watch(vec![search(Some("q"), by_words("quibbleheron"))]);
    assert_eq!(subscribed, Subscribed { events: Vec::new(), watch: vec![token("q")] });
    let first = watcher.until("the first results", |_| true);
    assert_eq!(paths(&first.hits), ["Heron.md"]);
    assert_eq!(first.came, [first.hits[0].chunk.as_str()]);

    place.write("Egret.md", "# Egret\n\nNot a quibbleheron at all, but near.\n");
    let came = watcher.until("a new note", |r| paths(&r.hits).contains(&"Egret.md"));
    assert_eq!(came.came.len(), 1);
    assert!(came.seq > first.seq);

    place.write("Heron.md", "# Heron\n\nThe quibbleheron nests in old alders now.\n");
    let changed = watcher.until("a changed note", |r| !r.changed.is_empty());
    assert!(changed.came.is_empty() && changed.went.is_empty(), "{changed:?}");
    assert!(changed.hits.iter().any(|hit| hit.snippet.contains("old alders now")), "{changed:?}");

    std::fs::rename(place.vault.join("Egret.md"), place.vault.join("Little egret.md")).unwrap();
    watcher.until("a moved note", |r| {
        paths(&r.hits).contains(&"Little egret.md") && !paths(&r.hits).contains(&"Egret.md")
    });
    let before = daemon.status().vaults[0].seq;
    std::fs::remove_file(place.vault.join("Little egret.md")).unwrap();
    let went = watcher.until("a removed note", |r| paths(&r.hits) == ["Heron.md"]);
    assert_eq!(went.went.len(), 1);
    let removed = daemon.ask(&ExplainRequest { path: "Little egret.md".to_owned(), vault: None }).decisions;
    assert_eq!((removed[0].reason, removed[0].seq), (Reason::NoteRemoved, before + 1), "the snapshot without it");

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
    watcher.watch(vec![neighbours("here", note.to_str().unwrap()), neighbours("soon", "Egret.md")]);
    let (here, soon) = (token("here"), token("soon"));
    let first = watcher.until("the first", |r| r.token == here);
    assert!(paths(&first.hits).contains(&"Stork.md") && !paths(&first.hits).contains(&"Heron.md"));
    let first = first.decision.unwrap();
    assert_eq!(first.path, "Heron.md");
    let missing = watcher.until("that it is missing", |r| r.token == soon);
    assert!(is_missing(&missing), "{missing:?}");

    place.write("Heron.md", "# Heron\n\nThe quibbleheron nests in alders, beside storks.\n");
    let is_edit = |r: &Results| r.decision.as_ref().is_some_and(|decision| decision.reason == Reason::BodyChanged);
    let decided = watcher.until("a decision", |r| r.token == here && is_edit(r));
    assert!(decided.decision.unwrap().seq > first.seq);

    place.write("Egret.md", "# Egret\n\nEgrets and the quibbleheron nest in alders.\n");
    let (mut is_beside, mut is_there) = (false, false);
    while !(is_beside && is_there) {
        let results = watcher.until("the new neighbour", |_| true);
        is_beside |= results.token == here && paths(&results.hits).contains(&"Egret.md");
        is_there |= results.token == soon && results.error.is_none() && paths(&results.hits).contains(&"Heron.md");
    }
    std::fs::remove_file(place.vault.join("Egret.md")).unwrap();
    watcher.until("that it is gone", |r| r.token == soon && is_missing(r));
}

#[test]
fn every_lone_save_is_an_index_event() {
    let place = Place::with(&[("Heron.md", HERON)]);
    let _daemon = place.start();
    let mut watcher = Watcher::new(&place);
    watcher.subscribe(&SubscribeRequest { events: Some(vec!["index".to_owned()]), ..SubscribeRequest::default() });
    let mut last = 0;
    for round in 0..3 {
        place.write("Heron.md", format!("# Heron\n\nRound {round} of the quibbleheron.\n"));
        let event = watcher.event();
        let Event::Notice(Notice::Index { seq, .. }) = event else { panic!("{event:?}") };
        assert!(seq > last, "{seq} after {last}");
        last = seq;
    }
}

#[test]
fn a_storm_of_saves_is_told_as_a_few_results_and_ends_with_the_last() {
    let place = Place::with(&[("Heron.md", HERON)]);
    let mut daemon = place.start();
    let mut watcher = Watcher::new(&place);
    watcher.watch(vec![search(None, SearchRequest { limit: Some(50), ..by_words("quibbleheron") })]);
    watcher.until("the first results", |_| true);
    let start = Instant::now();
    for round in 0..40 {
        place.write("Heron.md", format!("# Heron\n\nThe quibbleheron, round {round}.\n"));
        daemon.sync();
    }
    let most = start.elapsed().as_millis() / 250 + 2;
    let mut told = 1;
    let is_last = |results: &Results| results.hits.iter().any(|hit| hit.snippet.contains("round 39."));
    while !is_last(&watcher.until("the last round", |_| true)) {
        told += 1;
    }
    assert!(told <= most, "{told} results in {:?}", start.elapsed());
}

#[test]
fn watchers_that_never_read_harm_nobody_and_are_given_up() {
    let place = Place::with_sample();
    let mut daemon = place.start();
    // Results of hundreds of kilobytes, which the socket's buffer does not hold.
    let (limit, per_note, window_chars) = (Some(200), Some(200), Some(2000));
    let include = Include::TEXTS.to_vec();
    let request = SearchRequest { limit, per_note, window_chars, include, merge: Some(false), ..query("the") };
    let watch = Some(vec![search(None, request); 8]);
    let subscribe = SubscribeRequest { watch, ..SubscribeRequest::default() };
    let mut mute: Vec<Watcher> = (0..10).map(|_| Watcher::new(&place)).collect();
    for watcher in &mut mute {
        watcher.send(1, &subscribe);
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
