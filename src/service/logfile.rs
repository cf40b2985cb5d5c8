//! A log of the daemon's own, for where no journal keeps what it says: two files of bounded length, for this user alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use platform::files::{AtOnce as _, Private as _};

/// A file is put aside when it would grow over this; one such is kept.
const MOST: u64 = 5 << 20;

/// The log in a data folder.
pub fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("daemon.log")
}

/// The one that was put aside.
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
    /// Nothing is written before this is there.
    after: Option<PathBuf>,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    length: u64,
}

impl LogFile {
    /// The one in a data folder: it begins when a daemon has the folder, and makes none. What is configured may be no
    /// data folder at all, or lie in a vault.
    pub fn in_data(data_dir: &Path) -> LogFile {
        LogFile { most: MOST, state: Mutex::new(State { path: path(data_dir), after: lock(data_dir), open: None }) }
    }

    /// The data folder is `data_dir` now, which it was not when the log began. One that was named is not of that folder.
    pub fn data_are_in(&self, data_dir: &Path) {
        let mut state = self.state.lock();
        if state.after.is_some() {
            (state.path, state.after) = (path(data_dir), lock(data_dir));
        }
    }

    /// Opens it to append, and makes it if need be; its folder too.
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

/// What is in a data folder once a daemon has it.
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
            // What cannot be put aside goes on growing rather than being lost.
            if fs::rename(&path, aside(path)).is_ok() {
                *open = append(path)?;
            }
        }
        // A line at once: two daemons, one of which is refused, may write for a moment.
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
