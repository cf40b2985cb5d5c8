//! `situated models`: a reranker or an embedder that is there with one command.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use protocol::search::SearchRequest;
use serde_json::{Value, json};

use crate::commands::{err, out};
use crate::hub::{COMMIT, Hub, Mood};
use crate::support::Place;
use crate::tables::{Form, Kind, StaticTable};
use crate::tiny::Network;

const NOTES: [(&str, &str); 3] = [
    ("roof.md", "# Roof\n\nThe shed needs a new roof and nails.\n"),
    ("paint.md", "# Paint\n\nWhere did I park my bicycle? The shed was asked who is over the board.\n"),
    ("month.md", "# Month\n\nWrite the end of the month before the shed. Count items: 1, 2, 3.\n"),
];

/// A command with the hub's address, and its output, which must have this exit code.
fn run(place: &Place, hub: &Hub, arguments: &[&str], code: i32) -> Output {
    let output = place.command().args(arguments).env("HF_ENDPOINT", hub.url()).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{}\n{}", out(&output), err(&output));
    output
}

fn json(place: &Place, arguments: &[&str], code: i32) -> Value {
    let output = place.run(&[&["--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(code), "{}", err(&output));
    serde_json::from_str(&out(&output)).unwrap()
}

fn config(place: &Place) -> String {
    std::fs::read_to_string(place.dir.path().join("config.toml")).unwrap()
}

/// What lies among the models.
fn shelf(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.data().join("models")).into_iter().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_reranker_is_one_command_away() {
    let hub = Hub::with(Network::reranker().files());
    let place = Place::with(&NOTES);
    place.configure("# my own words\n[search]\nlimit = 7\n");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let rejudged = |hits: &[protocol::hit::Hit]| {
        let lanes: Vec<Value> = hits.iter().map(|hit| json!(hit)["lanes"]["rerank"]["score"].clone()).collect();
        lanes.iter().filter(|score| score.is_number()).count()
    };
    let refused = daemon.refused(&SearchRequest { rerank: Some(true), ..query() });
    assert!(refused.message.contains("situated models add cross-encoder"), "{refused:?}");

    let output = run(&place, &hub, &["models", "add", "cross-encoder", "org/name", "--yes"], 0);
    let (said, talk) = (out(&output), err(&output));
    assert!(said.contains("licence apache-2.0") && said.contains(&COMMIT[..8]), "{said}");
    assert!(said.contains("provider = \"transformer\"") && talk.contains("situated search --rerank"), "{said}{talk}");
    let text = config(&place);
    assert!(text.contains("# my own words\n[search]\nlimit = 7\n"), "{text}");
    assert!(text.contains("[rerank]\nprovider = \"transformer\"\nmodel = \"org/name\"\n"), "{text}");
    assert_eq!(shelf(&place), ["org--name"], "nothing is left behind");
    for (name, mode) in [("models", 0o700), ("models/org--name", 0o700), ("models/org--name/config.json", 0o600)] {
        let file = place.data().join(name);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, mode, "{name}");
    }

    // The daemon that ran before has it, and asks it only where a search wants that.
    let plain = daemon.ask(&SearchRequest { explain: true, ..query() });
    assert_eq!((rejudged(&plain.hits), plain.warnings.len()), (0, 0), "{plain:?}");
    let judged = daemon.ask(&SearchRequest { explain: true, rerank: Some(true), ..query() });
    assert_eq!((rejudged(&judged.hits), judged.warnings.len()), (3, 0), "{judged:?}");
    let output = run(&place, &hub, &["search", "the shed", "--rerank", "--explain"], 0);
    assert!(out(&output).contains("reranked: no. 1"), "{}", out(&output));

    let listed = json(&place, &["models"], 0);
    let model = &listed["models"][0];
    assert_eq!((&model["name"], &model["kind"]), (&json!("org/name"), &json!("cross-encoder")));
    assert_eq!((&model["licence"], &model["used_by"]), (&json!("apache-2.0"), &json!(["rerank.model"])));
    assert_eq!(model["origin"]["hub"]["commit"], COMMIT);
    let text = out(&place.run(&["models", "list"]));
    assert!(text.contains("org/name") && text.contains("in use by [rerank]"), "{text}");

    assert!(out(&run(&place, &hub, &["models", "check"], 0)).contains("fine"));
    let weights = place.data().join("models/org--name/model.safetensors");
    let mut bytes = std::fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&weights, &bytes).unwrap();
    let said = out(&run(&place, &hub, &["models", "check", "org/name"], 1));
    assert!(
        said.contains("model.safetensors: its sha256 is") && said.contains("models add cross-encoder org/name"),
        "{said}"
    );

    let refused = err(&run(&place, &hub, &["models", "remove", "org/name", "--yes"], 1));
    assert!(refused.contains("rerank.model (") && refused.contains("config.toml:"), "{refused}");
    place.configure("");
    let asked = err(&run(&place, &hub, &["models", "remove", "org/name"], 2));
    assert!(asked.contains("takes") && asked.contains("--yes"), "{asked}");
    assert!(out(&run(&place, &hub, &["models", "remove", "org/name", "--yes"], 0)).contains("Removed org/name"));
    assert!(shelf(&place).is_empty(), "{:?}", shelf(&place));
    assert!(err(&run(&place, &hub, &["models", "remove", "org/name", "--yes"], 1)).contains("no model org/name"));
}

fn query() -> SearchRequest {
    SearchRequest { query: "the shed".to_owned(), ..SearchRequest::default() }
}

#[test]
fn what_a_hub_refuses_is_said_and_nothing_is_lost() {
    let hub = Hub::with(Network::reranker().files());
    let place = Place::new();
    place.configure("");
    let before = config(&place);
    let add = |code: i32| err(&run(&place, &hub, &["models", "add", "reranker", "org/name", "--yes"], code));
    for (status, code, words) in [
        (404, "RepoNotFound", "check the name"),
        (401, "GatedRepo", "set HF_TOKEN"),
        (403, "GatedRepo", "accept the model's terms"),
    ] {
        hub.is(Mood { refuse: Some((status, code)), ..Mood::default() });
        let said = add(1);
        assert!(said.contains(words) && said.contains("org/name"), "{said}");
        assert!(shelf(&place).is_empty(), "{:?}", shelf(&place));
    }
    hub.is(Mood { lie: true, ..Mood::default() });
    let said = add(74);
    assert!(said.contains("model.safetensors of org/name came damaged") && said.contains("sha256"), "{said}");
    hub.is(Mood { cut: Some(2_000), ..Mood::default() });
    let said = add(74);
    assert!(said.contains("what is here is kept"), "{said}");
    assert_eq!((shelf(&place), config(&place)), (vec!["org--name.partial".to_owned()], before));
    assert!(out(&run(&place, &hub, &["models"], 0)).contains("a download that ended early"));
    assert!(out(&run(&place, &hub, &["models", "check"], 1)).contains("go on with it"));

    hub.is(Mood::default());
    hub.asked();
    add(0);
    assert_eq!(hub.asked(), [("model.safetensors".to_owned(), Some(2_000))], "only what was not here is asked for");
    assert_eq!(shelf(&place), ["org--name"]);
    // What is here is not asked for again.
    add(0);
    assert_eq!(hub.asked(), []);
    let said = err(&run(&place, &hub, &["models", "add", "embedder", "org/name", "--yes"], 73));
    assert!(said.contains("is here already, as cross-encoder"), "{said}");
}

#[test]
fn a_model_of_another_kind_is_refused_before_its_weights_are_asked_for() {
    let hub = Hub::with(Network::reranker().files());
    let place = Place::new();
    place.configure("");
    let said = err(&run(&place, &hub, &["models", "add", "embedder", "org/name", "--yes"], 1));
    assert!(said.contains("org/name cannot be used as embedder") && said.contains("judges pairs of texts"), "{said}");
    assert!(!hub.asked().iter().any(|(name, _)| name == "model.safetensors"));
    assert!(shelf(&place).is_empty(), "{:?}", shelf(&place));
}

#[test]
fn a_daemon_downloads_its_embedder_as_the_command_does() {
    let hub = Hub::with(Network::embedder().files());
    let place = Place::with(&NOTES);
    place.configure("[embed]\nprovider = \"transformer\"\nmodel = \"org/name\"\n");
    // What has come of an earlier download may be of another commit.
    let partial = place.data().join("models/org--name.partial");
    std::fs::create_dir_all(&partial).unwrap();
    std::fs::write(partial.join("config.json"), "{}").unwrap();
    let mut daemon = place.spawn_command(place.command().arg("run").env("HF_ENDPOINT", hub.url()));
    daemon.wait_for("served by the model", |status| status.embedder.starts_with("transformer org/name"));
    assert_eq!(shelf(&place), ["org--name"]);
    let model = &json(&place, &["models"], 0)["models"][0];
    assert_eq!((&model["kind"], &model["origin"]["hub"]["commit"]), (&json!("embedder"), &json!(COMMIT)));
}

#[test]
fn folders_are_copied_and_tried() {
    let hub = Hub::with(Network::reranker().files());
    let place = Place::with(&NOTES);
    place.configure("");
    let folder = |name: &str| place.dir.path().join(name).to_str().unwrap().to_owned();
    Network::reranker().write(folder("judge").as_ref());
    std::fs::write(place.dir.path().join("judge/training.log"), "not a model's").unwrap();
    Network::embedder().write(folder("vectors").as_ref());
    StaticTable::of(&[&["shed", "roof"]], Form::WordPiece, Kind::F32).write(folder("words").as_ref());
    let add = |kind: &str, what: &str, code: i32| {
        let output = run(&place, &hub, &["models", "add", kind, what, "--no-config"], code);
        (out(&output), err(&output))
    };
    for (kind, name) in
        [("static", "judge"), ("cross-encoder", "vectors"), ("cross-encoder", "words"), ("embedder", "judge")]
    {
        let (_, said) = add(kind, &folder(name), 1);
        assert!(said.contains(&folder(name)) && !said.contains(".partial"), "{kind} {name}: {said}");
        assert!(shelf(&place).is_empty(), "{:?}", shelf(&place));
    }
    std::fs::remove_file(place.dir.path().join("words/tokenizer.json")).unwrap();
    assert!(add("static", &folder("words"), 2).1.contains("has no tokenizer.json"));
    StaticTable::of(&[&["shed", "roof"]], Form::WordPiece, Kind::F32).write(folder("words").as_ref());
    for (bad, code) in [("org/../../x", 2), ("../gone", 2), ("..", 2), ("name", 2), ("local/judge", 1)] {
        add("cross-encoder", bad, code);
    }
    assert_eq!(hub.asked(), []);
    for (kind, name, line) in [
        ("cross-encoder", "judge", "model = \"local/judge\""),
        ("embedder", "vectors", "provider = \"transformer\""),
        ("static", "words", "provider = \"static\""),
    ] {
        let (said, talk) = add(kind, &folder(name), 0);
        assert!(said.contains(line) && talk.contains("put this into"), "{said}{talk}");
    }
    assert_eq!(shelf(&place), ["local--judge", "local--vectors", "local--words"]);
    assert!(!place.data().join("models/local--judge/training.log").exists());
    assert!(out(&run(&place, &hub, &["models", "check"], 0)).lines().all(|line| line.contains("fine")));
    assert!(!config(&place).contains("provider"), "--no-config leaves it alone");
    // Another one of the same name takes nobody's place.
    std::fs::write(place.dir.path().join("judge/config.json"), "{}").unwrap();
    assert!(add("cross-encoder", &folder("judge"), 73).1.contains("with another config.json"));
    let listed = json(&place, &["models"], 0);
    assert!(listed["models"][0]["origin"]["folder"].as_str().is_some_and(|from| from.ends_with("/judge")), "{listed}");
    assert_eq!(listed["models"][0]["licence"], Value::Null);
}

#[test]
fn the_configuration_is_changed_after_a_yes_alone() {
    let hub = Hub::with(Network::reranker().files());
    let place = Place::with(&NOTES);
    place.configure("");
    let add = |arguments: &[&str], code| {
        run(&place, &hub, &[&["models", "add", "cross-encoder", "org/name"], arguments].concat(), code)
    };
    let said = err(&add(&[], 2));
    assert!(said.contains("--yes") && said.contains("--no-config"), "{said}");
    assert_eq!(hub.asked(), [], "it is said before a download");
    place.configure("[rerank]\nprovider = \"coher\"\ntop = 5\n");
    let said = err(&add(&["--yes"], 0));
    assert!(said.contains("No daemon runs"), "{said}");
    assert!(
        config(&place).contains("provider = \"transformer\"\ntop = 5\nmodel = \"org/name\"\n"),
        "{}",
        config(&place)
    );
    place.configure("[search]\nlimit = \"many\"\n");
    let before = config(&place);
    let said = err(&add(&["--yes"], 78));
    assert!(
        said.contains("config.toml:5") && said.contains("search.limit") && said.contains("[rerank]\nprovider"),
        "{said}"
    );
    assert_eq!(config(&place), before);
    std::fs::remove_file(place.dir.path().join("config.toml")).unwrap();
    let said = err(&add(&["--yes"], 73));
    assert!(said.contains("situated init") && said.contains("the model is added"), "{said}");
    assert_eq!(shelf(&place), ["org--name"]);
}

#[test]
fn a_model_that_is_not_here_is_told_with_what_to_type() {
    let hub = Hub::with(Network::reranker().files());
    let place = Place::with(&NOTES);
    place.configure("[rerank]\nprovider = \"transformer\"\nmodel = \"org/name\"\nwhen = \"always\"\n");
    let advice = "situated models add cross-encoder org/name";
    let said = out(&run(&place, &hub, &["config", "check"], 1));
    assert!(said.contains("rerank.model") && said.contains(advice), "{said}");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let answer = daemon.ask(&query());
    assert_eq!(answer.hits.len(), 3);
    let warned: Vec<String> = answer.warnings.iter().map(|warning| json!(warning).to_string()).collect();
    assert!(warned.concat().contains(advice), "{warned:?}");
    assert!(daemon.status().problems.concat().contains(advice));
    let doctor = out(&place.run(&["doctor"]));
    assert!(doctor.split_whitespace().collect::<Vec<_>>().join(" ").contains(advice), "{doctor}");
    assert!(out(&run(&place, &hub, &["models", "check"], 1)).contains(advice));
    assert_eq!(hub.asked(), [], "a search downloads nothing");
    run(&place, &hub, &["models", "add", "cross-encoder", "org/name", "--yes"], 0);
    // The daemon finds it without a restart, and every search is judged, as the configuration wants it.
    let answer = daemon.ask(&SearchRequest { explain: true, ..query() });
    assert!(answer.warnings.is_empty() && json!(answer.hits[0])["lanes"]["rerank"].is_object(), "{answer:?}");
    run(&place, &hub, &["config", "check"], 0);
}
