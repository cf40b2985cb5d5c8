//! Jobs: work that a user asked for and may watch, wait for and cancel.
//!
//! A job has a part for each vault, and each part has one owner, the indexer of that vault, which alone changes it.
//! The state of a job is computed from its parts: the worst result, and sums of what was done.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::error::CallError;
use note::VaultPath;
use protocol::contexts::Estimate;
use protocol::jobs::{ContextProgress, Job, JobKind, JobPart, JobState, Scope, SkippedFile};

#[cfg(test)]
mod tests;

/// Finished jobs that are remembered.
const REMEMBERED: usize = 50;

/// Failed notes that a part remembers.
const MOST_FAILED: usize = 100;

/// All jobs of the daemon, shared between the indexers and queries.
#[derive(Default)]
pub(super) struct Jobs {
    /// A panic while the lock is held leaves the table consistent: every change is one assignment.
    table: Mutex<Table>,
    moved_on: Condvar,
}

#[derive(Default)]
struct Table {
    last: u64,
    jobs: BTreeMap<u64, Entry>,
}

struct Entry {
    number: u64,
    kind: JobKind,
    scope: Scope,
    /// By the vault's id.
    parts: BTreeMap<u64, Part>,
    began: Instant,
    /// The same by the clock, seconds since 1970.
    started_at: i64,
    took: Option<Duration>,
    /// Whether the user cancelled it.
    cancelled: bool,
}

/// How a part, or a job, ends; the worse end is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ended {
    #[default]
    Done,
    Cancelled,
    Failed,
}

impl Ended {
    fn state(self) -> JobState {
        match self {
            Ended::Done => JobState::Done,
            Ended::Cancelled => JobState::Cancelled,
            Ended::Failed => JobState::Failed,
        }
    }
}

/// What one vault does for a job.
#[derive(Debug, Default)]
pub(super) struct Part {
    vault: String,
    /// Steps that have not ended: a rebuild decides about notes and then waits for contexts.
    open: u32,
    worst: Ended,
    /// What it is doing.
    pub(super) phase: String,
    /// Notes done.
    pub(super) done: u64,
    /// Notes in all, once known.
    pub(super) total: Option<u64>,
    /// Notes that changed the index.
    pub(super) changed: u64,
    /// Contexts that were bought meanwhile.
    pub(super) bought: u64,
    /// The snapshot that holds the result.
    pub(super) seq: u64,
    /// How far the model is with the contexts.
    pub(super) contexts: Option<ContextProgress>,
    /// An estimate of what it will take.
    pub(super) estimate: Option<Estimate>,
    /// Why it ended early, or differs from what was asked for.
    pub(super) problem: Option<String>,
    pub(super) failed: Vec<SkippedFile>,
    /// Notes that are empty and were not: whether they stay so is waited for.
    pub(super) emptied: HashSet<VaultPath>,
}

impl Part {
    /// A note failed.
    pub(super) fn fail_note(&mut self, path: &str, why: &str) {
        if self.failed.len() < MOST_FAILED {
            self.failed.push(SkippedFile { path: path.to_owned(), why: why.to_owned() });
        }
    }

    /// Whether it has ended, or waits only for emptied notes.
    fn is_left_with_emptied(&self) -> bool {
        let looked_at = self.done + self.emptied.len() as u64;
        self.open == 0 || (!self.emptied.is_empty() && self.total.is_some_and(|total| looked_at >= total))
    }

    fn state(&self) -> JobState {
        if self.open > 0 { JobState::Running } else { self.worst.state() }
    }
}

impl Jobs {
    /// Begins a job with a part for each vault, given by id and name; returns its number.
    pub(super) fn begin(&self, kind: JobKind, scope: Scope, vaults: impl IntoIterator<Item = (u64, String)>) -> u64 {
        let mut table = self.table.lock();
        table.last += 1;
        let number = table.last;
        let part = |vault| Part { vault, open: 1, phase: "looking".to_owned(), ..Part::default() };
        let parts = vaults.into_iter().map(|(id, name)| (id, part(name))).collect();
        let (began, started_at) = (machine::now(), crate::now_s());
        let entry = Entry { number, kind, scope, parts, began, started_at, took: None, cancelled: false };
        table.jobs.insert(number, entry);
        while table.jobs.len() > REMEMBERED {
            let finished = table.jobs.iter().find(|(_, entry)| !entry.is_running()).map(|(n, _)| *n);
            let Some(finished) = finished else { break };
            table.jobs.remove(&finished);
        }
        number
    }

    /// Gives a part one more step, which has to end before the part does.
    pub(super) fn open_step(&self, number: u64, vault: u64) {
        self.change(number, vault, |part| part.open += 1);
    }

    /// Hands a part over to another indexer.
    pub(super) fn hand_over(&self, number: u64, from: u64, to: u64) {
        if let Some(entry) = self.table.lock().jobs.get_mut(&number)
            && let Some(part) = entry.parts.remove(&from)
        {
            entry.parts.insert(to, part);
        }
    }

    /// Changes a running part and wakes the callers that wait for the job; returns what the job is now.
    pub(super) fn change(&self, number: u64, vault: u64, change: impl FnOnce(&mut Part)) -> Option<Job> {
        let mut table = self.table.lock();
        let entry = table.jobs.get_mut(&number)?;
        let part = entry.parts.get_mut(&vault).filter(|part| part.open > 0)?;
        change(part);
        if entry.took.is_none() && !entry.is_running() {
            entry.took = Some(machine::since(entry.began));
        }
        let job = entry.now();
        drop(table);
        self.moved_on.notify_all();
        Some(job)
    }

    /// Sets what the contexts of a part have cost, even if it has ended.
    pub(super) fn set_spent(&self, number: u64, vault: u64, micro_dollars: u64) {
        let mut table = self.table.lock();
        let part = table.jobs.get_mut(&number).and_then(|entry| entry.parts.get_mut(&vault));
        if let Some(contexts) = part.and_then(|part| part.contexts.as_mut()) {
            contexts.micro_dollars = micro_dollars;
        }
    }

    /// Sets how many notes of a part are done; returns the job if that number has changed.
    pub(super) fn progress(&self, number: u64, vault: u64, done: u64) -> Option<Job> {
        let known = self.table.lock().jobs.get(&number)?.parts.get(&vault)?.done;
        (known != done).then(|| self.change(number, vault, |part| part.done = done)).flatten()
    }

    /// Ends a step of a part. The job ends with the last step of its last part; the worst end of all steps is the
    /// job's.
    #[must_use = "whoever waits for the job hears of its end by `Shared::tell_job`"]
    pub(super) fn end_step(&self, number: u64, vault: u64, ended: Ended, seq: u64) -> Option<Job> {
        self.change(number, vault, |part| {
            part.open = part.open.saturating_sub(1);
            part.worst = part.worst.max(ended);
            part.seq = part.seq.max(seq);
        })
    }

    /// Ends a part, whatever steps are open.
    #[must_use = "whoever waits for the job hears of its end by `Shared::tell_job`"]
    pub(super) fn end_part(&self, number: u64, vault: u64, ended: Ended, problem: Option<String>) -> Option<Job> {
        self.change(number, vault, |part| {
            part.open = 0;
            part.worst = part.worst.max(ended);
            part.problem = problem.or(part.problem.take());
        })
    }

    /// Ends the running parts of a vault whose indexer is gone.
    #[must_use = "whoever waits for the jobs hears of their end by `Shared::tell_job`"]
    pub(super) fn end_all_of(&self, vault: u64, ended: Ended, why: &str) -> Vec<Job> {
        let over = |number| self.end_part(number, vault, ended, Some(why.to_owned()));
        self.running_of(vault).into_iter().filter_map(over).collect()
    }

    /// Adds contexts that were bought for a vault to the jobs that run meanwhile.
    pub(super) fn bought(&self, vault: u64, contexts: u64) {
        for number in self.running_of(vault) {
            self.change(number, vault, |part| part.bought += contexts);
        }
    }

    /// Whether contexts of a vault are made anew by a job that somebody waits for.
    pub(super) fn is_built(&self, vault: u64) -> bool {
        let builds = |entry: &Entry| matches!(entry.kind, JobKind::Generation | JobKind::Rebuild);
        self.table.lock().jobs.values().any(|entry| builds(entry) && entry.runs_in(vault))
    }

    fn running_of(&self, vault: u64) -> Vec<u64> {
        let table = self.table.lock();
        table.jobs.iter().filter(|(_, entry)| entry.runs_in(vault)).map(|(number, _)| *number).collect()
    }

    pub(super) fn all(&self) -> Vec<Job> {
        self.table.lock().jobs.values().rev().map(Entry::now).collect()
    }

    pub(super) fn get(&self, number: u64) -> Result<Job, CallError> {
        self.table.lock().jobs.get(&number).map(Entry::now).ok_or_else(|| unknown(number))
    }

    /// Whether a job waits only for emptied notes, which may be written again at once.
    pub(super) fn waits_for_emptied(&self, number: u64) -> bool {
        let table = self.table.lock();
        table.jobs.get(&number).is_some_and(|job| job.parts.values().all(Part::is_left_with_emptied))
    }

    /// Waits until the job has made progress or ended, at most for `timeout`.
    pub(super) fn wait(&self, number: u64, timeout: Duration) -> Result<Job, CallError> {
        let until = machine::now() + timeout;
        let mut table = self.table.lock();
        let mut before = None;
        loop {
            let job = table.jobs.get(&number).map(Entry::now).ok_or_else(|| unknown(number))?;
            let left = until.saturating_duration_since(machine::now());
            let seen = Some((job.done, job.phase.clone()));
            if !job.is_running() || left.is_zero() || before.as_ref().is_some_and(|_| before != seen) {
                return Ok(job);
            }
            before = seen;
            self.moved_on.wait_for(&mut table, left);
        }
    }

    /// Asks a job to stop, which only one that runs can do.
    pub(super) fn cancel(&self, number: u64) -> Result<(), CallError> {
        let mut table = self.table.lock();
        let entry = table.jobs.get_mut(&number).ok_or_else(|| unknown(number))?;
        if !entry.is_running() {
            return Err(CallError::Invalid(format!("job {number} has ended already: it is {}", entry.now().state)));
        }
        entry.cancelled = true;
        Ok(())
    }

    /// Whether nothing more is to be done for a vault's part: the job was cancelled, or a step of the part has failed.
    pub(super) fn is_over(&self, number: u64, vault: u64) -> bool {
        let table = self.table.lock();
        let failed = |entry: &Entry| entry.parts.get(&vault).is_some_and(|part| part.worst == Ended::Failed);
        table.jobs.get(&number).is_some_and(|entry| entry.cancelled || failed(entry))
    }

    pub(super) fn is_cancelled(&self, number: u64) -> bool {
        self.table.lock().jobs.get(&number).is_some_and(|entry| entry.cancelled)
    }
}

impl Entry {
    fn is_running(&self) -> bool {
        self.parts.values().any(|part| part.open > 0)
    }

    fn runs_in(&self, vault: u64) -> bool {
        self.parts.get(&vault).is_some_and(|part| part.open > 0)
    }

    /// The job as the protocol shows it.
    fn now(&self) -> Job {
        let parts = || self.parts.values();
        let running = parts().find(|part| part.open > 0);
        let worst = parts().map(|part| part.worst).max().unwrap_or_default();
        let state = if running.is_some() { JobState::Running } else { worst.state() };
        // A part that has ended knows how many notes it had.
        let total = |part: &Part| part.total.or((part.open == 0).then_some(part.done));
        let mut problems: Vec<&str> = parts().filter_map(|part| part.problem.as_deref()).collect();
        problems.dedup();
        Job {
            job: self.number,
            kind: self.kind,
            scope: self.scope.clone(),
            state,
            done: parts().map(|part| part.done).sum(),
            total: parts().map(total).sum(),
            failed: parts().flat_map(|part| part.failed.iter().cloned()).take(MOST_FAILED).collect(),
            changed: parts().map(|part| part.changed).sum(),
            bought: parts().map(|part| part.bought).sum(),
            started_at: self.started_at,
            took_ms: self.took.unwrap_or_else(|| machine::since(self.began)).as_millis() as u64,
            phase: running.map_or_else(|| state.to_string(), |part| part.phase.clone()),
            seq: parts().map(|part| part.seq).max().unwrap_or(0),
            contexts: parts().filter_map(|part| part.contexts).reduce(ContextProgress::plus),
            estimate: parts().filter_map(|part| part.estimate.clone()).reduce(together),
            vectors: Vec::new(),
            problem: (!problems.is_empty()).then(|| problems.join("; ")),
            parts: parts().map(told).collect(),
        }
    }
}

fn told(part: &Part) -> JobPart {
    JobPart {
        vault: part.vault.clone(),
        state: part.state(),
        done: part.done,
        total: part.total,
        changed: part.changed,
        bought: part.bought,
        problem: part.problem.clone(),
    }
}

/// What two vaults take together.
pub(super) fn together(one: Estimate, other: Estimate) -> Estimate {
    Estimate {
        notes: one.notes + other.notes,
        chunks: one.chunks + other.chunks,
        calls: one.calls + other.calls,
        tokens_in: one.tokens_in + other.tokens_in,
        tokens_cached: one.tokens_cached + other.tokens_cached,
        tokens_out: one.tokens_out + other.tokens_out,
        micro_dollars: one.micro_dollars.zip(other.micro_dollars).map(|(a, b)| a.saturating_add(b)),
        price_as_of: one.price_as_of.or(other.price_as_of),
        minutes: one.minutes.max(other.minutes),
    }
}

fn unknown(number: u64) -> CallError {
    CallError::NotFound { what: "job", name: number.to_string(), hint: "`situated jobs` lists them".to_owned() }
}
