//! Models behind HTTP: one completion request for every provider, which withstands real networks.
//!
//! [`CompletionClient`] asks for a whole answer or for one that is shown as it comes, and [`Batches`] asks for an
//! answer within the day at half the price. Only `wire` knows what goes over the wire, and only `key` knows where the
//! key is. `limiter` decides how many requests are under way, `circuit_breaker` whether the provider is asked at all,
//! and `retry` what follows from a failed attempt; `transport` moves the bytes. The [`ledger`] records what calls cost,
//! and the [`spender`] is the one way to spend. A key and a note's text go to the provider and nowhere else: neither is
//! in a message or in the log.

mod batches;
mod circuit_breaker;
mod client;
mod embedder;
mod embeddings;
#[cfg(any(test, fuzzing))]
#[path = "../../tests/fuzz/bodies/provider.rs"]
pub mod fuzz;
pub mod hub;
mod key;
mod keyring;
pub mod ledger;
mod limiter;
pub mod models;
mod patience;
mod reply;
mod rerank;
pub mod rest;
mod retry;
mod runtime;
#[cfg(feature = "simulation")]
pub mod simulation;
pub mod settings;
pub mod spender;
mod static_model;
mod stream;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod transformer;
mod transport;
mod wire;

use std::sync::Once;
use std::time::Duration;

use context::cost::Usage;
use context::models::{Model, is_passed_on};
use context::settings::{ContextConfig, Provider};

pub use batches::{BatchState, Batches, SubmittedBatch};
pub use client::{CallTurn, CompletionClient};
pub use embedder::{EmbedError, Embedder, Made};
pub use embeddings::{Embedded, Embeddings, PerCall, TextGroup, cost_of, tokens_of};
pub use key::{KeyPlace, Whose, check_file as check_key_file, keep_key_reader, place as key_place};
pub use rerank::RerankClient;
pub use runtime::ProviderRuntime;
pub use spender::{Account, Owed, Spender, Unanswered, Wanted};
pub use static_model::{StaticError, StaticModel, TABLE_FILES};
pub use stream::{ShowText, Streamed};
use wire::Answer;

/// What is known about the model of a configuration. At an address of this machine it may cost nothing, except behind a
/// gateway, whose bill comes later.
///
/// # Errors
/// What is wrong with the user's settings of models.
pub fn model(config: &ContextConfig) -> Result<Model, String> {
    Model::find(config.provider, config.model(), runs_here(config), &config.models)
}

/// Whether text that is shown to a configuration's model leaves this machine.
pub fn leaves(config: &ContextConfig) -> bool {
    config.costs() && !runs_here(config)
}

/// Whether a configuration's model is at an address of this machine that passes nothing on.
fn runs_here(config: &ContextConfig) -> bool {
    let local = match &config.base_url {
        Some(url) => wire::is_loopback(url),
        None => config.provider == Provider::Ollama,
    };
    local && !passes_on(config.passes_on, config.model())
}

/// Whether a server passes what it is asked for a model on to others: as the user `said`, or by the model's name.
fn passes_on(said: bool, model: &str) -> bool {
    said || is_passed_on(model)
}

/// Tokens that a provider may add to what it is sent, and to an answer, for its own purposes.
const ADDED: u64 = 1000;

/// What a provider says that it counted, but at most what is possible: a wrong count would use up a budget of months.
fn possible(told: u64, most: u64) -> u64 {
    static SAID: Once = Once::new();
    if told > most {
        SAID.call_once(|| {
            tracing::warn!(told, most, "a provider counts more than a call can have; what is possible counts instead");
        });
    }
    told.min(most)
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The text: all text blocks, thinking left out.
    pub text: String,
    /// How it ended.
    pub finish: Finish,
    /// What it used; estimated if the provider did not say.
    pub usage: Usage,
    /// From the first attempt to the answer.
    pub took: Duration,
    /// Attempts it took.
    pub attempts: u32,
}

impl Completion {
    fn of(answer: Answer, took: Duration, attempts: u32) -> Self {
        let Answer { text, finish, usage } = answer;
        Completion { text, finish, usage, took, attempts }
    }
}

/// How an answer ended, as the provider says (which may be wrong).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// By itself.
    Stop,
    /// At the cap of tokens.
    Length,
    /// Declined, by the model or by a filter.
    Refusal,
    /// By an error, or for something other than an answer, as the call of a tool.
    Broken,
    /// Something else, or nothing was said.
    Other,
}

/// Why there is no answer, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What follows.
    pub kind: FailureKind,
    /// For the user: what, where, what to do; never a key, never text of a note.
    pub message: String,
    /// Whether the provider may have counted the call (a deadline passed after the request was sent).
    pub maybe_billed: bool,
}

impl Failure {
    /// One of a call that the provider has not counted.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Failure { kind, message: message.into(), maybe_billed: false }
    }
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum FailureKind {
    /// The key is missing, wrong, or lacks the right: nothing is asked until the configuration changes or the user
    /// resumes.
    Unauthorized,
    /// The provider does not know the model: as above.
    UnknownModel,
    /// The account's limit or bill: nothing is asked for a long while, or until resumed.
    SpendLimit,
    /// The prompt is too long for the model: shorten it.
    TooLong,
    /// The provider refuses this request and always will.
    #[strum(serialize = "refused")]
    Rejected,
    /// The provider is down, or was a moment ago and is left alone: try later.
    Unavailable,
    /// The call was cancelled.
    Cancelled,
}

/// How a provider is doing, for `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Nothing is known against it.
    Good,
    /// It fails, and why; it is asked again after this time.
    Open(Duration, String),
    /// It refuses us, and why; it is not asked until the configuration changes or the user resumes, or for an hour
    /// after a spend limit.
    Stopped(String),
}
