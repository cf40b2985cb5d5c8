//! A rebuild whose contexts a model writes: it takes long, so it is remembered in the store and goes on after
//! a restart from where it was. What served before serves until the new context is there.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::contexts::Contexts;
use super::decide::Task;
use super::keeper::Keeper;
use super::report::{ContextProgress, Notice, Scope, SkippedFile};
use super::{EngineError, Loop, now_s};
use crate::context::quality::Flaw;
use crate::plan::Reason;
use crate::vault::VaultPath;

/// Its name among the store's values.
const NAME: &str = "rebuild";

/// Notes with failures that are remembered.
const MOST_FAILED: usize = 100;

/// A rebuild that goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Run {
    /// The job's number, of this process.
    #[serde(skip)]
    pub(super) job: u64,
    /// What the ledger knows it by: milliseconds since 1970 when it began.
    pub(super) id: u64,
    /// Seconds since 1970: notes decided about before then are still to be.
    pub(super) began: i64,
    /// A folder or note; everything if absent.
    pub(super) path: Option<String>,
    /// Whether the provider's batch interface is used.
    pub(super) batch: bool,
    /// Chunks in all, once every note has been decided about; 0 before.
    pub(super) total: u64,
    /// Chunks for which the model gave nothing usable.
    pub(super) failed: u64,
    /// Notes of those.
    pub(super) failures: Vec<SkippedFile>,
    #[serde(skip, default = "Instant::now")]
    pub(super) since: Instant,
    /// Chunks that were done when this process took it up.
    #[serde(skip)]
    done_before: u64,
}

impl Run {
    pub(super) fn new(job: u64, path: Option<String>, batch: bool) -> Self {
        Run {
            job,
            id: u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0),
            began: now_s(),
            path,
            batch,
            total: 0,
            failed: 0,
            failures: Vec::new(),
            since: Instant::now(),
            done_before: 0,
        }
    }

    /// A chunk got no context.
    pub(super) fn failed(&mut self, path: &VaultPath, flaw: Flaw) {
        self.failed += 1;
        if self.failures.len() < MOST_FAILED {
            let why = serde_json::to_value(flaw).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
            self.failures.push(SkippedFile { path: path.to_string(), why });
        }
    }

    /// How far it is, with `left` chunks to go.
    fn progress(&self, left: u64, micro_dollars: u64) -> ContextProgress {
        let processed = self.total.saturating_sub(left);
        let elapsed = self.since.elapsed().as_secs_f64();
        let here = processed.saturating_sub(self.done_before);
        let remaining = (here > 0).then(|| elapsed / here as f64 * left as f64);
        ContextProgress {
            total: self.total,
            processed,
            failed: self.failed,
            percentage: if self.total == 0 { 0.0 } else { processed as f32 / self.total as f32 * 100.0 },
            elapsed_s: elapsed,
            remaining_s: remaining,
            micro_dollars,
        }
    }
}

impl Contexts {
    fn run_text(&self) -> Option<String> {
        self.run.as_ref().and_then(|run| serde_json::to_string(run).ok())
    }
}

impl Keeper {
    /// Begins a rebuild by the model in force.
    pub(super) fn begin_run(&mut self, run: Run) -> Result<(), EngineError> {
        self.contexts.run = Some(run);
        self.remember_run()
    }

    pub(super) fn remember_run(&self) -> Result<(), EngineError> {
        Ok(self.desk.store.set_value(NAME, self.contexts.run_text().as_deref())?)
    }

    /// The rebuild that a former process did not finish.
    pub(super) fn unfinished_run(&self) -> Result<Option<Run>, EngineError> {
        let text = self.desk.store.value(NAME)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).filter(|_| self.desk.generation.costs))
    }

    /// Chunks that a run still has to see to: of a generation that is built beside another, all that wait.
    fn left_of_run(&self) -> u64 {
        let sum = self.contexts.tally.sum();
        if self.beside { sum.due } else { sum.rebuild }
    }

    /// Queues the notes of a rebuild that have not been decided about since it began.
    pub(super) fn queue_rest(&mut self, run: &Run) -> Result<(), EngineError> {
        let under = run.path.as_deref().and_then(VaultPath::parse);
        let in_scope = |path: &VaultPath| under.as_ref().is_none_or(|under| path.is_under(under));
        let notes = self.desk.store.notes()?.into_iter();
        let of_the_run = |(reason, at): (Reason, i64)| {
            at > run.began || at == run.began && matches!(reason, Reason::Rebuild | Reason::ContextWritten)
        };
        let rest = notes.filter(|record| in_scope(&record.path) && !of_the_run(record.decided));
        let tasks: Vec<Task> = rest.map(|record| Task::rebuild(record.path, run.began)).collect();
        if !tasks.is_empty() {
            let quiet = tasks.len() > 100;
            self.enqueue(tasks, vec![run.job], quiet);
        }
        Ok(())
    }
}

impl Loop {
    /// Takes up what a former process left unfinished.
    pub(super) fn resume_run(&mut self, vault: u64) {
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let resumed = keeper.unfinished_run().and_then(|run| {
            let Some(mut run) = run else { return Ok(()) };
            let scope = Scope { vault: Some(keeper.config.name.clone()), path: run.path.clone() };
            run.job = self.shared.jobs.begin("rebuild", scope, 1);
            run.done_before = run.total.saturating_sub(keeper.left_of_run());
            if !keeper.beside {
                keeper.queue_rest(&run)?;
            }
            if keeper.batches.values().any(|batch| batch.jobs.contains(&run.job)) {
                // One part ends with the notes, one with the contexts.
                self.shared.jobs.add_part(run.job);
            }
            keeper.contexts.run = Some(run);
            Ok(())
        });
        if let Err(error) = resumed {
            keeper.be_troubled(&error);
        }
    }

    /// Tells how far rebuilds are, and ends those that are done.
    pub(super) fn watch_runs(&mut self) {
        let mut ended = Vec::new();
        for keeper in self.keepers.values_mut() {
            let deciding = |run: &Run| {
                if keeper.beside {
                    return !keeper.looked || !keeper.batches.is_empty();
                }
                keeper.batches.values().any(|batch| batch.jobs.contains(&run.job))
            };
            let Some(run) = keeper.contexts.run.as_ref().filter(|run| !deciding(run)) else { continue };
            let (job, id) = (run.job, run.id);
            let left = keeper.left_of_run();
            let spent = self.shared.spender.ledger().spent_by_rebuild(&keeper.config.name, id);
            let mut begun = false;
            if let Some(run) = keeper.contexts.run.as_mut()
                && run.total == 0
            {
                (run.total, begun) = (left, left > 0);
            }
            if begun && let Err(error) = keeper.remember_run() {
                keeper.be_troubled(&error);
            }
            let Some(run) = keeper.contexts.run.as_ref() else { continue };
            let progress = run.progress(left, spent.micro_dollars);
            let known = self.shared.jobs.get(job).ok().and_then(|job| job.contexts);
            if known.is_none_or(|known| (known.processed, known.failed) != (progress.processed, progress.failed)) {
                let (failures, phase) = (run.failures.clone(), keeper.run_phase(run).to_owned());
                let changed = self.shared.jobs.change(job, |job| {
                    job.phase = phase;
                    (job.contexts, job.failed) = (Some(progress), failures);
                });
                changed.into_iter().for_each(|job| self.shared.notify(Notice::Job(Box::new(job))));
            }
            let landing = !keeper.in_flight.is_empty() || !keeper.queue.is_empty();
            if left == 0 && !run.batch && keeper.contexts.ordered.is_empty() && !landing {
                keeper.contexts.run = None;
                if let Err(error) = keeper.remember_run() {
                    keeper.be_troubled(&error);
                }
                ended.push((job, keeper.shared.status().seq));
            }
        }
        for (job, seq) in ended {
            self.end_jobs(&[job], seq, 0, "done");
        }
    }

    /// Ends a rebuild before it is done: its budget is used up, or the user cancelled it.
    pub(super) fn stop_run(&mut self, vault: u64, why: &str) {
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let Some(run) = keeper.contexts.run.take() else { return };
        tracing::warn!(vault = keeper.config.name, "the rebuild ends early: {why}");
        let taken_back = keeper.take_back_rebuild().and_then(|()| keeper.remember_run());
        if let Err(error) = taken_back {
            keeper.be_troubled(&error);
        }
        let seq = keeper.shared.status().seq;
        self.shared.jobs.change(run.job, |job| job.problem = Some(why.to_owned()));
        let state = if self.shared.jobs.is_cancelled(run.job) { "cancelled" } else { "failed" };
        self.end_jobs(&[run.job], seq, 0, state);
    }

    /// Ends the rebuilds whose jobs were cancelled.
    pub(super) fn stop_cancelled_runs(&mut self) {
        let cancelled =
            |keeper: &Keeper| keeper.contexts.run.as_ref().is_some_and(|run| self.shared.jobs.is_cancelled(run.job));
        let vaults: Vec<u64> = self.keepers.iter().filter(|(_, k)| cancelled(k)).map(|(id, _)| *id).collect();
        for vault in vaults {
            self.stop_run(vault, "cancelled");
        }
    }
}
