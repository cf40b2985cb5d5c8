//! State of the daemon and of its vaults: `status`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audience::Audience;
use crate::contexts::{Estimate, Offer};
use crate::decision::{Action, Reason};
use crate::is_default;
use crate::jobs::SkippedFile;

/// Parameters of `status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StatusRequest {
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// Who asks: an assistant is told of public notes alone.
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// State of the daemon as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum RunState {
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
    pub state: RunState,
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
    /// How the configuration in force differs from the file.
    #[serde(default, skip_serializing_if = "is_default")]
    pub config: ConfigStatus,
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

/// How the configuration in force differs from the file; part of `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigStatus {
    /// The file, whether it is there or not.
    #[serde(default, skip_serializing_if = "is_default")]
    pub file: PathBuf,
    /// Whether the file has changed since the daemon read it: `reload` puts it in force.
    pub changed: bool,
    /// Settings that were read, and that only the next start of the daemon puts in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaits_start: Vec<String>,
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
    /// When the index last changed, seconds since 1970 (UTC); to an assistant when the newest of its notes did.
    pub last_change: Option<i64>,
    /// Paths known to be dirty and not yet looked at.
    pub pending: u64,
    /// Files that could not be indexed, by reason, at most 100.
    pub skipped: Vec<SkippedFile>,
    /// How many were skipped in all.
    pub skipped_total: u64,
    /// Notes and documents by format: `markdown`, `org`, `rst`, `base`, `canvas`, `html`, `epub`, `docx`, `pdf`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub formats: BTreeMap<String, u64>,
    /// Files and folders that are left out: by the setting or file that says so (`exclude`, `templates`,
    /// `old versions`, `installed packages`, `.situatedignore`, `.gitignore`), or by the ending of what has no text (`.png`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u64>,
    /// Notes that look like copies made by a sync conflict, at most 100.
    pub conflicts: Vec<String>,
    /// Notes with warnings.
    pub warned: u64,
    /// The first warning of each, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warned_notes: Vec<WarnedNote>,
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

/// What is odd in a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarnedNote {
    /// Its path in the vault.
    pub path: String,
    /// 1-based.
    pub line: u32,
    /// What is odd and what was done about it, without text of the note.
    pub message: String,
}

/// How often a decision was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionCount {
    /// What was done.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// How often.
    pub count: u64,
}

/// How far vectors are, in all vaults together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmbedStatus {
    /// Notes that are found by words alone until the embedder that serves has made their vectors.
    pub waiting: u64,
    /// The embedder that is to take over when its vectors are all there; until then the other one serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Notes whose vectors of the next one are there.
    pub done: u64,
    /// Notes in all that it has to do with, as far as is known.
    pub total: u64,
}

/// State of contexts that a model writes, in `status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextStatus {
    /// `template`, `anthropic`, `bedrock`, `openai`, `ollama`.
    pub provider: String,
    /// The model asked.
    pub model: String,
    /// Chunks for which a model's context makes sense.
    pub wanted: u64,
    /// Chunks for which the model is to be asked.
    pub waiting: u64,
    /// Chunks whose context another generation wrote; it serves meanwhile.
    pub old_generation: u64,
    /// Chunks whose text has become another than the one their context was written for, or for which the model was not
    /// asked because their note was private or too short.
    pub drifted: u64,
    /// Chunks for which the model gave nothing usable.
    pub failed: u64,
    /// Why nothing is asked at present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Models that are asked for nothing before the user has agreed (`contexts.start`), by vault; embedders that are to
    /// take over and the reranker too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Offer>,
    /// What making the old ones anew would take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal: Option<Estimate>,
    /// When the last sync was, seconds since 1970 (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_at: Option<i64>,
}

/// How far the kernel holds the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// To all of the rules.
    Full,
    /// To those that this kernel knows.
    Partial,
    /// Not at all.
    #[default]
    None,
}

/// What holds the daemon; part of `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sandbox {
    /// `full`: it reads the vaults and its own folders, and writes to its own folders; `partial`: the kernel knows not
    /// all of the rules; `none`: nothing holds it.
    pub landlock: Enforcement,
    /// Version of the kernel's interface, 0 if it has none.
    pub abi: u32,
    /// Whether TCP connections can be opened.
    pub network: bool,
    /// Why it is not `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
