//! Vectors that a slow embedder is to make: which notes wait for them, and which have them now.

use std::collections::BTreeSet;

use crate::decide::Desk;
use crate::embedding::worker::Order;
use context::plan::Reason;
use index::embed::Input;
use note::VaultPath;
use provider::ledger::Purpose;
use store::record::NoteRecord;

/// What an indexer knows of vectors that have not come yet.
#[derive(Default)]
pub(super) struct PendingVectors {
    /// Notes whose vectors were ordered from the embedder that serves.
    ordered: BTreeSet<VaultPath>,
    /// Notes whose vectors came, and that are to be decided about again.
    arrived: BTreeSet<VaultPath>,
}

impl PendingVectors {
    /// A note was decided about and lacks these vectors: they are ordered.
    pub(super) fn order(
        &mut self,
        desk: &Desk,
        (vault, vault_name): (u64, &str),
        record: &NoteRecord,
        missing: Vec<Vec<Input>>,
        bulk: bool,
    ) {
        let Some(worker) = &desk.service.worker else { return };
        let path = &record.path;
        if desk.withholds_vectors(record) {
            // What was ordered before it became private is not sent any more.
            worker.forget(vault, path.clone());
            self.ordered.remove(path);
            return;
        }
        let documents: Vec<Vec<Input>> = missing.into_iter().filter(|document| !worker.refused(document)).collect();
        if documents.is_empty() {
            return;
        }
        self.ordered.insert(path.clone());
        worker.order(Order {
            vault,
            vault_name: vault_name.to_owned(),
            path: path.clone(),
            cache: std::sync::Arc::downgrade(&desk.vectors),
            documents,
            bulk,
            reason: Reason::BodyChanged,
            purpose: Purpose::Change,
            rebuild: None,
        });
    }

    /// The vectors of a note have come, or are given up.
    pub(super) fn came(&mut self, path: VaultPath) {
        self.ordered.remove(&path);
        self.arrived.insert(path);
    }

    /// Another handle of the embedder takes over: what the old one had is asked for again.
    pub(super) fn ask_again(&mut self) {
        self.arrived.append(&mut self.ordered);
    }

    /// Notes whose vectors have come: they are to be decided about again.
    pub(super) fn take_arrived(&mut self) -> BTreeSet<VaultPath> {
        std::mem::take(&mut self.arrived)
    }

    /// Notes that wait.
    pub(super) fn waiting(&self) -> u64 {
        self.ordered.len() as u64
    }
}
