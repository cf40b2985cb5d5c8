//! One question to the model, with everything that belongs to it: the budget before, the ledger after, the
//! judgement of what came back, the record that is kept.

use std::collections::HashMap;
use std::sync::Arc;

use super::handle::OwnChunk;
use super::report::{CallError, GeneratedContext};
use super::writer::Held;
use super::{now_s, outcomes::Outcomes};
use crate::chunk::ChunkRules;
use crate::config::{BudgetConfig, Config};
use crate::context::cost::{self, Usage};
use crate::context::document::{Document, Passage};
use crate::context::models::Model;
use crate::context::prompt::{Form, Prompt, Prompter, Unread, captions};
use crate::context::quality::{Ending, Flaw, Verdict, judge};
use crate::context::settings::ContextConfig;
use crate::context::{ContextRecord, Making, Origin, Spent};
use crate::fingerprint::Sketch;
use crate::llm::{Client, Completion, Failure, FailureKind, Finish};
use crate::plan::Reason;
use crate::store::ledger::{Ask, Ledger, Limits, Purpose, Refused, Reservation, Settled};

/// Whose question it is, for the ledger.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) vault: String,
    pub(super) path: String,
    pub(super) reason: Reason,
    pub(super) purpose: Purpose,
    /// Micro-dollars and tokens that the rebuild may take.
    pub(super) rebuild: Option<(u64, u64)>,
}

/// Why a passage got no context.
#[derive(Clone, Debug)]
pub(super) enum Stopped {
    /// What the model wrote is of no use.
    Flaw(Flaw),
    /// The model cannot take so long a prompt, or refuses it for good.
    Refused,
    /// Nothing was asked, or nothing came back: later.
    Held(Held),
}

/// Asks the model in force. Clones share everything.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) client: Client,
    pub(super) model: Arc<Model>,
    pub(super) prompter: Arc<Prompter>,
    /// For models that found a prompt too long.
    pub(super) narrow: Arc<Prompter>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) outcomes: Arc<Outcomes>,
    budget: BudgetConfig,
    chunk: ChunkRules,
}

impl Asker {
    pub(super) fn new(client: Client, model: Model, ledger: Arc<Ledger>, config: &Config) -> Self {
        let context = &config.context;
        let half = context.max_document_tokens.min(model.context_size) / 2;
        let narrow = ContextConfig { max_document_tokens: half, ..context.clone() };
        Asker {
            client,
            prompter: Arc::new(Prompter::new(context, &model)),
            narrow: Arc::new(Prompter::new(&narrow, &model)),
            model: Arc::new(model),
            ledger,
            outcomes: Arc::default(),
            budget: config.budget.clone(),
            chunk: config.chunk.clone(),
        }
    }

    /// Asks, and judges what comes back for each passage. `sketches` are of the passages' raw text.
    pub(super) async fn ask(
        &self,
        document: &Document,
        sketches: &HashMap<u32, Sketch>,
        prompt: &Prompt,
        asked: &Asked,
    ) -> Vec<(u32, Result<ContextRecord, Stopped>)> {
        let all = |stopped: Stopped| prompt.wanted.iter().map(|n| (*n, Err(stopped.clone()))).collect();
        let completion = match self.complete(prompt, asked).await {
            Ok(completion) => completion,
            Err(stopped) => return all(stopped),
        };
        self.read(document, sketches, prompt, &completion, false)
    }

    /// Judges an answer. The records are dated now.
    pub(super) fn read(
        &self,
        document: &Document,
        sketches: &HashMap<u32, Sketch>,
        prompt: &Prompt,
        completion: &Completion,
        batch: bool,
    ) -> Vec<(u32, Result<ContextRecord, Stopped>)> {
        let ending = match completion.finish {
            Finish::Length => Ending::Cut,
            Finish::Refusal => Ending::Refused,
            Finish::Stop | Finish::Other => Ending::Whole,
        };
        let micro_dollars = cost::cost(&self.model.price, &completion.usage, batch);
        let mut shares = Shares::new(completion.usage, micro_dollars, prompt.wanted.len());
        let mut out = Vec::with_capacity(prompt.wanted.len());
        let mut read: HashMap<u32, _> = captions(prompt, &completion.text).into_iter().collect();
        for n in prompt.wanted.iter().copied() {
            let Some(passage) = document.passages.iter().find(|p| p.n == n) else { continue };
            let verdict = match read.remove(&n).unwrap_or(Err(Unread::Missing)) {
                // The end of a JSON answer says nothing about the captions in it: each was closed.
                Ok(text) => judge(&text, if prompt.json { refused_only(ending) } else { ending }, document, passage),
                Err(_) if ending == Ending::Refused => Verdict::Rejected { flaw: Flaw::Refusal, score: 0.0 },
                Err(_) => Verdict::Rejected { flaw: Flaw::Missing, score: 0.0 },
            };
            let spent = shares.next();
            out.push((n, self.record(document, sketches, prompt, passage, verdict, spent, completion)));
        }
        out
    }

    #[allow(clippy::too_many_arguments)] // all parts of one record, each from another place
    fn record(
        &self,
        document: &Document,
        sketches: &HashMap<u32, Sketch>,
        prompt: &Prompt,
        passage: &Passage,
        verdict: Verdict,
        spent: Spent,
        completion: &Completion,
    ) -> Result<ContextRecord, Stopped> {
        match verdict {
            Verdict::Taken { text, score, scores, weak } => {
                self.outcomes.taken(prompt.form, weak);
                let took_ms = u32::try_from(completion.took.as_millis()).unwrap_or(u32::MAX);
                Ok(ContextRecord {
                    text,
                    origin: Origin::Model,
                    generation: self.prompter.generation(document.kind.as_deref()),
                    sections: passage.sections.clone(),
                    written_for: passage.hash,
                    sketch: sketches.get(&passage.n).cloned().unwrap_or_default(),
                    quality: score,
                    written_at: now_s(),
                    spent,
                    making: Some(Making { form: prompt.form, cut: prompt.cut, weak, tries: 1, took_ms, scores }),
                })
            }
            Verdict::Rejected { flaw, .. } => {
                self.outcomes.rejected(flaw);
                Err(Stopped::Flaw(flaw))
            }
        }
    }

    /// One call within the budget. The ledger waits for the disk, so it is written on threads that may: other calls
    /// go on meanwhile.
    async fn complete(&self, prompt: &Prompt, asked: &Asked) -> Result<Completion, Stopped> {
        let upper = Usage::upper(prompt);
        let reserved = tokio::task::spawn_blocking({
            let (asker, asked) = (self.clone(), asked.clone());
            move || {
                let ask = Ask {
                    vault: &asked.vault,
                    path: &asked.path,
                    reason: asked.reason,
                    provider: asker.model.provider.name(),
                    model: &asker.model.id,
                    purpose: asked.purpose,
                    micro_dollars: cost::cost(&asker.model.price, &upper, false),
                    tokens: upper.input + upper.output,
                };
                asker.reserve(ask, asked.rebuild)
            }
        });
        let reserved = reserved.await.unwrap_or_else(|error| Err(Refused::Io(error.to_string())));
        let reservation = reserved.map_err(|refused| Stopped::Held(Held::Budget(refused)))?;
        let answer = self.client.complete(prompt).await;
        let settled = match &answer {
            Ok(completion) => {
                let usage = completion.usage;
                let micro_dollars = cost::cost(&self.model.price, &usage, false);
                Some(Settled { usage, micro_dollars, contexts: prompt.wanted.len() as u32, failed: false })
            }
            // Nobody knows whether it was counted: the estimate stands.
            Err(failure) if failure.maybe_billed => {
                let micro_dollars = cost::cost(&self.model.price, &upper, false);
                Some(Settled { usage: upper, micro_dollars, contexts: 0, failed: true })
            }
            Err(_) => None,
        };
        let ledger = self.ledger.clone();
        let written = tokio::task::spawn_blocking(move || match settled {
            Some(settled) => ledger.settle(reservation, settled, jiff::Zoned::now()),
            None => ledger.release(reservation, jiff::Zoned::now()),
        });
        if let Ok(Err(error)) = written.await {
            // The reservation stands in the ledger and counts as spent.
            tracing::warn!(%error, "what a call to the model cost could not be written down");
        }
        answer.map_err(|failure| self.stopped(failure))
    }

    /// Reserves what a call may take.
    pub(super) fn reserve(&self, ask: Ask<'_>, rebuild: Option<(u64, u64)>) -> Result<Reservation, Refused> {
        let limits = Limits { day: self.budget.day, day_tokens: self.budget.day_tokens };
        self.ledger.reserve(ask, &limits, rebuild, jiff::Zoned::now())
    }

    fn stopped(&self, failure: Failure) -> Stopped {
        self.outcomes.failed(failure.kind);
        match failure.kind {
            FailureKind::TooLong | FailureKind::Rejected => Stopped::Refused,
            FailureKind::Unauthorized
            | FailureKind::UnknownModel
            | FailureKind::SpendLimit
            | FailureKind::Unavailable
            | FailureKind::Cancelled => Stopped::Held(Held::Provider(failure.message)),
        }
    }

    /// A context for a chunk of a text that lies in no vault.
    pub(super) async fn wish(
        &self,
        text: &str,
        title: Option<&str>,
        wanted: &str,
        max_words: Option<u32>,
    ) -> Result<GeneratedContext, CallError> {
        let own = OwnChunk::find(text, title, wanted, &self.chunk)?;
        let document = Document::new(&own.note, &own.chunks);
        let n = document.passages.get(own.at).map_or(1, |passage| passage.n);
        let sketches = HashMap::from([(n, Sketch::of(wanted))]);
        let asked = Asked {
            vault: String::new(),
            path: String::new(),
            reason: Reason::Rebuild,
            purpose: Purpose::Asked,
            rebuild: None,
        };
        let mut flaw = Flaw::Missing;
        for prompt in [self.prompter.ask_one(&document, n), self.prompter.ask_simply(&document, n)] {
            for (_, outcome) in self.ask(&document, &sketches, &prompt, &asked).await {
                match outcome {
                    Ok(record) => return Ok(GeneratedContext::new(record, wanted, max_words)),
                    Err(Stopped::Flaw(found)) => flaw = found,
                    Err(Stopped::Refused) => {}
                    Err(Stopped::Held(held)) => return Err(CallError::Provider(held.to_string())),
                }
            }
        }
        Err(CallError::Provider(format!("the model gave no usable context ({flaw:?})")))
    }
}

fn refused_only(ending: Ending) -> Ending {
    if ending == Ending::Refused { ending } else { Ending::Whole }
}

/// What one call used, dealt out to the contexts it gave; the sum is what the call used.
struct Shares {
    left: (u64, u64, u64, Option<u64>),
    parts: u64,
}

impl Shares {
    fn new(usage: Usage, micro_dollars: Option<u64>, parts: usize) -> Self {
        let tokens_in = usage.input + usage.cache_read + usage.cache_write;
        Shares { left: (tokens_in, usage.output, usage.cache_read, micro_dollars), parts: parts.max(1) as u64 }
    }

    fn next(&mut self) -> Spent {
        let parts = self.parts;
        self.parts = parts.saturating_sub(1).max(1);
        let take = |left: &mut u64| {
            let share = *left / parts;
            *left -= share;
            share
        };
        let (tokens_in, tokens_out) = (take(&mut self.left.0), take(&mut self.left.1));
        let tokens_cached = take(&mut self.left.2);
        Spent { tokens_in, tokens_out, tokens_cached, micro_dollars: self.left.3.as_mut().map(take) }
    }
}

/// The form that a try has.
pub(super) fn form_of(tries: u8) -> Option<Form> {
    match tries {
        0 => None,
        1 => Some(Form::Chunk),
        _ => Some(Form::Simple),
    }
}
