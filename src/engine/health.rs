//! The state of the daemon as a whole, computed from the indexers' reports whenever somebody asks for it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::jobs::Ended;
use super::runtime::{GenerationRuntime, config_of};
use super::shared::{IndexerReport, Stage};
use super::{Shared, VaultShared};
use crate::host::power::Brake;
use protocol::events::Notice;
use protocol::jobs::Job;
use protocol::status::RunState;

/// `status` names a vault that takes longer than this to open, and the daemon counts as started without it.
pub(super) const SLOW_TO_OPEN: Duration = Duration::from_secs(10);

/// The same for one turn of an indexer: `status` names a vault whose turn takes longer.
const SLOW_TURN: Duration = Duration::from_secs(30);

/// The same for a query's look at one file, which may be a document that has to be converted.
const SLOW_LOOK: Duration = Duration::from_secs(5);

impl Shared {
    /// Who writes the contexts of a generation.
    pub(super) fn runtime(&self, generation: &str) -> Arc<GenerationRuntime> {
        if let Some(runtime) = self.generations.load().get(generation) {
            return runtime.clone();
        }
        let config = self.config.load();
        let config = config_of(&config, generation).unwrap_or_else(|| (**config).clone());
        Arc::new(GenerationRuntime::new(Arc::new(config), Ok(None)))
    }

    /// Tells subscribers that a job has moved on, if it has.
    pub(super) fn tell_job(&self, job: Option<Job>) {
        if let Some(job) = job {
            self.feed.notify(Notice::Job { job: Box::new(job) });
        }
    }

    /// Fails the running parts of a vault whose indexer is gone, and tells of them.
    pub(super) fn fail_jobs(&self, vault: u64, why: &str) {
        self.end_jobs(vault, Ended::Failed, why);
    }

    /// Ends them so.
    pub(super) fn end_jobs(&self, vault: u64, ended: Ended, why: &str) {
        self.jobs.end_all_of(vault, ended, why).into_iter().for_each(|job| self.tell_job(Some(job)));
    }

    /// Milliseconds since the engine started.
    pub(super) fn now_ms(&self) -> u64 {
        machine::since(self.control.started).as_millis() as u64
    }

    /// Every generation of every vault, those that answer first.
    pub(super) fn all_indexers(&self) -> Vec<Arc<VaultShared>> {
        let (vaults, inactive) = (self.vaults.load(), self.indexers.inactive.load());
        vaults.iter().chain(inactive.iter()).cloned().collect()
    }

    /// What the daemon is doing, and its problems.
    pub(super) fn state(&self) -> (RunState, Vec<String>) {
        let all = self.all_indexers();
        let reports: Vec<IndexerReport> = all.iter().map(|vault| vault.report().clone()).collect();
        let problems = self.problems(&all, &reports);
        let busy = reports.iter().any(|report| report.busy || report.stage == Stage::Opening);
        let flying = reports.iter().any(|report| report.flying);
        let braked = self.throttle.level() != Brake::Off && !self.waits_of(&reports).is_empty() && !flying;
        let state = match () {
            () if !self.control.has_started() => RunState::Starting,
            () if self.throttle.is_paused() || braked => RunState::Paused,
            () if busy => RunState::Indexing,
            () if !problems.is_empty() => RunState::Degraded,
            () => RunState::Idle,
        };
        (state, problems)
    }

    fn problems(&self, all: &[Arc<VaultShared>], reports: &[IndexerReport]) -> Vec<String> {
        let mut problems: Vec<String> = reports.iter().flat_map(|report| report.notes.clone()).collect();
        problems.extend(self.indexers.problems());
        problems.extend(self.spender.ledger().problem());
        problems.extend(reports.iter().filter_map(|report| match &report.stage {
            Stage::Closed(why) => Some(why.clone()),
            Stage::Opening | Stage::Open => None,
        }));
        problems.extend(all.iter().zip(reports).filter_map(|(vault, report)| self.slowness(vault, report)));
        problems.extend(self.model_problem());
        problems.extend(self.questions.problem(&self.config.load()));
        problems.extend(self.reranker.load().as_ref().and_then(|reranker| reranker.problem()));
        let mut vectors: BTreeSet<String> = reports.iter().flat_map(|report| report.vectors.clone()).collect();
        for vault in all {
            vectors.extend(vault.waited_for().iter().filter_map(|service| service.problem()));
        }
        problems.extend(vectors);
        let reported = all.iter().zip(reports).map(|(vault, report)| (vault.name.as_str(), &report.problems[..]));
        problems.extend(of_vaults(&reported.collect::<Vec<_>>()));
        problems.extend(self.teams.problems());
        problems
    }

    /// Says that an indexer, or a query's look at the disk, has been at one thing for long: as a rule the file system
    /// does not answer.
    fn slowness(&self, vault: &VaultShared, report: &IndexerReport) -> Option<String> {
        let turn = vault.turn().map(|began| Duration::from_millis(self.now_ms().saturating_sub(began)));
        let name = &vault.name;
        match report.stage {
            Stage::Opening => {
                let seconds = turn.filter(|took| *took > SLOW_TO_OPEN)?.as_secs();
                Some(format!("vault `{name}` has been opening for {seconds} s: does its file system answer?"))
            }
            Stage::Open => {
                let looks = || vault.disk.busy_for().filter(|took| *took > SLOW_LOOK);
                let seconds = turn.filter(|took| *took > SLOW_TURN).or_else(looks)?.as_secs();
                Some(format!(
                    "vault `{name}` has been at one thing for {seconds} s: does its file system answer? Other vaults go on"
                ))
            }
            Stage::Closed(_) => None,
        }
    }

    /// What keeps models from being asked, for generations that a vault uses.
    pub(super) fn model_problem(&self) -> Option<String> {
        let all = self.all_indexers();
        let generations = self.generations.load();
        let problem = |(name, runtime): (&String, &Arc<GenerationRuntime>)| {
            let mut of_it = all.iter().filter(|vault| vault.generation == *name);
            of_it.find_map(|vault| runtime.problem(vault.report().waiting))
        };
        generations.iter().find_map(problem)
    }

    /// Why work waits.
    pub(super) fn waits(&self) -> Vec<String> {
        let reports: Vec<_> = self.all_indexers().iter().map(|vault| vault.report().clone()).collect();
        self.waits_of(&reports)
    }

    fn waits_of(&self, reports: &[IndexerReport]) -> Vec<String> {
        self.throttle.waits(reports.iter().any(|report| report.kept), reports.iter().any(|report| report.bulk))
    }
}

/// Vaults that a problem names at most.
const MOST_NAMED: usize = 3;

/// What vaults report, each text once. Of several vaults it says which ones report it, unless the text does.
fn of_vaults(reported: &[(&str, &[String])]) -> Vec<String> {
    let mut told: Vec<(&String, Vec<&str>)> = Vec::new();
    for (vault, problem) in reported.iter().flat_map(|(vault, problems)| problems.iter().map(move |p| (*vault, p))) {
        match told.iter_mut().find(|(text, _)| *text == problem) {
            Some((_, vaults)) if vaults.contains(&vault) => {}
            Some((_, vaults)) => vaults.push(vault),
            None => told.push((problem, vec![vault])),
        }
    }
    let is_one = reported.iter().all(|(vault, _)| *vault == reported[0].0);
    let said = |(text, vaults): (&String, Vec<&str>)| {
        if is_one || vaults.iter().all(|vault| text.contains(&format!("`{vault}`"))) {
            return text.clone();
        }
        let named: Vec<String> = vaults.iter().take(MOST_NAMED).map(|vault| format!("`{vault}`")).collect();
        let more = vaults.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}: {text}", named.join(", "))
    };
    told.into_iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_vaults_report_is_said_once_with_their_names() {
        let (polled, doubt) = ("it is polled".to_owned(), "it is empty".to_owned());
        let both = [polled.clone(), doubt.clone()];
        assert_eq!(of_vaults(&[]), [""; 0]);
        assert_eq!(of_vaults(&[("A", &both), ("A", &[])]), both, "there is no other vault");
        let of_two = of_vaults(&[("A", &both), ("B", std::slice::from_ref(&polled))]);
        assert_eq!(of_two, ["`A`, `B`: it is polled", "`A`: it is empty"]);
        let named = ["vault `B` is polled".to_owned()];
        assert_eq!(of_vaults(&[("A", &[]), ("B", &named)]), named, "it says so itself");
        let each: Vec<String> = (0..5).map(|n| format!("v{n}")).collect();
        let reported: Vec<(&str, &[String])> =
            each.iter().map(|name| (name.as_str(), std::slice::from_ref(&polled))).collect();
        assert_eq!(of_vaults(&reported), ["`v0`, `v1`, `v2` and 2 more: it is polled"]);
    }
}
