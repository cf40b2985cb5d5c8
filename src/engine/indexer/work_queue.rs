//! Which notes are to be decided about, which ones workers have, and who waits for them. Pure.
//!
//! Notes are queued in batches, and a batch ends when each of its notes was settled by a look that began after the
//! batch did. A look that is overtaken by a newer one at the same note settles nothing: its batches wait for the newer
//! look, which also does what the older one was to do.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::decide::Task;
use crate::host::power::Brake;
use context::plan::Trigger;
use note::VaultPath;

#[cfg(test)]
mod tests;

/// Up to this many notes count as a save and not as bulk work.
pub(crate) const AT_ONCE: usize = 16;

/// Work that began together and ends together.
#[derive(Debug, Default)]
struct Batch {
    jobs: Vec<u64>,
    size: usize,
    left: usize,
    changed: u64,
    /// How many of its notes have files that are new or have changed.
    saves: usize,
    /// Notes that were looked at and need nothing.
    unchanged: u64,
    /// Whether there are too many notes to announce one by one.
    quiet: bool,
}

/// A look at a note that has begun, or has to begin anew.
#[derive(Debug)]
struct UnderWay {
    /// Distinguishes a look from those that overtook it; `None` if the note has to be looked at anew, for example
    /// because it changed while it was read.
    ticket: Option<u64>,
    task: Task,
    /// Batches that wait for it.
    batches: Vec<u64>,
}

/// How far a batch is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) jobs: Vec<u64>,
    pub(crate) done: u64,
    pub(crate) changed: u64,
}

/// The result of a look, as the waiting batches see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    Changed,
    Unchanged,
}

/// The batches that wait for a look, which settles them.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Vec<u64>);

impl Waiting {
    /// Adds the batches that wait for another look.
    pub(crate) fn join(&mut self, other: Waiting) {
        self.0.extend(other.0);
    }
}

/// The queue of one indexer.
#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    tasks: VecDeque<(u64, Task)>,
    looks: HashMap<VaultPath, UnderWay>,
    batches: BTreeMap<u64, Batch>,
    last_batch: u64,
    last_ticket: u64,
}

impl WorkQueue {
    /// Queues tasks that no job waits for as one batch; a small batch goes before bulk work.
    pub(crate) fn enqueue(&mut self, tasks: Vec<Task>, quiet: bool) {
        self.enqueue_for(Vec::new(), tasks, 0, quiet);
    }

    /// Queues tasks that jobs wait for; for them `unchanged` more notes were looked at, which need nothing.
    pub(crate) fn enqueue_for(&mut self, jobs: Vec<u64>, tasks: Vec<Task>, unchanged: u64, quiet: bool) {
        self.last_batch += 1;
        let number = self.last_batch;
        let saves = tasks.iter().filter(|task| is_save(task)).count();
        let (size, left) = (tasks.len(), tasks.len());
        let batch = Batch { jobs, size, left, changed: 0, saves, unchanged, quiet };
        self.batches.insert(number, batch);
        if tasks.len() <= AT_ONCE {
            tasks.into_iter().rev().for_each(|task| self.tasks.push_front((number, task)));
        } else {
            self.tasks.extend(tasks.into_iter().map(|task| (number, task)));
        }
    }

    /// Takes the next task that need not wait out of the queue. Returns it with its ticket.
    pub(crate) fn next(&mut self, level: Brake) -> Option<(u64, Task)> {
        let at = self.tasks.iter().position(|task| self.may(task, level))?;
        let (batch, mut task) = self.tasks.remove(at)?;
        let Waiting(mut batches) = self.overtake(&mut task);
        if !batches.contains(&batch) {
            batches.push(batch);
        }
        self.last_ticket += 1;
        let under_way = UnderWay { ticket: Some(self.last_ticket), task: task.clone(), batches };
        self.looks.insert(task.path.clone(), under_way);
        Some((self.last_ticket, task))
    }

    /// A look at a note begins here and now: it takes over the task of the look under way. Returns the batches that
    /// wait for that one.
    pub(crate) fn overtake(&mut self, task: &mut Task) -> Waiting {
        let Some(older) = self.looks.remove(&task.path) else { return Waiting::default() };
        task.again |= older.task.again;
        if older.task.trigger == Trigger::Rebuild {
            (task.trigger, task.since) = (Trigger::Rebuild, task.since.or(older.task.since));
        }
        if task.moved_from.is_none() {
            task.moved_from = older.task.moved_from;
        }
        Waiting(older.batches)
    }

    /// A worker has finished a look. Returns its task and the batches that wait for it, or `None` if a newer look has
    /// overtaken it.
    pub(crate) fn landed(&mut self, path: &VaultPath, ticket: u64) -> Option<(Task, Waiting)> {
        self.looks.get(path).filter(|look| look.ticket == Some(ticket))?;
        self.looks.remove(path).map(|look| (look.task, Waiting(look.batches)))
    }

    /// A note changed while it was read: the jobs that wait for it wait for the next look.
    pub(crate) fn put_off(&mut self, task: Task, waiting: Waiting) {
        self.looks.insert(task.path.clone(), UnderWay { ticket: None, task, batches: waiting.0 });
    }

    /// A note is at a path, or has moved from there to `new`. Returns the notes that a worker was to read as this one
    /// under other names: they are to be looked at anew.
    pub(crate) fn found(&mut self, path: &VaultPath, new: Option<&VaultPath>) -> Vec<VaultPath> {
        let is_taken_for_it = |task: &Task| Some(&task.path) != new && task.moved_from.as_ref() == Some(path);
        for (_, task) in self.tasks.iter_mut().filter(|(_, task)| is_taken_for_it(task)) {
            task.moved_from = None;
        }
        let mut others = Vec::new();
        for look in self.looks.values_mut().filter(|look| is_taken_for_it(&look.task)) {
            (look.ticket, look.task.moved_from) = (None, None);
            others.push(look.task.path.clone());
        }
        others
    }

    /// A note has moved: the jobs that wait for the old name wait for the new one, which is looked at next. Returns what
    /// [`WorkQueue::found`] does.
    pub(crate) fn moved(&mut self, old: &VaultPath, new: &VaultPath) -> Vec<VaultPath> {
        let others = self.found(old, Some(new));
        if let Some(mut look) = self.looks.remove(old) {
            look.ticket = None;
            look.task.path = new.clone();
            match self.looks.get_mut(new) {
                Some(other) => other.batches.extend(look.batches),
                None => drop(self.looks.insert(new.clone(), look)),
            }
        }
        others
    }

    /// A note that a worker has is there after all, or again: the worker's result does not count, and the jobs that
    /// wait for it wait for the next look.
    pub(crate) fn doubt(&mut self, path: &VaultPath) {
        if let Some(look) = self.looks.get_mut(path) {
            look.ticket = None;
        }
    }

    /// A look has found the notes for which `is_looked_at` is true unchanged: settles looks at them that were put off.
    pub(crate) fn settle_put_off(&mut self, is_looked_at: impl Fn(&VaultPath) -> bool) {
        let settled = |path: &VaultPath, look: &UnderWay| look.ticket.is_none() && is_looked_at(path);
        let paths: Vec<_> = self.looks.iter().filter(|(p, look)| settled(p, look)).map(|(p, _)| p.clone()).collect();
        for path in paths {
            if let Some(look) = self.looks.remove(&path) {
                self.settle(&Waiting(look.batches), Settled::Unchanged);
            }
        }
    }

    /// The jobs that wait for looks that were put off.
    pub(crate) fn jobs_put_off(&self) -> Vec<u64> {
        let put_off = self.looks.values().filter(|look| look.ticket.is_none());
        self.jobs_of(&Waiting(put_off.flat_map(|look| look.batches.clone()).collect()))
    }

    /// A note is gone: a worker's result about it does not count. Returns the batches that wait for it.
    pub(crate) fn forget(&mut self, path: &VaultPath) -> Waiting {
        self.looks.remove(path).map_or_else(Waiting::default, |look| Waiting(look.batches))
    }

    /// Counts a look that was carried out in the batches that wait for it.
    pub(crate) fn settle(&mut self, waiting: &Waiting, settled: Settled) {
        for number in &waiting.0 {
            if let Some(batch) = self.batches.get_mut(number) {
                batch.left = batch.left.saturating_sub(1);
                batch.changed += u64::from(settled == Settled::Changed);
            }
        }
    }

    /// The jobs of the waiting batches.
    pub(crate) fn jobs_of(&self, waiting: &Waiting) -> Vec<u64> {
        waiting.0.iter().filter_map(|number| self.batches.get(number)).flat_map(|batch| batch.jobs.clone()).collect()
    }

    /// Whether no waiting batch has each note announced.
    pub(crate) fn is_quiet(&self, waiting: &Waiting) -> bool {
        waiting.0.iter().all(|number| self.batches.get(number).is_none_or(|batch| batch.quiet))
    }

    /// How far the batches with jobs are.
    pub(crate) fn progress(&self) -> impl Iterator<Item = Progress> + '_ {
        self.batches.values().filter(|batch| !batch.jobs.is_empty()).map(Batch::progress)
    }

    /// While many notes are read that are new or have changed: how many of them are done, of how many.
    pub(crate) fn bulk_of_saves(&self) -> Option<(u64, u64)> {
        let bulk = self.batches.values().filter(|batch| batch.saves > AT_ONCE);
        let far = bulk.map(|batch| (batch.progress().done, batch.unchanged + batch.size as u64));
        far.reduce(|a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// Whether notes are read that are new or have changed.
    pub(crate) fn has_saves(&self) -> bool {
        self.batches.values().any(|batch| batch.saves > 0)
    }

    /// Takes out the batches that are done.
    pub(crate) fn take_finished(&mut self) -> Vec<Progress> {
        let done: Vec<u64> = self.batches.iter().filter(|(_, b)| b.left == 0).map(|(n, _)| *n).collect();
        done.iter().filter_map(|number| self.batches.remove(number)).map(|batch| batch.progress()).collect()
    }

    /// Takes out the batches whose jobs are all over, with their queued tasks.
    pub(crate) fn take_over(&mut self, is_over: impl Fn(u64) -> bool) -> Vec<Progress> {
        let is_over = |batch: &Batch| !batch.jobs.is_empty() && batch.jobs.iter().all(|job| is_over(*job));
        let over: Vec<u64> = self.batches.iter().filter(|(_, b)| is_over(b)).map(|(n, _)| *n).collect();
        self.tasks.retain(|(batch, _)| !over.contains(batch));
        over.iter().filter_map(|number| self.batches.remove(number)).map(|batch| batch.progress()).collect()
    }

    /// Whether notes of a job are still to be decided about.
    pub(crate) fn works_for(&self, job: u64) -> bool {
        self.batches.values().any(|batch| batch.jobs.contains(&job))
    }

    /// Whether a worker has a look at this note.
    pub(crate) fn is_looked_at(&self, path: &VaultPath) -> bool {
        self.looks.get(path).is_some_and(|look| look.ticket.is_some())
    }

    /// Looks that workers have.
    pub(crate) fn under_way(&self) -> usize {
        self.looks.values().filter(|look| look.ticket.is_some()).count()
    }

    /// Tasks that no worker has yet.
    pub(crate) fn queued(&self) -> usize {
        self.tasks.len()
    }

    /// Whether no batch is open and no worker has a look.
    pub(crate) fn is_idle(&self) -> bool {
        self.batches.is_empty() && self.under_way() == 0
    }

    /// Whether no batch is open, whatever workers have.
    pub(crate) fn has_no_batch(&self) -> bool {
        self.batches.is_empty()
    }

    /// Whether there is a task that no worker has and that need not wait.
    pub(crate) fn can_go_on(&self, level: Brake) -> bool {
        self.tasks.iter().any(|task| self.may(task, level))
    }

    /// Whether any queued task has to wait at this level.
    pub(crate) fn is_kept(&self, level: Brake) -> bool {
        // Called in every turn: does not scan the queue while nothing has to wait.
        level != Brake::Off && self.tasks.iter().any(|task| !self.may(task, level))
    }

    /// Whether a task need not wait.
    fn may(&self, (batch, task): &(u64, Task), level: Brake) -> bool {
        let small = || self.batches.get(batch).is_none_or(|batch| batch.size <= AT_ONCE);
        match level {
            Brake::Off => true,
            // What is new on the disk is indexed; what is made anew waits.
            Brake::Bulk => is_save(task) || small(),
            Brake::All => small(),
        }
    }
}

/// Whether a file that is new or has changed is to be read, and not what is known made anew.
fn is_save(task: &Task) -> bool {
    task.trigger == Trigger::Save && !task.again
}

impl Batch {
    fn progress(&self) -> Progress {
        let done = self.unchanged + self.size.saturating_sub(self.left) as u64;
        Progress { jobs: self.jobs.clone(), done, changed: self.changed }
    }
}
