//! What the daemon takes from its host: files and connections, the battery, memory, wake-ups; and the user's pause.

#[cfg(target_os = "linux")]
use std::collections::HashMap;
use std::fs;
#[cfg(target_os = "linux")]
use std::path::PathBuf;
use std::time::{Duration, Instant};

use protocol::daemon::ReloadRequest;
use protocol::jobs::{JobState, PauseRequest, RebuildRequest};
use protocol::search::SearchRequest;
use protocol::status::{Enforcement, RunState, Status};
use situated::daemon::sandbox::landlock::kernel_abi;

use crate::model::Model;
use crate::requests::query;
use crate::support::{Daemon, PATIENCE, Place, eventually};

fn notes(n: usize) -> Place {
    let place = Place::new();
    for i in 0..n {
        place.write(&format!("n{i}.md"), format!("# Note {i}\n\nIts word is marker{i}.\n"));
    }
    place
}

fn configured(place: &Place, more: &str) -> Daemon {
    place.configure(more);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon
}

#[test]
#[cfg_attr(not(has_landlock), ignore = "needs Landlock in the kernel")]
fn every_thread_is_held_to_its_files_and_saves_are_found_all_the_same() {
    let place = notes(3);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("secret.md"), "# Secret\n\nperiwinkle\n").unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("secret.md"), place.vault.join("leak.md")).unwrap();
    let mut daemon = configured(&place, "");
    let sandbox = daemon.status().sandbox;
    assert_eq!((sandbox.landlock, sandbox.network), (Enforcement::Full, kernel_abi() < Some(4)));
    // Bulk and saves have run, and a query: all threads are there. What restricts a thread marks it so for good.
    place.write("new.md", "# New\n\nfreshly\n");
    daemon.wait_holding("freshly", &["new.md"]);
    for thread in fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap() {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap_or_default();
        assert!(status.is_empty() || status.contains("NoNewPrivs:\t1"), "{status}");
    }
    place.write("Sub/deep.md", "# Deep\n\nbelow\n");
    daemon.wait_holding("below", &["Sub/deep.md"]);
    fs::remove_file(place.vault.join("new.md")).unwrap();
    daemon.wait_holding("freshly", &[]);
    assert_eq!(daemon.holding("periwinkle"), [] as [&str; 0]);
    // A reload reads the configuration again, which an editor may have put in the old one's place.
    let config = place.dir.path().join("config.toml");
    fs::write(config.with_extension("new"), fs::read_to_string(&config).unwrap() + "[search]\nlimit = 7\n").unwrap();
    fs::rename(config.with_extension("new"), &config).unwrap();
    assert_eq!(daemon.reload(), [""; 0]);
    let before = place.tree();
    assert_eq!(daemon.stop(), Some(0));
    assert!(!place.socket().exists(), "it may remove its socket");
    assert!(place.tree() == before && place.run(&["compact"]).status.success());
}

#[test]
#[cfg_attr(not(has_landlock), ignore = "needs Landlock in the kernel")]
fn a_reload_that_needs_more_has_the_daemon_start_itself_anew() {
    let place = notes(3);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("other.md"), "# Other\n\nperiwinkle\n").unwrap();
    let mut daemon = configured(&place, "");
    let more = format!("[[vault]]\nname = \"more\"\npath = {:?}\n", elsewhere.path());
    place.configure(&more);
    let reloaded = daemon.ask(&ReloadRequest::default());
    assert!(reloaded.problems.is_empty() && reloaded.restarts, "{reloaded:?}");
    daemon.connect_anew();
    daemon.wait_holding("periwinkle", &["other.md"]);
    assert_eq!(daemon.exited(), None, "it is the same process");
    place.configure("[context]\nprovider = \"ollama\"\n");
    assert!(daemon.ask(&ReloadRequest::default()).restarts, "to open network connections is more too");
    daemon.connect_anew();
    daemon.wait_idle();
    // What not even a new process could go by is refused, and this one goes on.
    let nowhere = elsewhere.path().join("nowhere");
    place.configure(&format!("[[vault]]\nname = \"more\"\npath = {nowhere:?}\n"));
    let reloaded = daemon.ask(&ReloadRequest::default());
    assert!(!reloaded.restarts && reloaded.problems[0].message.contains("there is no folder"), "{reloaded:?}");
    assert_eq!(daemon.holding("marker1"), ["n1.md"]);
    place.configure(&more);
    assert!(daemon.ask(&ReloadRequest::default()).restarts);
    daemon.connect_anew();
    daemon.wait_holding("periwinkle", &["other.md"]);
    // Less than before needs no restart.
    place.configure("");
    assert_eq!(daemon.reload(), [""; 0]);
    daemon.wait_holding("periwinkle", &[]);
}

#[test]
#[cfg_attr(not(has_landlock), ignore = "needs Landlock in the kernel")]
fn a_daemon_whose_program_was_removed_starts_itself_anew_all_the_same() {
    let place = notes(3);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("other.md"), "# Other\n\nperiwinkle\n").unwrap();
    let program = place.dir.path().join("program");
    fs::copy(env!("CARGO_BIN_EXE_situated"), &program).unwrap();
    place.configure("");
    let usual = place.command();
    let mut command = std::process::Command::new(&program);
    command.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut daemon = place.spawn_command(command.arg("run"));
    daemon.wait_idle();
    fs::remove_file(&program).unwrap();
    // Once more, for the program was removed for the next daemon, too.
    for more in ["", "[context]\nprovider = \"ollama\"\n"] {
        place.configure(&format!("[[vault]]\nname = \"more\"\npath = {:?}\n{more}", elsewhere.path()));
        assert!(daemon.ask(&ReloadRequest::default()).restarts);
        daemon.connect_anew();
        daemon.wait_holding("periwinkle", &["other.md"]);
        assert_eq!(daemon.exited(), None, "{}", daemon.log());
    }
}

#[test]
#[cfg_attr(not(has_landlock), ignore = "needs Landlock in the kernel")]
fn another_folder_in_the_vaults_place_is_read_and_loses_nothing() {
    let place = notes(20);
    // The folder of the configuration may be read, so it is another one than the vault's.
    let elsewhere = tempfile::tempdir().unwrap();
    let config = elsewhere.path().join("config.toml");
    fs::write(&config, format!("[watch]\ndoubt = \"1s\"\n[[vault]]\npath = {:?}\n", place.vault)).unwrap();
    let mut daemon = place.spawn_command(place.command().env("SITUATED_CONFIG", &config).arg("run"));
    daemon.wait_idle();
    fs::rename(&place.vault, elsewhere.path().join("away")).unwrap();
    daemon.wait_vault("in doubt", |vault| vault.doubt.is_some());
    let gone = daemon.ask(&query("marker7"));
    assert!(gone.hits[0].path == "n7.md" && gone.warnings.concat().contains("its index is kept"), "{gone:?}");
    place.write("n3.md", "# Note 3\n\nelsewhere\n");
    for i in 4..20 {
        place.write(&format!("n{i}.md"), format!("# Note {i}\n\nIts word is marker{i}.\n"));
    }
    // By connections of their own, for the daemon ends those that it has.
    let found = || place.run(&["search", "--json", "--mode", "lexical", "elsewhere"]);
    eventually("the daemon starts itself anew", || String::from_utf8_lossy(&found().stdout).contains("n3.md"));
    assert_eq!(daemon.exited(), None, "it is the same process");
}

#[test]
fn a_key_is_printed_by_a_command_that_reads_what_the_daemon_may_not() {
    let model = Model::start();
    let place = notes(1);
    let elsewhere = tempfile::tempdir().unwrap();
    let key = elsewhere.path().join("key");
    fs::write(&key, "sk-from-a-command\n").unwrap();
    place.write("long.md", "# Long\n\n## One\n\nA word about it.\n\n## Two\n\nAnother word about it.\n");
    let command = format!("key_command = \"cat {}\"\nllm_min_chunks = 1", key.display());
    let mut daemon = configured(&place, &model.config("anthropic", &command));
    // Nobody is asked while a command that is configured gives no key.
    eventually("the model was asked", || model.calls() > 0);
    let sandbox = daemon.status().sandbox;
    if cfg!(has_landlock) {
        assert_eq!((sandbox.landlock, sandbox.network), (Enforcement::Partial, true));
        assert!(sandbox.why.as_ref().unwrap().contains("command"), "{sandbox:?}");
    }
}

#[test]
fn it_can_be_switched_off() {
    let place = notes(1);
    let mut daemon = configured(&place, "[host]\nsandbox = \"off\"\n");
    let sandbox = daemon.status().sandbox;
    assert_eq!((sandbox.landlock, sandbox.network), (Enforcement::None, true));
    assert!(sandbox.why.as_ref().unwrap().contains("host.sandbox"), "{sandbox:?}");
}

/// A battery, discharging.
pub(crate) fn battery(place: &Place, percent: u8) -> String {
    let supplies = place.dir.path().join("supplies");
    for (supply, files) in [
        ("AC", vec![("type", "Mains".to_owned()), ("online", "0".to_owned())]),
        (
            "BAT0",
            vec![
                ("type", "Battery".to_owned()),
                ("status", "Discharging".to_owned()),
                ("capacity", percent.to_string()),
            ],
        ),
    ] {
        fs::create_dir_all(supplies.join(supply)).unwrap();
        for (file, text) in files {
            fs::write(supplies.join(supply).join(file), text + "\n").unwrap();
        }
    }
    format!("[host]\nbattery = {supplies:?}\n")
}

fn waits_for_the_battery(status: &Status) -> bool {
    let held = status.held.first().is_some_and(|held| held.starts_with("paused: battery"));
    status.state == RunState::Paused && held
}

fn is_paused(status: &Status) -> bool {
    status.state == RunState::Paused
}

#[test]
fn on_battery_a_rebuild_waits_and_saves_do_not() {
    let place = notes(40);
    let config = battery(&place, 31);
    // What is new is indexed, or a first start on the way would find nothing.
    let mut daemon = configured(&place, &config);
    assert_eq!(daemon.holding("marker7"), ["n7.md"]);
    assert_eq!(daemon.status().held, [""; 0], "nothing waits, so nothing is said");
    let job = daemon.ask(&RebuildRequest::default()).job;
    let status = daemon.wait_for("waiting for mains", waits_for_the_battery);
    assert!(status.held[0].contains("31 %"), "{status:?}");
    place.write("n7.md", "# Note 7\n\nhasty\n");
    daemon.wait_holding("hasty", &["n7.md"]);
    for i in 100..130 {
        place.write(&format!("n{i}.md"), "# Note\n\nmany\n");
    }
    eventually("what is new is indexed", || daemon.holding("many").len() == 30);
    let state = |daemon: &mut Daemon| daemon.job(job).state;
    assert_eq!(state(&mut daemon), JobState::Running);
    daemon.resume();
    eventually("the user's word counts for more", || state(&mut daemon) == JobState::Done);
    daemon.wait_idle();
}

#[test]
fn on_an_almost_empty_battery_only_saves_are_indexed() {
    let place = notes(3);
    let config = battery(&place, 81);
    let mut daemon = configured(&place, &config);
    battery(&place, 12);
    for i in 100..140 {
        place.write(&format!("n{i}.md"), "# Note\n\nmany\n");
    }
    // The battery is looked at when there is work in bulk.
    daemon.wait_for("waiting for mains", waits_for_the_battery);
    place.write("n1.md", "# Note 1\n\nhasty\n");
    daemon.wait_holding("hasty", &["n1.md"]);
    daemon.resume();
    eventually("all is indexed", || daemon.holding("many").len() == 40);
}

#[test]
fn a_pause_outlives_the_daemon_and_ends_by_itself() {
    let place = notes(3);
    let mut daemon = configured(&place, "");
    daemon.ask(&PauseRequest { seconds: Some(3600) });
    let status = daemon.wait_for("paused", is_paused);
    assert!(status.paused_until.unwrap() > 1_700_000_000, "{status:?}");
    place.write("n1.md", "# Note 1\n\nlater\n");
    assert_eq!(daemon.stop(), Some(0));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("still paused", |status| {
        is_paused(status) && status.vaults.first().is_some_and(|vault| vault.notes == 3)
    });
    assert_eq!(daemon.holding("later"), [] as [&str; 0]);
    daemon.resume();
    daemon.wait_holding("later", &["n1.md"]);
    daemon.ask(&PauseRequest { seconds: Some(1) });
    daemon.wait_for("paused", is_paused);
    let status = daemon.wait_idle();
    assert_eq!(status.paused_until, None, "{status:?}");
    assert_eq!(daemon.stop(), Some(0));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
}

#[test]
fn with_little_memory_work_goes_on_in_small_steps() {
    let place = notes(200);
    let mut daemon = configured(&place, "[host]\nmemory = \"4 MiB\"\n");
    daemon.wait_holding("marker199", &["n199.md"]);
    let job = daemon.ask(&RebuildRequest::default()).job;
    eventually("it comes to its end", || daemon.job(job).state == JobState::Done);
    assert!(daemon.log().contains("memory is tight"), "{}", daemon.log());
    daemon.wait_for("nothing is said any more", |status| status.held.is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn above_what_memory_may_be_taken_saves_go_on_and_the_rest_waits() {
    const LITTLE: &str = "[host]\nmemory_max = \"4 MiB\"\n";
    let place = notes(600);
    place.configure(LITTLE);
    let mut daemon = place.spawn(&["run"]);
    let waits = |status: &Status| {
        status.state == RunState::Paused && status.held.iter().any(|why| why.contains("paused: memory: above 3 MiB"))
    };
    let status = daemon.wait_for("the notes wait", waits);
    assert_eq!(status.vaults[0].notes, 0, "{status:?}");
    place.write("n1.md", "# Note 1\n\nhasty\n");
    daemon.wait_holding("hasty", &["n1.md"]);
    assert!(daemon.log().contains("memory is short"), "{}", daemon.log());
    place.configure("");
    daemon.reload();
    daemon.wait_holding("marker599", &["n599.md"]);
    daemon.wait_for("nothing is said any more", |status| status.held.is_empty());

    // A vault that does not fit is not opened, and the daemon says so; another one is searched. With more memory it is.
    let small = place.dir.path().join("small");
    fs::create_dir(&small).unwrap();
    fs::write(small.join("s.md"), "# Small\n\nhasty as well\n").unwrap();
    let small = format!("[[vault]]\npath = {small:?}\n");
    place.configure(&format!("{LITTLE}{small}"));
    assert_eq!(daemon.stop(), Some(0));
    let mut daemon = place.spawn(&["run"]);
    let too_large = |why: &String| why.contains("vault `notes`") && why.contains("takes more than 3 MiB of memory");
    daemon.wait_for("it does not fit", |status| status.problems.iter().any(too_large));
    daemon.wait_holding("hasty", &["s.md"]);
    let found = daemon.ask(&SearchRequest { query: "hasty".to_owned(), ..SearchRequest::default() });
    assert!(found.warnings.iter().any(too_large), "{:?}", found.warnings);
    let named = SearchRequest { query: "hasty".into(), vault: Some("notes".into()), ..SearchRequest::default() };
    let refused = daemon.refused(&named).message;
    assert!(refused.contains("takes more than 3 MiB of memory"), "{refused}");
    place.configure(&small);
    daemon.reload();
    daemon.wait_holding("hasty", &["n1.md", "s.md"]);
    daemon.wait_for("nothing is told any more", |status| status.problems.is_empty());
}

/// How often each thread of a process has woken by itself so far.
#[cfg(target_os = "linux")]
fn wakes(pid: u32) -> HashMap<PathBuf, u64> {
    let of = |thread: PathBuf| {
        let status = fs::read_to_string(thread.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        Some((thread, line.trim().parse::<u64>().ok()?))
    };
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.filter_map(|thread| of(thread.unwrap().path())).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn nobody_wakes_while_nothing_happens() {
    const WINDOW: Duration = Duration::from_secs(3);
    let place = notes(30);
    let daemon = place.start();
    // sled's seven threads alone would wake twenty times in this time.
    let until = Instant::now() + PATIENCE;
    loop {
        let before = wakes(daemon.pid());
        std::thread::sleep(WINDOW);
        let after = wakes(daemon.pid());
        let again = after.iter().map(|(thread, wakes)| wakes - before.get(thread).unwrap_or(&0)).sum::<u64>();
        // One that is gone has woken to go.
        let woken = again + before.keys().filter(|thread| !after.contains_key(*thread)).count() as u64;
        if woken <= 3 {
            return;
        }
        assert!(Instant::now() < until, "it woke {woken} times in {WINDOW:?}");
    }
}
