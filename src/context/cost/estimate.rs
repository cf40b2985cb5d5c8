//! What a piece of work would take, before anything is asked. Pure.
//!
//! Follows the ways in which [`super::super::prompt`] asks, by sizes alone: it errs upwards where it cannot know.

use super::super::models::{Model, Price};
use super::super::prompt::MOST_PASSAGES;
use super::super::settings::FormChoice;
use super::{MILLION, Usage, cost, usable};
use protocol::contexts::Estimate;

/// Notes up to so many tokens are shown whole, in one call for all passages.
const WHOLE_NOTE_TOKENS: f64 = 6000.0;

/// Tokens of a note that are shown at most: what `max_document_tokens` is by default.
const MOST_DOCUMENT_TOKENS: f64 = 12_000.0;

/// Tokens of instructions, heading of the note and question, when a whole note is asked about.
const NOTE_FRAME: f64 = 500.0;

/// The same for one passage.
const CHUNK_FRAME: f64 = 250.0;

/// Tokens of the marks around a passage.
const MARKS: f64 = 8.0;

/// Tokens of a context where 100 words are allowed: models stay well below what they are allowed.
const CONTEXT_TOKENS: f64 = 70.0;

/// Tokens of the JSON around a context.
const JSON_TOKENS: f64 = 12.0;

/// Seconds until the first word of an answer, and words (tokens) that come in a second: about three seconds for
/// one context.
const SECONDS_TO_START: f64 = 2.0;
const TOKENS_PER_SECOND: f64 = 70.0;

/// Most batches are done within an hour.
const BATCH_MINUTES: f64 = 60.0;

/// A note as far as an estimate needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteSize {
    /// Bytes of its text.
    pub bytes: u64,
    /// Chunks it has, whether they need a context or not.
    pub chunks_in_note: u32,
    /// Bytes of each chunk that needs a context.
    pub wanted: Vec<u64>,
}

/// What contexts for these notes would take.
///
/// Whole notes up to 6000 tokens, at most [`MOST_PASSAGES`] passages per call; longer ones per passage with the
/// note as a prefix that is cached where the model does that. Notes that want nothing are not counted.
pub fn estimate(
    notes: impl IntoIterator<Item = NoteSize>,
    model: &Model,
    form: FormChoice,
    max_words: u32,
    concurrency: usize,
    batch: bool,
) -> Estimate {
    let mut work = Work {
        model,
        batch,
        factor: usable(model.token_factor),
        context: CONTEXT_TOKENS * f64::from(max_words.clamp(20, 1000)) / 100.0,
        seconds: 0.0,
        sum: Estimate { micro_dollars: Some(0), ..Estimate::default() },
    };
    for note in notes {
        work.add(&note, form);
    }
    let mut sum = work.sum;
    if let Price::Tokens(rates) = &model.price {
        sum.price_as_of = Some(rates.as_of.clone());
    }
    if matches!(model.price, Price::Unknown) {
        sum.micro_dollars = None;
    }
    sum.minutes = match (batch, sum.calls) {
        (_, 0) => 0.0,
        (true, _) => BATCH_MINUTES,
        // No more calls run at once than there are.
        (false, calls) => work.seconds / 60.0 / (concurrency.max(1) as f64).min(calls as f64),
    };
    sum
}

/// The sum as it grows.
struct Work<'a> {
    model: &'a Model,
    batch: bool,
    factor: f64,
    /// Tokens of a context, before the factor.
    context: f64,
    seconds: f64,
    sum: Estimate,
}

impl Work<'_> {
    fn add(&mut self, note: &NoteSize, form: FormChoice) {
        if note.wanted.is_empty() {
            return;
        }
        self.sum.notes += 1;
        self.sum.chunks += note.wanted.len() as u64;

        let text = tokens(note.bytes);
        let whole = match form {
            FormChoice::Note => true,
            FormChoice::Chunk => false,
            FormChoice::Auto => text * self.factor <= WHOLE_NOTE_TOKENS,
        };
        let most = MOST_DOCUMENT_TOKENS.min(f64::from(self.model.context_size));
        let cut = text * self.factor > most;
        let text = text.min(most / self.factor);
        let document = text + MARKS * f64::from(note.chunks_in_note);

        if whole {
            self.add_whole(document, note.wanted.len());
        } else {
            // What is left of a note that is cut differs from passage to passage.
            self.add_passages(text, &note.wanted, !cut);
        }
    }

    /// One call for each 24 passages.
    fn add_whole(&mut self, document: f64, wanted: usize) {
        let mut left = wanted;
        while left > 0 {
            let now = left.min(MOST_PASSAGES);
            left -= now;
            let written = now as f64 * (self.context + JSON_TOKENS);
            self.call(Usage { input: self.scaled(document + NOTE_FRAME), ..Usage::default() }, written);
        }
    }

    /// One call for each passage; the first one fills the cache, the others read it.
    fn add_passages(&mut self, document: f64, wanted: &[u64], same: bool) {
        let prefix = self.scaled(document);
        let long_enough = self.model.min_cache_tokens.is_some_and(|least| prefix >= u64::from(least));
        let cached = same && long_enough && wanted.len() > 1;
        for (i, bytes) in wanted.iter().enumerate() {
            let own = self.scaled(tokens(*bytes) + CHUNK_FRAME);
            let usage = match (cached, i) {
                (false, _) => Usage { input: own.saturating_add(prefix), ..Usage::default() },
                (true, 0) => Usage { input: own, cache_write: prefix, ..Usage::default() },
                (true, _) => Usage { input: own, cache_read: prefix, ..Usage::default() },
            };
            self.call(usage, self.context);
        }
    }

    /// Adds a call; `written` is before the factor.
    fn call(&mut self, mut usage: Usage, written: f64) {
        usage.output = self.scaled(written);
        let read = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let sum = &mut self.sum;
        sum.calls += 1;
        sum.tokens_in = sum.tokens_in.saturating_add(read);
        sum.tokens_cached = sum.tokens_cached.saturating_add(usage.cache_read);
        sum.tokens_out = sum.tokens_out.saturating_add(usage.output);
        let micro = cost(&self.model.price, &usage, self.batch);
        sum.micro_dollars = sum.micro_dollars.zip(micro).map(|(sum, micro)| sum.saturating_add(micro));
        self.seconds += SECONDS_TO_START + usage.output as f64 / TOKENS_PER_SECOND;
    }

    /// Tokens as the model counts them.
    fn scaled(&self, tokens: f64) -> u64 {
        (tokens * self.factor).ceil() as u64
    }
}

/// Tokens of so many bytes, before the model's factor.
fn tokens(bytes: u64) -> f64 {
    bytes.min(MILLION * MILLION) as f64 / 3.6
}

#[cfg(test)]
mod tests;
