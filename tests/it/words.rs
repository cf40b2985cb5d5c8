//! What a query's words stand for, over the socket.

use serde_json::{Value, json};

use crate::support::Place;

fn paths(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect()
}

#[test]
fn beginnings_and_slips() {
    let place = Place::new();
    place.write("Obsidian.md", "# Obsidian\n\nWhere notes are kept together.\n");
    place.write("Compost.md", "# Compost\n\nTurn the heap every other week.\n");
    let mut daemon = place.start();
    let mut ask =
        |query: &str, prefix: bool| daemon.call("search", json!({"query": query, "prefix": prefix, "mode": "lexical"}));
    assert_eq!(paths(&ask("comp", true)), ["Compost.md"]);
    assert_eq!(paths(&ask("comp", false)), [""; 0]);
    assert_eq!(paths(&ask("comp ", true)), [""; 0]);
    let answer = ask("obsidain notes", false);
    assert_eq!(paths(&answer), ["Obsidian.md"]);
    assert_eq!(answer["warnings"], json!(["`obsidain` is nowhere; searched for `obsidian`"]));
    assert!(!answer["hits"][0]["highlights"].as_array().unwrap().is_empty());
    assert_eq!(ask("obsidian", false)["warnings"], json!([]));
}

#[test]
fn hits_below_a_score_are_left_out_and_say_what_they_are() {
    let place = Place::new();
    place.write(
        "Heron.md",
        "---\ntags: [bird, water]\ntype: species\ndate: 2026-03-04\n---\n\n# Heron\n\nA heron stands in the water.\n",
    );
    place.write("Pond.md", "# Pond\n\nThere are carp, reeds, frogs and, once in a while, a heron.\n");
    let mut daemon = place.start();
    let hits = daemon.call("search", json!({"query": "heron"}))["hits"].as_array().unwrap().clone();
    assert_eq!(hits.len(), 2);
    let (best, worst) = (&hits[0], hits[1]["score"].as_f64().unwrap());
    assert_eq!(
        (&best["kind"], &best["tags"], &best["date"]),
        (&json!("species"), &json!(["bird", "water"]), &json!("2026-03-04"))
    );
    assert!(hits[1].get("kind").is_none() && hits[1].get("tags").is_none() && hits[1].get("date").is_none());
    let above = daemon.call("search", json!({"query": "heron", "min_score": worst + 0.001}));
    assert_eq!((paths(&above), &above["truncated"]), (vec!["Heron.md"], &json!(false)));
    for wrong in [-0.1, 1.5] {
        let refused = daemon.try_call("search", json!({"query": "heron", "min_score": wrong})).unwrap_err();
        assert!(refused["message"].as_str().unwrap().contains("0 to 1"), "{refused}");
    }
}
