//! Estimates what a piece of work would take, before any model is asked. Pure.
//!
//! Follows the ways in which [`super::super::prompt`] asks, from sizes alone, and errs upwards where it cannot know.

use super::super::models::{Model, Price};
use super::super::prompt::{most_passages, passages_at_once};
use super::super::settings::{ContextConfig, ExpansionChoice, FormChoice};
use super::{MILLION, Usage, cost, usable};
use protocol::contexts::Estimate;

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

/// Tokens of questions and terms beside a context, with the JSON around them: four questions of ten words, eight terms.
const EXPANSION_TOKENS: f64 = 110.0;

/// Tokens of the instructions for them.
const EXPANSION_FRAME: f64 = 120.0;

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

/// Tokens of the lead of a note that is too long to be shown, of its outline, and of a heading in that.
const LEAD: f64 = 1000.0;
const OUTLINE: f64 = 1500.0;
const HEADING: f64 = 6.0;

/// Tokens of a byte of Latin text, before the model's factor.
pub const LATIN: f64 = 5.0 / 18.0;

/// How contexts are asked for, as far as an estimate needs it.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// Who is asked.
    pub model: &'a Model,
    /// In which form, with how many words, how many at once.
    pub config: &'a ContextConfig,
    /// Tokens of a byte of the notes, before the model's factor: [`LATIN`], or what their scripts take.
    pub tokens_per_byte: f64,
    /// Whether by the provider's batch interface.
    pub batch: bool,
}

/// What contexts for these notes would take: each note is shown as [`super::super::prompt::Prompter::ask`] would show
/// it. Notes without a chunk that needs a context are not counted.
pub fn estimate(notes: impl IntoIterator<Item = NoteSize>, asking: &Asking<'_>) -> Estimate {
    let Asking { model, config, batch, .. } = *asking;
    let mut work = Work {
        asking,
        factor: usable(model.token_factor),
        context: CONTEXT_TOKENS * f64::from(config.max_words.clamp(20, 1000)) / 100.0,
        beside: if config.expansion == ExpansionChoice::Off { (0.0, 0.0) } else { (EXPANSION_TOKENS, EXPANSION_FRAME) },
        seconds: 0.0,
        sum: Estimate { micro_dollars: Some(0), ..Estimate::default() },
    };
    for note in notes {
        work.add(&note);
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
        (false, calls) => work.seconds / 60.0 / (config.concurrency.max(1) as f64).min(calls as f64),
    };
    sum
}

/// The sum as it grows.
struct Work<'a> {
    asking: &'a Asking<'a>,
    factor: f64,
    /// Tokens of a context, before the factor.
    context: f64,
    /// Tokens of the expansion beside each context, and of the instructions for it in each call.
    beside: (f64, f64),
    seconds: f64,
    sum: Estimate,
}

impl Work<'_> {
    fn add(&mut self, note: &NoteSize) {
        if note.wanted.is_empty() {
            return;
        }
        self.sum.notes += 1;
        self.sum.chunks += note.wanted.len() as u64;

        let document = self.tokens(note.bytes) + MARKS * f64::from(note.chunks_in_note);
        let room = f64::from(self.asking.model.shown(self.asking.config.max_document_tokens))
            - self.answer(most_passages(self.asking.config.expansion));
        let fits = (document + self.note_frame()) * self.factor <= room;
        match (self.asking.config.form, fits) {
            (FormChoice::Chunk, _) => {
                // If a note is cut, the model sees different surroundings for each passage.
                let document = document.min(room.max(0.0) / self.factor);
                self.add_passages(document, &note.wanted, fits);
            }
            (_, true) => {
                let tokens = (document * self.factor).min(f64::from(u32::MAX)) as u32;
                self.add_whole(
                    document,
                    note.wanted.len(),
                    passages_at_once(self.asking.model, self.asking.config, tokens),
                );
            }
            (_, false) => self.add_parts(note, room.max(1.0) / self.factor),
        }
    }

    /// Calls for so many passages each, with the whole note in every one.
    fn add_whole(&mut self, document: f64, wanted: usize, at_once: usize) {
        let calls = wanted.div_ceil(at_once);
        let cached = !self.asking.batch && calls > 1 && self.is_cached(document);
        let prefix = self.scaled(document);
        for call in 0..calls {
            let now = wanted / calls + usize::from(call < wanted % calls);
            let own = self.scaled(self.note_frame());
            self.call(behind(prefix, own, cached.then_some(call)), self.written(now));
        }
    }

    /// Calls for as many passages as have room beside outline, lead and two neighbours of the group.
    fn add_parts(&mut self, note: &NoteSize, room: f64) {
        let mean = self.tokens(note.bytes) / f64::from(note.chunks_in_note.max(1));
        let outline = (HEADING * f64::from(note.chunks_in_note)).min(OUTLINE / self.factor).min(room / 6.0);
        let head = outline + (LEAD / self.factor).min(room / 6.0);
        // A quarter is kept for neighbours.
        let most = ((room - head) * 0.75).max(1.0);
        let (mut shown, mut asked) = (0.0, 0);
        let mut groups = Vec::new();
        for bytes in &note.wanted {
            let tokens = self.tokens(*bytes) + MARKS;
            if asked > 0 && (asked == most_passages(self.asking.config.expansion) || shown + tokens > most) {
                groups.push((std::mem::take(&mut shown), std::mem::take(&mut asked)));
            }
            (shown, asked) = (shown + tokens, asked + 1);
        }
        groups.push((shown, asked));
        for (shown, asked) in groups {
            let read = self.note_frame() + head + (shown + 2.0 * mean).min(room);
            let usage = Usage { input: self.scaled(read), ..Usage::default() };
            self.call(usage, self.written(asked));
        }
    }

    /// One call for each passage; the first one fills the cache, the others read it.
    fn add_passages(&mut self, document: f64, wanted: &[u64], same: bool) {
        let prefix = self.scaled(document);
        let cached = same && wanted.len() > 1 && self.is_cached(document);
        for (i, bytes) in wanted.iter().enumerate() {
            let own = self.scaled(self.tokens(*bytes) + CHUNK_FRAME + self.beside.1);
            self.call(behind(prefix, own, cached.then_some(i)), self.context + self.beside.0);
        }
    }

    /// Whether the provider is certain to cache a prefix as long as this.
    fn is_cached(&self, document: f64) -> bool {
        self.asking.model.min_cache_tokens.is_some_and(|least| self.scaled(document) >= u64::from(least))
    }

    /// Tokens kept for an answer with so many contexts, as the model counts them.
    fn answer(&self, contexts: usize) -> f64 {
        self.written(contexts) * self.factor
    }

    /// Tokens of an answer in JSON, before the factor.
    fn written(&self, contexts: usize) -> f64 {
        contexts as f64 * (self.context + JSON_TOKENS + self.beside.0)
    }

    /// Tokens around a note that is shown whole, or in parts.
    fn note_frame(&self) -> f64 {
        NOTE_FRAME + self.beside.1
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
        let micro = cost(&self.asking.model.price, &usage, self.asking.batch);
        sum.micro_dollars = sum.micro_dollars.zip(micro).map(|(sum, micro)| sum.saturating_add(micro));
        self.seconds += SECONDS_TO_START + usage.output as f64 / TOKENS_PER_SECOND;
    }

    /// Tokens as the model counts them.
    fn scaled(&self, tokens: f64) -> u64 {
        (tokens * self.factor).ceil() as u64
    }

    /// Tokens of so many bytes, before the model's factor.
    fn tokens(&self, bytes: u64) -> f64 {
        bytes.min(MILLION * MILLION) as f64 * self.asking.tokens_per_byte
    }
}

/// What a call reads that has its `own` tokens behind the `prefix` of all calls; if that is cached, the number of the call
/// is given, of which the first fills the cache.
fn behind(prefix: u64, own: u64, cached: Option<usize>) -> Usage {
    match cached {
        None => Usage { input: own.saturating_add(prefix), ..Usage::default() },
        Some(0) => Usage { input: own, cache_write: prefix, ..Usage::default() },
        Some(_) => Usage { input: own, cache_read: prefix, ..Usage::default() },
    }
}

#[cfg(test)]
mod tests;
