//! The database: seven sled trees, their full scan, and the one transaction.
//!
//! A successful open proves nothing, so every value is decoded once at start. sled keeps its lock for a moment after
//! the last handle is dropped (its threads hold the file), so taking it is retried. It cannot be another process of
//! this program: that would already have failed at the store's own lock.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform::files;
use sled::Transactional;
use sled::transaction::TransactionError;

use super::codec::{self, Counters};
use super::encoded::EncodedNotes;
use super::record::NoteRecord;
use super::salvage::{self, Fault, guarded};
use context::ContextRecord;
use note::VaultPath;
use note::fingerprint::{ContextKey, context_key};

mod archive;
mod copy;

/// The size of sled's page cache. Frequent reads go to the index, so the cache only has to hold the pages that are
/// being written; sled's default is a gigabyte. sled drops a page only after 64 accesses to one of its 256 queues
/// (`lru.rs`): up to some 60 MB stay whatever this size is, until the database is closed
/// ([`super::Store::drop_pages`]).
const CACHE_BYTES: u64 = 8 << 20;

/// Bytes that reading or writing one value may bring into sled's cache in addition: a page with its neighbours.
const PAGE_BYTES: u64 = 4 << 10;

/// How often sled's own thread cleans up overwritten data. Our own thread flushes commits ([`super::flush`]), so no
/// thread wakes while nothing happens.
const CLEAN_EVERY_MS: u64 = 60_000;

/// How late sled's threads may wake from a wait with a timeout. Seven of them check for work every second, without
/// need: they are woken when there is work.
#[cfg(target_os = "linux")]
const SLACK: Duration = Duration::from_mins(5);

/// Bytes that one step of a survey reads. It takes some milliseconds, and a save may have to wait for it.
const SURVEYED: u64 = 256 << 10;

/// The same in a simulation, whose vaults are small.
const FEW_SURVEYED: u64 = 4 << 10;

/// The key of the counters in `meta`.
const COUNTERS: &[u8] = b"counters";

/// The open database.
#[derive(Clone)]
pub(super) struct Trees {
    db: sled::Db,
    meta: sled::Tree,
    notes: sled::Tree,
    contexts: sled::Tree,
    /// Archived contexts by key, as older programs wrote them; nothing is added.
    archive: sled::Tree,
    /// Archived contexts by name ([`codec::id`]).
    archived: sled::Tree,
    /// The name of the context that was archived last under each key.
    archive_keys: sled::Tree,
    values: sled::Tree,
    path: PathBuf,
    /// Upper bound of the bytes that came into sled's cache since the database was opened.
    touched: Arc<AtomicU64>,
}

/// The tree that a write goes to.
#[derive(Clone, Copy)]
enum Tree {
    Meta,
    Notes,
    Contexts,
    Archived,
    ArchiveKeys,
}

/// The writes of a transaction: tree, key, and value; `None` removes the key.
#[derive(Default)]
pub(super) struct Writes(Vec<(Tree, Vec<u8>, Option<Vec<u8>>)>);

/// What a scan found.
#[derive(Default)]
pub(super) struct Scan {
    /// The counters, at least as high as any record needs.
    pub counters: Counters,
    /// How many notes there are.
    pub notes: u64,
    /// Notes that hold paid contexts which the caller did not know, with the keys that find them.
    pub held: Vec<(NoteRecord, Vec<(ContextKey, ContextRecord)>)>,
    /// Paid contexts of the archive that the caller did not know, with the keys that find them.
    pub unknown: Vec<(ContextKey, ContextRecord)>,
}

impl Scan {
    /// Fails if the scan ends before `expected`, the last change that is known to have been on the disk.
    pub(super) fn reaching(&self, expected: u64) -> Result<(), Fault> {
        let Counters { seq, .. } = self.counters;
        if seq < expected {
            return Err(Fault::Damaged(format!("it ends at change {seq}, {expected} had been on the disk")));
        }
        Ok(())
    }
}

/// How far a survey has come: which tree it reads, and after which key it continues.
#[derive(Debug, Default)]
pub(super) struct SurveyPlace {
    tree: usize,
    after: Option<Vec<u8>>,
}

/// What a step of a survey saw.
pub(super) struct Surveyed {
    /// Bytes of keys and values.
    pub(super) bytes: u64,
    /// Where the next step continues; `None` at the end.
    pub(super) next: Option<SurveyPlace>,
}

impl Writes {
    /// Puts a note's record alone.
    pub(super) fn note(&mut self, note: &NoteRecord) -> Result<(), Fault> {
        let key = note.path.as_str().as_bytes().to_vec();
        self.0.push((Tree::Notes, key, Some(codec::encode_note(note)?)));
        Ok(())
    }

    /// Puts a note with its contexts.
    pub(super) fn put(&mut self, note: &NoteRecord, contexts: &[ContextRecord]) -> Result<(), Fault> {
        let key = note.path.as_str().as_bytes();
        self.note(note)?;
        self.0.push((Tree::Contexts, key.to_vec(), Some(codec::encode_contexts_of(&note.chunks, contexts)?)));
        Ok(())
    }

    /// Removes a note with its contexts.
    pub(super) fn remove(&mut self, path: &VaultPath) {
        let key = path.as_str().as_bytes();
        self.0.push((Tree::Notes, key.to_vec(), None));
        self.0.push((Tree::Contexts, key.to_vec(), None));
    }

    /// Sets the counters.
    pub(super) fn counters(&mut self, counters: Counters) -> Result<(), Fault> {
        self.0.push((Tree::Meta, COUNTERS.to_vec(), Some(codec::encode_counters(counters)?)));
        Ok(())
    }
}

/// A guard: while it lives, threads that the calling thread starts get a large timer slack (`SLACK`). sled starts its
/// threads when it opens a database, and more of them, which may stay, when many writes wait.
struct Lazy {
    #[cfg(target_os = "linux")]
    before: Option<std::num::NonZeroU64>,
}

impl Lazy {
    #[cfg(target_os = "linux")]
    fn begin() -> Self {
        use rustix::thread::{current_timer_slack, set_current_timer_slack};
        let before = current_timer_slack().ok().and_then(std::num::NonZeroU64::new);
        // If the kernel refuses, threads wake more often than they need to, and nothing else happens.
        let _ = set_current_timer_slack(std::num::NonZeroU64::new(SLACK.as_nanos() as u64));
        Lazy { before }
    }

    #[cfg(not(target_os = "linux"))]
    fn begin() -> Self {
        Lazy {}
    }
}

impl Drop for Lazy {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(self.before);
    }
}

/// Checks that the system allows as many threads as sled starts for itself. When the first database is opened, sled
/// waits forever for threads that it does not get (`threadpool.rs`); it keeps those that it gets.
fn threads_can_be_had() -> Result<(), Fault> {
    /// Seven for sled's pool, and one that flushes.
    const THREADS: usize = 8;
    static THERE: AtomicBool = AtomicBool::new(false);
    if THERE.load(Ordering::Relaxed) {
        return Ok(());
    }
    let gate = Mutex::new(());
    thread::scope(|scope| {
        // All of them live at the same time, until the gate is unlocked.
        let _closed = gate.lock();
        (0..THREADS).try_for_each(|_| {
            let thread = thread::Builder::new().name("store-try".to_owned()).spawn_scoped(scope, || drop(gate.lock()));
            thread.map(drop).map_err(|error| Fault::Environment(format!("the system gives no more threads: {error}")))
        })
    })?;
    THERE.store(true, Ordering::Relaxed);
    Ok(())
}

impl Trees {
    /// Opens or creates the database in `path`.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            match guarded(|| Self::open_once(path)) {
                Err(Fault::Locked) if Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(10));
                }
                other => return other,
            }
        }
    }

    fn open_once(path: &Path) -> Result<Self, Fault> {
        threads_can_be_had()?;
        let _lazy = Lazy::begin();
        // Nothing in this version of sled reads `Config::mode`, so it is not set.
        let db =
            sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(Some(CLEAN_EVERY_MS)).open()?;
        db.flush()?;
        Ok(Trees {
            meta: db.open_tree("meta")?,
            notes: db.open_tree("notes")?,
            contexts: db.open_tree("contexts")?,
            archive: db.open_tree("archive")?,
            archived: db.open_tree("archived")?,
            archive_keys: db.open_tree("archive keys")?,
            values: db.open_tree("values")?,
            path: path.to_path_buf(),
            touched: Arc::default(),
            db,
        })
    }

    /// Opens the database and scans it ([`Trees::scan`]); it has to reach the change `expected`.
    pub(super) fn open_scanned(
        path: &Path,
        expected: u64,
        is_known: impl Fn(ContextKey, Option<&VaultPath>) -> bool,
        room: &dyn Fn() -> bool,
        each: &mut dyn FnMut(EncodedNotes),
    ) -> Result<(Self, Scan), Fault> {
        let trees = Self::open(path)?;
        match trees.scan(is_known, room, each).and_then(|scan| scan.reaching(expected).map(|()| scan)) {
            Ok(scan) => Ok((trees, scan)),
            Err(fault) => {
                salvage::drop_damaged(trees);
                Err(fault)
            }
        }
    }

    /// Decodes everything, as long as `room` says that there is memory, and gives all notes to `each`, in batches and
    /// in order of path. `is_known` says whether the caller knows a key of a paid context already, of a note or of the
    /// archive.
    pub(super) fn scan(
        &self,
        is_known: impl Fn(ContextKey, Option<&VaultPath>) -> bool,
        room: &dyn Fn() -> bool,
        each: &mut dyn FnMut(EncodedNotes),
    ) -> Result<Scan, Fault> {
        guarded(|| self.scan_all(is_known, room, each))
    }

    fn scan_all(
        &self,
        is_known: impl Fn(ContextKey, Option<&VaultPath>) -> bool,
        room: &dyn Fn() -> bool,
        each: &mut dyn FnMut(EncodedNotes),
    ) -> Result<Scan, Fault> {
        /// The scan checks for room after every so many notes.
        const ASK_AFTER: u64 = 1024;
        let torn = || Fault::Damaged("a note and its contexts do not belong together".into());
        let (mut scan, mut batch) = (Scan::default(), EncodedNotes::default());
        let mut contexts = self.all_of(&self.contexts);
        // On one thread: two were no faster, and left 10 MB of holes in their arenas.
        for note in self.all_of(&self.notes) {
            let (path, bytes) = note?;
            // A few notes always fit.
            if scan.notes % ASK_AFTER == ASK_AFTER - 1 && !room() {
                return Err(Fault::NoRoom);
            }
            let note = codec::decode_note(&path, &bytes)?;
            batch.push(&path, &bytes).into_iter().for_each(&mut *each);
            scan.notes += 1;
            scan.counters.seq = scan.counters.seq.max(note.seq);
            scan.counters.next_no = scan.counters.next_no.max(note.no.saturating_add(1));
            let (key, bytes) = contexts.next().ok_or_else(torn)??;
            if key != path {
                return Err(torn());
            }
            let paid = codec::decode_paid(note.chunks.len(), &bytes)?.into_iter();
            let paid = paid.map(|(at, context)| (context_key(&note.chunks[at].keys, note.chunks[at].hash), context));
            let held: Vec<_> = paid.filter(|(key, _)| !is_known(*key, Some(&note.path))).collect();
            if !held.is_empty() {
                scan.held.push((note, held));
            }
        }
        each(batch);
        if contexts.next().is_some() {
            return Err(torn());
        }
        scan.unknown = self.scan_archive(|key| is_known(key, None))?;
        for value in self.all_of(&self.values) {
            // A value that does not decode counts as absent; pages that cannot be read at all are damage here too.
            value?;
        }
        scan.counters = self.read_counters(scan.counters, scan.notes)?;
        Ok(scan)
    }

    /// Upper bound of the bytes of pages in sled's cache.
    pub(super) fn cached_at_most(&self) -> u64 {
        self.touched.load(Ordering::Relaxed)
    }

    /// Counts one value that was read or written towards sled's cache.
    fn touched_one(&self, bytes: &[u8]) {
        self.touched.fetch_add(PAGE_BYTES + bytes.len() as u64, Ordering::Relaxed);
    }

    /// All entries of a tree; each is counted towards sled's cache when it is read.
    fn all_of<'a>(&'a self, tree: &'a sled::Tree) -> impl Iterator<Item = sled::Result<(sled::IVec, sled::IVec)>> + 'a {
        self.rest_of(tree, None)
    }

    /// The entries of a tree after a key, counted the same way.
    fn rest_of<'a>(
        &'a self,
        tree: &'a sled::Tree,
        after: Option<&[u8]>,
    ) -> impl Iterator<Item = sled::Result<(sled::IVec, sled::IVec)>> + 'a {
        use std::ops::Bound::{Excluded, Unbounded};
        let rest = (after.map_or(Unbounded, Excluded), Unbounded);
        tree.range::<&[u8], _>(rest).inspect(|entry| {
            let bytes = entry.as_ref().map_or(0, |(key, value)| key.len() + value.len());
            self.touched.fetch_add(bytes as u64, Ordering::Relaxed);
        })
    }

    /// The counters, which a scan may raise.
    pub(super) fn counters(&self) -> Result<Counters, Fault> {
        guarded(|| self.read_counters(Counters::default(), 0))
    }

    /// The counters, raised to `least`, which the records of the `notes` notes need at least.
    fn read_counters(&self, least: Counters, notes: u64) -> Result<Counters, Fault> {
        match self.meta.get(COUNTERS)? {
            Some(bytes) => {
                let Counters { seq, next_no } = codec::decode_counters(&bytes)?;
                Ok(Counters { seq: seq.max(least.seq), next_no: next_no.max(least.next_no) })
            }
            None if notes == 0 => Ok(Counters::default()),
            None => Err(Fault::Damaged("the counters are missing".into())),
        }
    }

    /// All notes in order of path.
    pub(super) fn notes(&self) -> Result<Vec<NoteRecord>, Fault> {
        guarded(|| {
            let decode = |entry: sled::Result<(sled::IVec, sled::IVec)>| {
                let (path, bytes) = entry?;
                Ok(codec::decode_note(&path, &bytes)?)
            };
            self.all_of(&self.notes).map(decode).collect()
        })
    }

    /// One note.
    pub(super) fn note(&self, path: &VaultPath) -> Result<Option<NoteRecord>, Fault> {
        let key = path.as_str().as_bytes();
        guarded(|| {
            let bytes = self.notes.get(key)?;
            self.touched_one(bytes.as_deref().unwrap_or_default());
            Ok(bytes.map(|bytes| codec::decode_note(key, &bytes)).transpose()?)
        })
    }

    /// The contexts of a note's chunks; empty if the note is not known.
    pub(super) fn contexts(&self, path: &VaultPath) -> Result<Vec<ContextRecord>, Fault> {
        let key = path.as_str().as_bytes();
        guarded(|| {
            // One transaction reads both, so that they belong together.
            let both = (&self.notes, &self.contexts)
                .transaction(|(notes, contexts)| Ok((notes.get(key)?, contexts.get(key)?)));
            let (Some(note), Some(contexts)) = both.map_err(aborted)? else { return Ok(Vec::new()) };
            [&note, &contexts].into_iter().for_each(|bytes| self.touched_one(bytes));
            let note = codec::decode_note(key, &note)?;
            Ok(codec::decode_contexts_of(&note.chunks, &contexts)?)
        })
    }

    /// A value of the engine.
    pub(super) fn value(&self, name: &str) -> Result<Option<String>, Fault> {
        guarded(|| {
            let bytes = self.values.get(name)?;
            Ok(bytes.map(|bytes| codec::read_first(&bytes)).transpose()?)
        })
    }

    /// Sets or removes a value of the engine.
    pub(super) fn set_value(&self, name: &str, value: Option<&str>) -> Result<(), Fault> {
        let _lazy = Lazy::begin();
        guarded(|| {
            match value {
                Some(value) => self.values.insert(name, codec::seal(&value)?)?,
                None => self.values.remove(name)?,
            };
            Ok(())
        })?;
        machine::wrote(&self.path);
        Ok(())
    }

    /// Carries out all writes or none.
    pub(super) fn commit(&self, writes: &Writes) -> Result<(), Fault> {
        let _lazy = Lazy::begin();
        guarded(|| {
            let trees = (&self.meta, &self.notes, &self.contexts, &self.archived, &self.archive_keys);
            let done = trees.transaction(|(meta, notes, contexts, archived, archive_keys)| {
                for (tree, key, value) in &writes.0 {
                    let tree = match tree {
                        Tree::Meta => meta,
                        Tree::Notes => notes,
                        Tree::Contexts => contexts,
                        Tree::Archived => archived,
                        Tree::ArchiveKeys => archive_keys,
                    };
                    match value {
                        Some(value) => tree.insert(key.as_slice(), value.as_slice())?,
                        None => tree.remove(key.as_slice())?,
                    };
                }
                Ok(())
            });
            done.map_err(aborted)
        })?;
        writes.0.iter().for_each(|(_, _, value)| self.touched_one(value.as_deref().unwrap_or_default()));
        machine::wrote(&self.path);
        Ok(())
    }

    /// Hands what is buffered to the operating system; `durable` waits for the disk, which sled's own
    /// flush on Linux (`sync_file_range`) does not.
    pub(super) fn flush(&self, durable: bool) -> Result<(), Fault> {
        let _lazy = Lazy::begin();
        guarded(|| {
            self.db.flush()?;
            if durable {
                sync_folder(&self.path).map_err(|error| Fault::from(sled::Error::Io(error)))?;
                machine::synced(&self.path);
            }
            Ok(())
        })
    }

    /// Reads on from a place through all trees until it has seen some [`SURVEYED`] bytes, and shows notes to `note`. It
    /// may or may not see what is written meanwhile.
    pub(super) fn survey(&self, from: SurveyPlace, mut note: impl FnMut(NoteRecord)) -> Result<Surveyed, Fault> {
        let most = if machine::is_simulated() { FEW_SURVEYED } else { SURVEYED };
        guarded(|| {
            let mut bytes = 0;
            let SurveyPlace { mut tree, mut after } = from;
            while let Some(&of) = self.all().get(tree) {
                for entry in self.rest_of(of, after.as_deref()) {
                    let (key, value) = entry?;
                    bytes += (key.len() + value.len()) as u64;
                    if std::ptr::eq(of, &raw const self.notes) {
                        note(codec::decode_note(&key, &value)?);
                    }
                    if bytes >= most {
                        return Ok(Surveyed { bytes, next: Some(SurveyPlace { tree, after: Some(key.to_vec()) }) });
                    }
                }
                (tree, after) = (tree + 1, None);
            }
            Ok(Surveyed { bytes, next: None })
        })
    }

    fn all(&self) -> [&sled::Tree; 7] {
        let Trees { meta, notes, contexts, archive, archived, archive_keys, values, .. } = self;
        [meta, notes, contexts, archive, archived, archive_keys, values]
    }
}

/// Why a transaction failed; no transaction here aborts by itself.
fn aborted(error: TransactionError<()>) -> Fault {
    match error {
        TransactionError::Storage(error) => error.into(),
        TransactionError::Abort(()) => Fault::Damaged("a transaction was aborted".into()),
    }
}

/// Waits until every file in a database's folder, and the folder itself, is on the disk.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folder(&entry.path())?;
        } else {
            // sled may have removed the file (an old snapshot) since the folder was read.
            files::sync_file(&entry.path())?;
        }
    }
    files::sync_folder(path)
}
