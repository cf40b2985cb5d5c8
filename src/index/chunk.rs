//! Notes cut into chunks with the tools of the model compiled in.

use note::Note;
use note::chunk::{Chunk, ChunkConfig, Tools, chunk};

use super::embed::builtin;

/// Cuts a note into chunks, measured and compared by the built-in model whatever embeds the chunks, so that the cuts
/// stay where they are when the embedder changes.
pub fn cut(note: &Note, config: &ChunkConfig) -> Vec<Chunk> {
    let model = builtin::model();
    let token_starts = model.token_starts(&note.text);
    chunk(note, config, &Tools { token_starts: &token_starts, embed: &|text| model.embed_f32(text).to_vec() })
}

#[cfg(test)]
mod tests;
