//! Rerankers: a query and a passage are read together, which says more than two vectors do, and costs more.

use std::path::Path;

use rayon::prelude::*;

use super::batch::{Tokens, in_batches};
use super::folder::Folder;
use super::head::Head;
use super::network;
use super::settings::Settings;
use super::tokens::Pieces;
use super::weights::Weights;
use super::{Model, NOT_FINITE, TransformerError};

/// A model that says how well passages answer a query.
pub struct CrossEncoder {
    model: Model,
    head: Head,
}

impl std::fmt::Debug for CrossEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrossEncoder").field("identity", &self.identity()).finish_non_exhaustive()
    }
}

impl CrossEncoder {
    /// Reads the model in `folder`, which must have one label: how relevant a passage is. If the processor is faster
    /// with it, the layers' weights are rounded to about eleven bits. That changes scores by a few thousandths at most,
    /// and unlike vectors, scores are never compared with those of another machine.
    pub fn open(folder: &Path) -> Result<Self, TransformerError> {
        Self::read(folder, true)
    }

    /// The same, with all weights as they are.
    #[cfg(test)]
    pub(super) fn open_exact(folder: &Path) -> Result<Self, TransformerError> {
        Self::read(folder, false)
    }

    fn read(folder: &Path, rounds: bool) -> Result<Self, TransformerError> {
        let folder = Folder::open(folder)?;
        let settings = Settings::read_reranker(&folder)?;
        let head = |weights: &Weights<'_>, pieces: &Pieces| {
            network::head(weights, &settings.network, |token| pieces.id(token))
        };
        let (model, head) = Model::read(&folder, &settings, rounds, head)?;
        Ok(CrossEncoder { model, head })
    }

    /// The same, on this many threads at most (0 is 1). They take their priority from the thread that calls this.
    pub fn with_threads(self, most: usize) -> Result<Self, TransformerError> {
        Ok(CrossEncoder { model: self.model.with_threads(most)?, ..self })
    }

    /// Names the model and its weights.
    pub fn identity(&self) -> String {
        format!("reranker {} {}", self.model.name, &self.model.hash.to_hex()[..16])
    }

    /// Tokens of a query and a passage that the model reads together.
    pub fn max_tokens(&self) -> usize {
        self.model.max_tokens
    }

    /// How well each of `passages` answers `query`, in their order: 0 (not at all) to 1. A passage that is too long is
    /// cut off at its end; a query gets at most half of the tokens.
    pub fn scores(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>, TransformerError> {
        let Model { network, pieces, threads, width, .. } = &self.model;
        threads.run(|| {
            let query = pieces.query(query);
            let tokens: Vec<Tokens> = passages.par_iter().map(|passage| pieces.pair(&query, passage)).collect();
            in_batches(&tokens, |batch| {
                let score = |states: &[f32]| self.head.score(states, *width);
                let scores = network.read_states(batch, self.head.pooling, *width, score);
                let finite = scores.iter().all(|score| score.is_finite());
                if finite { Ok(scores) } else { Err(self.model.failed(NOT_FINITE)) }
            })
        })
    }
}
