//! Whatever dies, the index converges to what a build from nothing gives: `kill -9` at any moment, damaged stores.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use protocol::jobs::RebuildRequest;
use protocol::search::{Mode, SearchRequest};
use protocol::status::RunState;

use crate::requests::{is_idle_with, query};
use crate::support::{Place, assert_like_fresh, eventually, view};
use crate::writer::{QUERIES, Writer};

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
        let daemon = place.begin();
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
        let mut daemon = place.begin();
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
    let store = place.store();
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
    let vectors = largest(&place.store(), |name| name.starts_with("vectors"));
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
