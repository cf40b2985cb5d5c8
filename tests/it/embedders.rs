//! Embedders that are asked over HTTP: saves never wait for them, what they owe comes later, and one takes over from
//! another at once. A real daemon, a real HTTP server.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Daemon, PATIENCE, Place, eventually};
use crate::vectors::Vectors;

const NOTES: [(&str, &str); 3] = [
    ("Tides.md", "# Tides\n\nThe harbour floods when spring tides meet westerly storms.\n"),
    ("Bread.md", "# Bread\n\nSourdough wants patience, rye flour and a warm kitchen corner.\n"),
    ("Bees.md", "# Bees\n\nThe colony swarmed twice; the second queen settled beneath the apple tree.\n"),
];

/// What the built-in model finds at once, and no server here could.
const MEANT: &str = "baking";

fn embedder(daemon: &mut Daemon) -> String {
    daemon.call("status", json!({}))["embedder"].as_str().unwrap().to_owned()
}

/// Waits until this embedder serves and nothing is under way.
fn wait_served_by(daemon: &mut Daemon, name: &str) -> Value {
    daemon.wait_status(&format!("served by {name}"), |status| {
        let embedding = &status["embedding"];
        let settled = embedding["waiting"] == 0 && embedding["next"].is_null() && status["state"] == "idle";
        settled && status["embedder"].as_str().is_some_and(|embedder| embedder.contains(name))
    })
}

/// The same, with queries all the while: whoever makes the vectors, what is asked for is found.
fn wait_served_by_throughout(daemon: &mut Daemon, name: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = dense(daemon, "sourdough patience kitchen");
        assert_eq!((paths(&found)[0], &found["warnings"]), ("Bread.md", &json!([])));
        let status = daemon.call("status", json!({}));
        if status["embedder"].as_str().is_some_and(|embedder| embedder.contains(name)) {
            return;
        }
        assert!(Instant::now() < until, "not served by {name} in time: {}", daemon.log());
    }
}

fn dense(daemon: &mut Daemon, query: &str) -> Value {
    daemon.call("search", json!({"query": query, "mode": "dense", "limit": 10}))
}

fn paths(found: &Value) -> Vec<&str> {
    found["hits"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect()
}

fn job(daemon: &mut Daemon, kind: &str) -> Value {
    let jobs = daemon.call("jobs", json!({}));
    jobs["jobs"].as_array().unwrap().iter().find(|job| job["kind"] == kind).cloned().unwrap_or(Value::Null)
}

#[test]
fn the_first_index_is_searched_at_once_and_taken_over_later() {
    let server = Vectors::start(24);
    server.latency(Duration::from_millis(200));
    let place = Place::with(&NOTES);
    place.configure(&server.config("openai", "m", "document_prefix = \"passage: \"\nquery_prefix = \"query: \""));
    let mut daemon = place.spawn(&["run"]);
    // The built-in model serves from the first moment.
    daemon.wait_status("indexed", |status| status["vaults"][0]["notes"] == 3);
    assert_eq!(daemon.search("sourdough")[0], "Bread.md");
    wait_served_by(&mut daemon, "openai m 24");
    let texts = server.texts();
    assert!(texts.len() == 3 && texts.iter().all(|text| text.starts_with("passage: ")), "{texts:?}");
    let found = dense(&mut daemon, "apple tree queen");
    assert_eq!((paths(&found)[0], &found["warnings"]), ("Bees.md", &json!([])));
    assert_eq!(server.texts().last().unwrap(), "query: apple tree queen");
    // The same query again asks nobody.
    dense(&mut daemon, "apple tree queen");
    assert_eq!(server.texts().len(), 4);
    let embed = job(&mut daemon, "embed");
    assert_eq!(
        (&embed["state"], &embed["done"], &embed["estimate"]["micro_dollars"]),
        (&json!("done"), &json!(3), &json!(0))
    );
    // A restart asks for nothing but the query, and goes on with the same vectors.
    daemon.stop();
    let mut daemon = place.start();
    assert_eq!(embedder(&mut daemon), "openai m 24 q=\"query: \" d=\"passage: \"");
    assert_eq!(paths(&dense(&mut daemon, "westerly storms"))[0], "Tides.md");
    assert_eq!(server.texts().len(), 5);
}

#[test]
fn a_save_is_found_by_its_words_while_the_server_is_down() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    place.configure(&server.config("ollama", "m", "timeout = \"2s\""));
    let mut daemon = place.start();
    wait_served_by(&mut daemon, "ollama m 24");
    server.down(true);
    let saved = Instant::now();
    place.write("Glass.md", "# Glass\n\nAnnealing relieves stresses in vessels blown from molten quartz.\n");
    daemon.wait_holding("annealing", &["Glass.md"]);
    assert!(saved.elapsed() < PATIENCE / 4, "a save waits for nobody");
    let status = daemon.wait_status("waiting", |status| status["embedding"]["waiting"] == 1);
    assert_eq!(status["embedder"], "ollama m 24");
    // A query does without, and says so.
    let found = daemon.call("search", json!({"query": "molten quartz"}));
    assert_eq!(paths(&found)[0], "Glass.md");
    let warning = found["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("words alone answered: "), "{warning}");
    assert!(!daemon.log().contains("molten") && !warning.contains("molten"), "no query and no note is repeated");
    server.down(false);
    daemon.call("resume", json!({}));
    wait_served_by(&mut daemon, "ollama m 24");
    eventually("found by its vector", || {
        let found = dense(&mut daemon, "stresses vessels quartz");
        paths(&found).first() == Some(&"Glass.md")
    });
    // What is owed at a kill is found missing again at the start.
    server.down(true);
    place.write("Paper.md", "# Paper\n\nWashi pulp lies drying upon cedar boards.\n");
    daemon.wait_holding("washi", &["Paper.md"]);
    daemon.kill();
    server.down(false);
    let mut daemon = place.start();
    wait_served_by(&mut daemon, "ollama m 24");
    eventually("found after the restart", || {
        let found = dense(&mut daemon, "cedar boards pulp");
        paths(&found).first() == Some(&"Paper.md")
    });
}

#[test]
fn one_embedder_takes_over_from_another_and_back_whatever_dies() {
    let server = Vectors::start(48);
    let place = Place::new();
    for n in 0..300 {
        let text = format!("# Note {n}\n\nWords{n} about subject{} and nothing else whatever{n}.\n", n % 7);
        place.write(&format!("n{n}.md"), text);
    }
    place.write("Bread.md", NOTES[1].1);
    // Or the first reload would need a restart: only a daemon that has a provider when it starts may open connections.
    place.configure("[host]\nsandbox = \"off\"\n");
    let mut daemon = place.start();
    assert_eq!(embedder(&mut daemon), "builtin static-v1/2");
    assert_eq!(paths(&dense(&mut daemon, MEANT))[0], "Bread.md");
    // While the new one is filled the old one serves; then the process dies.
    server.latency(Duration::from_millis(150));
    place.configure(&server.config("openai", "m", "concurrency = 1"));
    daemon.call("reload", json!({}));
    daemon.wait_status("begun", |status| status["embedding"]["done"].as_u64() > Some(40));
    assert_eq!(paths(&dense(&mut daemon, MEANT))[0], "Bread.md", "the old embedder answers");
    let status = daemon.call("status", json!({}));
    assert_eq!(
        (&status["embedder"], &status["embedding"]["next"]),
        (&json!("builtin static-v1/2"), &json!("openai m 48"))
    );
    assert_eq!(job(&mut daemon, "embed")["state"], "running");
    daemon.kill();
    let before = server.texts().len();
    assert!(before < 301, "it was to be killed before it was done: {before}");
    server.latency(Duration::ZERO);
    let mut daemon = place.start();
    place.write("late.md", "# Late\n\nSaved while another embedder takes over: periwinkle.\n");
    wait_served_by(&mut daemon, "openai m 48");
    let texts = server.texts();
    let again = texts.len() - texts.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert!(again <= 64, "a kill loses a batch, not {again}");
    assert_eq!(paths(&dense(&mut daemon, "sourdough patience kitchen"))[0], "Bread.md");
    eventually("the late note has its vector", || paths(&dense(&mut daemon, "periwinkle saved while"))[0] == "late.md");
    // Back at once, from the cache; then to the other once more, and nothing is asked again.
    let asked = server.texts().len();
    place.configure("");
    daemon.call("reload", json!({}));
    wait_served_by_throughout(&mut daemon, "builtin static-v1/2");
    wait_served_by(&mut daemon, "builtin static-v1/2");
    assert_eq!(paths(&dense(&mut daemon, MEANT))[0], "Bread.md");
    place.configure(&server.config("openai", "m", ""));
    daemon.call("reload", json!({}));
    wait_served_by_throughout(&mut daemon, "openai m 48");
    wait_served_by(&mut daemon, "openai m 48");
    assert_eq!(paths(&dense(&mut daemon, "sourdough patience kitchen"))[0], "Bread.md");
    let more: Vec<String> = server.texts().split_off(asked);
    assert!(more.is_empty() || more.iter().all(|text| text.starts_with("sourdough")), "{more:?}");
}

#[test]
fn wrong_dimensions_and_other_refusals_are_told_and_the_old_one_serves() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    place.configure(&server.config("openai", "m", "dimensions = 32"));
    let mut daemon = place.spawn(&["run"]);
    let told = |status: &Value, what: &str| status["problems"].to_string().contains(what);
    let status = daemon.wait_status("told", |status| told(status, "set `embed.dimensions` to 24"));
    assert_eq!(status["embedder"], "builtin static-v1/2");
    assert_eq!(paths(&dense(&mut daemon, MEANT))[0], "Bread.md");
    place.configure(&server.config("openai", "m", "dimensions = 24"));
    daemon.call("reload", json!({}));
    wait_served_by(&mut daemon, "openai m 24");
    assert_eq!(server.asked().last().unwrap().body["dimensions"], 24);
    // The model behind the address becomes another: nothing of it is taken.
    server.dimensions(16);
    place.write("Glass.md", "# Glass\n\nAnnealing relieves stresses.\n");
    daemon.wait_status("told", |status| told(status, "gives vectors of 16 dimensions, not of 24"));
    daemon.wait_holding("annealing", &["Glass.md"]);
    server.dimensions(24);
    daemon.call("resume", json!({}));
    wait_served_by(&mut daemon, "openai m 24");
    // A server that takes no text so long gets half of it.
    let too_large = "{\"error\":{\"code\":500,\"message\":\"input is too large to process\"}}";
    server.refuse(Some((500, too_large)));
    place.write("Long.md", "# Long\n\nPeriwinkle blossoms beneath hedges.\n");
    daemon.wait_holding("periwinkle", &["Long.md"]);
    wait_served_by(&mut daemon, "openai m 24");
    let lengths: Vec<usize> = server.texts().iter().rev().take(3).map(String::len).collect();
    assert!(lengths.windows(2).all(|pair| pair[0] < pair[1]), "each was shorter than the one before: {lengths:?}");
}

#[test]
fn a_slow_query_is_answered_by_words_and_remembered_for_the_next() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    place.configure(&server.config("openai", "m", "query_timeout = \"150ms\""));
    let mut daemon = place.start();
    wait_served_by(&mut daemon, "openai m 24");
    server.latency(Duration::from_millis(1000));
    let found = daemon.call("search", json!({"query": "rye flour"}));
    assert_eq!(paths(&found)[0], "Bread.md");
    assert!(
        found["warnings"][0].as_str().unwrap().contains("no vector within 0.1 s")
            || found["warnings"][0].as_str().unwrap().contains("within 0.2 s"),
        "{found}"
    );
    // It came too late for that query and is there for the next one like it.
    eventually("the vector came", || daemon.call("search", json!({"query": "rye flour"}))["warnings"] == json!([]));
    let related = daemon.try_call("related", json!({"text": "something never asked"})).unwrap_err();
    assert!(related["message"].as_str().unwrap().contains("no vector within"), "{related}");
}

#[test]
fn a_note_goes_to_a_contextual_model_as_one_document() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    let section = |name: &str| format!("## {name}\n\n{}\n\n", format!("{name} speaks of {name} matters. ").repeat(40));
    place.write("Long.md", format!("# Long\n\n{}{}{}", section("Falcon"), section("Heron"), section("Osprey")));
    let more = "key_command = \"echo k\"\n[chunk]\ntarget = 120\nmin = 20\nmax = 200\n";
    place.configure(&server.config("voyage", "voyage-context-4", more));
    let mut daemon = place.start();
    wait_served_by(&mut daemon, "voyage voyage-context-4 24");
    let documents = |server: &Vectors| -> Vec<Vec<String>> {
        let of = |asked: &crate::vectors::Asked| -> Vec<Vec<String>> {
            assert_eq!(asked.path, "/v1/contextualizedembeddings");
            serde_json::from_value(asked.body["inputs"].clone()).unwrap()
        };
        server.asked().iter().filter(|asked| asked.body["input_type"] == "document").flat_map(of).collect()
    };
    let all = documents(&server);
    let long: Vec<_> = all.iter().filter(|document| document.iter().any(|text| text.contains("Heron"))).collect();
    assert!(long.len() == 1 && long[0].len() >= 3, "{long:?}");
    let texts = long[0].concat();
    assert_eq!(texts.matches("Heron speaks").count(), 40, "nothing is repeated and nothing left out");
    assert!(!texts.contains("From") && !texts.contains("Note \u{201c}"), "no context stands before a chunk: {texts}");
    // One word of one section changes, and the note is seen anew as a whole; no other note is.
    let before = documents(&server).len();
    place.write("Long.md", format!("# Long\n\n{}{}{}", section("Falcon"), section("Heron"), section("Kestrel")));
    daemon.wait_holding("kestrel", &["Long.md"]);
    wait_served_by(&mut daemon, "voyage-context-4");
    let fresh = documents(&server).split_off(before);
    assert!(fresh.len() == 1 && fresh[0].iter().any(|text| text.contains("Falcon")), "{fresh:?}");
    assert_eq!(paths(&dense(&mut daemon, "kestrel speaks matters"))[0], "Long.md");
}

#[test]
fn what_it_costs_is_in_the_ledger_and_kept_within_the_budget() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    let priced = |budget: &str| server.config("openai", "m", &format!("price_per_mtok = 100.0\n[budget]\n{budget}"));
    place.configure(&priced("rebuild = 0.001"));
    let mut daemon = place.spawn(&["run"]);
    let status = daemon.wait_status("refused", |status| status["problems"].to_string().contains("budget.rebuild"));
    assert_eq!((&status["embedder"], server.texts().len()), (&json!("builtin static-v1/2"), 0));
    let refused = job(&mut daemon, "embed");
    assert_eq!(refused["state"], "failed");
    assert!(refused["problem"].as_str().unwrap().contains("it would cost about"), "{refused}");
    place.configure(&priced("rebuild = 5.0"));
    daemon.call("reload", json!({}));
    wait_served_by(&mut daemon, "openai m 24");
    let cost = daemon.call("cost", json!({}));
    let spent = cost["today"]["micro_dollars"].as_u64().unwrap();
    assert!(spent > 0, "{cost}");
    let estimated = job(&mut daemon, "embed")["estimate"]["micro_dollars"].as_u64().unwrap();
    assert!(spent <= estimated, "{spent} of {estimated}");
    dense(&mut daemon, "rye flour");
    eventually("the query is written down", || {
        daemon.call("cost", json!({}))["today"]["micro_dollars"].as_u64().unwrap() > spent
    });
    // With nothing left for the day a save is found by its words.
    place.configure(&priced("day = 0.0"));
    daemon.call("reload", json!({}));
    place.write("Glass.md", "# Glass\n\nAnnealing relieves stresses.\n");
    daemon.wait_holding("annealing", &["Glass.md"]);
    daemon.wait_status("held", |status| status["problems"].to_string().contains("budget.day"));
}
