//! What is done about a chunk, and why.

use std::fmt;

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
    /// The model has written the context that was due.
    ContextWritten,
    /// The model gave no usable context; the template serves.
    ContextFailed,
}

/// A context that a model is to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Due {
    /// Why.
    pub reason: Reason,
    /// Seconds since 1970 (UTC). What was written before does not count when everything is to be made anew.
    pub since: i64,
    /// Answers that were of no use so far.
    pub tries: u8,
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
