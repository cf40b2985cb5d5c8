//! Tokens and money, in integer micro-dollars. Pure.

use super::models::Price;

/// What a call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read at the full price.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cache_read: u64,
    /// Tokens put into it.
    pub cache_write: u64,
    /// Whether the provider did not say, so that these are estimates.
    pub estimated: bool,
}

/// Tokens of a text, about: bytes / 3.6, rounded up, times the model's factor. Errs upwards for other scripts
/// than Latin.
pub fn estimate_tokens(_text: &str, _factor: f32) -> u32 {
    todo!()
}

/// Micro-dollars of a call, rounded up; `None` if the price is not known. `batch` applies the batch rate.
pub fn cost(_price: &Price, _usage: &Usage, _batch: bool) -> Option<u64> {
    todo!()
}

/// Temporary.
pub fn dollars(_micro: u64) -> String {
    todo!()
}
/// What a piece of work would take.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Estimate { pub notes: u64, pub chunks: u64, pub calls: u64, pub tokens_in: u64, pub tokens_cached: u64, pub tokens_out: u64, pub micro_dollars: Option<u64>, pub price_as_of: Option<String>, pub minutes: f64 }
/// A note as far as an estimate needs it: bytes of its text, and of each chunk that needs a context.
pub struct NoteSize { pub bytes: u64, pub chunks_in_note: u32, pub wanted: Vec<u64> }
pub fn estimate(_notes: impl IntoIterator<Item = NoteSize>, _model: &super::models::Model, _form: super::settings::FormChoice, _max_words: u32, _concurrency: usize, _batch: bool) -> Estimate { todo!() }
