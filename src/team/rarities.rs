//! How many chunks of a collection have a term.
//!
//! The server counts that for its weights and tells it nowhere; but the best chunk for one term alone has a score that is
//! the chunk's weight of it times the server's, which gives the number. (Qdrant's `idf` is the logarithm of 1 + (n − h +
//! .5) / (h + .5), with n points of which h have the term, in all vaults of the collection:
//! `lib/segment/src/index/sparse_index`, 1.18.) It is asked once per term, together with a search, and remembered until
//! the collection is another by more than a few revisions.

use std::collections::HashMap;

use index::terms::{AskedTerm, MeanLengths, WordStatistics, having};
use serde_json::{Value, json};

use crate::collection::WORDS;
use crate::server::Read;

/// Terms that are remembered.
const TERMS: usize = 8192;

/// Revisions after which they are asked again; each has a few notes.
const REVISIONS: u64 = 16;

/// What is known of a collection's terms.
#[derive(Debug, Default)]
pub(crate) struct Rarities {
    /// Of the collection.
    chunks: u64,
    /// By the number of the term.
    having: HashMap<u32, u64>,
    /// Up to which number points were visible when the first of them was asked, all vaults together.
    revisions: u64,
}

impl Rarities {
    /// The terms that are to be asked; `seen` is up to which number points of each vault are visible.
    pub(crate) fn unknown(&mut self, terms: &[AskedTerm], seen: HashMap<&str, u64>) -> Vec<u32> {
        let revisions = seen.into_values().sum::<u64>();
        if revisions.abs_diff(self.revisions) > REVISIONS || self.having.len() > TERMS {
            *self = Rarities { revisions, ..Rarities::default() };
        }
        terms.iter().map(|term| term.number).filter(|number| !self.having.contains_key(number)).collect()
    }

    /// The search that tells of a term.
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
