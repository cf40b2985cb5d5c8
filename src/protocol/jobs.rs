//! Work that takes long: `sync`, `rebuild`, and the jobs that they begin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audience::Audience;
use crate::contexts::{Estimate, Offer};
use crate::envelope::Id;
use crate::is_default;

/// What a rebuild or sync covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The vault by name; all if absent.
    pub vault: Option<String>,
    /// A folder or note in it; everything if absent.
    pub path: Option<String>,
}

/// Parameters of `sync`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SyncRequest {
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// A folder or note in it, with which all of the vault is looked at.
    #[serde(skip_serializing_if = "is_default")]
    pub path: Option<String>,
    /// Notes that seem gone are gone: settles the doubt about a vault that was emptied.
    #[serde(skip_serializing_if = "is_default")]
    pub accept_deletes: bool,
    /// Have contexts that serve and should be better (drifted, failed) made anew, of notes that changed in so many
    /// seconds; 0: of all notes.
    #[serde(skip_serializing_if = "is_default")]
    pub since: Option<u64>,
    /// Answer when the job has ended, rather than when it has begun; it does if absent.
    #[serde(skip_serializing_if = "is_true")]
    pub wait: bool,
    /// Token of `progress` notifications, wanted if present.
    #[serde(skip_serializing_if = "is_default")]
    pub progress: Option<Id>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_true(flag: &bool) -> bool {
    *flag
}

impl Default for SyncRequest {
    fn default() -> Self {
        SyncRequest { vault: None, path: None, accept_deletes: false, since: None, wait: true, progress: None }
    }
}

/// Parameters of `rebuild`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RebuildRequest {
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// A folder or note in it; everything if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub path: Option<String>,
    /// Only count what would be done, and say what it would cost.
    #[serde(skip_serializing_if = "is_default")]
    pub dry_run: bool,
    /// Have the provider's batch interface write the contexts: cheaper and slower.
    #[serde(skip_serializing_if = "is_default")]
    pub batch: bool,
    /// Only have those contexts written that are not as they should be.
    #[serde(skip_serializing_if = "is_default")]
    pub stale: bool,
    /// Who asks: assistants pay only with leave, and private notes are left out.
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
    /// Answer when the job has ended, rather than when it has begun.
    #[serde(skip_serializing_if = "is_default")]
    pub wait: bool,
    /// Token of `progress` notifications, wanted if present.
    #[serde(skip_serializing_if = "is_default")]
    pub progress: Option<Id>,
}

/// What a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum JobKind {
    /// The first walk of a vault after a start.
    Index,
    /// A look at the disk.
    Sync,
    /// Making everything in a scope anew.
    Rebuild,
    /// Building a generation beside the one that answers.
    Generation,
    /// Making vectors for an embedder that is to take over.
    Embed,
    /// A kind that only a newer daemon has.
    #[default]
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// How far a job, or a part of one, is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum JobState {
    /// It has not ended.
    Running,
    /// It ended, and all of it was done; notes may have failed.
    Done,
    /// Somebody ended it; what was done stays.
    Cancelled,
    /// It ended early; `problem` says why.
    Failed,
    /// It was only counted what it would take.
    DryRun,
    /// A state that only a newer daemon has.
    #[default]
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// State of a long-running job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Its number.
    pub job: u64,
    /// What it is.
    pub kind: JobKind,
    /// What it covers.
    pub scope: Scope,
    /// How far it is.
    pub state: JobState,
    /// Notes done.
    pub done: u64,
    /// Notes in all, once known.
    pub total: Option<u64>,
    /// Notes that failed, with reasons, at most 100.
    pub failed: Vec<SkippedFile>,
    /// Notes that changed the index.
    pub changed: u64,
    /// Contexts that a model wrote meanwhile, paid for or not.
    #[serde(default)]
    pub bought: u64,
    /// When it began, seconds since 1970 (UTC); 0 if the daemon does not say.
    #[serde(default)]
    pub started_at: i64,
    /// Milliseconds since it began, or that it took.
    pub took_ms: u64,
    /// What it is doing.
    pub phase: String,
    /// The snapshot that holds its result, once done.
    pub seq: u64,
    /// How far a model is with the contexts, if one writes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contexts: Option<ContextProgress>,
    /// What it would take, in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The vectors that it would take besides, by vault, if an embedder that takes time or money makes them; in a dry run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vectors: Vec<Offer>,
    /// Why it ended early; of a dry run, why it would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What each vault does for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<JobPart>,
}

/// What one vault does for a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobPart {
    /// The vault.
    pub vault: String,
    /// As of the job.
    pub state: JobState,
    /// Notes done.
    pub done: u64,
    /// Notes in all, once known.
    pub total: Option<u64>,
    /// Notes that changed the index.
    pub changed: u64,
    /// Contexts that a model wrote meanwhile.
    pub bought: u64,
    /// Why it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// [`Job::phase`] while a model is asked for contexts one by one, as the numbers of contexts say anyway.
pub const WRITING_CONTEXTS: &str = "writing contexts";

impl Job {
    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.state == JobState::Running
    }

    /// What would be done, and what it would take.
    pub fn dry_run(kind: JobKind, scope: Scope, notes: Option<u64>, estimate: Option<Estimate>) -> Self {
        let (state, phase) = (JobState::DryRun, JobState::DryRun.to_string());
        Job { kind, scope, state, total: notes, phase, estimate, ..Job::default() }
    }
}

/// How far a model is with the contexts of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextProgress {
    /// Chunks in all; 0 until every note has been decided about.
    pub total: u64,
    /// Chunks done, the failed ones included.
    pub processed: u64,
    /// Chunks for which the model gave nothing usable: the template serves them.
    pub failed: u64,
    /// `processed` of `total`.
    pub percentage: f32,
    /// Seconds since it began, or since it was taken up after a restart.
    pub elapsed_s: f64,
    /// Seconds that the rest will take, once that can be told.
    pub remaining_s: Option<f64>,
    /// Millionths of a dollar spent on it; calls of unknown price are not in it.
    pub micro_dollars: u64,
}

impl ContextProgress {
    /// Of two vaults together.
    #[must_use]
    pub fn plus(self, other: ContextProgress) -> ContextProgress {
        let (total, processed) = (self.total + other.total, self.processed + other.processed);
        let longest = |a: Option<f64>, b: Option<f64>| Some(a?.max(b?));
        ContextProgress {
            total,
            processed,
            failed: self.failed + other.failed,
            percentage: if total == 0 { 0.0 } else { processed as f32 / total as f32 * 100.0 },
            elapsed_s: self.elapsed_s.max(other.elapsed_s),
            remaining_s: longest(self.remaining_s, other.remaining_s),
            micro_dollars: self.micro_dollars + other.micro_dollars,
        }
    }
}

/// A file that is not in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    /// Its path in the vault.
    pub path: String,
    /// Why.
    pub why: String,
}

/// Parameters of `jobs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JobsRequest {
    /// Who asks: an assistant is told of no private note.
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// Result of `jobs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobList {
    /// Running ones first.
    pub jobs: Vec<Job>,
}

/// Parameters of `cancel`: one of the two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CancelRequest {
    /// A request of this connection, by its id.
    #[serde(skip_serializing_if = "is_default")]
    pub id: Option<Id>,
    /// A job, by its number.
    #[serde(skip_serializing_if = "is_default")]
    pub job: Option<u64>,
    /// Who asks; changes nothing here.
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
}

impl CancelRequest {
    /// That a job is to end.
    pub fn of_job(job: u64) -> Self {
        CancelRequest { job: Some(job), ..Self::default() }
    }
}

/// Parameters of `pause`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PauseRequest {
    /// For how long; until `resume` if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub seconds: Option<u64>,
}

#[cfg(test)]
mod tests;
