//! The queue of notes that wait for a model: saved notes go before those that a rebuild or a sync wants, and each goes
//! when it has been quiet for long enough. The notes' records say what is wanted; this is only their order, built again
//! at every start.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use note::VaultPath;

/// Who goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rank {
    /// A save changed the note.
    Save,
    /// A rebuild or a sync wants it.
    Bulk,
}

/// Notes that wait. A note is in it once.
#[derive(Debug, Default)]
pub(crate) struct ContextQueue {
    notes: HashMap<VaultPath, (Rank, Instant)>,
    saved: BTreeSet<(Instant, VaultPath)>,
    bulk: BTreeSet<(Instant, VaultPath)>,
}

impl ContextQueue {
    fn order(&mut self, rank: Rank) -> &mut BTreeSet<(Instant, VaultPath)> {
        match rank {
            Rank::Save => &mut self.saved,
            Rank::Bulk => &mut self.bulk,
        }
    }

    /// Puts a note in its place, whether it was there or not.
    pub(crate) fn put(&mut self, path: VaultPath, rank: Rank, ready_at: Instant) {
        self.remove(&path);
        self.notes.insert(path.clone(), (rank, ready_at));
        self.order(rank).insert((ready_at, path));
    }

    /// Takes a note out.
    pub(crate) fn remove(&mut self, path: &VaultPath) {
        if let Some((rank, ready_at)) = self.notes.remove(path) {
            self.order(rank).remove(&(ready_at, path.clone()));
        }
    }

    /// Takes the next note that is ready; with `saved_only` those that a save changed.
    pub(crate) fn pop(&mut self, now: Instant, saved_only: bool) -> Option<VaultPath> {
        let ready = |order: &BTreeSet<(Instant, VaultPath)>| order.first().filter(|(at, _)| *at <= now).cloned();
        let (_, path) = ready(&self.saved).or_else(|| ready(&self.bulk).filter(|_| !saved_only))?;
        self.remove(&path);
        Some(path)
    }

    /// Makes all waiting notes ready now.
    pub(crate) fn hurry(&mut self, now: Instant) {
        for (path, (rank, _)) in std::mem::take(self).notes {
            self.put(path, rank, now);
        }
    }

    /// When the next note is ready; with `saved_only` the next that a save changed.
    pub(crate) fn next_ready(&self, saved_only: bool) -> Option<Instant> {
        let first = |order: &BTreeSet<(Instant, VaultPath)>| order.first().map(|(at, _)| *at);
        first(&self.saved).into_iter().chain(first(&self.bulk).filter(|_| !saved_only)).min()
    }

    /// How many notes wait.
    pub(crate) fn len(&self) -> usize {
        self.notes.len()
    }
}

#[cfg(test)]
mod tests;
