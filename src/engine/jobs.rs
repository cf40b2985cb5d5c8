//! Jobs: work that a user asked for and may watch, wait for and cancel.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::handle::{CallError, Job, Scope, SkippedFile};

/// Finished jobs that are remembered.
const REMEMBERED: usize = 50;

/// All jobs of the daemon, shared between the engine and its callers.
#[derive(Default)]
pub(super) struct Jobs {
    table: Mutex<Table>,
    moved_on: Condvar,
}

#[derive(Default)]
struct Table {
    last: u64,
    jobs: BTreeMap<u64, Entry>,
}

struct Entry {
    job: Job,
    /// Vaults that are still at it.
    parts: usize,
    began: Instant,
    cancel: AtomicBool,
}

impl Jobs {
    fn table(&self) -> MutexGuard<'_, Table> {
        // A panic while the table is held leaves it consistent: every change is one assignment.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a job that ends when `parts` vaults have ended it; returns its number.
    pub(super) fn begin(&self, kind: &str, scope: Scope, parts: usize) -> u64 {
        let mut table = self.table();
        table.last += 1;
        let number = table.last;
        let job = Job {
            job: number,
            kind: kind.to_owned(),
            scope,
            state: "running".to_owned(),
            done: 0,
            total: None,
            failed: Vec::new(),
            changed: 0,
            took_ms: 0,
            phase: "looking".to_owned(),
            seq: 0,
            contexts: None,
            estimate: None,
            problem: None,
        };
        table.jobs.insert(number, Entry { job, parts, began: Instant::now(), cancel: AtomicBool::new(false) });
        while table.jobs.len() > REMEMBERED {
            let finished = table.jobs.iter().find(|(_, e)| e.job.state != "running").map(|(n, _)| *n);
            let Some(finished) = finished else { break };
            table.jobs.remove(&finished);
        }
        number
    }

    /// A job gets a part more.
    pub(super) fn add_part(&self, number: u64) {
        if let Some(entry) = self.table().jobs.get_mut(&number) {
            entry.parts += 1;
        }
    }

    /// Changes a running job and wakes whoever waits for it; returns what it is now.
    pub(super) fn change(&self, number: u64, change: impl FnOnce(&mut Job)) -> Option<Job> {
        let mut table = self.table();
        let entry = table.jobs.get_mut(&number)?;
        if entry.job.state == "running" {
            change(&mut entry.job);
            entry.job.took_ms = entry.began.elapsed().as_millis() as u64;
        }
        let job = entry.job.clone();
        drop(table);
        self.moved_on.notify_all();
        Some(job)
    }

    /// A vault is through with its part: the job ends with the last one, in the worst state of all.
    pub(super) fn end_part(&self, number: u64, seq: u64, changed: u64, state: &str) -> Option<Job> {
        let mut table = self.table();
        let entry = table.jobs.get_mut(&number)?;
        entry.parts = entry.parts.saturating_sub(1);
        let job = &mut entry.job;
        job.changed += changed;
        job.seq = job.seq.max(seq);
        if state != "done" || job.phase != "failed" && job.phase != "cancelled" {
            state.clone_into(&mut job.phase);
        }
        if entry.parts == 0 && job.state == "running" {
            job.state.clone_from(&job.phase);
            job.total = job.total.or(Some(job.done));
            job.took_ms = entry.began.elapsed().as_millis() as u64;
        }
        let job = job.clone();
        drop(table);
        self.moved_on.notify_all();
        Some(job)
    }

    /// Notes a file that failed, keeping the list short.
    pub(super) fn fail_note(&self, number: u64, path: &str, why: &str) {
        self.change(number, |job| {
            if job.failed.len() < 100 {
                job.failed.push(SkippedFile { path: path.to_owned(), why: why.to_owned() });
            }
        });
    }

    pub(super) fn all(&self) -> Vec<Job> {
        self.table().jobs.values().rev().map(Entry::now).collect()
    }

    pub(super) fn get(&self, number: u64) -> Result<Job, CallError> {
        self.table().jobs.get(&number).map(Entry::now).ok_or_else(|| unknown(number))
    }

    /// Waits until the job has moved on or ended, at most `timeout`.
    pub(super) fn wait(&self, number: u64, timeout: Duration) -> Result<Job, CallError> {
        let until = Instant::now() + timeout;
        let mut table = self.table();
        let seen = |table: &Table| table.jobs.get(&number).map(|e| (e.job.done, e.job.phase.clone()));
        let before = seen(&table);
        loop {
            let entry = table.jobs.get(&number).ok_or_else(|| unknown(number))?;
            let left = until.saturating_duration_since(Instant::now());
            if entry.job.state != "running" || left.is_zero() || seen(&table) != before {
                return Ok(entry.now());
            }
            table = self.moved_on.wait_timeout(table, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Asks a job to stop.
    pub(super) fn cancel(&self, number: u64) -> Result<(), CallError> {
        let table = self.table();
        let entry = table.jobs.get(&number).ok_or_else(|| unknown(number))?;
        entry.cancel.store(true, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn is_cancelled(&self, number: u64) -> bool {
        self.table().jobs.get(&number).is_some_and(|e| e.cancel.load(Ordering::Relaxed))
    }
}

impl Entry {
    fn now(&self) -> Job {
        let mut job = self.job.clone();
        if job.state == "running" {
            job.took_ms = self.began.elapsed().as_millis() as u64;
        }
        job
    }
}

fn unknown(number: u64) -> CallError {
    CallError::NotFound { what: "job", name: number.to_string(), hint: "`situated jobs` lists them".to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn waiting_ends_with_the_job() {
        let jobs = Arc::new(Jobs::default());
        let number = jobs.begin("sync", Scope::default(), 1);
        let other = jobs.clone();
        let waiter = std::thread::spawn(move || other.wait(number, Duration::from_secs(20)));
        jobs.end_part(number, 3, 1, "done");
        assert_eq!(waiter.join().unwrap().unwrap().state, "done");
        jobs.cancel(number).unwrap();
        assert!(jobs.is_cancelled(number));
        assert!(matches!(jobs.get(99), Err(CallError::NotFound { .. })));
    }

    #[test]
    fn a_job_of_two_vaults_ends_with_the_second_and_remembers_a_failure() {
        let jobs = Jobs::default();
        let number = jobs.begin("sync", Scope::default(), 2);
        assert_eq!(jobs.end_part(number, 5, 1, "failed").unwrap().state, "running");
        let ended = jobs.end_part(number, 4, 2, "done").unwrap();
        assert_eq!((ended.state.as_str(), ended.seq, ended.changed), ("failed", 5, 3));
    }

    #[test]
    fn an_ended_job_does_not_change_any_more_and_old_ones_are_forgotten() {
        let jobs = Jobs::default();
        let first = jobs.begin("sync", Scope::default(), 1);
        jobs.end_part(first, 0, 0, "done");
        jobs.change(first, |job| job.done = 7);
        assert_eq!(jobs.get(first).unwrap().done, 0);
        for _ in 0..2 * REMEMBERED {
            let number = jobs.begin("sync", Scope::default(), 1);
            jobs.end_part(number, 0, 0, "done");
        }
        assert_eq!(jobs.all().len(), REMEMBERED);
        assert!(jobs.get(first).is_err());
    }
}
