//! The handle's part in vectors: those of queries, and how far those of notes are.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::Handle;
use crate::decide::NotePipeline;
use crate::{Shared, VaultShared};
use index::embed::Vector;
use protocol::search::SearchAnswer;
use protocol::status::EmbedStatus;

/// The vectors of one request, by embedder and text: each is asked for once, however many vaults it serves.
pub(super) struct QueryVectors<'a> {
    shared: &'a Arc<Shared>,
    known: HashMap<(String, String), Option<Vector>>,
    /// Why vectors are missing.
    warnings: Vec<String>,
}

impl QueryVectors<'_> {
    /// The vector of a text of the request; if there is none, the search goes by words alone.
    pub(super) fn of(&mut self, pipeline: &NotePipeline, text: &str) -> Option<Vector> {
        let key = (pipeline.service.embedder.identity().to_owned(), text.to_owned());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let vector = match self.shared.query_vector(&pipeline.service, text) {
            Ok(vector) => Some(vector),
            Err(why) => {
                self.warnings.push(why);
                None
            }
        };
        self.known.insert(key, vector.clone());
        vector
    }

    /// The answer, with warnings about missing vectors.
    pub(super) fn warn(self, mut answer: SearchAnswer) -> SearchAnswer {
        answer.warnings.extend(self.warnings.iter().map(|why| format!("words alone answered: {why}")));
        answer
    }

    /// Why there is no vector.
    pub(super) fn why(&self) -> String {
        self.warnings.join("; ")
    }
}

/// How far vectors are, for `status`.
pub(super) fn embed_status(vaults: &[Arc<VaultShared>]) -> EmbedStatus {
    let mut sum = EmbedStatus::default();
    for vault in vaults {
        let of_it = vault.embedding.lock().clone();
        sum.waiting += of_it.waiting;
        sum.done += of_it.done;
        sum.total += of_it.total;
        sum.next = sum.next.or(of_it.next);
    }
    sum
}

/// An empty collection for the vectors of one request.
pub(super) fn vectors(engine: &Handle) -> QueryVectors<'_> {
    QueryVectors { shared: &engine.0, known: HashMap::new(), warnings: Vec::new() }
}

/// Where embedders outside this machine send texts, for `status`.
pub(super) fn embedders_leave(engine: &Handle) -> impl Iterator<Item = String> {
    let all = engine.0.all_indexers();
    let to: BTreeSet<String> = all.iter().flat_map(|vault| vault.report().embedders.clone()).collect();
    to.into_iter().map(|host| format!("text of notes and queries, to {host}, which makes vectors"))
}
