//! Vectors from models behind HTTP: [`Embeddings`] asks for vectors as [`CompletionClient`](super::CompletionClient)
//! asks for completions, over its own line with the same attempts, pauses and circuit breaker.

#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::sync::Arc;

use reqwest::Method;

use super::client::{Rules, Shared, With};
use super::keyring::Keyring;
use super::ledger::Settled;
use super::retry::{Fault, Next};
use super::spender::{Account, Payment, Purchase, Unanswered};
use super::transport::Transport;
use super::{ADDED, FailureKind, Health, passes_on, possible};
use context::cost::{Usage, estimate_tokens};
use index::embed::TextKind;
use index::embed::settings::{EmbedConfig, EmbedProvider};
use wire::EmbedWire;

pub use wire::PerCall;

/// What [`EmbedWire::read`] makes of an answer: for fuzzing.
#[cfg(any(test, fuzzing))]
pub(super) fn read(body: &[u8], documents: &[TextGroup]) -> Result<(Vec<Vec<f32>>, Option<u64>), String> {
    EmbedWire::read(body, documents)
}

/// Longest answer: the most texts of a call, at 4,096 dimensions written out in full.
const MOST_ANSWER: usize = 64 << 20;

/// The deadline of a call with all its attempts, as a multiple of the timeout of one attempt.
const ATTEMPTS_TIME: u32 = 5;

/// Texts that a model sees together; for most models each text stands alone.
pub type TextGroup = Vec<String>;

/// Vectors of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// One per text, in the order of the texts, all of the same length, of finite numbers.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that were read.
    pub tokens: u64,
    /// Whether the provider did not report them, so that they are an estimate.
    pub estimated: bool,
}

/// A provider of vectors. Cheap to clone; clones share line and limits.
#[derive(Clone)]
pub struct Embeddings {
    line: Arc<Shared<EmbedWire>>,
    model: Arc<str>,
    /// Micro-dollars per million tokens; `None` if nobody knows, 0 if it is free.
    price: Option<u64>,
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
        let transport = Transport::new(&wire.address)?
            .passing_on(passes_on(config.passes_on, config.model()))
            .with_answers_of(MOST_ANSWER);
        let keys = Keyring::new(config.provider, config.key.clone());
        let times = (config.timeout, config.timeout * ATTEMPTS_TIME);
        let price = price(config, transport.leaves_to().is_none());
        let line = Shared::new(config.provider.name(), wire, transport, keys, config.concurrency, times);
        Ok(Embeddings { line: Arc::new(line), model: config.model().into(), price })
    }

    /// What a million tokens cost, in micro-dollars; `None` if nobody knows, 0 if it is free.
    pub fn price(&self) -> Option<u64> {
        self.price
    }

    /// Asks for the vectors of texts. `dimensions` is what they must have, if that is known. Somebody waits for an
    /// `urgent` call, so it does not queue behind other calls.
    ///
    /// # Errors
    /// See [`Unanswered`]; [`FailureKind::UnknownModel`] as well if the vectors have other dimensions.
    pub async fn embed(
        &self,
        documents: &[TextGroup],
        kind: TextKind,
        dimensions: Option<usize>,
        urgent: bool,
        account: &Account,
    ) -> Result<Embedded, Unanswered> {
        let line = &*self.line;
        let rules = Rules { each: line.timeout, whole: line.deadline, unsure: true, urgent };
        let most: u64 = documents.iter().flatten().map(|text| tokens_of(text)).sum();
        let bytes: u64 = documents.iter().flatten().map(|text| text.len() as u64).sum();
        let attempt = async |with: With| {
            let request = line.wire.request(documents, kind, with.key.as_deref()).map_err(Fault::never)?;
            let reply = line.send(Method::POST, request).await?;
            let (vectors, tokens) =
                EmbedWire::read(&reply.body, documents).map_err(|message| line.unread(&reply, message))?;
            let tokens = tokens.map(|told| possible(told, bytes.max(most) + ADDED));
            match vectors.first() {
                Some(first) if dimensions.is_some_and(|expected| expected != first.len()) => {
                    let (found, expected) = (first.len(), dimensions.unwrap_or(0));
                    // Neither another attempt nor another text fares better.
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
        let payment = if self.price == Some(0) {
            Payment::free(account.wanted.clone())
        } else {
            let (provider, model, micro_dollars) = (line.provider, self.model.clone(), cost_of(self.price, most));
            Payment::of(Purchase { account: account.clone(), provider, model, micro_dollars, tokens: most })
        };
        let (done, payment) = line.paid_call(rules, payment, attempt).await?;
        let (vectors, told) = done.value;
        let (tokens, estimated) = (told.unwrap_or(most), told.is_none());
        let usage = Usage { input: tokens, estimated, ..Usage::default() };
        let micro_dollars = cost_of(self.price, tokens);
        payment.settle(Settled { usage, micro_dollars, contexts: 0, failed: false }).await;
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

/// What a million tokens cost, in micro-dollars; `None` if nobody knows. What runs on this machine is free, unless it
/// is known as a vendor's model, which a proxy passes on.
fn price(config: &EmbedConfig, stays_here: bool) -> Option<u64> {
    let known = config.known().price;
    let local = stays_here && known.is_none();
    let ollama = config.provider == EmbedProvider::Ollama && !passes_on(config.passes_on, config.model());
    config.price_per_mtok.or(if local || ollama { Some(0) } else { known })
}

/// Micro-dollars of so many tokens, rounded up.
pub fn cost_of(price: Option<u64>, tokens: u64) -> Option<u64> {
    let micro = (u128::from(price?) * u128::from(tokens)).div_ceil(1_000_000);
    Some(u64::try_from(micro).unwrap_or(u64::MAX))
}

/// Tokens of a text, about; errs upwards.
pub fn tokens_of(text: &str) -> u64 {
    u64::from(estimate_tokens(text, 1.2))
}
