//! What reaches a terminal: colours where they are wanted, lines that fit, questions that can be answered, and
//! nothing that a note holds to recolour, retitle or rewrite it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use unicode_width::UnicodeWidthStr as _;

use crate::commands::{NOTE, err, out, sample};
use crate::requests::is_idle_with;
use crate::support::{Place, eventually, make_fifo};

/// Text that would recolour, retitle, rewrite or turn around a terminal.
const EVIL: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{200b}\u{e0041}evil";

#[test]
fn nothing_of_a_note_can_touch_a_terminal() {
    let place = Place::new();
    place.configure("");
    let name = "a \u{1b}[31m\u{202e}name\u{9b}2J.md";
    let title: String = EVIL.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
    let note =
        format!("---\ntitle: \"{title}\"\n---\n# {EVIL}\n\nporcupine {EVIL}\n\n## {EVIL} below\n\nmore {EVIL}\n");
    place.write(name, &note);
    place.write("other.md", format!("# Other {EVIL}\n\nporcupines and {EVIL}\n"));
    place.write(&format!("{EVIL} (conflicted copy 2026-01-01).md"), "# Copy\n\nporcupine\n");
    let fifo = place.vault.join(format!("{EVIL}.md"));
    make_fifo(&fifo);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("indexed", |status| is_idle_with(status, 3));
    let followed = place.dir.path().join("followed");
    let mut tail = place.command();
    let mut tail = tail.arg("tail").stdout(File::create(&followed).unwrap()).spawn().unwrap();
    place.write(name, format!("{note}\nwombat {EVIL}\n"));
    daemon.wait_holding("wombat", &[name]);
    eventually("it is followed", || {
        place.write(&format!("{EVIL}/followed.md"), format!("# Followed {:?}\n", std::time::Instant::now()));
        std::thread::sleep(std::time::Duration::from_millis(100));
        std::fs::read_to_string(&followed).unwrap().contains("followed.md")
    });
    tail.kill().unwrap();
    tail.wait().unwrap();
    tame("tail", &std::fs::read_to_string(&followed).unwrap());
    eventually("it is told", || daemon.log().contains("BodyChanged"));
    let on_disk = place.vault.join(name);
    let on_disk = on_disk.to_str().unwrap();
    for arguments in [
        &["search", "porcupine", "--context", "--explain"][..],
        &["search", "porcupine", "--format", "{path} {file} {title} {heading} {snippet} {text} {context}"],
        &["search", "porcupine", "--open=99"],
        &["search", "porcupine", "--json"],
        &["search", "porcupine", "--jsonl"],
        &["search", EVIL],
        &["search", "x", "--vault", EVIL],
        &["related", "other.md"],
        &["ask", "porcupine", "--explain"],
        &["ask", EVIL, "--json"],
        &["get", on_disk],
        &["get", on_disk, "--json"],
        &["get", EVIL],
        &["plan", on_disk],
        &["explain", on_disk],
        &["explain", on_disk, "--json"],
        &["status"],
        &["status", "--json"],
        &["rebuild", on_disk, "--yes"],
        &["rebuild", on_disk, "--dry-run"],
        &["jobs"],
        &["call", "search", r#"{"query": "porcupine"}"#],
        &["call", EVIL],
    ] {
        let output = place.run(arguments);
        assert!(out(&output).len() + err(&output).len() > 0, "{arguments:?} is silent");
        tame(&format!("{arguments:?}"), &out(&output));
        tame(&format!("{arguments:?}"), &err(&output));
    }
    tame("run", &daemon.log());
    let opened = place.command().args(["search", "porcupine", "--open"]).env("EDITOR", "true").output().unwrap();
    assert!(opened.status.success() && err(&opened).contains("opening"), "{}", err(&opened));
    tame("--open", &err(&opened));
}

fn tame(what: &str, text: &str) {
    let wild = |c: &char| {
        (c.is_control() && *c != '\n' && *c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{e0000}'..='\u{e0fff}')
    };
    assert_eq!(text.chars().find(wild), None, "{what} prints {text:?}");
}

/// Both ends of a terminal of that size, the one that is looked at first.
#[cfg(target_os = "linux")]
pub(crate) fn terminal(columns: u16, rows: u16) -> (File, File) {
    use rustix::ioctl::{Getter, Setter, ioctl};
    let open = |path: &str| OpenOptions::new().read(true).write(true).open(path).expect("a terminal");
    let master = open("/dev/ptmx");
    // Unlock the other end and ask for its number: TIOCSPTLCK and TIOCGPTN of tty_ioctl(2).
    // SAFETY: both take a pointer to an int, which is what is given.
    let number = unsafe {
        ioctl(&master, Setter::<0x4004_5431, i32>::new(0)).unwrap();
        ioctl(&master, Getter::<0x8004_5430, u32>::new()).unwrap()
    };
    let slave = open(&format!("/dev/pts/{number}"));
    let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&slave, size).unwrap();
    (master, slave)
}

/// What a command prints on a terminal of that many columns, and its exit code.
#[cfg(target_os = "linux")]
pub(crate) fn on_terminal(mut command: Command, columns: u16, typed: &str) -> (String, Option<i32>) {
    let (mut master, slave) = terminal(columns, 24);
    let end = || Stdio::from(slave.try_clone().unwrap());
    let mut child = command.env("TERM", "xterm-256color").stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    drop((command, slave));
    master.write_all(typed.as_bytes()).unwrap();
    let mut printed = Vec::new();
    // The end of a terminal without anybody on it is an error, not an end of file.
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = master.read(&mut piece) {
        printed.extend_from_slice(&piece[..count]);
    }
    (String::from_utf8_lossy(&printed).replace("\r\n", "\n"), child.wait().unwrap().code())
}

#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn on_a_terminal() {
    let (place, mut daemon) = sample();
    let command = |arguments: &[&str]| {
        let mut command = place.command();
        command.args(arguments);
        command
    };
    let (coloured, _) = on_terminal(command(&["search", "sensor"]), 80, "");
    assert!(coloured.contains("\u{1b}["), "no colours on a terminal: {coloured:?}");
    let mut plain = command(&["search", "sensor"]);
    plain.env("NO_COLOR", "1");
    let (text, code) = on_terminal(plain, 80, "");
    assert!(!text.contains('\u{1b}') && code == Some(0), "{text:?}");
    let (text, _) = on_terminal(command(&["search", "sensor", "--color", "never"]), 80, "");
    assert!(!text.contains('\u{1b}'), "{text:?}");

    // However narrow it is.
    for arguments in [
        &["search", "sensor", "--context", "--explain", "--quiet"][..],
        &["related", NOTE, "--quiet"],
        &["search", "潮汐", "--quiet"],
        &["status"],
        &["explain", NOTE],
        &["plan", NOTE],
        &["jobs"],
        &["sync", "--wait"],
        &["config", "show"],
        &["--help"],
    ] {
        let mut narrow = command(arguments);
        narrow.env("NO_COLOR", "1").env("COLUMNS", "20");
        let (text, code) = on_terminal(narrow, 20, "");
        assert!(matches!(code, Some(0 | 1)) && !text.contains("panicked"), "{arguments:?}: {text}");
        if arguments.contains(&"--quiet") {
            for line in text.lines() {
                assert!(line.width() <= 20, "{arguments:?}: {line:?} is wider than the terminal");
            }
        }
    }

    // Somebody can be asked here.
    let before = daemon.jobs().len();
    let (text, code) = on_terminal(command(&["rebuild", "Notes"]), 80, "n\n");
    assert!(text.contains("Go on? [y/N]") && text.contains("nothing was done") && code == Some(0), "{text}");
    assert_eq!(daemon.jobs().len(), before);
    let (text, code) = on_terminal(command(&["rebuild", "Notes"]), 80, "y\n");
    assert!(text.contains("rebuild of") && code == Some(0), "{text}");
    assert_eq!(daemon.jobs().len(), before + 1);
    // JSON is for people there, and as harmless.
    let (text, _) = on_terminal(command(&["status", "--json"]), 80, "");
    assert!(text.contains("\n  \"schema\": 1"), "{text}");
}
