//! The live search as somebody meets it: the real program on a real terminal, typed at and looked at.
#![cfg(all(target_os = "linux", feature = "tui"))]

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use rustix::termios::{Winsize, tcsetwinsize};

use crate::requests::is_idle_with;
use crate::screen::Live;
use crate::support::{Place, eventually};

fn vault() -> Place {
    let place = Place::with(&[
        (
            "Tides/Slack water.md",
            "# Slack water\n\nSlack water lasts twenty minutes at the narrows.\n\n## Springs\n\nThe quibbleheron comes at springs.\n",
        ),
        ("Tides/Charts.md", "# Charts\n\nThe chart of the narrows is from 1987. See [[Slack water]].\n"),
        ("Bread.md", "# Bread\n\nFlour, water, salt, time.\n"),
    ]);
    place.configure("");
    place
}

/// A script that notes what it is given and then what is typed at it.
fn editor(place: &Place) -> (String, std::path::PathBuf) {
    let (script, record) = (place.dir.path().join("my editor"), place.dir.path().join("record"));
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{0}'\nread line\necho \"typed $line\" >> '{0}'\n",
        record.display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    (format!("'{}'", script.display()), record)
}

#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn typing_finding_opening_leaving() {
    let place = vault();
    let (editor, record) = editor(&place);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("indexed", |status| is_idle_with(status, 3));
    let mut live = Live::start(&place, 80, 24, &[("VISUAL", &editor)]);
    live.wait("the daemon is there", |screen| screen.contains("3 notes"));
    // The last word is still being typed.
    live.press("quibble");
    live.wait("a hit", |screen| screen.contains("▌Slack water") && screen.contains("quibbleheron comes at springs"));
    // Enter lends the terminal to the editor, which gets the file, and what is typed then.
    live.press("\r");
    eventually("the editor runs", || std::fs::read_to_string(&record).is_ok_and(|text| text.ends_with('\n')));
    assert!(live.is_cooked(), "the editor has a raw terminal");
    let given = std::fs::read_to_string(&record).unwrap();
    assert_eq!(given, format!("{}\n", place.vault.join("Tides/Slack water.md").display()));
    live.press("xyzzy\n");
    eventually("what is typed goes to the editor", || {
        std::fs::read_to_string(&record).unwrap().contains("typed xyzzy")
    });
    live.wait("the screen is back", |screen| screen.contains("› quibble\n") && screen.contains("▌Slack water"));
    assert!(!live.is_cooked());
    // What is saved meanwhile comes into the list by itself.
    place.write("Heron.md", "# Heron\n\nquibbleheron, quibbleheron\n");
    live.wait("the new note", |screen| screen.contains("4 notes") && screen.contains("Heron"));
    // What lies near a passage, and back.
    live.press("\u{15}charts");
    live.wait("another hit", |screen| screen.contains("▌Charts"));
    live.press("\u{12}");
    live.wait("what lies near", |screen| screen.contains("near Tides/Charts.md:"));
    live.press("\u{1b}");
    live.wait("the results again", |screen| screen.contains("▌Charts") && !screen.contains("near Tides"));
    live.press("\u{1b}");
    assert_eq!(live.ended(), Some(0));
}

#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn what_is_taken_along_is_printed() {
    let place = vault();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_vault("indexed", |vault| vault.notes == 3);
    let mut live = Live::start(&place, 20, 5, &[("NO_COLOR", "1")]);
    live.press("bread");
    live.wait("a hit", |screen| screen.contains("▌Bread"));
    // Other sizes, the smallest there is among them.
    for (columns, rows) in [(1, 1), (200, 50), (20, 5), (80, 24)] {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&live.end, size).unwrap();
        live.signal(Signal::WINCH);
    }
    live.wait("it is drawn anew", |screen| screen.lines().any(|line| line.ends_with("hybrid · F1 help")));
    let coloured = |all: &str| {
        ["\u{1b}[3", "\u{1b}[4", "\u{1b}[9"].iter().any(|code| {
            all.match_indices(code).any(|(at, _)| {
                let rest = &all[at + 2..];
                let digits = rest.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(0);
                rest[digits..].starts_with('m') && !matches!(&rest[..digits], "4" | "39" | "49" | "39;49" | "39;49;59")
            })
        })
    };
    assert!(!coloured(&live.all()), "there are colours: {:?}", live.all());
    live.press("\u{19}");
    assert_eq!(live.ended(), Some(0));
    let printed = format!("{}:1\r\n", place.vault.join("Bread.md").display());
    eventually("its place is printed", || live.all().ends_with(&printed));
}

#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn a_key_that_comes_with_another_size_is_not_lost() {
    let place = vault();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_vault("indexed", |vault| vault.notes == 3);
    let mut live = Live::start(&place, 80, 24, &[]);
    live.press("b");
    live.wait("a key", |screen| screen.contains("› b\n"));
    // Each is alone: another one would bring it along.
    for _ in 0..50 {
        for (key, shown) in [("r", "› br\n"), ("\u{7f}", "› b\n")] {
            live.signal(Signal::WINCH);
            live.press(key);
            live.wait("it is seen", |screen| screen.contains(shown));
        }
    }
    live.press("\u{1b}");
    assert_eq!(live.ended(), Some(0));
}

#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn a_daemon_that_is_away_and_comes() {
    let place = vault();
    // All is indexed when it comes: a hit that is alone for a moment stays the selected one.
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_vault("indexed", |vault| vault.notes == 3);
    assert_eq!(daemon.stop(), Some(0));
    let mut live = Live::start(&place, 80, 24, &[]);
    live.wait("it says so", |screen| screen.contains("No daemon answers.") && screen.contains("situated run"));
    live.press("slack");
    let mut daemon = place.spawn(&["run"]);
    live.wait("it comes", |screen| screen.contains("▌Slack water") && screen.contains("› slack"));
    daemon.wait_idle();
    daemon.kill();
    live.wait("it is gone", |screen| screen.contains("No daemon answers.") && screen.contains("› slack"));
    let _daemon = place.spawn(&["run"]);
    live.wait("it is back", |screen| screen.contains("▌Slack water"));
    live.signal(Signal::TERM);
    assert_eq!(live.ended(), Some(143));
}

#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn a_vault_that_is_removed_is_not_counted_any_more() {
    let place = vault();
    let other = place.dir.path().join("Other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("Heron.md"), "# Heron\n").unwrap();
    place.configure(&format!("[[vault]]\npath = {}\n", toml::Value::from(other.to_str().unwrap())));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("indexed", |status| is_idle_with(status, 3) && status.vaults[1].notes == 1);
    let mut live = Live::start(&place, 80, 24, &[]);
    live.wait("both are there", |screen| screen.contains("4 notes"));
    let removed = place.run(&["vault", "remove", "Other", "--yes"]);
    assert!(removed.status.success(), "{removed:?}");
    live.wait("one is there", |screen| screen.contains("3 notes"));
    live.press("\u{1b}");
    assert_eq!(live.ended(), Some(0));
}

#[test]
fn without_a_terminal_the_name_alone_is_help() {
    let place = Place::new();
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("First steps"));
    let output = place.run(&["live"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("needs a terminal"));
}
