//! A vault that is empty or gone, and a disk that is full: nothing is taken for deleted too soon, and nothing is lost.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use protocol::grep::GrepRequest;
use protocol::jobs::{Job, JobState, SyncRequest};
use protocol::search::SearchRequest;
use protocol::status::RunState;

use crate::requests::{by_words, is_idle_with};
use crate::small_disk::SmallDisk;
use crate::support::{Daemon, Place, assert_like_fresh, eventually, view};
use crate::writer::{QUERIES, Writer};

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
    let mut daemon = place.begin();
    // The doubt is told before the look that raised it is over.
    let status = daemon.wait_for("in doubt", |status| {
        status.state == RunState::Degraded && status.vaults.first().is_some_and(|vault| vault.doubt.is_some())
    });
    assert_eq!(status.vaults[0].notes, 20, "dropped at the first look");
    daemon.wait_for("dropped", |status| is_idle_with(status, 0));
}

#[test]
fn what_was_seen_deleted_is_gone_whatever_makes_the_daemon_look_at_everything() {
    let notes: Vec<(String, String)> =
        (0..40).map(|n| (format!("Big/Deep/{n}.md"), format!("# Note {n}\n\nkeel\n"))).collect();
    let place = Place::with(&[("a.md", "# A\n\nlantern\n"), ("b.md", "# B\n\nlantern\n")]);
    let fill = || notes.iter().for_each(|(path, text)| place.write(path, text));
    fill();
    // More than 5 paths are a storm. The default doubt of a minute is longer than this test.
    place.configure("[watch]\nstorm_paths = 5\nstorm = \"300ms\"\n");
    let mut daemon = place.start();
    let big = place.vault.join("Big");
    let delete = |how: &str, daemon: &mut Daemon| {
        fs::remove_dir_all(&big).unwrap();
        match how {
            "a job" => drop(daemon.sync()),
            "an ignore file" => place.write(".gitignore", "drafts/\n"),
            _ => {}
        }
        daemon.wait_vault(how, |vault| vault.notes == 2 && vault.doubt.is_none());
        fill();
        daemon.wait_vault("back", |vault| vault.notes == 42);
    };
    for how in ["a job", "an ignore file", "a storm"] {
        delete(how, &mut daemon);
    }
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
    let mut daemon = place.begin();
    daemon.wait_vault("in doubt", |vault| vault.doubt.is_some());
    let grep = GrepRequest { pattern: "a".to_owned(), ..GrepRequest::default() };
    let told = daemon.ask(&grep).warnings.concat();
    assert!(told.contains("no note that may match is there any more"), "{told}");
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
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_vault("in doubt", |vault| vault.doubt.is_some());
    assert!(!daemon.search("heron").is_empty(), "what was indexed is found");
    fs::rename(&away, &place.vault).unwrap();
    daemon.wait_vault("without doubt", |vault| vault.doubt.is_none());
    assert_eq!(view(&mut daemon, &QUERIES), expected);
    assert_eq!(daemon.status().vaults[0].decisions, [], "nothing was dropped");
    writer.check();
}

#[test]
#[cfg_attr(not(has_mount), ignore = "needs the right to mount")]
fn a_vault_that_is_unmounted_is_told_of_at_once_and_goes_on_when_it_is_mounted_again() {
    for held in [false, true] {
        let place = Place::new();
        // The folder of the configuration may be read, so it is another one than the vault's.
        let elsewhere = tempfile::tempdir().unwrap();
        let config = elsewhere.path().join("config.toml");
        let sandbox = if held { "auto" } else { "off" };
        let text =
            format!("[watch]\ndoubt = \"1s\"\n[host]\nsandbox = {sandbox:?}\n[[vault]]\npath = {:?}\n", place.vault);
        fs::write(&config, text).unwrap();
        let write = || (0..20).for_each(|n| place.write(&format!("n{n}.md"), format!("# Note {n}\n\nmarker{n}\n")));
        let disk = SmallDisk::mount(&place.vault, "16m");
        write();
        // Only a new process may read what is mounted anew: the daemon starts itself anew.
        let mut command = place.command();
        command.env("SITUATED_CONFIG", &config).arg("run");
        let mut daemon = place.spawn_command(&mut command);
        daemon.wait_idle();
        // By connections of their own, for a daemon that starts itself anew ends those that it has.
        let says =
            |arguments: &[&str], what: &str| String::from_utf8_lossy(&place.run(arguments).stdout).contains(what);
        drop(disk);
        eventually("it is told of", || says(&["status"], "needs you"));
        eventually("its index is kept", || says(&["search", "--json", "--mode", "lexical", "marker7"], "n7.md"));
        let _disk = SmallDisk::mount(&place.vault, "16m");
        write();
        place.write("n20.md", "# Note 20\n\nzebrafinch\n");
        eventually("it is read again", || says(&["search", "--json", "--mode", "lexical", "zebrafinch"], "n20.md"));
        eventually("nothing is wrong", || says(&["status"], "up to date"));
        assert_eq!(daemon.exited(), None, "it is the same process");
    }
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

fn synced(daemon: &mut Daemon) -> Job {
    let job = daemon.ask(&SyncRequest::default()).job;
    daemon.job(job)
}

#[test]
fn notes_that_were_seen_to_go_are_gone_whoever_looks() {
    let place = Place::new();
    for n in 0..25 {
        place.write(&format!("{}{n}.md", if n < 5 { "n" } else { "big/k" }), format!("# Note {n}\n\nmarker{n}\n"));
    }
    let mut daemon = place.start();
    fs::remove_dir_all(place.vault.join("big")).unwrap();
    let job = synced(&mut daemon);
    assert_eq!((job.state, job.problem), (JobState::Done, None));
    let status = daemon.status();
    assert_eq!((status.vaults[0].notes, &status.vaults[0].doubt), (5, &None));
    // As a checkout of another branch, which changes what is ignored too.
    (0..20).for_each(|n| place.write(&format!("more/m{n}.md"), "otter\n"));
    daemon.wait_vault("more", |vault| vault.notes == 25);
    place.write(".gitignore", "drafts/\n");
    fs::remove_dir_all(place.vault.join("more")).unwrap();
    daemon.wait_holding("otter", &[]);
    assert_eq!(daemon.status().vaults[0].doubt, None);
}

#[test]
fn a_sync_waits_until_it_is_known_whether_a_note_stays_empty() {
    let place = Place::with(&[("a.md", "keel\n"), ("b.md", "keel\n")]);
    let mut daemon = place.start();
    place.write("a.md", "");
    let job = synced(&mut daemon);
    assert_eq!((job.state, job.changed, daemon.holding("keel")), (JobState::Done, 1, vec!["b.md".to_owned()]));
    // Who searches does not wait: it may be the first half of a save.
    place.write("b.md", "");
    let found = daemon.ask(&SearchRequest { fresh: true, ..by_words("keel") });
    assert!(found.hits.first().is_some_and(|hit| hit.path == "b.md"), "{found:?}");
    assert!(found.warnings.concat().contains("is empty that was not"), "{found:?}");
    daemon.wait_holding("keel", &[]);
}

#[test]
#[cfg_attr(not(has_mount), ignore = "needs the right to mount")]
fn what_is_mounted_in_a_vault_is_followed() {
    let place = Place::with(&[("n.md", "keel\n"), ("sub/s.md", "keel covered\n")]);
    let mut daemon = place.start();
    let disk = SmallDisk::mount(&place.vault.join("sub"), "16m");
    daemon.wait_holding("covered", &[]);
    place.write("sub/t.md", "rudder one\n");
    daemon.wait_holding("rudder", &["sub/t.md"]);
    place.write("sub/t.md", "halyard\n");
    daemon.wait_holding("halyard", &["sub/t.md"]);
    drop(disk);
    daemon.wait_holding("covered", &["sub/s.md"]);
    place.write("sub/s.md", "bowsprit\n");
    daemon.wait_holding("bowsprit", &["sub/s.md"]);
    daemon.wait_holding("halyard", &[]);
}

#[test]
fn an_ignore_file_that_cannot_be_read_is_told_of() {
    let place = Place::with(&[("a.md", "keel\n"), ("Private/b.md", "keel\n")]);
    fs::write(place.dir.path().join("rules"), "Private/\n").unwrap();
    std::os::unix::fs::symlink(place.dir.path().join("rules"), place.vault.join(".situatedignore")).unwrap();
    let mut daemon = place.start();
    let skipped = &daemon.status().vaults[0].skipped;
    assert!(skipped.iter().any(|file| file.path == ".situatedignore" && file.why.contains("nothing")), "{skipped:?}");
    fs::remove_file(place.vault.join(".situatedignore")).unwrap();
    let utf_16: Vec<u8> = "\u{FEFF}Private/\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.write(".situatedignore", utf_16);
    daemon.wait_holding("keel", &["a.md"]);
    assert!(daemon.status().vaults[0].skipped.is_empty());
}

#[test]
fn notes_that_are_too_large_now_are_not_taken_for_lost() {
    let place = Place::new();
    (0..12).for_each(|n| place.write(&format!("n{n}.md"), "keel\n"));
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_vault("all", |vault| vault.notes == 12);
    place.configure("max_note_bytes = 3\n");
    assert!(place.run(&["config", "reload"]).status.success());
    let status = daemon.wait_vault("none", |vault| vault.notes == 0);
    assert_eq!((&status.vaults[0].doubt, status.vaults[0].skipped.len()), (&None, 12));
}

#[test]
fn a_new_hard_link_to_a_note_is_no_change_of_it() {
    let place = Place::with(&[("n.md", "keel\n")]);
    let mut daemon = place.start();
    fs::hard_link(place.vault.join("n.md"), place.dir.path().join("copy.md")).unwrap();
    let hits = daemon.ask(&by_words("keel")).hits;
    assert_eq!(hits.iter().map(|hit| (hit.path.as_str(), hit.stale)).collect::<Vec<_>>(), [("n.md", false)]);
}
