//! What the daemon makes is for its user alone, and so is its memory when it may hold a key.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::model::Model;
use crate::reranker::Reranker;
use crate::support::{Daemon, Place};
use crate::vectors::Vectors;

/// A folder with all that is in it.
pub(crate) fn all(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let below = entries.flat_map(|e| if e.file_type().unwrap().is_dir() { all(&e.path()) } else { vec![e.path()] });
    [dir.to_owned()].into_iter().chain(below).collect()
}

/// Files and folders that others may open.
pub(crate) fn open_to_others(dir: &Path) -> Vec<PathBuf> {
    all(dir).into_iter().filter(|path| fs::symlink_metadata(path).unwrap().mode() & 0o077 != 0).collect()
}

fn started(place: &Place) -> Daemon {
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_vault("served", |vault| vault.notes == 1);
    daemon
}

#[test]
fn a_data_folder_that_was_open_to_others_is_closed() {
    let place = Place::with(&[("A.md", "# A\n\nA heron in the reeds.\n")]);
    place.configure("");
    fs::create_dir(place.data()).unwrap();
    fs::set_permissions(place.data(), Permissions::from_mode(0o755)).unwrap();
    let daemon = started(&place);
    assert_eq!(open_to_others(&place.data()), [] as [PathBuf; 0], "what is new");
    assert!(all(&place.data()).len() > 5);
    assert_eq!(daemon.stop(), Some(0));

    // As an older version left it.
    for path in all(&place.data()) {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let said = |daemon: &Daemon| daemon.log().matches("other users could open").count();
    let daemon = started(&place);
    assert_eq!(open_to_others(&place.data()), [] as [PathBuf; 0], "what was there");
    assert_eq!(said(&daemon), 2, "once for the empty folder, once now: {}", daemon.log());
    assert_eq!(daemon.stop(), Some(0));
    let daemon = started(&place);
    assert_eq!(said(&daemon), 2, "{}", daemon.log());
    assert_eq!(daemon.stop(), Some(0));
}

/// Whether a crash of the daemon may write its memory down, or another process of its user read it.
#[cfg(target_os = "linux")]
fn is_dumpable(daemon: &Daemon) -> bool {
    let proc = PathBuf::from(format!("/proc/{}", daemon.pid()));
    let limits = fs::read_to_string(proc.join("limits")).unwrap();
    let hard = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    // What is not dumpable belongs to root in `/proc`; to root itself that says nothing.
    let of_root = fs::metadata(&proc).unwrap().uid() == 0;
    hard.split_whitespace().nth(5) != Some("0") || !of_root
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_that_holds_any_key_is_not_dumped() {
    let key = "key_command = \"echo k\"\n";
    let (model, vectors, reranker) = (Model::start(), Vectors::start(16), Reranker::start("x"));
    for (what, config) in [
        ("context", model.config("anthropic", key)),
        ("embed", vectors.config("openai", "m", key)),
        ("rerank", reranker.config("cohere", key)),
    ] {
        let place = Place::with(&[("A.md", "# A\n\nA heron in the reeds.\n")]);
        place.configure(&config);
        let daemon = started(&place);
        assert!(!is_dumpable(&daemon), "{what}");
        daemon.stop();
    }
}
