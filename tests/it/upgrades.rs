//! A data folder that the first version wrote opens, and no context in it is paid for again.
//!
//! The folder is frozen in `tests/fixtures/first-version/`: `notes` is the vault, `data` what the program made of it.
//! [`freeze`] made it, with the first version's own program:
//! `SITUATED_FIRST_VERSION=PROGRAM cargo test --test it first_version::freeze -- --ignored`.

use std::fs;
use std::path::{Path, PathBuf};

use protocol::search::SearchRequest;
use serde_json::{Value, json};

use crate::contexts::{SMALL_CHUNKS, start, wait_written};
use crate::model::Model;
use crate::requests::{fresh, query};
use crate::support::{Daemon, Place, copy_tree};

/// A note that was deleted: its contexts are in the archive alone.
const GONE: (&str, &str) = (
    "Windlass.md",
    "# Windlass\n\n## Pawl\n\nThe pawl of the windlass slips when the chain is wet, and is filed every spring.\n\n\
     ## Grease\n\nLanolin before the season, and nothing else, for the deck stains.\n",
);

const NOTES: [(&str, &str); 3] = [
    (
        "Hull.md",
        "# Hull\n\n## Survey\n\nThe surveyor found three soft planks below the waterline, on the port side.\n\n\
         ## Paint\n\nTwo coats of copper paint, and a third at the rudder.\n",
    ),
    (
        "log/2026-05-01.md",
        "---\ntags: [log]\n---\n# First of May\n\n## Weather\n\nWest four to five, and a swell from the north.\n\n\
         ## Crew\n\nAnna steers, Ben looks after the sails.\n",
    ),
    (
        "Diary.md",
        "---\ntags: [private]\n---\n# Diary\n\n## Doubts\n\nWhether to sell her before another winter ashore.\n\n\
         ## Money\n\nThe yard wants an answer and a cheque by the end of the month.\n",
    ),
];

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/first-version")
}

fn configured(model: &Model) -> Place {
    let place = Place::new();
    // As if it were elsewhere: what it was shown tells of no private note.
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", "passes_on = true")));
    place
}

/// Each context by its note and lines, and what they took together. As JSON, for [`freeze`] asks a program of the first
/// version, which says less than the types of today want.
fn bought(daemon: &mut Daemon) -> (Vec<String>, Value) {
    let reviewed = daemon.call("contexts.review", json!({"sample": 200}));
    let of = |found: &Value| format!("{} {} {}", found["path"], found["lines"], found["context"]);
    let mut contexts: Vec<String> = reviewed["contexts"].as_array().unwrap().iter().map(of).collect();
    contexts.sort_unstable();
    let stats = daemon.call("stats", json!({}));
    (contexts, json!([stats["contextualized"], stats["tokens"], stats["micro_dollars"]]))
}

#[test]
fn a_data_folder_of_the_first_version_opens_and_nothing_is_bought_again() {
    let model = Model::start();
    let place = configured(&model);
    copy_tree(&fixture().join("notes"), &place.vault);
    copy_tree(&fixture().join("data"), &place.data());
    // An index lies where the vault's path says.
    let frozen = fs::read_dir(place.data().join("vaults")).unwrap().next().unwrap().unwrap().path();
    let here = engine::vault_dir(&place.data(), &place.vault.canonicalize().unwrap());
    fs::rename(frozen, here).unwrap();

    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let (contexts, cost) = bought(&mut daemon);
    let expected: Value = serde_json::from_slice(&fs::read(fixture().join("expected.json")).unwrap()).unwrap();
    assert_eq!(json!(contexts), expected["contexts"]);
    assert_eq!(cost, expected["cost"]);

    // What was deleted comes back with its contexts.
    place.write(GONE.0, GONE.1);
    daemon.ask(&fresh("pawl"));
    wait_written(&mut daemon);
    let found = daemon.ask(&SearchRequest { limit: Some(1), ..query("pawl windlass") });
    assert_eq!(expected["gone"], found.hits[0].context);
    assert_eq!(model.calls(), 0, "{:?}", model.asked().iter().map(|asked| &asked.task).collect::<Vec<_>>());
}

/// Makes the fixture anew.
#[test]
#[ignore = "makes the fixture anew, with the first version's program, which SITUATED_FIRST_VERSION names"]
fn freeze() {
    let program = std::env::var("SITUATED_FIRST_VERSION").expect("SITUATED_FIRST_VERSION names a program");
    let model = Model::start();
    let place = configured(&model);
    for (path, text) in NOTES.into_iter().chain([GONE]) {
        place.write(path, text);
    }
    let mut command = std::process::Command::new(program);
    let own = place.command();
    command
        .env_clear()
        .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("ANTHROPIC_API_KEY", "sk-test-key");
    let mut daemon = place.spawn_command(command.arg("run"));
    daemon.wait_idle();
    wait_written(&mut daemon);
    let found = daemon.call("search", json!({"query": "pawl windlass", "limit": 1}));
    let gone = found["hits"][0]["context"].clone();
    fs::remove_file(place.vault.join(GONE.0)).unwrap();
    daemon.call("search", json!({"query": "the", "fresh": true}));
    let (contexts, cost) = bought(&mut daemon);
    assert!(!contexts.is_empty() && gone.is_string());
    daemon.stop();

    let fixture = fixture();
    let _ = fs::remove_dir_all(&fixture);
    copy_tree(&place.vault, &fixture.join("notes"));
    for part in ["vaults", "ledger"] {
        copy_tree(&place.data().join(part), &fixture.join("data").join(part));
    }
    let expected = json!({"contexts": contexts, "cost": cost, "gone": gone});
    fs::write(fixture.join("expected.json"), format!("{expected:#}\n")).unwrap();
}
