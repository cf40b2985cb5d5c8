//! Vectors that a slow embedder is to make: which notes wait for them, and which have them now.

use std::collections::BTreeSet;

use crate::decide::NotePipeline;
use crate::embedding::worker::EmbedJob;
use context::plan::Reason;
use index::embed::Input;
use note::VaultPath;
use provider::ledger::Purpose;
use store::record::NoteRecord;

/// Notes whose vectors are ordered at the same time at most: their texts are held in memory. Saves may be more.
const ORDERED: usize = 256;

/// What an indexer knows of vectors that have not come yet.
#[derive(Default)]
pub(super) struct PendingVectors {
    /// Notes whose vectors were asked of the embedder that serves.
    asked: BTreeSet<VaultPath>,
    /// Notes that wait until fewer are asked for: they are decided about again then.
    later: BTreeSet<VaultPath>,
    /// Notes of which the embedder refused a text.
    refused: BTreeSet<VaultPath>,
    /// Notes whose vectors came, and that are to be decided about again.
    arrived: BTreeSet<VaultPath>,
}

impl PendingVectors {
    /// A note was decided about and lacks these vectors: they are asked for.
    pub(super) fn ask(
        &mut self,
        pipeline: &NotePipeline,
        (vault, vault_name): (u64, &str),
        record: &NoteRecord,
        missing: Vec<Vec<Input>>,
        bulk: bool,
    ) {
        let Some(worker) = &pipeline.service.worker else { return };
        let path = &record.path;
        if pipeline.withholds_vectors(record) {
            // What was asked for before it became private is not sent any more.
            return self.forget(pipeline, vault, path);
        }
        let lacking = missing.len();
        let documents: Vec<Vec<Input>> = missing.into_iter().filter(|document| !worker.refused(document)).collect();
        if documents.len() < lacking {
            self.refused.insert(path.clone());
        }
        if documents.is_empty() {
            // Nor is what was asked for before it was undone.
            return self.forget(pipeline, vault, path);
        }
        if !self.asked.contains(path) && !self.has_room(bulk) {
            self.later.insert(path.clone());
            return;
        }
        self.later.remove(path);
        self.asked.insert(path.clone());
        worker.embed(EmbedJob {
            vault,
            vault_name: vault_name.to_owned(),
            path: path.clone(),
            cache: std::sync::Arc::downgrade(&pipeline.vectors),
            documents,
            bulk,
            reason: Reason::BodyChanged,
            purpose: Purpose::Change,
            rebuild: None,
        });
    }

    /// A note is gone from a path, or lacks nothing: what was asked for there is not sent any more.
    pub(super) fn forget(&mut self, pipeline: &NotePipeline, vault: u64, path: &VaultPath) {
        self.later.remove(path);
        if self.asked.remove(path)
            && let Some(worker) = &pipeline.service.worker
        {
            worker.forget(vault, path.clone());
        }
    }

    /// Whether vectors of a note may be asked for now.
    fn has_room(&self, bulk: bool) -> bool {
        self.asked.len() < if bulk { ORDERED } else { 4 * ORDERED }
    }

    /// The vectors of a note have come, or are given up.
    pub(super) fn came(&mut self, path: VaultPath) {
        self.asked.remove(&path);
        self.arrived.insert(path);
    }

    /// Another handle of the embedder takes over from the one of `pipeline`, which is sent nothing more: notes that wait
    /// for it are decided about again, which asks again.
    pub(super) fn ask_again(&mut self, pipeline: &NotePipeline, vault: u64) {
        if let Some(worker) = &pipeline.service.worker {
            self.asked.iter().for_each(|path| worker.forget(vault, path.clone()));
        }
        self.arrived.append(&mut self.asked);
        self.arrived.append(&mut self.later);
    }

    /// The user says that the embedder works again: what it refused is asked for once more.
    pub(super) fn resume(&mut self) {
        self.arrived.append(&mut self.refused);
    }

    /// Notes whose vectors have come, and if the indexer `rests`, some that wait for their turn: they are to be decided
    /// about again.
    pub(super) fn take_arrived(&mut self, rests: bool) -> BTreeSet<VaultPath> {
        if rests && self.asked.len() < ORDERED / 2 {
            let rest = self.later.iter().nth(ORDERED / 2).cloned().map(|from| self.later.split_off(&from));
            self.arrived.append(&mut std::mem::replace(&mut self.later, rest.unwrap_or_default()));
        }
        std::mem::take(&mut self.arrived)
    }

    /// How many notes wait.
    pub(super) fn waiting(&self) -> u64 {
        (self.asked.len() + self.later.len()) as u64
    }
}

#[cfg(test)]
mod tests;
