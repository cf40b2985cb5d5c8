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
