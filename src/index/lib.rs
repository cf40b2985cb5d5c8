//! The data that answers queries: an immutable [`Snapshot`] of notes, chunks, words, vectors and links.
//!
//! [`Index`] is the one writer. It changes its tables by copying only the blocks it touches, commits the lexical index
//! without waiting for the disk, and hands out a new [`Snapshot`]; older ones stay unchanged for whoever still holds
//! them. The lexical index on disk is a cache of the store: every document carries its note's number and sequence
//! number, and a document whose numbers differ from those in the notes table is invisible.

mod analyze;
mod cancel;
pub mod chunk;
mod corpus;
mod disk;
mod documents;
pub mod embed;
mod entry;
mod error;
pub mod eval;
pub mod graph;
pub mod grep;
mod hash;
mod language;
mod lexical;
mod links;
mod lookup;
mod meant;
mod nearly;
mod notes;
mod outlines;
mod packed;
mod properties;
mod query;
mod scratch;
pub mod search;
mod snapshot;
mod statistics;
pub mod terms;
mod together;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use note::fingerprint::ChunkId;

pub use analyze::word_count;
pub use cancel::Cancel;
pub use corpus::Corpus;
pub use entry::{ChunkRows, NoteEntry, NoteTexts, Said};
pub use error::LexicalError;
pub use graph::Graph;
pub use language::Language;
pub use links::Side;
pub use meant::{Corrected, Meant};
pub use notes::NoteTable;
pub use packed::{HeadingPaths, PackedIter, PackedStrings};
pub use query::{Choice, LexicalQuery, is_stop_word};
pub use snapshot::{Index, Snapshot, Stamp, WithoutContexts, has_saved};
pub use vector::{Allowed, Coder, Matrix, Row, Rows, WindowVector};

/// A note's number: given once by the store, kept through edits and moves.
pub type NoteNo = u32;

/// What the snapshot knows about a chunk; its text is in the lexical index.
#[derive(Clone, Debug)]
pub struct ChunkEntry {
    /// Its id.
    pub id: ChunkId,
    /// Its note.
    pub note: NoteNo,
    /// Position in its note, from 0.
    pub position: u32,
    /// Bytes of the note's text.
    pub span: (u32, u32),
    /// First and last line, 1-based.
    pub lines: (u32, u32),
}

/// A chunk handed to [`Index::put`].
#[derive(Clone, Debug)]
pub struct ChunkDoc {
    /// Its entry; `note` and `position` are filled in.
    pub entry: ChunkEntry,
    /// Headings above it, outermost first.
    pub heading_path: PackedStrings,
    /// Its raw text.
    pub text: String,
    /// The text that is searched: as `text`, but without comments and link targets.
    pub searchable: String,
    /// Its context.
    pub context: String,
    /// Questions and terms beside the context, if they take part in searches.
    pub expansion: String,
    /// Its vectors.
    pub windows: Vec<WindowVector>,
}

/// The text of a chunk as the snapshot saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkText {
    /// Raw.
    pub text: String,
    /// Its context.
    pub context: String,
    /// The language in which its words are stemmed.
    pub language: Language,
}
