//! A vault indexed by the library alone, chunk by chunk as the daemon does it.

use anyhow::Result;
use situated::chunk::Chunk;
use situated::embed::{builtin, input};
use situated::index::{ChunkDoc, ChunkEntry, Index, NoteEntry};
use situated::note::{LinkKind, Note};
use situated::vault::FileStat;

/// Puts a note under a number, each chunk with what situates it.
pub(crate) fn put(index: &mut Index, no: u32, note: &Note, chunks: &[(&Chunk, String)]) -> Result<()> {
    let docs = chunks.iter().map(|(chunk, context)| {
        let shown = chunk.searchable(note);
        let inputs = input::inputs(context, &shown, &|text| builtin::model().token_starts(text));
        let path = note.heading_path(&note.sections[chunk.sections.start]);
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
            context: context.clone(),
            vectors: inputs.iter().map(|input| builtin::model().embed_input(input)).collect(),
        }
    });
    let links = note.links.iter().filter(|link| link.kind != LinkKind::Url).map(|link| link.target.clone());
    let entry = NoteEntry {
        no,
        seq: u64::from(no),
        path: note.path.clone(),
        stat: FileStat::default(),
        title: note.title.clone(),
        aliases: note.front.aliases.clone(),
        tags: note.tags.clone(),
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
