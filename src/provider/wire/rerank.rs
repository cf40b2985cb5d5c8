//! Rerankers: how well documents answer a query. Cohere, Voyage, Jina, TEI, and the servers that speak like one of
//! them. They ask alike and answer in five shapes, which are read as one.

use serde_json::{Value, json};

use super::address::Address;
use super::refusal::Who;
use super::{JSON, Protocol, Request, bearer, bytes, parsed, plain};
use crate::key::Key;
use crate::{Failure, FailureKind};
use index::search::rerank::{RerankConfig, RerankProvider};

/// Documents that TEI takes in a request unless its user says otherwise (`max_client_batch_size`).
const TEI_BATCH: usize = 32;

/// A reranker's interface, with the model that is asked.
#[derive(Clone, Debug)]
pub(crate) struct Rerank {
    provider: RerankProvider,
    pub(crate) address: Address,
    /// Empty if the server has only one.
    model: String,
}

/// What a server says of the documents of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judgement {
    /// One for each document; `None` for those that it passed over.
    pub(crate) scores: Vec<Option<f32>>,
    /// Tokens that are billed.
    pub(crate) tokens: Option<u64>,
    /// Searches that are billed.
    pub(crate) searches: Option<u64>,
}

impl Rerank {
    /// The interface that a configuration asks for.
    ///
    /// # Errors
    /// What is wrong with the address, or that there is none.
    pub(crate) fn new(config: &RerankConfig) -> Result<Self, String> {
        let url = config.base_url.as_deref().or(config.provider.base_url());
        let url = url.ok_or_else(|| format!("`rerank.base_url` is missing for \"{}\"", config.provider.name()))?;
        // The paths below begin with these.
        let suffixes: &[&str] = match config.provider {
            RerankProvider::Cohere => &["/rerank", "/v2", "/v1"],
            RerankProvider::Voyage | RerankProvider::Jina => &["/rerank", "/v1"],
            _ => &["/rerank"],
        };
        let address = Address::parse(url, suffixes)?;
        Ok(Rerank { provider: config.provider, address, model: config.model().to_owned() })
    }

    /// Most documents of a request.
    pub(crate) fn batch(&self) -> usize {
        if self.is_tei() { TEI_BATCH } else { usize::MAX }
    }

    /// TEI serves one model. A server that needs its name is another one, and is asked like most of them.
    fn is_tei(&self) -> bool {
        self.provider == RerankProvider::Tei && self.model.is_empty()
    }

    /// The request for a query and documents.
    ///
    /// # Errors
    /// [`FailureKind::Unauthorized`] if a key is needed and there is none.
    pub(crate) fn request(&self, query: &str, documents: &[String], key: Option<&Key>) -> Result<Request, Failure> {
        let (path, body) = match self.provider {
            _ if self.is_tei() => {
                ("/rerank", json!({ "query": query, "texts": documents, "truncate": true, "raw_scores": false }))
            }
            RerankProvider::Cohere => {
                ("/v2/rerank", json!({ "model": self.model, "query": query, "documents": documents }))
            }
            RerankProvider::Voyage => (
                "/v1/rerank",
                json!({ "model": self.model, "query": query, "documents": documents, "truncation": true }),
            ),
            RerankProvider::Jina => (
                "/v1/rerank",
                json!({ "model": self.model, "query": query, "documents": documents, "return_documents": false }),
            ),
            _ => ("/rerank", json!({ "model": self.model, "query": query, "documents": documents })),
        };
        let mut headers = vec![plain(JSON)];
        match key {
            Some(Key::Bearer(key)) => headers.push(bearer(key)),
            None if self.provider == RerankProvider::Tei || self.address.is_loopback() => {}
            Some(Key::Aws { .. }) | None => return Err(self.no_key()),
        }
        Ok(Request { url: self.address.join(path), headers, body: bytes(&body) })
    }

    fn no_key(&self) -> Failure {
        let variable = self.provider.variables().first().map(|name| format!(", or set {name}")).unwrap_or_default();
        let message = format!(
            "no key is found, and {} wants one: name a file that only you can read in `rerank.key_file`, \
             or a command in `rerank.key_command`{variable}",
            self.address.origin()
        );
        Failure::new(FailureKind::Unauthorized, message)
    }

    /// Reads the body of a success about so many documents. An answer may leave documents out, and of two scores for
    /// one document the first counts. An answer that scores a document that was not sent is an error.
    ///
    /// # Errors
    /// Why it is not an answer. Never holds text of the body.
    pub(crate) fn read(body: &[u8], documents: usize) -> Result<Judgement, String> {
        let value = parsed(body)?;
        let items = ["results", "data"].into_iter().find_map(|name| value.get(name)).unwrap_or(&value);
        let items = items.as_array().ok_or("the answer holds no list of results")?;
        let mut scores = vec![None; documents];
        for item in items {
            let index = item.get("index").and_then(Value::as_u64).ok_or("a result has no index")?;
            let place = usize::try_from(index).ok().and_then(|index| scores.get_mut(index));
            let place = place.ok_or("a result is about a document that was not sent")?;
            let score = item.get("relevance_score").or_else(|| item.get("score")).and_then(Value::as_f64);
            let score = score.map(|score| score as f32).filter(|score| score.is_finite());
            *place = place.or(score);
        }
        if documents > 0 && scores.iter().all(Option::is_none) {
            return Err("the answer judges no document".to_owned());
        }
        let count = |path: &str| value.pointer(path).and_then(Value::as_f64).filter(|n| *n >= 1.0).map(|n| n as u64);
        let tokens = ["/usage/total_tokens", "/meta/billed_units/input_tokens", "/meta/tokens/input_tokens"];
        Ok(Judgement {
            scores,
            tokens: tokens.into_iter().find_map(count),
            searches: count("/meta/billed_units/search_units"),
        })
    }
}

impl Protocol for Rerank {
    fn who(&self) -> Who<'_> {
        Who { base: self.address.origin(), model: &self.model, ollama: false, section: "rerank", fields: &[] }
    }
}

#[cfg(test)]
mod tests;
