//! The daemon's own log, for where no journal keeps its output: two files of bounded length that only this user can
//! read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use platform::files::{AtOnce as _, Private as _};

/// A file that would grow over this is rotated; one rotated file is kept.
const MOST: u64 = 5 << 20;

/// The log in a data folder.
pub fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("daemon.log")
}

/// The path of the rotated file.
pub fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// A log that bounds itself.
#[derive(Debug)]
pub struct LogFile {
    most: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    path: PathBuf,
    /// Nothing is written before this file exists.
    after: Option<PathBuf>,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    length: u64,
}

impl LogFile {
    /// The log in a data folder. It begins when a daemon has the folder, and does not create the folder: the configured
    /// path may not be a data folder at all, or may be in a vault.
    pub fn in_data(data_dir: &Path) -> LogFile {
        LogFile { most: MOST, state: Mutex::new(State { path: path(data_dir), after: lock(data_dir), open: None }) }
    }

    /// Sets the data folder, if it has changed since the log began. A log that was opened by its path stays there.
    pub fn data_are_in(&self, data_dir: &Path) {
        let mut state = self.state.lock();
        if state.after.is_some() {
            (state.path, state.after) = (path(data_dir), lock(data_dir));
        }
    }

    /// Opens a log to append to it, and creates it and its folder if needed.
    pub fn open(path: &Path) -> io::Result<LogFile> {
        LogFile::bounded(path, MOST)
    }

    fn bounded(path: &Path, most: u64) -> io::Result<LogFile> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::DirBuilder::new().recursive(true).private().create(folder)?;
        }
        let state = State { path: path.to_owned(), after: None, open: Some(append(path)?) };
        Ok(LogFile { most, state: Mutex::new(state) })
    }
}

/// The lock file, which is in a data folder once a daemon has it.
fn lock(data_dir: &Path) -> Option<PathBuf> {
    Some(data_dir.join(protocol::locate::LOCK))
}

fn append(path: &Path) -> io::Result<Open> {
    let file = OpenOptions::new().append(true).create(true).private().at_once().open(path)?;
    let length = file.metadata()?.len();
    Ok(Open { file, length })
}

impl Write for &LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        let State { path, after, open } = &mut *state;
        if open.is_none() && after.as_ref().is_none_or(|after| after.is_file()) {
            *open = Some(append(path)?);
        }
        let Some(open) = open.as_mut() else { return Ok(bytes.len()) };
        if open.length > 0 && open.length + bytes.len() as u64 > self.most {
            // A file that cannot be rotated goes on growing, so that nothing is lost.
            if fs::rename(&path, aside(path)).is_ok() {
                *open = append(path)?;
            }
        }
        // One write per line: two daemons, one of which is refused, may write at the same time for a moment.
        open.file.write_all(bytes)?;
        open.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
