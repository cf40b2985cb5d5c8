//! A log of the daemon's own, for where no journal keeps what it says: two files of bounded length, for this user alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

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
    path: PathBuf,
    most: u64,
    /// Nothing is written before this is there.
    after: Option<PathBuf>,
    open: Mutex<Option<Open>>,
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
        let after = Some(data_dir.join("lock"));
        LogFile { path: path(data_dir), most: MOST, after, open: Mutex::new(None) }
    }

    /// Opens it to append, and makes it if need be; its folder too.
    pub fn open(path: &Path) -> io::Result<LogFile> {
        LogFile::bounded(path, MOST)
    }

    fn bounded(path: &Path, most: u64) -> io::Result<LogFile> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            use std::os::unix::fs::DirBuilderExt as _;
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        Ok(LogFile { path: path.to_owned(), most, after: None, open: Mutex::new(Some(append(path)?)) })
    }
}

fn append(path: &Path) -> io::Result<Open> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let length = file.metadata()?.len();
    Ok(Open { file, length })
}

impl Write for &LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut open = self.open.lock();
        if open.is_none() && self.after.as_ref().is_none_or(|after| after.is_file()) {
            *open = Some(append(&self.path)?);
        }
        let Some(open) = open.as_mut() else { return Ok(bytes.len()) };
        if open.length > 0 && open.length + bytes.len() as u64 > self.most {
            // What cannot be put aside goes on growing rather than being lost.
            if fs::rename(&self.path, aside(&self.path)).is_ok() {
                *open = append(&self.path)?;
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
