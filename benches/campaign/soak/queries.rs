//! Who asks: every kind of question, by connections that come and go.

use serde_json::{Value, json};

use super::{Soak, ending};
use crate::common::daemon::Client;
use crate::common::rng::Rng;

/// Asks until the soak is over.
pub(super) fn ask(soak: &Soak, mut rng: Rng) {
    let mut client = None;
    while !soak.is_over() {
        if rng.chance(0.05) {
            client = None;
        }
        let (method, params) = question(soak, &mut rng);
        let connected = match client.take() {
            Some(client) => Ok(client),
            None => Client::connect(&soak.socket),
        };
        let answer = connected.and_then(|mut connected| {
            let answer = connected.call(method, &params);
            client = Some(connected);
            answer
        });
        let end = ending(&answer);
        if end == "no answer" {
            client = None;
        }
        soak.count(method, end);
        soak.rest(&mut rng);
    }
}

/// Three words of a text that stand one after the other.
pub(super) fn words(text: &str, rng: &mut Rng) -> String {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 3).collect();
    let from = rng.below(words.len().saturating_sub(3));
    words[from..(from + 3).min(words.len())].join(" ")
}

fn question(soak: &Soak, rng: &mut Rng) -> (&'static str, Value) {
    let (path, text) = soak.notes.lock().expect("no holder panics").any(rng);
    let words = words(&text, rng);
    match rng.below(100) {
        0..=11 => ("search", json!({"query": words})),
        12..=17 => ("search", json!({"query": words, "mode": "lexical", "explain": true})),
        18..=23 => {
            ("search", json!({"query": words, "mode": "dense", "include": ["links", "quality", "text", "window"]}))
        }
        24..=29 => ("search", json!({"query": words, "prefix": true, "limit": 5})),
        30..=33 => ("search", json!({"query": format!("\"{words}\""), "fresh": true})),
        34..=37 => ("search", json!({"query": format!("{words} type:daily -tag:none"), "contextual": false})),
        38..=40 => ("search", json!({"query": words, "expand": "queries"})),
        41..=43 => ("search", json!({"query": words, "expect": path})),
        44..=49 => ("related", json!({"path": path, "group": "note"})),
        50..=52 => ("related", json!({"text": words})),
        53..=57 => ("grep", json!({"pattern": format!("{}\\w*", words.split(' ').next().unwrap_or("a"))})),
        58..=62 => ("get", json!({"path": path, "links": true})),
        63..=66 => ("recent", json!({"limit": 50})),
        67..=70 => ("names", json!({"what": *rng.pick(&["notes", "tags", "folders", "types", "properties"])})),
        71..=73 => ("graph", json!({"edges": true})),
        74..=76 => ("plan", json!({"path": path, "text": text})),
        77..=79 => ("explain", json!({"path": path})),
        80..=82 => ("stats", json!({})),
        83..=84 => ("cost", json!({})),
        85..=87 => ("status", json!({})),
        88..=89 => ("jobs", json!({})),
        90..=91 => ("contexts.review", json!({"sample": 20})),
        92..=93 => ("sync", json!({"wait": true})),
        94 => ("rebuild", json!({"path": path, "wait": true})),
        95..=96 => ("generate_context", json!({"title": path, "document": text, "chunk": words})),
        _ => ("ask", json!({"question": words, "stream": false})),
    }
}
