//! Where the daemon's log is, and its lines: the journal where this user may read it, else the daemon's own file.
//!
//! A user can read a journal of their own only where the journal is kept on disk; the daemon asks the same question
//! ([`journal_is_readable`]) and writes its file where the answer is no, so one of the two always has the lines.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use platform::files::FileId;
use serde_json::{Map, Value};

use super::host::{self, Places};
use super::logfile;
use super::unit::SERVICE;

/// Prefix of the names of our fields in the journal.
pub const FIELDS: &str = "SITUATED";

/// Enough of a file's end for any number of lines that one reads.
const TAIL_BYTES: u64 = 1 << 20;

/// How often a followed file is checked.
const LOOK: Duration = Duration::from_millis(250);

/// Where the lines are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPlace {
    /// The journal of this user.
    Journal,
    /// A file.
    File(PathBuf),
}

/// Whether standard error goes to the journal: then entries can have fields, not only a line.
pub fn stderr_is_journal() -> bool {
    let Some(named) = std::env::var_os("JOURNAL_STREAM") else { return false };
    // A child may have inherited the variable and have another standard error.
    stderr_id().is_some_and(|id| named.to_str() == Some(&id))
}

/// Device and inode of standard error, as systemd writes them.
fn stderr_id() -> Option<String> {
    #[cfg(unix)]
    return rustix::fs::fstat(io::stderr()).ok().map(|meta| format!("{}:{}", meta.st_dev, meta.st_ino));
    #[cfg(windows)]
    None
}

/// Whether the journal is kept on disk, which gives each user one of their own.
pub fn journal_is_readable() -> bool {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let machine = machine.trim();
    !machine.is_empty() && Path::new("/var/log/journal").join(machine).is_dir()
}

/// Where the service's log is; `None` if there is none yet.
pub fn find(places: &Places, data_dir: &Path) -> Option<LogPlace> {
    if places.has("journalctl") {
        let ran = host::run(journal(places).args(["--lines=1"]));
        if ran.is_ok_and(|ran| ran.is_ok() && !ran.out.trim().is_empty()) {
            return Some(LogPlace::Journal);
        }
    }
    Some(logfile::path(data_dir)).filter(|path| path.is_file()).map(LogPlace::File)
}

fn journal(places: &Places) -> Command {
    let mut command = places.command("journalctl");
    command.args(["--user", "--no-pager", "--quiet", "--output=json", "--unit", SERVICE]);
    command
}

/// The last lines.
pub fn last(places: &Places, place: &LogPlace, lines: usize) -> io::Result<Vec<String>> {
    match place {
        LogPlace::Journal => {
            let mut found = Vec::new();
            entries(journal(places).arg(format!("--lines={lines}")), &mut |line| {
                found.push(line.to_owned());
                true
            })?;
            Ok(found)
        }
        LogPlace::File(path) => {
            let mut found = tail(path)?;
            if found.len() < lines
                && let Ok(mut before) = tail(&logfile::aside(path))
            {
                before.append(&mut found);
                found = before;
            }
            Ok(found.split_off(found.len().saturating_sub(lines)))
        }
    }
}

/// The last lines since a time, in seconds since 1970: what was said in one attempt to start.
pub fn since(places: &Places, data_dir: &Path, time: i64, lines: usize) -> Vec<String> {
    if places.has("journalctl") {
        let mut command = journal(places);
        command.arg(format!("--since=@{time}")).arg(format!("--lines={lines}"));
        let said: Vec<String> =
            host::run(&mut command).map(|ran| ran.out.lines().filter_map(entry).collect()).unwrap_or_default();
        if !said.is_empty() {
            return said;
        }
    }
    let from = jiff::Timestamp::from_second(time).map_or(String::new(), |time| time.to_string());
    let mut found = tail(&logfile::path(data_dir)).unwrap_or_default();
    // Lines begin with their time, in a form that sorts; what does not belongs to the line before.
    found.retain(|line| !line.starts_with(|c: char| c.is_ascii_digit()) || line.as_str() >= from.trim_end_matches('Z'));
    found.split_off(found.len().saturating_sub(lines))
}

fn tail(path: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let cut = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(cut))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().skip(usize::from(cut > 0)).map(str::to_owned).collect())
}

/// Gives lines to `on_line` as they come, until it returns `false`.
pub fn follow(places: &Places, place: &LogPlace, on_line: &mut dyn FnMut(&str) -> bool) -> io::Result<()> {
    match place {
        LogPlace::Journal => entries(journal(places).args(["--follow", "--lines=0"]), on_line),
        LogPlace::File(path) => follow_file(path, on_line),
    }
}

/// Gives the lines of the entries that `command` shows to `on_line` as they come, however many there are, until it
/// returns `false`.
fn entries(command: &mut Command, on_line: &mut dyn FnMut(&str) -> bool) -> io::Result<()> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let Some(out) = child.stdout.take() else { return Ok(()) };
    for line in BufReader::new(out).lines() {
        if entry(&line?).is_some_and(|line| !on_line(&line)) {
            break;
        }
    }
    let _ = child.kill();
    child.wait().map(drop)
}

fn follow_file(path: &Path, on_line: &mut dyn FnMut(&str) -> bool) -> io::Result<()> {
    let mut reader = BufReader::new(File::open(path)?);
    reader.seek(SeekFrom::End(0))?;
    let mut line = Vec::new();
    // The file that was begun when this one was rotated: it is read once this one's end has been.
    let mut next = None;
    loop {
        let read = reader.read_until(b'\n', &mut line)?;
        if line.last() == Some(&b'\n') || read == 0 && next.is_some() && !line.is_empty() {
            if !on_line(String::from_utf8_lossy(&line).trim_end()) {
                return Ok(());
            }
            line.clear();
        }
        if read > 0 {
            continue;
        }
        if let Some(next) = next.take() {
            reader = BufReader::new(next);
            continue;
        }
        std::thread::sleep(LOOK);
        let current = FileId::of(reader.get_ref())?;
        if FileId::at(path).is_ok_and(|now| now != current) {
            next = Some(File::open(path)?);
        }
    }
}

/// A line of an entry of the journal, which has fields: `2026-11-21 12:03:44 WARN message path=a.md`.
fn entry(json: &str) -> Option<String> {
    let entry: Map<String, Value> = serde_json::from_str(json).ok()?;
    let text = |key: &str| entry.get(key).map(value).unwrap_or_default();
    let micros: i64 = text("__REALTIME_TIMESTAMP").parse().ok()?;
    let time = jiff::Timestamp::from_microsecond(micros).ok()?.to_zoned(jiff::tz::TimeZone::system());
    let level = match text("PRIORITY").as_str() {
        "0" | "1" | "2" | "3" => "ERROR ",
        "4" => "WARN ",
        "7" => "DEBUG ",
        _ => "",
    };
    let mut line = format!("{} {level}{}", time.strftime("%Y-%m-%d %H:%M:%S"), text("MESSAGE"));
    let prefix = format!("{FIELDS}_");
    for (name, field) in &entry {
        if let Some(name) = name.strip_prefix(&prefix) {
            line.push_str(&format!(" {}={}", name.to_lowercase(), value(field)));
        }
    }
    Some(line)
}

/// The text of a field; the journal gives what is not text as a list of bytes.
fn value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(bytes) => {
            let bytes: Vec<u8> =
                bytes.iter().filter_map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
