//! Vaults that come and go while the daemon runs: `situated vault`, on real folders, with a daemon that the kernel holds to
//! the folders that it had.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use protocol::audience::Audience;
use protocol::search::SearchRequest;
use serde_json::Value;

use crate::commands::{err, out};
use crate::requests::by_words;
use crate::small_disk::SmallDisk;
use crate::support::{Daemon, Place};

/// A place with a note, and another folder beside it, out of the daemon's reach, with one.
fn place() -> (Place, tempfile::TempDir, PathBuf) {
    let place = Place::with(&[("a.md", "# A\n\nApples are red.\n")]);
    let elsewhere = tempfile::tempdir().unwrap();
    let other = elsewhere.path().canonicalize().unwrap().join("Other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("b.md"), "# B\n\nBananas are yellow.\n").unwrap();
    (place, elsewhere, other)
}

/// Runs a command; its code and all that it said.
fn said(place: &Place, arguments: &[&str]) -> (i32, String) {
    let output = place.run(arguments);
    (output.status.code().unwrap(), format!("{}{}", out(&output), err(&output)))
}

fn well(place: &Place, arguments: &[&str]) -> String {
    let (code, said) = said(place, arguments);
    assert_eq!(code, 0, "{arguments:?}: {said}");
    said
}

fn start(place: &Place) -> Daemon {
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon
}

/// Name and path of each vault, as `vault list` has them.
fn listed(place: &Place) -> Vec<(String, bool)> {
    let list: Value = serde_json::from_str(out(&place.run(&["vault", "list", "--json"])).trim()).unwrap();
    let of = |vault: &Value| (vault["name"].as_str().unwrap().to_owned(), vault["served"].as_bool().unwrap());
    list["vaults"].as_array().unwrap().iter().map(of).collect()
}

/// What is asked while vaults come and go; each answer tells of `a.md`.
const ASKED: [&[&str]; 4] = [
    &["search", "--json", "--mode", "lexical", "apples"],
    &["grep", "--json", "-i", "apples"],
    &["get", "a.md"],
    &["call", "names", r#"{"what":"notes"}"#],
];

/// Clients that ask all the time, and fail if one request does.
struct Askers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u32>>,
}

impl Askers {
    fn start(place: &Place) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let ask = |n: usize| {
            let (stop, mut client) = (stop.clone(), place.command());
            client.args(ASKED[n]);
            let work = move || {
                let mut asked = 0;
                while !stop.load(Ordering::Relaxed) {
                    let output = client.output().unwrap();
                    assert!(output.status.success(), "{}", err(&output));
                    let told = out(&output).to_lowercase();
                    assert!(told.contains("a.md") || told.contains("apples"), "{told}");
                    asked += 1;
                }
                asked
            };
            std::thread::Builder::new().name(format!("asker {n}")).spawn(work).unwrap()
        };
        let threads = (0..ASKED.len()).map(ask).collect();
        Askers { stop, threads }
    }

    fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        let asked: Vec<u32> = self.threads.into_iter().map(|asker| asker.join().unwrap()).collect();
        assert!(asked.iter().all(|asked| *asked > 0), "{asked:?}");
    }
}

#[test]
fn a_vault_is_added_while_queries_run_and_none_of_them_fails() {
    let (place, _elsewhere, other) = place();
    place.configure("# mine\n\n[search]\nlimit = 7 # few\n");
    let mut daemon = start(&place);
    let askers = Askers::start(&place);
    let told = well(&place, &["vault", "add", other.to_str().unwrap()]);
    assert!(told.contains("Added Other") && told.contains("indexes and watches it now"), "{told}");
    daemon.connect_anew();
    daemon.wait_holding("bananas", &["b.md"]);
    fs::write(other.join("c.md"), "# C\n\nCherries too.\n").unwrap();
    daemon.wait_holding("cherries", &["c.md"]);
    askers.finish();
    assert_eq!(daemon.exited(), None, "it is the same process");
    let text = fs::read_to_string(place.dir.path().join("config.toml")).unwrap();
    assert!(text.contains("# mine") && text.contains("limit = 7 # few") && text.contains("name = \"Other\""), "{text}");
    assert_eq!(listed(&place), [("notes".to_owned(), true), ("Other".to_owned(), true)]);
    assert!(well(&place, &["vault", "add", other.to_str().unwrap()]).contains("is a vault already"));
    let again = well(&place, &["--json", "vault", "add", other.to_str().unwrap()]);
    assert!(again.contains("\"vault\":\"Other\"") && again.contains("\"taken_over\":true"), "{again}");
    let same = well(&place, &["--json", "vault", "rename", "Other", "Other"]);
    assert!(same.contains("\"before\":\"Other\""), "{same}");
    assert_eq!(daemon.stop(), Some(0));
    assert!(!place.socket().exists(), "what it inherited it removes");
}

#[test]
fn a_vault_given_to_run_is_named_when_another_is_added() {
    let (place, _elsewhere, other) = place();
    let mut daemon = place.start();
    assert!(well(&place, &["vault", "list"]).contains("given to `situated run`"));
    well(&place, &["vault", "add", other.to_str().unwrap(), "--name", "Fruit"]);
    daemon.connect_anew();
    daemon.wait_holding("bananas", &["b.md"]);
    assert_eq!(daemon.holding("apples"), ["a.md"]);
    assert_eq!(listed(&place), [("notes".to_owned(), true), ("Fruit".to_owned(), true)]);
    assert_eq!(daemon.stop(), Some(0));
    // Without a daemon the configuration is told of, and edited all the same.
    assert_eq!(listed(&place), [("notes".to_owned(), false), ("Fruit".to_owned(), false)]);
    assert!(well(&place, &["vault", "rename", "Fruit", "Obst"]).contains("is Obst now"));
    assert_eq!(listed(&place)[1].0, "Obst");
}

#[test]
fn two_vaults_given_to_run_are_both_searched_and_both_named_when_a_third_is_added() {
    let (place, _elsewhere, other) = place();
    let third = place.dir.path().canonicalize().unwrap().join("old/Other");
    fs::create_dir_all(&third).unwrap();
    fs::write(third.join("c.md"), "# C\n\nCherries too.\n").unwrap();
    let mut daemon = place.spawn(&["run", place.vault.to_str().unwrap(), other.to_str().unwrap()]);
    daemon.wait_idle();
    daemon.wait_holding("bananas", &["b.md"]);
    assert_eq!(daemon.holding("apples"), ["a.md"]);
    assert_eq!(well(&place, &["vault", "list"]).matches("given to `situated run`").count(), 2);
    well(&place, &["vault", "add", third.to_str().unwrap()]);
    daemon.connect_anew();
    daemon.wait_holding("cherries", &["c.md"]);
    assert_eq!(
        (daemon.holding("apples"), daemon.holding("bananas")),
        (vec!["a.md".to_owned()], vec!["b.md".to_owned()])
    );
    assert_eq!(daemon.exited(), None, "it is the same process");
    assert_eq!(listed(&place), ["notes", "Other", "Other 2"].map(|name| (name.to_owned(), true)));
    // From now on the configuration says what is served, also where it drops what `run` was given.
    well(&place, &["vault", "remove", "Other"]);
    daemon.connect_anew();
    assert_eq!((daemon.holding("bananas"), daemon.holding("cherries")), (vec![], vec!["c.md".to_owned()]));
    assert_eq!(listed(&place), ["notes", "Other 2"].map(|name| (name.to_owned(), true)));
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_vault_given_to_run_keeps_its_name_when_it_is_added_and_cannot_be_removed_before() {
    let (place, _elsewhere, other) = place();
    let mut daemon = place.spawn(&["run", place.vault.to_str().unwrap(), other.to_str().unwrap()]);
    daemon.wait_idle();
    for arguments in [&["vault", "remove", "Other"][..], &["vault", "rename", "Other", "Fruit"]] {
        let (code, told) = said(&place, arguments);
        let mends = told.contains(&format!("`situated vault add {}`", other.display()));
        assert!(code == 2 && told.contains("`Other` was given to `situated run`") && mends, "{told}");
    }
    well(&place, &["vault", "add", other.to_str().unwrap()]);
    assert_eq!(listed(&place), ["notes", "Other"].map(|name| (name.to_owned(), true)));
    well(&place, &["vault", "remove", "notes"]);
    daemon.connect_anew();
    assert_eq!((daemon.holding("apples"), daemon.holding("bananas")), (vec![], vec!["b.md".to_owned()]));
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_vault_that_is_renamed_keeps_its_index_and_one_that_is_removed_its_notes() {
    let (place, _elsewhere, other) = place();
    place.configure(&format!("\n[[vault]]\nname = \"Other\"\npath = {other:?}\n"));
    let mut daemon = start(&place);
    let seq = |daemon: &mut Daemon, name: &str| {
        daemon.status().vaults.into_iter().find(|vault| vault.name == name).map(|vault| (vault.notes, vault.seq))
    };
    let before = seq(&mut daemon, "Other").unwrap();
    well(&place, &["vault", "rename", "other", "Fruit"]);
    daemon.connect_anew();
    daemon.wait_idle();
    assert_eq!(seq(&mut daemon, "Fruit"), Some(before), "nothing was indexed anew");
    let of_vault = SearchRequest { vault: Some("Fruit".to_owned()), ..by_words("bananas") };
    assert_eq!(daemon.ask(&of_vault).hits[0].vault, "Fruit");

    let told = well(&place, &["vault", "remove", "Fruit"]);
    assert!(told.contains("its notes in") && told.contains("stays too"), "{told}");
    daemon.connect_anew();
    assert_eq!(daemon.holding("bananas"), [""; 0]);
    assert!(other.join("b.md").exists());
    let (code, told) = said(&place, &["vault", "remove", "notes"]);
    assert!(code == 2 && told.contains("only vault") && told.contains("service uninstall"), "{told}");
    well(&place, &["vault", "add", other.to_str().unwrap()]);
    let data = |place: &Place| fs::read_dir(place.data().join("vaults")).unwrap().count();
    assert_eq!(data(&place), 2);
    well(&place, &["vault", "remove", other.to_str().unwrap(), "--delete-data", "--yes"]);
    assert!(!daemon.log().contains("ERROR"), "{}", daemon.log());
    assert_eq!(data(&place), 1);
    assert!(other.join("b.md").exists());
}

#[test]
fn vaults_are_renamed_and_read_by_other_rules_while_queries_run_and_none_of_them_fails() {
    let (place, _elsewhere, other) = place();
    place.configure("");
    let daemon = start(&place);
    well(&place, &["vault", "add", other.to_str().unwrap()]);
    let askers = Askers::start(&place);
    for names in [["notes", "First"], ["Other", "Second"], ["First", "notes"]] {
        well(&place, &["vault", "rename", names[0], names[1]]);
    }
    let file = place.dir.path().join("config.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("name = \"Second\"", "name = \"Second\"\nprivate = [\"b.md\"]")).unwrap();
    well(&place, &["config", "reload"]);
    well(&place, &["vault", "remove", "Second"]);
    askers.finish();
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_vault_whose_folder_is_gone_keeps_no_other_from_being_served_and_is_renamed_and_removed() {
    let (place, elsewhere, other) = place();
    place.configure(&format!("\n[[vault]]\nname = \"Other\"\npath = {other:?}\n"));
    let mut daemon = start(&place);
    assert_eq!(daemon.holding("bananas"), ["b.md"]);
    assert_eq!(daemon.stop(), Some(0));
    fs::rename(&other, elsewhere.path().join("away")).unwrap();
    let mut daemon = place.spawn(&["run"]);
    let tells = |problem: &String| problem.contains("vault `Other` cannot be read");
    daemon.wait_for("told", |status| status.problems.iter().any(tells));
    assert_eq!(daemon.holding("apples"), ["a.md"]);
    assert_eq!(daemon.holding("bananas"), ["b.md"], "its index is kept");

    well(&place, &["vault", "rename", "Other", "Fruit"]);
    let third = elsewhere.path().canonicalize().unwrap().join("Third");
    fs::create_dir(&third).unwrap();
    fs::write(third.join("c.md"), "# C\n\nCherries are sour.\n").unwrap();
    well(&place, &["vault", "add", third.to_str().unwrap()]);
    daemon.connect_anew();
    daemon.wait_holding("cherries", &["c.md"]);
    well(&place, &["vault", "remove", "Fruit"]);
    daemon.connect_anew();
    daemon.wait_holding("bananas", &[]);
    assert_eq!(daemon.holding("apples"), ["a.md"]);
}

#[test]
fn a_configuration_that_the_running_daemon_does_not_read_is_left_as_it_is() {
    let (place, _elsewhere, other) = place();
    place.configure("");
    let daemon = start(&place);
    let unread = place.dir.path().join("unread.toml");
    let text = fs::read_to_string(place.dir.path().join("config.toml")).unwrap();
    fs::write(&unread, &text).unwrap();
    for arguments in [
        &["vault", "add", other.to_str().unwrap()][..],
        &["vault", "remove", "notes"],
        &["vault", "rename", "notes", "n"],
    ] {
        let (code, told) = said(&place, &[&["--config", unread.to_str().unwrap()], arguments].concat());
        assert!(code == 2 && told.contains(&format!("not {}", unread.display())), "{told}");
        assert_eq!(fs::read_to_string(&unread).unwrap(), text);
    }
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn what_the_configuration_says_of_a_vault_outlasts_its_name_there() {
    let (place, elsewhere, other) = place();
    let config = place.dir.path().join("config.toml");
    place.configure(&format!("private = [\"*.md\"]\n\n[[vault]]\nname = \"Other\"\npath = {other:?}\n"));
    let whole = fs::read_to_string(&config).unwrap();
    let mut daemon = place.start();
    let to_an_assistant = SearchRequest { audience: Audience::Assistant, ..by_words("apples") };
    assert!(well(&place, &["vault", "list"]).contains("`situated stop` and `situated run` serve all"));
    assert!(well(&place, &["config", "reload"]).contains("vault `Other`"));
    let (code, told) = said(&place, &["vault", "add", elsewhere.path().to_str().unwrap()]);
    assert!(code == 75 && told.contains("the folders that `situated run` was given"), "{code} {told}");
    // Removed, spelt wrongly, half saved: it is served as before, or not at all.
    let (code, told) = said(&place, &["vault", "remove", "notes"]);
    assert!(code == 1 && told.contains("names no vault any more"), "{code} {told}");
    assert!(!daemon.status().config.changed);
    for text in [whole.replace("situated-it-", "situated-ti-"), "# half saved\n".to_owned()] {
        fs::write(&config, text).unwrap();
        assert!(!daemon.reload().is_empty());
        assert_eq!((daemon.holding("apples").len(), daemon.ask(&to_an_assistant).hits.len()), (1, 0));
    }
    fs::write(&config, &whole).unwrap();
    assert_eq!(daemon.reload(), [""; 0]);
    assert_eq!(listed(&place), [("notes".to_owned(), true), ("Other".to_owned(), false)]);
    assert_eq!(daemon.stop(), Some(0));

    let mut daemon = place.spawn(&["run", other.to_str().unwrap(), place.vault.to_str().unwrap()]);
    daemon.wait_idle();
    well(&place, &["vault", "remove", "notes"]);
    daemon.connect_anew();
    assert_eq!((daemon.holding("apples"), daemon.holding("bananas")), (vec![], vec!["b.md".to_owned()]));
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_folder_that_is_not_there_is_no_fault_of_the_configuration() {
    let (place, _elsewhere, _) = place();
    place.configure("");
    let (code, told) = said(&place, &["run", "/nonexistent/notes"]);
    assert!(code == 78 && told.contains("there is no folder /nonexistent/notes"), "{code} {told}");
    assert!(!told.contains("config check"), "{told}");
}

#[test]
fn what_is_no_vault_is_refused_and_nothing_changes() {
    let (place, elsewhere, other) = place();
    place.configure("");
    let daemon = start(&place);
    let config = place.dir.path().join("config.toml");
    let before = fs::read_to_string(&config).unwrap();
    let inner = place.vault.join("Inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("i.md"), "# I\n").unwrap();
    let file = other.join("b.md");
    let empty = elsewhere.path().join("Empty");
    fs::create_dir(&empty).unwrap();
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let gone = text(&elsewhere.path().join("gone"));
    let home = text(&place.dir.path().to_owned());
    for (arguments, code, part) in [
        (vec!["/".to_owned()], 2, "the whole machine is no vault"),
        (vec![gone], 2, "No such file"),
        (vec![text(&file)], 2, "it is not a folder"),
        (vec![text(&inner)], 2, "lies inside the vault"),
        (vec![home.clone()], 2, "your home folder"),
        (vec![home, "--yes".to_owned()], 2, "inside the vault"),
        (vec![text(&empty)], 2, "there is no note in it yet"),
        (vec![text(&other), "--name".to_owned(), "NOTES".to_owned()], 2, "two vaults are called"),
        (vec![text(&other), "--name".to_owned(), "a/b".to_owned()], 2, "cannot be a vault's name"),
        (vec![text(&other), "--name=two\nlines".to_owned()], 2, "cannot be a vault's name"),
    ] {
        let mut all = vec!["vault", "add"];
        all.extend(arguments.iter().map(String::as_str));
        let (had, told) = said(&place, &all);
        assert!(had == code && told.contains(part), "{arguments:?}: {had} {told}");
        assert_eq!(fs::read_to_string(&config).unwrap(), before, "{arguments:?}");
    }
    for arguments in [["vault", "remove", "none", "--yes"], ["vault", "rename", "none", "other"]] {
        let (code, told) = said(&place, &arguments);
        assert!(code == 2 && told.contains("it names `notes`"), "{told}");
    }
    fs::write(&config, format!("{before}[serch]\n")).unwrap();
    let (code, told) = said(&place, &["vault", "add", other.to_str().unwrap()]);
    assert!(code == 78 && told.contains("mend it first"), "{code} {told}");
    assert_eq!(
        fs::read_dir(place.dir.path())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("config.toml.") })
            .count(),
        0,
        "nothing is left beside it"
    );
    drop(daemon);
}

#[test]
fn a_daemon_that_answers_nobody_is_not_said_to_be_none() {
    let (place, _elsewhere, other) = place();
    place.configure("[serve]\nmax_connections = 2\n");
    let mut daemon = start(&place);
    // The two connections that there may be are the test's own.
    daemon.status();
    let _second = std::os::unix::net::UnixStream::connect(place.socket()).unwrap();
    for arguments in [&["vault", "list"][..], &["vault", "add", other.to_str().unwrap()]] {
        let (code, said) = said(&place, arguments);
        assert!(code != 0 && !said.contains("no daemon runs"), "{arguments:?}: {code} {said}");
        assert!(!said.contains("No daemon runs"), "{arguments:?}: {said}");
    }
    let written = fs::read_to_string(place.dir.path().join("config.toml")).unwrap();
    assert!(!written.contains("Other"), "{written}");
}

#[test]
fn what_the_configuration_says_of_a_vault_is_not_lost_while_the_file_is_away() {
    let (place, _elsewhere, other) = place();
    let folder = place.dir.path().join(".config/situated");
    fs::create_dir_all(&folder).unwrap();
    let (file, away) = (folder.join("config.toml"), folder.join("away"));
    fs::write(&file, format!("[[vault]]\npath = {:?}\nprivate = [\"a.md\"]\n", place.vault)).unwrap();
    let _daemon = start(&place);
    let add: &[&str] = &["vault", "add", other.to_str().unwrap()];
    let refuses = |what: &str| {
        for arguments in [add, &["vault", "rename", "notes", "new"]] {
            let (code, told) = said(&place, arguments);
            assert!(code == 78 && told.contains(what), "{arguments:?}: {code} {told}");
        }
    };
    fs::rename(&file, &away).unwrap();
    refuses("is gone: put it back");
    assert!(!file.exists());
    // As a branch of the user's dotfiles for another machine.
    fs::write(&file, "[search]\nlimit = 7\n").unwrap();
    refuses("has changed");
    fs::rename(&away, &file).unwrap();
    well(&place, add);
    assert!(fs::read_to_string(&file).unwrap().contains("private = [\"a.md\"]"));
}

#[test]
#[cfg_attr(not(has_mount), ignore = "needs the right to mount")]
fn a_daemon_does_not_start_itself_anew_on_a_full_disk() {
    let (place, _elsewhere, other) = place();
    let disk = SmallDisk::mount(&place.data(), "32m");
    place.configure("");
    let mut daemon = start(&place);
    disk.fill();
    let (code, told) = said(&place, &["vault", "add", other.to_str().unwrap()]);
    assert!(code == 1 && told.contains("cannot now") && told.contains("No space left"), "{code} {told}");
    assert_eq!((daemon.exited(), daemon.holding("apples")), (None, vec!["a.md".to_owned()]));
    disk.make_room();
    well(&place, &["vault", "add", other.to_str().unwrap()]);
    daemon.connect_anew();
    daemon.wait_holding("bananas", &["b.md"]);
    assert_eq!(daemon.exited(), None, "it is the same process");
}
