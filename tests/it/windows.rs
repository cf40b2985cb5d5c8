//! Windows that become one, and what lies near a note, some lines or a text: over the socket and at the terminal.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::commands::{err, out};
use crate::support::{Daemon, Place};

/// Small chunks, so that a section is one.
const SMALL: &str = "[chunk]\nstrategy = \"markdown\"\ntarget = 30\nmin = 0\nmax = 60\n[search]\nwindow_chars = 150\n";

/// Four sections; the word stands in the first three.
const LONG: &str = "# Orchard\n\n## Quinces\n\nThe zorbleberry grows beside the quinces at the southern wall.\n\n\
    ## Pears\n\nAnother zorbleberry stands among the pears, which ripen late in October.\n\n\
    ## Plums\n\nA third zorbleberry was planted under the plums two winters ago.\n\n\
    ## Tools\n\nThe ladder hangs in the shed, and the saw needs a new blade before the frost.\n";

fn place() -> Place {
    let place = Place::with(&[
        ("Orchard.md", LONG),
        ("Shed.md", "# Shed\n\nIn the shed are the ladder, a saw and spare blades. See [[Orchard]].\n"),
        ("Fruit.md", "# Fruit\n\nQuinces, pears and plums of the orchard, and one zorbleberry.\n"),
        ("Harvest.md", "# Harvest\n\nPears and plums ripen late; [[Fruit]] lists them. The harvest is in October.\n"),
    ]);
    place.configure(SMALL);
    place
}

fn start(place: &Place) -> Daemon {
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon
}

fn hits(answer: &Value) -> &[Value] {
    answer["hits"].as_array().unwrap()
}

fn paths(answer: &Value) -> Vec<&str> {
    hits(answer).iter().map(|hit| hit["path"].as_str().unwrap()).collect()
}

#[test]
fn hits_that_touch_become_one_and_others_move_up() {
    let place = place();
    let mut daemon = start(&place);
    let query = |merge: bool, limit: u64| json!({ "query": "zorbleberry", "mode": "lexical", "contextual": false, "merge": merge, "limit": limit });
    let apart = daemon.call("search", query(false, 9));
    assert_eq!(paths(&apart).iter().filter(|path| **path == "Orchard.md").count(), 3, "{apart}");
    let merged = daemon.call("search", query(true, 9));
    let mut found = paths(&merged);
    found.sort_unstable();
    assert_eq!(found, ["Fruit.md", "Orchard.md"], "{merged}");
    let hit = hits(&merged).iter().find(|hit| hit["path"] == "Orchard.md").unwrap();
    let best = hits(&apart).iter().find(|hit| hit["path"] == "Orchard.md").unwrap();
    assert_eq!((&hit["chunk"], &hit["score"], &hit["line"]), (&best["chunk"], &best["score"], &best["line"]));
    let also = hit["also"].as_array().unwrap();
    assert_eq!(also.len(), 2, "{hit}");
    let others: Vec<&Value> =
        hits(&apart).iter().filter(|h| h["path"] == "Orchard.md").skip(1).map(|h| &h["chunk"]).collect();
    assert_eq!(also.iter().map(|a| &a["chunk"]).collect::<Vec<_>>(), others, "best first");
    assert!(also[0]["score"].as_f64() >= also[1]["score"].as_f64() && also[0]["line"].as_u64() > Some(0));
    let window = hit["window"].as_str().unwrap();
    // What lies between chunks is blank, and a line end stands for it.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(LONG).contains(&words(window)), "{window:?} is no run of the note");
    assert_eq!(window.matches("zorbleberry").count(), 3, "{window}");
    assert!(hits(&apart).iter().all(|hit| hit.get("also").is_none()));
    // Two hits are asked for, and two notes have some.
    assert_eq!(paths(&daemon.call("search", query(true, 2))).len(), 2);
    let plain = daemon
        .call("search", json!({ "query": "zorbleberry", "mode": "lexical", "contextual": false, "window_chars": 0 }));
    assert_eq!(hits(&plain).len(), 4, "windows that are their chunks are not joined");
    assert!(hits(&plain).iter().all(|hit| hit["window"] == hit["text"]));
}

#[test]
fn what_lies_near_says_how_it_is_linked() {
    let place = place();
    let mut daemon = start(&place);
    let near = |daemon: &mut Daemon, more: Value| {
        let mut params = json!({ "path": "Fruit.md", "group": "note" });
        params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        daemon.call("related", params)
    };
    let all = near(&mut daemon, json!({}));
    let mut notes = paths(&all);
    notes.sort_unstable();
    notes.dedup();
    assert_eq!(notes.len(), hits(&all).len(), "a note twice: {all}");
    assert!(!notes.contains(&"Fruit.md") && notes.contains(&"Harvest.md"), "{notes:?}");
    let told = |path: &str| {
        let hit = hits(&all).iter().find(|hit| hit["path"] == path).unwrap();
        (hit["linked"].clone(), hit.get("link").cloned())
    };
    assert_eq!(told("Harvest.md"), (json!(true), Some(json!("from"))));
    assert_eq!(told("Orchard.md"), (json!(false), None));
    let unlinked = near(&mut daemon, json!({ "exclude_linked": true }));
    assert!(!paths(&unlinked).contains(&"Harvest.md") && paths(&unlinked).contains(&"Orchard.md"), "{unlinked}");
    let to = daemon.call("related", json!({ "path": "Harvest.md", "group": "note" }));
    let fruit = hits(&to).iter().find(|hit| hit["path"] == "Fruit.md").unwrap();
    assert_eq!(fruit["link"], "to");
}

#[test]
fn lines_of_a_note_are_a_seed_of_their_own() {
    let place = place();
    let mut daemon = start(&place);
    let line = 1 + LONG.lines().position(|line| line.contains("ladder")).unwrap();
    let tools = daemon.call("related", json!({ "path": "Orchard.md", "line": line, "group": "note" }));
    assert_eq!(paths(&tools)[0], "Shed.md", "{tools}");
    assert_eq!(hits(&tools)[0]["link"], "from");
    assert!(!paths(&tools).contains(&"Orchard.md"), "the note itself is left out");
    let fruit = daemon.call("related", json!({ "path": "Orchard.md", "line": 1, "end_line": 12, "group": "note" }));
    assert_ne!(paths(&fruit)[0], "Shed.md", "{fruit}");
    for (params, kind) in [
        (json!({ "path": "Orchard.md", "line": 900 }), "not_found"),
        (json!({ "path": "Gone.md", "line": 1 }), "not_found"),
        (json!({ "path": "Orchard.md", "line": 0 }), "invalid_params"),
        (json!({ "path": "Orchard.md", "line": 5, "end_line": 4 }), "invalid_params"),
        (json!({ "path": "Orchard.md", "end_line": 4 }), "invalid_params"),
        (json!({ "text": "x", "line": 4 }), "invalid_params"),
        (json!({ "path": "Orchard.md", "text": "x" }), "invalid_params"),
        (json!({ "chunk": "0".repeat(32) }), "not_found"),
    ] {
        let error = daemon.try_call("related", params.clone()).unwrap_err();
        assert_eq!(error["data"]["kind"], kind, "{params}: {error}");
    }
}

#[test]
fn what_lies_near_may_lie_in_another_vault() {
    let place = place();
    let other = place.dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("Jam.md"), "# Jam\n\nJam of quinces, pears and plums from the orchard.\n").unwrap();
    let second = format!("[[vault]]\nname = \"other\"\npath = {}\n", toml::Value::from(other.to_str().unwrap()));
    place.configure(&format!("{second}{SMALL}"));
    let mut daemon = start(&place);
    let all = daemon.call("related", json!({ "path": "Fruit.md", "group": "note" }));
    let jam = hits(&all).iter().find(|hit| hit["vault"] == "other").unwrap();
    assert_eq!((&jam["path"], jam.get("linked")), (&json!("Jam.md"), None), "{all}");
    assert!(hits(&all).iter().any(|hit| hit["vault"] == "notes" && hit["linked"] == true), "{all}");
    let here = daemon.call("related", json!({ "path": "Fruit.md", "vault": "notes" }));
    assert!(hits(&here).iter().all(|hit| hit["vault"] == "notes"), "{here}");
}

#[test]
fn related_at_the_terminal() {
    let place = place();
    let _daemon = start(&place);
    let run = |arguments: &[&str], code: i32| {
        let output = place.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", out(&output), err(&output));
        (out(&output), err(&output))
    };
    let line = 1 + LONG.lines().position(|line| line.contains("ladder")).unwrap();
    let (said, _) = run(&["related", &format!("Orchard.md:{line}"), "--notes", "--format", "{path}"], 0);
    assert_eq!(said.lines().next(), Some("Shed.md"));
    let (said, _) = run(&["related", "Harvest.md:1-3", "--notes"], 0);
    assert!(said.contains("linked to already"), "{said}");
    let (said, _) = run(&["related", "Harvest.md", "--unlinked", "--format", "{path}"], 0);
    assert!(!said.contains("Fruit.md"), "{said}");
    let (said, _) = run(&["related", "--text", "a saw, a ladder and spare blades in a shed", "--notes", "--json"], 0);
    let answer: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&answer["schema"], &answer["hits"][0]["path"]), (&json!(1), &json!("Shed.md")), "{said}");
    let mut child = place
        .command()
        .args(["related", "--text", "-", "--notes", "--format", "{path}"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a saw, a ladder and spare blades in a shed\n").unwrap();
    assert!(out(&child.wait_with_output().unwrap()).starts_with("Shed.md\n"));
    let (_, talk) = run(&["related", "--text", " "], 2);
    assert!(talk.contains("the text is empty"), "{talk}");
    run(&["related"], 2);
    run(&["related", "Orchard.md", "--text", "x"], 2);
}
