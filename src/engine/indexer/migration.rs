//! From one embedder to another: the old one serves while the vectors of the new one are made beside, then the vault
//! changes over at once: one published pair of snapshot and embedder takes the place of another.
//!
//! First every note is looked at with the new one's eyes ([`super::dry_run`]), which tells what is to be made and what
//! that costs; then what is missing is ordered, a few notes at a time, and each is looked at again when it has come;
//! notes that are saved meanwhile are looked at again too. When no note lacks anything the vault changes over. All that
//! was made is in the cache on disk, so a process that dies loses a batch at most, and switching back finds everything.
//!
//! A state machine: it takes what happened and the time, and returns what is to be done.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::dry_run::{DryRun, Needs};
use crate::EngineError;
use crate::decide::NotePipeline;
use crate::embedding::Service;
use crate::embedding::worker::EmbedJob;
use context::cost::dollars;
use context::plan::{Generation, Reason};
use index::embed::models;
use index::embed::settings::EmbedConfig;
use note::VaultPath;
use note::fingerprint::InputHash;
use protocol::contexts::Estimate;
use protocol::status::EmbedStatus;
use provider::ledger::Purpose;
use provider::settings::BudgetConfig;
use provider::tokens_of;
use store::VectorCache;

/// Notes that are looked at in one go.
const AT_ONCE: usize = 128;

/// Notes whose vectors are ordered at the same time at most: their texts are held in memory.
const ORDERED: usize = 256;

/// Records that are brought up to date in one turn, after the vault has changed over.
const AMENDED: usize = 256;

/// After how long a provider that did not tell its dimensions is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// The number that the ledger knows the job by, among the store's values: the budget holds over restarts.
const RUN: &str = "embed_run";

/// Seconds of a call, about, for the estimate.
const CALL_SECONDS: f64 = 1.5;

/// The inputs of a note's chunks.
type Inputs = Vec<Vec<InputHash>>;

/// A change of embedders that goes on.
pub(super) struct EmbedderMigration {
    config: EmbedConfig,
    stage: Stage,
    /// The job that tells of it; 0 before it began.
    pub(super) job: u64,
    /// Tells events of this change from those of another.
    ticket: u64,
}

enum Stage {
    /// The embedder is not open; tried at `at`.
    Closed { at: Instant, why: Option<String> },
    /// It is being opened on a thread of its own.
    Opening { why: Option<String> },
    /// Its vectors are being made.
    Filling(Box<Fill>),
    /// The vault is changing over.
    Changing,
    /// It was refused, or given up.
    Ended(String),
    /// The vault has changed over; these notes' records have yet to say so.
    Over(Vec<(VaultPath, Inputs)>),
}

/// The vectors of the new embedder, as far as they are made.
pub(super) struct Fill {
    pub(super) service: Arc<Service>,
    pub(super) pipeline: Arc<NotePipeline>,
    /// Notes to look at.
    todo: BTreeSet<VaultPath>,
    /// So many are being looked at.
    looking: usize,
    /// Notes that lack nothing: the inputs of their chunks; `None` if they are to be left as they are.
    pub(super) done: HashMap<VaultPath, Option<Inputs>>,
    /// Notes that lack vectors, with the tokens of what they lack.
    lacking: BTreeMap<VaultPath, u64>,
    ordered: BTreeSet<VaultPath>,
    /// Whether what it costs is within the budget.
    approved: bool,
    run: u64,
    limits: (u64, u64),
}

/// What the indexer is at, as far as the change depends on it.
pub(super) struct Around<'a> {
    pub(super) now: Instant,
    /// Whether the disk was looked at since the vault was opened.
    pub(super) looked: bool,
    /// Whether anything is being decided about.
    pub(super) at_work: bool,
    /// Whether the user cancelled the job.
    pub(super) cancelled: bool,
    pub(super) budget: &'a BudgetConfig,
}

/// What is to be done.
pub(super) enum Effect {
    /// A job begins.
    Begin,
    /// The embedder is to be opened, on a thread that may wait.
    Open(EmbedConfig),
    /// Notes are to be looked at with the new embedder's eyes.
    DryRun(Arc<NotePipeline>, Vec<VaultPath>),
    /// It is known what it will take.
    Estimated(Estimate),
    /// So many of so many notes are done.
    Progress(u64, u64),
    /// All vectors are there: the vault is to change over.
    ChangeOver(Box<Fill>),
    /// These records are to be brought up to date.
    Amend(Vec<(VaultPath, Inputs)>),
    /// The job ends without the change, and why.
    GiveUp(String),
    /// Nothing is left to be done.
    Over,
}

impl EmbedderMigration {
    pub(super) fn new(config: EmbedConfig) -> Self {
        static TICKETS: AtomicU64 = AtomicU64::new(1);
        let ticket = TICKETS.fetch_add(1, Ordering::Relaxed);
        EmbedderMigration { config, stage: Stage::Closed { at: machine::now(), why: None }, job: 0, ticket }
    }

    /// Tells events of this change from those of another.
    pub(super) fn ticket(&self) -> u64 {
        self.ticket
    }

    /// What is to be done now.
    pub(super) fn poll(&mut self, around: &Around<'_>) -> Vec<Effect> {
        if around.cancelled && matches!(self.stage, Stage::Filling(_)) {
            return self.give_up("it was cancelled; `situated resume` has it tried again".to_owned());
        }
        match &mut self.stage {
            Stage::Closed { at, why } if *at <= around.now && around.looked && !around.at_work => {
                let open = Effect::Open(self.config.clone());
                self.stage = Stage::Opening { why: why.take() };
                let begin = (self.job == 0).then(|| {
                    tracing::info!(
                        provider = self.config.provider.name(),
                        model = self.config.model(),
                        "another embedder is to take over"
                    );
                    Effect::Begin
                });
                begin.into_iter().chain([open]).collect()
            }
            Stage::Filling(fill) => match fill.poll(around) {
                Ok(effects) if fill.is_full() && !around.at_work => self.change_over(effects),
                Ok(effects) => effects,
                Err(refusal) => self.give_up(refusal),
            },
            Stage::Over(rest) if rest.is_empty() => vec![Effect::Over],
            Stage::Over(rest) => vec![Effect::Amend(rest.split_off(rest.len().saturating_sub(AMENDED)))],
            Stage::Closed { .. } | Stage::Opening { .. } | Stage::Changing | Stage::Ended(_) => Vec::new(),
        }
    }

    fn change_over(&mut self, mut effects: Vec<Effect>) -> Vec<Effect> {
        match std::mem::replace(&mut self.stage, Stage::Changing) {
            Stage::Filling(fill) => effects.push(Effect::ChangeOver(fill)),
            other => self.stage = other,
        }
        effects
    }

    fn give_up(&mut self, why: String) -> Vec<Effect> {
        tracing::warn!("the embedder does not take over: {why}");
        self.stage = Stage::Ended(why.clone());
        vec![Effect::GiveUp(why)]
    }

    /// The embedder was opened, or could not be.
    pub(super) fn opened(&mut self, ticket: u64, begun: Result<Fill, String>, now: Instant) {
        if self.ticket == ticket && matches!(self.stage, Stage::Opening { .. }) {
            self.stage = match begun {
                Ok(fill) => Stage::Filling(Box::new(fill)),
                Err(why) => Stage::Closed { at: now + ASK_AGAIN, why: Some(why) },
            };
        }
    }

    /// Notes were looked at with the new embedder's eyes.
    pub(super) fn looked_at(&mut self, ticket: u64, notes: Vec<DryRun>, vault: (u64, &str)) -> Result<(), EngineError> {
        match &mut self.stage {
            Stage::Filling(fill) if self.ticket == ticket => fill.take(notes, vault),
            _ => Ok(()),
        }
    }

    /// No thread could be had to look at notes with: they are looked at later.
    pub(super) fn not_looked_at(&mut self, paths: Vec<VaultPath>) {
        if let Stage::Filling(fill) = &mut self.stage {
            fill.looking = 0;
            fill.todo.extend(paths);
        }
    }

    /// The vault has changed over; these records have yet to say so.
    pub(super) fn changed_over(&mut self, records: Vec<(VaultPath, Inputs)>) {
        self.stage = Stage::Over(records);
        self.job = 0;
    }

    /// Something could not be written: everything is begun anew, from the cache.
    pub(super) fn failed(&mut self, why: String, now: Instant) {
        self.stage = Stage::Closed { at: now + ASK_AGAIN, why: Some(why) };
    }

    /// Whether vectors of this identity are what it waits for.
    pub(super) fn is_to(&self, identity: &str) -> bool {
        matches!(&self.stage, Stage::Filling(fill) if fill.service.embedder.identity() == identity)
    }

    /// Vectors of a note have come, or its part of the job failed.
    pub(super) fn came(&mut self, path: VaultPath, problem: Option<String>) -> Vec<Effect> {
        let Stage::Filling(fill) = &mut self.stage else { return Vec::new() };
        fill.ordered.remove(&path);
        fill.todo.insert(path);
        problem.map_or_else(Vec::new, |why| self.give_up(why))
    }

    /// A note was decided about, or removed.
    pub(super) fn note_changed(&mut self, path: &VaultPath) {
        if let Stage::Filling(fill) = &mut self.stage {
            fill.done.remove(path);
            fill.lacking.remove(path);
            fill.todo.insert(path.clone());
        }
    }

    /// What keeps it from going on.
    pub(super) fn problem(&self) -> Option<String> {
        let name = self.config.model();
        match &self.stage {
            Stage::Closed { why: Some(why), .. } | Stage::Opening { why: Some(why) } => {
                Some(format!("the embedder {name} cannot be asked, and another goes on serving: {why}"))
            }
            Stage::Ended(why) => Some(format!("the embedder {name} does not take over: {why}")),
            // What keeps the embedder from answering it says itself.
            Stage::Closed { .. } | Stage::Opening { .. } | Stage::Filling(_) | Stage::Changing | Stage::Over(_) => None,
        }
    }

    /// The user says that it works again.
    pub(super) fn resume(&mut self) {
        if let Stage::Filling(fill) = &self.stage {
            fill.service.resume();
        }
        self.try_again();
    }

    /// What made it end may be mended.
    pub(super) fn try_again(&mut self) {
        if matches!(self.stage, Stage::Closed { .. } | Stage::Ended(_)) {
            self.stage = Stage::Closed { at: machine::now(), why: None };
        }
    }

    /// When it has to be looked after, whatever happens; `ready` tells whether the vault has nothing else to do.
    pub(super) fn next_wake(&self, ready: bool) -> Option<Instant> {
        match &self.stage {
            Stage::Closed { at, .. } => ready.then_some(*at),
            Stage::Over(_) => Some(machine::now()),
            Stage::Opening { .. } | Stage::Filling(_) | Stage::Changing | Stage::Ended(_) => None,
        }
    }

    /// The embedder that is made ready.
    pub(super) fn service(&self) -> Option<&Arc<Service>> {
        match &self.stage {
            Stage::Filling(fill) => Some(&fill.service),
            _ => None,
        }
    }

    /// For `status`.
    pub(super) fn status(&self, status: &mut EmbedStatus) {
        status.next = Some(match &self.stage {
            Stage::Filling(fill) => fill.service.embedder.identity().to_owned(),
            Stage::Over(_) => return,
            _ => format!("{} {}", self.config.provider.name(), self.config.model()),
        });
        if let Stage::Filling(fill) = &self.stage {
            (status.done, status.total) = (status.done + fill.finished(), status.total + fill.total());
        }
    }
}

impl Fill {
    /// Begins with the notes that are known.
    pub(super) fn begin<'a>(
        pipeline: &NotePipeline,
        known: impl Iterator<Item = &'a VaultPath>,
        service: Arc<Service>,
        budget: &BudgetConfig,
    ) -> Result<Fill, EngineError> {
        let embedder = &service.embedder;
        let cache = pipeline.store.vectors_of(embedder.identity(), embedder.dimensions())?;
        cache.release();
        let remembered = pipeline.store.value(RUN)?.and_then(|text| {
            let (run, identity) = text.split_once(' ')?;
            (identity == embedder.identity()).then(|| run.parse::<u64>().ok()).flatten()
        });
        let run = remembered.unwrap_or_else(|| u64::try_from(machine::timestamp().as_millisecond()).unwrap_or(0));
        if remembered.is_none() {
            pipeline.store.set_value(RUN, Some(&format!("{run} {}", embedder.identity())))?;
        }
        Ok(Fill {
            pipeline: with_embedder(pipeline, &service, cache),
            service,
            todo: known.cloned().collect(),
            looking: 0,
            done: HashMap::new(),
            lacking: BTreeMap::new(),
            ordered: BTreeSet::new(),
            approved: false,
            run,
            limits: (budget.rebuild, budget.rebuild_tokens),
        })
    }

    /// What is to be done now, or why it must not begin.
    fn poll(&mut self, around: &Around<'_>) -> Result<Vec<Effect>, String> {
        let mut effects = Vec::new();
        if self.todo.is_empty() && self.looking == 0 && !self.approved {
            let estimate = self.estimate();
            let refusal = Fill::refusal(&estimate, around.budget);
            self.approved = true;
            effects.push(Effect::Estimated(estimate));
            if let Some(why) = refusal {
                return Err(why);
            }
        }
        if self.approved && self.ordered.len() < ORDERED && self.todo.len() < AT_ONCE {
            let more: Vec<VaultPath> = self.lacking.keys().take(AT_ONCE).cloned().collect();
            for path in &more {
                self.lacking.remove(path);
            }
            self.todo.extend(more);
        }
        if self.looking == 0 && !self.todo.is_empty() {
            let paths: Vec<VaultPath> = self.todo.iter().take(AT_ONCE).cloned().collect();
            for path in &paths {
                self.todo.remove(path);
            }
            self.looking = paths.len();
            effects.push(Effect::DryRun(self.pipeline.clone(), paths));
        }
        effects.push(Effect::Progress(self.finished(), self.total()));
        Ok(effects)
    }

    pub(super) fn finished(&self) -> u64 {
        self.done.len() as u64
    }

    fn total(&self) -> u64 {
        (self.done.len() + self.lacking.len() + self.ordered.len() + self.todo.len() + self.looking) as u64
    }

    /// What is left to be made.
    fn estimate(&self) -> Estimate {
        let tokens: u64 = self.lacking.values().sum();
        let most = self.service.embedder.per_call().tokens.max(1);
        let calls = tokens.div_ceil(most.min(50_000)).max(u64::from(tokens > 0));
        let at_once = self.service.config().concurrency.max(1) as f64;
        Estimate {
            notes: self.lacking.len() as u64,
            calls,
            tokens_in: tokens,
            micro_dollars: self.service.cost(tokens),
            price_as_of: self.service.price.filter(|price| *price > 0).map(|_| models::AS_OF.to_owned()),
            minutes: calls as f64 * CALL_SECONDS / 60.0 / at_once.min(calls.max(1) as f64),
            ..Estimate::default()
        }
    }

    /// Why it must not begin.
    fn refusal(estimate: &Estimate, budget: &BudgetConfig) -> Option<String> {
        match estimate.micro_dollars {
            Some(cost) if cost > budget.rebuild => Some(format!(
                "it would cost about {} ({} tokens), and `budget.rebuild` is {}; raise it and reload",
                dollars(cost),
                estimate.tokens_in,
                dollars(budget.rebuild)
            )),
            None if estimate.tokens_in > budget.rebuild_tokens => Some(format!(
                "its price is not known, and it would take about {} tokens, where `budget.rebuild_tokens` is {}; say \
                 the price in `embed.price_per_mtok`, or raise the budget, and reload",
                estimate.tokens_in, budget.rebuild_tokens
            )),
            _ => None,
        }
    }

    /// Takes what a look has found.
    fn take(&mut self, notes: Vec<DryRun>, (vault, vault_name): (u64, &str)) -> Result<(), EngineError> {
        self.looking = 0;
        for DryRun { path, needs } in notes {
            // Decided about meanwhile: it is looked at once more.
            if self.todo.contains(&path) {
                continue;
            }
            match needs {
                Needs::Nothing => {}
                Needs::Unsettled => drop(self.done.insert(path, None)),
                Needs::Failed(error) => return Err(error.into()),
                Needs::Inputs { inputs, missing } => {
                    let worker = self.service.worker.as_ref();
                    let wanted: Vec<_> =
                        missing.into_iter().filter(|d| worker.is_some_and(|worker| !worker.refused(d))).collect();
                    let Some(worker) = worker.filter(|_| !wanted.is_empty()) else {
                        self.done.insert(path, Some(inputs));
                        continue;
                    };
                    if !self.approved {
                        let tokens = wanted.iter().flatten().map(|input| tokens_of(&input.text)).sum();
                        self.lacking.insert(path, tokens);
                        continue;
                    }
                    self.ordered.insert(path.clone());
                    worker.embed(EmbedJob {
                        vault,
                        vault_name: vault_name.to_owned(),
                        path,
                        cache: Arc::downgrade(&self.pipeline.vectors),
                        documents: wanted,
                        bulk: true,
                        reason: Reason::EmbedderChanged,
                        purpose: Purpose::Rebuild(self.run),
                        rebuild: Some(self.limits),
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether no note lacks anything.
    fn is_full(&self) -> bool {
        self.approved && self.looking == 0 && self.todo.is_empty() && self.lacking.is_empty() && self.ordered.is_empty()
    }
}

/// What decides about the same vault with another embedder.
pub(super) fn with_embedder(
    pipeline: &NotePipeline,
    service: &Arc<Service>,
    cache: Arc<VectorCache>,
) -> Arc<NotePipeline> {
    let embedder = service.embedder.identity().to_owned();
    Arc::new(NotePipeline {
        root: pipeline.root.clone(),
        disk: pipeline.disk.clone(),
        max_note_bytes: pipeline.max_note_bytes,
        rules: pipeline.rules.clone(),
        private: pipeline.private.clone(),
        levels: pipeline.levels,
        expansion: pipeline.expansion,
        writer_leaves: pipeline.writer_leaves,
        chunk: pipeline.chunk.clone(),
        service: service.clone(),
        vectors: cache,
        generation: Generation { embedder, ..pipeline.generation.clone() },
        prompter: pipeline.prompter.clone(),
        store: pipeline.store.clone(),
    })
}

/// The change is over: its number is forgotten.
pub(super) fn forget_run(pipeline: &NotePipeline) -> Result<(), EngineError> {
    Ok(pipeline.store.set_value(RUN, None)?)
}

#[cfg(test)]
mod tests;
