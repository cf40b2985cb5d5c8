//! The live search as somebody meets it: the real program on a real terminal, typed at and looked at.
#![cfg(all(target_os = "linux", feature = "tui"))]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use unicode_width::UnicodeWidthChar as _;

use crate::requests::is_idle_with;
use crate::support::{PATIENCE, Place, eventually};
use crate::terminal::terminal;

/// What a terminal would show: just enough of one for what the live search sends.
#[derive(Default)]
struct Shown {
    cells: Vec<Vec<char>>,
    at: (usize, usize),
    /// Of a sequence that has not come in whole.
    rest: String,
    /// Everything that came in.
    all: String,
}

impl Shown {
    fn take(&mut self, text: &str) {
        self.all.push_str(text);
        let text = std::mem::take(&mut self.rest) + text;
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            if c != '\u{1b}' {
                rest = &rest[c.len_utf8()..];
                self.put(c);
                continue;
            }
            let Some(sequence) = rest.strip_prefix("\u{1b}[") else {
                if rest.len() < 2 {
                    break;
                }
                rest = &rest[2..];
                continue;
            };
            let Some(end) = sequence.find(|c: char| ('@'..='~').contains(&c)) else { break };
            self.command(&sequence[..end], sequence.as_bytes()[end]);
            rest = &sequence[end + 1..];
        }
        self.rest = rest.to_owned();
    }

    fn command(&mut self, parameters: &str, command: u8) {
        let numbers: Vec<usize> = parameters.split(';').map(|number| number.parse().unwrap_or(1)).collect();
        match command {
            b'H' => self.at = (numbers[0] - 1, numbers.get(1).copied().unwrap_or(1) - 1),
            b'J' => self.cells.clear(),
            b'h' | b'l' if parameters == "?1049" => self.cells.clear(),
            _ => {}
        }
    }

    fn put(&mut self, c: char) {
        let (y, x) = self.at;
        match c {
            '\r' => self.at.1 = 0,
            '\n' => self.at.0 += 1,
            c if c.is_control() => {}
            c => {
                if self.cells.len() <= y {
                    self.cells.resize(y + 1, Vec::new());
                }
                let width = c.width().unwrap_or(1).max(1);
                if self.cells[y].len() < x + width {
                    self.cells[y].resize(x + width, ' ');
                }
                self.cells[y][x] = c;
                self.at.1 = x + width;
            }
        }
    }

    fn text(&self) -> String {
        self.cells.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }
}

/// The program on a terminal.
struct Live {
    child: Child,
    keyboard: File,
    /// Kept open, so that the terminal outlives the program.
    end: File,
    shown: Arc<Mutex<Shown>>,
}

impl Live {
    fn start(place: &Place, columns: u16, rows: u16, environment: &[(&str, &str)]) -> Self {
        let (keyboard, end) = terminal(columns, rows);
        let other = || Stdio::from(end.try_clone().unwrap());
        let mut command = place.command();
        command.env("TERM", "xterm-256color").envs(environment.iter().copied());
        let child = command.stdin(other()).stdout(other()).stderr(other()).spawn().unwrap();
        let shown = Arc::new(Mutex::new(Shown::default()));
        let (mut from, to) = (keyboard.try_clone().unwrap(), shown.clone());
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                bytes.extend_from_slice(&piece[..count]);
                let whole = match std::str::from_utf8(&bytes) {
                    Ok(text) => text.len(),
                    Err(error) => error.valid_up_to(),
                };
                let text = String::from_utf8(bytes.drain(..whole).collect()).unwrap();
                to.lock().unwrap().take(&text);
            }
        });
        Live { child, keyboard, end, shown }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn screen(&self) -> String {
        self.shown.lock().unwrap().text()
    }

    fn all(&self) -> String {
        self.shown.lock().unwrap().all.clone()
    }

    fn wait(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(Instant::now() < until, "{what}: not in time; it shows\n{screen}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Whether keys come line by line and are echoed, as a shell wants it.
    fn is_cooked(&self) -> bool {
        tcgetattr(&self.end).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits for the end; the terminal must be as it was.
    fn ended(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "it does not end; it shows\n{}", self.screen());
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        assert!(self.is_cooked(), "the terminal is left raw");
        eventually("the other screen is left", || {
            let all = self.all();
            all.rfind("\u{1b}[?1049l") > all.rfind("\u{1b}[?1049h")
                && all.rfind("\u{1b}[?25h") > all.rfind("\u{1b}[?25l")
        });
        status.code()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id() as i32).unwrap(), signal).unwrap();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
fn without_a_terminal_the_name_alone_is_help() {
    let place = Place::new();
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("First steps"));
    let output = place.run(&["live"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("needs a terminal"));
}
