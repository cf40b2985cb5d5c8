//! An indexer's part of jobs. Only the indexer changes it, and it tells subscribers how far the jobs are.

use super::ActorContext;
use crate::jobs::{Ended, Part};
use protocol::jobs::{JobKind, Scope};

impl ActorContext {
    /// Begins a job of this vault alone, of all its notes or what is at `path`; returns its number.
    pub(super) fn begin_job(&self, kind: JobKind, path: Option<String>) -> u64 {
        let vault = self.place.vault.name.clone();
        let scope = Scope { vault: Some(vault.clone()), path };
        self.engine.jobs.begin(kind, scope, [(self.shared.id, vault)])
    }

    /// Gives the part one more step, which has to end before the part does.
    pub(super) fn open_step(&self, job: u64) {
        self.engine.jobs.open_step(job, self.shared.id);
    }

    /// Changes the part; subscribers hear of it with what is told next.
    pub(super) fn change_part(&self, job: u64, change: impl FnOnce(&mut Part)) {
        self.engine.jobs.change(job, self.shared.id, change);
    }

    /// Changes the part, and tells of it.
    pub(super) fn tell_part(&self, job: u64, change: impl FnOnce(&mut Part)) {
        self.engine.tell_job(self.engine.jobs.change(job, self.shared.id, change));
    }

    /// Sets how many notes of the part are done, and tells of it if that number has changed.
    pub(super) fn tell_progress(&self, job: u64, done: u64) {
        self.engine.tell_job(self.engine.jobs.progress(job, self.shared.id, done));
    }

    /// Ends a step of the part with what is published now.
    pub(super) fn end_step(&self, job: u64, ended: Ended) {
        let seq = self.shared.status.lock().seq;
        self.engine.tell_job(self.engine.jobs.end_step(job, self.shared.id, ended, seq));
    }

    /// Ends the part, whatever steps are open.
    pub(super) fn end_part(&self, job: u64, ended: Ended, why: String) {
        self.engine.tell_job(self.engine.jobs.end_part(job, self.shared.id, ended, Some(why)));
    }

    /// Whether the user cancelled a job.
    pub(super) fn is_cancelled(&self, job: u64) -> bool {
        self.engine.jobs.is_cancelled(job)
    }

    /// How a job ends that does not get to its end: the user cancelled it, or it failed.
    pub(super) fn ended_early(&self, job: u64) -> Ended {
        if self.is_cancelled(job) { Ended::Cancelled } else { Ended::Failed }
    }
}
