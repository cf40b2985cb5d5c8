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
