//! Generations of contexts side by side: built beside the one that answers, compared, switched to, rolled back.

use serde_json::{Value, json};

use crate::model::Model;
use crate::support::{Daemon, Place};

const NOTE: &str = "# Tide tables\n\nThe harbour office in Sandholm prints them every year for the whole coast.\n\n\
    ## Spring\n\nThe highest water comes two days after the full moon, and the ferries are moved then.\n\n\
    ## Neap\n\nThe lowest range comes a week later, which is when the divers work on the moorings.\n";

fn place(model: &Model) -> Place {
    let place = Place::new();
    for n in 0..4 {
        place.write(&format!("n{n}.md"), NOTE.replace("Sandholm", &format!("Sandholm{}", ["a", "b", "c", "d"][n])));
    }
    let chunks = "\n[chunk]\nmin = 1\ntarget = 20\nmax = 200\n";
    let other = format!(
        "\n[generation.bold]\nprovider = \"anthropic\"\nbase_url = \"{}\"\nmodel = \"claude-haiku-4-5\"\nconsent = \"given\"\nsettle = \"50ms\"\n",
        model.url()
    );
    place.configure(&format!("[context]\nprovider = \"template\"\n{chunks}{other}"));
    place
}

fn start(place: &Place) -> Daemon {
    let mut daemon = place.spawn_command(place.command().env("ANTHROPIC_API_KEY", "sk-test-key").arg("run"));
    daemon.wait_idle();
    daemon
}

fn of(daemon: &mut Daemon, name: &str) -> Value {
    let all = daemon.call("generations", json!({}))["generations"].clone();
    all.as_array().unwrap().iter().find(|generation| generation["name"] == name).unwrap().clone()
}

fn contexts(daemon: &mut Daemon, contextual: Value) -> Vec<String> {
    let found = daemon.call("search", json!({"query": "full moon ferries", "limit": 4, "contextual": contextual}));
    found["hits"].as_array().unwrap().iter().map(|hit| hit["context"].as_str().unwrap_or("").to_owned()).collect()
}

fn build(daemon: &mut Daemon) {
    let job = daemon.call("generations.build", json!({"name": "bold"}))["job"].clone();
    daemon.wait_status("nothing is indexed", |status| status["state"] == "idle");
    crate::support::eventually("the generation is built", || {
        let jobs = daemon.call("jobs", json!({}))["jobs"].clone();
        jobs.as_array().unwrap().iter().any(|other| other["job"] == job && other["state"] == "done")
    });
}

#[test]
fn a_generation_is_built_beside_compared_switched_to_and_rolled_back() {
    let model = Model::start();
    model.captions(|_, _| Some("Tide tables of the harbour office: when the water is highest along the coast.".into()));
    let place = place(&model);
    let mut daemon = start(&place);
    let before = contexts(&mut daemon, json!(true));
    assert_eq!(
        (&of(&mut daemon, "default")["active"], &of(&mut daemon, "bold")["built"]),
        (&json!(true), &json!(false))
    );
    let estimate = daemon.call("generations.build", json!({"name": "bold", "dry_run": true}))["estimate"].clone();
    assert_eq!((&estimate["chunks"], &estimate["calls"]), (&json!(12), &json!(4)), "{estimate}");
    assert_eq!(model.calls(), 0);

    build(&mut daemon);
    assert_eq!(model.calls(), 4, "a call for each note");
    assert_eq!(contexts(&mut daemon, json!(true)), before, "the old one answers");
    let bold = contexts(&mut daemon, json!("gen:bold"));
    assert!(bold.iter().any(|context| context.contains("when the water is highest")), "{bold:?}");

    // A save reaches both; the one beside buys nothing for it.
    place.write("n0.md", NOTE.replace("## Spring", "## Springtide"));
    daemon.wait_holding("Springtide", &["n0.md"]);
    let found = daemon.call("search", json!({"query": "\"Springtide\"", "contextual": "gen:bold", "fresh": true}));
    assert_eq!(found["hits"][0]["path"], "n0.md", "{found}");
    assert_eq!(model.calls(), 4);

    daemon.call("generations.use", json!({"name": "bold"}));
    assert_eq!(contexts(&mut daemon, json!(true)).len(), bold.len());
    assert!(contexts(&mut daemon, json!(true)).iter().any(|context| context.contains("when the water is highest")));
    assert_eq!(of(&mut daemon, "bold")["active"], true);
    daemon.stop();
    let mut daemon = start(&place);
    assert_eq!(of(&mut daemon, "bold")["active"], true, "the choice outlives a restart");

    daemon.call("generations.use", json!({"name": "default"}));
    let after = contexts(&mut daemon, json!(true));
    assert!(after.iter().all(|context| !context.contains("when the water is highest")), "{after:?}");
    assert_eq!(after.len(), before.len());
}

#[test]
fn a_generation_that_is_dropped_leaves_what_was_paid_for() {
    let model = Model::start();
    let place = place(&model);
    let mut daemon = start(&place);
    build(&mut daemon);
    let calls = model.calls();
    daemon.call("generations.drop", json!({"name": "bold"}));
    assert_eq!(of(&mut daemon, "bold")["built"], false);
    let error = daemon.try_call("search", json!({"query": "moon", "contextual": "gen:bold"})).unwrap_err();
    assert_eq!(error["data"]["kind"], "not_found", "{error}");
    assert!(daemon.try_call("generations.drop", json!({"name": "default"})).is_err());
    let exported = daemon.stop().map(|_| {
        let out = place.run(&["contexts", "export"]);
        String::from_utf8(out.stdout).unwrap().lines().count()
    });
    assert_eq!((exported, model.calls()), (Some(12), calls), "the archive has every context");
}

#[test]
fn a_generation_that_nobody_wrote_down_is_named() {
    let model = Model::start();
    let place = place(&model);
    let mut daemon = start(&place);
    let error = daemon.try_call("generations.use", json!({"name": "bald"})).unwrap_err();
    assert!(error["data"]["hint"].as_str().unwrap().contains("default, bold"), "{error}");
    let error = daemon.try_call("search", json!({"query": "moon", "contextual": "bold"})).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("gen:"), "{error}");
}
