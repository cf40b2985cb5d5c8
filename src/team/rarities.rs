//! How many chunks of a collection have a term.
//!
//! The server counts that for its weights but does not report it. It follows from a score: that of the best chunk for
//! one term alone is the chunk's weight of the term times the server's. (Qdrant's `idf` is the logarithm of
//! 1 + (n − h + .5) / (h + .5), with n points of which h have the term, in all vaults of the collection:
//! `lib/segment/src/index/sparse_index`, 1.18.) Each term is asked once, together with a search, and remembered until
//! the collection has changed by more than a few revisions.

use std::collections::HashMap;

use index::terms::{AskedTerm, MeanLengths, WordStatistics, having};
use serde_json::{Value, json};

use crate::collection::WORDS;
use crate::server::Read;

/// The most terms that are remembered.
const TERMS: usize = 8192;

/// Revisions after which they are asked again; each has a few notes.
const REVISIONS: u64 = 16;

/// What is known of a collection's terms.
#[derive(Debug, Default)]
pub(crate) struct Rarities {
    /// Chunks of the collection.
    chunks: u64,
    /// By the number of the term.
    having: HashMap<u32, u64>,
    /// The sum over all vaults of the numbers up to which points were visible when the first term was asked.
    revisions: u64,
}

impl Rarities {
    /// The terms that are still to be asked; `seen` has the number up to which points are visible, of each vault.
    pub(crate) fn unknown(&mut self, terms: &[AskedTerm], seen: HashMap<&str, u64>) -> Vec<u32> {
        let revisions = seen.into_values().sum::<u64>();
        if revisions.abs_diff(self.revisions) > REVISIONS || self.having.len() > TERMS {
            *self = Rarities { revisions, ..Rarities::default() };
        }
        terms.iter().map(|term| term.number).filter(|number| !self.having.contains_key(number)).collect()
    }

    /// The search that reveals how many chunks have a term.
    pub(crate) fn search(number: u32) -> Value {
        json!({
            "query": {"indices": [number], "values": [1.0]}, "using": WORDS, "limit": 1, "with_payload": false,
            "with_vector": [WORDS],
        })
    }

    /// Remembers what these searches found, in a collection of so many chunks.
    pub(crate) fn learn(&mut self, chunks: Option<u64>, found: impl Iterator<Item = (u32, Vec<Read>)>) {
        self.chunks = chunks.unwrap_or(self.chunks);
        for (number, best) in found {
            let having = best.first().map_or(Some(0), |best| {
                let rarity = best.score / weight(&best.vector[WORDS], number)?;
                rarity.is_finite().then(|| having(self.chunks, rarity))
            });
            if let Some(having) = having {
                self.having.insert(number, having);
            }
        }
    }

    /// What is known of these terms.
    pub(crate) fn of(&self, terms: Vec<AskedTerm>, mean: MeanLengths) -> WordStatistics {
        let known = |term: AskedTerm| self.having.get(&term.number).map(|having| (term, *having));
        WordStatistics { chunks: self.chunks, terms: terms.into_iter().filter_map(known).collect(), mean }
    }
}

/// The weight of a term in a sparse vector.
fn weight(vector: &Value, number: u32) -> Option<f32> {
    let at = vector["indices"].as_array()?.iter().position(|index| index.as_u64() == Some(number.into()))?;
    vector["values"].get(at)?.as_f64().map(|weight| weight as f32)
}

#[cfg(test)]
mod tests;
