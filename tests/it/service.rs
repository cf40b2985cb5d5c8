//! The daemon as a service: signals, what it tells systemd, and the unit files that must fit it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use protocol::daemon::{CheckConfigRequest, ReloadRequest, ShutdownRequest};
use protocol::jobs::{JobState, RebuildRequest};
use protocol::status::{ConfigStatus, RunState, Status};
use rustix::process::Signal;
use serde_json::json;

use crate::commands::err;
use crate::hostile::Wire;
use crate::manners::battery;
use crate::requests::query;
use crate::support::{Daemon, PATIENCE, Place, eventually};

#[test]
fn it_ends_when_told_and_starts_from_what_is_stored() {
    let place = Place::with_sample();
    let mut daemon = place.start();
    daemon.sync();
    for (i, signal) in [Signal::TERM, Signal::INT].into_iter().enumerate() {
        let found = daemon.search("Bewuchs");
        assert!(!found.is_empty());
        // In the middle of work, with a client that stays.
        let mut wire = Wire::to(&place);
        wire.ping();
        daemon.ask(&RebuildRequest::default());
        let began = Instant::now();
        daemon.signal(signal);
        assert_eq!(daemon.wait_exit(), Some(0), "{}", daemon.log());
        assert!(began.elapsed() < Duration::from_secs(15), "it took {:?} to end", began.elapsed());
        assert!(!place.socket().exists() && wire.next().is_none());

        daemon = place.spawn(&["run", place.vault.to_str().unwrap()]);
        daemon.wait_vault("opened", |vault| vault.notes > 60);
        assert_eq!(daemon.search("Bewuchs"), found, "round {i}");
        daemon.wait_idle();
        daemon.sync();
        assert_eq!(daemon.search("Bewuchs"), found, "round {i}");
    }
}

fn two_vaults(place: &Place) -> String {
    let second = place.dir.path().join("work");
    if !second.exists() {
        std::fs::create_dir(&second).unwrap();
        std::fs::write(second.join("b.md"), "# B\n\nbadger\n").unwrap();
    }
    format!("\n[[vault]]\nname = \"work\"\npath = {}\n", toml::Value::from(second.to_str().unwrap()))
}

fn names(status: &Status) -> Vec<&str> {
    status.vaults.iter().map(|vault| vault.name.as_str()).collect()
}

#[test]
fn a_hangup_puts_the_configuration_in_force_or_says_what_is_wrong_with_it() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    place.configure(&two_vaults(&place));
    daemon.signal(Signal::HUP);
    let both = |status: &Status| names(status) == ["notes", "work"] && status.state == RunState::Idle;
    daemon.wait_for("both", both);
    daemon.wait_holding("badger", &["b.md"]);
    assert_eq!(daemon.holding("aardvark"), ["a.md"]);

    place.configure(&format!("{}\n[search]\nlimmit = 3\n", two_vaults(&place)));
    daemon.signal(Signal::HUP);
    eventually("the log says what is wrong", || daemon.log().contains("did you mean `limit`?"));
    let log = daemon.log();
    assert!(log.contains("the old configuration stays") && log.contains("config.toml:10:1"), "{log}");
    assert_eq!(
        (daemon.holding("badger"), daemon.holding("aardvark")),
        (vec!["b.md".to_owned()], vec!["a.md".to_owned()])
    );
    let problem = daemon.ask(&CheckConfigRequest::default()).problems.swap_remove(0);
    assert_eq!(problem.key.as_deref(), Some("search.limmit"));
    assert_eq!(daemon.ask(&ReloadRequest::default()).problems[0].line, Some(10));

    place.configure(&format!("{}\n[search]\nlimit = 1\n", two_vaults(&place)));
    assert_eq!(daemon.reload(), [""; 0]);
    eventually("the new limit is in force", || daemon.ask(&query("aardvark badger")).hits.len() == 1);

    std::fs::write(place.dir.path().join("config.toml"), "# half saved\n").unwrap();
    assert!(daemon.reload()[0].contains("no vault is named"), "it keeps what it has");
    assert_eq!(names(&daemon.status()), ["notes", "work"]);

    place.configure("");
    daemon.signal(Signal::HUP);
    daemon.wait_for("one is gone", |status| names(status) == ["notes"]);
    assert!(daemon.holding("badger").is_empty());
    place.write("a.md", "# A\n\nwombat\n");
    daemon.wait_holding("wombat", &["a.md"]);
    // And back: what was stored is there again.
    place.configure(&two_vaults(&place));
    daemon.signal(Signal::HUP);
    daemon.wait_for("both again", both);
    daemon.wait_holding("badger", &["b.md"]);
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn status_says_what_of_the_configuration_is_not_in_force() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let file = place.dir.path().join("config.toml");
    let as_read = ConfigStatus { file: file.clone(), ..ConfigStatus::default() };
    assert_eq!(daemon.status().config, as_read);
    place.configure("\n[search]\nlimit = 1\nlanguage = \"de\"\n");
    assert!(daemon.status().config.changed);
    let shown = place.run(&["config", "show"]);
    assert!(err(&shown).contains("`situated config reload` puts it in force"), "{}", err(&shown));
    assert!(daemon.ask(&CheckConfigRequest::default()).problems.is_empty() && daemon.status().config.changed);
    assert_eq!(daemon.reload(), [""; 0]);
    let taken = ConfigStatus { file, changed: false, awaits_start: vec!["search.language".to_owned()] };
    assert_eq!(daemon.status().config, taken);
    assert_eq!(daemon.stop(), Some(0));
    let mut daemon = place.spawn(&["run"]);
    assert_eq!(daemon.wait_idle().config, as_read);
}

/// The other end of `NOTIFY_SOCKET`.
struct Supervisor {
    socket: UnixDatagram,
    heard: Vec<String>,
}

impl Supervisor {
    fn new(place: &Place) -> Supervisor {
        let socket = UnixDatagram::bind(place.dir.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Supervisor { socket, heard: Vec::new() }
    }

    fn command(place: &Place) -> Command {
        let mut command = place.command();
        command.env("NOTIFY_SOCKET", place.dir.path().join("notify"));
        command.args(["--quiet", "run", place.vault.to_str().unwrap()]);
        command
    }

    /// Listens until something that begins so is heard.
    fn wait(&mut self, beginning: &str) -> String {
        loop {
            let mut message = [0; 4096];
            let count = match self.socket.recv(&mut message) {
                Ok(count) => count,
                // A signal to this process, as of a child that ended: a wait with a limit is not resumed by itself.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => panic!("no {beginning}: {error}; heard {:?}", self.heard),
            };
            let text = String::from_utf8(message[..count].to_vec()).unwrap();
            let mut found = None;
            for line in text.lines().filter(|line| !line.is_empty()) {
                self.heard.push(line.to_owned());
                if line.starts_with(beginning) && found.is_none() {
                    found = Some(text.clone());
                }
            }
            if let Some(found) = found {
                return found;
            }
        }
    }
}

#[test]
fn systemd_is_told_everything() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    place.configure(&battery(&place, 31));
    let mut supervisor = Supervisor::new(&place);
    let mut daemon = place.spawn_command(&mut Supervisor::command(&place));
    supervisor.wait("READY=1");
    // Ready means that questions are answered.
    daemon.ask(&query("aardvark"));
    let status = supervisor.wait("STATUS=");
    assert!(status.contains(" notes, ") || status.contains(" note"), "{status}");
    daemon.wait_idle();
    assert_eq!(daemon.status().supervisor, "systemd");
    daemon.pause();
    eventually("the pause is told", || supervisor.wait("STATUS=").contains("paused"));
    daemon.resume();
    eventually("the end of the pause is told", || supervisor.wait("STATUS=").contains("idle"));

    daemon.signal(Signal::HUP);
    let reloading = supervisor.wait("RELOADING=1");
    assert!(reloading.contains("MONOTONIC_USEC="), "{reloading}");
    supervisor.wait("READY=1");

    // A client that waits, for a job that the battery holds, does not keep the news back.
    let mut wire = Wire::to(&place);
    wire.ask(1, "rebuild", json!({"wait": true}));
    daemon.wait_newest(JobState::Running);
    daemon.signal(Signal::TERM);
    supervisor.wait("STOPPING=1");
    assert!(daemon.exited().is_none(), "it is told when all is over");
    assert_eq!(daemon.wait_exit(), Some(0));
    assert!(!supervisor.heard.iter().any(|line| line.starts_with("WATCHDOG")), "{:?}", supervisor.heard);
}

#[test]
fn a_restart_over_a_stored_index_is_told_too() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    assert_eq!(place.start().stop(), Some(0));
    let mut supervisor = Supervisor::new(&place);
    let mut daemon = place.spawn_command(&mut Supervisor::command(&place));
    supervisor.wait("READY=1");
    assert_eq!(daemon.holding("aardvark"), ["a.md"]);
    let heard = supervisor.wait("STATUS=");
    assert!(heard.contains("1 note"), "{heard}");
    daemon.ask(&ShutdownRequest::default());
    supervisor.wait("STOPPING=1");
    assert_eq!(daemon.wait_exit(), Some(0));
}

/// A daemon that is told its own process id, as systemd does it.
fn watched(place: &Place, every: Duration, pid: &str) -> Daemon {
    let daemon = Supervisor::command(place);
    let script = format!("WATCHDOG_PID={pid} exec \"$0\" \"$@\"");
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).arg(daemon.get_program()).args(daemon.get_args()).env_clear();
    for (name, value) in daemon.get_envs() {
        value.map(|value| command.env(name, value));
    }
    command.env("WATCHDOG_USEC", every.as_micros().to_string());
    place.spawn_command(&mut command)
}

#[test]
fn the_watchdog_is_fed_while_the_daemon_lives() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let mut supervisor = Supervisor::new(&place);
    let mut daemon = watched(&place, Duration::from_millis(300), "$$");
    supervisor.wait("READY=1");
    for _ in 0..5 {
        supervisor.wait("WATCHDOG=1");
    }
    // Paused is not dead.
    daemon.pause();
    eventually("the pause is told", || supervisor.wait("STATUS=").contains("paused"));
    for _ in 0..3 {
        supervisor.wait("WATCHDOG=1");
    }
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_watchdog_of_another_process_is_not_fed() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    for (every, pid) in [(Duration::from_millis(30), "1"), (Duration::ZERO, "$$")] {
        let mut supervisor = Supervisor::new(&place);
        let mut daemon = watched(&place, every, pid);
        supervisor.wait("READY=1");
        daemon.wait_for("a second old", |status| status.uptime_s >= 1);
        assert_eq!(daemon.stop(), Some(0));
        supervisor.wait("STOPPING=1");
        assert!(!supervisor.heard.iter().any(|line| line.starts_with("WATCHDOG")), "{:?}", supervisor.heard);
        std::fs::remove_file(place.dir.path().join("notify")).unwrap();
    }
}

/// Keys and values of a unit file, by section; a key may be given several times.
fn unit(text: &str) -> BTreeMap<(String, String), Vec<String>> {
    let mut keys: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
        } else {
            let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("neither section nor key: {line}"));
            assert!(!section.is_empty(), "{line} stands in no section");
            keys.entry((section.clone(), key.trim().to_owned())).or_default().push(value.trim().to_owned());
        }
    }
    keys
}

fn repository(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// That the program takes these arguments: they are in use for want of a vault, not for being wrong.
fn takes(arguments: &[&str]) {
    let place = Place::new();
    let output = place.run(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{arguments:?}: {said}");
    assert!(said.contains("no vault to watch"), "{said}");
}

#[test]
fn the_unit_of_systemd_fits_the_daemon() {
    let text = repository("systemd/situated.service");
    let unit = unit(&text);
    let get = |section: &str, key: &str| {
        let found = unit.get(&(section.to_owned(), key.to_owned()));
        found.unwrap_or_else(|| panic!("no {key}= in [{section}]")).join(" ")
    };
    assert_eq!(get("Service", "Type"), "notify");
    let command = get("Service", "ExecStart");
    let mut words = command.split(' ');
    assert!(words.next().unwrap().ends_with("/situated"), "{command}");
    takes(&words.collect::<Vec<_>>());
    assert!(get("Service", "ExecReload").contains("-HUP $MAINPID"));
    assert_eq!(get("Service", "Restart"), "on-failure");
    // Wrong usage of the command line is 2, but a unit's is right or was never started.
    let prevented = get("Service", "RestartPreventExitStatus");
    for code in ["75", "78"] {
        assert!(prevented.split(' ').any(|word| word == code), "{prevented}");
    }
    let seconds = |key: &str| get("Service", key).parse::<u64>().unwrap();
    assert!(seconds("WatchdogSec") >= 30 && seconds("TimeoutStopSec") >= 10 && seconds("TimeoutStartSec") >= 30);
    assert_eq!(get("Service", "RuntimeDirectory"), "situated");
    assert_eq!(get("Service", "RuntimeDirectoryMode"), "0700");
    assert_eq!(get("Install", "WantedBy"), "default.target");
    // What keeps a user unit from starting on some systems.
    for key in ["PrivateUsers", "PrivateDevices", "ProtectClock", "ProtectKernelLogs", "ProtectKernelModules", "User"] {
        assert!(!unit.contains_key(&("Service".to_owned(), key.to_owned())), "{key}=");
    }
    assert!(!text.contains("/home/"), "a unit for everybody names somebody's home");
}

#[test]
fn the_socket_unit_is_where_clients_look() {
    let unit = unit(&repository("systemd/situated.socket"));
    let get = |key: &str| unit[&("Socket".to_owned(), key.to_owned())].join(" ");
    // `%t` is what XDG_RUNTIME_DIR says.
    assert_eq!(get("ListenStream"), "%t/situated/sock");
    let here = tempfile::tempdir().unwrap();
    let place = Place::new();
    let mut command = place.command();
    command.env_remove("SITUATED_SOCKET").env("XDG_RUNTIME_DIR", here.path()).arg("socket");
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert_eq!(Path::new(said.trim()), here.path().join("situated/sock"));
    assert_eq!((get("SocketMode"), get("DirectoryMode")), ("0600".to_owned(), "0700".to_owned()));
}

/// Opening and closing tags of an XML text in order, with the text before each; comments are left out.
fn tags(text: &str) -> Vec<(String, String)> {
    let mut tags = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let (tag, next) = match after.strip_prefix("!--") {
            Some(comment) => ("", comment.split_once("-->").expect("a comment does not end").1),
            None => after.split_once('>').expect("a tag does not end"),
        };
        if !tag.is_empty() && !tag.starts_with(['?', '!']) {
            tags.push((before.trim().to_owned(), tag.to_owned()));
        }
        rest = next;
    }
    assert_eq!(rest.trim(), "");
    tags
}

#[test]
fn the_agent_of_launchd_fits_the_daemon() {
    let text = repository("launchd/dev.situated.daemon.plist");
    assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"));
    let tags = tags(&text);
    let mut open = Vec::new();
    for (_, tag) in &tags {
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "in {open:?}");
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
    // The texts in order: a key is followed by its value.
    let texts: Vec<&str> = tags.iter().filter(|(_, tag)| tag.starts_with('/')).map(|(text, _)| text.as_str()).collect();
    let after = |key: &str, count: usize| {
        let at = texts.iter().position(|text| *text == key).unwrap_or_else(|| panic!("there is no {key}"));
        texts[at + 1..=at + count].to_vec()
    };
    assert_eq!(after("Label", 1), ["dev.situated.daemon"]);
    let arguments = after("ProgramArguments", 3);
    assert!(arguments[0].ends_with("/situated"));
    takes(&arguments[1..]);
    assert_eq!(after("SuccessfulExit", 0), Vec::<&str>::new());
    assert_eq!(after("SITUATED_SUPERVISOR", 1), ["launchd"]);
    assert!(after("ExitTimeOut", 1)[0].parse::<u64>().unwrap() >= 10);
    let place = Place::with(&[("a.md", "# A\n")]);
    let mut command = place.command();
    command.env("SITUATED_SUPERVISOR", "launchd").args(["run", place.vault.to_str().unwrap()]);
    let mut daemon = place.spawn_command(&mut command);
    daemon.wait_idle();
    assert_eq!(daemon.status().supervisor, "launchd");
}
