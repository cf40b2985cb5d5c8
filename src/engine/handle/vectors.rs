//! The handle's part in vectors: those of queries, and how far those of notes are.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use super::{CallError, Handle, parse_path};
use crate::embed::Vector;
use crate::engine::decide::Desk;
use crate::engine::report::{EmbedStatus, RelatedRequest, SearchAnswer};
use crate::engine::{Shared, VaultShared};
use crate::fingerprint::ChunkId;
use crate::index::Snapshot;
use crate::search::Seed;

/// The vectors of one request, by embedder: each is asked once, however many vaults it serves.
pub(super) struct QueryVectors<'a> {
    shared: &'a Arc<Shared>,
    known: HashMap<String, Option<Vector>>,
    /// Why there is none.
    warnings: Vec<String>,
}

impl QueryVectors<'_> {
    /// The vector of the request's text; without one words alone answer.
    pub(super) fn of(&mut self, desk: &Desk, text: &str) -> Option<Vector> {
        let identity = desk.service.embedder.identity();
        if let Some(known) = self.known.get(identity) {
            return known.clone();
        }
        let vector = match self.shared.query_vector(&desk.service, text) {
            Ok(vector) => Some(vector),
            Err(why) => {
                self.warnings.push(format!("words alone answered: {why}"));
                None
            }
        };
        self.known.insert(identity.to_owned(), vector.clone());
        vector
    }

    /// The answer with what was odd about the vectors.
    pub(super) fn warn(self, mut answer: SearchAnswer) -> SearchAnswer {
        answer.warnings.extend(self.warnings);
        answer
    }
}

impl Handle {
    /// For the vectors of one request.
    pub(super) fn vectors(&self) -> QueryVectors<'_> {
        QueryVectors { shared: &self.0, known: HashMap::new(), warnings: Vec::new() }
    }

    /// What is near to be found to.
    pub(super) fn seed(
        &self,
        request: &RelatedRequest,
        snapshot: &Snapshot,
        desk: &Desk,
    ) -> Result<Option<Seed>, CallError> {
        if let Some(path) = &request.path {
            let path = parse_path(path)?;
            return Ok(snapshot.note_at(&path).map(|note| Seed::Note(note.no)));
        }
        if let Some(id) = &request.chunk {
            let id: ChunkId =
                id.parse().map_err(|e: crate::fingerprint::BadFingerprint| CallError::Invalid(e.to_string()))?;
            return Ok(snapshot.row_of(id).map(Seed::Chunk));
        }
        let text = request.text.as_deref().unwrap_or_default();
        let vector = self.0.query_vector(&desk.service, text);
        vector.map(|vector| Some(Seed::Vector(vector))).map_err(CallError::Provider)
    }

    /// How far vectors are, for `status`.
    pub(super) fn embed_status(&self, vaults: &[Arc<VaultShared>]) -> EmbedStatus {
        let mut sum = EmbedStatus::default();
        for vault in vaults {
            let of_it = vault.embedding().clone();
            sum.waiting += of_it.waiting;
            sum.done += of_it.done;
            sum.total += of_it.total;
            sum.next = sum.next.or(of_it.next);
        }
        sum
    }

    /// Where embedders send texts, for `status`.
    pub(super) fn embedders_leave(&self) -> Vec<String> {
        let to = self.0.embedders.lock().unwrap_or_else(PoisonError::into_inner).clone();
        to.into_iter().map(|host| format!("text of notes and queries, to {host}, which makes vectors")).collect()
    }
}
