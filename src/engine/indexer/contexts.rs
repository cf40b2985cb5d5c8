//! Contexts that a model writes: which notes wait for them, which notes the writer has, and what becomes of the
//! answers.
//!
//! The note's record says that a context is wanted ([`context::plan::PendingContext`]); the transaction of the decision
//! writes it. An answer goes to the journal and the archive; then the note is decided about again, and the plan finds
//! the answer there. So nothing is lost when either side dies, and an answer to a text that has changed meanwhile stays
//! in the archive.

mod requests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::context_queue::{ContextQueue, Rank};
use super::failures::Failures;
use super::rebuild::Run;
use super::{ActorContext, At};
use crate::EngineError;
use crate::context_job::{ContextEvent, ContextJob};
use crate::counters::ContextCounters;
use crate::decide::NotePipeline;
use crate::interrupted::{Interrupted, budget_message};
use crate::runtime::GenerationRuntime;
use crate::writer::Writer;
use context::plan::{PendingContext, Reason};
use note::VaultPath;
use note::fingerprint::ContextKey;
use provider::ledger::{OverBudget, Purpose};
use store::record::NoteRecord;

/// Delay before a note is asked about again after the provider failed.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Delay before a note is tried again that is being decided about or asked about.
const BUSY_AGAIN: Duration = Duration::from_secs(1);

/// Delay before a note is tried again one call about which costs more than a whole day may: the budget may be another
/// then, or the note shorter.
const TOO_DEAR_AGAIN: Duration = Duration::from_hours(1);

/// The key, among the store's values, of the time of the last sync.
const SYNCED: &str = "synced_at";

/// The indexer whose notes are asked about, and what may be asked. While another generation answers searches, only a build
/// buys contexts.
pub(crate) struct Asking<'a> {
    pub(crate) at: &'a At<'a>,
    /// Whether the user has agreed that the model is asked automatically.
    pub(crate) agreed: bool,
    /// Whether a batch may still bring contexts that are paid for: they are taken first.
    pub(crate) awaits_batch: bool,
}

/// Which contexts that are not from the model in force it is to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renew {
    /// None of them.
    Nothing,
    /// Those that cost nothing, so that nothing paid for is lost.
    Free,
    /// All of them.
    All,
}

/// What may be asked for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowed {
    /// Contexts for a rebuild, which the user confirmed separately.
    Rebuild,
    /// Contexts that somebody asked for, with a rebuild or a sync.
    Asked,
    /// Also contexts that saves want.
    All,
}

impl Allowed {
    fn covers(self, reason: Reason) -> bool {
        match self {
            Allowed::Rebuild => reason == Reason::Rebuild,
            Allowed::Asked => !is_save(reason),
            Allowed::All => true,
        }
    }
}

/// What the writer is asked for about a note.
struct Asked {
    keys: HashSet<ContextKey>,
    purpose: Purpose,
    /// [`Run::answered`] when it was asked.
    answered_before: u64,
    /// Whether an answer has come.
    is_answered: bool,
    /// Tells the writer where the note is. It goes on asking as long as this is here.
    wanted: Option<watch::Sender<VaultPath>>,
}

/// The state of one indexer's contexts.
pub(crate) struct PendingContexts {
    /// The settings and the writer in force.
    pub(crate) runtime: Arc<GenerationRuntime>,
    pub(crate) queue: ContextQueue,
    /// Notes that the writer has.
    asked: HashMap<VaultPath, Asked>,
    /// Notes that moved while the writer had them: the path that the writer knows → the present path.
    moved: HashMap<VaultPath, VaultPath>,
    /// Notes whose contexts arrived; they are to be decided about again.
    arrived: BTreeSet<VaultPath>,
    /// Notes whose requests were changed in their records.
    amended: Vec<VaultPath>,
    pub(crate) counters: ContextCounters,
    failures: Failures,
    /// Notes one call about which costs more than a whole day may.
    too_dear: BTreeMap<VaultPath, OverBudget>,
    /// The rebuild that goes on.
    pub(crate) run: Option<Run>,
    /// The deadline for answers of a writer that was replaced.
    draining: Option<Instant>,
    /// Whether another generation answered searches when jobs were asked for last.
    was_inactive: bool,
}

impl PendingContexts {
    pub(crate) fn new(runtime: Arc<GenerationRuntime>) -> Self {
        PendingContexts {
            runtime,
            queue: ContextQueue::default(),
            asked: HashMap::new(),
            moved: HashMap::new(),
            arrived: BTreeSet::new(),
            amended: Vec::new(),
            counters: ContextCounters::default(),
            failures: Failures::default(),
            too_dear: BTreeMap::new(),
            run: None,
            draining: None,
            was_inactive: false,
        }
    }

    /// How long a note must be quiet after a save before it is sent.
    fn settle(&self) -> Duration {
        self.runtime.config.context.settle
    }

    /// A record was read at the start. Its note need not settle: it was quiet for long enough before.
    pub(crate) fn loaded(&mut self, record: &NoteRecord, now: Instant) {
        self.put(record, (Duration::ZERO, Duration::ZERO), now);
    }

    /// A record was written: its note takes its place in the queue if it wants contexts.
    pub(crate) fn written(&mut self, record: &NoteRecord, now: Instant) {
        self.put(record, (self.settle(), Duration::ZERO), now);
    }

    /// A note has moved. What the writer is already asked about it is not asked again under the new path.
    pub(crate) fn moved(&mut self, old: &VaultPath, new: &VaultPath) {
        self.queue.remove(old);
        self.failures.remove(old);
        self.too_dear.remove(old);
        if let Some(asked) = self.asked.remove(old) {
            asked.wanted.iter().for_each(|wanted| drop(wanted.send_replace(new.clone())));
            self.asked.insert(new.clone(), asked);
            let first = self.moved.iter().find(|(_, present)| *present == old).map(|(first, _)| first.clone());
            self.moved.insert(first.unwrap_or_else(|| old.clone()), new.clone());
        }
    }

    /// A note is gone; `no` is its number if it was indexed.
    pub(crate) fn removed(&mut self, path: &VaultPath, no: Option<u32>) {
        self.queue.remove(path);
        self.failures.remove(path);
        self.too_dear.remove(path);
        self.asked.get_mut(path).map(|asked| asked.wanted.take());
        if let Some(no) = no {
            self.counters.remove(no);
        }
    }

    /// Queues a note that wants contexts. `waits`: the delays for what a save wants, and for the rest.
    fn put(&mut self, record: &NoteRecord, waits: (Duration, Duration), now: Instant) {
        self.counters.put(record);
        self.failures.put(record);
        let Some(rank) = rank(record) else {
            self.queue.remove(&record.path);
            // Perhaps the note has become private.
            self.asked.get_mut(&record.path).map(|asked| asked.wanted.take());
            return;
        };
        let wait = if rank == Rank::Save { waits.0 } else { waits.1 };
        self.queue.put(record.path.clone(), rank, now + wait);
    }

    /// Other settings, or another writer, are in force. Answers of the old writer may arrive until `drained_at`; before
    /// that nothing that it has is asked for again.
    pub(crate) fn replace_runtime(&mut self, runtime: Arc<GenerationRuntime>, drained_at: Instant) {
        for path in std::mem::take(&mut self.too_dear).into_keys() {
            self.queue.put(path, Rank::Bulk, machine::now());
        }
        if runtime.has_writer_of(&self.runtime) {
            self.runtime = runtime;
            return;
        }
        self.runtime = runtime;
        self.ask_no_more();
        self.draining = Some(drained_at).filter(|_| !self.asked.is_empty());
    }

    /// Has the writer end its jobs: calls under way are answered, and nothing more is sent. What is still wanted then is
    /// asked for again, as far as it may be.
    pub(crate) fn ask_no_more(&mut self) {
        self.asked.values_mut().for_each(|asked| asked.wanted = None);
    }

    /// Asks again for what a replaced writer did not answer in time.
    pub(crate) fn end_draining(&mut self, now: Instant) {
        if self.draining.is_none_or(|until| until > now && !self.asked.is_empty()) {
            return;
        }
        self.draining = None;
        self.moved.clear();
        self.run.iter_mut().for_each(|run| run.is_short = false);
        for path in std::mem::take(&mut self.asked).into_keys() {
            self.queue.put(path, Rank::Bulk, now);
        }
    }

    /// The problem to report if the model fails at a good share of what it is asked for.
    pub(crate) fn problem(&self) -> Option<String> {
        self.failures.problem(self.counters.sum())
    }

    /// The problem to report if one call about a note costs more than a whole day may.
    pub(crate) fn too_dear(&self) -> Option<String> {
        let (path, refused) = self.too_dear.first_key_value()?;
        let others = match self.too_dear.len() {
            1 => String::new(),
            more => format!(", and the same of {} more", more - 1),
        };
        Some(format!("`{path}` keeps its free contexts: {}{others}", budget_message(refused)))
    }

    /// How many notes the writer has.
    pub(crate) fn asked(&self) -> usize {
        self.asked.len()
    }

    /// Whether the writer has a note on this behalf.
    pub(crate) fn asks_for(&self, purpose: Purpose) -> bool {
        self.asked.values().any(|asked| asked.purpose == purpose)
    }

    /// The writer says what came of a job. Returns what interrupted the job, if anything did.
    pub(crate) fn take(
        &mut self,
        pipeline: &NotePipeline,
        path: VaultPath,
        event: ContextEvent,
        now: Instant,
    ) -> Result<Option<Interrupted>, EngineError> {
        let path = match &event {
            ContextEvent::End(_) => self.moved.remove(&path).unwrap_or(path),
            _ => self.moved.get(&path).cloned().unwrap_or(path),
        };
        if !matches!(event, ContextEvent::End(_))
            && let Some(asked) = self.asked.get_mut(&path)
        {
            asked.is_answered = true;
        }
        match event {
            ContextEvent::Written => {
                self.runtime.wrote();
                self.arrived.insert(path);
            }
            ContextEvent::Given => drop(self.arrived.insert(path)),
            ContextEvent::Tried(key) => self.tried(pipeline, &path, key, false)?,
            ContextEvent::GaveUp(key, flaw) => {
                self.failures.failed(&path, flaw);
                if let Some(run) = &mut self.run {
                    run.failed(&path, flaw);
                }
                self.tried(pipeline, &path, key, true)?;
            }
            ContextEvent::End(result) => {
                let asked = self.asked.remove(&path);
                self.too_dear.remove(&path);
                let refused = result.as_ref().is_err_and(Interrupted::ends_rebuild);
                let ends_run = asked.is_some_and(|asked| self.ended_for_run(&asked, refused));
                let Err(held) = result else { return Ok(None) };
                let again = match &held {
                    Interrupted::Budget(refused) if refused.never_fits() => {
                        self.too_dear.insert(path.clone(), refused.clone());
                        TOO_DEAR_AGAIN
                    }
                    Interrupted::Changed => self.settle(),
                    held if held.ends_rebuild() => BUSY_AGAIN,
                    Interrupted::Budget(_) | Interrupted::Draining => Duration::ZERO,
                    Interrupted::Unkept(_) | Interrupted::Provider(_) | Interrupted::Useless(_) => ASK_AGAIN,
                };
                if let Some(record) = pipeline.store.note(&path)? {
                    self.put(&record, (again, again), now);
                }
                return Ok(Some(held).filter(|_| !refused || ends_run));
            }
        }
        Ok(None)
    }

    /// The writer is done with a note; `refused`: the budget of a rebuild refused the last call. Returns whether that ends
    /// the rebuild that goes on. It does not if other calls of it are under way, or were answered meanwhile: they may have
    /// taken less than they reserved. The budget of a rebuild that this one has replaced is nothing to this one.
    fn ended_for_run(&mut self, asked: &Asked, refused: bool) -> bool {
        let others = self.asks_for(asked.purpose);
        let Some(run) = self.run.as_mut().filter(|run| Purpose::Rebuild(run.id) == asked.purpose) else { return false };
        let is_over = refused && !others && run.answered == asked.answered_before;
        run.answered += u64::from(asked.is_answered || !refused);
        run.is_short = others && (refused || run.is_short);
        is_over
    }

    fn is_short(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.is_short)
    }

    /// Contexts came for these notes in some other way than from the writer.
    pub(crate) fn arrived(&mut self, notes: Vec<VaultPath>) {
        self.arrived.extend(notes);
    }

    /// Notes for which contexts came: they are to be decided about again.
    pub(crate) fn take_arrived(&mut self) -> BTreeSet<VaultPath> {
        std::mem::take(&mut self.arrived)
    }

    /// Notes whose requests were changed in their records: a decision that read them before would undo that.
    pub(crate) fn take_amended(&mut self) -> Vec<VaultPath> {
        std::mem::take(&mut self.amended)
    }

    /// The jobs to send now, as many as keep the writer busy; `is_busy` says which notes are being decided about.
    pub(crate) fn jobs(
        &mut self,
        asking: &Asking<'_>,
        is_busy: impl Fn(&VaultPath) -> bool,
    ) -> Result<Vec<ContextJob>, EngineError> {
        let (pipeline, inactive, now) = (asking.at.pipeline, asking.at.actor.shared.is_inactive(), machine::now());
        if std::mem::replace(&mut self.was_inactive, inactive) && !inactive {
            // What saves wanted meanwhile has left the queue.
            self.queue_all(pipeline, now)?;
        }
        let runtime = self.runtime.clone();
        let Some(writer) = runtime.free_writer(now) else { return Ok(Vec::new()) };
        // A generation beside the one in force buys nothing automatically, except during a run.
        let automatic = if inactive {
            self.run.as_ref().is_some_and(|run| run.over.is_none())
        } else {
            runtime.config.context.automatic
        };
        // All that a generation asks for that is being built is within the budget of that.
        let spares_day = self.spares_day();
        let day = runtime.held_until(true).filter(|_| !(inactive && spares_day));
        if day.is_some() && !spares_day {
            return Ok(Vec::new());
        }
        let allowed = match (asking.agreed && day.is_none(), automatic) {
            (false, _) => Allowed::Rebuild,
            (true, false) => Allowed::Asked,
            (true, true) => Allowed::All,
        };
        let deciding = self.is_deciding(inactive);
        let waits = self.is_short();
        if waits && inactive {
            return Ok(Vec::new());
        }
        let answered = self.run.as_ref().map_or(0, |run| run.answered);
        let mut jobs = Vec::new();
        while self.asked.len() < writer.room()
            && let Some(path) = self.queue.pop(now, deciding || waits)
        {
            // The note is being decided about or asked about already, or the writer knows by its name a note that has
            // moved away. It goes back to the queue until that is over.
            if is_busy(&path) || self.asked.contains_key(&path) || self.moved.contains_key(&path) {
                self.queue.put(path, Rank::Save, now + BUSY_AGAIN);
                continue;
            }
            let Some(record) = pipeline.store.note(&path)? else { continue };
            // The rebuild asks for it, within its own budget and perhaps by batch; or what it wants was decided when
            // another model was in force, whose place one may have taken that has written it. The decision moves the note
            // up.
            let is_to_decide = || self.run.as_ref().is_some_and(|run| run.is_to_decide(pipeline, &record));
            if asking.awaits_batch || !pipeline.is_current(&record) || (deciding && is_to_decide()) {
                self.queue.put(path, Rank::Save, now + ASK_AGAIN);
                continue;
            }
            let (pending, found) = self.open(pipeline, &record, allowed)?;
            if found {
                self.arrived.insert(path.clone());
            }
            let rank = rank(&record).unwrap_or(Rank::Bulk);
            if self.is_on_its_way(asking.at, writer, &pending) {
                self.queue.put(path, rank, now + BUSY_AGAIN);
            } else if let Some(until) = day.filter(|_| pending.is_empty()) {
                self.queue.put(path, rank, until);
            } else if !pending.is_empty() {
                let keys = pending.iter().map(|(key, _)| *key).collect();
                let (wanted, ours) = watch::channel(path.clone());
                let job = self.job(asking.at.actor, path.clone(), pending, ours);
                let (answered_before, is_answered, wanted) = (answered, false, Some(wanted));
                self.asked.insert(path, Asked { keys, purpose: job.purpose, answered_before, is_answered, wanted });
                jobs.push(job);
            }
        }
        Ok(jobs)
    }

    /// Whether one of these is asked for already: about another note, or by an indexer that has ended, whose answer may
    /// be yet to be written. The other note may be where the text was before a move that nobody has seen yet; then its
    /// answer serves here too. If this note is a copy, it is asked about once the other is answered.
    pub(crate) fn is_on_its_way(&self, at: &At<'_>, writer: &Writer, pending: &[(ContextKey, PendingContext)]) -> bool {
        pending.iter().any(|(key, _)| self.asked.values().any(|asked| asked.keys.contains(key)))
            || writer.has(&at.pipeline.root, pending)
            || at.actor.engine.indexers.unkept.has(&at.actor.place.dir, pending)
    }

    /// The contexts that a model may be asked for about a note now, and whether the archive already has some that only
    /// have to be taken, for which nobody has to agree.
    fn open(
        &self,
        pipeline: &NotePipeline,
        record: &NoteRecord,
        allowed: Allowed,
    ) -> Result<(Vec<(ContextKey, PendingContext)>, bool), EngineError> {
        let (mut open, found) = pipeline.unanswered(record)?;
        open.retain(|(_, due)| allowed.covers(due.reason) && !self.is_not_for_now(*due));
        Ok((open, found))
    }

    /// Whether a context is left to a batch, or to nobody because its rebuild is over.
    fn is_not_for_now(&self, due: PendingContext) -> bool {
        due.reason == Reason::Rebuild && self.run.as_ref().is_none_or(|run| run.batch || run.over.is_some())
    }

    fn job(
        &self,
        actor: &ActorContext,
        path: VaultPath,
        pending: Vec<(ContextKey, PendingContext)>,
        wanted: watch::Receiver<VaultPath>,
    ) -> ContextJob {
        let budget = &self.runtime.config.budget;
        let reason = pending.first().map_or(Reason::NewNote, |(_, due)| due.reason);
        let run = self.run.as_ref().filter(|_| reason == Reason::Rebuild || actor.shared.is_inactive());
        let purpose = match (reason, run) {
            (_, Some(run)) => Purpose::Rebuild(run.id),
            (reason, None) if is_save(reason) => Purpose::Change,
            (_, None) => Purpose::Sync,
        };
        ContextJob {
            vault: actor.shared.id,
            vault_name: actor.place.vault.name.clone(),
            dir: actor.place.dir.clone(),
            path,
            pending,
            purpose,
            rebuild: run.map(|_| (budget.rebuild, budget.rebuild_tokens)),
            wanted,
        }
    }

    /// Whether only contexts for saves are asked for: the progress of a rebuild is unknown until all its notes are
    /// decided about.
    fn is_deciding(&self, inactive: bool) -> bool {
        self.run.as_ref().is_some_and(|run| run.total == 0) && !inactive
    }

    /// Whether a rebuild asks within a budget of its own, which the day's does not hold up.
    fn spares_day(&self) -> bool {
        self.run.as_ref().is_some_and(|run| !run.batch && run.over.is_none())
    }

    /// When something may be asked next.
    pub(crate) fn next_question(&self, inactive: bool, agreed: bool) -> Option<Instant> {
        let may_ask = agreed || self.run.is_some();
        let waits = self.is_short();
        let may_ask = may_ask && !(waits && inactive);
        let writer = self.runtime.writer.as_ref().filter(|writer| may_ask && self.asked.len() < writer.room());
        let next = writer.and_then(|_| self.queue.next_ready(self.is_deciding(inactive) || waits));
        let held = self.runtime.held_until(!self.spares_day());
        let next = next.map(|next| held.map_or(next, |until| until.max(next)));
        next.into_iter().chain(self.draining).min()
    }

    /// Queues every note that wants contexts: `jobs` may have passed over it until now.
    pub(crate) fn queue_all(&mut self, pipeline: &NotePipeline, now: Instant) -> Result<(), EngineError> {
        for record in pipeline.store.notes()? {
            if !self.asked.contains_key(&record.path) {
                self.put(&record, (Duration::ZERO, Duration::ZERO), now);
            }
        }
        Ok(())
    }
}

/// When the last sync was, seconds since 1970 (UTC).
pub(crate) fn synced_at(pipeline: &NotePipeline) -> Option<i64> {
    pipeline.store.value(SYNCED).ok().flatten()?.parse().ok()
}

/// Records that the last sync was at `now`.
pub(crate) fn remember_sync(pipeline: &NotePipeline, now: i64) -> Result<(), EngineError> {
    Ok(pipeline.store.set_value(SYNCED, Some(&now.to_string()))?)
}

/// Where a note belongs in the queue; `None` if it wants no contexts.
fn rank(record: &NoteRecord) -> Option<Rank> {
    let rank = |due: PendingContext| if is_save(due.reason) { Rank::Save } else { Rank::Bulk };
    record.chunks.iter().filter_map(|chunk| chunk.due).map(rank).min()
}

/// Whether a save wants it, rather than a rebuild or a sync.
fn is_save(reason: Reason) -> bool {
    !matches!(reason, Reason::Rebuild | Reason::Drifted | Reason::ContextFailed | Reason::ContextualizerChanged)
}

#[cfg(test)]
mod tests;
