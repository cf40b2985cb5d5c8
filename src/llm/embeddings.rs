//! Vectors from models behind HTTP: [`Embeddings`] asks for them as [`Client`](super::Client) asks for completions,
//! over a line of its own with the same attempts, pauses and circuit.

mod runner;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::sync::Arc;

use reqwest::Method;

use super::CLOUD;
use super::client::{Rules, Shared, With};
use super::keyring::Keyring;
use super::retry::{Fault, Next};
use super::transport::Transport;
use super::{Failure, FailureKind, Health};
use crate::context::cost::estimate_tokens;
use crate::embed::Kind;
use crate::embed::settings::EmbedConfig;
use wire::EmbedWire;

pub use runner::Runner;
pub use wire::PerCall;

/// Longest answer: the most texts of a call, at 4,096 dimensions written out in full.
const MOST_ANSWER: usize = 64 << 20;

/// A call with all its attempts takes at most so many times as long as one attempt may.
const ATTEMPTS_TIME: u32 = 5;

/// Texts that a model sees together; for most models each stands alone.
pub type Document = Vec<String>;

/// Vectors of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// One per text, in the order of the texts, all of the same length, of finite numbers.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that were read.
    pub tokens: u64,
    /// Whether the provider did not tell them.
    pub estimated: bool,
}

/// A provider of vectors. Cheap to clone; clones share line and limits.
#[derive(Clone)]
pub struct Embeddings {
    line: Arc<Shared<EmbedWire>>,
}

impl fmt::Debug for Embeddings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embeddings").field("host", &self.line.transport.host()).finish_non_exhaustive()
    }
}

impl Embeddings {
    /// For a configuration. Reads no key and opens no connection yet.
    ///
    /// # Errors
    /// What is wrong with the address, or that the provider is not asked over HTTP.
    pub fn new(config: &EmbedConfig) -> Result<Self, String> {
        let wire = EmbedWire::new(config)?;
        let transport = Transport::new(wire.base(), wire.is_loopback())?
            .passing_on(config.passes_on || config.model().ends_with(CLOUD))
            .with_answers_of(MOST_ANSWER);
        let keys = Keyring::new(config.provider, config.key.clone());
        let times = (config.timeout, config.timeout * ATTEMPTS_TIME);
        let line = Shared::new(config.provider.name(), wire, transport, keys, config.concurrency, times);
        Ok(Embeddings { line: Arc::new(line) })
    }

    /// Asks for the vectors of texts; `dimensions` is what they must have, if that is known. Somebody waits for what
    /// is `urgent`, so it does not queue behind other calls.
    ///
    /// # Errors
    /// See [`FailureKind`]; [`FailureKind::UnknownModel`] as well if the vectors have other dimensions.
    pub async fn embed(
        &self,
        documents: &[Document],
        kind: Kind,
        dimensions: Option<usize>,
        urgent: bool,
    ) -> Result<Embedded, Failure> {
        let line = &*self.line;
        let rules = Rules { each: line.timeout, whole: line.deadline, unsure: true, urgent };
        let attempt = async |with: With| {
            let request = line.wire.request(documents, kind, with.key.as_deref()).map_err(Fault::never)?;
            let reply = line.send(Method::POST, request).await?;
            let (vectors, tokens) =
                EmbedWire::read(&reply.body, documents).map_err(|message| line.unread(&reply, message))?;
            match vectors.first() {
                Some(first) if dimensions.is_some_and(|expected| expected != first.len()) => {
                    let (found, expected) = (first.len(), dimensions.unwrap_or(0));
                    // No other attempt fares better, and no other text.
                    let next = Next::Never(FailureKind::UnknownModel);
                    let message = format!(
                        "the model gives vectors of {found} dimensions, not of {expected}; set `embed.dimensions` to \
                         {found}, or leave it out, and reload"
                    );
                    Err(Fault { next, ..line.unread(&reply, message) })
                }
                _ => Ok((vectors, tokens)),
            }
        };
        let (vectors, tokens) = line.call(rules, attempt).await.map_err(|end| end.failure)?.value;
        let estimated = tokens.is_none();
        let tokens = tokens.unwrap_or_else(|| documents.iter().flatten().map(|t| tokens_of(t)).sum());
        Ok(Embedded { vectors, tokens, estimated })
    }

    /// How much one call may ask for.
    pub fn per_call(&self) -> PerCall {
        self.line.wire.per_call()
    }

    /// How the provider is doing.
    pub fn health(&self) -> Health {
        self.line.health()
    }

    /// Forgets what stopped it: the user says that it works again. The key is looked up anew.
    pub fn resume(&self) {
        self.line.resume();
    }

    /// Host (and port) that requests go to; `None` for an address of this machine.
    pub fn leaves_to(&self) -> Option<String> {
        self.line.transport.leaves_to()
    }
}

/// Tokens of a text, about; errs upwards.
pub fn tokens_of(text: &str) -> u64 {
    u64::from(estimate_tokens(text, 1.2))
}
