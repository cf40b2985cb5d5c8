//! `mitmproxy` before `aimock`: a good model behind a network, or a gateway, that is not.

use std::time::Instant;

use serde_json::json;

use crate::orchard::{CAPTIONS, LANTERN, came_to, captions, daemon, doctor, finished, held, place};
use crate::server::{Aimock, Faults};

fn model() -> Aimock {
    let says = |words: &str, text: &str| json!({"match": {"userMessage": words}, "response": {"content": text}});
    Aimock::start(&json!([says("Veddel", LANTERN), says("passages:", &captions())]))
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn whatever_happens_on_the_way_is_tried_again() {
    // (what is done to the requests, how many of them reach the model, how many may be on the bill: those that nobody
    // refused; a 408 leaves open what became of the request)
    let table = [
        ("429=1,529,reset,pass", 1, 2),
        ("html,503,408,pass", 1, 2),
        ("500,409,429=1,pass", 1, 1),
        ("garbage,empty,cut=40,pass", 4, 4),
        ("hang=5,reset,pass", 1, 3),
    ];
    for (faults, reached, billed) in table {
        let model = model();
        let network = Faults::before(&model.0, faults, None);
        let place = place("anthropic", &network.0.url(), "timeout = \"2s\"");
        let mut daemon = daemon(&place);
        let stats = finished(&mut daemon);
        assert_eq!(stats["outcomes"], json!({"taken_note": 3}), "{faults}");
        assert_eq!(held(&mut daemon), CAPTIONS, "{faults}");
        assert_eq!(network.done(), faults.split(',').collect::<Vec<_>>(), "{faults}");
        assert_eq!(model.journal().len(), reached, "{faults}");
        let today = daemon.call("cost", json!({}))["today"].clone();
        assert_eq!((&today["calls"], &today["contexts"]), (&json!(billed), &json!(3)), "{faults}: {today}");
    }
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn attempts_are_counted_and_end() {
    let model = model();
    let network = Faults::before(&model.0, "429=1,reset,pass,503,503,503,503", None);
    let place = place("openai", &network.0.url(), "");
    let began = Instant::now();
    let report = doctor(&place);
    assert_eq!((&report["ok"], &report["answer"]["attempts"]), (&json!(true), &json!(3)), "{report}");
    assert!(began.elapsed().as_millis() >= 1_000, "it asked to be left alone for a second");
    let report = doctor(&place);
    assert_eq!(report["failure"]["kind"], "unavailable", "{report}");
    assert_eq!(network.done().len(), 3 + 4);
    assert_eq!(model.journal().len(), 1);
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn what_does_not_get_better_is_not_tried_again() {
    for (fault, outcome) in [("401", "failed_unauthorized"), ("402", "failed_spend_limit")] {
        let model = model();
        let network = Faults::before(&model.0, fault, None);
        let place = place("anthropic", &network.0.url(), "");
        let mut daemon = daemon(&place);
        let stats = came_to(&mut daemon, outcome);
        assert_eq!(stats["outcomes"], json!({ outcome: 1 }), "{fault}");
        let status = daemon.wait_for("stopped", |status| status.problems.len() == 1);
        assert_eq!((status.contexts.waiting, network.done().len()), (3, 1), "{fault}: {status:?}");
        daemon.call("resume", json!({}));
        assert_eq!(finished(&mut daemon)["contextualized"], 3, "{fault}");
        assert_eq!(network.done().len(), 2, "{fault}");
    }
}
