//! What is decided about notes, and why: `plan` and `explain`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::is_default;

/// What is done about a chunk.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Action {
    /// Nothing.
    Keep,
    /// The context stays (or was found again); the vector is made anew.
    #[strum(to_string = "re-embed")]
    Reembed,
    /// Context and vector are made anew.
    Regenerate,
    /// The chunk is gone; a paid context goes to the archive.
    Remove,
}

/// Why it is done. Names are part of the protocol, the logs and `tests/spec/`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, strum::Display,
)]
pub enum Reason {
    /// The note was not known.
    NewNote,
    /// The note is gone.
    NoteRemoved,
    /// The note has another path.
    NoteMoved,
    /// Nothing that matters here changed.
    Unchanged,
    /// Text changed under the same headings.
    BodyChanged,
    /// The headings changed.
    StructureChanged,
    /// A section needs more chunks than before.
    SectionGrew,
    /// A section needs fewer chunks than before.
    SectionShrank,
    /// The context that belongs here was found in the archive (an undo, a branch switched back).
    FoundInArchive,
    /// Another contextualizer, model or prompt is in force.
    ContextualizerChanged,
    /// Another embedder is in force.
    EmbedderChanged,
    /// Notes are cut by other rules.
    ChunkerChanged,
    /// The text has become another than the one the context was written for.
    Drifted,
    /// A rebuild was asked for.
    Rebuild,
    /// The model has written the context that was due.
    ContextWritten,
    /// The model gave no usable context; the template serves.
    ContextFailed,
}

/// What was decided about a note: a line of `situated run`, an event of `subscribe`, the answer of `explain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Vault.
    pub vault: String,
    /// Path in the vault.
    pub path: String,
    /// Why the note was looked at anew.
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
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// The chunk's id.
    pub chunk: String,
    /// Headings above the chunk, outermost first.
    pub heading_path: Vec<String>,
    /// First and last line; those of before for a chunk that goes.
    pub lines: (u32, u32),
    /// Why its context should be refreshed by a rebuild or the daily sync.
    pub later: Option<Reason>,
}

/// Parameters of `plan`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRequest {
    /// The note: its path in its vault, or a name.
    pub path: String,
    /// The vault by name; the default one if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// A draft to decide about in place of what is on disk.
    #[serde(default, skip_serializing_if = "is_default")]
    pub text: Option<String>,
}

/// Parameters of `explain`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainRequest {
    /// The note: its path in its vault, or a name.
    pub path: String,
    /// The vault by name; the default one if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: Option<String>,
}

/// Result of `explain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decisions {
    /// Newest first.
    pub decisions: Vec<Decision>,
}
