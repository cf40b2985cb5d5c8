//! The vault of these tests, what a good model says about it, and the program that asks.

use protocol::status::RunState;
use serde_json::{Value, json};

use crate::support::{Daemon, Place};

/// A note of three chunks.
pub(crate) const NOTE: &str = "# Orchard survey\n\n\
    The survey of the Tesdorf orchard begins in April with Jonas Wirth as its lead.\n\n\
    ## Old trees\n\nHe found canker on the oldest row, and the grafting has to wait until the cuttings from \
    Hollern arrive by train.\n\n\
    ## Press house\n\nWe rented the press from the cooperative, and the committee wants a list of everybody who \
    brings apples and of what they are owed.\n";

/// A context for each chunk that the gate takes; those of `litellm.yaml` are the same.
pub(crate) const CAPTIONS: [&str; 3] = [
    "The Orchard survey as a whole: Jonas Wirth leads it in Tesdorf, with the old trees and the press house to follow.",
    "Old trees in the Orchard survey of Tesdorf: Jonas Wirth found canker, and grafting waits for the cuttings from \
     Hollern.",
    "The press house in the Orchard survey of Tesdorf that Jonas Wirth leads: the press, and a list for the committee.",
];

/// A context that the gate takes for the note that `situated doctor` asks about.
pub(crate) const LANTERN: &str = "Spare parts for the green lantern of the Sandholm harbour: Mira ordered two lenses \
    from the workshop in Veddel for its repair.";

/// What every server takes for a key.
pub(crate) const KEY: &str = "sk-local-test";

/// The answer to a question about the whole note.
pub(crate) fn captions() -> String {
    let captions: Vec<Value> =
        CAPTIONS.iter().enumerate().map(|(at, text)| json!({"n": at + 1, "text": text})).collect();
    json!({ "captions": captions }).to_string()
}

/// A vault with the note, whose contexts `provider` writes at `url`; `more` goes into `[context]`.
pub(crate) fn place(provider: &str, url: &str, more: &str) -> Place {
    let place = Place::with(&[("Orchard survey.md", NOTE)]);
    let context = format!(
        "[context]\nprovider = \"{provider}\"\nbase_url = \"{url}\"\nconsent = \"given\"\nsettle = \"50ms\"\n{more}\n"
    );
    // Every heading makes a chunk.
    place.configure(&format!("{context}[chunk]\nmin = 1\ntarget = 20\nmax = 200\n"));
    place
}

fn command(place: &Place) -> std::process::Command {
    let mut command = place.command();
    for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"] {
        command.env(name, KEY);
    }
    command
}

/// A daemon over the vault.
pub(crate) fn daemon(place: &Place) -> Daemon {
    let mut daemon = place.spawn_command(command(place).arg("run"));
    daemon.wait_idle();
    daemon
}

/// Whether nothing is indexed any more; a model that fails is a problem, and no work.
fn at_rest(state: RunState) -> bool {
    matches!(state, RunState::Idle | RunState::Degraded)
}

/// Waits until nothing waits for the model any more; the daemon's `stats`.
pub(crate) fn finished(daemon: &mut Daemon) -> Value {
    daemon.wait_for("finished", |status| status.contexts.waiting == 0 && at_rest(status.state));
    assert!(!daemon.log().contains(KEY), "the key is in the log");
    daemon.call("stats", json!({}))
}

/// Waits until asking came to `outcome`; the daemon's `stats`.
pub(crate) fn came_to(daemon: &mut Daemon, outcome: &str) -> Value {
    let mut stats = Value::Null;
    crate::support::eventually(outcome, || {
        stats = daemon.call("stats", json!({}));
        stats["outcomes"][outcome].as_u64().is_some_and(|count| count > 0)
    });
    stats
}

/// The contexts that a model wrote, in the order of the note.
pub(crate) fn held(daemon: &mut Daemon) -> Vec<String> {
    let review = daemon.call("contexts.review", json!({"sample": 50}));
    let mut contexts: Vec<(u64, String)> = review["contexts"]
        .as_array()
        .unwrap_or_else(|| panic!("{review}"))
        .iter()
        .map(|one| (one["lines"][0].as_u64().unwrap(), one["context"].as_str().unwrap().to_owned()))
        .collect();
    contexts.sort();
    contexts.into_iter().map(|(_, context)| context).collect()
}

/// What `situated doctor --provider` finds.
pub(crate) fn doctor(place: &Place) -> Value {
    let output = command(place).args(["doctor", "--provider", "--json"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains(KEY) && !talk.contains(KEY), "the key is printed");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}{talk}"))
}
