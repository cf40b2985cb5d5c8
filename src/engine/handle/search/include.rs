//! What hits carry if a request asks for it: the links of their notes, how good their contexts are, chunk and context
//! as one text, the chunk and its window.

use std::collections::{BTreeSet, HashMap};

use super::super::access::{Served, stored};
use super::{CallError, Cancel};
use context::ContextRecord;
use index::{NoteEntry, NoteNo};
use note::chunk::line_ends;
use note::fingerprint::ChunkId;
use note::{NoteRules, VaultPath};
use protocol::audience::Audience;
use protocol::hit::{Hit, LinkedNotes};
use protocol::search::Include;

/// Linked notes that are named; `count` says how many there are.
const NAMED: usize = 10;

/// Adds to hits what the request asks for.
pub(in crate::handle) fn add(
    include: &[Include],
    hits: &mut [Hit],
    served: &[Served],
    cancel: &Cancel,
) -> Result<(), CallError> {
    if include.is_empty() {
        return Ok(());
    }
    let mut finders: Vec<Finder<'_>> = served.iter().map(Finder::new).collect();
    for hit in hits {
        cancel.check()?;
        let Some(finder) = finders.iter_mut().find(|finder| finder.served.vault.name == hit.vault) else { continue };
        let Some(path) = VaultPath::parse(&hit.path) else { continue };
        for wanted in include {
            match wanted {
                Include::Links => finder.add_links(&path, hit),
                Include::Quality => finder.add_quality(&path, hit)?,
                Include::Contextualized => hit.contextualized = Some(contextualized(hit)),
                // Every hit comes with them; see `leave_out`.
                Include::Text | Include::Window => {}
            }
        }
    }
    Ok(())
}

/// Takes out of hits what the request does not ask for: chunk and window are four fifths of an answer, most programs
/// show neither, and the window contains the chunk. Bridges of assistants have always shown windows, and need not ask.
pub(in crate::handle) fn leave_out(include: &[Include], audience: Audience, hits: &mut [Hit]) {
    for hit in hits {
        if !include.contains(&Include::Text) {
            hit.text = String::new();
        }
        if !include.contains(&Include::Window) && !audience.is_assistant() {
            hit.window = String::new();
        }
    }
}

/// Leaves out of hits what an HTML comment that is never closed hides from whoever reads the note: it is indexed as text.
pub(in crate::handle) fn leave_unseen_out(hits: &mut [Hit]) {
    for hit in hits {
        let Some(path) = VaultPath::parse(&hit.path) else { continue };
        for text in [&mut hit.text, &mut hit.window].into_iter().filter(|text| text.contains("<!--")) {
            let note = note::parse(&path, text.as_bytes(), &NoteRules::default());
            if let Some(open) = note.unclosed {
                let ends = line_ends(&note.text[open.clone()]);
                *text = note.text;
                text.replace_range(open, &ends);
            }
        }
    }
}

/// A chunk with its context before it, in the form of `generate_context`.
fn contextualized(hit: &Hit) -> String {
    if hit.context.is_empty() { hit.text.clone() } else { format!("{}\n\n{}", hit.context, hit.text) }
}

/// What hits need to know about the notes of one vault: read once per note, however many hits it has.
struct Finder<'a> {
    served: &'a Served,
    /// Links and backlinks.
    linked: HashMap<NoteNo, (LinkedNotes, LinkedNotes)>,
    /// Contexts by chunk.
    contexts: HashMap<VaultPath, HashMap<ChunkId, ContextRecord>>,
}

impl<'a> Finder<'a> {
    fn new(served: &'a Served) -> Self {
        Finder { served, linked: HashMap::new(), contexts: HashMap::new() }
    }

    fn add_links(&mut self, path: &VaultPath, hit: &mut Hit) {
        let served = self.served;
        let Some(note) = served.snapshot.note_at(path) else { return };
        let (links, backlinks) = self.linked.entry(note.no).or_insert_with(|| links_of(served, note, NAMED));
        (hit.links, hit.backlinks) = (Some(links.clone()), Some(backlinks.clone()));
    }

    /// Adds how good a hit's context is; nothing for a chunk that the store has no more because its note was saved
    /// meanwhile.
    fn add_quality(&mut self, path: &VaultPath, hit: &mut Hit) -> Result<(), CallError> {
        if !self.contexts.contains_key(path) {
            let (record, contexts) = stored(&self.served.pipeline, path)?.unzip();
            let ids = record.into_iter().flat_map(|record| record.chunks).map(|chunk| chunk.id);
            self.contexts.insert(path.clone(), ids.zip(contexts.into_iter().flatten()).collect());
        }
        let Ok(id) = hit.chunk.parse::<ChunkId>() else { return Ok(()) };
        if let Some(context) = self.contexts.get(path).and_then(|contexts| contexts.get(&id)) {
            hit.context_quality = Some(context.quality);
            hit.context_by = Some(context.generation.clone());
            hit.context_at = Some(context.written_at);
            hit.context_tokens = Some(context.spent.tokens_in.saturating_add(context.spent.tokens_out));
        }
        Ok(())
    }
}

/// The notes that a note links to, and those that link to it; `most` of each are named.
pub(in crate::handle) fn links_of(served: &Served, note: &NoteEntry, most: usize) -> (LinkedNotes, LinkedNotes) {
    let snapshot = &served.snapshot;
    let targets = note.links().filter_map(|target| snapshot.resolve(target, &note.path));
    let targets: BTreeSet<NoteNo> = targets.filter(|no| *no != note.no).collect();
    (shown(served, targets, most), shown(served, snapshot.backlinks(note.no, &Cancel::default()), most))
}

fn shown(served: &Served, notes: impl IntoIterator<Item = NoteNo>, most: usize) -> LinkedNotes {
    let notes = notes.into_iter().filter_map(|no| served.snapshot.note(no));
    let mut paths: Vec<&str> = notes.filter(|note| served.shows(note)).map(|note| note.path.as_str()).collect();
    paths.sort_unstable();
    LinkedNotes { count: paths.len() as u32, notes: paths.into_iter().take(most).map(str::to_owned).collect() }
}
