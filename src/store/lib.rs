//! What survives a restart. The only place that names sled and bincode.
//!
//! A store is a folder: the database in `sled/` (notes, contexts, archive, counters), the journal of paid
//! contexts in `contexts.journal`, one `vectors-….bin` per embedder, and `store.lock`, held while the store
//! is open. The vault is the truth and the database can be made again from it; what cannot is in the
//! journal. So a database that does not open and scan is moved aside, never deleted, and
//! [`Store::archived`] goes on finding every context that was paid for.
//!
//! Invariants: a paid context is in the journal, on the disk, before any transaction names it; a note, its
//! contexts, what it archives and the sequence number change in one transaction or not at all; nothing
//! here panics for what lies on the disk.

mod cache;
mod codec;
mod compact;
mod damage;
mod database;
mod exchange;
mod flush;
#[cfg(any(test, fuzzing))]
#[path = "../../tests/fuzz/bodies/store.rs"]
pub mod fuzz;
mod journal;
mod keep;
mod mark;
mod peek;
mod reclaim;
pub mod record;
mod salvage;
mod scanned;
#[cfg(test)]
mod tests;
mod tree;
mod v1;
mod v2;
mod vectors;

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use platform::files::{Private as _, bytes_on_disk};

use codec::Counters;
use context::ContextRecord;
use context::plan::Reason;
use database::Database;
use index::embed::Vector;
use journal::{Journal, NoteEvent};
use note::fingerprint::{ContextKey, InputHash, StructureHash, TextHash, context_key};
use note::{FileStat, VaultPath};
use reclaim::Reclaiming;
use record::NoteRecord;
use salvage::Fault;
use scanned::Scanned;
use tree::{Scan, Trees, Writes};
use vectors::VectorFile;

pub use cache::VectorCache;
pub use compact::{CompactReport, compact};
pub use exchange::ImportReport;
pub use journal::Holder;
pub use keep::ArchivedAll;
pub use peek::{Looked, journaled, look, rehearse};
pub use reclaim::Reclaimed;

const JOURNAL: &str = "contexts.journal";

/// Which version of the program opened the store last, for the message of an older one that cannot.
const WRITTEN_BY: &str = "version";

/// This version.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");
const LOCK: &str = "store.lock";

/// The store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds it.
    #[error("the store {0} is in use by another process")]
    Locked(PathBuf),
    /// It cannot be read or written.
    #[error("the store {path}: {message}{}", advice(message))]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What happened.
        message: String,
    },
    /// There is no memory to open it with: see [`Store::open_within`].
    #[error("the store does not fit into the memory that may be taken")]
    NoRoom,
}

/// What to do about an error of the system that the user can mend.
fn advice(message: &str) -> &'static str {
    match () {
        () if message.contains("(os error 13)") => {
            "; it has to be a file that this user may read and write, and no link out of the data folder"
        }
        () if message.contains("(os error 21)") => "; a folder stands where a file belongs: move it away",
        () => "",
    }
}

impl StoreError {
    /// What happened to a file or folder of the store.
    fn io(path: &Path, error: &std::io::Error) -> Self {
        StoreError::Io { path: path.to_path_buf(), message: error.to_string() }
    }
}

/// What opening found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Where a store that did not open or scan was moved to, and why it was.
    pub quarantined: Option<(PathBuf, String)>,
    /// Contexts brought back from the journal after that.
    pub contexts_recovered: u64,
    /// Damaged journal entries that were passed over.
    pub journal_damaged: u64,
    /// Notes in the store.
    pub notes: u64,
}

/// A change to one note, applied as one transaction.
#[derive(Clone, Debug, Default)]
pub struct NoteWrite {
    /// The record and its chunks' contexts (same order and length), or `None` to remove the note.
    pub put: Option<(NoteRecord, Vec<ContextRecord>)>,
    /// Where the note was before, if it moved: that record goes in the same transaction.
    pub moved_from: Option<VaultPath>,
    /// Contexts that no chunk holds any more: they go to the archive.
    pub archive: Vec<(ContextKey, ContextRecord)>,
}

/// One vault's store. What its mutexes guard is changed only after what can fail is done, so a panic of a holder leaves
/// nothing half done.
pub struct Store {
    dir: PathBuf,
    database: Database,
    counters: Mutex<Counters>,
    journal: Journal,
    vectors: Mutex<Arc<VectorCache>>,
    /// Which notes had a section at a sequence number; made when a context is found that nobody knows the note of.
    by_section: Mutex<Option<(u64, Arc<keep::BySection>)>>,
    /// What the scan at start went through, until somebody takes it or it is no longer true.
    scanned: Mutex<Option<Scanned>>,
    reclaiming: Mutex<Reclaiming>,
    /// Held while the store is open, and with the mark in it. Last, so that it is let go last.
    lock: File,
}

/// Takes the store's own lock, which guards all of its files and is let go by the system with the process.
fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(|error| StoreError::io(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(dir.to_path_buf())),
        Err(TryLockError::Error(error)) => Err(StoreError::io(&path, &error)),
    }
}

/// What the journal learns of a note that holds contexts.
fn held<'a>(note: &'a NoteRecord, contexts: &'a [(ContextKey, ContextRecord)]) -> NoteEvent<'a> {
    let contexts = contexts.iter().map(|(key, context)| (*key, context)).collect();
    NoteEvent::Held { path: &note.path, tags: &note.tags, contexts }
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
    /// Opens or creates the store in `dir` for vectors of one embedder, scans all of it, and moves the
    /// database aside if it does not open or scan; paid contexts are then brought back from the journal.
    /// A store that is locked, or that cannot be read or written for a reason outside it (rights, space),
    /// is an error and stays where it is.
    pub fn open(dir: &Path, embedder_identity: &str, dimensions: usize) -> Result<(Self, Opened), StoreError> {
        Self::open_within(dir, embedder_identity, dimensions, &|| true)
    }

    /// As [`Store::open`], given up with [`StoreError::NoRoom`] as soon as `room` says that no more memory may be taken;
    /// nothing is moved or changed then.
    pub fn open_within(
        dir: &Path,
        embedder_identity: &str,
        dimensions: usize,
        room: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Self, Opened), StoreError> {
        let create = DirBuilder::new().recursive(true).private().create(dir);
        create.map_err(|error| StoreError::io(dir, &error))?;
        let lock = lock(dir)?;
        compact::settle(dir)?;
        let (journal, journal_damaged) = Journal::open(&dir.join(JOURNAL))?;
        // Each reads all that it opens.
        let (opened, vectors) = std::thread::scope(|scope| {
            let vectors = scope.spawn(|| VectorFile::open(dir, embedder_identity, dimensions, room));
            let opened = open_or_replace(dir, &lock, &journal, room);
            (opened, vectors.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let (trees, scan, quarantined) = opened?;
        // Contexts that only the database knows: entries of the journal went bad, the file is gone, or it is of a
        // version that did not say which note holds what.
        journal.append(scan.unknown.iter().map(|(key, context)| (*key, context)))?;
        journal.record(scan.held.iter().map(|(note, contexts)| held(note, contexts)).collect())?;
        let mut opened = Opened { quarantined, contexts_recovered: 0, journal_damaged, notes: scan.notes.len() as u64 };
        let vectors = Arc::new(VectorCache::new(vectors?));
        let store = Store {
            dir: dir.to_path_buf(),
            database: Database::new(trees)?,
            counters: Mutex::new(scan.counters),
            journal,
            vectors: Mutex::new(vectors),
            by_section: Mutex::new(None),
            scanned: Mutex::new(Some(scan.notes)),
            reclaiming: Mutex::default(),
            lock,
        };
        if opened.quarantined.is_some() {
            opened.contexts_recovered = store.bring_back()?;
        }
        sign(dir);
        Ok((store, opened))
    }

    /// Archives every context of the journal under its newest key. (Under its other keys
    /// [`Store::archived`] finds it in the journal.)
    fn bring_back(&self) -> Result<u64, StoreError> {
        /// Contexts per transaction.
        const BATCH: usize = 500;
        for keys in self.journal.newest_keys().chunks(BATCH) {
            let mut writes = Writes::default();
            for &key in keys {
                // One that went bad since the journal was opened must not keep the others from coming back.
                if let Ok(Some(context)) = self.journal.get(key) {
                    writes.archive(key, &context).map_err(|fault| self.fault(fault))?;
                }
            }
            self.commit(&writes).map_err(|fault| self.fault(fault))?;
        }
        Ok(self.journal.len() as u64)
    }

    /// Carries out all writes or none; they are on the disk a moment later.
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

    /// All notes, in order of path, each decoded when it is asked for. What the scan at start went through is not read again
    /// the first time, unless something was applied since.
    pub fn take_scanned(
        &self,
    ) -> Result<impl Iterator<Item = Result<NoteRecord, StoreError>> + Send + use<>, StoreError> {
        let scanned = self.scanned.lock().take();
        let encoded = || self.database.with(Trees::encoded).map_err(|fault| self.fault(fault));
        let scanned = scanned.map_or_else(encoded, Ok)?;
        let sled = self.dir.join(compact::SLED);
        Ok(scanned.decoded().map(move |note| note.map_err(|damage| Fault::from(damage).at(&sled))))
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

    /// A context of the archive, with what was written beside it.
    fn archived_under(&self, key: ContextKey) -> Result<Option<ContextRecord>, StoreError> {
        let mut archived = self.database.with(|trees| trees.archived_under(key)).map_err(|fault| self.fault(fault))?;
        self.journal.expand(archived.as_mut_slice());
        Ok(archived)
    }

    /// Applies a change as one transaction under the next sequence number, and returns the record as stored:
    /// its `seq` (and `no`, if it is 0) are filled in. For a removal that is the record that went, under the
    /// removal's number. Does not wait for the disk; a paid context that is new is in the journal, fsynced,
    /// before the transaction.
    pub fn apply(&self, path: &VaultPath, write: NoteWrite) -> Result<NoteRecord, StoreError> {
        let mut records = self.apply_many(vec![(path.clone(), write)])?;
        // One write gives one record; the other arm is for the compiler.
        records.pop().map_or_else(|| Ok(nothing_at(path)), Ok)
    }

    /// Applies several changes, each under a sequence number of its own, as one transaction: all of them or
    /// none. Much faster than one by one; a few hundred at a time are enough, for all are held in memory.
    /// Returns a record for each, as [`Store::apply`] does.
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
        *self.scanned.lock() = None;
        Ok(records)
    }

    /// Journals every paid context of the changes under the key that its chunk has now, with the note that holds it,
    /// and what becomes of the notes.
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
            // Only those have a place in the journal, and in a first index there are none.
            let paid = note.chunks.iter().zip(contexts).filter(|(_, context)| context.is_paid());
            let paid = paid.map(|(chunk, context)| (context_key(&chunk.keys, chunk.hash), context));
            let contexts = archived.chain(paid).collect();
            events.push(NoteEvent::Held { path, tags: &note.tags, contexts });
        }
        self.journal.record(events).map(drop)
    }

    /// The tags that a note which is removed had.
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

    /// The last sequence number given.
    pub fn seq(&self) -> u64 {
        self.counters.lock().seq
    }

    /// Whether the journal knows a paid context under this key.
    pub fn journal_contains(&self, key: ContextKey) -> bool {
        self.journal.contains(key)
    }

    /// The vector of an input, if it is cached.
    pub fn vector(&self, input: InputHash) -> Option<Vector> {
        self.vectors().get(input)
    }

    /// How many vectors are cached for the embedder in force.
    pub fn vector_count(&self) -> usize {
        self.vectors().len()
    }

    /// Caches vectors: appended to the flat file, not fsynced. Inputs that have one keep it.
    pub fn put_vectors(&self, vectors: &[(InputHash, Vector)]) -> Result<(), StoreError> {
        self.vectors().put(vectors)
    }

    /// Starts writing what is buffered; `durable` waits until it is on the disk.
    pub fn flush(&self, durable: bool) -> Result<(), StoreError> {
        self.flush_at(self.seq(), durable)
    }

    /// Writes what is buffered, the last of which is the change of this number.
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
        salvage::probe(&self.dir)
    }

    /// Bytes on disk of everything in the store's folder.
    pub fn bytes_on_disk(&self) -> u64 {
        bytes_in(&self.dir)
    }
}

/// Where a damaged database went, and what was wrong with it.
type Quarantine = (PathBuf, String);

/// Opens and scans the database; a damaged one is moved aside and replaced, by the one from before a
/// compaction if that was cut short, else by an empty one.
fn open_or_replace(
    dir: &Path,
    lock: &File,
    journal: &Journal,
    room: &dyn Fn() -> bool,
) -> Result<(Trees, Scan, Option<Quarantine>), StoreError> {
    let sled = dir.join(compact::SLED);
    let mut quarantined = None;
    // Two tries after the first: the one from before a compaction may be damaged too.
    for _ in 0..3 {
        let expected = if sled.exists() { mark::read(lock) } else { 0 };
        let is_known = |key, note: Option<&VaultPath>| match note {
            Some(path) => journal.contains_of(key, path.as_str()),
            None => journal.contains(key),
        };
        let scanned = Trees::open_scanned(&sled, is_known, room);
        let fault = match scanned {
            Ok((trees, scan)) if scan.counters.seq < expected => {
                salvage::drop_damaged(trees);
                let seq = scan.counters.seq;
                Fault::Damaged(format!("it ends at change {seq}, {expected} had been on the disk"))
            }
            Ok((trees, scan)) => {
                mark::write(lock, expected);
                compact::remove_old(dir)?;
                return Ok((trees, scan, quarantined));
            }
            Err(fault) => fault,
        };
        match fault {
            Fault::Damaged(why) => {
                salvage::probe(dir)?;
                quarantined = Some((salvage::move_aside(&sled)?, why));
                compact::settle(dir)?;
                salvage::sync_dir(dir)?;
            }
            fault => return Err(fault.at(&sled)),
        }
    }
    let message = quarantined.map_or_else(String::new, |(_, why)| why);
    Err(StoreError::Io { path: sled, message: format!("a new database does not open: {message}") })
}

/// The record of a note that is not known.
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

/// Writes down which version has opened a store. Without it a message says less, and nothing else changes.
fn sign(dir: &Path) {
    let file = dir.join(WRITTEN_BY);
    if std::fs::read_to_string(&file).is_ok_and(|known| known.trim() == PROGRAM) {
        return;
    }
    if let Err(error) = std::fs::write(&file, format!("{PROGRAM}\n")) {
        tracing::debug!(%error, "which version opened the store could not be written down");
    }
}

/// Which version of the program opened a store last, whose database is this folder; `None` if none has said so.
fn written_by(database: &Path) -> Option<String> {
    /// Bytes of a version at most.
    const LONGEST: usize = 40;
    let text = std::fs::read_to_string(database.with_file_name(WRITTEN_BY)).ok()?;
    let version = text.trim();
    let is_version = version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+".contains(&byte));
    (!version.is_empty() && version.len() <= LONGEST && is_version).then(|| version.to_owned())
}
