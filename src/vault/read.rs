//! Reading one file of a vault, and nothing but a file of that vault.
//!
//! Links are never followed, neither the file's own nor one on the way to it. So a note has one place
//! (an event of a link's target names the target only, and a copy under the link's name would go
//! stale), and no name in a vault can make the program read what lies outside. The kernel checks this
//! while it opens the file: a check by name beforehand could be outrun.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as beneath;
#[cfg(windows)]
use windows as beneath;

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use platform::files::times;
use thiserror::Error;

use note::{FileStat, VaultPath};

/// Why a file was not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// It is not there (any more).
    #[error("it does not exist")]
    Gone,
    /// A folder, FIFO, socket or device.
    #[error("it is not a regular file")]
    NotAFile,
    /// It is a link or lies behind one, so it may be outside the vault.
    #[error("it is reached through a symbolic link, and links are not followed")]
    Outside,
    /// Its length in bytes, which is over the limit.
    #[error("it has {0} bytes, more than `max_note_bytes` (documents: 128 MiB)")]
    TooLarge(u64),
    /// What was read may be half old and half new.
    #[error("it changed while it was read")]
    ChangedWhileRead,
    /// No permission.
    #[error("permission denied")]
    Denied,
    /// Anything else the system said.
    #[error("{0}")]
    Io(String),
}

/// The bytes of a regular file of at most `max_bytes`, and its state, which was the same before and
/// after. Never blocks on a FIFO, and never leaves the vault.
pub fn read(root: &Path, path: &VaultPath, max_bytes: u64) -> Result<(Vec<u8>, FileStat), ReadError> {
    let (mut file, before) = open_regular(root, path)?;
    if before.size > max_bytes {
        return Err(ReadError::TooLarge(before.size));
    }
    let mut bytes = Vec::with_capacity(before.size as usize + 1);
    (&mut file).take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    let after = file_stat(&file.metadata()?);
    if after.size > max_bytes {
        return Err(ReadError::TooLarge(after.size));
    }
    if before != after || bytes.len() as u64 != after.size {
        return Err(ReadError::ChangedWhileRead);
    }
    Ok((bytes, after))
}

/// A regular file, opened for reading, and its state.
pub(super) fn open_regular(root: &Path, path: &VaultPath) -> Result<(File, FileStat), ReadError> {
    let file = beneath::open(root, path)?;
    let stat = regular(&file.metadata()?).ok_or(ReadError::NotAFile)?;
    Ok((file, stat))
}

/// The state of a regular file that [`read`] could reach, or why there is none. Only [`ReadError::Gone`] says that the
/// file is not there: other errors may come from a lack of descriptors or a server that does not answer.
pub fn file_state(root: &Path, path: &VaultPath) -> Result<FileStat, ReadError> {
    let file = beneath::open_to_look(root, path)?;
    regular(&file.metadata()?).ok_or(ReadError::NotAFile)
}

/// When a file of the vault was made, in nanoseconds since 1970 (UTC); `None` if the file system does not say, or the
/// file cannot be looked at.
pub fn born_ns(root: &Path, path: &VaultPath) -> Option<i64> {
    let made = beneath::open_to_look(root, path).ok()?.metadata().ok()?.created().ok()?;
    i64::try_from(made.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}

impl ReadError {
    /// Whether the note is no note any more, rather than out of reach for now.
    pub fn is_final(&self) -> bool {
        match self {
            ReadError::Gone | ReadError::NotAFile | ReadError::Outside | ReadError::TooLarge(_) => true,
            ReadError::ChangedWhileRead | ReadError::Denied | ReadError::Io(_) => false,
        }
    }
}

fn regular(meta: &Metadata) -> Option<FileStat> {
    meta.is_file().then(|| file_stat(meta))
}

/// What is kept of the metadata of a file.
pub(super) fn file_stat(meta: &Metadata) -> FileStat {
    let (mtime_ns, ctime_ns) = times(meta);
    let (dev, ino) = beneath::numbers(meta);
    FileStat { size: meta.len(), mtime_ns, ctime_ns, dev, ino }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        beneath::reason(&error).unwrap_or_else(|| ReadError::Io(error.to_string()))
    }
}

#[cfg(test)]
mod tests;
