//! What is known about models: prices and what their interfaces take. A dated table (`models.toml`), which the
//! user's configuration overrides. Pure.

use super::settings::{ModelOverride, Provider};

/// How thinking is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// The model does not think unless asked to: nothing is sent.
    Omit,
    /// `thinking: {type: disabled}` and the lowest effort.
    Disable,
    /// `thinking: {type: between_tools}`.
    BetweenTools,
    /// It cannot be switched off.
    Always,
    /// OpenAI's `reasoning_effort: none`, or the lowest there is (the string to send).
    Effort(&'static str),
}

/// A model as its interface sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Provider it is asked at.
    pub provider: Provider,
    /// Its id as sent.
    pub id: String,
    /// Whether the table or the user knows it; what is below are careful guesses if not.
    pub known: bool,
    /// Whether sampling parameters are taken.
    pub sampling: bool,
    /// How it is kept from thinking.
    pub thinking: Thinking,
    /// Name of the field that caps the answer, where the provider has several (`max_tokens`,
    /// `max_completion_tokens`); `None` leaves it to the dialect.
    pub output_cap: Option<String>,
    /// Whether a JSON schema can be enforced.
    pub json_schema: bool,
    /// Shortest prefix that the provider caches, tokens; `None`: it caches nothing, or by itself.
    pub min_cache_tokens: Option<u32>,
    /// Tokens of prompt and answer.
    pub context_size: u32,
    /// Tokens relative to the estimate of [`super::cost::estimate_tokens`].
    pub token_factor: f32,
    /// What it costs.
    pub price: Price,
}

/// What a model costs.
#[derive(Clone, Debug, PartialEq)]
pub enum Price {
    /// Nobody knows: never 0.
    Unknown,
    /// It runs on the user's own machine.
    Free,
    /// Per million tokens.
    Tokens(Rates),
}

/// Micro-dollars per million tokens (a dollar per million tokens is 1,000,000).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// When the prices were looked up, ISO.
    pub as_of: String,
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Put into the provider's cache.
    pub cache_write: u64,
    /// Read from it.
    pub cache_read: u64,
    /// What the batch interface takes of all that, in percent.
    pub batch_percent: u64,
    /// Other rates for prompts above so many tokens.
    pub above: Option<(u32, Box<Rates>)>,
}

impl Model {
    /// What is known about a model of a provider: the user's word, then the table by exact id, then by longest
    /// beginning, then careful guesses. `local` tells that it runs at an address of this machine.
    ///
    /// # Errors
    /// What is wrong with an override.
    pub fn find(_provider: Provider, _id: &str, _local: bool, _overrides: &[ModelOverride]) -> Result<Self, String> {
        todo!()
    }
}
