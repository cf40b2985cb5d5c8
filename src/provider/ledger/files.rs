//! The ledger's files: one per month, read once, appended to.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use jiff::Zoned;
use platform::files::{Private as _, sync_folder};

use super::LedgerError;
use super::line::{self, Line, Stamped, month_of};

/// Longest line that is read, in bytes; a path has a few thousand at most.
const LONGEST_LINE: u64 = 64 << 10;

/// Months that are read at the start: a reservation is of one of them, unless the clock jumped.
const AT_START: usize = 2;

/// The folder, and what was written last.
#[derive(Debug)]
pub(super) struct Files {
    /// `None` if nothing is written to disk.
    dir: Option<PathBuf>,
    /// The number of the next reservation.
    pub(super) next: u64,
    /// The newest months when the folder was first listed.
    newest: Option<Vec<String>>,
    /// The file that was written last, by month.
    open: Option<(String, File)>,
}

impl Files {
    /// In a folder, which need not exist; without one nothing is written down.
    pub(super) fn new(dir: Option<&Path>) -> Self {
        Files { dir: dir.map(Path::to_path_buf), next: 1, newest: None, open: None }
    }

    /// The months to be read at the start, newest first.
    pub(super) fn newest(&mut self) -> Result<Vec<String>, LedgerError> {
        if self.newest.is_none() {
            let mut months = self.months()?;
            months.sort_unstable_by(|a, b| b.cmp(a));
            months.truncate(AT_START);
            self.newest = Some(months);
        }
        Ok(self.newest.clone().unwrap_or_default())
    }

    /// The months that have a file.
    fn months(&self) -> Result<Vec<String>, LedgerError> {
        let Some(dir) = &self.dir else { return Ok(Vec::new()) };
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(LedgerError::new(dir, error)),
        };
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        let month = |name: String| name.strip_suffix(".jsonl").filter(|month| is_month(month)).map(str::to_owned);
        Ok(entries.flatten().filter_map(name).filter_map(month).collect())
    }

    /// The file of a month.
    pub(super) fn path_of(&self, month: &str) -> Option<PathBuf> {
        self.dir.as_deref().map(|dir| file_of(dir, month))
    }

    /// The lines of a month, and how many more cannot be read; none if the month has no file.
    pub(super) fn read(&mut self, month: &str) -> Result<(Vec<Line>, u64), LedgerError> {
        let mut lines = Vec::new();
        let mut damaged = 0;
        self.each_line(month, |bytes| match line::parse(bytes, month) {
            Some(line) => lines.push(line),
            None if bytes.trim_ascii().is_empty() => {}
            None => damaged += 1,
        })?;
        let highest = lines.iter().map(Line::id).max().unwrap_or(0);
        self.next = self.next.max(highest.saturating_add(1));
        Ok((lines, damaged))
    }

    /// Passes the lines of a month, as they are, to `each`.
    pub(super) fn each_line(&self, month: &str, mut each: impl FnMut(&[u8])) -> Result<(), LedgerError> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let path = file_of(dir, month);
        let fail = |error: std::io::Error| LedgerError::new(&path, error);
        match fs::metadata(&path) {
            // Opening a pipe would wait for whoever writes to it.
            Ok(metadata) if !metadata.is_file() => return Err(LedgerError::new(&path, "it is no file")),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(fail(error)),
        }
        let mut file = BufReader::new(File::open(&path).map_err(fail)?);
        while let Some(line) = next_line(&mut file).map_err(fail)? {
            each(&line);
        }
        Ok(())
    }

    /// Appends lines, all of one month, to the file of that month. If `durable`, they are on the disk when this
    /// returns.
    pub(super) fn append(&mut self, lines: &[Line], now: &Zoned, durable: bool) -> Result<(), LedgerError> {
        let (Some(first), Some(dir)) = (lines.first(), &self.dir) else { return Ok(()) };
        let month = first.month();
        let path = file_of(dir, &month);
        let fail = |error: std::io::Error| LedgerError::new(&path, error);
        let mut bytes = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut bytes, &Stamped { at: line::stamp(now), line })
                .map_err(|error| LedgerError::new(&path, error))?;
            bytes.push(b'\n');
        }
        let mut file = match self.open.take() {
            Some((open, file)) if open == month => file,
            _ => append_to(dir, &path)?,
        };
        // After a failure the next call opens the file anew, and then checks how it ends.
        file.write_all(&bytes).map_err(fail)?;
        machine::wrote(&path);
        if durable {
            file.sync_data().map_err(fail)?;
            machine::synced(&path);
        }
        self.open = Some((month, file));
        Ok(())
    }
}

fn file_of(dir: &Path, month: &str) -> PathBuf {
    dir.join(format!("{month}.jsonl"))
}

/// Opens or creates a file to append to. A torn last line gets its end, so that the next line stands alone.
fn append_to(dir: &Path, path: &Path) -> Result<File, LedgerError> {
    let fail = |error: std::io::Error| LedgerError::new(path, error);
    if !path.exists() {
        DirBuilder::new().recursive(true).private().create(dir).map_err(fail)?;
        dir.parent().map_or(Ok(()), sync_folder).map_err(fail)?;
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).private().open(path).map_err(fail)?;
    let length = file.seek(SeekFrom::End(0)).map_err(fail)?;
    if length == 0 {
        sync_folder(dir).map_err(fail)?;
        return Ok(file);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(fail)?;
    if last != *b"\n" {
        file.write_all(b"\n").map_err(fail)?;
    }
    Ok(file)
}

/// `2026-11`.
fn is_month(text: &str) -> bool {
    format!("{text}-01").parse::<jiff::civil::Date>().is_ok_and(|day| month_of(day) == text)
}

/// The next line, with its newline. Of a line that is too long it is only the beginning, which cannot be read as a line
/// of ours.
fn next_line(input: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') && line.len() as u64 == LONGEST_LINE {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}
