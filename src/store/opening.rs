//! Opens a store: takes its lock, opens its files, scans the database, and moves a damaged database aside.

use std::fs::{DirBuilder, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use parking_lot::Mutex;
use platform::files::Private as _;

use super::cache::VectorCache;
use super::database::Database;
use super::encoded::EncodedNotes;
use super::journal::{Journal, NoteEvent};
use super::record::NoteRecord;
use super::salvage::{self, Fault};
use super::tree::{Scan, Trees, Writes};
use super::vectors::VectorFile;
use super::version::sign;
use super::{JOURNAL, Store, StoreError, compact, mark};
use context::ContextRecord;
use note::VaultPath;
use note::fingerprint::ContextKey;

/// What opening found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Where a database that did not open or scan was moved to, and why.
    pub quarantined: Option<(PathBuf, String)>,
    /// Contexts brought back from the journal after that move.
    pub contexts_recovered: u64,
    /// Damaged journal entries that were skipped.
    pub journal_damaged: u64,
    /// Notes in the store.
    pub notes: u64,
}

/// When a store that is opened reads which inputs have vectors: a step through the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadInputs {
    /// While it is opened, on a thread of its own.
    AtOnce,
    /// Before it is scanned, or when somebody needs to know it.
    Later,
}

/// The files of a store besides its database and its vectors.
struct Files {
    dir: PathBuf,
    journal: Journal,
    /// Damaged entries of the journal that were skipped.
    journal_damaged: u64,
    lock: File,
}

impl Files {
    fn open(dir: &Path) -> Result<Self, StoreError> {
        let create = DirBuilder::new().recursive(true).private().create(dir);
        create.map_err(|error| StoreError::io(dir, &error))?;
        let lock = mark::lock(dir)?;
        compact::settle(dir)?;
        let (journal, journal_damaged) = Journal::open(&dir.join(JOURNAL))?;
        Ok(Files { dir: dir.to_path_buf(), journal, journal_damaged, lock })
    }
}

impl Store {
    /// Opens or creates the store in `dir` for vectors of one embedder, scans all of it, and moves the
    /// database aside if it does not open or scan; paid contexts are then brought back from the journal.
    /// A store that is locked, or that cannot be read or written for a reason outside it (rights, space),
    /// is an error and stays where it is.
    pub fn open(dir: &Path, embedder_identity: &str, dimensions: usize) -> Result<(Self, Opened), StoreError> {
        Self::open_within(dir, embedder_identity, dimensions, &|| true)
    }

    /// As [`Store::open`], but fails with [`StoreError::NoRoom`] as soon as `room` says that no more memory may be
    /// taken; then nothing is moved or changed.
    pub fn open_within(
        dir: &Path,
        embedder_identity: &str,
        dimensions: usize,
        room: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Self, Opened), StoreError> {
        let files = Files::open(dir)?;
        // Both threads read everything that they open.
        let (opened, vectors) = thread::scope(|scope| {
            let vectors = scope.spawn(|| VectorFile::open_and_read(dir, embedder_identity, dimensions, room));
            let opened = open_or_replace(dir, &files.lock, &files.journal, room);
            (opened, joined(vectors))
        });
        let (trees, scan, quarantined) = opened?;
        let journal_damaged = files.journal_damaged;
        let mut opened = Opened { quarantined, contexts_recovered: 0, journal_damaged, notes: scan.notes };
        let expected = mark::read(&files.lock);
        let store = Store::of(files, trees, vectors?, expected)?;
        store.learn(scan)?;
        if opened.quarantined.is_some() {
            opened.contexts_recovered = store.bring_back()?;
        }
        Ok((store, opened))
    }

    /// Opens the store as [`Store::open_within`] does but scans nothing: [`Store::scan`] has to be called before
    /// anything is written. What is read before that may be damaged. `inputs` says when it is read which vectors there
    /// are. `beside` runs on another thread meanwhile, once the store is locked.
    ///
    /// # Errors
    /// A damaged database stays where it is: [`StoreError::Damaged`].
    pub fn open_unscanned<T: Send>(
        dir: &Path,
        embedder_identity: &str,
        dimensions: usize,
        room: &(dyn Fn() -> bool + Sync),
        inputs: ReadInputs,
        beside: impl FnOnce() -> T + Send,
    ) -> Result<(Self, T), StoreError> {
        let files = Files::open(dir)?;
        let sled = dir.join(compact::SLED);
        let expected = if sled.exists() { mark::read(&files.lock) } else { 0 };
        let (trees, vectors, other) = thread::scope(|scope| {
            let vectors = scope.spawn(|| match inputs {
                ReadInputs::AtOnce => VectorFile::open_and_read(dir, embedder_identity, dimensions, room),
                ReadInputs::Later => VectorFile::open(dir, embedder_identity, dimensions),
            });
            let other = scope.spawn(beside);
            (Trees::open(&sled), joined(vectors), joined(other))
        });
        let trees = trees.map_err(|fault| fault.unscanned(&sled))?;
        // If they cannot be read, the scan says so.
        let counters = trees.counters().unwrap_or_default();
        let store = Store::of(files, trees, vectors?, expected)?;
        *store.counters.lock() = counters;
        Ok((store, other))
    }

    fn of(files: Files, trees: Trees, vectors: VectorFile, expected: u64) -> Result<Self, StoreError> {
        let Files { dir, journal, journal_damaged: _, lock } = files;
        Ok(Store {
            dir,
            database: Database::new(trees)?,
            counters: Mutex::default(),
            journal,
            vectors: Mutex::new(Arc::new(VectorCache::new(vectors))),
            by_section: Mutex::new(None),
            expected,
            reclaiming: Mutex::default(),
            lock,
        })
    }

    /// Reads and checks all of the database, and gives all notes to `each`, in batches and in order of path.
    ///
    /// # Errors
    /// The database is damaged ([`StoreError::Damaged`]): the store is unusable, and the caller has to drop it and open
    /// it with [`Store::open_within`]. Or `room` says that no more memory may be taken ([`StoreError::NoRoom`]).
    pub fn scan(&self, room: &dyn Fn() -> bool, each: &mut dyn FnMut(EncodedNotes)) -> Result<(), StoreError> {
        self.vectors().read_inputs(room)?;
        let scanned = self.database.with(|trees| trees.scan(is_known(&self.journal), room, each));
        match scanned.and_then(|scan| scan.reaching(self.expected).map(|()| scan)) {
            Ok(scan) => {
                mark::write(&self.lock, self.expected);
                compact::remove_old(&self.dir)?;
                self.learn(scan)
            }
            Err(fault) => {
                if matches!(fault, Fault::Damaged(_)) {
                    self.database.break_off();
                }
                Err(fault.unscanned(&self.dir.join(compact::SLED)))
            }
        }
    }

    /// Takes the results of a scan: the counters, and contexts that only the database knows.
    fn learn(&self, scan: Scan) -> Result<(), StoreError> {
        keep_unknown(&scan, &self.journal)?;
        *self.counters.lock() = scan.counters;
        sign(&self.dir);
        Ok(())
    }

    /// Archives every context of the journal under its newest key. (Under its other keys
    /// [`Store::archived`] finds it in the journal.)
    fn bring_back(&self) -> Result<u64, StoreError> {
        /// Contexts per transaction.
        const BATCH: usize = 500;
        for keys in self.journal.newest_keys().chunks(BATCH) {
            let mut writes = Writes::default();
            for &key in keys {
                // An entry that was damaged since the journal was opened must not keep the others from coming back.
                if let Ok(Some(context)) = self.journal.get(key) {
                    writes.archive(key, &context).map_err(|fault| self.fault(fault))?;
                }
            }
            self.commit(&writes).map_err(|fault| self.fault(fault))?;
        }
        Ok(self.journal.len() as u64)
    }
}

/// Adds contexts to the journal that only the database knows. The journal lacks them if its entries were damaged, its file
/// is gone, or its version did not say which note holds what.
fn keep_unknown(scan: &Scan, journal: &Journal) -> Result<(), StoreError> {
    journal.append(scan.unknown.iter().map(|(key, context)| (*key, context)))?;
    journal.record(scan.held.iter().map(|(note, contexts)| held(note, contexts)).collect())?;
    Ok(())
}

/// The journal's event for a note that holds contexts.
fn held<'a>(note: &'a NoteRecord, contexts: &'a [(ContextKey, ContextRecord)]) -> NoteEvent<'a> {
    let contexts = contexts.iter().map(|(key, context)| (*key, context)).collect();
    NoteEvent::Held { path: &note.path, tags: &note.tags, contexts }
}

/// Where a damaged database went, and what was wrong with it.
type Quarantine = (PathBuf, String);

/// Whether a journal has a paid context, of a note or of the archive, under a key.
fn is_known(journal: &Journal) -> impl Fn(ContextKey, Option<&VaultPath>) -> bool {
    move |key, note| match note {
        Some(path) => journal.contains_of(key, path.as_str()),
        None => journal.contains(key),
    }
}

/// Joins a scoped thread and returns its result; its panic goes on in the caller.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Opens and scans the database. A damaged one is moved aside and replaced: by the database from before a compaction,
/// if that was interrupted, else by an empty one.
fn open_or_replace(
    dir: &Path,
    lock: &File,
    journal: &Journal,
    room: &dyn Fn() -> bool,
) -> Result<(Trees, Scan, Option<Quarantine>), StoreError> {
    let sled = dir.join(compact::SLED);
    let mut quarantined = None;
    // Two retries: the database from before a compaction may be damaged too.
    for _ in 0..3 {
        let expected = if sled.exists() { mark::read(lock) } else { 0 };
        let fault = match Trees::open_scanned(&sled, 0, is_known(journal), room, &mut drop) {
            Ok((trees, scan)) => match scan.reaching(expected) {
                Ok(()) => {
                    mark::write(lock, expected);
                    compact::remove_old(dir)?;
                    return Ok((trees, scan, quarantined));
                }
                Err(fault) => {
                    // What was paid for before it ended can be read.
                    let kept = keep_unknown(&scan, journal);
                    salvage::drop_damaged(trees);
                    kept?;
                    fault
                }
            },
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
