//! Data folders of other versions. One that an earlier version wrote opens, and no context in it is paid for again; one that a
//! newer version wrote is left alone.
//!
//! A folder of each version is frozen in `tests/fixtures/`, which says how it was made (by [`freeze`]): `notes` is the vault, `data`
//! what the program made of it.

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

/// The versions whose folders are kept; the first is 0.1.
const VERSIONS: [&str; 2] = ["first-version", "0.2.0"];

fn fixture(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(version)
}

/// A copy of a frozen folder with its vault; an index lies where the vault's path says.
fn thawed(version: &str, model: &Model) -> Place {
    let place = configured(model);
    copy_tree(&fixture(version).join("notes"), &place.vault);
    copy_tree(&fixture(version).join("data"), &place.data());
    let frozen = fs::read_dir(place.data().join("vaults")).unwrap().next().unwrap().unwrap().path();
    fs::rename(frozen, place.store_path()).unwrap();
    place
}

fn configured(model: &Model) -> Place {
    let place = Place::new();
    // As if it were elsewhere: what it was shown tells of no private note.
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", "passes_on = true")));
    place
}

/// Each context by its note and lines, and what they took together. As JSON, for [`freeze`] may ask a program of the first
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
fn a_data_folder_of_every_version_opens_and_nothing_is_bought_again() {
    for version in VERSIONS {
        let model = Model::start();
        let place = thawed(version, &model);
        let mut daemon = start(&place);
        wait_written(&mut daemon);
        assert_eq!(daemon.status().problems, [""; 0], "{version}");
        let (contexts, cost) = bought(&mut daemon);
        let expected: Value =
            serde_json::from_slice(&fs::read(fixture(version).join("expected.json")).unwrap()).unwrap();
        assert_eq!(json!(contexts), expected["contexts"], "{version}");
        assert_eq!(cost, expected["cost"], "{version}");

        // What was deleted comes back with its contexts.
        place.write(GONE.0, GONE.1);
        daemon.ask(&fresh("pawl"));
        wait_written(&mut daemon);
        let found = daemon.ask(&SearchRequest { limit: Some(1), ..query("pawl windlass") });
        assert_eq!(expected["gone"], found.hits[0].context, "{version}");
        assert_eq!(
            model.calls(),
            0,
            "{version}: {:?}",
            model.asked().iter().map(|asked| &asked.task).collect::<Vec<_>>()
        );
    }
}

/// Going back to an older version is no way to lose an index, nor to pay twice.
#[test]
fn what_a_newer_version_wrote_is_left_alone_and_status_says_by_whom_and_what_to_do() {
    /// A version of records that is not known.
    const RECORDS: u8 = 200;
    let model = Model::start();
    let place = thawed("first-version", &model);
    let index = place.store_path();
    let payload = b"what is not known yet";
    let sum = blake3::hash(&[&[RECORDS], &payload[..]].concat());
    let newer = [&[RECORDS], &sum.as_bytes()[..8], payload].concat();
    // Into the place of a note's record, and back.
    let swap = |name: &[u8], bytes: &[u8]| {
        let database = sled::open(index.join("sled")).unwrap();
        let before = database.open_tree("notes").unwrap().insert(name, bytes).unwrap();
        database.flush().unwrap();
        before.expect("the note is known")
    };
    let record = swap(b"Hull.md", &newer);
    fs::write(index.join("version"), "9.1.0\n").unwrap();
    let journal = fs::read(index.join("contexts.journal")).unwrap();

    let mut daemon = place.spawn_command(place.command().env("ANTHROPIC_API_KEY", "sk-test-key").arg("run"));
    let status = daemon.wait_for("the newer version is told of", |status| !status.problems.is_empty());
    let problem = status.problems.concat();
    for said in
        ["a newer version of situated wrote it (9.1.0; this is", "run that version again, or move this folder away"]
    {
        assert!(problem.contains(said), "{problem}");
    }
    assert!(problem.contains(&*index.join("sled").to_string_lossy()), "{problem}");
    daemon.stop();
    assert_eq!(fs::read(index.join("contexts.journal")).unwrap(), journal);
    assert_eq!(fs::read_to_string(index.join("version")).unwrap(), "9.1.0\n", "it was not opened");
    let moved = fs::read_dir(&index).unwrap().flatten().any(|e| e.file_name().to_string_lossy().contains("damaged"));
    assert!(!moved, "it was taken for damage");

    // The newer version finds everything as it was.
    swap(b"Hull.md", &record);
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    assert_eq!((daemon.status().problems.len(), model.calls()), (0, 0));
}

/// Makes a fixture anew: see `tests/fixtures/README.md`.
#[test]
#[ignore = "makes the fixture of the version that SITUATED_FREEZE names anew, with the program that SITUATED_PROGRAM names"]
fn freeze() {
    let version = std::env::var("SITUATED_FREEZE").expect("SITUATED_FREEZE names a version");
    let program = std::env::var("SITUATED_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_situated").to_owned());
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

    let fixture = fixture(&version);
    let _ = fs::remove_dir_all(&fixture);
    copy_tree(&place.vault, &fixture.join("notes"));
    for part in ["vaults", "ledger"] {
        copy_tree(&place.data().join(part), &fixture.join("data").join(part));
    }
    let expected = json!({"contexts": contexts, "cost": cost, "gone": gone});
    fs::write(fixture.join("expected.json"), format!("{expected:#}\n")).unwrap();
}
