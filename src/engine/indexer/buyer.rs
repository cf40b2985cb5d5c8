//! Has a model write contexts for one indexer. Holds the contexts that wait ([`PendingContexts`]), the current rebuild,
//! the provider's batches, and the time of the regular sync, which asks again for contexts that should be better.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batches::{ProviderBatches, wanted};
use super::contexts::{Asking, PendingContexts, Renew, remember_sync, synced_at};
use super::rebuild::{Covered, Run};
use super::{ActorContext, At, TRY_AGAIN};
use crate::batch::{BatchEvent, Control, End};
use crate::consent::ConsentState;
use crate::context_job::ContextEvent;
use crate::decide::Task;
use crate::interrupted::Interrupted;
use crate::jobs::Ended;
use crate::runtime::GenerationRuntime;
use crate::writer::Writer;
use crate::{EngineError, now_s};
use note::VaultPath;
use protocol::jobs::{JobKind, WRITING_CONTEXTS};
use provider::ledger::{OverBudget, Purpose};

/// How often an exhausted daily budget is checked again.
const BUDGET_AGAIN: Duration = Duration::from_mins(1);

/// What else the indexer is doing.
#[derive(Clone, Copy)]
pub(super) struct Work {
    /// Whether notes of the rebuild that goes on are still to be decided about.
    pub(super) deciding: bool,
    /// Whether any note is still to be decided about.
    pub(super) landing: bool,
    /// Whether something could not be written, or the vault is in doubt.
    pub(super) troubled: bool,
}

/// Asks the model for one indexer.
pub(super) struct Buyer {
    pub(super) pending: PendingContexts,
    batches: ProviderBatches,
    consent: ConsentState,
    /// Job and number of the rebuild that ended early last, while what it asked for may be under way.
    stopped: Option<(u64, u64)>,
    /// When the next regular sync is due, seconds since 1970 (UTC); unknown at the start.
    next_sync: Option<i64>,
}

impl Buyer {
    pub(super) fn new(runtime: Arc<GenerationRuntime>) -> Self {
        Buyer {
            pending: PendingContexts::new(runtime),
            batches: ProviderBatches::default(),
            consent: ConsentState::default(),
            stopped: None,
            next_sync: None,
        }
    }

    /// Another writer, or other settings, are in force.
    pub(super) fn replace_runtime(&mut self, runtime: Arc<GenerationRuntime>, drained_at: Instant) {
        if !runtime.has_writer_of(&self.pending.runtime) {
            self.batches.forget();
        }
        self.pending.replace_runtime(runtime, drained_at);
        self.next_sync = None;
    }

    /// Reads whether the user has agreed to the model in force. If contexts were bought from it for this vault before
    /// anybody was asked, that counts as a yes. The ledger knows vaults by name alone, so the contexts must be here too.
    /// Version 0.1 asked nobody; of a store that a later one has opened, what the user said is lost.
    pub(super) fn read_consent(&mut self, at: &At<'_>) {
        let At { actor, pipeline } = at;
        let terms = self.pending.runtime.terms();
        let (name, dir) = (&actor.place.vault.name, &actor.place.dir);
        let bought = |provider: &str, model: &str| {
            let before = store::version(dir).is_none() && pipeline.store.has_paid();
            before && actor.engine.spender.ledger().has_asked(name, provider, model)
        };
        self.consent = ConsentState::read_or(terms, dir, |terms, dir| terms.are_agreed(dir, bought));
        if !self.is_agreed() {
            tracing::info!(vault = name, "contexts wait for your yes: `situated contexts start`");
        }
    }

    /// Whether the user has agreed, or need not.
    pub(super) fn is_agreed(&self) -> bool {
        self.consent.is_agreed()
    }

    /// Whether the user has taken a yes to the model back; a rebuild is confirmed for itself, and does not restore it.
    pub(super) fn is_refused(&self, at: &At<'_>) -> bool {
        self.consent.terms().is_some_and(|terms| terms.are_refused_in(&at.actor.place.dir))
    }

    /// Records that the user agrees, or takes that back.
    pub(super) fn set_agreed(&mut self, at: &At<'_>, agreed: bool) -> Result<(), EngineError> {
        let dir = &at.actor.place.dir;
        let changed = self.consent.set_agreed(dir, agreed).map_err(|error| EngineError::io(dir, &error))?;
        if changed {
            let said = if agreed { "the user agrees that the model is asked" } else { "the user takes the yes back" };
            tracing::info!(vault = at.actor.place.vault.name, "{said}");
        }
        if changed && agreed {
            self.pending.queue_all(at.pipeline, machine::now())?;
        } else if changed {
            self.pending.ask_no_more();
        }
        // Also if there was no yes: a rebuild of a note is confirmed for itself.
        if !agreed && self.consent.terms().is_some() { self.stop_run(at, "you took back your yes") } else { Ok(()) }
    }

    /// Asks for contexts that no save asks for: in place of free ones, and with `replace` in place of those that
    /// another model wrote.
    pub(super) fn ask_at_first(&mut self, at: &At<'_>, replace: bool) -> Result<(), EngineError> {
        if !at.pipeline.generation.costs {
            return Ok(());
        }
        let renew = if replace { Renew::All } else { Renew::Free };
        self.pending.refresh(at.pipeline, None, renew)?;
        Ok(())
    }

    /// The job of the rebuild that goes on.
    pub(super) fn run_job(&self) -> Option<u64> {
        self.pending.run.as_ref().map(|run| run.job)
    }

    /// The writer says what came of a job.
    pub(super) fn take(&mut self, at: &At<'_>, path: VaultPath, event: ContextEvent) -> Result<(), EngineError> {
        if matches!(event, ContextEvent::Written) {
            at.actor.engine.jobs.bought(at.actor.shared.id, 1);
        }
        match self.pending.take(at.pipeline, path, event, machine::now())? {
            // The store is opened anew.
            Some(Interrupted::Unkept(message)) => Err(EngineError::Io { path: at.actor.place.dir.clone(), message }),
            held => {
                held.iter().for_each(|held| self.hold(held, at.actor.shared.is_inactive()));
                Ok(())
            }
        }
    }

    /// Writes contexts that came when they could not be written.
    pub(super) fn write_unkept(&mut self, at: &At<'_>) -> Result<(), EngineError> {
        let unkept = &at.actor.engine.indexers.unkept;
        self.pending.arrived(unkept.write(&at.actor.place.dir, &at.pipeline.store)?);
        Ok(())
    }

    /// Reacts to an interrupted job: ends the rebuild, or asks nothing until the cause may have passed.
    fn hold(&mut self, held: &Interrupted, of_generation: bool) {
        let now = machine::now();
        let until = match held {
            Interrupted::Changed | Interrupted::Draining | Interrupted::Unkept(_) => None,
            held if held.ends_rebuild() => {
                if let Some(run) = &mut self.pending.run {
                    run.over.get_or_insert_with(|| held.end_of_rebuild(of_generation));
                }
                None
            }
            Interrupted::Budget(OverBudget::Io(_)) => Some(now + TRY_AGAIN),
            // Others may still fit.
            Interrupted::Budget(refused) if refused.never_fits() => None,
            // Reservations that are not used up return to the budget, so it is tried again before the day is over.
            Interrupted::Budget(_) => Some(now + until_midnight().min(BUDGET_AGAIN)),
            Interrupted::Useless(_) => self.pending.runtime.useless_until(now),
            Interrupted::Provider(_) => self.pending.runtime.provider_returns(now),
        };
        let Some(until) = until else { return };
        let day = matches!(held, Interrupted::Budget(OverBudget::Day { .. } | OverBudget::DayTokens { .. }));
        self.pending.runtime.hold_until(until, held.to_string(), day);
    }

    /// Sends the writer the notes that have been quiet for long enough, as many as keep it busy.
    pub(super) fn ask(
        &mut self,
        at: &At<'_>,
        work: Work,
        is_busy: impl Fn(&VaultPath) -> bool,
    ) -> Result<(), EngineError> {
        self.pending.end_draining(machine::now());
        if work.troubled {
            return Ok(());
        }
        let asking = Asking { at, agreed: self.is_agreed(), awaits_batch: self.awaits_batch(at) };
        let jobs = self.pending.jobs(&asking, is_busy)?;
        if let Some(writer) = &self.pending.runtime.writer {
            jobs.into_iter().for_each(|job| writer.write(job, at.pipeline.clone()));
        }
        Ok(())
    }

    /// Asks again for contexts that serve and should be better, if the regular sync is due.
    pub(super) fn sync_if_due(&mut self, at: &At<'_>) -> Result<(), EngineError> {
        let sync = at.actor.engine.config.load().sync.clone();
        let interval = i64::try_from(sync.interval.as_secs()).unwrap_or(i64::MAX);
        let now = now_s();
        // A clock that was set back must not put it off for ever.
        let is_near = |next: i64| next > now && next.saturating_sub(now) <= interval;
        if !sync.background || at.actor.shared.is_inactive() || !self.is_agreed() || self.next_sync.is_some_and(is_near)
        {
            return Ok(());
        }
        let last = synced_at(at.pipeline);
        *at.actor.shared.synced_at.lock() = last;
        let due = last.map_or(0, |last| last.saturating_add(interval));
        if due > now && last.is_some_and(|last| last <= now) {
            self.next_sync = Some(due);
            return Ok(());
        }
        self.next_sync = Some(now.saturating_add(interval));
        self.refresh(at, None)
    }

    /// Asks again for contexts that serve and should be better.
    pub(super) fn refresh(&mut self, at: &At<'_>, since: Option<i64>) -> Result<(), EngineError> {
        if !at.pipeline.generation.costs || !self.is_agreed() {
            return Ok(());
        }
        let renew = if self.pending.runtime.config.context.renew { Renew::All } else { Renew::Nothing };
        let wanted = self.pending.refresh(at.pipeline, since, renew)?;
        remember_sync(at.pipeline, now_s())?;
        *at.actor.shared.synced_at.lock() = Some(now_s());
        if wanted > 0 {
            tracing::info!(vault = at.actor.place.vault.name, chunks = wanted, "contexts are made anew by the sync");
        }
        Ok(())
    }

    /// How long until the next regular sync.
    pub(super) fn sync_left(&self, actor: &ActorContext) -> Option<Duration> {
        let sync = actor.engine.config.load().sync.clone();
        if !sync.background || actor.shared.is_inactive() || !self.is_agreed() {
            return None;
        }
        let left = u64::try_from(self.next_sync?.saturating_sub(now_s())).unwrap_or(0);
        Some(Duration::from_secs(left.max(1)).min(sync.interval))
    }

    /// Begins a rebuild by the model in force, after ending the current one.
    pub(super) fn begin_run(&mut self, at: &At<'_>, run: Run) -> Result<(), EngineError> {
        self.stop_run(at, "another rebuild has begun")?;
        let run = Run { terms: self.consent.terms().cloned(), ..run };
        let remembered = run.remember(at.pipeline);
        self.pending.run = Some(run);
        remembered
    }

    /// Begins to buy what a generation beside the one in force wants; the user agreed to that.
    pub(super) fn begin_build(&mut self, at: &At<'_>, job: u64) -> Result<(), EngineError> {
        self.set_agreed(at, true)?;
        self.begin_run(at, Run::new(job, Covered::default(), false))?;
        // What a former build left has left the queue, too: only a build buys for such a generation.
        self.pending.queue_all(at.pipeline, machine::now())
    }

    /// Goes on with the rebuild's batch if that is still with a provider: the one that has it may be in force again.
    pub(super) fn take_up_batch(&mut self, at: &At<'_>) {
        if let Some(run) = &mut self.pending.run {
            run.batch |= ProviderBatches::is_under_way(&at.actor.place, run.id);
        }
    }

    /// Ends the rebuild if the model in force needs a yes and is not the one that the user confirmed it for.
    pub(super) fn stop_run_of_others(&mut self, at: &At<'_>) -> Result<(), EngineError> {
        match &self.pending.run {
            Some(run) if !self.consent.covers(run.terms.as_ref()) => {
                self.stop_run(at, "it was confirmed for another model, or another host; rebuild again")
            }
            _ => Ok(()),
        }
    }

    /// Takes up the rebuild that a former process left unfinished. Returns its job and the notes that are still to be
    /// decided about.
    pub(super) fn resume_run(&mut self, at: &At<'_>) -> Result<Option<(u64, Vec<Task>)>, EngineError> {
        let Some(mut run) = Run::unfinished(at.pipeline)? else { return Ok(None) };
        run.job = at.actor.begin_job(JobKind::Rebuild, run.covered.under.as_ref().map(ToString::to_string));
        run.done_before = run.total.saturating_sub(self.left_of_run(at));
        let rest = if at.actor.shared.is_inactive() { Vec::new() } else { run.rest(at.pipeline)? };
        let job = run.job;
        self.pending.run = Some(run);
        self.take_up_batch(at);
        self.stop_run_of_others(at)?;
        if self.pending.run.is_none() {
            return Ok(None);
        }
        if !rest.is_empty() {
            // The job has two steps: one ends with the notes, one with the contexts.
            at.actor.open_step(job);
        }
        Ok(Some((job, rest)))
    }

    /// How many chunks a run still has to handle; in a generation that is built beside another, all that wait.
    fn left_of_run(&self, at: &At<'_>) -> u64 {
        let sum = self.pending.counters.sum();
        if at.actor.shared.is_inactive() { sum.due } else { sum.rebuild }
    }

    /// Tells how far the rebuild is, and ends it when it is done.
    pub(super) fn poll_run(&mut self, at: &At<'_>, work: Work) -> Result<(), EngineError> {
        self.settle_stopped(at);
        let left = self.left_of_run(at);
        if self.pending.run.is_none() && self.pending.counters.sum().rebuild > 0 {
            // Workers had these notes when the rebuild ended.
            return self.pending.take_back_rebuild(at.pipeline, false);
        }
        let is_idle = self.pending.asked() == 0 && !work.landing;
        let Some(run) = self.pending.run.as_mut().filter(|_| !work.deciding) else { return Ok(()) };
        let spent = at.actor.engine.spender.ledger().spent_by_rebuild(&at.actor.place.vault.name, run.id);
        if run.total == 0 && left > 0 {
            run.total = left;
            run.remember(at.pipeline)?;
        }
        let progress = run.progress(left, spent.micro_dollars);
        let job = run.job;
        if run.announced.replace((progress.processed, progress.failed)) != Some((progress.processed, progress.failed)) {
            at.actor.tell_part(job, |part| {
                // A batch says itself what it is doing.
                if !run.batch {
                    part.phase = WRITING_CONTEXTS.to_owned();
                }
                part.contexts = Some(progress);
                part.failed.clone_from(&run.failures);
            });
        }
        if let Some(why) = run.over.clone().filter(|_| is_idle) {
            return self.stop_run(at, &why);
        }
        if left == 0 && !run.batch && is_idle {
            self.pending.run = None;
            // A call, or a batch, is settled after its last context has come.
            at.actor.engine.jobs.set_spent(job, at.actor.shared.id, spent.micro_dollars);
            at.actor.end_step(job, Ended::Done);
            return Run::forget(at.pipeline);
        }
        Ok(())
    }

    /// Ends a rebuild before it is done: its budget is used up, or the user cancelled it.
    pub(super) fn stop_run(&mut self, at: &At<'_>, why: &str) -> Result<(), EngineError> {
        let Some(run) = self.pending.run.take() else { return Ok(()) };
        tracing::warn!(vault = at.actor.place.vault.name, "the rebuild ends early: {why}");
        self.pending.ask_no_more();
        self.stopped = Some((run.job, run.id));
        let ran_out = run.over.is_some();
        let taken_back = self.pending.take_back_rebuild(at.pipeline, ran_out).and_then(|()| Run::forget(at.pipeline));
        at.actor.change_part(run.job, |part| part.problem = Some(why.to_owned()));
        at.actor.end_step(run.job, at.actor.ended_early(run.job));
        taken_back
    }

    /// Says what a rebuild that ended early has cost, once nothing is reserved for it any more.
    fn settle_stopped(&mut self, at: &At<'_>) {
        let under_way = |run: u64| self.pending.asks_for(Purpose::Rebuild(run)) || self.batches.has(run);
        if let Some((job, run)) = self.stopped.take_if(|(_, run)| !under_way(*run)) {
            let spent = at.actor.engine.spender.ledger().spent_by_rebuild(&at.actor.place.vault.name, run);
            at.actor.engine.jobs.set_spent(job, at.actor.shared.id, spent.micro_dollars);
        }
    }

    /// Ends the rebuild if its job was cancelled.
    pub(super) fn stop_cancelled_run(&mut self, at: &At<'_>) -> Result<(), EngineError> {
        let cancelled = self.run_job().is_some_and(|job| at.actor.is_cancelled(job));
        if cancelled { self.stop_run(at, "cancelled") } else { Ok(()) }
    }

    /// Hands in the run that needs a batch, and tells batches under way whether to go on, pause or cancel.
    pub(super) fn poll_batches(&mut self, at: &At<'_>, work: Work) -> Result<(), EngineError> {
        let runtime = self.pending.runtime.clone();
        let Some(writer) = &runtime.writer else { return Ok(()) };
        let current = self.pending.run.as_ref().map(|run| run.id);
        let paused = at.actor.engine.throttle.is_paused();
        self.batches.control(current, paused);
        if paused {
            self.pending.ask_no_more();
        }
        if paused || work.troubled {
            return Ok(());
        }
        for run in self.batches.left_over(&at.actor.place, current) {
            self.batches.hand(at, (writer, &runtime.config.budget), run, Vec::new(), Control::Cancel);
        }
        self.hand_in_run(at, writer, &runtime, work)
    }

    /// Whether a batch that is given up may still bring answers that are paid for.
    fn awaits_batch(&self, at: &At<'_>) -> bool {
        self.batches.are_given_up(&at.actor.place, self.pending.run.as_ref().map(|run| run.id))
    }

    /// Hands in what the run wants, once every note has been decided about.
    fn hand_in_run(
        &mut self,
        at: &At<'_>,
        writer: &Writer,
        runtime: &GenerationRuntime,
        work: Work,
    ) -> Result<(), EngineError> {
        let Some(run) = self.pending.run.as_ref().filter(|run| run.batch) else { return Ok(()) };
        let (id, job) = (run.id, run.job);
        if work.deciding || self.batches.has(id) || self.awaits_batch(at) {
            return Ok(());
        }
        if writer.author.client.batches().is_none() {
            let provider = writer.author.model.provider.name();
            one_by_one(at, job, &format!("{provider} has no batch interface"));
            return self.end_batch(at, id);
        }
        let under_way = ProviderBatches::is_under_way(&at.actor.place, id);
        let mut wanted = if under_way { Vec::new() } else { wanted(at.pipeline)? };
        // What is asked for already is answered soon; what comes of no use is asked for after the batch.
        wanted.retain(|(_, contexts)| !self.pending.is_on_its_way(at, writer, contexts));
        if wanted.is_empty() && !under_way {
            return self.end_batch(at, id);
        }
        self.batches.hand(at, (writer, &runtime.config.budget), id, wanted, Control::Go);
        Ok(())
    }

    /// Continues a run without a batch: its contexts are asked for one by one.
    fn end_batch(&mut self, at: &At<'_>, run: u64) -> Result<(), EngineError> {
        if let Some(run) = self.pending.run.as_mut().filter(|ours| ours.id == run) {
            // It says no longer what the batch is doing.
            (run.batch, run.announced) = (false, None);
            run.remember(at.pipeline)?;
        }
        self.pending.queue_rebuilt(at.pipeline, machine::now())
    }

    /// The writer says what came of a batch.
    pub(super) fn take_batch(&mut self, at: &At<'_>, ticket: u64, event: BatchEvent) -> Result<(), EngineError> {
        let current = self.pending.run.as_ref().map(|run| (run.id, run.job));
        match event {
            BatchEvent::Note(path, event) => self.take(at, path, event),
            BatchEvent::Phase(phase) => {
                let run = self.batches.run_of(ticket);
                if let Some((_, job)) = current.filter(|(current, _)| Some(*current) == run) {
                    at.actor.tell_part(job, |part| part.phase = phase);
                }
                Ok(())
            }
            BatchEvent::End(end) => {
                let Some(run) = self.batches.ended(ticket) else { return Ok(()) };
                let job = current.filter(|(current, _)| *current == run).map(|(_, job)| job);
                if job.is_none() {
                    // What it was given up for may be asked for now.
                    self.pending.queue.hurry(machine::now());
                }
                match (end, job) {
                    (End::Unanswered(why), Some(job)) if self.batches.may_again(run) => {
                        let problem = format!("{why}, and another one asks for the rest");
                        at.actor.tell_part(job, |part| part.problem = Some(problem));
                        Ok(())
                    }
                    (End::OneByOne(why) | End::Unanswered(why), Some(job)) => {
                        one_by_one(at, job, &why);
                        self.end_batch(at, run)
                    }
                    (End::Done | End::OneByOne(_) | End::Unanswered(_), _) => self.end_batch(at, run),
                    (End::Stopped(why), Some(_)) => {
                        self.pending.run.iter_mut().for_each(|run| run.over = Some(why.clone()));
                        self.stop_run(at, &why)
                    }
                    (End::Stopped(_), None) => Ok(()),
                    (End::Failed(message), _) => {
                        Err(EngineError::Io { path: at.actor.place.dir.join("batch"), message })
                    }
                }
            }
        }
    }

    /// The user says that the model works again: asks at once.
    pub(super) fn resume(&mut self) {
        self.pending.runtime.resume();
        self.pending.queue.hurry(machine::now());
    }
}

/// Tells the user that a job goes on without a batch.
fn one_by_one(at: &At<'_>, job: u64, why: &str) {
    tracing::warn!("no batch: {why}");
    let problem = format!("{why}; contexts are asked for one by one, at the full price");
    at.actor.tell_part(job, |part| part.problem = Some(problem));
}

/// The time until the user's next day begins.
fn until_midnight() -> Duration {
    let now = machine::zoned();
    let next = now.tomorrow().and_then(|day| day.start_of_day());
    let left = next.ok().and_then(|next| Duration::try_from(next.duration_since(&now)).ok());
    left.unwrap_or(Duration::from_secs(3600))
}

#[cfg(test)]
mod tests;
