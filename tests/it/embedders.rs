//! Embedders that are asked over HTTP: saves never wait for them, what they owe comes later, and one takes over from
//! another at once. A real daemon, a real HTTP server.

use std::time::{Duration, Instant};

use protocol::hit::Hit;
use protocol::jobs::{Job, JobKind, JobState};
use protocol::search::{Contextual, Mode, RelatedRequest, SearchAnswer, SearchRequest};
use protocol::status::{Enforcement, RunState, Status};

use crate::requests::{paths, query};
use crate::support::{Daemon, PATIENCE, Place, eventually};
use crate::tables::{Form, Kind, StaticTable};
use crate::vectors::Vectors;

const NOTES: [(&str, &str); 3] = [
    ("Tides.md", "# Tides\n\nThe harbour floods when spring tides meet westerly storms.\n"),
    ("Bread.md", "# Bread\n\nSourdough wants patience, rye flour and a warm kitchen corner.\n"),
    ("Bees.md", "# Bees\n\nThe colony swarmed twice; the second queen settled beneath the apple tree.\n"),
];

/// What the built-in model finds at once, and no server here could.
const MEANT: &str = "baking";

/// Waits until this embedder serves and nothing is under way.
fn wait_served_by(daemon: &mut Daemon, name: &str) {
    daemon.wait_for(&format!("served by {name}"), |status| {
        let embedding = &status.embedding;
        let settled = embedding.waiting == 0 && embedding.next.is_none() && status.state == RunState::Idle;
        settled && status.embedder.contains(name)
    });
}

/// The same, with queries all the while: whoever makes the vectors, what is asked for is found.
fn wait_served_by_throughout(daemon: &mut Daemon, name: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = dense(daemon, "sourdough patience kitchen");
        assert_eq!((paths(&found.hits)[0], found.warnings.concat().as_str()), ("Bread.md", ""));
        if daemon.status().embedder.contains(name) {
            return;
        }
        assert!(Instant::now() < until, "not served by {name} in time: {}", daemon.log());
    }
}

fn dense(daemon: &mut Daemon, text: &str) -> SearchAnswer {
    daemon.ask(&SearchRequest { mode: Some(Mode::Dense), limit: Some(10), ..query(text) })
}

/// The note that lies nearest to a query.
fn nearest(daemon: &mut Daemon, text: &str) -> String {
    dense(daemon, text).hits.swap_remove(0).path
}

/// The job that fills an embedder.
fn filling(daemon: &mut Daemon) -> Job {
    daemon.newest(JobKind::Embed).expect("no job fills an embedder")
}

/// What it is expected to cost, in micro-dollars.
fn estimated(job: &Job) -> u64 {
    job.estimate.as_ref().unwrap().micro_dollars.unwrap()
}

fn tells(status: &Status, what: &str) -> bool {
    status.problems.iter().any(|problem| problem.contains(what))
}

#[test]
fn the_first_index_is_searched_at_once_and_taken_over_later() {
    let server = Vectors::start(24);
    server.latency(Duration::from_millis(200));
    let place = Place::with(&NOTES);
    place.configure(&server.config("openai", "m", "document_prefix = \"passage: \"\nquery_prefix = \"query: \""));
    let mut daemon = place.spawn(&["run"]);
    // The built-in model serves from the first moment.
    daemon.wait_vault("indexed", |vault| vault.notes == 3);
    assert_eq!(daemon.search("sourdough")[0], "Bread.md");
    wait_served_by(&mut daemon, "openai m 24");
    let texts = server.texts();
    assert!(texts.len() == 3 && texts.iter().all(|text| text.starts_with("passage: ")), "{texts:?}");
    let found = dense(&mut daemon, "apple tree queen");
    assert_eq!((paths(&found.hits)[0], found.warnings.concat().as_str()), ("Bees.md", ""));
    assert_eq!(server.texts().last().unwrap(), "query: apple tree queen");
    // The same query again asks nobody.
    dense(&mut daemon, "apple tree queen");
    assert_eq!(server.texts().len(), 4);
    let filled = filling(&mut daemon);
    assert_eq!((filled.state, filled.done, estimated(&filled)), (JobState::Done, 3, 0));
    // A restart asks for nothing but the query, and goes on with the same vectors.
    daemon.stop();
    let mut daemon = place.start();
    assert_eq!(daemon.status().embedder, "openai m 24 q=\"query: \" d=\"passage: \"");
    assert_eq!(nearest(&mut daemon, "westerly storms"), "Tides.md");
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
    let status = daemon.wait_for("waiting", |status| status.embedding.waiting == 1);
    assert_eq!(status.embedder, "ollama m 24");
    // A query does without, and says so.
    let found = daemon.ask(&query("molten quartz"));
    assert_eq!(paths(&found.hits)[0], "Glass.md");
    let warning = &found.warnings[0];
    assert!(warning.starts_with("words alone answered: "), "{warning}");
    assert!(!daemon.log().contains("molten") && !warning.contains("molten"), "no query and no note is repeated");
    server.down(false);
    daemon.resume();
    wait_served_by(&mut daemon, "ollama m 24");
    eventually("found by its vector", || {
        let found = dense(&mut daemon, "stresses vessels quartz");
        paths(&found.hits).first() == Some(&"Glass.md")
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
        paths(&found.hits).first() == Some(&"Paper.md")
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
    assert_eq!(daemon.status().embedder, "builtin static-v1/2");
    assert_eq!(nearest(&mut daemon, MEANT), "Bread.md");
    // While the new one is filled the old one serves; then the process dies.
    server.latency(Duration::from_millis(150));
    place.configure(&server.config("openai", "m", "concurrency = 1"));
    daemon.reload();
    daemon.wait_for("begun", |status| status.embedding.done > 40);
    assert_eq!(nearest(&mut daemon, MEANT), "Bread.md", "the old embedder answers");
    let status = daemon.status();
    assert_eq!(
        (status.embedder.as_str(), status.embedding.next.as_deref()),
        ("builtin static-v1/2", Some("openai m 48"))
    );
    assert_eq!(filling(&mut daemon).state, JobState::Running);
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
    assert_eq!(nearest(&mut daemon, "sourdough patience kitchen"), "Bread.md");
    eventually("the late note has its vector", || nearest(&mut daemon, "periwinkle saved while") == "late.md");
    // Back at once, from the cache; then to the other once more, and nothing is asked again.
    let asked = server.texts().len();
    place.configure("");
    daemon.reload();
    wait_served_by_throughout(&mut daemon, "builtin static-v1/2");
    wait_served_by(&mut daemon, "builtin static-v1/2");
    assert_eq!(nearest(&mut daemon, MEANT), "Bread.md");
    place.configure(&server.config("openai", "m", ""));
    daemon.reload();
    wait_served_by_throughout(&mut daemon, "openai m 48");
    wait_served_by(&mut daemon, "openai m 48");
    assert_eq!(nearest(&mut daemon, "sourdough patience kitchen"), "Bread.md");
    let more: Vec<String> = server.texts().split_off(asked);
    assert!(more.is_empty() || more.iter().all(|text| text.starts_with("sourdough")), "{more:?}");
}

#[test]
fn other_dimensions_and_none_are_taken_over_as_another_embedder_is() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    place.configure(&server.config("openai", "m", "dimensions = 24"));
    let mut daemon = place.spawn(&["run"]);
    wait_served_by(&mut daemon, "openai m 24");
    for (more, dimensions) in [("dimensions = 16", 16), ("", 32)] {
        server.dimensions(dimensions);
        place.configure(&server.config("openai", "m", more));
        daemon.reload();
        wait_served_by(&mut daemon, &format!("openai m {dimensions}"));
        assert_eq!(dense(&mut daemon, "sourdough patience kitchen").warnings, [""; 0]);
    }
}

#[test]
fn wrong_dimensions_and_other_refusals_are_told_and_the_old_one_serves() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    place.configure(&server.config("openai", "m", "dimensions = 32"));
    let mut daemon = place.spawn(&["run"]);
    let status = daemon.wait_for("told", |status| tells(status, "set `embed.dimensions` to 24"));
    assert_eq!(status.embedder, "builtin static-v1/2");
    assert_eq!(nearest(&mut daemon, MEANT), "Bread.md");
    place.configure(&server.config("openai", "m", "dimensions = 24"));
    daemon.reload();
    wait_served_by(&mut daemon, "openai m 24");
    assert_eq!(server.asked().last().unwrap().body["dimensions"], 24);
    // The model behind the address becomes another: nothing of it is taken.
    server.dimensions(16);
    place.write("Glass.md", "# Glass\n\nAnnealing relieves stresses.\n");
    daemon.wait_for("told", |status| tells(status, "gives vectors of 16 dimensions, not of 24"));
    daemon.wait_holding("annealing", &["Glass.md"]);
    server.dimensions(24);
    daemon.resume();
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
fn a_server_that_refuses_everything_takes_over_nothing() {
    let server = Vectors::start(24);
    server.refuse(Some((400, "{\"error\":{\"message\":\"bad request\"}}")));
    let place = Place::with(&NOTES);
    place.configure(&server.config("openai", "m", "dimensions = 24"));
    let mut daemon = place.spawn(&["run"]);
    let status = daemon.wait_for("told", |status| tells(status, "refused more than half of the texts"));
    assert_eq!(status.embedder, "builtin static-v1/2");
    assert_eq!(nearest(&mut daemon, MEANT), "Bread.md");
    server.refuse(None);
    daemon.resume();
    wait_served_by(&mut daemon, "openai m 24");
    // What it refuses while it serves is asked for again when the user says that it works.
    server.refuse(Some((400, "{\"error\":{\"message\":\"bad request\"}}")));
    place.write("Glass.md", "# Glass\n\nAnnealing relieves stresses.\n");
    daemon.wait_holding("annealing", &["Glass.md"]);
    wait_served_by(&mut daemon, "openai m 24");
    server.refuse(None);
    daemon.resume();
    eventually("found by its vector", || {
        paths(&dense(&mut daemon, "annealing relieves stresses").hits).first() == Some(&"Glass.md")
    });
}

#[test]
fn a_slow_query_is_answered_by_words_and_remembered_for_the_next() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    place.configure(&server.config("openai", "m", "query_timeout = \"150ms\""));
    let mut daemon = place.start();
    wait_served_by(&mut daemon, "openai m 24");
    server.latency(Duration::from_millis(1000));
    let found = daemon.ask(&query("rye flour"));
    assert_eq!(paths(&found.hits)[0], "Bread.md");
    let warning = &found.warnings[0];
    assert!(warning.contains("no vector within 0.1 s") || warning.contains("within 0.2 s"), "{warning}");
    // It came too late for that query and is there for the next one like it.
    eventually("the vector came", || daemon.ask(&query("rye flour")).warnings.is_empty());
    let text = Some("something never asked".to_owned());
    let related = daemon.refused(&RelatedRequest { text, ..RelatedRequest::default() });
    assert!(related.message.contains("no vector within"), "{related:?}");
}

#[test]
fn what_is_near_in_a_vault_is_judged_by_the_embedder_of_that_vault() {
    let server = Vectors::start(256);
    let place = Place::with(&NOTES);
    place.write("Penguins.md", "# Penguins\n\nA colony of penguins crosses the antarctic ice.\n");
    let config = server.config("ollama", "m", "query_prefix = \"query: \"");
    place.configure(&config);
    let mut daemon = place.start();
    wait_served_by(&mut daemon, "ollama m 256");
    daemon.stop();
    // Another vault comes, whose vectors the server does not make: as many dimensions, but another embedder.
    server.only("query: ");
    let other = place.dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let fresh = "Walrus and narwhal rest on drifting floes.";
    for (path, text) in [
        ("Seals.md", "# Seals\n\nSeals and walruses rest on floes in the cold arctic sea.\n"),
        ("Trucks.md", "# Trucks\n\nHow to repair the injection pump of a diesel engine.\n"),
        ("Floes.md", &*format!("# Floes\n\n{fresh}\n")),
    ] {
        std::fs::write(other.join(path), text).unwrap();
    }
    let path = toml::Value::from(other.to_str().unwrap());
    place.configure(&format!("{config}[[vault]]\nname = \"other\"\npath = {path}\n"));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("both vaults", |status| status.vaults.iter().map(|vault| vault.notes).sum::<u64>() == 7);
    let cosines = |answer: SearchAnswer| -> Vec<(String, f32)> {
        let of_other = answer.hits.into_iter().filter(|hit| hit.vault == "other");
        let cosine = |hit: &Hit| hit.lanes.as_ref().and_then(|lanes| lanes.dense.as_ref()).map(|lane| lane.score);
        let mut cosines: Vec<_> = of_other.filter_map(|hit| Some((hit.path.clone(), cosine(&hit)?))).collect();
        cosines.sort_by(|a, b| a.0.cmp(&b.0));
        cosines
    };
    let near = |daemon: &mut Daemon, text: &str| {
        let text = Some(text.to_owned());
        daemon.ask(&RelatedRequest { text, limit: Some(20), explain: true, ..RelatedRequest::default() })
    };
    let text = "antarctic ice colony of penguins";
    let vault = Some("other".to_owned());
    let asked = SearchRequest { mode: Some(Mode::Dense), vault, explain: true, limit: Some(20), ..query(text) };
    let searched = cosines(daemon.ask(&asked));
    assert!(searched.iter().any(|(path, cosine)| path == "Seals.md" && *cosine > 0.2), "{searched:?}");
    let related = near(&mut daemon, text);
    assert_eq!((cosines(related.clone()), related.warnings.concat().as_str()), (searched, ""));
    let of_note = |daemon: &mut Daemon, path: &str| {
        let path = Some(path.to_owned());
        daemon.ask(&RelatedRequest { path, limit: Some(20), explain: true, ..RelatedRequest::default() })
    };
    let related = of_note(&mut daemon, "Penguins.md");
    assert_eq!(related.warnings.concat(), "");
    let related = cosines(related);
    let of = |path: &str| related.iter().find(|(of, _)| of == path).map_or(0.0, |(_, cosine)| *cosine);
    assert!(of("Seals.md") > 0.2 && of("Seals.md") > of("Trucks.md") + 0.1, "{related:?}");
    // A note that has no vector yet is compared by its words, in all vaults.
    place.write("Fresh.md", format!("# Fresh\n\n{fresh}\n"));
    daemon.wait_holding("narwhal", &["Floes.md", "Fresh.md"]);
    let related = of_note(&mut daemon, "Fresh.md");
    assert_eq!(related.hits.first().map(|hit| hit.path.as_str()), Some("Floes.md"), "{related:?}");
    assert_eq!(related.warnings, ["words alone answered: no vector says yet what `Fresh.md` is about"]);
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
    assert_eq!(nearest(&mut daemon, "kestrel speaks matters"), "Long.md");
}

#[test]
fn what_it_costs_is_in_the_ledger_and_kept_within_the_budget() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    let priced = |budget: &str| server.config("openai", "m", &format!("price_per_mtok = 100.0\n[budget]\n{budget}"));
    place.configure(&priced("rebuild = 0.001"));
    let mut daemon = place.spawn(&["run"]);
    let status = daemon.wait_for("refused", |status| tells(status, "budget.rebuild"));
    assert_eq!((status.embedder.as_str(), server.texts().len()), ("builtin static-v1/2", 0));
    let refused = filling(&mut daemon);
    assert_eq!(refused.state, JobState::Failed);
    assert!(refused.problem.as_ref().unwrap().contains("it would cost about"), "{refused:?}");
    place.configure(&priced("rebuild = 5.0"));
    daemon.reload();
    wait_served_by(&mut daemon, "openai m 24");
    let spent = daemon.bought().micro_dollars;
    assert!(spent > 0);
    let estimated = estimated(&filling(&mut daemon));
    assert!(spent <= estimated, "{spent} of {estimated}");
    dense(&mut daemon, "rye flour");
    eventually("the query is written down", || daemon.bought().micro_dollars > spent);
    let cost = daemon.cost();
    assert!(cost.by_purpose.iter().any(|of| of.purpose == "query" && of.sums.calls == 1), "{cost:?}");
    assert!(cost.by_reason.iter().any(|of| of.reason == "query" && of.sums.calls == 1), "{cost:?}");
    // With nothing left for the day a save is found by its words.
    place.configure(&priced("day = 0.0"));
    daemon.reload();
    place.write("Glass.md", "# Glass\n\nAnnealing relieves stresses.\n");
    daemon.wait_holding("annealing", &["Glass.md"]);
    daemon.wait_for("held", |status| tells(status, "budget.day"));
}

#[test]
fn what_is_gone_private_or_undone_while_its_vectors_wait_is_not_sent() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    let priced = |budget: &str| {
        let more = "key_command = \"echo k\"\npasses_on = true\nprice_per_mtok = 100.0";
        let embed = server.config("openai", "m", &format!("{more}\n[budget]\n{budget}"));
        place.configure(&format!("private = [\"Private/**\"]\n{embed}"));
    };
    priced("rebuild = 5.0");
    let mut daemon = place.spawn(&["run"]);
    wait_served_by(&mut daemon, "openai m 24");
    priced("day = 0.0");
    daemon.reload();
    place.write("Glass.md", "# Glass\n\nAnnealing relieves stresses.\n");
    place.write("Paper.md", "# Paper\n\nWashi lies drying upon cedar boards.\n");
    place.write("Bread.md", format!("{}Unbaked thoughts.\n", NOTES[1].1));
    daemon.wait_for("all wait", |status| status.embedding.waiting == 3 && tells(status, "budget.day"));
    std::fs::create_dir(place.vault.join("Private")).unwrap();
    std::fs::rename(place.vault.join("Glass.md"), place.vault.join("Private/Glass.md")).unwrap();
    std::fs::remove_file(place.vault.join("Paper.md")).unwrap();
    place.write("Bread.md", NOTES[1].1);
    daemon.wait_holding("annealing", &["Private/Glass.md"]);
    daemon.wait_holding("washi", &[]);
    daemon.wait_holding("unbaked", &[]);
    priced("day = 5.0");
    daemon.reload();
    daemon.resume();
    place.write("Wool.md", "# Wool\n\nCarding aligns fibres.\n");
    eventually("the next is sent", || server.texts().iter().any(|text| text.contains("Carding")));
    daemon.wait_for("nothing waits", |status| status.embedding.waiting == 0);
    let sent = server.texts().join("\n");
    let left = ["Annealing", "Washi", "Unbaked"].into_iter().filter(|word| sent.contains(word));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn vectors_of_more_notes_than_are_ordered_at_once_all_come_and_once() {
    let server = Vectors::start(24);
    let place = Place::with(&NOTES);
    place.configure(&server.config("openai", "m", ""));
    let mut daemon = place.spawn(&["run"]);
    wait_served_by(&mut daemon, "openai m 24");
    server.latency(Duration::from_millis(100));
    for n in 0..1500 {
        place.write(&format!("n{n}.md"), format!("# Note {n}\n\nAbout the number {n} alone.\n"));
    }
    daemon.wait_vault("indexed", |vault| vault.notes == 1503);
    wait_served_by(&mut daemon, "openai m 24");
    let mut sent = server.texts();
    let all = sent.len();
    sent.sort_unstable();
    sent.dedup();
    assert_eq!((all, sent.len()), (1503, 1503));
}

/// Words of the notes with their subjects, and a word of another language for each.
const SUBJECTS: [&[&str]; 3] = [
    &["harbour", "floods", "tides", "storms", "прилив"],
    &["sourdough", "patience", "rye", "flour", "kitchen", "выпечка"],
    &["colony", "swarmed", "queen", "apple", "tree", "улей"],
];

/// A configuration with a table of these in a folder of the home.
fn with_table(place: &Place, name: &str, form: Form) -> String {
    StaticTable::of(&SUBJECTS, form, Kind::F16).write(&place.dir.path().join("models").join(name));
    format!("[embed]\nprovider = \"static\"\npath = \"~/models/{name}\"\n")
}

#[test]
fn a_table_of_ones_own_finds_by_meaning_under_the_sandbox() {
    let place = Place::with(&NOTES);
    place.configure(&with_table(&place, "tiny", Form::Unigram));
    let tree = place.tree();
    let mut daemon = place.spawn(&["run"]);
    wait_served_by(&mut daemon, "static tiny ");
    let status = daemon.status();
    if cfg!(has_landlock) {
        assert!(status.sandbox.landlock != Enforcement::None && !status.sandbox.network, "{:?}", status.sandbox);
    }
    assert!(status.problems.is_empty() && status.leaves_machine.is_empty(), "{status:?}");
    for (word, path) in [("прилив", "Tides.md"), ("выпечка", "Bread.md"), ("улей", "Bees.md")] {
        assert_eq!(nearest(&mut daemon, word), path, "no note has the word");
    }
    // A save has its vectors at once, as with the built-in model, and those of its text alone too.
    place.write("Glass.md", "# Glass\n\nAnnealing beside rye, flour and rye.\n");
    daemon.wait_holding("annealing", &["Glass.md"]);
    let alone =
        SearchRequest { mode: Some(Mode::Dense), contextual: Some(Contextual::Flag(false)), ..query("выпечка") };
    let found = daemon.ask(&alone);
    assert_eq!(found.warnings.concat(), "");
    assert!(paths(&found.hits)[..2].contains(&"Glass.md"), "{:?}", paths(&found.hits));
    // Of words that the table does not know, those of the notes decide.
    assert_eq!(daemon.search("annealing")[0], "Glass.md");
    let identity = daemon.status().embedder;
    daemon.stop();
    let mut daemon = place.start();
    assert_eq!((daemon.status().embedder, nearest(&mut daemon, "улей")), (identity, "Bees.md".to_owned()));
    std::fs::remove_file(place.vault.join("Glass.md")).unwrap();
    assert_eq!(place.tree(), tree, "the vault is as it was");
}

#[test]
fn a_table_that_was_away_at_the_start_is_read_after_a_reload() {
    let place = Place::with(&NOTES);
    place.configure(&with_table(&place, "tiny", Form::Unigram));
    let mut daemon = place.spawn(&["run"]);
    wait_served_by(&mut daemon, "static tiny ");
    daemon.stop();
    let [table, away] = ["tiny", "away"].map(|name| place.dir.path().join("models").join(name));
    std::fs::rename(&table, &away).unwrap();
    let mut daemon = place.spawn(&["run"]);
    let status = daemon.wait_for("told", |status| tells(status, "cannot be asked"));
    assert!(tells(&status, "words alone answer") && !tells(&status, "goes on serving"), "{:?}", status.problems);
    std::fs::rename(&away, &table).unwrap();
    // The kernel was never told of it, so the daemon starts anew in its process.
    assert_eq!(place.run(&["config", "reload"]).status.code(), Some(0));
    daemon.connect_anew();
    wait_served_by(&mut daemon, "static tiny ");
    assert_eq!(nearest(&mut daemon, "улей"), "Bees.md");
    assert!(daemon.status().problems.is_empty(), "{:?}", daemon.status().problems);
}

#[test]
fn a_table_that_cannot_be_used_says_why_and_the_old_one_serves_on() {
    let place = Place::with(&NOTES);
    let first = with_table(&place, "first", Form::WordPiece);
    let broken = with_table(&place, "second", Form::Unigram);
    let second = place.dir.path().join("models/second");
    // The rows of another model.
    let rows = StaticTable::of(&SUBJECTS[..2], Form::Unigram, Kind::I8).file();
    std::fs::write(second.join("model.safetensors"), rows).unwrap();
    place.configure(&broken);
    let mut daemon = place.spawn(&["run"]);
    let status = daemon.wait_for("told", |status| tells(status, "take both files from one"));
    assert_eq!(status.embedder, "builtin static-v1/2");
    assert_eq!(nearest(&mut daemon, MEANT), "Bread.md");
    daemon.stop();
    let doctor = place.run(&["doctor", "--full"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains("embed.path") && said.contains("it has 18 tokens"), "{said}");

    place.configure(&first);
    let mut daemon = place.start();
    wait_served_by(&mut daemon, "static first ");
    daemon.stop();
    // Though the configuration does not name the first table any more, the daemon may still read it.
    place.configure(&broken);
    let mut daemon = place.spawn(&["run"]);
    let status = daemon.wait_for("told", |status| tells(status, "models/second/tokenizer.json: it has 18 tokens"));
    assert!(status.embedder.starts_with("static first "), "{}", status.embedder);
    assert!(tells(&status, "another goes on serving"), "{:?}", status.problems);
    assert_eq!(nearest(&mut daemon, "выпечка"), "Bread.md");
    // Mended, it takes over by itself.
    StaticTable::of(&SUBJECTS, Form::Unigram, Kind::I8).write(&second);
    daemon.resume();
    wait_served_by_throughout(&mut daemon, "static second ");
    assert_eq!(nearest(&mut daemon, "улей"), "Bees.md");
    assert!(!daemon.log().contains("выпечка"), "no query reaches the log");
}
