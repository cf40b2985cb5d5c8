//! The vectors of queries: they are cached, waited for with a deadline, and left out if they do not come in time.

use std::num::NonZeroUsize;
use std::sync::{Arc, mpsc};

use parking_lot::Mutex;

use lru::LruCache;

use super::super::Shared;
use super::Service;
use crate::interrupted::budget_message;
use index::embed::Vector;
use provider::EmbedError;

/// Queries whose vectors are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// An LRU cache of the vectors of former queries, by embedder and text. No code that can panic runs under its lock.
pub(crate) struct Queries(Mutex<LruCache<(String, String), Vector>>);

impl Default for Queries {
    fn default() -> Self {
        Queries(Mutex::new(LruCache::new(REMEMBERED)))
    }
}

impl Shared {
    /// The vector of a query, or why words alone have to answer. Blocks, as long as a query may wait for it.
    pub(crate) fn query_vector(self: &Arc<Self>, service: &Arc<Service>, text: &str) -> Result<Vector, String> {
        let embedder = &service.embedder;
        if let Some(vector) = embedder.at_once(text) {
            return Ok(vector);
        }
        let key = (embedder.identity().to_owned(), text.to_owned());
        if let Some(vector) = self.services.queries.0.lock().get(&key).cloned() {
            return Ok(vector);
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        // A vector that comes too late for this query is there for the next one like it.
        let shared = Arc::downgrade(self);
        embedder.embed_query_then(text, move |vector| {
            if let (Ok(vector), Some(shared)) = (&vector, shared.upgrade()) {
                shared.services.queries.0.lock().put(key, vector.clone());
            }
            // The caller may have given up.
            let _ = sender.send(vector);
        });
        let wait = embedder.query_timeout();
        receiver.recv_timeout(wait).unwrap_or(Err(EmbedError::Late(wait))).map_err(|error| match error {
            EmbedError::Budget(refused) => budget_message(&refused),
            error => error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests;
