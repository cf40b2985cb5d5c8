//! What survives a restart. The only place that names sled and bincode.

pub mod record;

use std::path::{Path, PathBuf};

use crate::context::ContextRecord;
use crate::embed::Vector;
use crate::fingerprint::{ContextKey, InputHash};
use crate::vault::VaultPath;
use record::NoteRecord;

/// The store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds it.
    #[error("the store {0} is in use by another process")]
    Locked(PathBuf),
    /// It cannot be read or written.
    #[error("the store {path}: {message}")]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What happened.
        message: String,
    },
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

/// One vault's store.
pub struct Store;

impl Store {
    /// Opens or creates the store in `dir`, scans all of it, and moves it aside if it does not open or scan.
    pub fn open(_dir: &Path) -> Result<(Self, Opened), StoreError> { todo!() }
    /// All notes, in order of path.
    pub fn notes(&self) -> Result<Vec<NoteRecord>, StoreError> { todo!() }
    /// One note.
    pub fn note(&self, _path: &VaultPath) -> Result<Option<NoteRecord>, StoreError> { todo!() }
    /// The contexts of a note's chunks, in order; empty if the note is not known.
    pub fn contexts(&self, _path: &VaultPath) -> Result<Vec<ContextRecord>, StoreError> { todo!() }
    /// Applies a change as one transaction under the next sequence number, and returns that number. The
    /// record's `seq` (and `no`, if it is 0) are filled in. Does not wait for the disk; a paid context that
    /// is new is in the journal, fsynced, before the transaction.
    pub fn apply(&self, _path: &VaultPath, _write: NoteWrite) -> Result<NoteRecord, StoreError> { todo!() }
    /// The last sequence number given.
    pub fn seq(&self) -> u64 { todo!() }
    /// A context that was archived.
    pub fn archived(&self, _key: ContextKey) -> Result<Option<ContextRecord>, StoreError> { todo!() }
    /// The vector of an input, if it is cached.
    pub fn vector(&self, _input: InputHash) -> Option<Vector> { todo!() }
    /// Caches vectors: appended to the flat file, not fsynced.
    pub fn put_vectors(&self, _vectors: &[(InputHash, Vector)]) -> Result<(), StoreError> { todo!() }
    /// Starts writing what is buffered; `durable` waits until it is on the disk.
    pub fn flush(&self, _durable: bool) -> Result<(), StoreError> { todo!() }
    /// Bytes on disk of everything in the store's folder.
    pub fn bytes_on_disk(&self) -> u64 { todo!() }
}
