//! What the loop and the handles share of a vault: the loop publishes, the handles read.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;

use super::decide::Desk;
use super::report::{self, VaultStatus};
use super::tally::Counts;
use crate::config::VaultConfig;
use crate::index::{Graph, Snapshot};
use crate::vault::policy::Policy;

/// What is shared of one vault.
pub(super) struct VaultShared {
    pub(super) id: u64,
    pub(super) name: String,
    /// Which generation of contexts; the plain one has no name.
    pub(super) generation: String,
    pub(super) path: PathBuf,
    /// What answers queries: a snapshot, and the desk whose embedder made its vectors.
    pub(super) published: ArcSwapOption<(Arc<Snapshot>, Arc<Desk>)>,
    /// Whether the answers have become others, by a new snapshot or another generation, and nobody was told yet.
    untold: AtomicBool,
    /// The links, as of a snapshot that may be older than the published one.
    pub(super) graph: ArcSwapOption<Graph>,
    pub(super) policy: ArcSwapOption<Policy>,
    pub(super) status: Mutex<VaultStatus>,
    pub(super) counts: Mutex<Counts>,
    pub(super) embedding: Mutex<report::EmbedStatus>,
    pub(super) synced_at: Mutex<Option<i64>>,
    pub(super) batches: AtomicU64,
}

impl VaultShared {
    pub(super) fn new(id: u64, vault: &VaultConfig, generation: &str) -> Arc<Self> {
        let status = VaultStatus { name: vault.name.clone(), path: vault.path.clone(), ..VaultStatus::default() };
        Arc::new(VaultShared {
            id,
            name: vault.name.clone(),
            generation: generation.to_owned(),
            path: vault.path.clone(),
            published: ArcSwapOption::empty(),
            untold: AtomicBool::new(false),
            graph: ArcSwapOption::empty(),
            policy: ArcSwapOption::empty(),
            status: Mutex::new(status),
            counts: Mutex::default(),
            embedding: Mutex::default(),
            synced_at: Mutex::default(),
            batches: AtomicU64::new(0),
        })
    }

    /// Has a snapshot answer from now on.
    pub(super) fn publish(&self, snapshot: Arc<Snapshot>, desk: Arc<Desk>) {
        self.published.store(Some(Arc::new((snapshot, desk))));
        self.mark_untold();
    }

    /// Other answers are given from now on.
    pub(super) fn mark_untold(&self) {
        self.untold.store(true, Ordering::Relaxed);
    }

    /// Whether it is to be told that other answers are given; it counts as told then.
    pub(super) fn take_untold(&self) -> bool {
        self.untold.swap(false, Ordering::Relaxed)
    }

    pub(super) fn status(&self) -> MutexGuard<'_, VaultStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn embedding(&self) -> MutexGuard<'_, report::EmbedStatus> {
        self.embedding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn synced_at(&self) -> MutexGuard<'_, Option<i64>> {
        self.synced_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.published.load().as_ref().map(|published| published.0.clone())
    }

    pub(super) fn desk(&self) -> Option<Arc<Desk>> {
        self.published.load().as_ref().map(|published| published.1.clone())
    }

    pub(super) fn next_batch(&self) -> u64 {
        self.batches.fetch_add(1, Ordering::Relaxed)
    }
}
