//! A vault indexed by the library alone, chunk by chunk as the daemon does it.

use anyhow::Result;
use situated::chunk::Chunk;
use situated::embed::{builtin, input};
use situated::index::{ChunkDoc, ChunkEntry, Index, NoteEntry};
use situated::note::{LinkKind, Note};
use situated::vault::FileStat;

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
    let docs = chunks.iter().map(|Said { chunk, words, vectors }| {
        let shown = chunk.searchable(note);
        let inputs = input::inputs(vectors, &shown, &|text| builtin::model().token_starts(text));
        let path = if names { note.heading_path(&note.sections[chunk.sections.start]) } else { Vec::new() };
        ChunkDoc {
            entry: ChunkEntry {
                id: chunk.id,
                note: no,
                position: 0,
                span: (chunk.span.start as u32, chunk.span.end as u32),
                lines: chunk.lines,
                heading_path: path.into_iter().map(str::to_owned).collect(),
            },
            text: note.text[chunk.span.clone()].to_owned(),
            searchable: shown,
            context: words.clone(),
            vectors: inputs.iter().map(|input| builtin::model().embed_input(input)).collect(),
        }
    });
    let links = note.links.iter().filter(|link| link.kind != LinkKind::Url).map(|link| link.target.clone());
    let entry = NoteEntry {
        no,
        seq: u64::from(no),
        path: note.path.clone(),
        stat: FileStat::default(),
        title: if names { note.title.clone() } else { String::new() },
        aliases: if names { note.front.aliases.clone() } else { Vec::new() },
        tags: if names { note.tags.clone() } else { Vec::new() },
        kind: note.kind.clone(),
        date: note.date,
        properties: "{}".into(),
        links: links.collect(),
        conflict: false,
        rows: Vec::new(),
    };
    index.put(entry, docs.collect())?;
    Ok(())
}
