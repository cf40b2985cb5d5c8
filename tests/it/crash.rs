//! Whatever dies, the index converges to what a build from nothing gives, and no paid context is lost:
//! `kill -9` at any moment, damaged stores, a full disk, a vault that vanishes.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use note::VaultPath;
use note::chunk::{Chunk, ChunkConfig, Strategy};
use note::fingerprint::{Sketch, context_key};
use note::{Note, NoteRules, parse};
use protocol::decision::{Decision, Reason};
use protocol::jobs::RebuildRequest;
use protocol::search::{Mode, SearchRequest};
use protocol::status::RunState;
use serde_json::json;

use crate::requests::{by_words, is_idle_with, query};
use crate::small_disk::SmallDisk;
use crate::support::{Daemon, Place, assert_like_fresh, eventually, view};

const QUERIES: [&str; 8] = [
    "heron",
    "egret alder path:f3/",
    "\"shallow water alder\"",
    "w3",
    "w11 w12",
    "\"Title w7\"",
    "tide path:f1/",
    "otter at dawn path:f5/ -nest",
];

/// Random numbers, the same in each run (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }

    fn text(&mut self) -> String {
        let words = ["heron", "egret", "alder", "nest", "tide", "reed", "shallow water", "mud", "dawn", "otter"];
        let mut text = format!("# Title w{}\n\n", self.below(20));
        for part in 0..=self.below(4) {
            text.push_str(&format!("## Part {part}\n\n"));
            for _ in 0..5 + self.below(60) {
                text.push_str(words[self.below(10) as usize]);
                text.push(if self.below(12) == 0 { '\n' } else { ' ' });
            }
            text.push_str(&format!("w{}\n\n", self.below(30)));
        }
        text
    }
}

/// Somebody who works in a vault, and remembers what should be in it.
struct Writer<'a> {
    place: &'a Place,
    random: Random,
    notes: BTreeMap<String, String>,
    made: u64,
}

impl<'a> Writer<'a> {
    fn new(place: &'a Place, seed: u64, count: usize) -> Self {
        let mut writer = Writer { place, random: Random(seed), notes: BTreeMap::new(), made: 0 };
        for _ in 0..count {
            writer.create();
        }
        writer
    }

    fn path(&mut self) -> String {
        self.made += 1;
        format!("f{}/n{}.md", self.random.below(6), self.made)
    }

    fn create(&mut self) {
        let (path, text) = (self.path(), self.random.text());
        self.place.write(&path, &text);
        self.notes.insert(path, text);
    }

    fn any(&mut self) -> String {
        let n = self.random.below(self.notes.len() as u64) as usize;
        self.notes.keys().nth(n).unwrap().clone()
    }

    /// One change, of a kind that happens in a vault.
    fn step(&mut self) {
        let (path, root) = (self.any(), &self.place.vault);
        let old = self.notes[&path].clone();
        let new = match self.random.below(8) {
            0 | 1 => return self.create(),
            2 if self.notes.len() > 40 => {
                fs::remove_file(root.join(&path)).unwrap();
                self.notes.remove(&path);
                return;
            }
            2 | 3 => {
                let (to, root) = (self.path(), self.place.vault.clone());
                fs::create_dir_all(root.join(&to).parent().unwrap()).unwrap();
                fs::rename(root.join(&path), root.join(&to)).unwrap();
                self.notes.remove(&path);
                self.notes.insert(to, old);
                return;
            }
            4 => old.replacen("## Part", "## Renamed Part", 1),
            5 => self.random.text(),
            _ => format!("{old}\nAn otter at dawn, w{}.\n", self.random.below(30)),
        };
        if self.random.below(2) == 0 {
            self.place.write(&path, &new);
        } else {
            let temporary = self.place.vault.join(format!("{path}.tmp"));
            fs::write(&temporary, &new).unwrap();
            fs::rename(temporary, self.place.vault.join(&path)).unwrap();
        }
        self.notes.insert(path, new);
    }

    /// The vault holds what was written to it, and no more.
    fn check(&self) {
        let tree = self.place.tree();
        let files: BTreeMap<String, String> = tree
            .into_iter()
            .filter(|(_, hash)| hash != "folder")
            .map(|(path, hash)| (path.to_str().unwrap().to_owned(), hash))
            .collect();
        let expected: BTreeMap<String, String> =
            self.notes.iter().map(|(path, text)| (path.clone(), blake3::hash(text.as_bytes()).to_string())).collect();
        assert_eq!(files, expected);
    }
}

fn spawn(place: &Place) -> Daemon {
    place.spawn(&["run", place.vault.to_str().unwrap()])
}

/// The folder of the vault's store.
fn store(place: &Place) -> PathBuf {
    let found = engine::vault_dir(&place.data(), &place.vault.canonicalize().unwrap());
    assert!(found.is_dir(), "{} is no folder", found.display());
    found
}

/// What was moved aside in the store's folder.
fn moved_aside(store: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.to_str().unwrap().contains(".damaged-")).collect()
}

#[test]
fn killed_at_random_moments_while_notes_change() {
    let place = Place::new();
    let mut writer = Writer::new(&place, 20_260_401, 80);
    for _ in 0..12 {
        let daemon = spawn(&place);
        let until = Instant::now() + Duration::from_millis(30 + writer.random.below(500));
        while Instant::now() < until {
            writer.step();
            std::thread::sleep(Duration::from_millis(writer.random.below(25)));
        }
        daemon.kill();
        // And while nobody looks.
        for _ in 0..writer.random.below(3) {
            writer.step();
        }
    }
    let mut daemon = place.start();
    assert_like_fresh(&place, &mut daemon, &QUERIES);
    assert_eq!(daemon.status().problems, [""; 0], "a kill damages nothing");
    writer.check();
    // What came through all that lives on.
    for _ in 0..30 {
        writer.step();
    }
    assert_like_fresh(&place, &mut daemon, &QUERIES);
    writer.check();
    assert!(!daemon.log().contains("ERROR"), "{}", daemon.log());
}

#[test]
fn killed_during_the_first_index() {
    let place = Place::new();
    let writer = Writer::new(&place, 7, 400);
    for wait in [0, 1, 100, 200] {
        let mut daemon = spawn(&place);
        if wait == 0 {
            // Before the socket answers.
            std::thread::sleep(Duration::from_millis(20));
        } else {
            daemon.wait_vault("begun", |vault| vault.notes >= wait);
        }
        daemon.kill();
    }
    let mut daemon = place.start();
    assert_like_fresh(&place, &mut daemon, &QUERIES);
    writer.check();
}

#[test]
fn killed_during_a_rebuild() {
    let place = Place::new();
    let writer = Writer::new(&place, 8, 400);
    let mut daemon = place.start();
    for done in [1, 150, 300] {
        let job = daemon.ask(&RebuildRequest::default()).job;
        eventually("the rebuild is under way", || {
            let rebuild = daemon.job(job);
            rebuild.done >= done || !rebuild.is_running()
        });
        daemon.kill();
        daemon = place.start();
        // The database may have lost its last half second; the first look makes that again.
        daemon.wait_for("whole again", |status| is_idle_with(status, 400));
    }
    assert_like_fresh(&place, &mut daemon, &QUERIES);
    writer.check();
}

/// A damage to a store, with whether the database has to be moved aside for it (`None`: it may be).
type Damage = (&'static str, Option<bool>, fn(&Path));

/// The one file in a folder whose name a condition picks, or the largest of several.
fn largest(dir: &Path, is_it: impl Fn(&str) -> bool) -> PathBuf {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file() && is_it(path.file_name().unwrap().to_str().unwrap()));
    let largest = files.max_by_key(|path| path.metadata().unwrap().len());
    largest.unwrap_or_else(|| panic!("no such file in {}", dir.display()))
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

const DAMAGES: [Damage; 12] = [
    ("the database is cut in half", Some(true), |store| {
        let db = store.join("sled/db");
        let length = db.metadata().unwrap().len();
        OpenOptions::new().write(true).open(db).unwrap().set_len(length / 2).unwrap();
    }),
    ("the database is empty", Some(true), |store| fs::write(store.join("sled/db"), "").unwrap()),
    ("zeros in the database", None, |store| overwrite(&store.join("sled/db"), 70_000, &[0; 30_000])),
    ("zeros all over the database", Some(true), |store| {
        let db = store.join("sled/db");
        let length = db.metadata().unwrap().len() as usize;
        fs::write(db, vec![0; length]).unwrap();
    }),
    ("a file where the database was", Some(true), |store| {
        fs::remove_dir_all(store.join("sled")).unwrap();
        fs::write(store.join("sled"), "not a folder").unwrap();
    }),
    ("no vectors", Some(false), |store| {
        fs::remove_file(largest(store, |name| name.starts_with("vectors"))).unwrap();
    }),
    ("half of the vectors", Some(false), |store| {
        let vectors = largest(store, |name| name.starts_with("vectors"));
        let length = vectors.metadata().unwrap().len();
        OpenOptions::new().write(true).open(vectors).unwrap().set_len(length / 2 + 3).unwrap();
    }),
    ("garbage in the vectors", Some(false), |store| {
        overwrite(&largest(store, |name| name.starts_with("vectors")), 5000, &[0xA5; 4000]);
    }),
    ("no words", Some(false), |store| fs::remove_dir_all(store.join("lexical")).unwrap()),
    ("garbage in the words", Some(false), |store| {
        let words = store.join("lexical/words");
        let file = largest(&words, |name| name.contains('.') && !name.starts_with('.') && name != "meta.json");
        let length = file.metadata().unwrap().len();
        overwrite(&file, length / 3, &vec![0xA5; (length / 2) as usize]);
    }),
    ("garbage where the words are listed", Some(false), |store| {
        fs::write(store.join("lexical/words/meta.json"), "{\"segments\": 17").unwrap();
    }),
    ("garbage behind the journal", Some(false), |store| {
        let journal = store.join("contexts.journal");
        let mut bytes = fs::read(&journal).unwrap();
        bytes.extend([0x5A; 333]);
        fs::write(journal, bytes).unwrap();
    }),
];

#[test]
fn a_damaged_store_is_moved_aside_and_made_again() {
    let place = Place::new();
    let writer = Writer::new(&place, 9, 40);
    let mut daemon = place.start();
    let expected = view(&mut daemon, &QUERIES);
    assert_eq!(daemon.stop(), Some(0));
    let store = store(&place);
    for (name, is_moved, damage) in DAMAGES {
        println!("{name}");
        let before = moved_aside(&store).len();
        damage(&store);
        let mut daemon = place.start();
        eventually(&format!("{name}: the index is as it was"), || view(&mut daemon, &QUERIES) == expected);
        let aside = moved_aside(&store);
        let moved = aside.len() > before;
        assert!(is_moved.is_none_or(|expected| expected == moved), "{name}: moved aside: {moved}: {aside:?}");
        let status = daemon.status();
        let problems = status.problems.concat();
        let told = aside.iter().any(|path| problems.contains(path.to_str().unwrap()));
        assert_eq!(told, moved, "{name}: {problems} and {aside:?}");
        assert_eq!(status.state, if moved { RunState::Degraded } else { RunState::Idle }, "{name}");
        // It is good for new work, and closes well.
        place.write("new.md", format!("# New\n\n{}\n", name.replace(' ', "")));
        daemon.wait_holding(&name.replace(' ', ""), &["new.md"]);
        fs::remove_file(place.vault.join("new.md")).unwrap();
        daemon.wait_holding(&name.replace(' ', ""), &[]);
        assert_eq!(daemon.stop(), Some(0), "{name}");
        // Told once: the next start finds nothing wrong.
        let mut daemon = place.start();
        assert_eq!(daemon.status().problems, [""; 0], "{name}");
        assert_eq!(view(&mut daemon, &QUERIES), expected, "{name}: after another start");
        assert_eq!(daemon.stop(), Some(0), "{name}");
    }
    writer.check();
}

#[test]
fn vectors_that_are_cut_under_a_running_daemon_are_made_again() {
    let place = Place::new();
    let writer = Writer::new(&place, 11, 40);
    let mut daemon = place.start();
    let expected = view(&mut daemon, &QUERIES);
    let vectors = largest(&store(&place), |name| name.starts_with("vectors"));
    let length = vectors.metadata().unwrap().len();
    for left in [length / 2 + 3, 10, 0] {
        OpenOptions::new().write(true).open(&vectors).unwrap().set_len(left).unwrap();
        let asked = SearchRequest { mode: Some(Mode::Dense), ..query("a heron at the tide") };
        let warnings = daemon.ask(&asked).warnings.concat();
        assert!(warnings.contains("cut short") && warnings.contains("made again"), "{left}: {warnings}");
        eventually(&format!("{left}: it answers as before"), || {
            daemon.try_ask(&asked).is_ok() && view(&mut daemon, &QUERIES) == expected
        });
        daemon.wait_idle();
        assert!(daemon.ask(&asked).warnings.is_empty());
    }
    assert_eq!(daemon.status().problems, [""; 0]);
    writer.check();
    assert_eq!(daemon.stop(), Some(0));
}

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
    let store = store(&place);
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
fn an_emptied_vault_is_kept_until_a_second_look() {
    let place = Place::new();
    let writer = Writer::new(&place, 11, 20);
    fs::write(place.dir.path().join("config.toml"), "[watch]\ndoubt = \"1s\"\n").unwrap();
    let daemon = place.start();
    assert_eq!(daemon.stop(), Some(0));
    // As a folder looks on which something should be mounted.
    for path in writer.notes.keys() {
        fs::remove_file(place.vault.join(path)).unwrap();
    }
    let mut daemon = spawn(&place);
    // The doubt is told before the look that raised it is over.
    let status = daemon.wait_for("in doubt", |status| {
        status.state == RunState::Degraded && status.vaults.first().is_some_and(|vault| vault.doubt.is_some())
    });
    assert_eq!(status.vaults[0].notes, 20, "dropped at the first look");
    daemon.wait_for("dropped", |status| is_idle_with(status, 0));
}

#[test]
fn a_vault_that_is_back_before_the_second_look_loses_nothing() {
    let place = Place::new();
    let writer = Writer::new(&place, 12, 20);
    let mut daemon = place.start();
    let expected = view(&mut daemon, &QUERIES);
    assert_eq!(daemon.stop(), Some(0));
    let aside = place.dir.path().join("aside");
    fs::create_dir(&aside).unwrap();
    let folders: Vec<PathBuf> = fs::read_dir(&place.vault).unwrap().map(|entry| entry.unwrap().path()).collect();
    for folder in &folders {
        fs::rename(folder, aside.join(folder.file_name().unwrap())).unwrap();
    }
    // The default doubt of a minute is longer than this test.
    let mut daemon = spawn(&place);
    daemon.wait_vault("in doubt", |vault| vault.doubt.is_some());
    for folder in &folders {
        fs::rename(aside.join(folder.file_name().unwrap()), folder).unwrap();
    }
    let status = daemon.wait_for("without doubt", |status| {
        status.state == RunState::Idle && status.vaults.first().is_some_and(|vault| vault.doubt.is_none())
    });
    assert_eq!(status.vaults[0].decisions, [], "nothing was dropped and found again");
    assert_eq!(view(&mut daemon, &QUERIES), expected);
    writer.check();
}

#[test]
fn a_vault_that_is_gone_at_the_start_is_told_of_and_its_index_kept() {
    let place = Place::new();
    let writer = Writer::new(&place, 13, 20);
    let mut daemon = place.start();
    let expected = view(&mut daemon, &QUERIES);
    assert_eq!(daemon.stop(), Some(0));
    let away = place.dir.path().join("away");
    fs::rename(&place.vault, &away).unwrap();
    fs::write(place.dir.path().join("config.toml"), format!("[[vault]]\npath = {:?}\n", place.vault)).unwrap();
    let refused = place.run(&["run"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(78) && said.contains("mounted?"), "{refused:?}");
    fs::rename(&away, &place.vault).unwrap();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    assert_eq!(view(&mut daemon, &QUERIES), expected);
    assert_eq!(daemon.status().vaults[0].decisions, [], "nothing was dropped");
    writer.check();
}

#[test]
#[cfg_attr(not(has_mount), ignore = "needs the right to mount")]
fn a_full_disk_is_told_of_and_loses_nothing() {
    let place = Place::new();
    let mut writer = Writer::new(&place, 14, 60);
    let disk = SmallDisk::mount(&place.data(), "64m");
    let mut daemon = place.start();
    let before = daemon.search("heron");
    disk.fill();
    for _ in 0..60 {
        writer.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    writer.place.write("f0/full.md", "# Full\n\nbrimful\n");
    writer.notes.insert("f0/full.md".to_owned(), "# Full\n\nbrimful\n".to_owned());
    daemon.wait_for("told of", |status| !status.problems.is_empty());
    assert!(!before.is_empty() && !daemon.search("heron").is_empty(), "it no longer answers");
    writer.check();
    disk.make_room();
    // While the store is opened anew, an answer may be that this takes a moment.
    eventually("found when there is room", || {
        let found = daemon.try_ask(&by_words("brimful"));
        found.is_ok_and(|found| found.hits.first().is_some_and(|hit| hit.path == "f0/full.md"))
    });
    assert_like_fresh(&place, &mut daemon, &QUERIES);
    daemon.wait_for("well", |status| status.problems.is_empty() && status.state == RunState::Idle);
    assert_eq!(daemon.stop(), Some(0));
    let mut daemon = place.start();
    assert_eq!(daemon.status().problems, [""; 0], "a full disk damages nothing");
    assert_like_fresh(&place, &mut daemon, &QUERIES);
    writer.check();
}
