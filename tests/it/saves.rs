//! How programs really change a vault: every way of saving, folders that come and go, a repository that
//! switches branches, a vault that is made anew. After each the index is what a build from nothing gives,
//! and the vault is what the test wrote.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use protocol::decision::{Action, Reason};
use protocol::jobs::{JobState, RebuildRequest, SyncRequest};
use protocol::names::{NameKind, NamesRequest};
use protocol::search::SearchRequest;
use protocol::status::RunState;

use crate::requests::by_words;
use crate::support::{Daemon, Place, assert_like_fresh, copy_tree, eventually};

const QUERIES: [&str; 8] = [
    "apricot",
    "ladder in the shed",
    "\"winter work\"",
    "harvest after the first frost",
    "details",
    "Note 3",
    "marker7",
    "-ladder harvest",
];

/// A note with three headings, a word of its own, and words that others have too.
fn note(i: usize) -> String {
    let tools = ["ladder", "spade", "rake", "shears", "barrow"];
    let crops = ["apricot", "leek", "quince", "medlar", "parsnip", "kale", "sorrel"];
    let (tool, crop, other) = (tools[i % 5], crops[i % 7], crops[(i + 3) % 7]);
    format!(
        "# Note {i}\n\nWhat there is to say of {crop} and {other}, marker{i}.\n\n## Details\n\nThe {tool} is in the \
         shed. The harvest of {other} comes after the first frost.\n\n## Winter\n\nMuch winter work: mend the {tool}.\n"
    )
}

/// A vault with that many notes, all in one folder.
fn notes(count: usize) -> Place {
    let place = Place::new();
    for i in 0..count {
        place.write(&format!("n{i}.md"), note(i));
    }
    place
}

/// With a doubt that is short enough to be waited for.
fn with_short_doubt(place: Place) -> Place {
    fs::write(place.dir.path().join("config.toml"), "[watch]\ndoubt = \"1s\"\n").unwrap();
    place
}

/// The same for a daemon that may read whatever folder stands in the vault's place: what the kernel holds to the one
/// that it started with is told in `manners`.
fn unheld(place: Place) -> Place {
    fs::write(place.dir.path().join("config.toml"), "[watch]\ndoubt = \"1s\"\n[host]\nsandbox = \"off\"\n").unwrap();
    place
}

/// How many chunks were decided about so far, as `action`; all if `None`.
fn decided(daemon: &mut Daemon, action: Option<Action>) -> u64 {
    let counts = daemon.status().vaults.swap_remove(0).decisions;
    let wanted = counts.iter().filter(|count| action.is_none_or(|action| count.action == action));
    wanted.map(|count| count.count).sum()
}

fn wait_notes(daemon: &mut Daemon, count: u64) {
    daemon.wait_vault(&format!("{count} notes"), |vault| vault.notes == count);
}

fn wait_doubt(daemon: &mut Daemon) {
    daemon.wait_vault("in doubt", |vault| vault.doubt.is_some());
}

fn beside(path: &Path, name: &str) -> PathBuf {
    path.with_file_name(name)
}

fn own_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn replace_by(path: &Path, temporary: &str, text: &str) {
    let temporary = beside(path, temporary);
    fs::write(&temporary, text).unwrap();
    fs::rename(temporary, path).unwrap();
}

fn set_modified(path: &Path, to: SystemTime) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(to)).unwrap();
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

/// A way of saving a text to a note that exists.
type Saver = fn(&Path, &str);

const SAVERS: [(&str, Saver); 14] = [
    ("truncate-and-write", |path, text| fs::write(path, text).unwrap()),
    ("overwrite-then-cut", |path, text| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(text.as_bytes(), 0).unwrap();
        file.set_len(text.len() as u64).unwrap();
    }),
    ("append", |path, text| {
        let before = fs::read_to_string(path).unwrap();
        let added = text.strip_prefix(before.trim_end()).unwrap();
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.set_len(before.trim_end().len() as u64).unwrap();
        file.write_all(added.as_bytes()).unwrap();
    }),
    ("temporary-and-rename", |path, text| replace_by(path, &format!("{}.tmp", own_name(path)), text)),
    ("sed-i", |path, text| replace_by(path, "sedK3x9Qa", text)),
    ("rsync", |path, text| replace_by(path, &format!(".{}.ISE5wh", own_name(path)), text)),
    ("syncthing", |path, text| replace_by(path, &format!(".syncthing.{}.tmp", own_name(path)), text)),
    ("a-temporary-named-like-a-note", |path, text| replace_by(path, "saving.md", text)),
    ("vim-backup", |path, text| {
        let (probe, swap) = (beside(path, "4913"), beside(path, &format!(".{}.swp", own_name(path))));
        fs::write(&swap, "b0VIM").unwrap();
        fs::write(&probe, "").unwrap();
        fs::remove_file(&probe).unwrap();
        let backup = beside(path, &format!("{}~", own_name(path)));
        fs::rename(path, &backup).unwrap();
        fs::write(path, text).unwrap();
        fs::remove_file(&backup).unwrap();
        fs::remove_file(&swap).unwrap();
    }),
    ("emacs", |path, text| {
        let (lock, auto) =
            (beside(path, &format!(".#{}", own_name(path))), beside(path, &format!("#{}#", own_name(path))));
        std::os::unix::fs::symlink("me@host.1234:5678", &lock).unwrap();
        fs::write(&auto, text).unwrap();
        // The backup stays.
        fs::copy(path, beside(path, &format!("{}~", own_name(path)))).unwrap();
        fs::write(path, text).unwrap();
        fs::remove_file(&auto).unwrap();
        fs::remove_file(&lock).unwrap();
    }),
    ("delete-and-create", |path, text| {
        fs::remove_file(path).unwrap();
        fs::write(path, text).unwrap();
    }),
    ("an-older-copy", |path, text| {
        let source = beside(path, "backup.bin");
        fs::write(&source, text).unwrap();
        fs::copy(&source, path).unwrap();
        fs::remove_file(&source).unwrap();
        set_modified(path, SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    }),
    ("same-size-same-time-other-inode", |path, text| {
        assert_eq!(fs::metadata(path).unwrap().len(), text.len() as u64, "this saver is for texts of one length");
        let (temporary, time) = (beside(path, "x.part"), modified(path));
        fs::write(&temporary, text).unwrap();
        set_modified(&temporary, time);
        fs::rename(temporary, path).unwrap();
        assert_eq!(modified(path), time);
    }),
    ("same-size-same-time-same-inode", |path, text| {
        assert_eq!(fs::metadata(path).unwrap().len(), text.len() as u64, "this saver is for texts of one length");
        let time = modified(path);
        OpenOptions::new().write(true).open(path).unwrap().write_all_at(text.as_bytes(), 0).unwrap();
        set_modified(path, time);
    }),
];

#[test]
fn every_way_of_saving_is_found_and_is_a_body_edit() {
    let place = notes(5);
    let old = |i: usize| format!("# Saved {i}\n\nA lead.\n\n## Plan\n\nbefore{i:02} and apricot\n");
    for (i, (name, _)) in SAVERS.iter().enumerate() {
        place.write(&format!("Saved/{name}.md"), old(i));
    }
    let mut daemon = place.start();
    for (i, (name, save)) in SAVERS.iter().enumerate() {
        let path = format!("Saved/{name}.md");
        let mut text = old(i).replace("before", "behind");
        if *name == "append" {
            text = format!("{} and behind{i:02}\n", old(i).trim_end());
        }
        let began = Instant::now();
        save(&place.vault.join(&path), &text);
        let at_once = began.elapsed() < Duration::from_millis(40);
        assert_eq!(fs::read_to_string(place.vault.join(&path)).unwrap(), text, "{name}");
        let tree = place.tree();
        daemon.wait_holding(&format!("behind{i:02}"), &[&path]);
        // A test that was held up between two steps has shown the daemon a vault without the note.
        if at_once {
            let decision = daemon.decided(&path, Reason::BodyChanged);
            assert_eq!(decision.regenerated, 0, "{name}: {decision:?}");
        }
        assert_eq!(place.tree(), tree, "{name}");
        let left: &[&str] = if *name == "append" { &[&path] } else { &[] };
        daemon.wait_holding(&format!("before{i:02}"), left);
    }
    assert_like_fresh(&place, &mut daemon, &QUERIES);
}

#[test]
fn a_note_is_not_lost_between_truncating_and_writing() {
    let place = notes(3);
    let mut daemon = place.start();
    let path = place.vault.join("n1.md");
    // The daemon believes an empty note after two seconds; a test that was held up tries again.
    for round in 0..10 {
        let word = format!("afterwards{round}");
        let text = note(1).replace("marker1", &format!("marker1 {word}"));
        let began = Instant::now();
        let mut file = File::create(&path).unwrap();
        // Looks at the disk before it answers, so it has seen the empty file.
        let found = daemon.ask(&SearchRequest { fresh: true, ..by_words("marker1") });
        file.write_all(text.as_bytes()).unwrap();
        if began.elapsed() > Duration::from_millis(1500) {
            daemon.wait_holding(&word, &["n1.md"]);
            continue;
        }
        assert_eq!(found.hits.first().map(|hit| hit.path.as_str()), Some("n1.md"), "lost while it was empty");
        daemon.wait_holding(&word, &["n1.md"]);
        let decision = daemon.decided("n1.md", Reason::BodyChanged);
        assert_eq!(decision.regenerated, 0, "{decision:?}");
        assert_like_fresh(&place, &mut daemon, &QUERIES);
        return;
    }
    panic!("this machine is too slow to tell");
}

#[test]
fn a_note_that_stays_empty_is_believed_in_the_end() {
    let place = notes(3);
    let mut daemon = place.start();
    place.write("n1.md", "");
    daemon.wait_holding("marker1", &[]);
    assert_eq!(daemon.status().vaults[0].notes, 3, "an empty note is a note");
    assert_like_fresh(&place, &mut daemon, &QUERIES);
}

#[test]
fn a_touch_decides_nothing() {
    let place = notes(3);
    let mut daemon = place.start();
    let before = decided(&mut daemon, None);
    let path = place.vault.join("n1.md");
    set_modified(&path, SystemTime::UNIX_EPOCH + Duration::from_secs(981_173_106));
    eventually("the new time is seen", || {
        let hits = daemon.ask(&by_words("marker1")).hits;
        hits.first().is_some_and(|hit| hit.mtime == 981_173_106 && !hit.stale)
    });
    assert_eq!(decided(&mut daemon, None), before);
    assert_like_fresh(&place, &mut daemon, &QUERIES);
}

#[test]
fn an_undone_heading_leaves_the_index_as_it_was() {
    let place = notes(3);
    let mut daemon = place.start();
    place.write("n1.md", note(1).replace("## Winter", "## Hibernation"));
    daemon.wait_holding("Hibernation", &["n1.md"]);
    daemon.decided("n1.md", Reason::StructureChanged);
    place.write("n1.md", note(1));
    daemon.wait_holding("Hibernation", &[]);
    assert_like_fresh(&place, &mut daemon, &["Winter", "Hibernation", "apricot", "mend the spade"]);
}

#[test]
fn whole_folders_are_copied_renamed_moved_and_deleted() {
    let place = notes(1);
    let outside = place.dir.path().join("outside");
    for i in 0..250 {
        let folder = outside.join(format!("d{:02}/e", i % 50));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("c{i}.md")), note(1000 + i)).unwrap();
    }
    let queries =
        ["marker1000", "marker1123", "marker1050 -kale", "apricot path:**/d23/", "Details path:**/d07/e/c207.md"];
    let mut daemon = place.start();
    let settled = |daemon: &mut Daemon, count: u64, found: &[&str]| {
        let tree = place.tree();
        wait_notes(daemon, count);
        daemon.wait_holding("marker1123", found);
        assert_like_fresh(&place, daemon, &queries);
        assert_eq!(place.tree(), tree);
    };

    copy_tree(&outside, &place.vault.join("Copied"));
    settled(&mut daemon, 251, &["Copied/d23/e/c123.md"]);

    let regenerated = decided(&mut daemon, Some(Action::Regenerate));
    fs::rename(place.vault.join("Copied"), place.vault.join("Renamed")).unwrap();
    settled(&mut daemon, 251, &["Renamed/d23/e/c123.md"]);
    let decision = daemon.decided("Renamed/d23/e/c123.md", Reason::NoteMoved);
    assert_eq!(decision.regenerated, 0, "{decision:?}");
    assert_eq!(decided(&mut daemon, Some(Action::Regenerate)), regenerated, "a renamed folder costs nothing");

    fs::rename(place.vault.join("Renamed"), place.dir.path().join("away")).unwrap();
    settled(&mut daemon, 1, &[]);

    fs::create_dir(place.vault.join("In")).unwrap();
    fs::rename(place.dir.path().join("away"), place.vault.join("In/Moved")).unwrap();
    settled(&mut daemon, 251, &["In/Moved/d23/e/c123.md"]);

    // What lies in a folder that came as a whole is watched as well.
    fs::write(place.vault.join("In/Moved/d23/e/c123.md"), note(1123).replace("Winter", "January")).unwrap();
    daemon.wait_holding("January", &["In/Moved/d23/e/c123.md"]);

    fs::remove_dir_all(place.vault.join("In")).unwrap();
    settled(&mut daemon, 1, &[]);
}

#[test]
fn a_note_in_folders_that_were_just_made_is_found() {
    let place = notes(2);
    let mut daemon = place.start();
    for round in 0..10 {
        let path = format!("r{round}/n1/n2/n3/deep.md");
        place.write(&path, format!("# Deep\n\ndeep{round} down\n"));
        daemon.wait_holding(&format!("deep{round}"), &[&path]);
        // And what is saved there later.
        place.write(&path, format!("# Deep\n\nlater{round} down\n"));
        daemon.wait_holding(&format!("later{round}"), &[&path]);
    }
    assert_like_fresh(&place, &mut daemon, &["down", "Deep", "later3", "apricot"]);
}

#[test]
fn a_vault_that_is_deleted_and_made_again_goes_on() {
    for wait_for_doubt in [true, false] {
        let place = unheld(notes(20));
        let mut daemon = place.start();
        let regenerated = decided(&mut daemon, Some(Action::Regenerate));
        fs::remove_dir_all(&place.vault).unwrap();
        if wait_for_doubt {
            wait_doubt(&mut daemon);
            assert_eq!(daemon.holding("marker7"), ["n7.md"], "a vault that is gone was dropped");
        }
        for i in 0..20 {
            place.write(&format!("n{i}.md"), note(i).replace("marker5.", "marker5 resurrected."));
        }
        daemon.wait_holding("resurrected", &["n5.md"]);
        daemon.wait_for("without doubt", |status| status.vaults[0].doubt.is_none() && status.problems.is_empty());
        if wait_for_doubt {
            assert_eq!(decided(&mut daemon, Some(Action::Regenerate)), regenerated, "it came back as it was");
        }
        // The new folder is watched, and so are those in it.
        place.write("n6.md", note(6).replace("marker6", "marker6 lively"));
        daemon.wait_holding("lively", &["n6.md"]);
        place.write("Sub/new.md", "# New\n\nsprightly\n");
        daemon.wait_holding("sprightly", &["Sub/new.md"]);
        assert_like_fresh(&place, &mut daemon, &QUERIES);
    }
}

#[test]
fn a_vault_that_is_renamed_away_and_back_goes_on() {
    let place = with_short_doubt(notes(20));
    let mut daemon = place.start();
    let before = decided(&mut daemon, None);
    let away = place.dir.path().join("elsewhere");
    fs::rename(&place.vault, &away).unwrap();
    wait_doubt(&mut daemon);
    let status = daemon.status();
    assert_eq!((status.state, status.vaults[0].notes), (RunState::Degraded, 20));
    assert_eq!(daemon.holding("marker7"), ["n7.md"]);
    // What is changed there meanwhile is another folder's business, until it is the vault again.
    fs::write(away.join("n7.md"), note(7).replace("marker7.", "marker7 travelled.")).unwrap();
    fs::rename(&away, &place.vault).unwrap();
    daemon.wait_holding("travelled", &["n7.md"]);
    daemon.wait_for("without doubt", |status| status.vaults[0].doubt.is_none() && status.state == RunState::Idle);
    assert!(decided(&mut daemon, None) - before <= 3, "only one note has changed");
    place.write("n6.md", note(6).replace("marker6", "marker6 lively"));
    daemon.wait_holding("lively", &["n6.md"]);
    assert_like_fresh(&place, &mut daemon, &QUERIES);
}

#[test]
fn another_folder_in_the_vaults_place_is_not_believed() {
    let place = unheld(notes(20));
    let mut daemon = place.start();
    // The old folder goes on to exist, so the new one cannot have its inode.
    fs::rename(&place.vault, place.dir.path().join("unmounted")).unwrap();
    place.write("n3.md", note(3).replace("marker3.", "marker3 elsewhere."));
    daemon.wait_holding("elsewhere", &["n3.md"]);
    let doubt = daemon
        .wait_vault("in doubt", |vault| vault.doubt.as_ref().is_some_and(|doubt| doubt.contains("accept-deletes")));
    // Longer than the second look would take.
    let until = Instant::now() + Duration::from_millis(2500);
    while Instant::now() < until {
        assert_eq!(daemon.holding("marker7"), ["n7.md"], "dropped by itself: {doubt:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
    daemon.ask(&SyncRequest { accept_deletes: true, ..SyncRequest::default() });
    daemon.wait_holding("marker7", &[]);
    daemon.wait_vault("without doubt", |vault| vault.doubt.is_none());
    assert_like_fresh(&place, &mut daemon, &QUERIES);
}

fn git(place: &Place, arguments: &[&str]) -> bool {
    let run = Command::new("git")
        .args(["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "gc.auto=0"])
        .args(arguments)
        .current_dir(&place.vault)
        .env("HOME", place.dir.path())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output();
    run.is_ok_and(|output| output.status.success())
}

#[test]
#[cfg_attr(not(has_git), ignore = "needs git")]
fn a_checkout_of_two_thousand_notes_is_followed_and_costs_nothing() {
    let place = Place::new();
    assert!(git(&place, &["init", "-q", "-b", "one"]));
    let path = |i: usize| format!("d{:02}/n{i}.md", i % 20);
    for i in 0..2000 {
        place.write(&path(i), format!("# Note {i}\n\nalpha{i} here\n\n## Part\n\nSome words on leeks.\n"));
    }
    assert!(git(&place, &["add", "."]) && git(&place, &["commit", "-q", "-m", "one"]));
    assert!(git(&place, &["checkout", "-q", "-b", "two"]));
    for i in 0..2000 {
        place.write(&path(i), format!("# Note {i}\n\nomega{i} here\n\n## Part\n\nSome words on leeks.\n"));
    }
    place.write("only-two.md", "# Only\n\nsolitary\n");
    assert!(git(&place, &["add", "."]) && git(&place, &["commit", "-q", "-m", "two"]));
    assert!(git(&place, &["checkout", "-q", "one"]));
    let mut daemon = place.start();
    wait_notes(&mut daemon, 2000);
    let regenerated = decided(&mut daemon, Some(Action::Regenerate));
    let queries = ["alpha7", "omega1999", "omega1000", "solitary", "leeks path:d07/"];
    for (branch, word, count) in [("two", "omega", 2001), ("one", "alpha", 2000), ("two", "omega", 2001)] {
        assert!(git(&place, &["checkout", "-q", branch]));
        let tree = place.tree();
        wait_notes(&mut daemon, count);
        for i in [0, 777, 1999] {
            daemon.wait_holding(&format!("{word}{i}"), &[&path(i)]);
        }
        assert_like_fresh(&place, &mut daemon, &queries);
        assert_eq!(place.tree(), tree);
    }
    let anew = decided(&mut daemon, Some(Action::Regenerate)) - regenerated;
    assert!(anew <= 2, "{anew} contexts were made anew, where one note came twice");
}

#[test]
fn ignore_files_that_come_and_go_change_what_is_found() {
    let place = notes(10);
    for i in 0..3 {
        place.write(&format!("Archive/a{i}.md"), format!("# Old {i}\n\nmothball{i} mothballs\n"));
    }
    let mut daemon = place.start();
    let all = ["Archive/a0.md", "Archive/a1.md", "Archive/a2.md"];
    for name in [".gitignore", ".situatedignore"] {
        daemon.wait_holding("mothballs", &all);
        place.write(name, "Archive/\n");
        daemon.wait_holding("mothballs", &[]);
        assert_like_fresh(&place, &mut daemon, &QUERIES);
        // A rule that is changed.
        place.write(name, "Archive/*\n!Archive/a1.md\n");
        daemon.wait_holding("mothballs", &["Archive/a1.md"]);
        // What is ignored stays so when it is saved.
        place.write("Archive/a0.md", "# Old 0\n\nmothballs again\n");
        place.write("Archive/a1.md", "# Old 1\n\nmothballs saved\n");
        daemon.wait_holding("saved", &["Archive/a1.md"]);
        assert_eq!(daemon.holding("mothballs"), ["Archive/a1.md"]);
        fs::remove_file(place.vault.join(name)).unwrap();
        daemon.wait_holding("mothballs", &all);
        assert_like_fresh(&place, &mut daemon, &["mothballs", "again", "saved", "apricot", "Old"]);
        place.write("Archive/a1.md", "# Old 1\n\nmothballs\n");
        daemon.wait_holding("saved", &[]);
    }
    // In a folder below, for that folder.
    place.write("Archive/.gitignore", "a2.md\n");
    daemon.wait_holding("mothballs", &all[..2]);
    fs::rename(place.vault.join("Archive/.gitignore"), place.vault.join(".gitignore")).unwrap();
    daemon.wait_holding("mothballs", &all[..2]);
    place.write("Archive/.situatedignore", "!a2.md\n");
    daemon.wait_holding("mothballs", &all);
    assert_like_fresh(&place, &mut daemon, &["mothballs", "apricot"]);
}

#[test]
fn most_notes_are_left_out_without_doubt_and_those_of_a_rebuild_under_way_stay_out() {
    let place = notes(300);
    for i in 0..200 {
        place.write(&format!("guide/{i}.md"), "# Guide\n\nheron\n");
    }
    place.write("a.md", "# A\n\nheron\n");
    let mut daemon = place.start();
    daemon.ask(&RebuildRequest::default());
    place.write(".situatedignore", "guide/\n");
    daemon.wait_holding("heron", &["a.md"]);
    daemon.wait_idle();
    assert_eq!(daemon.holding("heron"), ["a.md"], "put back by the rebuild");
    assert_eq!(daemon.status().vaults[0].doubt, None);
}

#[test]
fn a_file_without_text_leaves_its_old_name_when_it_is_renamed() {
    let place = notes(3);
    place.write("Untitled.canvas", "{}");
    place.write("scan.md", "# A scan\n\nblurred\n");
    let mut daemon = place.start();
    let names = |daemon: &mut Daemon| -> Vec<String> {
        let all = daemon.ask(&NamesRequest { what: NameKind::Notes, ..NamesRequest::default() }).names;
        let mut paths: Vec<String> = all.into_iter().filter_map(|name| name.path).collect();
        paths.sort();
        paths
    };
    assert!(names(&mut daemon).contains(&"Untitled.canvas".to_owned()));
    fs::rename(place.vault.join("Untitled.canvas"), place.vault.join("Plan.canvas")).unwrap();
    fs::rename(place.vault.join("scan.md"), place.vault.join("scan.pdf")).unwrap();
    eventually("both have their new names alone", || {
        let names = names(&mut daemon);
        names.contains(&"Plan.canvas".to_owned())
            && !names.iter().any(|name| name == "Untitled.canvas" || name == "scan.md")
    });
}

#[test]
fn a_copy_from_a_sync_conflict_is_found_and_flagged() {
    let place = notes(3);
    let mut daemon = place.start();
    let copies = ["n1 (Ann's conflicted copy 2026-01-02).md", "n1.sync-conflict-20260102-030405-ABCDEFG.md"];
    for name in copies {
        place.write(name, note(1).replace("Winter", "Disagreement"));
    }
    daemon.wait_holding("Disagreement", &copies);
    let mut flagged =
        daemon.wait_vault("both flagged", |vault| vault.conflicts.len() == 2).vaults.swap_remove(0).conflicts;
    flagged.sort_unstable();
    assert_eq!(flagged, copies);
    for name in copies {
        fs::remove_file(place.vault.join(name)).unwrap();
    }
    daemon.wait_holding("Disagreement", &[]);
    daemon.wait_vault("none flagged", |vault| vault.conflicts.is_empty());
    assert_like_fresh(&place, &mut daemon, &QUERIES);
}

#[test]
fn a_save_does_not_wait_for_a_rebuild() {
    let place = Place::new();
    for i in 0..1500 {
        let sections: String = (0..6).map(|j| format!("## Part {j}\n\n{}\n", note(i + j).repeat(2))).collect();
        place.write(&format!("d{}/n{i}.md", i % 10), format!("# Long {i}\n\n{sections}"));
    }
    let mut daemon = place.start();
    let job = daemon.ask(&RebuildRequest::default()).job;
    // Both a note that the rebuild has done by then, as a rule, and one that it has not.
    for path in ["d0/n0.md", "d9/n1499.md"] {
        let word = format!("meanwhile{}", path.len());
        place.write(path, format!("# Short\n\n{word}\n"));
        daemon.wait_holding(&word, &[path]);
        let rebuild = daemon.job(job);
        let left = rebuild.total.unwrap() - rebuild.done;
        println!("{path} was found when {left} notes were left");
        assert!(rebuild.is_running(), "{path} was found only after the rebuild: {rebuild:?}");
        assert!(left > 100, "{path} was found only at the end of the rebuild: {rebuild:?}");
    }
    daemon.wait_for("idle", |status| status.state == RunState::Idle);
    assert_eq!(daemon.job(job).state, JobState::Done);
    assert_eq!(daemon.holding("meanwhile8"), ["d0/n0.md"]);
    assert_eq!(daemon.holding("meanwhile11"), ["d9/n1499.md"]);
    assert_like_fresh(&place, &mut daemon, &["meanwhile8", "meanwhile11", "\"Long 77\"", "marker1503"]);
}

#[test]
fn a_note_that_grows_too_large_goes_and_comes_back_when_it_shrinks() {
    let place = notes(3);
    let config = format!("[[vault]]\npath = {:?}\nmax_note_bytes = \"64 KiB\"\n", place.vault);
    fs::write(place.dir.path().join("config.toml"), config).unwrap();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    wait_notes(&mut daemon, 3);
    let large = format!("{}\n{}", note(1), "enormous text\n".repeat(10_000));
    place.write("n1.md", large);
    // As at a start: what is not indexed is not found under words that it no longer has.
    daemon.wait_holding("marker1", &[]);
    daemon.wait_vault("told of", |vault| vault.skipped.first().is_some_and(|file| file.path == "n1.md"));
    place.write("n1.md", note(1));
    daemon.wait_holding("marker1", &["n1.md"]);
    daemon.wait_vault("no longer told of", |vault| vault.skipped.is_empty());
}
