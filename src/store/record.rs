//! What is stored, as the rest of the program sees it. The format on disk is frozen per version, in separate types that
//! only the store knows.

use serde::{Deserialize, Serialize};

use context::plan::{Action, PendingContext, Reason};
use note::fingerprint::{ChunkId, InputHash, SectionKey, StructureHash, TextHash};
use note::{FileStat, VaultPath};

/// What is stored about a note: all that the index needs besides text, contexts and vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteRecord {
    /// Where it lies.
    pub path: VaultPath,
    /// Its number, given by the store; 0 asks for a new one.
    pub no: u32,
    /// Sequence number of its last change; given by the store.
    pub seq: u64,
    /// What `stat` said when it was read.
    pub stat: FileStat,
    /// Hash of its bytes.
    pub hash: TextHash,
    /// Hash of its outline.
    pub structure: StructureHash,
    /// See [`context::plan::Generation::contextualizer`]: the one in force when the note was last decided about.
    pub contextualizer: String,
    /// See [`context::plan::Generation::embedder`].
    pub embedder: String,
    /// See [`context::plan::Generation::chunker`].
    pub chunker: String,
    /// Title.
    pub title: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Tags without `#`.
    pub tags: Vec<String>,
    /// Kind of note.
    pub kind: Option<String>,
    /// The day it is about, as `YYYY-MM-DD`.
    pub date: Option<String>,
    /// Front matter as a JSON object (bincode cannot read back `serde_json::Value`).
    pub properties: String,
    /// What its links mention ([`note::Link::mention`]): targets as written, without heading parts and URLs.
    pub links: Vec<String>,
    /// Whether it looks like a sync conflict's copy.
    pub conflict: bool,
    /// What was odd: line and message, without note text; at most 20.
    pub warnings: Vec<(u32, String)>,
    /// The last decision that changed it, and when (seconds since 1970).
    pub decided: (Reason, i64),
    /// Its chunks in order.
    pub chunks: Vec<ChunkRecord>,
}

/// What is stored about a chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChunkRecord {
    /// Its id.
    pub id: ChunkId,
    /// The sections it holds, in order.
    pub keys: Vec<SectionKey>,
    /// Position among the chunks that begin in the same section.
    pub ordinal: u32,
    /// Bytes of the note's text.
    pub span: (u32, u32),
    /// First and last line.
    pub lines: (u32, u32),
    /// Headings above it, outermost first.
    pub heading_path: Vec<String>,
    /// Hash of its raw text.
    pub hash: TextHash,
    /// Hash of its context's text as embedded.
    pub context_hash: TextHash,
    /// See [`context::plan::StoredChunk::wanted`].
    pub wanted: bool,
    /// The inputs that its vectors were made of, one per window.
    pub inputs: Vec<InputHash>,
    /// The last decision about it that changed something.
    pub decided: (Action, Reason),
    /// Why its context should be refreshed some time; while a rebuild asks for it, what was asked for before.
    pub later: Option<Reason>,
    /// Whether a model is to be asked for its context: the queue of such work is made of these.
    pub due: Option<PendingContext>,
}
