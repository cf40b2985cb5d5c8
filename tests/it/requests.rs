//! Requests that many tests make, in a few words (what else they ask is added with `..query("heron")`), and what is
//! read off the answers again and again.

use protocol::contexts::StatsRequest;
use protocol::cost::{CostReport, PurposeCost, Sums};
use protocol::daemon::{CostRequest, ReloadRequest, ResumeRequest};
use protocol::hit::Hit;
use protocol::jobs::{Job, JobKind, JobState, PauseRequest, RebuildRequest, SyncRequest};
use protocol::note::GetRequest;
use protocol::search::{Mode, RelatedRequest, SearchRequest};
use protocol::status::{RunState, Status};

use crate::support::{Daemon, eventually};

/// A search as a user makes it.
pub(crate) fn query(text: &str) -> SearchRequest {
    SearchRequest { query: text.to_owned(), ..SearchRequest::default() }
}

/// A search by words alone.
pub(crate) fn by_words(text: &str) -> SearchRequest {
    SearchRequest { mode: Some(Mode::Lexical), ..query(text) }
}

/// A search that waits for what was saved before it.
pub(crate) fn fresh(text: &str) -> SearchRequest {
    SearchRequest { fresh: true, ..query(text) }
}

/// What lies near a note.
pub(crate) fn near(path: &str) -> RelatedRequest {
    RelatedRequest { path: Some(path.to_owned()), ..RelatedRequest::default() }
}

/// A note's text.
pub(crate) fn get(path: &str) -> GetRequest {
    GetRequest { path: path.to_owned(), ..GetRequest::default() }
}

/// A rebuild of everything whose end is waited for.
pub(crate) fn whole_rebuild() -> RebuildRequest {
    RebuildRequest { wait: true, ..RebuildRequest::default() }
}

/// Paths of hits, in their order.
pub(crate) fn paths(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.path.as_str()).collect()
}

/// The first hit in a note.
#[track_caller]
pub(crate) fn hit_in<'a>(hits: &'a [Hit], path: &str) -> &'a Hit {
    hits.iter().find(|hit| hit.path == path).unwrap_or_else(|| panic!("no hit in {path}: {hits:?}"))
}

/// Whether nothing is left to do, and the first vault has so many notes.
pub(crate) fn is_idle_with(status: &Status, notes: u64) -> bool {
    status.state == RunState::Idle && status.vaults.first().is_some_and(|vault| vault.notes == notes)
}

/// What was spent for a purpose.
pub(crate) fn spent_for(cost: &CostReport, purpose: &str) -> Option<PurposeCost> {
    cost.by_purpose.iter().find(|of| of.purpose == purpose).cloned()
}

impl Daemon {
    /// Looks at the disk and waits until all that was saved before is searchable.
    pub(crate) fn sync(&mut self) -> Job {
        self.ask(&SyncRequest::default())
    }

    /// Stops background work until [`Daemon::resume`].
    pub(crate) fn pause(&mut self) {
        self.ask(&PauseRequest::default());
    }

    /// Lets background work go on.
    pub(crate) fn resume(&mut self) {
        self.ask(&ResumeRequest::default());
    }

    /// Puts the configuration in force; what is wrong with it.
    pub(crate) fn reload(&mut self) -> Vec<String> {
        self.ask(&ReloadRequest::default()).problems.iter().map(ToString::to_string).collect()
    }

    /// What models have cost.
    pub(crate) fn cost(&mut self) -> CostReport {
        self.ask(&CostRequest::default())
    }

    /// What was bought so far, of a place that is new: the month's sums, for a day may end while a test runs.
    pub(crate) fn bought(&mut self) -> Sums {
        self.cost().this_month
    }

    /// How many chunks have a context that a model wrote.
    pub(crate) fn contextualized(&mut self) -> u64 {
        self.ask(&StatsRequest::default()).contextualized
    }

    /// The newest job of a kind.
    pub(crate) fn newest(&mut self, kind: JobKind) -> Option<Job> {
        self.jobs().into_iter().find(|job| job.kind == kind)
    }

    /// Waits until the newest job of all is in this state.
    pub(crate) fn wait_newest(&mut self, state: JobState) {
        eventually(&format!("the newest job is {state}"), || {
            self.jobs().first().is_some_and(|newest| newest.state == state)
        });
    }
}
