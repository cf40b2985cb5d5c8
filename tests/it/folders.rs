//! Where the program looks for its files and keeps them, as a shell's variables say; and data that were moved.

use std::path::{Path, PathBuf};
use std::process::Command;

use protocol::contexts::StatsRequest;
use serde_json::Value;

use crate::contexts::{ATLAS, SMALL_CHUNKS, start, wait_written};
use crate::model::Model;
use crate::support::{Place, eventually};

/// A command that nothing but variables of the platform tells where its files are.
fn bare(place: &Place) -> Command {
    let mut command = place.command();
    for name in ["SITUATED_CONFIG", "SITUATED_DATA_DIR", "SITUATED_SOCKET"] {
        command.env_remove(name);
    }
    command
}

fn said(command: &mut Command) -> Value {
    let output = command.arg("--json").output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The configuration file and the data folder.
fn places(place: &Place, variables: &[(&str, &str)]) -> (PathBuf, PathBuf) {
    let command = || {
        let mut command = bare(place);
        command.envs(variables.iter().copied());
        command
    };
    let file = said(command().args(["config", "path"]));
    let shown = said(command().args(["config", "show"]));
    let values = shown["values"].as_array().unwrap();
    let data = values.iter().find(|value| value["key"] == "data_dir").unwrap_or_else(|| panic!("{shown}"));
    let data: String = serde_json::from_str(data["value"].as_str().unwrap()).unwrap();
    (PathBuf::from(file["file"].as_str().unwrap()), data.into())
}

#[test]
#[cfg(not(target_os = "macos"))]
fn an_empty_or_relative_variable_counts_as_unset() {
    let place = Place::new();
    let home = place.dir.path();
    let usual = (home.join(".config/situated/config.toml"), home.join(".local/share/situated"));
    assert_eq!(places(&place, &[]), usual);
    for value in ["", "relative/dir", "~/dir"] {
        assert_eq!(places(&place, &[("XDG_CONFIG_HOME", value), ("XDG_DATA_HOME", value)]), usual, "{value}");
    }
    let named = places(&place, &[("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d")]);
    assert_eq!(named, ("/c/situated/config.toml".into(), "/d/situated".into()));
    let one = places(&place, &[("XDG_DATA_HOME", "/d")]);
    assert_eq!(one, (usual.0, "/d/situated".into()));
}

#[test]
#[cfg(not(target_os = "macos"))]
fn a_command_for_other_data_asks_nothing_of_the_daemon_that_runs() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let session = place.dir.path().join("session");
    std::fs::create_dir(&session).unwrap();
    let ran = |arguments: &[&str]| bare(&place).env("XDG_RUNTIME_DIR", &session).args(arguments).output().unwrap();
    let mut daemon = bare(&place).env("XDG_RUNTIME_DIR", &session).arg("run").arg(&place.vault).spawn().unwrap();
    eventually("it serves", || ran(&["search", "--fresh", "aardvark"]).status.code() == Some(0));
    let other = place.dir.path().join("other");
    let other = ["--data-dir", other.to_str().unwrap()];
    assert_eq!(ran(&[&other[..], &["search", "aardvark"]].concat()).status.code(), Some(69));
    assert_eq!(ran(&[&other[..], &["status"]].concat()).status.code(), Some(3));
    let stopped = ran(&[&other[..], &["stop", "--json"]].concat());
    assert_eq!(serde_json::from_slice::<Value>(&stopped.stdout).unwrap()["stopped"], false);
    // Its own data may be named; and a socket leads to the one that serves it.
    let own = place.dir.path().join(".local/share/situated");
    assert_eq!(ran(&["--data-dir", own.to_str().unwrap(), "search", "aardvark"]).status.code(), Some(0));
    let socket = session.join("situated/sock");
    let named = [&other[..], &["--socket", socket.to_str().unwrap(), "search", "aardvark"]].concat();
    assert_eq!(ran(&named).status.code(), Some(0));
    assert_eq!(ran(&["stop"]).status.code(), Some(0));
    assert!(daemon.wait().unwrap().success());
}

#[test]
#[cfg(not(target_os = "macos"))]
fn the_socket_is_where_the_session_or_nobody_else_can_reach() {
    let place = Place::new();
    let socket = |runtime: &Path| {
        let found = said(bare(&place).env("XDG_RUNTIME_DIR", runtime).arg("socket"));
        PathBuf::from(found["socket"].as_str().unwrap())
    };
    let session = place.dir.path().join("session");
    std::fs::create_dir(&session).unwrap();
    assert_eq!(socket(&session), session.join("situated/sock"));
    let unset = socket(Path::new(""));
    assert_eq!(socket(Path::new("session")), unset, "relative counts as unset");
    let uid = rustix::process::geteuid().as_raw();
    let fallbacks = [format!("/run/user/{uid}/situated/sock"), format!("/tmp/situated-{uid}/sock")];
    assert!(fallbacks.iter().any(|path| Path::new(path) == unset), "{unset:?}");
}

#[test]
fn a_data_folder_that_was_moved_has_all_that_was_bought() {
    let model = Model::start();
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", "")));
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    assert_eq!(model.calls(), 1);
    daemon.stop();
    // As one rename moves it: no file in it says where it was.
    let moved = place.dir.path().join("Application Support/situated/data");
    std::fs::create_dir_all(moved.parent().unwrap()).unwrap();
    std::fs::rename(place.data(), &moved).unwrap();
    let mut command = place.command();
    command.env("SITUATED_DATA_DIR", &moved).env("ANTHROPIC_API_KEY", "sk-test-key").arg("run");
    let mut daemon = place.spawn_command(&mut command);
    daemon.wait_idle();
    wait_written(&mut daemon);
    let stats = daemon.ask(&StatsRequest::default());
    assert_eq!((stats.total, stats.contextualized, model.calls()), (3, 3, 1), "{stats:?}");
    assert!(!place.data().exists(), "nothing is made at the place that it had");
}
