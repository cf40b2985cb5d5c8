//! `situated mcp install`: an entry in somebody else's file, and nothing else of it changed.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::commands::{err, out};
use crate::support::Place;

#[test]
fn an_entry_is_shown_and_written_beside_what_is_there() {
    let place = Place::new();
    let home = place.dir.path();
    let list = out(&place.run(&["mcp", "install"]));
    for name in ["claude", "claude-desktop", "codex", "cursor", "vscode", "zed"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
    let file = home.join(".claude.json");
    let before = "{\n  \"zz\": 1.50,\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\", \"env\": { \"KEY\": \"k\" } }\n  },\n  \"aa\": [1,2]\n}\n";
    std::fs::write(&file, before).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let shown = place.run(&["mcp", "install", "claude", "--dry-run"]);
    assert!(out(&shown).contains("\"situated\"") && out(&shown).contains(".claude.json"), "{}", out(&shown));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    // Nobody can be asked here.
    assert_eq!(place.run(&["mcp", "install", "claude"]).status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    let written = place.run(&["mcp", "install", "claude", "--yes"]);
    assert!(written.status.success(), "{}", err(&written));
    let after = std::fs::read_to_string(&file).unwrap();
    let parsed: Value = serde_json::from_str(&after).unwrap();
    let entry = &parsed["mcpServers"]["situated"];
    assert!(entry["command"].as_str().unwrap().ends_with("/situated"), "{entry}");
    assert_eq!(entry["args"].as_array().unwrap().last(), Some(&json!("mcp")));
    assert!(
        entry["args"].as_array().unwrap().contains(&json!(place.socket())),
        "where the daemon is goes along: {entry}"
    );
    assert!(after.starts_with("{\n  \"zz\": 1.50,") && after.contains("\"aa\": [1,2]\n}\n"), "{after}");
    assert_eq!(std::fs::read_to_string(home.join(".claude.json.before-situated")).unwrap(), before);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(out(&place.run(&["mcp", "install", "claude", "--yes"])).contains("already"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
    assert!(
        out(&place.run(&["mcp", "install"]))
            .lines()
            .any(|line| line.starts_with("claude ") && line.contains("entered"))
    );

    // An entry of that name by somebody else is shown before it is replaced.
    for (client, file, before) in [
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\":{\"situated\":{\"command\":\"/opt/mine\"}}}"),
        ("codex", ".codex/config.toml", "[mcp_servers.situated]\ncommand = \"/opt/mine\"\n"),
    ] {
        std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
        std::fs::write(home.join(file), before).unwrap();
        let replaced = place.run(&["mcp", "install", client, "--yes"]);
        let said = out(&replaced);
        assert!(said.contains("in place of its entry `situated`") && said.contains("/opt/mine"), "{said}");
        assert!(err(&replaced).contains(": "), "{}", err(&replaced));
    }

    // What is started by that entry works.
    place.write("Boat.md", "# Boat\n\nA red boat.\n");
    let _daemon = place.start();
    let mut program = std::process::Command::new(entry["command"].as_str().unwrap());
    program
        .args(entry["args"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()))
        .env_clear()
        .stdin(std::process::Stdio::piped());
    let mut child = program.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": { "name": "it", "version": "1" }, "io.modelcontextprotocol/clientCapabilities": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "_meta": meta, "name": "search_notes", "arguments": { "query": "red boat" } } });
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("{call}\n").as_bytes()).unwrap();
    let answered = child.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&answered.stdout).contains("Boat.md"), "{}", err(&answered));
}

#[test]
fn files_that_are_not_understood_are_left_alone() {
    let place = Place::new();
    let home = place.dir.path();
    let zed = home.join(".config/zed/settings.json");
    std::fs::create_dir_all(zed.parent().unwrap()).unwrap();
    std::fs::write(&zed, "// Zed settings\n{ \"theme\" \"One\" }\n").unwrap();
    let told = place.run(&["mcp", "install", "zed", "--yes"]);
    assert_eq!(told.status.code(), Some(73));
    assert!(err(&told).contains("context_servers") && err(&told).contains("by hand"), "{}", err(&told));
    assert_eq!(std::fs::read_to_string(&zed).unwrap(), "// Zed settings\n{ \"theme\" \"One\" }\n");
    // Comments are understood, and stay.
    std::fs::write(&zed, "// Zed settings\n{\n  \"theme\": \"One\", // light\n}\n").unwrap();
    assert!(place.run(&["mcp", "install", "zed", "--yes"]).status.success());
    let commented = std::fs::read_to_string(&zed).unwrap();
    assert!(commented.starts_with("// Zed settings\n{\n  \"theme\": \"One\", // light\n"), "{commented}");
    assert!(commented.contains("\"context_servers\": {\n    \"situated\": {"), "{commented}");
    assert!(
        out(&place.run(&["mcp", "install"])).lines().any(|line| line.starts_with("zed ") && line.contains("entered"))
    );
    assert_eq!(place.run(&["mcp", "install", "nobody"]).status.code(), Some(2));
    // A file that is not there is made, in a folder that is not there; a link stays one.
    assert!(place.run(&["mcp", "install", "vscode", "--yes"]).status.success());
    let made = out(&place.run(&["mcp", "install", "vscode", "--dry-run", "--json"]));
    let made: Value = serde_json::from_str(&made).unwrap();
    assert!(made["written"] == false && made["file"].as_str().unwrap().ends_with("mcp.json"), "{made}");
    let real = home.join("dotfiles.json");
    std::fs::write(&real, "{}").unwrap();
    std::fs::create_dir_all(home.join(".cursor")).unwrap();
    std::os::unix::fs::symlink(&real, home.join(".cursor/mcp.json")).unwrap();
    assert!(place.run(&["mcp", "install", "cursor", "--yes"]).status.success());
    assert!(home.join(".cursor/mcp.json").symlink_metadata().unwrap().file_type().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().contains("situated"));
    // Also where its target is not there yet.
    let link = home.join(".cursor/mcp.json");
    for target in ["../later.json", home.join("latest.json").to_str().unwrap()] {
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(target, &link).unwrap();
        assert!(place.run(&["mcp", "install", "cursor", "--yes"]).status.success());
        assert!(link.symlink_metadata().unwrap().file_type().is_symlink());
        assert!(std::fs::read_to_string(&link).unwrap().contains("situated"));
    }
}

#[test]
fn a_program_without_the_shells_variables_finds_what_they_name() {
    let place = Place::new();
    let home = place.dir.path();
    let (data, config) = (home.join("share"), home.join("etc"));
    std::fs::create_dir_all(config.join("situated")).unwrap();
    std::fs::write(config.join("situated/config.toml"), "").unwrap();
    let entry = |variables: &[(&str, &std::path::Path)]| -> Vec<String> {
        let mut command = place.command();
        for variable in ["SITUATED_CONFIG", "SITUATED_DATA_DIR", "SITUATED_SOCKET"] {
            command.env_remove(variable);
        }
        let output =
            command.envs(variables.iter().copied()).args(["mcp", "install", "cursor", "--dry-run", "--json"]).output();
        let told: Value = serde_json::from_str(&out(&output.unwrap())).unwrap();
        let arguments = told["entry"]["args"].as_array().unwrap().iter();
        arguments.map(|argument| argument.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(entry(&[]), ["mcp"]);
    let (config, file) = (config.as_path(), config.join("situated/config.toml"));
    let (found, file) = (data.join("situated"), file.to_str().unwrap());
    assert_eq!(entry(&[("XDG_DATA_HOME", &data)]), ["--data-dir", found.to_str().unwrap(), "mcp"]);
    assert_eq!(entry(&[("XDG_CONFIG_HOME", config)]), ["--config", file, "mcp"]);
}

#[test]
fn codex_is_entered_in_its_tables_and_what_was_entered_is_taken_out_again() {
    let place = Place::new();
    let file = place.dir.path().join(".codex/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "# Mine\nmodel = \"m\" # the best\n\n[mcp_servers.other]\ncommand = \"x\"\nenv = { KEY = \"k\" }\n";
    std::fs::write(&file, before).unwrap();
    let shown = place.run(&["mcp", "install", "codex", "--dry-run"]);
    assert!(out(&shown).contains("[mcp_servers.situated]") && !out(&shown).contains("KEY"), "{}", out(&shown));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    assert!(place.run(&["mcp", "install", "codex", "--yes"]).status.success());
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(after.starts_with(before), "{after}");
    let parsed: toml::Table = after.parse().unwrap();
    let entry = &parsed["mcp_servers"]["situated"];
    assert!(entry["command"].as_str().unwrap().ends_with("/situated"), "{entry}");
    assert_eq!(entry["args"].as_array().unwrap().last().unwrap().as_str(), Some("mcp"));
    assert!(out(&place.run(&["mcp", "install", "codex", "--yes"])).contains("already"));
    let listed = |name: &str| {
        let list = out(&place.run(&["mcp", "uninstall"]));
        list.lines().any(|line| line.starts_with(&format!("{name} ")) && line.contains("entered"))
    };
    assert!(listed("codex") && !listed("claude"));
    // Nobody can be asked here, and a dry run changes nothing.
    assert_eq!(place.run(&["mcp", "uninstall", "codex"]).status.code(), Some(2));
    assert!(out(&place.run(&["mcp", "uninstall", "codex", "--dry-run"])).contains("would lose its entry"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
    let told: Value =
        serde_json::from_str(&out(&place.run(&["mcp", "uninstall", "codex", "--yes", "--json"]))).unwrap();
    assert_eq!((&told["removed"], &told["written"]), (&json!(true), &json!(true)), "{told}");
    assert_eq!(std::fs::read_to_string(told["backup"].as_str().unwrap()).unwrap(), after);
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim_end(), before.trim_end());
    assert!(!listed("codex"));
    assert!(out(&place.run(&["mcp", "uninstall", "codex", "--yes"])).contains("no such entry"));

    // The same in JSON, with what stands around it.
    let zed = place.dir.path().join(".config/zed/settings.json");
    std::fs::create_dir_all(zed.parent().unwrap()).unwrap();
    let before = "// Zed\n{\n  \"context_servers\": {\n    \"other\": {}, // mine\n  },\n}\n";
    std::fs::write(&zed, before).unwrap();
    assert!(place.run(&["mcp", "install", "zed", "--yes"]).status.success());
    assert_ne!(std::fs::read_to_string(&zed).unwrap(), before);
    assert!(place.run(&["mcp", "uninstall", "zed", "--yes"]).status.success());
    assert_eq!(std::fs::read_to_string(&zed).unwrap(), before);
    // Where there is no file, there is nothing to do; one that cannot be read is left alone.
    let none = place.run(&["mcp", "uninstall", "cursor", "--yes"]);
    assert!(none.status.success() && out(&none).contains("no file"), "{}", out(&none));
    assert!(!place.dir.path().join(".cursor").exists());
    assert_eq!(place.run(&["mcp", "uninstall", "nobody"]).status.code(), Some(2));
    std::fs::write(&zed, "{ \"context_servers\" {} }").unwrap();
    let told = place.run(&["mcp", "uninstall", "zed", "--yes"]);
    assert_eq!(told.status.code(), Some(73));
    assert!(err(&told).contains("not JSON") && err(&told).contains("by hand"), "{}", err(&told));
}
