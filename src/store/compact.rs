//! Gives disk space back. sled's file never shrinks: it only reuses freed segments.
//!
//! The database is copied into `sled.new` and read back, then the names are swapped: `sled` becomes `sled.old`,
//! `sled.new` becomes `sled`, and `sled.old` is removed once the new one has opened under its name. A crash leaves one
//! of three states, and [`settle`] knows them all: no `sled` but a `sled.old` (the swap was interrupted: the old one is
//! put back), both (the old one is removed after a good scan, or replaces a damaged `sled`), and a `sled.new` that
//! nobody needs.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::encoded::EncodedNotes;
use super::salvage::{self, Fault};
use super::tree::Trees;
use super::{StoreError, bytes_in, journal, mark, vectors};
use index::embed::input::hash_without_context;
use note::fingerprint::InputHash;

pub(super) const SLED: &str = "sled";
pub(super) const OLD: &str = "sled.old";
const NEW: &str = "sled.new";

/// What compacting gained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactReport {
    /// Bytes on disk before, including what opening the database adds: up to a megabyte, which a daemon that starts
    /// adds too.
    pub before: u64,
    /// Bytes on disk after.
    pub after: u64,
}

/// Rewrites the store in `dir` without what is no longer needed. No other process may have it open
/// ([`StoreError::Locked`]). Contexts are never dropped. Of the vectors that no note names any more, the newest stay,
/// up to twice the number of those in use. A damaged store is left as it is: the next start repairs it.
pub fn compact(dir: &Path) -> Result<CompactReport, StoreError> {
    if !dir.is_dir() {
        return Err(StoreError::Io { path: dir.into(), message: "there is no store here".into() });
    }
    let lock = mark::lock(dir)?;
    let before = bytes_in(dir);
    settle(dir)?;
    let (live, taken) = compact_sled(dir, mark::read(&lock))?;
    journal::compact(&dir.join(super::JOURNAL))?;
    vectors::compact(dir, &live)?;
    Ok(CompactReport { before: before + taken, after: bytes_in(dir) })
}

/// An input, and the input of its text without the context.
pub(super) fn with_text_alone(input: InputHash) -> [InputHash; 2] {
    [input, hash_without_context(input)]
}

/// The inputs that notes name, and the bytes that opening the database added.
fn compact_sled(dir: &Path, on_disk: u64) -> Result<(HashSet<InputHash>, u64), StoreError> {
    let sled = dir.join(SLED);
    if !sled.exists() {
        return Ok((HashSet::new(), 0));
    }
    let closed = bytes_in(&sled);
    let at = |fault: Fault| fault.at(&sled);
    let mut live = HashSet::new();
    let mut name = |notes: EncodedNotes| {
        let chunks = notes.decoded().flat_map(|note| note.chunks);
        live.extend(chunks.flat_map(|chunk| chunk.inputs).flat_map(with_text_alone));
    };
    // Every paid context counts as known, because nothing here needs the unknown ones.
    let (trees, _) = Trees::open_scanned(&sled, on_disk, |_, _| true, &|| true, &mut name).map_err(at)?;
    let opened = bytes_in(&sled);
    copy(dir, &trees)?;
    drop(trees);
    // A new copy of a small database is a little larger than the original, which is then as compact as it gets.
    if bytes_in(&dir.join(NEW)) >= opened {
        settle(dir)?;
    } else {
        swap(dir)?;
    }
    Ok((live, opened.saturating_sub(closed)))
}

/// Copies an open database, which nobody may change meanwhile, and reads the copy back.
pub(super) fn copy(dir: &Path, trees: &Trees) -> Result<(), StoreError> {
    let new = dir.join(NEW);
    let copied = trees.copy_to(&new).and_then(|()| {
        let differs = || Fault::Environment("the copy is not like the original".into());
        if trees.holds_the_same_as(&Trees::open(&new)?)? { Ok(()) } else { Err(differs()) }
    });
    copied.map_err(|fault| {
        // The original was only read. A partial copy must not take the space that compacting is to free.
        let _ = fs::remove_dir_all(&new);
        fault.at(&new)
    })
}

/// Puts the copy of a closed database in its place, and returns the copy, opened there. If it does not open, the
/// database is back where it was.
pub(super) fn swap(dir: &Path) -> Result<Trees, StoreError> {
    let (sled, new, old) = (dir.join(SLED), dir.join(NEW), dir.join(OLD));
    let rename = |from: &Path, to: &Path| fs::rename(from, to).map_err(|e| StoreError::io(from, &e));
    rename(&sled, &old)?;
    if let Err(error) = rename(&new, &sled) {
        rename(&old, &sled)?;
        return Err(error);
    }
    salvage::sync_dir(dir)?;
    match Trees::open(&sled) {
        Ok(trees) => {
            remove_old(dir)?;
            Ok(trees)
        }
        Err(fault) => {
            rename(&sled, &new)?;
            rename(&old, &sled)?;
            Err(fault.at(&new))
        }
    }
}

/// Finishes or undoes an interrupted compaction, as far as that is possible without reading the data.
pub(super) fn settle(dir: &Path) -> Result<(), StoreError> {
    let (sled, new, old) = (dir.join(SLED), dir.join(NEW), dir.join(OLD));
    if !sled.exists() && old.exists() {
        fs::rename(&old, &sled).map_err(|error| StoreError::io(&old, &error))?;
        salvage::sync_dir(dir)?;
    }
    if new.exists() {
        fs::remove_dir_all(&new).map_err(|error| StoreError::io(&new, &error))?;
    }
    Ok(())
}

/// Removes the database from before a compaction, once the new one is known to be good.
pub(super) fn remove_old(dir: &Path) -> Result<(), StoreError> {
    let old = dir.join(OLD);
    if old.exists() {
        fs::remove_dir_all(&old).map_err(|error| StoreError::io(&old, &error))?;
    }
    Ok(())
}
