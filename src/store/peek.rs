//! What a journal of contexts holds, read beside the process that has the store open. Nothing is locked or written: the
//! journal only grows, and a frame that is being written just now is passed over.

use std::collections::HashMap;
use std::fs::TryLockError;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use platform::files::{Private as _, open_at_once};

use super::journal::{HEAD, scan};
use super::salvage::Fault;
use super::tree::Trees;
use super::v1::Entry;
use super::{JOURNAL, LOCK, StoreError, codec};
use context::ContextRecord;
use note::fingerprint::ContextKey;

/// The state of a store's files, read beside the process that has the store open. Nothing is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Entries of the journal, and damaged stretches in it; or why it cannot be read.
    pub journal: Option<Result<(u64, u64), String>>,
    /// Databases that were moved aside, newest last.
    pub moved_aside: Vec<PathBuf>,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Reads a file; does not block on a pipe in its place.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, mut bytes) = (open_at_once(path)?, Vec::new());
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a process has a store open in `dir`, or in a folder below it.
pub fn is_in_use(dir: &Path) -> bool {
    let is_locked = |path: &Path| {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(path);
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    };
    std::fs::read_dir(dir).into_iter().flatten().flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => is_in_use(&entry.path()),
        Ok(_) => entry.file_name() == LOCK && is_locked(&entry.path()),
        Err(_) => false,
    })
}

/// Looks at the store in `dir`.
pub fn look(dir: &Path) -> Looked {
    let journal = match read(&dir.join(JOURNAL)) {
        Ok(bytes) => {
            let frames = scan(&bytes);
            Some(Ok((frames.whole.len() as u64, frames.damaged)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(error.to_string())),
    };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_aside = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".damaged-"));
    let mut moved_aside: Vec<PathBuf> = entries.filter(is_aside).collect();
    moved_aside.sort();
    Looked { journal, moved_aside, bytes: super::bytes_in(dir) }
}

/// Opens and scans a copy of the database of a store that nobody has open; the notes in it, or what is wrong.
/// `None` if there is none, or more than `most` bytes of it.
///
/// # Errors
/// What is wrong: with the database, or with copying it.
pub fn rehearse(dir: &Path, most: u64) -> Option<Result<u64, String>> {
    let original = dir.join(super::compact::SLED);
    if !original.is_dir() || super::bytes_in(&original) > most {
        return None;
    }
    let copy = std::env::temp_dir().join(format!("situated-doctor-{}", std::process::id()));
    let made =
        std::fs::DirBuilder::new().private().create(&copy).and_then(|()| copy_files(&original, &copy.join("db")));
    let looked = made.map_err(|error| format!("it cannot be copied to {}: {error}", copy.display())).and_then(|()| {
        let expected = std::fs::File::open(dir.join(LOCK)).map_or(0, |lock| super::mark::read(&lock));
        match Trees::open_scanned(&copy.join("db"), expected, |_, _| true, &|| true, &mut drop) {
            Ok((_, scan)) => Ok(scan.notes),
            Err(Fault::Damaged(why)) => Err(why),
            Err(fault) => Err(format!("{fault:?}")),
        }
    });
    // What is left of it in a temporary folder does no harm.
    let _ = std::fs::remove_dir_all(&copy);
    Some(looked)
}

fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_files(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The contexts in the journal of a store's folder under each of their keys, the oldest first; none if there is no
/// journal. What cannot be read is passed over.
pub fn journaled(dir: &Path) -> Result<Vec<(ContextKey, ContextRecord)>, StoreError> {
    let path = dir.join(JOURNAL);
    let bytes = match read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io(&path, &error)),
    };
    let mut by_id: HashMap<[u8; 16], ContextRecord> = HashMap::new();
    let mut found = Vec::new();
    for (offset, length) in scan(&bytes).whole {
        match codec::decode_entry(&bytes[offset + HEAD..offset + length]) {
            Ok(Entry::Context { keys, record }) => {
                if let Ok(context) = codec::decode_context(&record) {
                    found.extend(keys.into_iter().map(|key| (key, context.clone())));
                    by_id.insert(codec::id(&record), context);
                }
            }
            Ok(Entry::Alias { key, of }) => {
                if let Some(context) = by_id.get(&of) {
                    found.push((key, context.clone()));
                }
            }
            Ok(Entry::Held { .. } | Entry::Moved { .. } | Entry::Removed { .. } | Entry::Expansion { .. }) | Err(_) => {
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
