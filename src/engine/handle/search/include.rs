//! What hits carry if a request asks for it: the links of their notes, how good their contexts are, and chunk and context
//! as one text.

use std::collections::BTreeSet;

use super::super::stored;
use super::{CallError, Cancel, NotePipeline};
use index::{NoteNo, Snapshot};
use note::fingerprint::ChunkId;
use note::{Private, VaultPath};
use protocol::hit::{Hit, LinkedNotes};
use protocol::search::Include;

/// Linked notes that are named; `count` says how many there are.
const NAMED: usize = 10;

/// A vault that hits came from.
pub(in crate::handle) struct Source<'a> {
    pub(in crate::handle) vault: &'a str,
    pub(in crate::handle) snapshot: &'a Snapshot,
    pub(in crate::handle) pipeline: &'a NotePipeline,
    /// Notes that do not exist for the caller.
    pub(in crate::handle) hidden: Option<&'a Private>,
}

/// Adds to hits what the request asks for.
pub(in crate::handle) fn add(
    include: &[Include],
    hits: &mut [Hit],
    sources: &[Source<'_>],
    cancel: &Cancel,
) -> Result<(), CallError> {
    if include.is_empty() {
        return Ok(());
    }
    for hit in hits {
        cancel.check()?;
        let Some(source) = sources.iter().find(|source| source.vault == hit.vault) else { continue };
        for wanted in include {
            match wanted {
                Include::Links => source.add_links(hit),
                Include::Quality => source.add_quality(hit)?,
                Include::Contextualized => hit.contextualized = Some(contextualized(hit)),
            }
        }
    }
    Ok(())
}

/// A chunk with its context before it, in the form of `generate_context`.
fn contextualized(hit: &Hit) -> String {
    if hit.context.is_empty() { hit.text.clone() } else { format!("{}\n\n{}", hit.context, hit.text) }
}

impl Source<'_> {
    fn add_links(&self, hit: &mut Hit) {
        let Some(note) = VaultPath::parse(&hit.path).and_then(|path| self.snapshot.note_at(&path)) else { return };
        let targets = note.links.iter().filter_map(|target| self.snapshot.resolve(target, &note.path));
        let targets: BTreeSet<NoteNo> = targets.filter(|no| *no != note.no).collect();
        hit.links = Some(self.linked(targets));
        hit.backlinks = Some(self.linked(self.snapshot.backlinks(note.no)));
    }

    fn linked(&self, notes: impl IntoIterator<Item = NoteNo>) -> LinkedNotes {
        let notes = notes.into_iter().filter_map(|no| self.snapshot.note(no));
        let shown = notes.filter(|note| !self.hidden.is_some_and(|hidden| hidden.covers(&note.path, &note.tags)));
        let mut paths: Vec<&str> = shown.map(|note| note.path.as_str()).collect();
        paths.sort_unstable();
        LinkedNotes { count: paths.len() as u32, notes: paths.into_iter().take(NAMED).map(str::to_owned).collect() }
    }

    /// A chunk that the store has no more, since its note was saved meanwhile, says nothing.
    fn add_quality(&self, hit: &mut Hit) -> Result<(), CallError> {
        let (Some(path), Ok(id)) = (VaultPath::parse(&hit.path), hit.chunk.parse::<ChunkId>()) else { return Ok(()) };
        let Some((record, contexts)) = stored(self.pipeline, &path)? else { return Ok(()) };
        let at = record.chunks.iter().position(|chunk| chunk.id == id);
        if let Some(context) = at.and_then(|at| contexts.get(at)) {
            hit.context_quality = Some(context.quality);
            hit.context_by = Some(context.generation.clone());
            hit.context_at = Some(context.written_at);
            hit.context_tokens = Some(context.spent.tokens_in + context.spent.tokens_out);
        }
        Ok(())
    }
}
