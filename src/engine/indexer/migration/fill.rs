//! Makes the vectors of an embedder that is to take over.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::super::disk::Disk;
use super::super::dry_run::{DryRun, Needs, dry_run};
use super::super::{ActorContext, Event};
use super::{Around, Inputs};
use crate::EngineError;
use crate::decide::NotePipeline;
use crate::embedding::Service;
use crate::embedding::worker::EmbedJob;
use context::cost::dollars;
use context::plan::{Generation, Reason};
use note::VaultPath;
use protocol::contexts::Estimate;
use provider::ledger::Purpose;
use provider::settings::BudgetConfig;
use provider::tokens_of;
use store::VectorCache;

/// Notes that one dry run looks at.
const AT_ONCE: usize = 128;

/// Notes whose vectors are ordered at the same time at most: their texts are held in memory.
const ORDERED: usize = 256;

/// The key, among the store's values, of the number that the ledger knows the job by, so that the budget holds across
/// restarts.
const RUN: &str = "embed_run";

/// How far the vectors of the new embedder are made.
pub(in crate::indexer) struct Fill {
    pub(in crate::indexer) service: Arc<Service>,
    pub(in crate::indexer) pipeline: Arc<NotePipeline>,
    /// Notes to look at.
    pub(super) todo: BTreeSet<VaultPath>,
    /// How many notes the dry run under way looks at.
    looking: usize,
    /// Notes that lack nothing, with the inputs of their chunks; `None` if the dry run could not see the note as the
    /// store knows it: it is decided about again after the change.
    pub(in crate::indexer) done: HashMap<VaultPath, Option<Inputs>>,
    /// Notes that lack vectors, with the tokens of what they lack.
    pub(super) lacking: BTreeMap<VaultPath, u64>,
    pub(super) ordered: BTreeSet<VaultPath>,
    /// The estimate of the work, once every note was looked at and the work may be bought.
    pub(super) approved: Option<Estimate>,
    run: u64,
    limits: (u64, u64),
}

/// Why vectors are not ordered.
pub(super) enum Held {
    /// The user has not agreed to what it takes.
    Unagreed(Estimate),
    /// The budget has no room for it.
    Refused(String),
}

impl Fill {
    /// Begins with the notes that are known.
    pub(in crate::indexer) fn begin<'a>(
        pipeline: &NotePipeline,
        known: impl Iterator<Item = &'a VaultPath>,
        service: Arc<Service>,
        budget: &BudgetConfig,
    ) -> Result<Fill, EngineError> {
        let embedder = &service.embedder;
        // The same embedder takes over from itself after a yes to it was taken back and given again, or at another address.
        let cache = if embedder.identity() == pipeline.service.embedder.identity() {
            pipeline.vectors.clone()
        } else {
            pipeline.store.vectors_of(embedder.identity(), embedder.dimensions())?
        };
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
            approved: None,
            run,
            limits: (budget.rebuild, budget.rebuild_tokens),
        })
    }

    /// Goes on, under a job and a ticket; or says why ordering must not begin.
    pub(super) fn poll(
        &mut self,
        actor: &Arc<ActorContext>,
        around: Around<'_>,
        (job, ticket): (u64, u64),
        agreed: bool,
    ) -> Result<(), Held> {
        if self.todo.is_empty() && self.looking == 0 && self.approved.is_none() {
            let estimate = self.estimate();
            // A yes would be in vain.
            if let Some(why) = Fill::refusal(&estimate, &actor.engine.config.load().budget) {
                return Err(Held::Refused(why));
            }
            if !agreed {
                return Err(Held::Unagreed(estimate));
            }
            self.approved = Some(estimate.clone());
            actor.tell_part(job, |part| {
                part.phase = "embedding".to_owned();
                part.estimate = Some(estimate);
            });
        }
        if self.approved.is_some() && self.ordered.len() < ORDERED && self.todo.len() < AT_ONCE {
            let more: Vec<VaultPath> = self.lacking.keys().take(AT_ONCE).cloned().collect();
            for path in &more {
                self.lacking.remove(path);
            }
            self.todo.extend(more);
        }
        if self.looking == 0 && !self.todo.is_empty() {
            self.look(actor, around.disk.clone(), ticket);
        }
        actor.change_part(job, |part| part.total = Some(self.total()));
        actor.tell_progress(job, self.finished());
        Ok(())
    }

    /// Has a dry run look at some notes, on a thread of its own.
    fn look(&mut self, actor: &Arc<ActorContext>, disk: Arc<dyn Disk>, ticket: u64) {
        let paths: Vec<VaultPath> = self.todo.iter().take(AT_ONCE).cloned().collect();
        let (actor, pipeline, notes) = (actor.clone(), self.pipeline.clone(), paths.clone());
        let look = move || {
            crate::host::background_thread();
            let notes = dry_run(&*disk, &pipeline, notes);
            drop(pipeline);
            let _ = actor.inbox.send(Event::DryRun { ticket, notes });
        };
        match machine::spawn("dry-run", look) {
            Ok(()) => {
                self.looking = paths.len();
                self.todo.retain(|path| !paths.contains(path));
            }
            Err(error) => tracing::error!(%error, "no thread to look at notes with"),
        }
    }

    /// Notes that lack nothing.
    pub(super) fn finished(&self) -> u64 {
        self.done.len() as u64
    }

    /// Notes in all.
    pub(super) fn total(&self) -> u64 {
        (self.done.len() + self.lacking.len() + self.ordered.len() + self.todo.len() + self.looking) as u64
    }

    /// What is left to be made.
    fn estimate(&self) -> Estimate {
        self.service.estimate(self.lacking.len() as u64, self.lacking.values().sum())
    }

    /// Why the budget does not allow the work, if so.
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

    /// Takes what a dry run has found.
    pub(super) fn take(&mut self, notes: Vec<DryRun>, actor: &ActorContext) -> Result<(), EngineError> {
        self.looking = 0;
        for DryRun { path, needs } in notes {
            // Decided about meanwhile: it is looked at once more.
            if self.todo.contains(&path) {
                continue;
            }
            match needs? {
                Needs::Nothing => {}
                Needs::Unsettled => drop(self.done.insert(path, None)),
                Needs::Inputs { inputs, missing } => {
                    let worker = self.service.worker.as_ref();
                    let wanted: Vec<_> =
                        missing.into_iter().filter(|d| worker.is_some_and(|worker| !worker.refused(d))).collect();
                    let Some(worker) = worker.filter(|_| !wanted.is_empty()) else {
                        self.done.insert(path, Some(inputs));
                        continue;
                    };
                    if self.approved.is_none() {
                        let tokens = wanted.iter().flatten().map(|input| tokens_of(&input.text)).sum();
                        self.lacking.insert(path, tokens);
                        continue;
                    }
                    self.ordered.insert(path.clone());
                    worker.embed(EmbedJob {
                        vault: actor.shared.id,
                        vault_name: actor.place.vault.name.clone(),
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

    /// Whether the embedder refused more texts than it took.
    pub(super) fn is_mostly_refused(&self) -> bool {
        let inputs = || self.done.values().flatten().flatten().flatten();
        let refused = self.service.worker.as_ref().map_or(0, |worker| worker.count_refused(inputs()));
        refused * 2 > inputs().count()
    }

    /// Takes back what was ordered for a note that has changed: it may be private now.
    pub(super) fn forget(&mut self, vault: u64, path: &VaultPath) {
        if self.ordered.remove(path)
            && let Some(worker) = &self.service.worker
        {
            worker.forget(vault, path.clone());
        }
    }

    /// Whether no note lacks anything.
    pub(super) fn is_full(&self) -> bool {
        self.approved.is_some()
            && self.looking == 0
            && self.todo.is_empty()
            && self.lacking.is_empty()
            && self.ordered.is_empty()
    }
}

/// A pipeline that decides about the same vault with another embedder.
pub(in crate::indexer) fn with_embedder(
    pipeline: &NotePipeline,
    service: &Arc<Service>,
    cache: Arc<VectorCache>,
) -> Arc<NotePipeline> {
    let embedder = service.embedder.identity().to_owned();
    Arc::new(NotePipeline {
        service: service.clone(),
        vectors: cache,
        generation: Generation { embedder, ..pipeline.generation.clone() },
        ..pipeline.clone()
    })
}

/// Forgets the number of a migration that is over.
pub(in crate::indexer) fn forget_run(pipeline: &NotePipeline) -> Result<(), EngineError> {
    Ok(pipeline.store.set_value(RUN, None)?)
}
