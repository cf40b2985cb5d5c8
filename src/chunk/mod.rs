//! A note cut into chunks: the units that are situated, embedded and found. Pure.
//!
//! Every chunk is one contiguous span of the note and knows the sections it holds. Its id depends on
//! where it stands, not on what it says, so that editing a body leaves ids alone.

mod fixed;
mod pack;

use std::ops::Range;

use crate::fingerprint::{ChunkId, SectionKey, TextHash};
use crate::note::Note;

/// A chunk of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Stable through content edits; see [`crate::fingerprint::chunk_id`].
    pub id: ChunkId,
    /// The sections it holds, in order, as indices into [`Note::sections`]; never empty.
    pub sections: Range<usize>,
    /// The keys of these sections.
    pub keys: Vec<SectionKey>,
    /// Bytes of [`Note::text`]; chunks are in order and may overlap only where a section was split.
    pub span: Range<usize>,
    /// First and last line, 1-based.
    pub lines: (u32, u32),
    /// Position among the chunks that begin in the same section, from 0.
    pub ordinal: u32,
    /// Hash of the bytes of `span`.
    pub hash: TextHash,
    /// Length in tokens of the built-in tokenizer.
    pub tokens: u32,
    /// Whether there is any word besides headings: else nothing is worth a model's context.
    pub has_words: bool,
}

/// How notes are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Sections by heading, small neighbours under one parent merged, daily notes whole.
    Obsidian,
    /// Sections by heading, never merged.
    Markdown,
    /// Windows of `target` tokens with overlap, headings ignored.
    Fixed,
}

/// Sizes in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkConfig {
    /// The strategy.
    pub strategy: Strategy,
    /// What a chunk should reach before the next one is begun.
    pub target: u32,
    /// Below this a chunk is merged with a neighbour where the strategy allows.
    pub min: u32,
    /// No chunk is longer unless a single line is.
    pub max: u32,
    /// Share of `target` repeated where a section has to be split, in percent.
    pub overlap_percent: u32,
}

impl Default for ChunkConfig {
    fn default() -> Self {
        ChunkConfig { strategy: Strategy::Obsidian, target: 500, min: 100, max: 800, overlap_percent: 15 }
    }
}

impl ChunkConfig {
    /// Names everything that decides how a note is cut: part of the generation.
    pub fn identity(&self) -> String {
        let ChunkConfig { strategy, target, min, max, overlap_percent } = self;
        format!("{strategy:?}/1 {target} {min} {max} {overlap_percent}").to_lowercase()
    }
}
