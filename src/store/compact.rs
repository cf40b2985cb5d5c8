//! Giving space back. sled's file never shrinks: freed segments are only used again.
//!
//! The database is copied into `sled.new` and read back, then the names are swapped: `sled` becomes
//! `sled.old`, `sled.new` becomes `sled`, and `sled.old` goes once the new one opened under its name. A crash leaves one of three states, and [`settle`] knows them all: no `sled` but a `sled.old` (the
//! swap was cut in half: the old one is put back), both (the old one goes after a good scan, or stands in
//! for a damaged one), and a `sled.new` that nobody waits for.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::salvage::{self, Fault};
use super::tree::{Scan, Trees};
use super::{StoreError, bytes_in, journal, lock, mark, vectors};
use index::embed::input::hash_without_context;
use note::fingerprint::InputHash;

pub(super) const SLED: &str = "sled";
pub(super) const OLD: &str = "sled.old";
const NEW: &str = "sled.new";

/// What compacting gained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactReport {
    /// Bytes on disk before, with what the database takes when it is opened: up to a megabyte, which a daemon that
    /// starts takes too.
    pub before: u64,
    /// Bytes on disk after.
    pub after: u64,
}

/// Rewrites the store in `dir` without what is no longer needed. No other process may have it open
/// ([`StoreError::Locked`]). Contexts are never dropped; of vectors that no note names any more, the oldest
/// go beyond twice the number of those in use. A damaged store is left as it is, for a start to mend.
pub fn compact(dir: &Path) -> Result<CompactReport, StoreError> {
    if !dir.is_dir() {
        return Err(StoreError::Io { path: dir.into(), message: "there is no store here".into() });
    }
    let lock = lock(dir)?;
    let before = bytes_in(dir);
    settle(dir)?;
    let (live, taken) = compact_sled(dir, mark::read(&lock))?;
    journal::compact(&dir.join(super::JOURNAL))?;
    vectors::compact(dir, &live)?;
    Ok(CompactReport { before: before + taken, after: bytes_in(dir) })
}

/// An input, and that of its text without the context.
pub(super) fn with_text_alone(input: InputHash) -> [InputHash; 2] {
    [input, hash_without_context(input)]
}

/// The vectors that notes name, and the bytes that the database took when it was opened.
fn compact_sled(dir: &Path, on_disk: u64) -> Result<(HashSet<InputHash>, u64), StoreError> {
    let sled = dir.join(SLED);
    if !sled.exists() {
        return Ok((HashSet::new(), 0));
    }
    let closed = bytes_in(&sled);
    let at = |fault: Fault| fault.at(&sled);
    let (trees, scan) = open(&sled).map_err(at)?;
    let opened = bytes_in(&sled);
    if scan.counters.seq < on_disk {
        return Err(at(Fault::Damaged("changes that had been on the disk are missing".into())));
    }
    copy(dir, &trees)?;
    drop(trees);
    let mut live = HashSet::new();
    for note in scan.notes.decoded() {
        let note = note.map_err(|damage| at(damage.into()))?;
        live.extend(note.chunks.into_iter().flat_map(|chunk| chunk.inputs).flat_map(with_text_alone));
    }
    // A small database is a little larger when it is new: then the one that is there is as compact as it gets.
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
        // The original was only read. A half copy must not take the space that was to be gained.
        let _ = fs::remove_dir_all(&new);
        fault.at(&new)
    })
}

/// Puts the copy of a database, which is closed, in its place; the copy, opened there. If it does not open, the database
/// is where it was.
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

/// Opens and scans; every paid context counts as known, for none is looked up here.
fn open(path: &Path) -> Result<(Trees, Scan), Fault> {
    Trees::open_scanned(path, |_, _| true, &|| true)
}

/// Brings a compaction that was cut short to an end, as far as that needs no look at the data.
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

/// Removes the database from before a compaction, now that the one after it is known to be good.
pub(super) fn remove_old(dir: &Path) -> Result<(), StoreError> {
    let old = dir.join(OLD);
    if old.exists() {
        fs::remove_dir_all(&old).map_err(|error| StoreError::io(&old, &error))?;
    }
    Ok(())
}
