//! What stands in the data folder and is no file of the daemon's: it starts, or says in one line what to do, and never waits
//! for ever. `cargo bench --bench campaign -- damage` does this to every file in every way.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use protocol::search::SearchRequest;
use protocol::status::{RunState, Status};

use crate::support::{Daemon, PATIENCE, Place, make_fifo};

fn small() -> Place {
    Place::with(&[("a.md", "# A\n\na badger\n")])
}

fn spawn(place: &Place) -> Daemon {
    place.spawn(&["run", place.vault.to_str().unwrap()])
}

/// The folder of the only vault's index.
fn index(place: &Place) -> PathBuf {
    fs::read_dir(place.data().join("vaults")).unwrap().next().unwrap().unwrap().path()
}

/// Puts something in a file's place.
fn replace(file: &Path, with: impl Fn(&Path)) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    if file.exists() {
        fs::remove_file(file).unwrap();
    }
    with(file);
}

#[test]
fn a_pipe_or_a_link_to_nothing_is_named_at_the_start_and_nobody_waits() {
    let place = small();
    place.start().stop();
    let (data, index) = (place.data(), index(&place));
    let month = format!("ledger/{}.jsonl", jiff::Zoned::now().strftime("%Y-%m"));
    for file in [data.join("lock"), data.join("daemon.log"), data.join(month), index.join("contexts.journal")] {
        for (what, with) in [
            ("pipe", &make_fifo as &dyn Fn(&Path)),
            ("there", &|at: &Path| symlink(at.with_file_name("nowhere").join("file"), at).unwrap()),
        ] {
            replace(&file, with);
            let _ = fs::remove_file(place.dir.path().join("log"));
            let mut daemon = spawn(&place);
            let code = daemon.wait_exit();
            let said = daemon.log();
            assert!(matches!(code, Some(73 | 74)), "{}: {code:?}, {said}", file.display());
            let line = said.lines().find(|line| line.contains(&*file.to_string_lossy()));
            assert!(line.is_some_and(|line| line.contains(what)), "{said}");
            let clauses: Vec<&str> = line.into_iter().flat_map(|line| line.split(": ")).collect();
            assert_eq!(clauses.iter().collect::<HashSet<_>>().len(), clauses.len(), "something is said twice: {said}");
            fs::remove_file(&file).unwrap();
        }
    }
    assert_eq!(place.start().holding("badger"), ["a.md"], "with them gone all is as it was");
}

#[test]
fn a_folder_in_a_files_place_is_named_with_what_to_do_and_once_it_is_gone_the_vault_is_served() {
    let place = small();
    place.start().stop();
    let journal = index(&place).join("contexts.journal");
    replace(&journal, |at| fs::create_dir(at).unwrap());
    let mut daemon = spawn(&place);
    let told = |problem: &String| problem.contains(&*journal.to_string_lossy()) && problem.contains("move it away");
    let told = |status: &Status| status.state == RunState::Degraded && status.problems.iter().any(told);
    daemon.wait_for("the folder is told of", told);
    let search = SearchRequest { query: "badger".to_owned(), ..SearchRequest::default() };
    assert!(daemon.refused(&search).message.contains("move it away"), "a query is told too");
    fs::remove_dir(&journal).unwrap();
    daemon.resume();
    daemon.wait_for("it is served", |status| status.problems.is_empty());
    daemon.wait_holding("badger", &["a.md"]);
}

/// The tables of the index, which a clean stop saves and the next start reads.
#[test]
fn saved_tables_serve_one_start_and_what_is_in_their_place_is_not_in_the_way() {
    let place = small();
    place.start().stop();
    let tables = index(&place).join("lexical/tables");
    let saved = fs::read(&tables).unwrap();
    let starts = || {
        let mut daemon = place.start();
        assert_eq!(daemon.holding("badger"), ["a.md"]);
        daemon.wait_for("it is at rest", |status| status.state == RunState::Idle);
        daemon
    };
    let daemon = starts();
    assert!(!tables.exists(), "the start has read them");
    daemon.kill();
    starts().stop();
    assert!(tables.exists(), "after a kill too");

    let mut wrong = saved.clone();
    wrong[saved.len() / 2] ^= 1;
    for bytes in [&wrong[..], &saved[..saved.len() - 1], b"", &saved[..]] {
        fs::write(&tables, bytes).unwrap();
        starts().stop();
    }

    // Folders in their place, and in that of tables that were read.
    let used = tables.with_extension("used");
    fs::create_dir(&used).unwrap();
    let daemon = starts();
    assert!(!tables.exists(), "the start has read them");
    daemon.stop();
    fs::remove_dir(&used).unwrap();
    fs::remove_file(&tables).unwrap();
    fs::create_dir(&tables).unwrap();
    starts().stop();

    // Words that cannot be used.
    fs::remove_dir(&tables).unwrap();
    starts().stop();
    replace(&index(&place).join("lexical/words/.tantivy-writer.lock"), |at| fs::create_dir(at).unwrap());
    starts().stop();
    fs::write(index(&place).join("lexical/words/meta.json"), "{").unwrap();
    starts().stop();

    // What has changed while nobody looked.
    place.write("a.md", "# A\n\nan otter\n");
    let mut daemon = place.start();
    daemon.wait_holding("otter", &["a.md"]);
    assert!(daemon.holding("badger").is_empty());
}

/// A client reads the lock and the discovery file too.
#[test]
fn a_client_does_not_wait_for_a_pipe() {
    let place = small();
    fs::create_dir_all(place.data()).unwrap();
    for name in ["lock", "daemon.json"] {
        make_fifo(&place.data().join(name));
    }
    let config = place.dir.path().join("pipe.toml");
    make_fifo(&config);
    let config = config.to_str().unwrap();
    for (arguments, code) in [(vec!["status"], 3), (vec!["--config", config, "config", "check"], 1)] {
        let mut client = place.spawn(&arguments);
        assert_eq!(client.wait_exit(), Some(code), "{arguments:?}: {} within {PATIENCE:?}", client.log());
    }
}
