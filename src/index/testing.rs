//! Notes and chunks for the tests of this module.

use super::{ChunkDoc, ChunkEntry, NoteEntry, NoteNo};
use note::VaultPath;
use note::fingerprint::{ChunkId, section_key};
use vector::Vector;

/// A note without chunks, titled as its file.
pub(super) fn note(no: NoteNo, seq: u64, path: &str) -> NoteEntry {
    NoteEntry::new(no, seq, VaultPath::parse(path).unwrap())
}

/// The id of a note's chunk.
pub(super) fn id(no: NoteNo, position: u32) -> ChunkId {
    note::fingerprint::chunk_id(&format!("note {no}"), section_key([], 0), position)
}

/// A vector of two dimensions.
pub(super) fn vector(x: i8, y: i8) -> Vector {
    let length = f32::hypot(x.into(), y.into());
    Vector { values: [x, y].into(), scale: if length > 0.0 { length.recip() } else { 0.0 } }
}

/// A chunk that is found by its text, by `context` and by the vector (position, 1).
pub(super) fn chunk(no: NoteNo, position: u32, text: &str, context: &str) -> ChunkDoc {
    ChunkDoc {
        entry: ChunkEntry { id: id(no, position), note: 0, position: 0, span: (0, 1), lines: (1, 1) },
        heading_path: ["Heading"].into_iter().collect(),
        text: text.to_owned(),
        searchable: text.to_owned(),
        context: context.to_owned(),
        expansion: String::new(),
        windows: vec![vector(position as i8, 1).into()],
    }
}

/// Chunks of the texts, in order, without context.
pub(super) fn chunks(no: NoteNo, texts: &[&str]) -> Vec<ChunkDoc> {
    (0u32..).zip(texts).map(|(position, text)| chunk(no, position, text, "")).collect()
}
