//! A vault indexed by the library alone, chunk by chunk as the daemon does it.

use anyhow::Result;
use index::eval::docs;
use index::{Index, PackedStrings};
use note::Note;
use note::chunk::Chunk;

/// A chunk and what situates it: in the words, and in the vectors.
pub(crate) struct Said<'a> {
    pub(crate) chunk: &'a Chunk,
    pub(crate) words: String,
    pub(crate) vectors: String,
}

/// Puts a note under a number, each chunk with what situates it.
pub(crate) fn put(index: &mut Index, no: u32, note: &Note, chunks: &[(&Chunk, String)]) -> Result<()> {
    let said = chunks.iter().map(|(chunk, context)| Said { chunk, words: context.clone(), vectors: context.clone() });
    put_apart(index, no, note, &said.collect::<Vec<_>>(), true)
}

/// The same with one context for the words and another for the vectors; without `names` the words of title, aliases,
/// headings and tags are left out: then a chunk is its own text and its contexts.
pub(crate) fn put_apart(index: &mut Index, no: u32, note: &Note, chunks: &[Said<'_>], names: bool) -> Result<()> {
    let doc = |said: &Said| docs::doc(note, said.chunk, no, &said.words, &said.vectors);
    let (mut entry, mut docs) = (docs::entry(note, no), chunks.iter().map(doc).collect::<Vec<_>>());
    if !names {
        let (kind, properties, links) = (entry.kind(), entry.properties(), entry.links().collect::<Vec<_>>());
        entry.texts = index::Said { kind, properties, links: &links, ..index::Said::default() }.pack();
        docs.iter_mut().for_each(|doc| doc.heading_path = PackedStrings::default());
    }
    index.put(entry, docs)?;
    Ok(())
}
