//! The notes of one vault, from tasks to written records: the half of an indexer that waits for nothing but the disk.
//! It passes what it has written as [`Change`]s to the other half, which provides contexts and vectors.

mod looking;

use std::sync::Arc;
use std::time::Instant;

use super::commit::{Committed, Committer, Removed};
use super::deletion_guard::DeletionGuard;
use super::freshness::Freshness;
use super::rebuild::Covered;
use super::watch::VaultWatch;
use super::work_queue::{AT_ONCE, Progress, Settled, Waiting, WorkQueue};
use super::{ActorContext, Event, TRY_AGAIN, Workers};
use crate::EngineError;
use crate::decide::{Decided, Outcome, Task, read_note};
use crate::jobs::Ended;
use crate::pool::{Errand, look};
use crate::throttle::Memory;
use looking::{MOST_SKIPPED, TOLD_AT_ONCE};
use note::VaultPath;
use protocol::decision::Decision;
use protocol::events::Notice;
use protocol::jobs::SkippedFile;
use vault::policy::EntryKind;
use vault::{Hint, RescanReason};

/// A finished look at a note: its task, its outcome, and the batches that wait for it.
type Looked = (Task, Outcome, Waiting);

/// What was written.
pub(super) enum Change {
    /// A note, and whether it is one of many.
    Written(Box<Committed>, bool),
    /// A note is gone.
    Removed(Removed),
}

/// Something could not be written. The database takes nothing more after that, so it is opened anew.
pub(super) struct WriteFailure {
    pub(super) why: String,
    pub(super) reopen_at: Instant,
}

/// The notes of one vault.
pub(super) struct NoteIndexer {
    pub(super) actor: Arc<ActorContext>,
    pub(super) watch: VaultWatch,
    pub(super) freshness: Freshness,
    pub(super) guard: DeletionGuard,
    pub(super) work: WorkQueue,
    pub(super) workers: Workers,
    pub(super) commit: Committer,
    pub(super) failure: Option<WriteFailure>,
    /// Whether the vault could be read, or was not there, since the indexer was opened.
    pub(super) was_read: bool,
    /// What was written, until the other half has taken it.
    pub(super) changes: Vec<Change>,
    /// Announced when it can be found.
    pub(super) decisions: Vec<Decision>,
    /// Whether somebody waits for what was written: then it is published in this turn.
    pub(super) urgent: bool,
}

impl NoteIndexer {
    /// Decides at full priority, here and now: a save does not wait for work in bulk.
    pub(super) fn decide_here(&mut self, tasks: Vec<Task>, began: Instant) {
        // Set in any case: bulk work may have read the save already and left nothing to decide, but somebody still
        // waits.
        self.urgent = true;
        let mut looked = Vec::with_capacity(tasks.len());
        for mut task in tasks {
            // A worker may be looking at an older state of the note, so its result will not count; its task is done
            // here.
            let waiting = self.work.overtake(&mut task);
            let pipeline = &self.commit.pipeline;
            let outcome = match read_note(&*self.watch.disk, pipeline, &task) {
                Ok(read) => look(pipeline, &task, read),
                Err(outcome) => outcome,
            };
            looked.push((task, outcome, waiting));
        }
        self.carry_out(looked, began, false);
    }

    /// Has every note in a scope decided anew; contexts that a model has written after `since` satisfy the rebuild.
    pub(super) fn rebuild(&mut self, job: u64, covered: &Covered, since: i64) {
        let pipeline = &self.commit.pipeline;
        let known = self.commit.known().iter().filter(|_| !covered.stale);
        let of_it = known.filter(|note| covered.has(pipeline, &note.path, note.tags()));
        let mut paths: Vec<VaultPath> = of_it.map(|note| note.path.clone()).collect();
        paths.sort();
        if paths.len() > TOLD_AT_ONCE {
            self.commit.bulk(true);
        }
        self.enqueue_rebuild(job, paths.into_iter().map(|path| Task::rebuild(path, since)).collect());
    }

    /// Queues the notes of a rebuild.
    pub(super) fn enqueue_rebuild(&mut self, job: u64, tasks: Vec<Task>) {
        let quiet = tasks.len() > TOLD_AT_ONCE;
        self.actor.change_part(job, |part| {
            part.total = Some(tasks.len() as u64);
            part.phase = "rebuilding".to_owned();
        });
        self.work.enqueue_for(vec![job], tasks, 0, quiet);
    }

    /// Sends queued tasks to be read and decided about, as many as keep the workers busy.
    pub(super) fn feed(&mut self) {
        if self.work.queued() == 0 {
            return;
        }
        let pool = &self.workers.pool;
        let mut room = pool.room();
        if self.actor.engine.throttle.measure() != Memory::Ample {
            room = room.min(pool.workers());
            self.commit.spare_memory();
        }
        let level = self.actor.engine.throttle.level();
        let mut room = room.saturating_sub(self.work.under_way());
        while room > 0
            && let Some((ticket, task)) = self.work.next(level)
        {
            let (inbox, path) = (self.actor.inbox.clone(), task.path.clone());
            let answer = Box::new(move |outcome| {
                // The indexer may have ended; then nobody needs the outcome.
                let _ = inbox.send(Event::Looked { path, ticket, outcome });
            });
            self.workers.reader.send(Errand { pipeline: self.commit.pipeline.clone(), task, answer });
            room -= 1;
        }
    }

    /// Has the index write one note at a time again, and the graph made, which bulk work leaves alone.
    fn end_bulk(&mut self) {
        let shared = &self.actor.shared;
        if self.commit.is_bulk() && !shared.is_inactive() {
            self.actor.engine.grapher.changed(shared);
        }
        self.commit.bulk(false);
    }

    /// Carries out what the workers have decided.
    pub(super) fn land(&mut self) {
        let began = machine::now();
        let mut looked = Vec::new();
        let mut quiet = true;
        for (path, ticket, outcome) in std::mem::take(&mut self.workers.landed) {
            if let Some((task, waiting)) = self.work.landed(&path, ticket) {
                quiet &= self.work.is_quiet(&waiting);
                looked.push((task, outcome, waiting));
            }
        }
        if !looked.is_empty() {
            self.carry_out(looked, began, quiet);
        }
    }

    /// Writes decisions to store and index, and tells of them unless `quiet`.
    fn carry_out(&mut self, looked: Vec<Looked>, began: Instant, quiet: bool) {
        let now = machine::now();
        let mut decided: Vec<(VaultPath, Decided)> = Vec::new();
        let (mut gone, mut stale) = (Vec::new(), Vec::new());
        let mut vanished = false;
        let (mut changed, mut unchanged) = (Waiting::default(), Waiting::default());
        let embedder = self.commit.pipeline.generation.embedder.clone();
        for (task, outcome, waiting) in looked {
            let path = task.path.clone();
            if let Some(old) = task.moved_from.clone().filter(|_| !matches!(outcome, Outcome::Decided(_))) {
                // Its old name leaves the index even if nothing can be said of the new one.
                self.freshness.hint(now, Hint::Path(old));
            }
            match outcome {
                // It was left out meanwhile, after it was queued.
                Outcome::Decided(_) if self.watch.policy.verdict(&path, false) != EntryKind::Note => {
                    gone.push(path);
                    unchanged.join(waiting);
                }
                // Decided for an embedder that does not serve any more.
                Outcome::Decided(found) if found.write.put.as_ref().is_some_and(|(r, _)| r.embedder != embedder) => {
                    stale.push(Task { again: true, ..task.clone() });
                    self.work.put_off(task, waiting);
                }
                Outcome::Decided(found) => {
                    self.freshness.read(&path);
                    decided.push((path, *found));
                    changed.join(waiting);
                }
                Outcome::Touched(stat) => {
                    self.freshness.read(&path);
                    let touched = self.commit.touch(&path, stat);
                    self.attempt(touched);
                    unchanged.join(waiting);
                }
                Outcome::Gone if self.commit.known().at(&path).is_some() => {
                    self.freshness.read(&path);
                    self.work.put_off(task, waiting);
                    vanished = true;
                }
                Outcome::Gone => {
                    self.freshness.read(&path);
                    unchanged.join(waiting);
                }
                Outcome::Unsettled => {
                    self.freshness.hint(now, Hint::Path(path));
                    self.work.put_off(task, waiting);
                }
                Outcome::Emptied => {
                    self.freshness.emptied(now, path.clone());
                    // A job for what is there now ends when it is known whether it stays empty.
                    let jobs = self.work.jobs_of(&waiting);
                    if jobs.is_empty() {
                        unchanged.join(waiting);
                    } else {
                        self.work.put_off(task, waiting);
                    }
                    for job in jobs {
                        self.actor.change_part(job, |part| part.emptied.extend([path.clone()]));
                    }
                }
                Outcome::Unfit(why) => {
                    self.skip(&path, why, &waiting);
                    gone.push(path);
                    unchanged.join(waiting);
                }
                Outcome::Skipped(why) => {
                    self.skip(&path, why, &waiting);
                    unchanged.join(waiting);
                }
                Outcome::Unreadable(why) => {
                    self.freshness.unread(now, path.clone());
                    self.skip(&path, why, &waiting);
                    unchanged.join(waiting);
                }
                Outcome::Failed(error) => {
                    self.fail_waiting(&path, &error.to_string(), &waiting);
                    self.fail(&EngineError::Store(error));
                    unchanged.join(waiting);
                }
            }
        }
        if !stale.is_empty() {
            self.work.enqueue(stale, quiet);
        }
        gone.retain(|path| self.commit.known().at(path).is_some());
        self.apply(decided, &changed, began, quiet);
        self.remove(&gone, began);
        self.work.settle(&changed, Settled::Changed);
        self.work.settle(&unchanged, Settled::Unchanged);
        if vanished {
            // Perhaps the vault is gone: only a look at all of it tells.
            self.walk(RescanReason::Asked, Vec::new());
        }
    }

    fn apply(&mut self, decided: Vec<(VaultPath, Decided)>, waiting: &Waiting, began: Instant, quiet: bool) {
        if decided.is_empty() {
            return;
        }
        let bulk = decided.len() > AT_ONCE;
        let first = decided[0].0.clone();
        let told = !quiet && !self.actor.shared.is_inactive();
        let committed = self.commit.apply(decided, began, told).unwrap_or_else(|error| {
            self.fail_waiting(&first, &error.to_string(), waiting);
            self.fail(&error);
            Vec::new()
        });
        self.decisions.extend(committed.iter().filter_map(|committed| committed.decision.clone()));
        self.urgent |= !quiet;
        self.changes.extend(committed.into_iter().map(|committed| Change::Written(Box::new(committed), bulk)));
    }

    /// Takes notes out of store and index, and tells of them if they are few. Returns how many they are.
    pub(super) fn remove(&mut self, paths: &[VaultPath], began: Instant) -> u64 {
        let removed = self.commit.remove(paths, began).unwrap_or_else(|error| {
            self.fail(&error);
            Vec::new()
        });
        let count = removed.len() as u64;
        let told = removed.len() <= TOLD_AT_ONCE && !self.actor.shared.is_inactive();
        if told {
            self.urgent |= !removed.is_empty();
            self.decisions.extend(removed.iter().filter_map(|removed| removed.decision.clone()));
        }
        self.changes.extend(removed.into_iter().map(Change::Removed));
        count
    }

    /// A note cannot be indexed now: `status` and the jobs that wait for it say why.
    pub(super) fn skip(&mut self, path: &VaultPath, why: String, waiting: &Waiting) {
        self.fail_waiting(path, &why, waiting);
        self.commit.distrust(path);
        self.forget_skipped(|skipped| skipped == path);
        let mut status = self.actor.shared.status.lock();
        status.skipped_total += 1;
        if status.skipped.len() < MOST_SKIPPED {
            status.skipped.push(SkippedFile { path: path.to_string(), why });
        }
    }

    fn fail_waiting(&self, path: &VaultPath, why: &str, waiting: &Waiting) {
        for job in self.work.jobs_of(waiting) {
            self.actor.change_part(job, |part| part.fail_note(path.as_str(), why));
        }
    }

    /// Ends batches that are over, and the parts of the jobs that waited for them.
    pub(super) fn end_batches(&self, batches: Vec<Progress>, ended: Ended) {
        for Progress { jobs, done, changed } in batches {
            for job in jobs {
                self.actor.change_part(job, |part| {
                    part.done = done;
                    part.changed += changed;
                });
                self.actor.end_step(job, ended);
            }
        }
    }

    /// Fails this vault's part of these jobs.
    pub(super) fn fail_parts(&self, jobs: &[u64], why: &str) {
        for job in jobs {
            self.actor.end_part(*job, Ended::Failed, why.to_owned());
        }
    }

    pub(super) fn finish_batches(&mut self) {
        for Progress { jobs, done, .. } in self.work.progress() {
            for job in jobs {
                self.actor.tell_progress(job, done);
            }
        }
        let finished = self.work.take_finished();
        if finished.is_empty() {
            return;
        }
        let published = self.commit.publish_if_due(false);
        self.attempt(published);
        self.announce();
        if self.work.has_no_batch() {
            self.end_bulk();
            // The writes have filled the database's pages in memory.
            let dropped = self.commit.pipeline.store.drop_pages();
            self.attempt(dropped.map(drop).map_err(Into::into));
            crate::host::give_memory_back();
        }
        // What could not be written cannot be found, whatever was decided.
        if let Some(WriteFailure { why, .. }) = &self.failure {
            finished.iter().for_each(|batch| self.fail_parts(&batch.jobs, why));
        }
        self.end_batches(finished, Ended::Done);
    }

    /// Publishes what is due, and tells that other answers are given.
    pub(super) fn publish(&mut self) {
        let urgent = std::mem::take(&mut self.urgent);
        let bulk = !urgent && (self.work.queued() > 0 || self.work.under_way() > 0);
        let published = self.commit.publish_if_due(bulk);
        self.attempt(published);
        self.announce();
        // A merge leaves the same notes in fewer segments: no answers change, so nothing is announced.
        let merged = self.commit.follow_merges();
        self.attempt(merged);
        self.actor.shared.take_unannounced();
        // After a failure the store is opened anew, and finds them then: until there is room they would be lost again.
        let lost = if self.failure.is_none() { self.commit.take_lost() } else { Vec::new() };
        if !lost.is_empty() {
            self.work.enqueue(lost.into_iter().map(Task::again).collect(), true);
        }
    }

    /// Announces what was decided, then that answers have changed. The snapshot is published before, so what is
    /// announced can be found. A client that counts notes by the decisions gets the true number last.
    fn announce(&mut self) {
        std::mem::take(&mut self.decisions).into_iter().for_each(|d| self.actor.engine.feed.remember(d));
        let shared = &self.actor.shared;
        if !shared.take_unannounced() || shared.is_inactive() {
            return;
        }
        // A graph of half a vault would be made again for the other half: bulk work has it made once, at its end.
        if !self.commit.is_bulk() {
            self.actor.engine.grapher.changed(shared);
        }
        let status = shared.status.lock();
        let (vault, seq) = (status.name.clone(), status.seq);
        let (notes, chunks) = (status.notes, status.chunks);
        drop(status);
        self.actor.engine.feed.notify(Notice::Index { vault, seq, notes, chunks });
    }

    /// Takes the tasks of jobs that were cancelled, or have failed here, out of the queue.
    pub(super) fn drop_over(&mut self) {
        let (jobs, vault) = (&self.actor.engine.jobs, self.actor.shared.id);
        let over = self.work.take_over(|job| jobs.is_over(job, vault));
        self.end_batches(over, Ended::Cancelled);
    }

    /// If another program has cut the vector file short, has the store opened anew: the missing vectors are made again
    /// then.
    fn notice_cut(&mut self) {
        if self.failure.is_some() || !self.commit.pipeline.vectors.is_cut() {
            return;
        }
        let vault = &self.actor.place.vault.name;
        tracing::error!(vault, "vectors were cut short on the disk by another program; they are made again");
        let why =
            format!("vectors of vault `{vault}` were cut short on the disk by another program; they are made again");
        self.failure = Some(WriteFailure { why, reopen_at: machine::now() });
    }

    /// Whether the store is to be opened anew: something could not be written, and now there is room.
    pub(super) fn must_reopen(&mut self) -> bool {
        self.notice_cut();
        let due = self.failure.as_ref().is_some_and(|failure| failure.reopen_at <= machine::now());
        if !due || !self.may_reopen() || self.actor.engine.throttle.is_paused() {
            return false;
        }
        match self.commit.pipeline.store.probe() {
            // The store is dropped without a clean close: the look that follows finds what it could not write.
            Ok(()) => true,
            Err(error) => {
                self.failure = None;
                self.fail(&error.into());
                false
            }
        }
    }

    /// Remembers that something could not be written, to tell of it and to open the store anew.
    pub(super) fn fail(&mut self, error: &EngineError) {
        if self.failure.is_some() {
            return;
        }
        let vault = &self.actor.place.vault.name;
        // What the system says of a plain file is clearer than what the database and the word index pass on.
        let plain = self.commit.pipeline.store.probe().err();
        let error = plain.map_or_else(|| error.to_string(), |plain| plain.to_string());
        tracing::error!(error, vault, "writing failed; it is tried again");
        let why = format!(
            "changes of vault `{vault}` cannot be written ({error}); notes that have not changed since are found, and \
             the rest is tried again every {} s{}",
            TRY_AGAIN.as_secs(),
            remedy(&error)
        );
        self.failure = Some(WriteFailure { why, reopen_at: machine::now() + TRY_AGAIN });
    }

    pub(super) fn attempt(&mut self, result: Result<(), EngineError>) {
        if let Err(error) = result {
            self.fail(&error);
        }
    }

    /// Whether nothing may be bought: answers could not be kept, or would be for notes that may be gone.
    pub(super) fn is_troubled(&self) -> bool {
        self.failure.is_some() || self.guard.doubt().is_some()
    }

    /// Whether a walk or a batch is still open, or a worker still owes this indexer a result.
    pub(super) fn is_at_work(&self) -> bool {
        self.freshness.is_walking() || !self.work.is_idle()
    }

    /// Whether nothing is under way that opening the store anew would interrupt. What the battery or the memory keeps
    /// waiting would wait in vain until then, for it could not be written.
    fn may_reopen(&self) -> bool {
        let level = self.actor.engine.throttle.level();
        let waits = self.work.under_way() == 0 && self.work.is_kept(level) && !self.work.can_go_on(level);
        !self.is_at_work() || (waits && !self.freshness.is_walking())
    }

    /// When there is something to do without any event.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        let locked = self.freshness.has_hints() && self.watch.disk.git_locked(&self.actor.place.vault.path);
        let deadlines = [
            self.freshness.next_wake(locked),
            self.guard.look_at().filter(|_| !self.freshness.is_walking()),
            self.failure.as_ref().filter(|_| self.may_reopen()).map(|failure| failure.reopen_at),
        ];
        deadlines.into_iter().flatten().min()
    }
}

/// What the user can do about a failed write, as the end of a sentence.
fn remedy(error: &str) -> &'static str {
    match () {
        () if error.contains("Too many open files") => {
            ": raise the limit of open files (`LimitNOFILE=` of a unit, `ulimit -n` in a shell)"
        }
        () if error.contains("is in its place") => ": when all of it is there, start the daemon again",
        () if error.contains("(os error 2)") => ": if its folder is gone for good, start the daemon again",
        // The system has said it.
        () if error.contains("(os error") => "",
        () => ": is the disk full?",
    }
}

#[cfg(test)]
mod tests;
