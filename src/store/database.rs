//! The database while the store is open: its trees, and the thread that puts what is committed on the disk. It can be
//! closed, made smaller and opened again under those who use it: they wait until it is there again.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;
use platform::files::Room;

use super::flush::Flusher;
use super::salvage::Fault;
use super::tree::{Trees, Writes};
use super::vectors::SPARE;
use super::{CompactReport, Store, StoreError, bytes_in, compact};

/// What a database may take beside two and a half times what is in it: sled writes segments of half a megabyte, several
/// at a time, and takes 1.8 times as much as what is in it when it is new.
const SLACK: u64 = 4 << 20;

/// Bytes of pages in sled's cache from which on it is worth to close the database for a moment: opening one of 360 MB
/// again took 40 ms.
const PAGES: u64 = 8 << 20;

/// The same in a simulation, whose vaults are small.
const FEW_PAGES: u64 = 128 << 10;

/// What [`Store::reclaim`] gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaimed {
    /// There was little to be had.
    Nothing,
    /// Memory that sled took for pages.
    Pages,
    /// Disk space of the database, and its pages.
    Space(CompactReport),
}

/// The database, which is closed for a moment when it is made smaller.
pub(super) struct Database {
    open: RwLock<Option<Open>>,
    /// Bytes of its files from which on it is worth to look how much of them is needed.
    look_from: AtomicU64,
    /// Vectors from which on it is worth to look which of them are still named.
    look_at_vectors_from: AtomicUsize,
}

struct Open {
    /// Before the trees: it lets go of them first.
    flusher: Flusher,
    trees: Trees,
}

impl Open {
    fn new(trees: Trees) -> Result<Self, StoreError> {
        Ok(Open { flusher: Flusher::start(trees.clone())?, trees })
    }
}

impl Database {
    pub(super) fn new(trees: Trees) -> Result<Self, StoreError> {
        let open = RwLock::new(Some(Open::new(trees)?));
        Ok(Database { open, look_from: AtomicU64::new(SLACK), look_at_vectors_from: AtomicUsize::new(SPARE) })
    }

    /// Does something with the trees.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Trees) -> Result<T, Fault>) -> Result<T, Fault> {
        self.with_open(|open| work(&open.trees))
    }

    fn with_open<T>(&self, work: impl FnOnce(&Open) -> Result<T, Fault>) -> Result<T, Fault> {
        match &*self.open.read() {
            Some(open) => work(open),
            None => Err(Fault::Environment("it could not be opened again after it was closed for a moment".to_owned())),
        }
    }

    /// Carries out all writes or none; they are on the disk a moment later.
    pub(super) fn commit(&self, writes: &Writes) -> Result<(), Fault> {
        self.with_open(|open| {
            open.trees.commit(writes)?;
            open.flusher.committed();
            Ok(())
        })
    }
}

impl Store {
    /// Makes the store's files smaller, or at least no larger, where they take much more than what is in them: the
    /// database is copied, and vectors that no note names any more are written over by those to come. If there is
    /// nothing to copy, memory is given back ([`Store::drop_pages`]). Who uses the store waits meanwhile. Nobody may be
    /// about to write a note whose vectors are put already.
    ///
    /// # Errors
    /// The database cannot be read, or not opened again: then everything fails until the store is opened anew. One that
    /// merely could not be made smaller is as it was.
    pub fn reclaim(&self) -> Result<Reclaimed, StoreError> {
        self.give_up_vectors()?;
        let sled = self.dir.join(compact::SLED);
        let before = bytes_in(&sled);
        let look_from = &self.database.look_from;
        if before >= look_from.load(Ordering::Relaxed) {
            let needed = self.database.with(Trees::bytes).map_err(|fault| self.fault(fault))?;
            let free = Room::at(&self.dir).map_or(u64::MAX, |room| room.free);
            look_from.store(before + before / 4, Ordering::Relaxed);
            if before >= needed * 5 / 2 + SLACK && free >= 2 * needed + SLACK && self.put_copy_in_place()? {
                let after = bytes_in(&sled);
                look_from.store(after + after / 4 + SLACK / 2, Ordering::Relaxed);
                return Ok(Reclaimed::Space(CompactReport { before, after }));
            }
        }
        Ok(if self.drop_pages()? { Reclaimed::Pages } else { Reclaimed::Nothing })
    }

    /// Puts a copy of the database, which takes no more than it needs, in its place. Returns whether it could.
    fn put_copy_in_place(&self) -> Result<bool, StoreError> {
        let cannot = |error: StoreError| tracing::warn!(%error, "the database could not be made smaller");
        self.closed_for_a_moment(|open| {
            if let Err(error) = open.as_ref().map_or(Ok(()), |open| compact::copy(&self.dir, &open.trees)) {
                cannot(error);
                return Ok(false);
            }
            *open = None;
            match compact::swap(&self.dir) {
                Ok(trees) => *open = Some(Open::new(trees)?),
                Err(error) => cannot(error),
            }
            // If it did not open, what was there before is in its place again.
            Ok(open.is_some())
        })
    }

    /// Gives back the memory that sled took for pages, if that may be much: it keeps what it has read and written until
    /// it is closed, so it is closed and opened again. Who uses the store waits meanwhile. Returns whether it was done.
    ///
    /// # Errors
    /// The database cannot be opened again: then everything fails until the store is opened anew.
    pub fn drop_pages(&self) -> Result<bool, StoreError> {
        let cached = self.database.with(|trees| Ok(trees.cached_at_most())).map_err(|fault| self.fault(fault))?;
        let many = if machine::is_simulated() { FEW_PAGES } else { PAGES };
        if cached < many || bytes_in(&self.dir.join(compact::SLED)) < many {
            return Ok(false);
        }
        self.closed_for_a_moment(|open| {
            *open = None;
            Ok(true)
        })
    }

    /// Does something with the database while nobody uses it; it is opened again if it was closed then.
    fn closed_for_a_moment(
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
            // A context may have come between the flush and the lock.
            opened.flusher.committed();
        }
        done
    }

    /// Lets those to come take the place of vectors that no note names any more, once there are enough of them.
    fn give_up_vectors(&self) -> Result<(), StoreError> {
        let (vectors, look_from) = (self.vectors(), &self.database.look_at_vectors_from);
        if vectors.len() < look_from.load(Ordering::Relaxed) {
            return Ok(());
        }
        let named = self.database.with(Trees::inputs).map_err(|fault| self.fault(fault))?;
        vectors.give_up(&named.into_iter().flat_map(compact::with_text_alone).collect());
        let kept = vectors.len();
        look_from.store(kept + kept / 8 + SPARE / 4, Ordering::Relaxed);
        Ok(())
    }
}
