//! One question to the model, with what follows from it: the judgement of the answer, and the record that is kept.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use super::interrupted::Interrupted;
use super::{DRAIN, DRAIN_FREE, now_s, outcomes::Outcomes, unkept::Unkept};
use crate::context_job::TeamContext;
use crate::settings::Settings;
use crate::team::Teams;
use context::cost;
use context::cost::Usage;
use context::document::{Document, Passage};
use context::models::{Model, Price};
use context::prompt::{Caption, Form, LONG_NOTE, Prompt, Prompter, Unread, captions};
use context::quality::{Ending, Flaw, USUAL_WORDS, Verdict, judge_expansion, judge_within};
use context::settings::ContextConfig;
use context::{ContextRecord, Expansion, Making, Origin, Spent};
use note::chunk::ChunkRules;
use note::fingerprint::Sketch;
use provider::{
    Account, CallTurn, Completion, CompletionClient, Failure, FailureKind, Finish, Owed, Spender, Unanswered,
};

/// Why a passage got no context.
#[derive(Clone, Debug)]
pub(super) enum Stopped {
    /// What the model wrote is of no use.
    Flaw(Flaw),
    /// The model cannot take so long a prompt, or refuses it for good.
    Refused,
}

/// The outcome of a question for each passage that it asked for.
pub(super) type Answers = Vec<(u32, Result<ContextRecord, Stopped>)>;

/// One completion, and what else the records of all its contexts are made of.
#[derive(Clone, Copy)]
struct Completed<'a> {
    sketches: &'a HashMap<u32, Sketch>,
    prompt: &'a Prompt,
    completion: &'a Completion,
    /// Seconds since 1970.
    at: i64,
}

/// Asks the model in force. Clones share everything.
#[derive(Clone)]
pub(super) struct Author {
    pub(super) client: CompletionClient,
    pub(super) model: Arc<Model>,
    pub(super) prompter: Arc<Prompter>,
    /// Shows less of a note: for a model that found a prompt too long.
    pub(super) narrow: Arc<Prompter>,
    pub(super) spender: Arc<Spender>,
    pub(super) outcomes: Arc<Outcomes>,
    pub(super) unkept: Arc<Unkept>,
    /// Who may have a context already.
    pub(super) teams: Arc<Teams>,
    /// Words that a context is to have.
    words: RangeInclusive<usize>,
    pub(super) chunk: ChunkRules,
}

impl Author {
    pub(super) fn new(
        client: CompletionClient,
        model: Model,
        (spender, unkept, teams): (Arc<Spender>, Arc<Unkept>, Arc<Teams>),
        config: &Settings,
    ) -> Self {
        let context = &config.context;
        // The model table is wrong about the window of such a model, so this takes half of it, `LONG_NOTE` at most.
        let narrow = (model.shown(context.max_document_tokens) / 2).min(LONG_NOTE);
        let narrow = ContextConfig { max_document_tokens: Some(narrow), ..context.clone() };
        Author {
            client,
            prompter: Arc::new(Prompter::new(context, &model)),
            narrow: Arc::new(Prompter::new(&narrow, &model)),
            model: Arc::new(model),
            spender,
            outcomes: Arc::default(),
            unkept,
            teams,
            words: context.min_words.map_or(USUAL_WORDS, |least| least as usize..=context.max_words as usize),
            chunk: config.chunk.clone(),
        }
    }

    /// The same author, asking for contexts alone.
    pub(super) fn without_expansion(&self) -> Self {
        let [prompter, narrow] = [&self.prompter, &self.narrow].map(|p| Arc::new(p.without_expansion()));
        Author { prompter, narrow, ..self.clone() }
    }

    /// How long answers under way are awaited at the end.
    pub(super) fn drain(&self) -> Duration {
        if self.model.price == Price::Free { DRAIN_FREE } else { DRAIN }
    }

    /// Asks in a turn that the caller has waited for, and judges the answer for each passage. `sketches` are of the
    /// passages' raw text. What an answer cost, the caller books once it has kept what it keeps of it.
    ///
    /// # Errors
    /// Nothing came back, and the question may be asked again later.
    pub(super) async fn ask(
        &self,
        turn: CallTurn<'_>,
        document: &Document,
        sketches: &HashMap<u32, Sketch>,
        prompt: &Prompt,
        account: &Account,
    ) -> Result<(Answers, Option<Owed>), Interrupted> {
        if let Some(useless) = self.outcomes.useless() {
            return Err(useless);
        }
        match turn.ask(prompt, account).await {
            Ok((completion, owed)) => Ok((self.read(document, sketches, prompt, &completion, false), Some(owed))),
            Err(Unanswered::Budget(refused)) => Err(Interrupted::Budget(refused)),
            Err(Unanswered::Provider(failure)) => {
                let message = failure.message.clone();
                self.failed(failure)?;
                self.outcomes.refused(prompt.form, message);
                Ok((prompt.wanted.iter().map(|n| (*n, Err(Stopped::Refused))).collect(), None))
            }
        }
    }

    /// Judges an answer. Its contexts are all dated now, because they were written together.
    pub(super) fn read(
        &self,
        document: &Document,
        sketches: &HashMap<u32, Sketch>,
        prompt: &Prompt,
        completion: &Completion,
        batch: bool,
    ) -> Answers {
        let ending = match completion.finish {
            Finish::Length | Finish::Broken => Ending::Cut,
            Finish::Refusal => Ending::Refused,
            Finish::Stop | Finish::Other => Ending::Whole,
        };
        let micro_dollars = cost::cost(&self.model.price, &completion.usage, batch);
        let mut shares = Shares::new(completion.usage, micro_dollars, prompt.wanted.len());
        let mut out = Vec::with_capacity(prompt.wanted.len());
        let mut read: HashMap<u32, _> = captions(prompt, &completion.text).into_iter().collect();
        let completed = Completed { sketches, prompt, completion, at: now_s() };
        for n in prompt.wanted.iter().copied() {
            let Some(passage) = document.passages.iter().find(|p| p.n == n) else { continue };
            let caption = read.remove(&n).unwrap_or(Err(Unread::Missing));
            let (verdict, beside) = self.judged(caption, ending, document, passage);
            let spent = shares.next();
            let record = self.record(completed, document, passage, verdict, spent);
            out.push((n, record.map(|record| ContextRecord { expansion: beside, ..record })));
        }
        self.outcomes.answered(prompt.form, out.iter().any(|(_, outcome)| outcome.is_ok()));
        out
    }

    /// The verdict on a context, and the questions and terms beside it that may be used.
    fn judged(
        &self,
        caption: Result<Caption, Unread>,
        ending: Ending,
        document: &Document,
        passage: &Passage,
    ) -> (Verdict, Expansion) {
        let flaw = if ending == Ending::Refused { Flaw::Refusal } else { Flaw::Missing };
        let Ok(Caption { text, expansion, closed }) = caption else {
            return (Verdict::Rejected { flaw, score: 0.0 }, Expansion::default());
        };
        // How a JSON answer ends says nothing about a caption in it that was closed.
        let ending = if closed { refused_only(ending) } else { ending };
        let verdict = judge_within(self.words.clone(), &text, ending, document, passage);
        let beside = match verdict {
            Verdict::Taken { .. } => judge_expansion(&expansion, document, passage),
            Verdict::Rejected { .. } => Expansion::default(),
        };
        (verdict, beside)
    }

    /// Judges a context that a team has as if the model had answered with it; returns its record if it is taken. The
    /// record counts as one of the model in force: no other is asked for in its place, and a change of the model
    /// outdates it.
    pub(super) fn judge_given(
        &self,
        document: &Document,
        sketches: &HashMap<u32, Sketch>,
        n: u32,
        given: &TeamContext,
    ) -> Option<ContextRecord> {
        let passage = document.passage(n)?;
        let caption = Caption::given(&given.text, &given.expansion, *self.words.end())?;
        let (verdict, expansion) = self.judged(Ok(caption), Ending::Whole, document, passage);
        let Verdict::Taken { text, score, scores, weak } = verdict else { return None };
        let making = Making { form: Form::Note, cut: false, weak, tries: 0, took_ms: 0, scores };
        Some(ContextRecord { expansion, ..self.written(document, passage, sketches, (text, score), making) })
    }

    /// The record of a text that a model wrote, free and as of now.
    fn written(
        &self,
        document: &Document,
        passage: &Passage,
        sketches: &HashMap<u32, Sketch>,
        (text, quality): (String, f32),
        making: Making,
    ) -> ContextRecord {
        ContextRecord {
            text,
            origin: Origin::Model,
            generation: self.prompter.generation(document.kind.as_deref()),
            sections: passage.sections.clone(),
            written_for: passage.hash,
            sketch: sketches.get(&passage.n).cloned().unwrap_or_default(),
            quality,
            written_at: now_s(),
            spent: Spent::default(),
            making: Some(making),
            expansion: Expansion::default(),
        }
    }

    fn record(
        &self,
        completed: Completed<'_>,
        document: &Document,
        passage: &Passage,
        verdict: Verdict,
        spent: Spent,
    ) -> Result<ContextRecord, Stopped> {
        let Completed { sketches, prompt, completion, at } = completed;
        match verdict {
            Verdict::Taken { text, score, scores, weak } => {
                self.outcomes.taken(prompt.form, weak);
                if scores.length < 1.0 {
                    self.outcomes.other_length();
                }
                let took_ms = u32::try_from(completion.took.as_millis()).unwrap_or(u32::MAX);
                let making = Making { form: prompt.form, cut: prompt.cut, weak, tries: 1, took_ms, scores };
                let written = self.written(document, passage, sketches, (text, score), making);
                Ok(ContextRecord { spent, written_at: at, ..written })
            }
            Verdict::Rejected { flaw, .. } => {
                self.outcomes.rejected(flaw);
                Err(Stopped::Flaw(flaw))
            }
        }
    }

    /// Counts a failure; `Err` unless it concerns only this prompt.
    pub(super) fn failed(&self, failure: Failure) -> Result<(), Interrupted> {
        self.outcomes.failed(failure.kind);
        match failure.kind {
            FailureKind::TooLong | FailureKind::Rejected => Ok(()),
            FailureKind::Unauthorized
            | FailureKind::UnknownModel
            | FailureKind::SpendLimit
            | FailureKind::Unavailable
            | FailureKind::Cancelled => Err(Interrupted::Provider(failure.message)),
        }
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
        Shares { left: (usage.tokens_in(), usage.output, usage.cache_read, micro_dollars), parts: parts.max(1) as u64 }
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

/// The form of the try that follows `tries` others; `None` for the first, whose form the prompter chooses.
pub(super) fn form_of(tries: u8) -> Option<Form> {
    match tries {
        0 => None,
        1 => Some(Form::Chunk),
        _ => Some(Form::Simple),
    }
}
