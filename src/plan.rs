//! The decision: what has to be done about a note, and why. Pure: no I/O, no clock, no randomness.
//!
//! [`plan`] compares what is stored about a note with what is on disk now, under the [`Generation`] in
//! force, and returns one [`Step`] per chunk. The rules are the decision table of `ARCHITECTURE.md`;
//! the examples under `tests/spec/` are its tests.

use std::collections::HashSet;
use std::fmt;

use crate::fingerprint::{ChunkId, ContextKey, SectionKey, Sketch, StructureHash, TextHash, context_key};
use crate::vault::VaultPath;

/// Everything besides the notes that decides what is in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Who writes contexts, with model and prompt version, e.g. `template/1`.
    pub contextualizer: String,
    /// Whether a context costs money or time, so that the table governs it. Templates are free.
    pub costs: bool,
    /// Which model makes vectors, e.g. `builtin static-v1`.
    pub embedder: String,
    /// How notes are cut: [`crate::chunk::ChunkConfig::identity`].
    pub chunker: String,
    /// Notes with fewer chunks get the template: there is no surrounding document to situate them in.
    pub llm_min_chunks: u32,
}

/// What is stored about a note.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredNote {
    /// Where it was.
    pub path: VaultPath,
    /// Hash of its bytes.
    pub hash: TextHash,
    /// Hash of its outline.
    pub structure: StructureHash,
    /// Embedder and chunker of its time (contexts carry their own generation).
    pub embedder: String,
    /// See [`Generation::chunker`].
    pub chunker: String,
    /// Its chunks in order.
    pub chunks: Vec<StoredChunk>,
}

/// What is stored about a chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredChunk {
    /// Its id.
    pub id: ChunkId,
    /// The sections it held, in order.
    pub keys: Vec<SectionKey>,
    /// See [`crate::chunk::Chunk::ordinal`].
    pub ordinal: u32,
    /// Hash of its raw text.
    pub hash: TextHash,
    /// Hash of its context's text as it was embedded.
    pub context_hash: TextHash,
    /// Whether the context was paid for.
    pub paid: bool,
    /// Whether a model's context would have made sense for it then (words of its own, enough chunks).
    pub wanted: bool,
    /// The generation that wrote the context.
    pub contextualizer: String,
    /// The text the context was written for; empty for templates.
    pub sketch: Sketch,
}

/// What a note is now.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentNote<'a> {
    /// Where it is.
    pub path: VaultPath,
    /// Hash of its bytes.
    pub hash: TextHash,
    /// Hash of its outline.
    pub structure: StructureHash,
    /// Its chunks in order.
    pub chunks: Vec<CurrentChunk<'a>>,
}

/// What a chunk is now.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentChunk<'a> {
    /// Its id.
    pub id: ChunkId,
    /// The sections it holds, in order; never empty.
    pub keys: Vec<SectionKey>,
    /// See [`crate::chunk::Chunk::ordinal`].
    pub ordinal: u32,
    /// Hash of its raw text.
    pub hash: TextHash,
    /// Its raw text, to measure drift.
    pub text: &'a str,
    /// Hash of the template context it would get now.
    pub template_hash: TextHash,
    /// Whether it has words besides headings.
    pub has_words: bool,
}

/// Why the plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The note may have changed. Never buys anything for chunks whose sections stand.
    Save,
    /// A rebuild was asked for: everything is made anew.
    Rebuild,
}

/// What is done about a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Nothing.
    Keep,
    /// The context stays (or was found again); the vector is made anew.
    Reembed,
    /// Context and vector are made anew.
    Regenerate,
    /// The chunk is gone; a paid context goes to the archive.
    Remove,
}

/// Why it is done. Names are part of the protocol, the logs and `tests/spec/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
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
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Action::Keep => "keep",
            Action::Reembed => "re-embed",
            Action::Regenerate => "regenerate",
            Action::Remove => "remove",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Where a chunk's context comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextSource {
    /// From the stored chunk with this index.
    Stored(usize),
    /// From the archive.
    Archive(ContextKey),
    /// Written anew: by the template at once, by a model later if one is in force.
    Fresh,
}

/// One decision about one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// Index into the current chunks; for [`Action::Remove`] into the stored ones.
    pub chunk: usize,
    /// Where its context comes from; meaningless for [`Action::Remove`].
    pub context: ContextSource,
    /// A context that serves but should be refreshed by a rebuild or the daily sync, and why.
    pub later: Option<Reason>,
}

/// The decision about a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What happened to the note as a whole.
    pub reason: Reason,
    /// One step per current chunk, in order, then one per stored chunk that goes.
    pub steps: Vec<Step>,
}
