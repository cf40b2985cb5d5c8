//! From one embedder to another: the old one serves while the vectors of the new one are made beside, then the vault
//! changes over at once: one published pair of snapshot and embedder takes the place of another.
//!
//! First every note is looked at ([`survey`]), which tells what is to be made and what that costs; then what is
//! missing is ordered, a few notes at a time, and each is looked at again when it has come; notes that are saved
//! meanwhile are looked at again too. When no note lacks anything the vault changes over. All that was made is in the
//! cache on disk, so a process that dies loses a batch at most, and switching back finds everything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::super::decide::{Desk, Task};
use super::super::keeper::Keeper;
use super::super::report::{EmbedStatus, Notice, Scope};
use super::super::{EngineError, Event, Loop};
use super::survey::{Found, Surveyed, survey};
use super::worker::Order;
use super::{Service, Serving};
use crate::config::BudgetConfig;
use crate::context::cost::{Estimate, dollars};
use crate::embed::settings::EmbedConfig;
use crate::embed::{EmbedError, Vector, models};
use crate::fingerprint::InputHash;
use crate::llm::cost_of;
use crate::llm::ledger::Purpose;
use crate::llm::tokens_of;
use crate::plan::{Generation, Reason};
use crate::store::VectorCache;
use crate::store::record::NoteRecord;
use crate::vault::VaultPath;

/// Notes that are looked at in one go.
const AT_ONCE: usize = 128;

/// Notes whose vectors are ordered at the same time at most: their texts are held in memory.
const ORDERED: usize = 256;

/// Records that are brought up to date in one turn of the loop, after the vault has changed over.
const AMENDED: usize = 256;

/// After how long a provider that did not tell its dimensions is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// The number that the ledger knows the job by, among the store's values: the budget holds over restarts.
const RUN: &str = "embed_run";

/// Seconds of a call, about, for the estimate.
const CALL_SECONDS: f64 = 1.5;

/// A change of embedders that goes on.
pub(in crate::engine) struct Switch {
    config: EmbedConfig,
    stage: Stage,
    /// The job that tells of it; 0 before it began.
    job: u64,
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
    /// It was refused, or given up.
    Ended(String),
    /// The vault has changed over; these notes' records have yet to say so.
    Over(Vec<(VaultPath, Vec<Vec<InputHash>>)>),
}

struct Fill {
    service: Arc<Service>,
    desk: Arc<Desk>,
    /// Notes to look at.
    todo: BTreeSet<VaultPath>,
    /// So many are being looked at.
    surveying: usize,
    /// Notes that lack nothing: the inputs of their chunks; `None` if they are to be left as they are.
    done: HashMap<VaultPath, Option<Vec<Vec<InputHash>>>>,
    /// Notes that lack vectors, with the tokens of what they lack.
    lacking: BTreeMap<VaultPath, u64>,
    ordered: BTreeSet<VaultPath>,
    /// Whether what it costs is within the budget.
    approved: bool,
    run: u64,
    limits: (u64, u64),
}

impl Switch {
    pub(in crate::engine) fn new(config: EmbedConfig) -> Self {
        static TICKETS: AtomicU64 = AtomicU64::new(1);
        let ticket = TICKETS.fetch_add(1, Ordering::Relaxed);
        Switch { config, stage: Stage::Closed { at: Instant::now(), why: None }, job: 0, ticket }
    }

    /// Whether vectors of this identity are what it waits for.
    pub(super) fn is_to(&self, identity: &str) -> bool {
        matches!(&self.stage, Stage::Filling(fill) if fill.service.embedder.identity() == identity)
    }

    /// Vectors of a note have come, or its part of the job failed.
    pub(super) fn came(&mut self, path: VaultPath, problem: Option<String>) {
        let Stage::Filling(fill) = &mut self.stage else { return };
        fill.ordered.remove(&path);
        fill.todo.insert(path);
        if let Some(why) = problem {
            self.stage = Stage::Ended(why);
        }
    }

    /// A note was decided about, or removed.
    pub(in crate::engine) fn changed(&mut self, path: &VaultPath) {
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
            Stage::Filling(fill) => fill.service.problem(),
            Stage::Closed { .. } | Stage::Opening { .. } | Stage::Over(_) => None,
        }
    }

    pub(super) fn resume(&mut self) {
        if let Stage::Filling(fill) = &self.stage {
            fill.service.resume();
        }
        self.try_again();
    }

    /// What made it end may be mended.
    pub(in crate::engine) fn try_again(&mut self) {
        if matches!(self.stage, Stage::Closed { .. } | Stage::Ended(_)) {
            self.stage = Stage::Closed { at: Instant::now(), why: None };
        }
    }

    /// When it has to be looked after, whatever happens; `ready` tells whether the vault has nothing else to do.
    pub(in crate::engine) fn next_wake(&self, ready: bool) -> Option<Instant> {
        match &self.stage {
            Stage::Closed { at, .. } => ready.then_some(*at),
            Stage::Over(rest) if !rest.is_empty() => Some(Instant::now()),
            Stage::Over(_) | Stage::Opening { .. } | Stage::Filling(_) | Stage::Ended(_) => None,
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
    pub(in crate::engine) fn status(&self, status: &mut EmbedStatus) {
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
    fn finished(&self) -> u64 {
        self.done.len() as u64
    }

    fn total(&self) -> u64 {
        (self.done.len() + self.lacking.len() + self.ordered.len() + self.todo.len() + self.surveying) as u64
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
            micro_dollars: cost_of(self.service.price, tokens),
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
    fn take(&mut self, surveyed: Vec<Surveyed>, keeper: &Look) -> Result<(), EngineError> {
        self.surveying = 0;
        for Surveyed { path, found } in surveyed {
            // Decided about meanwhile: it is looked at once more.
            if self.todo.contains(&path) {
                continue;
            }
            match found {
                Found::Nothing => {}
                Found::Unsettled => drop(self.done.insert(path, None)),
                Found::Failed(error) => return Err(error.into()),
                Found::Inputs { inputs, missing } => {
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
                    worker.order(Order {
                        vault: keeper.vault,
                        vault_name: keeper.name.clone(),
                        path,
                        cache: Arc::downgrade(&self.desk.vectors),
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
        self.approved
            && self.surveying == 0
            && self.todo.is_empty()
            && self.lacking.is_empty()
            && self.ordered.is_empty()
    }
}

/// Whose notes are looked at.
struct Look {
    vault: u64,
    name: String,
}

impl Keeper {
    /// The same vault with another embedder.
    pub(super) fn desk_with(&self, service: &Arc<Service>, cache: Arc<VectorCache>) -> Arc<Desk> {
        let desk = &self.desk;
        let embedder = service.embedder.identity().to_owned();
        Arc::new(Desk {
            root: desk.root.clone(),
            max_note_bytes: desk.max_note_bytes,
            rules: desk.rules.clone(),
            private: desk.private.clone(),
            writer_leaves: desk.writer_leaves,
            chunk: desk.chunk.clone(),
            service: service.clone(),
            vectors: cache,
            generation: Generation { embedder, ..desk.generation.clone() },
            prompter: desk.prompter.clone(),
            store: desk.store.clone(),
        })
    }

    fn begin_fill(&self, service: Arc<Service>, budget: &BudgetConfig) -> Result<Fill, EngineError> {
        let embedder = &service.embedder;
        let cache = self.desk.store.vectors_of(embedder.identity(), embedder.dimensions())?;
        cache.release();
        let known = self.desk.store.value(RUN)?.and_then(|text| {
            let (run, identity) = text.split_once(' ')?;
            (identity == embedder.identity()).then(|| run.parse::<u64>().ok()).flatten()
        });
        let run = known.unwrap_or_else(|| u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0));
        if known.is_none() {
            self.desk.store.set_value(RUN, Some(&format!("{run} {}", embedder.identity())))?;
        }
        Ok(Fill {
            desk: self.desk_with(&service, cache),
            service,
            todo: self.known.keys().cloned().collect(),
            surveying: 0,
            done: HashMap::new(),
            lacking: BTreeMap::new(),
            ordered: BTreeSet::new(),
            approved: false,
            run,
            limits: (budget.rebuild, budget.rebuild_tokens),
        })
    }

    /// Has the new embedder serve from here on.
    fn change_over(&mut self, fill: Fill) -> Result<Stage, EngineError> {
        let Fill { service, desk, done, .. } = fill;
        let cache = desk.vectors.clone();
        cache.sync()?;
        // From here on a restart finds the new one in force; records that do not say so yet are decided again then,
        // from the cache.
        Serving::of(&service.config(), &service.embedder)
            .write(&self.dir)
            .map_err(|error| EngineError::io(&self.dir, &error))?;
        cache.load()?;
        let by_number: HashMap<u32, &Vec<Vec<InputHash>>> =
            done.iter().filter_map(|(path, inputs)| Some((*self.numbers.get(path)?, inputs.as_ref()?))).collect();
        let mut vectors_of = |note: u32, position: usize| -> Vec<Vector> {
            let inputs = by_number.get(&note).and_then(|chunks| chunks.get(position));
            inputs.map_or_else(Vec::new, |inputs| cache.get_all(inputs).into_iter().flatten().collect())
        };
        self.index.replace_vectors(service.embedder.dimensions(), &mut vectors_of);
        cache.release();
        self.desk.store.serve_vectors(cache);
        self.desk = desk;
        self.awaited = super::Awaited::default();
        // The pair of snapshot and embedder is published as one.
        self.publish()?;
        self.desk.store.set_value(RUN, None)?;
        // What could not be looked at has no vectors now; whoever reads it next makes them.
        let unseen = done.iter().filter(|(_, inputs)| inputs.is_none()).map(|(path, _)| Task::again(path.clone()));
        let unseen: Vec<Task> = unseen.collect();
        if !unseen.is_empty() {
            self.enqueue(unseen, Vec::new(), true);
        }
        Ok(Stage::Over(done.into_iter().filter_map(|(path, inputs)| Some((path, inputs?))).collect()))
    }

    /// Brings a record up to date with the vectors that serve; what is indexed of the note does not change.
    fn amend_embedder(&self, path: &VaultPath, inputs: &[Vec<InputHash>]) -> Result<(), EngineError> {
        let embedder = &self.desk.generation.embedder;
        self.desk.store.amend(path, |record: &mut NoteRecord| {
            if record.embedder != *embedder && record.chunks.len() == inputs.len() {
                record.embedder.clone_from(embedder);
                record.chunks.iter_mut().zip(inputs).for_each(|(chunk, inputs)| chunk.inputs.clone_from(inputs));
            }
        })?;
        Ok(())
    }
}

impl Loop {
    /// Goes on with a vault's change of embedders.
    pub(in crate::engine) fn tend_switch(&mut self, vault: u64) {
        let config = self.shared.config.load_full();
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let Some(mut switch) = keeper.switch.take() else { return };
        if keeper.trouble.is_some() {
            keeper.switch = Some(switch);
            return;
        }
        let (job, ticket) = (switch.job, switch.ticket);
        if job > 0 && self.shared.jobs.is_cancelled(job) && matches!(switch.stage, Stage::Filling(_)) {
            switch.stage = Stage::Ended("it was cancelled; `situated resume` has it tried again".to_owned());
        }
        let result = match switch.stage {
            Stage::Closed { at, why } if at <= Instant::now() && keeper.looked && !keeper.is_at_work() => {
                if switch.job == 0 {
                    let scope = Scope { vault: Some(keeper.config.name.clone()), path: None };
                    switch.job = self.shared.jobs.begin("embed", scope, 1);
                    let embedder = (switch.config.provider.name(), switch.config.model());
                    tracing::info!(vault = keeper.config.name, ?embedder, "another embedder is to take over");
                }
                let (shared, wanted) = (self.shared.clone(), switch.config.clone());
                let open = move || {
                    let result = Service::open(&shared, &wanted, None);
                    // The engine may have ended meanwhile.
                    let _ = shared.events.send(Event::Opened { vault, ticket, result });
                };
                match std::thread::Builder::new().name("open-embedder".to_owned()).spawn(open) {
                    Ok(_) => Ok(Stage::Opening { why }),
                    Err(error) => Ok(Stage::Closed { at: Instant::now() + ASK_AGAIN, why: Some(error.to_string()) }),
                }
            }
            Stage::Filling(mut fill) => {
                let mut refusal = None;
                if fill.todo.is_empty() && fill.surveying == 0 && !fill.approved {
                    let estimate = fill.estimate();
                    refusal = Fill::refusal(&estimate, &config.budget);
                    fill.approved = true;
                    let changed = self.shared.jobs.change(switch.job, |job| {
                        "embedding".clone_into(&mut job.phase);
                        job.estimate = Some(estimate);
                    });
                    changed.into_iter().for_each(|job| self.shared.notify(Notice::Job(Box::new(job))));
                }
                if let Some(why) = refusal {
                    Ok(Stage::Ended(why))
                } else if fill.is_full() && !keeper.is_at_work() {
                    let reembedded = fill.finished();
                    self.shared.jobs.change(job, |job| (job.done, job.total) = (reembedded, Some(reembedded)));
                    keeper.change_over(*fill).inspect(|_| {
                        tracing::info!(
                            vault = keeper.config.name,
                            notes = reembedded,
                            "another embedder has taken over"
                        );
                    })
                } else {
                    if fill.approved && fill.ordered.len() < ORDERED && fill.todo.len() < AT_ONCE {
                        let more: Vec<VaultPath> = fill.lacking.keys().take(AT_ONCE).cloned().collect();
                        for path in &more {
                            fill.lacking.remove(path);
                        }
                        fill.todo.extend(more);
                    }
                    if fill.surveying == 0 && !fill.todo.is_empty() {
                        let paths: Vec<VaultPath> = fill.todo.iter().take(AT_ONCE).cloned().collect();
                        for path in &paths {
                            fill.todo.remove(path);
                        }
                        let looked_at = paths.len();
                        let (desk, events) = (fill.desk.clone(), self.shared.events.clone());
                        let look = move || {
                            crate::sandbox::background_thread();
                            let surveyed = survey(&desk, paths);
                            let _ = events.send(Event::Surveyed { vault, ticket, surveyed });
                        };
                        match std::thread::Builder::new().name("survey".to_owned()).spawn(look) {
                            Ok(_) => fill.surveying = looked_at,
                            Err(error) => tracing::error!(%error, "no thread to look at notes with"),
                        }
                    }
                    let (done, total) = (fill.finished(), fill.total());
                    let moved_on = self.shared.jobs.get(switch.job).is_ok_and(|job| job.done != done);
                    if moved_on {
                        let changed = self.shared.jobs.change(switch.job, |job| {
                            (job.done, job.total) = (done, Some(total));
                        });
                        changed.into_iter().for_each(|job| self.shared.notify(Notice::Job(Box::new(job))));
                    }
                    Ok(Stage::Filling(fill))
                }
            }
            Stage::Over(mut rest) => {
                let part = rest.split_off(rest.len().saturating_sub(AMENDED));
                part.iter()
                    .try_for_each(|(path, inputs)| keeper.amend_embedder(path, inputs))
                    .map(|()| Stage::Over(rest))
            }
            other => Ok(other),
        };
        let stage = result.unwrap_or_else(|error| {
            keeper.be_troubled(&error);
            // The store is opened again, and everything begun anew from the cache.
            Stage::Closed { at: Instant::now() + ASK_AGAIN, why: Some(error.to_string()) }
        });
        let seq = keeper.shared.status().seq;
        let ended = match &stage {
            Stage::Over(_) => Some(("done", None)),
            Stage::Ended(why) => Some((
                if self.shared.jobs.is_cancelled(switch.job) { "cancelled" } else { "failed" },
                Some(why.clone()),
            )),
            _ => None,
        };
        switch.stage = stage;
        let over = matches!(&switch.stage, Stage::Over(rest) if rest.is_empty());
        let job = switch.job;
        if ended.is_some() {
            switch.job = 0;
        }
        keeper.switch = (!over).then_some(switch);
        if let Some((state, problem)) = ended.filter(|_| job > 0) {
            if let Some(why) = &problem {
                tracing::warn!("the embedder does not take over: {why}");
            }
            self.shared.jobs.change(job, |job| job.problem = problem);
            self.end_jobs(&[job], seq, 0, state);
        }
    }

    /// A thread has opened the new embedder, or could not.
    pub(in crate::engine) fn embedder_opened(
        &mut self,
        vault: u64,
        ticket: u64,
        result: Result<Arc<Service>, EmbedError>,
    ) {
        let budget = self.shared.config.load().budget.clone();
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let Some(mut switch) = keeper.switch.take() else { return };
        if switch.ticket == ticket && matches!(switch.stage, Stage::Opening { .. }) {
            let begun = result.map_err(|error| error.to_string());
            let begun =
                begun.and_then(|service| keeper.begin_fill(service, &budget).map_err(|error| error.to_string()));
            switch.stage = match begun {
                Ok(fill) => Stage::Filling(Box::new(fill)),
                Err(why) => Stage::Closed { at: Instant::now() + ASK_AGAIN, why: Some(why) },
            };
        }
        keeper.switch = Some(switch);
    }

    /// A thread has looked at notes.
    pub(in crate::engine) fn surveyed(&mut self, vault: u64, ticket: u64, surveyed: Vec<Surveyed>) {
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let look = Look { vault, name: keeper.config.name.clone() };
        let Some(switch) = keeper.switch.as_mut().filter(|switch| switch.ticket == ticket) else { return };
        let Stage::Filling(fill) = &mut switch.stage else { return };
        if let Err(error) = fill.take(surveyed, &look) {
            keeper.be_troubled(&error);
        }
    }
}
