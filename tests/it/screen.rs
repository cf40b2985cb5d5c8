//! What a program shows on a terminal: just enough of one for what the live search sends, and a run of that on a real
//! terminal.
#![cfg(all(target_os = "linux", feature = "tui"))]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use unicode_width::UnicodeWidthChar as _;

use crate::support::{PATIENCE, Place, eventually};
use crate::terminal::terminal;

/// How a character looks. Colours are numbers of the palette of 256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colour: Option<u8>,
    pub(crate) ground: Option<u8>,
    pub(crate) bold: bool,
    pub(crate) dim: bool,
}

/// A character and its look; what a wide one covers behind it is `None`.
pub(crate) type Cell = Option<(char, Style)>;

/// What a terminal would show: just enough of one for what the live search sends.
#[derive(Default)]
struct Shown {
    cells: Vec<Vec<Cell>>,
    at: (usize, usize),
    style: Style,
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
            b'm' => self.style(parameters),
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
                    self.cells[y].resize(x + width, Some((' ', Style::default())));
                }
                self.cells[y][x..x + width].fill(None);
                self.cells[y][x] = Some((c, self.style));
                self.at.1 = x + width;
            }
        }
    }

    /// Takes over what "select graphic rendition" says.
    fn style(&mut self, parameters: &str) {
        let mut numbers = parameters.split(';').map(|number| number.parse().unwrap_or(0_u8));
        while let Some(number) = numbers.next() {
            match number {
                0 => self.style = Style::default(),
                1 => self.style.bold = true,
                2 => self.style.dim = true,
                22 => (self.style.bold, self.style.dim) = (false, false),
                30..=37 => self.style.colour = Some(number - 30),
                39 => self.style.colour = None,
                40..=47 => self.style.ground = Some(number - 40),
                49 => self.style.ground = None,
                38 | 48 => {
                    let colour = numbers.next().filter(|kind| *kind == 5).and_then(|_| numbers.next());
                    *(if number == 38 { &mut self.style.colour } else { &mut self.style.ground }) = colour;
                }
                _ => {}
            }
        }
    }

    fn text(&self) -> String {
        let line = |line: &Vec<Cell>| line.iter().flatten().map(|(c, _)| c).collect::<String>();
        self.cells.iter().map(|cells| line(cells).trim_end().to_owned() + "\n").collect()
    }
}

/// The program on a terminal.
pub(crate) struct Live {
    child: Child,
    keyboard: File,
    /// Kept open, so that the terminal outlives the program.
    pub(crate) end: File,
    shown: Arc<Mutex<Shown>>,
}

impl Live {
    pub(crate) fn start(place: &Place, columns: u16, rows: u16, environment: &[(&str, &str)]) -> Self {
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

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// The cells of the screen, line by line.
    pub(crate) fn cells(&self) -> Vec<Vec<Cell>> {
        self.shown.lock().unwrap().cells.clone()
    }

    pub(crate) fn screen(&self) -> String {
        self.shown.lock().unwrap().text()
    }

    pub(crate) fn all(&self) -> String {
        self.shown.lock().unwrap().all.clone()
    }

    pub(crate) fn wait(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
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
    pub(crate) fn is_cooked(&self) -> bool {
        tcgetattr(&self.end).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits for the end; the terminal must be as it was.
    pub(crate) fn ended(&mut self) -> Option<i32> {
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

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id() as i32).unwrap(), signal).unwrap();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
