//! Every command as a user types it, against a daemon over the sample vault: what it prints, what it exits
//! with, and what never reaches a terminal.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Output, Stdio};

use protocol::envelope::ErrorKind;
use protocol::jobs::{JobState, RebuildRequest, SyncRequest};
use protocol::status::RunState;
use serde_json::{Value, json};

use crate::manners::battery;
use crate::support::{Daemon, Place, eventually};

pub(crate) const NOTE: &str = "Notes/Query cookbook.md";

/// A sample vault under the name `notes`, with a configuration, and its daemon.
pub(crate) fn sample() -> (Place, Daemon) {
    let place = Place::with_sample();
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon.sync();
    daemon.wait_idle();
    (place, daemon)
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Standard output and standard error of a command that must exit with `code`.
fn ran(place: &Place, arguments: &[&str], code: i32) -> (String, String) {
    let output = place.run(arguments);
    let (said, talk) = (out(&output), err(&output));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{said}\n{talk}");
    assert!(!talk.contains("panicked"), "{arguments:?}\n{talk}");
    for text in [&said, &talk] {
        assert!(!text.contains('\u{1b}'), "{arguments:?} prints an escape sequence into a pipe: {text:?}");
    }
    (said, talk)
}

#[test]
fn finding_and_reading() {
    let (place, _daemon) = sample();
    let (said, _) = ran(&place, &["search", "what if the wind is too strong"], 0);
    assert!(said.starts_with(" 1. ") && said.contains(".md:"), "{said}");
    let (said, talk) = ran(&place, &["search", "--mode", "lexical", "zzqqxxyy"], 1);
    assert!(said.is_empty() && talk.contains("nothing found; try fewer or other words"), "{said}{talk}");
    // Where meaning was asked, too, it is no advice.
    let (_, talk) = ran(&place, &["search", "\"zzqqxxyy\" zzqqxxyy"], 1);
    assert!(!talk.contains("--mode dense"), "{talk}");
    for nothing in ["tag:nosuch", "((("] {
        let (_, talk) = ran(&place, &["search", nothing], 1);
        assert!(talk.contains("nothing found") && !talk.contains("other words"), "{talk}");
    }
    let (said, talk) = ran(&place, &["--quiet", "search", "-m", "lexical", "zzqqxxyy"], 1);
    assert_eq!((said.as_str(), talk.as_str()), ("", ""));
    let (said, _) = ran(&place, &["search", "sensor", "-n", "3", "--format", "{path}:{line}\\t{title}"], 0);
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(said.lines().all(|line| line.contains(".md:") && line.contains('\t')), "{said}");
    let (said, _) = ran(&place, &["search", "sensor", "--jsonl", "-n", "2"], 0);
    let hits: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(hits.len() == 2 && hits.iter().all(|hit| hit["schema"] == 1 && hit["path"].is_string()), "{said}");
    let (said, _) = ran(&place, &["search", "sensor", "--context", "--explain", "-n", "1", "--fresh"], 0);
    assert!(said.contains("│ ") && said.contains("words: ") && said.contains("together"), "{said}");
    let (_, talk) = ran(&place, &["search", "x", "--format", "{pth}"], 2);
    assert!(talk.contains("`pth`") && talk.contains("path"), "{talk}");
    let (_, talk) = ran(&place, &["search", "x", "--vault", "nots"], 1);
    assert!(talk.contains("nots") && talk.contains("there are: notes"), "{talk}");
    ran(&place, &["search", "x", "--limit", "0"], 2);
    ran(&place, &["frobnicate"], 2);

    let (said, _) = ran(&place, &["related", NOTE, "-n", "2"], 0);
    assert!(said.contains(" 2. ") && !said.contains(&format!("{NOTE}:")), "{said}");
    ran(&place, &["related", "Notes/None.md"], 1);

    let text = std::fs::read_to_string(place.vault.join(NOTE)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(ran(&place, &["get", NOTE], 0).0, text);
    assert_eq!(ran(&place, &["get", &format!("{NOTE}:3"), "-n", "2"], 0).0, format!("{}\n{}\n", lines[2], lines[3]));
    assert_eq!(ran(&place, &["get", NOTE, "--line", "2", "--lines", "1"], 0).0, format!("{}\n", lines[1]));
    for beyond in [&["get", &format!("{NOTE}:9999")][..], &["get", NOTE, "-l", "9999"]] {
        let (said, talk) = ran(&place, beyond, 1);
        assert_eq!((said.as_str(), talk.contains(&format!("{} lines in all", lines.len()))), ("", true), "{talk}");
    }
    let (_, talk) = ran(&place, &["call", "get", &json!({ "path": NOTE, "line": 0 }).to_string()], 2);
    assert!(talk.contains("lines count from 1"), "{talk}");
    assert_eq!(ran(&place, &["get", place.vault.join(NOTE).to_str().unwrap()], 0).0, text);
    let (_, talk) = ran(&place, &["get", "Notes/None.md"], 1);
    assert!(talk.contains("Notes/None.md"), "{talk}");
    let inside =
        place.command().current_dir(place.vault.join("Notes")).args(["get", "Query cookbook.md"]).output().unwrap();
    assert_eq!(out(&inside), text);
}

#[test]
fn asking_and_steering() {
    let (place, mut daemon) = sample();
    let (said, _) = ran(&place, &["status"], 0);
    for expected in ["healthy", "notes", "nothing leaves this machine", place.socket().to_str().unwrap()] {
        assert!(said.contains(expected), "no {expected:?} in\n{said}");
    }
    ran(&place, &["status", "nots"], 1);

    let (said, _) = ran(&place, &["plan", NOTE], 0);
    assert!(said.contains("Unchanged") && said.contains("kept"), "{said}");
    let draft = std::fs::read_to_string(place.vault.join(NOTE)).unwrap() + "\n## Another heading\n\nwith words\n";
    let mut child = place.command();
    let mut child = child.args(["plan", NOTE, "--stdin"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(draft.as_bytes()).unwrap();
    let said = out(&child.wait_with_output().unwrap());
    assert!(said.contains("StructureChanged") && said.contains("regenerate"), "{said}");
    let (said, _) = ran(&place, &["explain", NOTE], 0);
    assert!(said.contains("NewNote") && said.contains(NOTE), "{said}");
    // As a hit names its place.
    for command in ["explain", "plan", "rebuild", "sync"] {
        let (said, talk) = ran(&place, &[command, &format!("{NOTE}:3")], 0);
        assert!(said.contains(NOTE) || talk.contains(NOTE), "{command}: {said}{talk}");
    }
    ran(&place, &["explain", "Notes/None.md"], 1);

    place.write("New.md", "# New\n\nyeti\n");
    let (said, _) = ran(&place, &["sync", "--wait"], 0);
    assert!(said.starts_with("done: sync"), "{said}");
    assert_eq!(daemon.holding("yeti"), ["New.md"]);
    let (_, talk) = ran(&place, &["sync"], 0);
    assert!(talk.contains("in the background"), "{talk}");
    for (what, code) in [("Nope", 1), ("Nope.md", 1), ("/tmp", 1), ("../x", 2), ("Notes/none/", 1)] {
        for command in ["sync", "rebuild"] {
            let (_, talk) = ran(&place, &[command, what], code);
            assert!(talk.contains("is not known") || talk.contains("no path in a vault"), "{command} {what}: {talk}");
        }
    }
    std::fs::create_dir(place.vault.join("Later")).unwrap();
    place.write("Later/Now.md", "# Now\n\nokapi\n");
    for what in ["Later", "Later/Now.md", "Projects", "query cookbook"] {
        let (said, _) = ran(&place, &["sync", "--wait", what], 0);
        assert!(said.contains(&format!("{what} and the rest of its vault: ")), "{said}");
    }
    std::fs::remove_dir_all(place.vault.join("Later")).unwrap();
    daemon.sync();
    ran(&place, &["sync", "--wait", "Later/Now.md"], 0);
    let (_, talk) = ran(&place, &["rebuild", "Notes", "--dry-run"], 0);
    assert!(talk.contains("notes of") && talk.contains("costs nothing"), "{talk}");
    let (_, talk) = ran(&place, &["rebuild"], 2);
    assert!(talk.contains("--yes"), "{talk}");
    let (said, _) = ran(&place, &["rebuild", NOTE, "--yes"], 0);
    assert!(said.starts_with("done: rebuild") && said.contains("1 note looked at, 1 changed"), "{said}");
    let (said, _) = ran(&place, &["rebuild", "notes", "--yes"], 0);
    assert!(said.contains("rebuild of notes:"), "{said}");
    ran(&place, &["rebuild", "Nowhere", "--yes"], 1);
    let (said, _) = ran(&place, &["jobs"], 0);
    assert!(said.lines().next().unwrap().contains("rebuild") && said.contains("sync"), "{said}");
    ran(&place, &["jobs", "--cancel", "987654"], 1);
    for time in ["24h", "all"] {
        let (said, talk) = ran(&place, &["sync", "--since", time, "--wait"], 0);
        assert!(said.starts_with("done: sync") && talk.contains("never stale"), "{said}{talk}");
    }
    let (_, talk) = ran(&place, &["sync", "--since", "24"], 2);
    assert!(talk.contains("has no unit") && talk.contains("\"7d\", or `all`"), "{talk}");
    let (_, talk) = ran(&place, &["rebuild", NOTE, "--batch", "--dry-run"], 0);
    assert!(talk.contains("costs nothing") && !talk.contains('$'), "{talk}");

    ran(&place, &["pause", "600"], 0);
    daemon.wait_for("paused", |status| status.state == RunState::Paused);
    assert!(ran(&place, &["status"], 0).0.contains("situated resume"));
    ran(&place, &["search", "yeti"], 0);
    ran(&place, &["resume"], 0);
    daemon.wait_for("resumed", |status| status.state == RunState::Idle);

    let (said, _) = ran(&place, &["call", "search", r#"{"query": "yeti", "limit": 1}"#], 0);
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["hits"][0]["path"], "New.md");
    assert_eq!(ran(&place, &["call", "ping"], 0).0, "{}\n");
    for (arguments, code) in [
        (&["call", "ping", "nonsense"][..], 2),
        (&["call", "ping", "[]"], 2),
        (&["call", "frobnicate"], 2),
        (&["call", "get", r#"{"path": "None.md"}"#], 1),
    ] {
        ran(&place, arguments, code);
    }
    assert_eq!(ran(&place, &["socket"], 0).0.trim_end(), place.socket().to_str().unwrap());
    let schema: Value = serde_json::from_str(&ran(&place, &["schema"], 0).0).unwrap();
    assert!(schema["schema"] == 1 && schema["methods"]["search"].is_object());

    let (_, talk) = ran(&place, &["stop"], 0);
    assert!(talk.contains("stopped"), "{talk}");
    assert_eq!(daemon.wait_exit(), Some(0));
    assert!(ran(&place, &["stop"], 0).1.contains("no daemon runs"));
}

#[test]
fn free_contexts_cost_nothing_and_say_so() {
    let (place, _daemon) = sample();
    let (said, _) = ran(&place, &["cost"], 0);
    assert_eq!((said.matches("nothing").count(), said.contains('$')), (3, false), "{said}");
    let (said, _) = ran(&place, &["stats"], 0);
    assert!(said.contains("template") && said.contains("up to date"), "{said}");
    assert!(!said.contains("cost") && !said.contains("tokens"), "{said}");
    ran(&place, &["stats", "nots"], 1);
    let (said, _) = ran(&place, &["status"], 0);
    assert!(!said.contains("is to write") && !said.contains("situated cost"), "{said}");
    let (said, talk) = ran(&place, &["contexts", "review"], 1);
    assert!(said.is_empty() && talk.contains("no model has written"), "{said}{talk}");
    ran(&place, &["contexts", "review", "--vault", "nots"], 1);

    let document = place.dir.path().join("document.md");
    let text = "# Heron\n\nHerons hunt in shallow water.\n\n## Nesting\n\nThey nest in alders.\n";
    std::fs::write(&document, text).unwrap();
    let document = document.to_str().unwrap();
    let generate = |more: &[&str], chunk: &str| {
        let mut command = place.command();
        command.args(["generate", "--document", document, "--chunk", "-"]).args(more);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(chunk.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let made = generate(&[], "They nest in alders.");
    assert!(out(&made).contains("Heron") && err(&made).contains("template"), "{made:?}");
    assert!(err(&made).contains("free"), "{made:?}");
    let made: Value =
        serde_json::from_str(&out(&generate(&["--json", "--max-words", "2"], "They nest in alders."))).unwrap();
    assert!(made["contextualized"].as_str().unwrap().ends_with("They nest in alders."), "{made}");
    assert!(made["context"].as_str().unwrap().split(' ').count() <= 2, "{made}");
    let elsewhere = generate(&[], "They nest in oaks.");
    assert_eq!(elsewhere.status.code(), Some(2), "{elsewhere:?}");
    assert!(!err(&elsewhere).contains("oaks"), "{elsewhere:?}");
    ran(&place, &["generate", "--document", "/nonexistent.md", "--chunk", document], 74);
    ran(&place, &["generate", "--document", "-", "--chunk", "-"], 2);
}

#[test]
fn a_doctor_without_a_provider_asks_nobody() {
    let place = Place::with_sample();
    place.configure("");
    let (said, _) = ran(&place, &["doctor", "--provider"], 0);
    assert!(said.contains("nobody was asked"), "{said}");
    let (said, _) = ran(&place, &["doctor", "--provider", "--json"], 0);
    let answer: Value = serde_json::from_str(&said).unwrap();
    assert!(answer["schema"] == 1 && answer["ok"] == true && answer["provider"] == "template", "{answer}");
    let (said, _) = ran(&place, &["doctor"], 0);
    assert!(said.contains("none runs"), "{said}");
    assert!(!place.data().exists(), "nothing is written when nobody is asked");
}

#[test]
fn what_a_doubt_asks_for_can_be_typed() {
    let (place, daemon) = sample();
    assert_eq!(daemon.stop(), Some(0));
    // What a daemon sees deleted is not doubted.
    std::fs::remove_dir_all(place.vault.join("Notes")).unwrap();
    std::fs::remove_dir_all(place.vault.join("Projects")).unwrap();
    let mut daemon = place.begin();
    let status = daemon.wait_vault("doubted", |vault| vault.doubt.is_some());
    let notes = status.vaults[0].notes;
    let doubt = status.vaults[0].doubt.as_ref().unwrap();
    let command = doubt.split('`').find(|part| part.starts_with("situated ")).expect("a doubt says what to do");
    let (_, talk) = ran(&place, &["get", NOTE], 1);
    assert!(talk.contains("its file is not there now") && !talk.contains("did you mean"), "{talk}");
    let arguments: Vec<&str> = command.split(' ').skip(1).chain(["--wait"]).collect();
    ran(&place, &arguments, 0);
    daemon.wait_vault("settled", |vault| vault.doubt.is_none() && vault.notes != notes);
}

#[test]
fn what_a_conflict_asks_for_can_be_typed() {
    let place = Place::with_sample();
    // On so little battery a rebuild does not end.
    place.configure(&battery(&place, 31));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let running = daemon.ask(&RebuildRequest::default()).job;
    let (_, talk) = ran(&place, &["rebuild", "--yes"], 75);
    let command = talk.split('`').find(|part| part.starts_with("situated ")).expect("a conflict says what to do");
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    ran(&place, &arguments, 0);
    daemon.resume();
    eventually("the job has ended", || daemon.job(running).state == JobState::Cancelled);
}

#[test]
fn nothing_waits_for_what_a_pause_keeps() {
    let (place, mut daemon) = sample();
    let (_, talk) = ran(&place, &["pause", "2d"], 0);
    assert!(talk.contains("paused for 2 days, saves too"), "{talk}");
    let first = daemon.wait_for("paused", |status| status.paused_until.is_some()).paused_until;
    let (said, _) = ran(&place, &["--json", "pause", "300000"], 0);
    assert!(said.contains("\"paused\":true") && said.contains("\"seconds\":300000"), "{said}");
    let until = daemon.wait_for("paused anew", |status| status.paused_until > first).paused_until;
    place.write("New.md", "# New\n\nyeti\n");
    let waits =
        [&["sync", "--wait"][..], &["rebuild", "--yes"], &["call", "sync"], &["call", "rebuild", r#"{"wait": true}"#]];
    for arguments in waits {
        let (_, talk) = ran(&place, arguments, 75);
        assert!(talk.contains("paused until 20") && talk.contains("`situated resume`"), "{arguments:?}: {talk}");
    }
    let error = daemon.refused(&SyncRequest::default());
    assert_eq!((error.kind, &error.data["paused_until"]), (ErrorKind::Paused, &json!(until)));
    for (arguments, code) in [(&["search", "--fresh", "\"yeti\""][..], 1), (&["grep", "--fresh", "yeti"], 1)] {
        let (_, talk) = ran(&place, arguments, code);
        assert!(talk.contains("not all of this is fresh: work is paused until 20"), "{talk}");
    }
    let (_, talk) = ran(&place, &["search", "\"yeti\""], 1);
    assert!(talk.contains("work is paused until 20"), "{talk}");
    let (_, talk) = ran(&place, &["sync"], 0);
    assert!(talk.contains("when the pause ends") && talk.contains("paused until 20"), "{talk}");
    ran(&place, &["rebuild", "--dry-run"], 0);
    daemon.resume();
    daemon.wait_holding("yeti", &["New.md"]);
}

#[test]
fn without_a_daemon_every_command_says_so() {
    let place = Place::with_sample();
    for arguments in [
        &["search", "x"][..],
        &["related", NOTE],
        &["get", NOTE],
        &["plan", NOTE],
        &["explain", NOTE],
        &["sync"],
        &["rebuild", "--yes"],
        &["jobs"],
        &["cost"],
        &["stats"],
        &["contexts", "review"],
        &["pause"],
        &["resume"],
        &["call", "ping"],
    ] {
        let (said, talk) = ran(&place, arguments, 69);
        assert!(said.is_empty() && talk.contains("situated run"), "{arguments:?}\n{said}{talk}");
        let (said, _) = ran(&place, &[arguments, &["--json"]].concat(), 69);
        let error: Value = serde_json::from_str(&said).unwrap();
        assert!(error["schema"] == 1 && error["error"]["code"] == 69, "{error}");
    }
    let (said, talk) = ran(&place, &["status"], 3);
    assert!(said.contains("not running") && talk.contains("situated run"), "{said}{talk}");
    let (said, _) = ran(&place, &["status", "--json"], 3);
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["running"], false);
    let (_, talk) = ran(&place, &["run"], 78);
    assert!(talk.contains("situated run ~/Notes") && talk.contains("situated init"), "{talk}");
    let (_, talk) = ran(&place, &["contexts", "export"], 2);
    assert!(talk.contains("situated init"), "{talk}");
    assert!(!place.data().exists() && !place.socket().exists());
}

#[test]
fn json_says_its_schema_everywhere() {
    let (place, mut daemon) = sample();
    let keys = [
        (&["search", "sensor"][..], "hits"),
        (&["related", NOTE], "hits"),
        (&["get", NOTE], "text"),
        (&["plan", NOTE], "steps"),
        (&["explain", NOTE], "decisions"),
        (&["status"], "vaults"),
        (&["sync", "--wait"], "job"),
        (&["sync"], "job"),
        (&["rebuild", NOTE, "--yes"], "job"),
        (&["rebuild", "--dry-run"], "estimate"),
        (&["jobs"], "jobs"),
        (&["cost"], "today"),
        (&["stats"], "outcomes"),
        (&["sync", "--since", "24h"], "job"),
        (&["pause"], "schema"),
        (&["resume"], "schema"),
        (&["config", "show"], "values"),
        (&["config", "path"], "file"),
        (&["config", "check"], "problems"),
        (&["call", "ping"], "schema"),
        (&["call", "jobs"], "jobs"),
        (&["schema"], "methods"),
        (&["socket"], "socket"),
        (&["stop"], "stopped"),
    ];
    let answers = |arguments: &[&str], key: &str, code: i32| {
        let (said, talk) = ran(&place, arguments, code);
        let value: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{said}"));
        assert!(value["schema"] == 1 && value.get(key).is_some(), "{arguments:?} has no `{key}`: {value}");
        assert_eq!(said.lines().count(), 1, "{arguments:?} prints more than one line into a pipe");
        assert_eq!(talk, if code == 0 { "" } else { &talk }, "{arguments:?} talks beside its JSON");
        value
    };
    for (arguments, key) in keys {
        answers(&[&["--json"], arguments].concat(), key, 0);
    }
    assert_eq!(daemon.wait_exit(), Some(0));
    answers(&["compact", "--json"], "vaults", 0);
    let file = place.dir.path().join("contexts.jsonl");
    let file = file.to_str().unwrap();
    assert!(
        answers(&["contexts", "export", "--templates", file, "--json"], "contexts", 0)["contexts"].as_u64() > Some(60)
    );
    answers(&["contexts", "import", file, "--json"], "report", 0);
    assert!(answers(&["search", "x", "--json"], "error", 69)["error"]["message"].is_string());
    assert!(answers(&["stop", "--json"], "stopped", 0)["running"] == false);
}

#[test]
fn a_command_that_does_nothing_prints_its_object_all_the_same() {
    let place = Place::new();
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    for arguments in [&["rebuild", "--yes"][..], &["editor", "uninstall", "vscode"]] {
        let (said, talk) = ran(&place, &[&["--json"], arguments].concat(), 1);
        let value: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{said}"));
        assert!(value["schema"] == 1 && value["done"] == false && talk.is_empty(), "{arguments:?}: {value} {talk}");
    }
}

#[test]
fn init_writes_a_configuration_once() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    std::fs::create_dir_all(place.vault.join(".obsidian")).unwrap();
    std::fs::create_dir_all(place.vault.join("deep/er")).unwrap();
    let before = place.tree();
    let file = place.dir.path().join(".config/situated/config.toml");
    let output = place.command().current_dir(place.vault.join("deep/er")).arg("init").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains(file.to_str().unwrap()) && err(&output).contains("situated run"), "{output:?}");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains(&format!("{:?}", place.vault)), "{written}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let (_, talk) = ran(&place, &["init", place.vault.to_str().unwrap()], 73);
    assert!(talk.contains("left as it is; it names this vault already: `notes`"), "{talk}");
    let (_, talk) = ran(&place, &["init", place.dir.path().to_str().unwrap()], 73);
    assert!(talk.contains("left as it is; to add the vault, append\n\n[[vault]]"), "{talk}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
    assert_eq!(ran(&place, &["config", "path"], 0).0.trim_end(), file.to_str().unwrap());
    assert_eq!(ran(&place, &["config", "check"], 0).0, "");
    // A key file that the daemon would not take.
    let key = place.dir.path().join("key");
    std::fs::write(&key, "sk-open").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let with_key = format!("{written}\n[generation.rich]\nprovider = \"openai\"\nkey_file = {key:?}\n");
    std::fs::write(&file, with_key).unwrap();
    let (said, _) = ran(&place, &["config", "check"], 1);
    assert!(said.contains("generation.rich.key_file") && said.contains("can be read by others"), "{said}");
    std::fs::write(&file, &written).unwrap();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon.wait_holding("aardvark", &["a.md"]);
    let (said, _) = ran(&place, &["config", "show", "--origin"], 0);
    for expected in ["# env SITUATED_DATA_DIR", "# default", &format!("# {}:", file.display())] {
        assert!(said.contains(expected), "no {expected:?} in\n{said}");
    }
    assert_eq!(place.tree(), before);

    let place = Place::new();
    let (_, talk) = ran(&place, &["init", "/nonexistent/notes"], 2);
    assert!(talk.contains("/nonexistent/notes"), "{talk}");
    let output = place.command().current_dir(&place.vault).arg("init").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("situated init ~/Notes"), "{}", err(&output));
}

#[test]
fn what_needs_the_store_waits_for_the_daemon_to_stop() {
    let (place, mut daemon) = sample();
    let file = place.dir.path().join("contexts.jsonl");
    let file = file.to_str().unwrap();
    for arguments in [&["compact"][..], &["contexts", "export", file], &["contexts", "import", file]] {
        let (_, talk) = ran(&place, arguments, 75);
        assert!(talk.contains(&daemon.pid().to_string()) && talk.contains("situated stop"), "{talk}");
        assert!(!talk.contains("vault add"), "what is said of a second daemon is no advice here: {talk}");
    }
    ran(&place, &["stop"], 0);
    daemon.wait_exit();
    let (_, talk) = ran(&place, &["compact"], 0);
    assert!(talk.contains("before") && talk.contains("now"), "{talk}");
    let open = crate::own_files::open_to_others(&place.data());
    assert!(open.is_empty(), "{open:?}");
    // Of a vault that `run` was given by hand nothing is known once the daemon has stopped.
    let empty = place.dir.path().join("empty.toml");
    std::fs::write(&empty, "").unwrap();
    let by_hand = place.command().env("SITUATED_CONFIG", empty).args(["compact", "w"]).output().unwrap();
    assert!(by_hand.status.code() == Some(2) && err(&by_hand).contains("name the folder of `w`"), "{}", err(&by_hand));
    let (said, _) = ran(&place, &["contexts", "export"], 0);
    assert_eq!(said, "", "templates cost nothing and are not exported unless asked for");
    let (said, _) = ran(&place, &["contexts", "export", "--templates"], 0);
    assert!(
        said.lines().count() > 60 && said.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()),
        "{said}"
    );
    let bad = place.dir.path().join("bad.jsonl");
    std::fs::write(&bad, "not JSON\n{\"surprise\": true}\n").unwrap();
    let (_, talk) = ran(&place, &["contexts", "import", bad.to_str().unwrap()], 1);
    assert!(talk.contains("line 1") && talk.contains("line 2"), "{talk}");
    ran(&place, &["contexts", "import", "/nonexistent.jsonl"], 74);
    ran(&place, &["contexts", "export", "/nonexistent/x.jsonl"], 73);
    ran(&place, &["compact", "nots"], 2);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    assert!(!daemon.search("sensor").is_empty());
}

#[test]
fn run_tells_what_it_does() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n\n## Then\n\nmore\n")]);
    let daemon = place.start();
    eventually("it says that it is ready", || daemon.log().contains("ready  1 note, "));
    let log = daemon.log();
    assert!(log.contains(place.socket().to_str().unwrap()) && log.contains(place.vault.to_str().unwrap()), "{log}");
    place.write("a.md", "# A\n\nbadger\n\n## Then\n\nmore\n");
    eventually("the edit is told", || daemon.log().contains("BodyChanged"));
    place.write("a.md", "# A\n\nbadger\n\n## Now\n\nmore\n");
    eventually("the new heading is told", || daemon.log().contains("StructureChanged"));
    let log = daemon.log();
    let line = log.lines().find(|line| line.contains("StructureChanged")).unwrap();
    assert!(line.contains("a.md") && line.contains("regenerated") && line.ends_with(" ms"), "{line}");
    assert!(!log.contains('\u{1b}'), "{log:?}");
    assert_eq!(daemon.stop(), Some(0));
    let quiet = Place::with(&[("a.md", "# A\n")]);
    let mut daemon = quiet.spawn(&["--quiet", "run", quiet.vault.to_str().unwrap()]);
    daemon.wait_idle();
    assert_eq!(daemon.log(), "");
}

/// A pipe that nobody reads from.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let (place, _daemon) = sample();
    for arguments in [
        &["search", "sensor"][..],
        &["search", "sensor", "--json"],
        &["search", "sensor", "--jsonl"],
        &["search", "sensor", "--format", "{path}"],
        &["get", NOTE],
        &["status"],
        &["explain", NOTE],
        &["jobs"],
        &["cost"],
        &["stats"],
        &["schema"],
        &["config", "show"],
        &["--help"],
    ] {
        let output = place.command().args(arguments).stdout(closed_pipe()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", err(&output));
        let talk = err(&output);
        assert!(!talk.contains("panicked") && !talk.to_lowercase().contains("broken pipe"), "{arguments:?}: {talk}");
    }
    let both = place.command().args(["search", "sensor"]).stdout(closed_pipe()).stderr(closed_pipe()).status().unwrap();
    assert_eq!(both.code(), Some(0));
    // As with `| head -1`.
    let mut child = place.command();
    let mut child =
        child.args(["search", "the", "-n", "200"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with(" 1. "), "{first}");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.code() == Some(0) && !err(&output).contains("panicked"), "{output:?}");
}

#[test]
fn a_daemon_whose_reader_has_gone_goes_on() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let mut command = place.command();
    command.args(["run", place.vault.to_str().unwrap()]).stdout(closed_pipe()).stderr(closed_pipe());
    let mut child = command.spawn().unwrap();
    eventually("it serves", || place.run(&["search", "aardvark", "-m", "lexical"]).status.code() == Some(0));
    place.write("b.md", "# B\n\nbadger\n");
    eventually("it goes on", || place.run(&["search", "badger", "-m", "lexical"]).status.code() == Some(0));
    assert!(child.try_wait().unwrap().is_none());
    ran(&place, &["stop"], 0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_tour_passes_and_leaves_nothing_behind() {
    let place = Place::new();
    let temporary = place.dir.path().join("t");
    std::fs::create_dir(&temporary).unwrap();
    let entries = |dir: &std::path::Path| {
        let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = entries(place.dir.path());
    let tour = |arguments: &[&str]| {
        let output = place.command().env("TMPDIR", &temporary).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
        assert_eq!(entries(place.dir.path()), before);
        out(&output)
    };
    let told = tour(&["try"]);
    for expected in
        ["ready", " 1. ", "BodyChanged", "StructureChanged", "The daemon is stopped", "situated run ~/Notes"]
    {
        assert!(told.contains(expected), "no {expected:?} in\n{told}");
    }
    assert!(!told.contains('\u{1b}'), "{told:?}");
    assert!(entries(&temporary).is_empty(), "{:?}", entries(&temporary));
    let story: Value = serde_json::from_str(&tour(&["try", "--json"])).unwrap();
    assert!(story["schema"] == 1 && story["queries"].as_array().unwrap().len() == 3, "{story}");
    let edits = story["edits"].as_array().unwrap();
    assert_eq!(
        (&edits[0]["decision"]["reason"], &edits[0]["decision"]["regenerated"]),
        (&json!("BodyChanged"), &json!(0))
    );
    assert_eq!(edits[1]["decision"]["reason"], "StructureChanged");
    assert!(entries(&temporary).is_empty());
    let told = tour(&["try", "--keep"]);
    let kept = entries(&temporary);
    assert!(kept.len() == 1 && told.contains(kept[0].to_str().unwrap()), "{kept:?}\n{told}");
}

#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn a_tour_on_a_terminal_waits_for_its_reader() {
    let place = Place::new();
    let temporary = place.dir.path().join("t");
    std::fs::create_dir(&temporary).unwrap();
    let tour = |arguments: &[&str], typed: &str| {
        let mut command = place.command();
        command.env("TMPDIR", &temporary).args(arguments);
        let (told, code) = crate::terminal::on_terminal(command, 100, typed);
        assert_eq!((code, std::fs::read_dir(&temporary).unwrap().count()), (Some(0), 0), "{told}");
        told
    };
    let pauses = |told: &str| told.matches("Enter goes on").count();
    // One step further, then the end.
    let told = tour(&["try"], "\nq\n");
    assert!(pauses(&told) == 2 && told.contains("hibernation voltage"), "{told}");
    assert!(!told.contains("BodyChanged") && told.contains("The daemon is stopped"), "{told}");
    let whole = tour(&["try"], "\n\n\n\n\n\n\n");
    assert!(pauses(&whole) == 6 && whole.contains("StructureChanged") && !whole.contains("BM25"), "{whole}");
    assert_eq!(pauses(&tour(&["try", "--no-pause"], "")), 0);
}

/// A tour that is interrupted so often once it has said something: how it ended, and the folder that it made. Nothing
/// may be left of that.
fn interrupted_tour(times: u32) -> (std::process::Output, std::path::PathBuf) {
    let place = Place::new();
    let temporary = place.dir.path().join("t");
    std::fs::create_dir(&temporary).unwrap();
    let mut command = place.command();
    let mut child =
        command.env("TMPDIR", &temporary).arg("try").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let folder = std::fs::read_dir(&temporary).unwrap().next().unwrap().unwrap().path();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    for _ in 0..times {
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    (output, folder)
}

#[test]
fn a_tour_that_is_interrupted_cleans_up() {
    let (output, _) = interrupted_tour(1);
    // It may have told its last word just before.
    assert!(matches!(output.status.code(), Some(130 | 0)), "{output:?}");
}

#[test]
fn a_tour_that_is_interrupted_twice_cleans_up_too() {
    let (output, folder) = interrupted_tour(2);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let lines = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut lines = lines.filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok());
    assert_eq!(lines.find(|line| line.contains(folder.to_str().unwrap())), None, "its daemon lives on");
}

#[test]
fn an_export_of_nothing_leaves_what_the_file_held() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon.stop();
    let file = place.dir.path().join("backup.jsonl");
    std::fs::write(&file, "precious\n").unwrap();
    let (_, talk) = ran(&place, &["contexts", "export", file.to_str().unwrap()], 0);
    assert!(talk.contains("0 contexts exported") && talk.contains("stays as it is"), "{talk}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious\n");
    ran(&place, &["contexts", "export", "--templates", file.to_str().unwrap()], 0);
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"key\""));
    let beside = std::fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(beside.filter(|name| name.to_string_lossy().starts_with("backup")).count(), 1);
    // A device is written to, not replaced.
    ran(&place, &["contexts", "export", "--templates", "/dev/null"], 0);
}
