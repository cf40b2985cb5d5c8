//! What a hit says of its note and of its context: always, and if a request asks for it.

use serde_json::{Value, json};

use crate::commands::{err, out};
use crate::contexts::{ATLAS, SMALL_CHUNKS, start, wait_written};
use crate::model::Model;
use crate::support::Place;

const HUB: &str = "---\ncreated: 2026-02-01\nmodified: 2026-03-05\n---\n# Hub\n\nThe quibbleheron is the hub of it all: [[Egret]], \
    [[Diary]], [[Egret|again]], [[Hub]] and [[Nobody]].\n";

/// A note in the middle: it links to two, one of them private, and thirteen link to it, one of them private.
fn place() -> Place {
    let place = Place::with(&[
        ("Hub.md", HUB),
        ("Egret.md", "# Egret\n\nEgrets are white.\n"),
        ("Diary.md", "# Diary\n\nAbout the [[Hub]]. #private\n"),
    ]);
    for n in 0..12 {
        place.write(&format!("From {n:02}.md"), format!("# From {n}\n\nSee [[Hub]], and once more [[Hub]].\n"));
    }
    place
}

fn only(answer: &Value) -> &Value {
    let hits = answer["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 1, "{answer}");
    &hits[0]
}

#[test]
fn a_hit_says_whom_its_note_is_linked_with_if_asked() {
    let place = place();
    let mut daemon = place.start();
    let query = json!({ "query": "quibbleheron", "mode": "lexical" });
    let plain = daemon.call("search", query.clone());
    let hit = only(&plain);
    assert_eq!((&hit["created"], &hit["modified"]), (&json!("2026-02-01"), &json!("2026-03-05")));
    for unasked in ["links", "backlinks", "context_quality", "context_by", "context_at", "contextualized"] {
        assert!(hit.get(unasked).is_none(), "{unasked}: {hit}");
    }
    let mut asked = query.clone();
    asked["include"] = json!(["links"]);
    let answer = daemon.call("search", asked.clone());
    let hit = only(&answer);
    assert_eq!(hit["links"], json!({ "count": 2, "notes": ["Diary.md", "Egret.md"] }));
    assert_eq!(hit["backlinks"]["count"], 13);
    let named = hit["backlinks"]["notes"].as_array().unwrap();
    assert_eq!((named.len(), &named[0], &named[9]), (10, &json!("Diary.md"), &json!("From 08.md")));
    // For an assistant private notes do not exist.
    asked["audience"] = json!("assistant");
    let answer = daemon.call("search", asked);
    let hit = only(&answer);
    assert_eq!(hit["links"], json!({ "count": 1, "notes": ["Egret.md"] }));
    assert!(hit["backlinks"]["count"] == 12 && !hit["backlinks"].to_string().contains("Diary"), "{hit}");
    // What lies near says the same.
    let near = json!({ "path": "Egret.md", "group": "note", "limit": 50, "include": ["links"] });
    let near = daemon.call("related", near);
    let hub = near["hits"].as_array().unwrap().iter().find(|hit| hit["path"] == "Hub.md").unwrap().clone();
    assert_eq!((&hub["links"]["count"], &hub["backlinks"]["count"]), (&json!(2), &json!(13)));
    for wrong in [json!(["link"]), json!("links"), json!([1])] {
        let error = daemon.try_call("search", json!({ "query": "x", "include": wrong })).unwrap_err();
        assert_eq!(error["data"]["kind"], "invalid_params", "{error}");
    }
    let error = daemon.try_call("search", json!({ "query": "x", "include": ["backlinks"] })).unwrap_err();
    for known in ["links", "quality", "contextualized", "text", "window"] {
        assert!(error["message"].as_str().unwrap().contains(known), "{error}");
    }
}

#[test]
fn a_hit_says_how_good_its_context_is_and_shows_both_as_one() {
    let model = Model::start();
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", "")));
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let all = json!(["quality", "contextualized", "quality", "text"]);
    let answer = daemon.call("search", json!({ "query": "vendor contract", "include": all, "merge": false }));
    let hits = answer["hits"].as_array().unwrap();
    assert!(!hits.is_empty());
    for hit in hits {
        let quality = hit["context_quality"].as_f64().unwrap();
        assert!(quality > 0.0 && quality < 1.0 && hit["has_context"] == true, "{hit}");
        assert!(hit["context_by"].as_str().unwrap().contains("anthropic"), "{hit}");
        let age = jiff::Timestamp::now().as_second() - hit["context_at"].as_i64().unwrap();
        assert!((0..600).contains(&age) && hit["context_tokens"].as_u64().unwrap() > 0, "{hit}");
        let both = format!("{}\n\n{}", hit["context"].as_str().unwrap(), hit["text"].as_str().unwrap());
        assert_eq!(hit["contextualized"], json!(both));
    }
    // Where contexts are left out none is shown, but there is one.
    let without = json!({ "query": "vendor contract", "contextual": false, "include": all });
    let answer = daemon.call("search", without);
    let hit = &answer["hits"][0];
    assert_eq!((&hit["context"], &hit["has_context"]), (&json!(""), &json!(true)));
    assert_eq!(hit["contextualized"], hit["text"]);
    // The free one says who it is by, too.
    let free = Place::with(&[("Plan.md", "# Plan\n\nBuy a boat.\n")]);
    let mut daemon = free.start();
    let answer = daemon.call("search", json!({ "query": "boat", "include": ["quality"] }));
    let hit = only(&answer);
    assert!(hit["context_quality"] == 1.0 && hit["context_by"].as_str().unwrap().starts_with("template"), "{hit}");
}

#[test]
fn the_command_prints_what_else_hits_hold_as_json_alone() {
    let place = place();
    let _daemon = place.start();
    let found =
        place.run(&["search", "quibbleheron", "--mode", "lexical", "--include", "links,contextualized", "--json"]);
    let answer: Value = serde_json::from_str(&out(&found)).unwrap();
    let hit = only(&answer);
    assert_eq!(hit["backlinks"]["count"], 13);
    assert!(hit["contextualized"].as_str().unwrap().ends_with(hit["text"].as_str().unwrap()), "{hit}");
    let near = place.run(&["related", "Egret.md", "--notes", "--include", "links", "--jsonl"]);
    assert!(out(&near).lines().all(|hit| serde_json::from_str::<Value>(hit).unwrap()["links"]["count"].is_u64()));
    let refused = place.run(&["search", "quibbleheron", "--include", "links"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("--json"), "{}", err(&refused));
    let refused = place.run(&["search", "quibbleheron", "--include", "tags", "--json"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("contextualized"), "{}", err(&refused));
}

#[test]
fn notes_of_one_name_in_two_vaults_are_told_apart() {
    let place = place();
    let other = place.dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("Hub.md"), "# Hub\n\nAnother quibbleheron, without a link.\n").unwrap();
    place.configure(&format!("[[vault]]\nname = \"other\"\npath = {}\n", toml::Value::from(other.to_str().unwrap())));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let query = json!({ "query": "quibbleheron", "mode": "lexical", "include": ["links", "quality"] });
    let answer = daemon.call("search", query);
    let hits = answer["hits"].as_array().unwrap();
    let backlinks = |vault: &str| {
        let hit = hits.iter().find(|hit| hit["vault"] == vault).unwrap_or_else(|| panic!("{vault}: {answer}"));
        assert_eq!((&hit["path"], &hit["context_quality"]), (&json!("Hub.md"), &json!(1.0)));
        hit["backlinks"]["count"].clone()
    };
    assert_eq!((hits.len(), backlinks("notes"), backlinks("other")), (2, json!(13), json!(0)));
}

#[test]
fn texts_come_if_they_are_asked_for() {
    let place = place();
    let mut daemon = place.start();
    let mut texts = |method: &str, mut asked: Value, include: &[&str]| {
        asked["include"] = json!(include);
        let answer = daemon.call(method, asked);
        let hit = &answer["hits"][0];
        ["text", "window"].map(|name| hit[name].as_str().unwrap().contains("eron"))
    };
    for (method, asked) in [
        ("search", json!({ "query": "quibbleheron", "mode": "lexical" })),
        ("related", json!({ "text": "quibbleheron hub", "limit": 1 })),
    ] {
        assert_eq!(texts(method, asked.clone(), &[]), [false, false], "{method}");
        assert_eq!(texts(method, asked.clone(), &["text"]), [true, false], "{method}");
        assert_eq!(texts(method, asked.clone(), &["window", "links"]), [false, true], "{method}");
        assert_eq!(texts(method, asked.clone(), &["text", "window"]), [true, true], "{method}");
        let mut asked = asked;
        asked["audience"] = json!("assistant");
        assert_eq!(texts(method, asked, &[]), [false, true], "a bridge shows windows: {method}");
    }
}
