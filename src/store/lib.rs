//! What survives a restart. The only place that names sled and bincode.
//!
//! A store is a folder: the database in `sled/` (notes, contexts, archive, counters), the journal of paid contexts in
//! `contexts.journal`, one `vectors-….bin` per embedder, and `store.lock`, held while the store is open. The vault is
//! the source of truth, and the database can be rebuilt from it; what cannot be rebuilt is in the journal. So a
//! database that does not open and scan is moved aside, never deleted, and [`Store::archived`] still finds every
//! context that was paid for.
//!
//! Invariants: a paid context is in the journal, on the disk, before any transaction names it; a note, its contexts,
//! what it archives and the sequence number change in one transaction or not at all; nothing here panics because of
//! what is on the disk.

mod cache;
mod codec;
mod compact;
mod damage;
mod database;
mod encoded;
mod exchange;
mod flush;
#[cfg(any(test, fuzzing))]
#[path = "../../tests/fuzz/bodies/store.rs"]
pub mod fuzz;
mod journal;
mod keep;
mod mark;
mod opening;
mod peek;
mod reclaim;
pub mod record;
mod salvage;
#[cfg(test)]
mod tests;
mod tree;
mod v1;
mod v2;
mod vectors;
mod version;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use platform::files::{FileId, bytes_on_disk};

use codec::Counters;
use context::ContextRecord;
use context::plan::Reason;
use database::Database;
use journal::{Journal, NoteEvent};
use note::fingerprint::{ContextKey, StructureHash, TextHash, context_key};
use note::{FileStat, VaultPath};
use reclaim::Reclaiming;
use record::NoteRecord;
use salvage::Fault;
use tree::{Trees, Writes};

pub use cache::VectorCache;
pub use compact::{CompactReport, compact};
pub use encoded::EncodedNotes;
pub use exchange::ImportReport;
pub use journal::Holder;
pub use keep::ArchivedAll;
pub use opening::{Opened, ReadInputs};
pub use peek::{Looked, is_in_use, journaled, look, rehearse};
pub use reclaim::Reclaimed;
pub use salvage::has_room;
pub use version::version;

const JOURNAL: &str = "contexts.journal";

const LOCK: &str = "store.lock";

/// The store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the store.
    #[error("the store {0} is in use by another process")]
    Locked(PathBuf),
    /// The store cannot be read or written.
    #[error("the store {path}: {message}{}", advice(message))]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What happened.
        message: String,
    },
    /// There is not enough memory to open the store: see [`Store::open_within`].
    #[error("the store does not fit into the memory that may be taken")]
    NoRoom,
    /// The database of a store that was opened without a scan is damaged; [`Store::open_within`] moves it aside.
    #[error("the store {0} is damaged ({1})")]
    Damaged(PathBuf, String),
}

/// Advice about a system error that the user can fix.
fn advice(message: &str) -> &'static str {
    match () {
        () if message.contains("(os error 13)") => {
            "; it has to be a file that this user may read and write, and no link out of the data folder"
        }
        () if message.contains("(os error 21)") => "; a folder stands where a file belongs: move it away",
        // sled passes it on in another form, too.
        () if message.contains("(os error 28)") || message.contains("kind: StorageFull") => {
            "; make room on the disk (`df` and `df -i` say what is used up)"
        }
        () => "",
    }
}

impl StoreError {
    /// The error for a file or folder of the store.
    fn io(path: &Path, error: &std::io::Error) -> Self {
        StoreError::Io { path: path.to_path_buf(), message: error.to_string() }
    }
}

/// A change to one note, applied as one transaction.
#[derive(Clone, Debug, Default)]
pub struct NoteWrite {
    /// The record and its chunks' contexts (same order and length), or `None` to remove the note.
    pub put: Option<(NoteRecord, Vec<ContextRecord>)>,
    /// Where the note was before, if it moved: that record is removed in the same transaction.
    pub moved_from: Option<VaultPath>,
    /// Contexts that no chunk holds any more: they go to the archive.
    pub archive: Vec<(ContextKey, ContextRecord)>,
}

/// One vault's store. Code changes what the mutexes guard only after every step that can fail, so a panic of a holder
/// leaves nothing half done.
pub struct Store {
    dir: PathBuf,
    database: Database,
    counters: Mutex<Counters>,
    journal: Journal,
    vectors: Mutex<Arc<VectorCache>>,
    /// Which notes had a section at a sequence number; made when a context is found whose note is unknown.
    by_section: Mutex<Option<(u64, Arc<keep::BySection>)>>,
    /// The sequence number that the database has to reach; checked when it is scanned.
    expected: u64,
    reclaiming: Mutex<Reclaiming>,
    /// The lock file with the mark in it; locked while the store is open. Last field, so that it is released last.
    lock: File,
}

/// Bytes that the files in a folder take on disk.
fn bytes_in(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else {
        return 0;
    };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes_in(&entry.path()),
        Ok(meta) => bytes_on_disk(&meta),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

impl Store {
    /// Carries out all writes or none; they reach the disk a moment later.
    fn commit(&self, writes: &Writes) -> Result<(), Fault> {
        self.database.commit(writes)
    }

    fn fault(&self, fault: Fault) -> StoreError {
        fault.at(&self.dir.join(compact::SLED))
    }

    /// All notes, in order of path.
    pub fn notes(&self) -> Result<Vec<NoteRecord>, StoreError> {
        self.database.with(Trees::notes).map_err(|fault| self.fault(fault))
    }

    /// One note.
    pub fn note(&self, path: &VaultPath) -> Result<Option<NoteRecord>, StoreError> {
        self.database.with(|trees| trees.note(path)).map_err(|fault| self.fault(fault))
    }

    /// The contexts of a note's chunks, in order; empty if the note is not known. A template's context comes
    /// back without text and sketch.
    pub fn contexts(&self, path: &VaultPath) -> Result<Vec<ContextRecord>, StoreError> {
        let mut contexts = self.database.with(|trees| trees.contexts(path)).map_err(|fault| self.fault(fault))?;
        self.journal.expand(&mut contexts);
        Ok(contexts)
    }

    /// A context of the archive, with the expansion that was written beside it.
    fn archived_under(&self, key: ContextKey) -> Result<Option<ContextRecord>, StoreError> {
        let mut archived = self.database.with(|trees| trees.archived_under(key)).map_err(|fault| self.fault(fault))?;
        self.journal.expand(archived.as_mut_slice());
        Ok(archived)
    }

    /// Applies changes, each under the next sequence number, as one transaction: all of them or none. Much faster than
    /// one by one. A few hundred at a time are enough: all are held in memory. Returns for each the record as stored:
    /// its `seq` (and `no`, if it is 0) are filled in. For a removal it is the removed record, under the removal's
    /// number. Does not wait for the disk; a new paid context is in the journal, fsynced, before the transaction.
    pub fn apply_many(&self, changes: Vec<(VaultPath, NoteWrite)>) -> Result<Vec<NoteRecord>, StoreError> {
        let mut counters = self.counters.lock();
        self.journal_paid(&changes)?;
        let mut next = *counters;
        let mut writes = Writes::default();
        let mut records = Vec::with_capacity(changes.len());
        for (path, change) in changes {
            next.seq += 1;
            let record = self.prepare(path, change, &mut next, &mut writes)?;
            records.push(record);
        }
        if records.is_empty() {
            return Ok(records);
        }
        records.iter().for_each(|record| self.survey_named(record));
        writes.counters(next).and_then(|()| self.commit(&writes)).map_err(|fault| self.fault(fault))?;
        *counters = next;
        Ok(records)
    }

    /// Journals every paid context of the changes under the key that its chunk has now, with the note that holds it;
    /// also journals moves and removals of notes.
    fn journal_paid(&self, changes: &[(VaultPath, NoteWrite)]) -> Result<(), StoreError> {
        let gone: Vec<Vec<String>> = changes.iter().map(|change| self.last_tags(change)).collect::<Result<_, _>>()?;
        let mut events = Vec::with_capacity(changes.len());
        for ((path, change), tags) in changes.iter().zip(&gone) {
            let archived = change.archive.iter().map(|(key, context)| (*key, context));
            let Some((note, contexts)) = &change.put else {
                events.push(NoteEvent::Held { path, tags, contexts: archived.collect() });
                events.push(NoteEvent::Removed { path, tags });
                continue;
            };
            let moved = change.moved_from.as_ref().filter(|from| *from != path);
            events.extend(moved.map(|from| NoteEvent::Moved { from, to: path }));
            // Only paid contexts belong in the journal, and a first index has none.
            let paid = note.chunks.iter().zip(contexts).filter(|(_, context)| context.is_paid());
            let paid = paid.map(|(chunk, context)| (context_key(&chunk.keys, chunk.hash), context));
            let contexts = archived.chain(paid).collect();
            events.push(NoteEvent::Held { path, tags: &note.tags, contexts });
        }
        self.journal.record(events).map(drop)
    }

    /// The tags of a note that the change removes; empty for other changes.
    fn last_tags(&self, (path, change): &(VaultPath, NoteWrite)) -> Result<Vec<String>, StoreError> {
        let record = if change.put.is_none() { self.note(path)? } else { None };
        Ok(record.map_or_else(Vec::new, |record| record.tags))
    }

    /// Turns one change into writes.
    fn prepare(
        &self,
        path: VaultPath,
        change: NoteWrite,
        next: &mut Counters,
        writes: &mut Writes,
    ) -> Result<NoteRecord, StoreError> {
        let fault = |fault| self.fault(fault);
        for (key, context) in &change.archive {
            writes.archive(*key, context).map_err(fault)?;
        }
        if let Some(from) = change.moved_from.filter(|from| *from != path) {
            writes.remove(&from);
        }
        let Some((mut record, contexts)) = change.put else {
            let mut gone = self.note(&path)?.unwrap_or_else(|| nothing_at(&path));
            gone.seq = next.seq;
            writes.remove(&path);
            return Ok(gone);
        };
        if record.chunks.len() != contexts.len() {
            let message = format!("{} contexts for {} chunks of a note", contexts.len(), record.chunks.len());
            return Err(StoreError::Io { path: self.dir.clone(), message });
        }
        record.path = path;
        record.seq = next.seq;
        if record.no == 0 {
            record.no = next.next_no;
        }
        next.next_no = next.next_no.max(record.no.saturating_add(1));
        writes.put(&record, &contexts).map_err(fault)?;
        Ok(record)
    }

    /// Whether any context was ever paid for here.
    pub fn has_paid(&self) -> bool {
        self.journal.len() > 0
    }

    /// The last sequence number given.
    pub fn seq(&self) -> u64 {
        self.counters.lock().seq
    }

    /// Starts writing what is buffered; `durable` waits until it is on the disk.
    pub fn flush(&self, durable: bool) -> Result<(), StoreError> {
        self.flush_at(self.seq(), durable)
    }

    /// Writes what is buffered, up to the change with this sequence number.
    fn flush_at(&self, seq: u64, durable: bool) -> Result<(), StoreError> {
        if durable {
            self.journal.sync()?;
            self.vectors().sync()?;
        }
        self.database.with(|trees| trees.flush(durable)).map_err(|fault| self.fault(fault))?;
        if durable {
            salvage::sync_dir(&self.dir)?;
            mark::write(&self.lock, seq);
        }
        Ok(())
    }

    /// Whether there is room for a megabyte more.
    pub fn probe(&self) -> Result<(), StoreError> {
        let moved = || FileId::at(&self.dir.join(LOCK)).is_ok_and(|id| FileId::of(&self.lock).ok() != Some(id));
        salvage::probe(&self.dir).map_err(|error| match error {
            // The sandbox allows only the folder that was there when it began.
            StoreError::Io { .. } if moved() => {
                StoreError::Io { path: self.dir.clone(), message: "another folder is in its place".to_owned() }
            }
            error => error,
        })
    }

    /// Bytes on disk of everything in the store's folder.
    pub fn bytes_on_disk(&self) -> u64 {
        bytes_in(&self.dir)
    }
}

/// An empty record, for a note that is not known.
fn nothing_at(path: &VaultPath) -> NoteRecord {
    NoteRecord {
        path: path.clone(),
        no: 0,
        seq: 0,
        stat: FileStat::default(),
        hash: TextHash([0; 16]),
        structure: StructureHash([0; 16]),
        contextualizer: String::new(),
        embedder: String::new(),
        chunker: String::new(),
        title: String::new(),
        aliases: Vec::new(),
        tags: Vec::new(),
        kind: None,
        date: None,
        properties: String::new(),
        links: Vec::new(),
        conflict: false,
        warnings: Vec::new(),
        decided: (Reason::NoteRemoved, 0),
        chunks: Vec::new(),
    }
}
