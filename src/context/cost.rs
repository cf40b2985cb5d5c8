//! Tokens and money, in integer micro-dollars. Pure.

mod estimate;

use serde::{Deserialize, Serialize};

use super::models::{Price, Rates};
use super::prompt::Prompt;

pub use estimate::{Asking, LATIN, NoteSize, estimate};

/// Tokens of a text are counted in eighteenths: a byte of Latin text is 1 / 3.6 = 5 / 18 of a token.
const PER_TOKEN: u64 = 18;

/// Micro-dollars in a dollar, and tokens that [`Rates`] are for.
const MILLION: u64 = 1_000_000;

/// What a call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

impl Usage {
    /// What a call may use at most: nothing cached, an answer as long as it may be.
    pub fn upper(prompt: &Prompt) -> Self {
        Usage {
            input: u64::from(prompt.tokens),
            output: u64::from(prompt.max_tokens),
            estimated: true,
            ..Usage::default()
        }
    }

    /// All tokens that the model read.
    pub fn tokens_in(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens_in().saturating_add(self.output)
    }
}

/// Tokens of a text, about: bytes / 3.6, rounded up, times the model's factor. Errs upwards for other scripts
/// than Latin: a character of three bytes (Chinese, Japanese, Thai, …) is a token, one of four (emoji) two.
pub fn estimate_tokens(text: &str, factor: f32) -> u32 {
    let parts: u64 = text.chars().map(parts_of_token).sum();
    let tokens = (parts.div_ceil(PER_TOKEN) as f64 * usable(factor)).ceil();
    // `as` saturates.
    tokens as u32
}

/// Eighteenths of a token that a character takes.
fn parts_of_token(c: char) -> u64 {
    match c.len_utf8() {
        1 => 5,
        2 => 10,
        3 => PER_TOKEN,
        _ => 2 * PER_TOKEN,
    }
}

/// A model's factor, or 1 where it makes no sense.
fn usable(factor: f32) -> f64 {
    if factor.is_finite() && factor > 0.0 { f64::from(factor) } else { 1.0 }
}

/// Micro-dollars of a call, rounded up; `None` if the price is not known. `batch` applies the batch rate. All tokens of
/// the prompt, cached or not, decide which rates apply.
pub fn cost(price: &Price, usage: &Usage, batch: bool) -> Option<u64> {
    let rates = match price {
        Price::Unknown => return None,
        Price::Free => return Some(0),
        Price::Tokens(rates) => rates_for(rates, usage),
    };
    let parts = [
        (usage.input, rates.input),
        (usage.output, rates.output),
        (usage.cache_write, rates.cache_write),
        (usage.cache_read, rates.cache_read),
    ];
    let percent = if batch { rates.batch_percent } else { 100 };
    let product = |(tokens, rate): (u64, u64)| u128::from(tokens) * u128::from(rate);
    let sum = parts.into_iter().map(product).fold(0_u128, u128::saturating_add);
    let micro = sum.saturating_mul(u128::from(percent)).div_ceil(u128::from(MILLION) * 100);
    Some(u64::try_from(micro).unwrap_or(u64::MAX))
}

/// The rates for a prompt of that length.
fn rates_for<'a>(mut rates: &'a Rates, usage: &Usage) -> &'a Rates {
    let prompt = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    while let Some((limit, above)) = &rates.above
        && prompt > u64::from(*limit)
    {
        rates = above;
    }
    rates
}

/// Millionths of a dollar as dollars: two decimals, or as many as it takes. Without a dollar sign, as the configuration
/// reads it.
pub fn decimal_dollars(micro: u64) -> String {
    let mut text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    for _ in 0..4 {
        if text.ends_with('0') {
            text.pop();
        }
    }
    text
}

/// Money for a person: `$1.20`, `$0.0042`. From a dollar on with two decimals, below it with up to four or six; a sum
/// above 0 never looks like 0.
pub fn dollars(micro: u64) -> String {
    let (unit, digits) = match micro {
        // The least sum that rounds to a dollar.
        999_950.. => (10_000, 2),
        100.. => (100, 4),
        _ => (1, 6),
    };
    // Rounded half up, without an overflow at the top.
    let units = micro / unit + u64::from(micro % unit >= unit.div_ceil(2) && unit > 1);
    let per_dollar = MILLION / unit;
    let mut text = format!("${}.{:0digits$}", units / per_dollar, units % per_dollar);
    while text.ends_with('0') && text.len() - text.find('.').unwrap_or(0) > 3 {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests;
