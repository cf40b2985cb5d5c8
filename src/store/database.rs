//! The database while the store is open: its trees, and the thread that flushes commits. The store can close it, make
//! it smaller and open it again while others use it: they wait until it is back.

use parking_lot::RwLock;

use super::flush::Flusher;
use super::salvage::{self, Fault};
use super::tree::{Trees, Writes};
use super::{Store, StoreError, bytes_in, compact};

/// From this many bytes of pages in sled's cache on, it is worthwhile to close the database for a moment: reopening one
/// of 360 MB took 40 ms.
const PAGES: u64 = 8 << 20;

/// The same in a simulation, whose vaults are small.
const FEW_PAGES: u64 = 128 << 10;

/// The database, which is closed for a moment when it is made smaller.
pub(super) struct Database {
    open: RwLock<Option<Open>>,
}

/// The trees, and the flusher that writes them to the disk.
pub(super) struct Open {
    /// Declared before the trees, so that it drops its handle of them first.
    flusher: Flusher,
    pub(super) trees: Trees,
}

impl Open {
    pub(super) fn new(trees: Trees) -> Result<Self, StoreError> {
        Ok(Open { flusher: Flusher::start(trees.clone())?, trees })
    }
}

impl Database {
    pub(super) fn new(trees: Trees) -> Result<Self, StoreError> {
        Ok(Database { open: RwLock::new(Some(Open::new(trees)?)) })
    }

    /// Runs `work` on the trees.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Trees) -> Result<T, Fault>) -> Result<T, Fault> {
        self.with_open(|open| work(&open.trees))
    }

    fn with_open<T>(&self, work: impl FnOnce(&Open) -> Result<T, Fault>) -> Result<T, Fault> {
        match &*self.open.read() {
            Some(open) => work(open),
            None => Err(Fault::Environment("it could not be opened again after it was closed for a moment".to_owned())),
        }
    }

    /// Drops a damaged database. From then on every use of it fails.
    pub(super) fn break_off(&self) {
        if let Some(open) = self.open.write().take() {
            salvage::drop_damaged(open);
        }
    }

    /// Carries out all writes or none; they reach the disk a moment later.
    pub(super) fn commit(&self, writes: &Writes) -> Result<(), Fault> {
        self.with_open(|open| {
            open.trees.commit(writes)?;
            open.flusher.committed();
            Ok(())
        })
    }
}

impl Store {
    /// Gives back the memory that sled took for pages, if that may be much: sled keeps what it has read and written
    /// until it is closed, so the database is closed and opened again. Other users of the store wait meanwhile. Work
    /// that read so much has read vectors too, so the memory that shows them is released as well. Returns whether it
    /// was done.
    ///
    /// # Errors
    /// The database cannot be opened again: then everything fails until the store is reopened.
    pub fn drop_pages(&self) -> Result<bool, StoreError> {
        let cached = self.database.with(|trees| Ok(trees.cached_at_most())).map_err(|fault| self.fault(fault))?;
        let many = if machine::is_simulated() { FEW_PAGES } else { PAGES };
        let is_small = cached < many || bytes_in(&self.dir.join(compact::SLED)) < many;
        // Where there is no room, it could not be opened again.
        if is_small || salvage::has_room(&self.dir).is_err() {
            return Ok(false);
        }
        self.vectors().let_go();
        self.closed_for_a_moment(|open| {
            *open = None;
            Ok(true)
        })
    }

    /// Runs `work` while nobody uses the database, and opens the database again if `work` closed it.
    pub(super) fn closed_for_a_moment(
        &self,
        work: impl FnOnce(&mut Option<Open>) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        // No note changes from here on.
        let counters = self.counters.lock();
        self.flush_at(counters.seq, true)?;
        let mut open = self.database.open.write();
        let done = work(&mut open);
        if open.is_none() {
            let trees = Trees::open(&self.dir.join(compact::SLED)).map_err(|fault| self.fault(fault))?;
            let opened = open.insert(Open::new(trees)?);
            // A context may have been committed between the flush and the lock.
            opened.flusher.committed();
        }
        done
    }
}
