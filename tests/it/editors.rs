//! The plugins that the program carries: written, listed and taken out by `situated editor`, and their own tests, run by the
//! editors, with a daemon to ask.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::commands::{err, out};
use crate::support::{Daemon, Place};

const HERON: &str =
    "# Heron\n\nHerons hunt in shallow water.\n\n## Nesting\n\nThe quibbleheron builds its nest in old alders.\n";
const EGRET: &str = "# Egret\n\nEgrets stand in shallow water as herons do, and build nests in old alders.\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A command in a home of its own, without what the machine says of editors.
fn run(place: &Place, arguments: &[&str]) -> (i32, String) {
    let mut command = place.command();
    command.arg("editor").args(arguments);
    let output = command.output().unwrap();
    (output.status.code().unwrap(), format!("{}{}", out(&output), err(&output)))
}

#[test]
fn plugins_are_installed_listed_and_taken_out() {
    let place = Place::new();
    let home = place.dir.path();
    for (editor, folder, file) in [
        ("neovim", ".local/share/nvim/site/pack/situated/start/situated", "plugin/situated.lua"),
        ("emacs", ".emacs.d/situated", "situated.el"),
        ("vscode", ".vscode/extensions/situated.situated-0.1.0", "package.json"),
    ] {
        let folder = home.join(folder);
        let (code, said) = run(&place, &["install", editor, "--dry-run"]);
        assert!(code == 0 && said.contains(&format!("would write {}", folder.join(file).display())), "{said}");
        assert!(!folder.exists());
        let (code, said) = run(&place, &["install", editor]);
        assert!(code == 0 && said.contains("Installed the plugin"), "{said}");
        let carried = root().join("src/cli/editor/plugins").join(editor).join(file);
        assert_eq!(fs::read(folder.join(file)).unwrap(), fs::read(carried).unwrap());
        assert!(run(&place, &["install", editor]).1.contains("was there already"));

        fs::write(folder.join(file), "mine").unwrap();
        let (code, said) = run(&place, &["install", editor]);
        assert!(code == 73 && said.contains(file) && said.contains("--yes"), "{code} {said}");
        assert_eq!(fs::read_to_string(folder.join(file)).unwrap(), "mine");
        assert!(run(&place, &["list"]).1.contains(&format!("changed by somebody: {file}")));
        assert_eq!(run(&place, &["install", editor, "--yes"]).0, 0);
        let list: Value = serde_json::from_str(run(&place, &["list", "--json"]).1.trim()).unwrap();
        let listed = list["editors"].as_array().unwrap().iter().find(|listed| listed["editor"] == editor).unwrap();
        assert!(listed["current"] == true && listed["changed"].as_array().unwrap().is_empty(), "{listed}");

        assert_eq!(run(&place, &["uninstall", editor]).0, 0);
        assert!(!folder.exists());
        assert_eq!(run(&place, &["uninstall", editor]).0, 1);
    }
    let elsewhere = home.join("elsewhere");
    assert_eq!(run(&place, &["install", "emacs", "--dir", elsewhere.to_str().unwrap()]).0, 0);
    assert!(elsewhere.join("situated.el").exists());
    assert_eq!(run(&place, &["install", "ed"]).0, 2);
}

#[test]
fn a_vault_is_written_to_only_after_a_yes_and_only_where_obsidians_plugins_lie() {
    let place = Place::with(&[("Birds/Heron.md", HERON)]);
    place.configure("");
    let vault = place.vault.to_str().unwrap();
    let (code, said) = run(&place, &["install", "obsidian"]);
    assert!(code == 2 && said.contains("--vault"), "{said}");
    let (code, said) = run(&place, &["install", "obsidian", "--vault", "notes", "--yes"]);
    assert!(code == 2 && said.contains("no vault of Obsidian's"), "{said}");
    fs::create_dir(place.vault.join(".obsidian")).unwrap();
    let listed = run(&place, &["list"]).1;
    assert!(listed.contains(&format!("situated editor install obsidian --vault {vault}")), "{listed}");
    let before = place.tree();
    let (code, said) = run(&place, &["install", "obsidian", "--vault", "notes"]);
    assert!(code == 2 && said.contains("--yes"), "nobody can be asked here: {said}");
    assert_eq!(run(&place, &["install", "obsidian", "--vault", "notes", "--dry-run"]).0, 0);
    assert_eq!(run(&place, &["install", "neovim", "--vault", "notes"]).0, 2);
    assert_eq!(place.tree(), before);
    let (code, said) = run(&place, &["install", "obsidian", "--vault", vault, "--yes"]);
    assert!(code == 0 && said.contains("Community plugins"), "{said}");
    let carried = |file: &str| fs::read_to_string(root().join("src/cli/editor/plugins").join(file)).unwrap();
    let main = fs::read_to_string(place.vault.join(".obsidian/plugins/situated/main.js")).unwrap();
    assert_eq!(main, carried("vscode/client.js") + &carried("obsidian/main.js"));
    let written: Vec<_> = place.tree().into_keys().filter(|path| !before.contains_key(path)).collect();
    assert!(written.iter().all(|path| path.starts_with(".obsidian/plugins")), "{written:?}");
    assert!(run(&place, &["list"]).1.contains(".obsidian/plugins/situated"));
    assert_eq!(run(&place, &["uninstall", "obsidian", "--vault", "notes"]).0, 0);
    assert!(!place.vault.join(".obsidian/plugins/situated").exists());
}

/// An editor that runs its plugin's tests, with a daemon that it may ask.
fn tested(program: &str, arguments: &[&str]) {
    let place = Place::with(&[("Birds/Heron.md", HERON), ("Birds/Egret.md", EGRET)]);
    let _daemon: Daemon = place.start();
    let home: PathBuf = place.dir.path().join("home");
    fs::create_dir(&home).unwrap();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .env("HOME", &home)
        .env_remove("SITUATED_SOCKET")
        .env("SITUATED_TEST_SOCKET", place.socket())
        .env("SITUATED_TEST_VAULT", &place.vault)
        .env("SITUATED_TEST_QUERY", "quibbleheron")
        .env("SITUATED_TEST_EXPECT", "Birds/Heron.md:7")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}\n{}", out(&output), err(&output));
}

#[test]
#[cfg_attr(not(has_nvim), ignore = "needs nvim")]
fn the_plugin_of_neovim_passes_its_own_tests() {
    let set = "set rtp+=src/cli/editor/plugins/neovim";
    tested(
        "nvim",
        &["--headless", "-u", "NONE", "-i", "NONE", "--cmd", set, "-c", "luafile tests/editors/neovim/run.lua"],
    );
}

#[test]
#[cfg_attr(not(has_node), ignore = "needs node")]
fn the_plugin_of_vs_code_passes_its_own_tests() {
    tested("node", &["--test", "tests/editors/vscode/"]);
}

#[test]
#[cfg_attr(not(has_node), ignore = "needs node")]
fn the_plugin_of_obsidian_passes_its_own_tests() {
    tested("node", &["--test", "tests/editors/obsidian/"]);
}

#[test]
#[cfg_attr(not(has_emacs), ignore = "needs emacs")]
fn the_plugin_of_emacs_passes_its_own_tests() {
    let (folder, tests) = ("src/cli/editor/plugins/emacs", "tests/editors/emacs/situated-test.el");
    tested("emacs", &["--batch", "-Q", "-L", folder, "-l", tests, "-f", "ert-run-tests-batch-and-exit"]);
}
