//! What a shell's friend does beside searching: opening, following, completing, explaining, beginning.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::commands::{err, out, sample};
use crate::support::{Place, eventually};

/// A program that notes what it is given, one word a line.
fn recorder(place: &Place, name: &str) -> std::path::PathBuf {
    let script = place.dir.path().join(name);
    let record = place.dir.path().join("given");
    std::fs::write(&script, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n", record.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    script
}

fn given(place: &Place) -> String {
    let record = place.dir.path().join("given");
    let text = std::fs::read_to_string(&record).unwrap_or_default();
    let _ = std::fs::remove_file(record);
    text
}

#[test]
fn hits_are_opened_where_the_user_wants() {
    let (place, _daemon) = sample();
    let vim = recorder(&place, "vim");
    let first = place.run(&["search", "ferry timetable", "-n", "1", "--format", "{file}\\n{line}"]);
    let (file, line) = out(&first).trim_end().split_once('\n').map(|(f, l)| (f.to_owned(), l.to_owned())).unwrap();
    assert!(std::path::Path::new(&file).is_file(), "{file}");
    let open = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.command();
        command.args(["search", "ferry timetable"]).args(arguments).envs(variables.iter().copied());
        command.output().unwrap()
    };
    let vim = vim.to_str().unwrap();
    let output = open(&["--open"], &[("EDITOR", vim)]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(given(&place), format!("+{line}\n{file}\n"));
    assert!(out(&output).is_empty() && err(&output).contains("opening"), "{}", err(&output));
    // VISUAL is asked first; options of it stay.
    open(&["--open=1"], &[("EDITOR", "false"), ("VISUAL", &format!("{vim} -p"))]);
    assert_eq!(given(&place), format!("-p\n+{line}\n{file}\n"));
    // A command of one's own, by the environment as by the file.
    open(&["--open"], &[("SITUATED_OPEN", &format!("command {vim} at {{path}}:{{line}}"))]);
    assert_eq!(given(&place), format!("at\n{file}:{line}\n"));
    recorder(&place, "xdg-open");
    let path = format!("{}:{}", place.dir.path().display(), std::env::var("PATH").unwrap());
    let output = open(&["--open-in", "obsidian"], &[("PATH", &path)]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let record = place.dir.path().join("given");
    eventually("the desktop is asked", || record.exists() && !std::fs::read_to_string(&record).unwrap().is_empty());
    assert!(given(&place).starts_with("obsidian://open?vault=notes&file="));
    // What cannot be opened is told.
    let output = open(&["--open=200"], &[("EDITOR", vim)]);
    assert!(output.status.code() == Some(1) && err(&output).contains("no such hit"), "{}", err(&output));
    let output = open(&["--open"], &[("EDITOR", "no-such-editor-anywhere")]);
    assert!(output.status.code() == Some(69) && err(&output).contains("EDITOR"), "{}", err(&output));
}

#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn results_say_why_and_are_links_where_wanted() {
    let (place, _daemon) = sample();
    let plain = out(&place.run(&["search", "ferry timetable", "-n", "3"]));
    assert!(plain.contains("title") && plain.contains("words") && !plain.contains('\u{1b}'), "{plain}");
    let linked = out(&place.run(&["search", "ferry timetable", "-n", "3", "--hyperlinks", "always"]));
    assert!(
        linked.contains("\u{1b}]8;;file://") && linked.contains("%20") && !linked.contains("\u{1b}["),
        "{linked:?}"
    );
    let json: Value = serde_json::from_str(&out(&place.run(&["search", "ferry timetable", "--json"]))).unwrap();
    assert!(json["hits"][0].get("lanes").is_none(), "lanes are for those who ask");
    #[cfg(target_os = "linux")]
    {
        let mut command = place.command();
        command.args(["search", "ferry", "-n", "1"]);
        let (text, _) = crate::terminal::on_terminal(command, 80, "");
        assert!(text.contains("\u{1b}]8;;file://"), "{text:?}");
        let mut command = place.command();
        command.args(["search", "ferry", "-n", "1", "--hyperlinks", "never"]);
        let (text, _) = crate::terminal::on_terminal(command, 80, "");
        assert!(!text.contains("\u{1b}]8"), "{text:?}");
    }
    // Nobody reads on: a quiet end.
    for arguments in [
        &["search", "the", "-n", "200"][..],
        &["search", "the", "-n", "200", "--jsonl"],
        &["completions", "bash"],
        &["man"],
    ] {
        let mut child = place.command().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let output = child.wait_with_output().unwrap();
        let talk = err(&output);
        assert!(output.status.code() == Some(0) && !talk.contains("panicked") && !talk.contains("situated:"), "{talk}");
    }
}

#[test]
fn decisions_are_followed_over_a_restart() {
    let place = Place::with(&[("a.md", "# A\n\none\n")]);
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let output = place.run(&["tail", "--vault", "nots"]);
    assert!(output.status.code() == Some(1) && err(&output).contains("nots"), "{}", err(&output));
    let files = ["lines", "talk"].map(|name| place.dir.path().join(name));
    let [lines, talk] = [0, 1].map(|i| std::fs::File::create(&files[i]).unwrap());
    let mut tail = place.command().args(["tail", "-f"]).stdout(lines).stderr(talk).spawn().unwrap();
    let mut json = place.command().args(["tail", "--jsonl", "--quiet"]).stdout(Stdio::piped()).spawn().unwrap();
    let read = |i: usize| std::fs::read_to_string(&files[i]).unwrap();
    eventually("it follows", || read(1).contains("following"));
    // It follows from a moment after it has said so.
    let mut n = 0;
    eventually("a decision", || {
        n += 1;
        place.write("a.md", format!("# A\n\ntwo {n}\n"));
        std::thread::sleep(std::time::Duration::from_millis(100));
        read(0).contains("BodyChanged")
    });
    let done = place.run(&["rebuild", "a.md", "--yes"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    eventually("the job is told", || read(0).contains("done: rebuild of"));
    let mut first = String::new();
    let mut json_lines = BufReader::new(json.stdout.take().unwrap());
    json_lines.read_line(&mut first).unwrap();
    let first: Value = serde_json::from_str(&first).unwrap();
    assert!(first["schema"] == 1 && first["kind"].is_string(), "{first}");
    assert_eq!(daemon.stop(), Some(0));
    eventually("it says that nobody is there", || read(1).contains("the daemon is gone"));
    let mut daemon = place.spawn(&["run"]);
    eventually("it says that somebody is", || read(1).contains("the daemon is back"));
    daemon.wait_idle();
    eventually("a decision of the new daemon", || {
        n += 1;
        place.write("b.md", format!("# B {n}\n"));
        std::thread::sleep(std::time::Duration::from_millis(100));
        read(0).contains("b.md")
    });
    // Nobody reads the other one any more.
    drop(json_lines);
    eventually("it ends quietly", || {
        n += 1;
        place.write("c.md", format!("# C {n}\n"));
        std::thread::sleep(std::time::Duration::from_millis(50));
        json.try_wait().unwrap().is_some()
    });
    assert_eq!(json.wait().unwrap().code(), Some(0));
    tail.kill().unwrap();
    tail.wait().unwrap();
}

/// The completions of a shell as a file that this shell takes for a script.
fn completions(place: &Place, shell: &str) -> PathBuf {
    let file = place.dir.path().join(format!("completions.{shell}"));
    std::fs::write(&file, out(&place.run(&["completions", shell]))).unwrap();
    let checked = Command::new(shell).arg("-n").arg(&file).output().unwrap();
    assert!(checked.status.success(), "{}", err(&checked));
    file
}

/// What bash has after Tab at the end of `words`, cut as bash cuts them: its own variables are set as it sets them.
fn bash_offers(place: &Place, line: &str, words: &[&str]) -> Vec<String> {
    const ASK: &str = r#"
        source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; COMP_TYPE=9; shift 2
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _clap_complete_situated situated "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let script = completions(place, "bash");
    let own = place.command();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_situated"));
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().map(PathBuf::from).into_iter().chain(std::env::split_paths(&usual));
    let mut bash = Command::new("bash");
    bash.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bash.env("PATH", std::env::join_paths(folders).unwrap()).current_dir(place.dir.path());
    bash.args(["-c", ASK, "bash", script.to_str().unwrap(), line]).args(words);
    let output = bash.output().unwrap();
    assert_eq!(err(&output), "", "{line}");
    out(&output).lines().map(str::to_owned).collect()
}

#[test]
#[cfg_attr(not(has_bash), ignore = "needs bash")]
fn bash_completes_what_the_vault_has() {
    let place = Place::with(&[
        ("plans/b.md", "---\naliases: [Second]\n---\n# Plan B\n\n#work/late\n\n## The end\n\nlast words\n"),
        ("plans/c.md", "# Planets\n\n#work\n\nround\n"),
    ]);
    place.configure("");
    // Without a daemon the names of vaults come from the configuration, and notes have none.
    assert_eq!(bash_offers(&place, "situated search --vault n", &["situated", "search", "--vault", "n"]), ["notes"]);
    assert_eq!(bash_offers(&place, "situated get Pl", &["situated", "get", "Pl"]), [""]);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    // (the line, its words as bash cuts them, what is offered)
    let cases: [(&str, &[&str], &[&str]); 11] = [
        ("situated get pl", &["situated", "get", "pl"], &[r"Plan\ B", "Planets"]),
        ("situated get \"Plan ", &["situated", "get", "Plan "], &["Plan B"]),
        ("situated get sec", &["situated", "get", "sec"], &["Second"]),
        ("situated get plans/", &["situated", "get", "plans/"], &["plans/b.md", "plans/c.md"]),
        (r"situated get Plan\ B#T", &["situated", "get", r"Plan\ B#T"], &[r"Plan\ B#The\ end"]),
        ("situated search x tag:w", &["situated", "search", "x", "tag", ":", "w"], &["work", "work/late"]),
        (
            "situated search \u{e4}\u{f6} tag:w",
            &["situated", "search", "\u{e4}\u{f6}", "tag", ":", "w"],
            &["work", "work/late"],
        ),
        ("situated search --vault=n", &["situated", "search", "--vault", "=", "n"], &["notes"]),
        ("situated search tag:", &["situated", "search", "tag", ""], &["work", "work/late"]),
        ("situated search path:", &["situated", "search", "path", ""], &["plans"]),
        ("situated search --mode l", &["situated", "search", "--mode", "l"], &["lexical"]),
    ];
    for (line, words, offered) in cases {
        let mut got = bash_offers(&place, line, words);
        got.sort();
        assert_eq!(got, offered, "{line}");
    }
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
#[cfg_attr(not(has_zsh), ignore = "needs zsh")]
fn zsh_takes_its_completions() {
    completions(&Place::new(), "zsh");
}

#[test]
#[cfg_attr(not(has_fish), ignore = "needs fish")]
fn fish_takes_its_completions() {
    completions(&Place::new(), "fish");
}

#[test]
fn scripts_and_pages() {
    let place = Place::new();
    place.configure("");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = place.run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let script = out(&output);
        assert!(script.contains("situated"), "{shell}: {script}");
    }

    let folder = place.dir.path().join("man");
    let output = place.run(&["man", "--out", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let main = out(&place.run(&["man"]));
    assert_eq!(std::fs::read_to_string(folder.join("situated.1")).unwrap(), main);
    for section in [".SH \"EXIT STATUS\"", ".SH FILES", ".SH ENVIRONMENT", "SITUATED_CONFIG", "config.toml"] {
        assert!(main.contains(section), "no {section} in\n{main}");
    }
    // Every command that help lists has its page.
    let help = out(&place.run(&["--help"]));
    let listed = help.lines().skip_while(|line| *line != "Start:").take_while(|line| !line.contains("--"));
    let names: Vec<&str> = listed.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
    for name in &names {
        assert!(folder.join(format!("situated-{name}.1")).is_file(), "no page of {name}");
    }
    assert!(names.len() > 25, "{names:?}\n{help}");
}

#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn a_beginning_with_three_questions() {
    let place = Place::with(&[("one.md", "# One\n")]);
    std::fs::create_dir(place.vault.join(".obsidian")).unwrap();
    std::fs::create_dir_all(place.dir.path().join("Documents/zk/.zk")).unwrap();
    let file = place.dir.path().join(".config/situated/config.toml");
    let here = place.dir.path().to_owned();
    let init = |typed: &str| {
        let mut command = place.command();
        command.arg("init").current_dir(&here).env_remove("SITUATED_DATA_DIR").env_remove("SITUATED_SOCKET");
        crate::terminal::on_terminal(command, 100, typed)
    };
    // No answer, nothing written. Ctrl-D ends the input.
    let (text, code) = init("\u{4}");
    assert!(code == Some(2) && text.contains("nothing was written") && !file.exists(), "{text}");
    let (text, code) = init("\nollama\nn\n");
    assert_eq!(code, Some(0), "{text}");
    for expected in ["~/notes", "Obsidian, 1 note", "~/Documents/zk", "for 2 vaults", "doctor --provider"] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    let config = std::fs::read_to_string(&file).unwrap();
    assert!(config.contains("\nprovider = \"ollama\"\n") && config.matches("\n[[vault]]\n").count() == 2, "{config}");
    assert!(config.contains("# limit = 20"), "every key is explained");
    let checked = place.run(&["config", "check"]);
    assert_eq!(checked.status.code(), Some(0), "{}{}", out(&checked), err(&checked));
    // The second time it does not even ask.
    let (text, code) = init("\n\nn\n");
    assert!(code == Some(73) && text.contains("left as it is") && !text.contains("Which notes"), "{text}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), config);
    // Nobody to ask: as ever.
    std::fs::remove_file(&file).unwrap();
    let mut command = place.command();
    let output = command.arg("init").current_dir(&place.vault).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let mut text = String::new();
    std::fs::File::open(&file).unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("name = \"notes\"") && text.contains("# provider = \"template\""), "{text}");
}

#[test]
fn what_is_piped_in_over_a_limit_is_refused_for_that() {
    let place = Place::new();
    let piped = |arguments: &[&str], text: &str| {
        let file = place.dir.path().join("piped");
        std::fs::write(&file, text).unwrap();
        let mut command = place.command();
        let output = command.args(arguments).stdin(std::fs::File::open(file).unwrap()).output().unwrap();
        (output.status.code(), err(&output))
    };
    let question = format!("{}ü?", "x".repeat((64 << 10) - 1));
    let (code, told) = piped(&["ask"], &question);
    assert!(code == Some(2) && told.contains("longer than 64 KiB"), "{told}");
    let params = format!("{{\"query\": \"{}\"}}", "x".repeat(1 << 20));
    let (code, told) = piped(&["call", "search", "-"], &params);
    assert!(code == Some(2) && told.contains("longer than 1023 KiB"), "{told}");
    let (code, told) = piped(&["call", "search", "-"], "\u{1}");
    assert!(code == Some(2) && told.contains("not JSON"), "{told}");
}
