//! `situated mcp` with clients that others wrote: the official Python client, in both eras of the protocol, and the
//! inspector.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::server::Peer;
use crate::support::Place;

const HERON: &str = "# Heron\n\nHerons hunt in shallow water.\n\n## Nesting\n\nThe quibbleheron builds its nest high up in old alders.\n";

fn place() -> Place {
    let place = Place::with(&[("Heron.md", HERON), ("Diary.md", "# Diary\n\nAbout zanzibarque. #private\n")]);
    for n in 0..120 {
        place.write(&format!("n{n}.md"), format!("# Note {n}\n\nWords about boat {n}.\n"));
    }
    place
}

fn ran(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (said, talk) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {said}\n{talk}");
    said.into_owned()
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn the_official_client_uses_everything_in_both_eras() {
    let place = place();
    let _daemon = place.start();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/mcp_client.py");
    for (mode, protocol) in [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")] {
        let mut client = Command::new(Peer::Mcp.program());
        client.args([script, mode, env!("CARGO_BIN_EXE_situated")]).env_remove("SITUATED_CONFIG");
        client
            .env("HOME", place.dir.path())
            .env("SITUATED_DATA_DIR", place.data())
            .env("SITUATED_SOCKET", place.socket());
        let saw: Value = serde_json::from_str(&ran(&mut client)).unwrap();
        assert_eq!(saw["protocol"], protocol, "{saw}");
        // Whoever names the version has not asked for the instructions.
        assert_eq!(saw["instructions"], mode != "2026-07-28", "{saw}");
        assert_eq!((saw["tools"].as_array().unwrap().len(), saw["read_only"].as_array().unwrap().len()), (12, 9));
        let calls = &saw["calls"];
        for (name, call) in calls.as_object().unwrap() {
            assert_eq!(call["error"], name == "ask" || name == "search_notes()", "{name}: {call}");
        }
        assert_eq!(calls["search_notes"]["data"]["results"][0]["path"], "Heron.md");
        assert_eq!((&saw["resources"], &saw["read"]), (&json!(121), &json!(HERON)));
        assert_eq!(saw["reindexed"]["status"], "completed", "{saw}");
        assert!(saw["progress"].as_u64().unwrap() > 0, "{saw}");
        assert_eq!((&saw["cancelled"], &saw["after"]), (&json!(true), &json!("Heron.md")));
        assert!(!saw.to_string().contains("zanzibarque"), "{saw}");
    }
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn the_inspector_lists_and_calls() {
    let place = place();
    let _daemon = place.start();
    let inspect = |arguments: &[&str]| {
        let mut inspector = Command::new("node");
        inspector.arg(Peer::Inspector.program()).arg("--cli");
        for (name, value) in [("SITUATED_DATA_DIR", place.data()), ("SITUATED_SOCKET", place.socket())] {
            inspector.arg("-e").arg(format!("{name}={}", value.display()));
        }
        inspector.args([env!("CARGO_BIN_EXE_situated"), "mcp"]).args(arguments);
        serde_json::from_str::<Value>(&ran(&mut inspector)).unwrap()
    };
    let tools = inspect(&["--method", "tools/list"]);
    assert_eq!(tools["tools"].as_array().unwrap().len(), 12);
    // It calls what is listed, and nothing else.
    let tool = "search_with_contextual_retrieval";
    let found = inspect(&["--method", "tools/call", "--tool-name", tool, "--tool-arg", "query=quibbleheron"]);
    assert_eq!(found["structuredContent"]["results"][0]["path"], "Heron.md", "{found}");
    let listed = inspect(&["--method", "resources/list"]);
    assert!(listed["resources"].as_array().unwrap().len() >= 100, "{listed}");
    let read = inspect(&["--method", "resources/read", "--uri", "note://notes/Heron.md"]);
    assert_eq!(read["contents"][0]["text"], HERON, "{read}");
}
