//! What the engine tells: the types of its answers and notices, as they go over the socket.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod ask;
mod audience;
mod contexts;
mod error;
mod embedding;
mod graph;
mod problem;
mod search;

pub use crate::host::sandbox::Sandbox;
pub use ask::{AskAnswer, AskPassage, AskRequest, Citation};
pub use audience::{Audience, RecentAnswer, RecentNote, RecentRequest};
use context::cost::Estimate;
use context::plan::{Action, Reason};
pub use contexts::{
    ContextProgress, ContextStatus, Contextual, GenerateRequest, GeneratedContext, GenerationInfo, ReviewRequest,
    Reviewed, Stats,
};
pub use embedding::EmbedStatus;
pub use graph::{GraphAnswer, GraphNote, GraphRequest, GraphTarget, Measure};
pub use index::Cancel;
use index::LexicalError;
use index::search::TooMuch;
pub use problem::Problem;
pub use search::{Group, RelatedRequest, SearchAnswer, SearchFilter, SearchRequest};

/// What the plain generation, that of `[context]`, is called.
pub const DEFAULT_GENERATION: &str = "default";

/// What went wrong with a call; `kind` of the protocol.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// The named thing does not exist.
    #[error("{what} `{name}` is not known; {hint}")]
    NotFound {
        /// `vault`, `note`, `chunk`, `job`.
        what: &'static str,
        /// As asked for.
        name: String,
        /// What to do next.
        hint: String,
    },
    /// The parameters are wrong.
    #[error("{0}")]
    Invalid(String),
    /// The query is over a limit.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    /// The daemon has not read its store yet.
    #[error("the index is still being opened; try again in a moment")]
    NotReady,
    /// A job that excludes this one runs.
    #[error("{message}")]
    Conflict {
        /// Which and what to do.
        message: String,
        /// Its job.
        job: u64,
    },
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The call took longer than it may.
    #[error("no answer within {0} ms")]
    Timeout(u64),
    /// What is asked for needs a model, and none is configured.
    #[error("{0}")]
    NotConfigured(String),
    /// Whoever asks may not.
    #[error("{0}")]
    Forbidden(String),
    /// The model was asked in vain.
    #[error("{0}")]
    Provider(String),
    /// Work is paused.
    #[error("the daemon is paused; `situated resume` lets it go on")]
    Paused,
    /// The store or the index failed.
    #[error("{0}")]
    Storage(String),
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Stopping,
}

impl From<LexicalError> for CallError {
    fn from(error: LexicalError) -> Self {
        match error {
            LexicalError::Cancelled => CallError::Cancelled,
            LexicalError::Failed(_) => CallError::Storage(error.to_string()),
        }
    }
}

/// State of the daemon as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Opening its stores.
    Starting,
    /// Working through changes; queries are answered.
    Indexing,
    /// Nothing to do.
    Idle,
    /// Something needs the user's eye; `problems` says what.
    Degraded,
    /// Paused by the user.
    Paused,
}

/// Answer of `status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// State of the daemon.
    pub state: State,
    /// One entry per vault.
    pub vaults: Vec<VaultStatus>,
    /// What needs the user's eye, each with what to do.
    pub problems: Vec<String>,
    /// What leaves this machine, to where; empty unless a remote provider is configured.
    pub leaves_machine: Vec<String>,
    /// Contextualizer in force.
    pub contextualizer: String,
    /// Embedder in force.
    pub embedder: String,
    /// How far its vectors are, and those of one that is to take over.
    #[serde(default)]
    pub embedding: EmbedStatus,
    /// Contexts that a model writes.
    #[serde(default)]
    pub contexts: ContextStatus,
    /// What holds the daemon to the files and connections that it needs.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// Why work waits that could go on, each with what lets it go on: the battery, the memory.
    #[serde(default)]
    pub held: Vec<String>,
    /// Until when work is paused, seconds since 1970 (UTC); 0 stands for until it is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<i64>,
    /// Seconds since the daemon started.
    pub uptime_s: u64,
    /// Resident memory in bytes, 0 if unknown.
    pub rss_bytes: u64,
    /// Version of the daemon.
    pub version: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// Who supervises it: `systemd`, `launchd` or `none`.
    pub supervisor: String,
    /// The socket it serves.
    pub socket: PathBuf,
}

/// State of one vault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VaultStatus {
    /// Its name.
    pub name: String,
    /// Its root.
    pub path: PathBuf,
    /// Notes indexed.
    pub notes: u64,
    /// Chunks indexed.
    pub chunks: u64,
    /// The published snapshot's sequence number.
    pub seq: u64,
    /// When the index last changed, seconds since 1970 (UTC).
    pub last_change: Option<i64>,
    /// Paths known to be dirty and not yet looked at.
    pub pending: u64,
    /// Files that could not be indexed, by reason, at most 100.
    pub skipped: Vec<SkippedFile>,
    /// How many were skipped in all.
    pub skipped_total: u64,
    /// Notes that look like copies made by a sync conflict, at most 100.
    pub conflicts: Vec<String>,
    /// Notes with warnings.
    pub warned: u64,
    /// `inotify`, `fsevents` or `poll`.
    pub watch: String,
    /// Why watching is not as it should be, and what to do.
    pub watch_problem: Option<String>,
    /// Why the vault is doubted (gone, emptied): nothing is dropped meanwhile.
    pub doubt: Option<String>,
    /// Bytes of the index and store on disk.
    pub index_bytes: u64,
    /// Decisions since the daemon started.
    pub decisions: Vec<DecisionCount>,
}

/// A file that is not in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    /// Its path in the vault.
    pub path: String,
    /// Why.
    pub why: String,
}

/// How often a decision was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionCount {
    /// What was done.
    #[schemars(with = "String")]
    pub action: Action,
    /// Why.
    #[schemars(with = "String")]
    pub reason: Reason,
    /// How often.
    pub count: u64,
}

/// What was decided about a note: a line of `situated run`, an event of `subscribe`, the answer of `explain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Vault.
    pub vault: String,
    /// Path in the vault.
    pub path: String,
    /// Why the note was looked at anew.
    #[schemars(with = "String")]
    pub reason: Reason,
    /// Chunks left alone.
    pub kept: u32,
    /// Chunks embedded again under the context they had.
    pub reembedded: u32,
    /// Chunks with a new context.
    pub regenerated: u32,
    /// Chunks that went.
    pub removed: u32,
    /// Per chunk.
    pub steps: Vec<DecidedStep>,
    /// The snapshot that holds the result.
    pub seq: u64,
    /// From reading the note to the published snapshot, milliseconds.
    pub took_ms: f64,
    /// Seconds since 1970 (UTC).
    pub at: i64,
}

/// One step of a [`Decision`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedStep {
    /// What is done.
    #[schemars(with = "String")]
    pub action: Action,
    /// Why.
    #[schemars(with = "String")]
    pub reason: Reason,
    /// The chunk's id.
    pub chunk: String,
    /// Headings above the chunk, outermost first.
    pub heading_path: Vec<String>,
    /// First and last line; those of before for a chunk that goes.
    pub lines: (u32, u32),
    /// Why its context should be refreshed by a rebuild or the daily sync.
    #[schemars(with = "Option<String>")]
    pub later: Option<Reason>,
}

/// What a rebuild or sync covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The vault by name; all if absent.
    pub vault: Option<String>,
    /// A folder or note in it; everything if absent.
    pub path: Option<String>,
}

/// State of a long-running job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Its number.
    pub job: u64,
    /// `index`, `sync`, `rebuild` or `embed`.
    pub kind: String,
    /// What it covers.
    pub scope: Scope,
    /// `running`, `done`, `cancelled`, `failed`.
    pub state: String,
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
    /// Why it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What each vault does for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<JobPart>,
}

/// What one vault does for a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobPart {
    /// The vault.
    pub vault: String,
    /// As of the job.
    pub state: String,
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

impl Job {
    /// What would be done, and what it would take.
    pub fn dry_run(kind: &str, scope: Scope, notes: Option<u64>, estimate: Option<Estimate>) -> Self {
        Job {
            job: 0,
            kind: kind.to_owned(),
            scope,
            state: "dry_run".to_owned(),
            done: 0,
            total: notes,
            failed: Vec::new(),
            changed: 0,
            bought: 0,
            took_ms: 0,
            phase: "dry_run".to_owned(),
            seq: 0,
            contexts: None,
            estimate,
            problem: None,
            parts: Vec::new(),
        }
    }
}

/// Answer of `get`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoteText {
    /// Vault.
    pub vault: String,
    /// Path in the vault.
    pub path: String,
    /// Title.
    pub title: String,
    /// The lines asked for, as they are on disk now.
    pub text: String,
    /// 1-based line of the first one.
    pub line: u32,
    /// Lines in the note.
    pub lines: u32,
    /// Modification time, seconds since 1970 (UTC).
    pub mtime: i64,
    /// Whether more lines were there than were asked for or may be sent.
    pub truncated: bool,
    /// What was odd about the note.
    pub warnings: Vec<String>,
}

/// What subscribers are told.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Notice {
    /// A note was decided about and its result published.
    Decision(Decision),
    /// A new snapshot is published.
    Index {
        /// Vault.
        vault: String,
        /// Sequence number.
        seq: u64,
        /// Notes in it.
        notes: u64,
        /// Chunks in it.
        chunks: u64,
    },
    /// The daemon's state changed.
    State {
        /// The new state.
        state: State,
    },
    /// A job began, moved on or ended.
    Job(Box<Job>),
}

/// A vault that the daemon serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VaultInfo {
    /// Its name.
    pub name: String,
    /// Its root.
    pub path: PathBuf,
    /// Whether it is meant when a request names no vault.
    pub default: bool,
}

/// Parameters of `get`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GetRequest {
    /// The note's path in its vault.
    pub path: String,
    /// The vault by name; the default one if absent.
    #[serde(default)]
    pub vault: Option<String>,
    /// First line, 1-based.
    #[serde(default)]
    pub line: Option<u32>,
    /// Lines at most.
    #[serde(default)]
    pub lines: Option<u32>,
    /// Who hears the answer.
    #[serde(default)]
    pub audience: Audience,
}
