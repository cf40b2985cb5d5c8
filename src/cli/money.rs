//! Money, tokens and the outcomes of model calls, in words. A price that is not known is never shown as 0.

use super::print::{counted, grouped};
use super::session::safe;
use context::cost::dollars;
use context::quality::Flaw;
use protocol::contexts::Estimate;
use protocol::cost::Sums;

/// What is printed in place of a sum of money that is not known.
fn unknown(tokens: u64) -> String {
    format!("price unknown, {}", counted(tokens, "token"))
}

/// What calls cost: money, and separately the tokens of calls whose price is not known.
pub(super) fn spent(sums: &Sums) -> String {
    match (sums.micro_dollars, sums.unpriced_calls) {
        (0, 0) => "nothing".to_owned(),
        (micro, 0) => dollars(micro),
        (0, _) => unknown(sums.unpriced_tokens),
        (micro, _) => {
            let tokens = counted(sums.unpriced_tokens, "token");
            format!("{}, and {tokens} of unknown price", dollars(micro))
        }
    }
}

/// What a single call cost.
pub(super) fn price(micro_dollars: Option<u64>, tokens: u64) -> String {
    match micro_dollars {
        None => unknown(tokens),
        Some(0) => "free".to_owned(),
        Some(micro) => dollars(micro),
    }
}

/// What work would cost, with the date of the price.
pub(super) fn estimated(estimate: &Estimate) -> String {
    let tokens = estimate.tokens_in.saturating_add(estimate.tokens_out);
    match (estimate.micro_dollars, &estimate.price_as_of) {
        (None, _) => format!("price unknown: {}", counted(tokens, "token")),
        (Some(0), _) => "free".to_owned(),
        (Some(micro), Some(date)) => format!("about {} ({})", dollars(micro), dated(date)),
        (Some(micro), None) => format!("about {}", dollars(micro)),
    }
}

/// `prices of 2026-11-12`, or who set them.
pub(super) fn dated(as_of: &str) -> String {
    if as_of.starts_with(|c: char| c.is_ascii_digit()) {
        format!("prices of {}", safe(as_of))
    } else {
        "prices of your configuration".to_owned()
    }
}

/// Minutes as a person says them.
pub(super) fn minutes(minutes: f64) -> String {
    match minutes {
        m if m.is_nan() || m < 1.0 => "under a minute".to_owned(),
        m if m < 90.0 => format!("about {} min", m.round()),
        m if m < 48.0 * 60.0 => format!("about {} h", (m / 60.0).round()),
        m => format!("about {} days", (m / (24.0 * 60.0)).round()),
    }
}

/// What is meant by the name of a flaw of a context (`refusal`, …).
pub(super) fn flaw(name: &str) -> String {
    match serde_json::from_value::<Flaw>(name.into()) {
        Ok(flaw) => flaw.said().to_owned(),
        // A sentence, not a name.
        Err(_) if name.contains(' ') => safe(name),
        Err(_) => safe(&name.replace('_', " ")),
    }
}

/// What is meant by a counter of `stats`.
pub(super) fn outcome(name: &str) -> String {
    if let Some(rejected) = name.strip_prefix("rejected_") {
        return format!("rejected: {}", flaw(rejected));
    }
    let words = match name {
        "taken_note" => "taken, asked for with the whole note",
        "taken_chunk" => "taken, asked for one by one",
        "taken_simple" => "taken, asked for without the note",
        "weak" => "of those taken, weak: the free context stands before them",
        "other_length" => "of those taken, shorter or longer than asked for",
        "fell_back_to_template" => "given up after all tries: the free context serves",
        "failed_unauthorized" => "calls failed: the key was missing or refused",
        "failed_unknown_model" => "calls failed: the provider does not know the model",
        "failed_spend_limit" => "calls failed: a limit of the account",
        "failed_too_long" => "calls failed: the note is too long for the model",
        "failed_refused" => "calls failed: the provider refuses the request",
        "failed_unavailable" => "calls failed: the provider was not reached or did not answer",
        "failed_cancelled" => "calls given up",
        other => return safe(&other.replace('_', " ")),
    };
    words.to_owned()
}

/// Tokens of calls: `1,200 tokens read (300 cached), 80 written`.
pub(super) fn tokens(read: u64, cached: u64, written: u64) -> String {
    let cached = if cached > 0 { format!(" ({} cached)", grouped(cached)) } else { String::new() };
    format!("{} read{cached}, {} written", counted(read, "token"), grouped(written))
}

#[cfg(test)]
mod tests;
