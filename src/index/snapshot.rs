//! (being written)
use std::path::Path;
use std::sync::Arc;

use super::{ChunkDoc, ChunkEntry, ChunkText, LexicalError, LexicalQuery, NoteEntry, NoteNo, Row};
use crate::embed::Vector;
use crate::fingerprint::ChunkId;
use crate::vault::VaultPath;

/// How the lexical index on disk stands to a note of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All its documents are there.
    Current,
    /// They are missing or of another time: the note must be put again.
    Lags,
}

/// The one writer of the index.
pub struct Index;

impl Index {
    /// Opens or creates the lexical index in `dir`; starts with empty tables.
    pub fn open(_dir: &Path, _dimensions: usize) -> Result<Self, LexicalError> { todo!() }
    /// Restart: brings a note of the store into the tables without touching the lexical index, and says
    /// whether that already holds its documents.
    pub fn load(&mut self, _note: NoteEntry, _chunks: Vec<(ChunkEntry, Vec<Vector>)>) -> Verdict { todo!() }
    /// After all `load`s: drops documents that belong to no loaded note.
    pub fn drop_unknown(&mut self) -> Result<u64, LexicalError> { todo!() }
    /// Adds or replaces a note (by its number).
    pub fn put(&mut self, _note: NoteEntry, _chunks: Vec<ChunkDoc>) -> Result<(), LexicalError> { todo!() }
    /// Takes a note out.
    pub fn remove(&mut self, _note: NoteNo) -> Result<(), LexicalError> { todo!() }
    /// Makes everything since the last call visible as one new snapshot. Never waits for the disk.
    pub fn publish(&mut self, _seq: u64) -> Result<Arc<Snapshot>, LexicalError> { todo!() }
    /// Makes the lexical index durable; for a clean stop.
    pub fn sync(&mut self) -> Result<(), LexicalError> { todo!() }
}

/// An immutable view of one vault's index.
pub struct Snapshot;

impl Snapshot {
    /// The store's sequence number it holds.
    pub fn seq(&self) -> u64 { todo!() }
    /// Number of notes.
    pub fn note_count(&self) -> usize { todo!() }
    /// Number of chunks.
    pub fn chunk_count(&self) -> usize { todo!() }
    /// All notes, in order of number.
    pub fn notes(&self) -> impl Iterator<Item = &Arc<NoteEntry>> { std::iter::empty() }
    /// A note.
    pub fn note(&self, _no: NoteNo) -> Option<&Arc<NoteEntry>> { todo!() }
    /// A note by path.
    pub fn note_at(&self, _path: &VaultPath) -> Option<&Arc<NoteEntry>> { todo!() }
    /// A chunk; `None` for a row that is free.
    pub fn chunk(&self, _row: Row) -> Option<&ChunkEntry> { todo!() }
    /// One more than the highest row: the length of a per-row table.
    pub fn rows(&self) -> usize { todo!() }
    /// A chunk by id.
    pub fn row_of(&self, _id: ChunkId) -> Option<Row> { todo!() }
    /// The `k` best chunks by words, best first; `allowed` is asked before a chunk takes a place.
    pub fn lexical(&self, _query: &LexicalQuery, _allowed: &dyn Fn(Row) -> bool, _k: usize) -> Result<Vec<(Row, f32)>, LexicalError> { todo!() }
    /// The `k` best chunks by cosine (best window of each), best first.
    pub fn dense(&self, _query: &Vector, _allowed: &dyn Fn(Row) -> bool, _k: usize) -> Vec<(Row, f32)> { todo!() }
    /// The cosine (best window) of given chunks.
    pub fn dense_of(&self, _query: &Vector, _rows: &[Row]) -> Vec<f32> { todo!() }
    /// The vectors of a chunk.
    pub fn vectors(&self, _row: Row) -> Vec<Vector> { todo!() }
    /// The texts of a chunk.
    pub fn text(&self, _row: Row) -> Result<ChunkText, LexicalError> { todo!() }
    /// The words of `text` as the lexical index sees them: byte range and normal form. For highlights.
    pub fn analyze(&self, _text: &str) -> Vec<(std::ops::Range<usize>, String)> { todo!() }
    /// The note that a link's target names, seen from the note at `from`: by path, by file name, by title, by alias.
    pub fn resolve(&self, _target: &str, _from: &VaultPath) -> Option<NoteNo> { todo!() }
    /// Notes that link to this one.
    pub fn backlinks(&self, _no: NoteNo) -> Vec<NoteNo> { todo!() }
}
