//! What was paid for outlives edits, kills and the loss of the database.

use std::fs;
use std::time::{Duration, Instant};

use note::VaultPath;
use note::chunk::{Chunk, ChunkConfig, Strategy};
use note::fingerprint::{Sketch, context_key};
use note::{Note, NoteRules, parse};
use protocol::decision::{Decision, Reason};
use serde_json::json;

use crate::requests::by_words;
use crate::support::{Daemon, Place, eventually};
use crate::writer::Random;

/// A note of two chunks, so that its sections would be worth a model's context.
const PAID: &str = "# Estuary\n\nA lead that stands before.\n\n## Herons\n\nThey stand in shallow water and wait for fish \
                    that come with the tide.\n\n## Egrets\n\nThey stir the mud with one foot.\n";
const WRITTEN: &str = "In the note on the estuary, a model of some renown describes how herons hunt.";
const PAID_CONFIG: &str = "[chunk]\nstrategy = \"markdown\"\nmin = 0\n";

/// The note's chunks as the daemon cuts them under [`PAID_CONFIG`].
fn chunks_of(path: &str, text: &str) -> (Note, Vec<Chunk>) {
    let note = parse(&VaultPath::parse(path).unwrap(), text.as_bytes(), &NoteRules::default());
    let config = ChunkConfig { strategy: Strategy::Markdown, min: 0, ..ChunkConfig::default() };
    let chunks = index::chunk::cut(&note, &config);
    (note, chunks)
}

/// A line of `situated contexts export` for the chunk that holds a word.
fn exported(path: &str, text: &str, word: &str) -> String {
    let (note, chunks) = chunks_of(path, text);
    assert!(chunks.len() > 1, "{chunks:?}");
    let chunk = chunks.iter().find(|chunk| note.text[chunk.span.clone()].contains(word)).unwrap();
    let line = json!({
        "schema": 1,
        "key": context_key(&chunk.keys, chunk.hash).to_string(),
        "text": WRITTEN,
        "origin": "model",
        "generation": "some-model/3",
        "sections": chunk.keys.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "written_for": chunk.hash.to_string(),
        "sketch": Sketch::of(&note.text[chunk.span.clone()]),
        "quality": 0.9,
        "written_at": 1_770_000_000,
        "tokens_in": 900,
        "tokens_out": 80,
        "micro_dollars": 1234,
    });
    format!("{line}\n")
}

/// The context of the chunk that a word finds.
fn context_of(daemon: &mut Daemon, word: &str) -> String {
    let found = daemon.ask(&by_words(&format!("\"{word}\"")));
    found.hits.into_iter().next().map(|hit| hit.context).unwrap_or_default()
}

fn steps_with(decision: &Decision, reason: Reason) -> usize {
    decision.steps.iter().filter(|step| step.reason == reason).count()
}

/// A vault in a configuration, as `situated contexts` needs it, indexed once.
fn with_paid_config() -> Place {
    let place = Place::with(&[("Other.md", "# Other\n\nA bittern.\n")]);
    let config = format!("{PAID_CONFIG}\n[[vault]]\nname = \"notes\"\npath = {:?}\n", place.vault);
    fs::write(place.dir.path().join("config.toml"), config).unwrap();
    place
}

fn start_configured(place: &Place) -> Daemon {
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon
}

#[test]
fn a_paid_context_survives_every_edit_and_the_loss_of_the_database() {
    let place = with_paid_config();
    let file = place.dir.path().join("contexts.jsonl");
    fs::write(&file, exported("Birds/Estuary.md", PAID, "Herons")).unwrap();
    let file = file.to_str().unwrap();

    // Only without a daemon.
    let daemon = start_configured(&place);
    for action in ["import", "export"] {
        let refused = place.run(&["contexts", action, file]);
        assert_eq!(refused.status.code(), Some(75), "{action}: {refused:?}");
    }
    assert!(fs::read_to_string(file).unwrap().contains(WRITTEN), "a refused export has emptied the file");
    assert_eq!(daemon.stop(), Some(0));
    for (round, said) in ["1 context added, 0 known", "0 contexts added, 1 known"].iter().enumerate() {
        let output = place.run(&["contexts", "import", file]);
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && text.contains(said), "round {round}: {text}");
    }

    let mut daemon = start_configured(&place);
    let note = "Birds/Estuary.md";
    place.write(note, PAID);
    daemon.wait_holding("fish", &[note]);
    assert_eq!(context_of(&mut daemon, "fish"), WRITTEN);
    assert_ne!(context_of(&mut daemon, "mud"), WRITTEN, "another section has another context");
    eventually("it is told", || {
        daemon.decision(note).is_some_and(|decision| steps_with(&decision, Reason::FoundInArchive) == 1)
    });

    // An edit of the body keeps it.
    let edited = PAID.replace("fish that", "eels and frogs that");
    place.write(note, &edited);
    daemon.wait_holding("frogs", &[note]);
    eventually("decided", || daemon.decision(note).unwrap().reason == Reason::BodyChanged);
    assert_eq!(daemon.decision(note).unwrap().regenerated, 0);
    assert_eq!(context_of(&mut daemon, "frogs"), WRITTEN);

    // Another heading is another section; undone, it is the one that was paid for.
    place.write(note, edited.replace("## Herons", "## Waders"));
    daemon.wait_holding("Waders", &[note]);
    assert_ne!(context_of(&mut daemon, "frogs"), WRITTEN);
    eventually("decided", || daemon.decision(note).unwrap().reason == Reason::StructureChanged);
    let decision = daemon.decision(note).unwrap();
    assert!(decision.regenerated >= 1, "{decision:?}");
    place.write(note, &edited);
    daemon.wait_holding("Waders", &[]);
    eventually("found again", || steps_with(&daemon.decision(note).unwrap(), Reason::FoundInArchive) == 1);
    assert_eq!(context_of(&mut daemon, "frogs"), WRITTEN);

    // So is a note that comes back, as it was last or as it was first.
    for (text, word) in [(edited.as_str(), "frogs"), (PAID, "fish")] {
        fs::remove_file(place.vault.join(note)).unwrap();
        daemon.wait_holding("tide", &[]);
        place.write(note, text);
        daemon.wait_holding(word, &[note]);
        assert_eq!(context_of(&mut daemon, word), WRITTEN, "{word}");
    }

    // And so is one that comes back as another text first, which nobody has paid for.
    fs::remove_file(place.vault.join(note)).unwrap();
    daemon.wait_holding("tide", &[]);
    place.write(note, PAID.replace("wait for fish", "dream of crabs"));
    daemon.wait_holding("crabs", &[note]);
    assert_ne!(context_of(&mut daemon, "crabs"), WRITTEN);
    place.write(note, PAID);
    daemon.wait_holding("fish", &[note]);
    assert_eq!(context_of(&mut daemon, "fish"), WRITTEN, "a paid context lies in the archive and is not used");

    // A note that moves takes it along.
    let moved = "Sea/Estuary.md";
    fs::create_dir(place.vault.join("Sea")).unwrap();
    fs::rename(place.vault.join(note), place.vault.join(moved)).unwrap();
    daemon.wait_holding("fish", &[moved]);
    assert_eq!(context_of(&mut daemon, "fish"), WRITTEN);
    daemon.kill();

    // Without the database it comes back from the journal.
    let store = place.store();
    fs::remove_dir_all(store.join("sled")).unwrap();
    fs::write(store.join("sled"), "gone").unwrap();
    let mut daemon = start_configured(&place);
    daemon.wait_holding("fish", &[moved]);
    eventually("the context is back", || context_of(&mut daemon, "fish") == WRITTEN);
    let problems = daemon.status().problems.concat();
    assert!(problems.contains("1 contexts came back") || problems.contains("1 context came back"), "{problems}");
    assert_eq!(daemon.stop(), Some(0));

    let output = place.run(&["contexts", "export"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains(WRITTEN), "{output:?}");
    // What was exported can be taken in elsewhere, and serves there.
    let elsewhere = with_paid_config();
    assert_eq!(start_configured(&elsewhere).stop(), Some(0));
    let copy = elsewhere.dir.path().join("copy.jsonl");
    fs::write(&copy, text).unwrap();
    assert!(elsewhere.run(&["contexts", "import", copy.to_str().unwrap()]).status.success());
    elsewhere.write("Anywhere.md", &edited);
    let mut daemon = start_configured(&elsewhere);
    daemon.wait_holding("frogs", &["Anywhere.md"]);
    assert_eq!(context_of(&mut daemon, "frogs"), WRITTEN);
}

#[test]
fn a_paid_context_survives_a_kill_at_any_moment() {
    let place = with_paid_config();
    assert_eq!(start_configured(&place).stop(), Some(0));
    let file = place.dir.path().join("contexts.jsonl");
    fs::write(&file, exported("a.md", PAID, "Herons")).unwrap();
    assert!(place.run(&["contexts", "import", file.to_str().unwrap()]).status.success());
    let mut random = Random(10);
    for round in 0..8 {
        let daemon = place.spawn(&["run"]);
        let until = Instant::now() + Duration::from_millis(40 + random.below(300));
        while Instant::now() < until {
            match random.below(5) {
                0 => drop(fs::remove_file(place.vault.join("a.md"))),
                1 => place.write("a.md", PAID.replace("## Herons", "## Waders")),
                2 => place.write("a.md", PAID.replace("fish", &format!("fish and w{round}"))),
                _ => place.write("a.md", PAID),
            }
            std::thread::sleep(Duration::from_millis(random.below(90)));
        }
        daemon.kill();
    }
    let mut daemon = start_configured(&place);
    place.write("a.md", PAID);
    eventually("the context is there", || context_of(&mut daemon, "fish") == WRITTEN);
    // Were it bought again, somebody would pay: it is found for the text that it was bought for, too.
    fs::remove_file(place.vault.join("a.md")).unwrap();
    daemon.wait_holding("fish", &[]);
    place.write("b/moved and restored.md", PAID);
    daemon.wait_holding("fish", &["b/moved and restored.md"]);
    assert_eq!(context_of(&mut daemon, "fish"), WRITTEN);
}

#[test]
fn an_import_needs_no_run_before_it_and_counts_the_lines_that_it_passes_over() {
    let place = with_paid_config();
    let file = place.dir.path().join("contexts.jsonl");
    fs::write(&file, format!("{}{}", exported("a.md", PAID, "Herons"), "not JSON\n".repeat(60))).unwrap();
    let output = place.run(&["contexts", "import", file.to_str().unwrap()]);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("1 context added") && text.contains("60 lines in all"), "{text}");
    place.write("a.md", PAID);
    let mut daemon = start_configured(&place);
    assert_eq!(context_of(&mut daemon, "fish"), WRITTEN);
    daemon.stop();
    let exported = place.run(&["contexts", "export", "-"]);
    assert_eq!(String::from_utf8(exported.stdout).unwrap().lines().count(), 1, "`-` is standard output");
}

#[test]
fn a_command_leaves_a_damaged_store_for_the_daemon_which_says_what_is_lost() {
    let place = with_paid_config();
    place.write("a.md", PAID);
    let file = place.dir.path().join("contexts.jsonl");
    fs::write(&file, exported("a.md", PAID, "Herons")).unwrap();
    let import = || place.run(&["contexts", "import", file.to_str().unwrap()]).status.code();
    assert_eq!(import(), Some(0));
    start_configured(&place).stop();
    let journal = place.store().join("contexts.journal");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[40..60].fill(0xff);
    bytes.extend_from_within(..);
    fs::write(&journal, bytes).unwrap();
    fs::write(place.store().join("sled/db"), "").unwrap();
    for command in ["export", "import"] {
        let output = place.run(&["contexts", command, file.to_str().unwrap()]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(74) && text.contains("`situated run` makes it anew"), "{text}");
    }
    let problems = start_configured(&place).status().problems;
    assert!(problems.iter().any(|problem| problem.contains("which is damaged too")), "{problems:?}");
}
