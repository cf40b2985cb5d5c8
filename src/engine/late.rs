//! Answers that come after the text has changed. An edit of a body buys nothing, and that holds too if it comes while the
//! model writes: what it wrote serves the chunk that has the place of the one that it was asked about.

use std::collections::HashSet;

use context::ContextRecord;
use context::document::{Document, Passage};
use note::VaultPath;
use note::fingerprint::{ContextKey, SectionKey, context_key};
use store::record::{ChunkRecord, NoteRecord};
use store::{Store, StoreError};

/// Keeps a context that was written for a passage of a note, as the note was `shown` to the model, also for the chunks
/// that wait for one in that passage's place now.
///
/// # Errors
/// It could not be read or written.
pub(super) fn keep(
    store: &Store,
    path: &VaultPath,
    shown: &Document,
    key: ContextKey,
    context: &ContextRecord,
) -> Result<(), StoreError> {
    let Some(note) = store.note(path)? else { return Ok(()) };
    for heir in heirs(&note, shown, key, context.written_at) {
        store.keep_context_of(path, &note.tags, heir, context)?;
    }
    Ok(())
}

fn heirs(note: &NoteRecord, shown: &Document, key: ContextKey, written_at: i64) -> Vec<ContextKey> {
    let known: HashSet<ContextKey> = shown.passages.iter().map(|passage| passage.key).collect();
    let waits = |chunk: &&ChunkRecord| chunk.due.is_some_and(|due| due.since <= written_at);
    let waiting = note.chunks.iter().filter(waits).map(|chunk| (context_key(&chunk.keys, chunk.hash), chunk));
    let changed = waiting.filter(|(key, _)| !known.contains(key));
    let its = changed.filter(|(_, chunk)| donor(note, shown, chunk).is_some_and(|passage| passage.key == key));
    its.map(|(key, _)| key).collect()
}

/// The passage that a chunk was, by the rules of [`context::plan`]: the one that reads the same, else the one at its place,
/// else the last one that held its first section. None if a section is new.
fn donor<'a>(note: &NoteRecord, shown: &'a Document, chunk: &ChunkRecord) -> Option<&'a Passage> {
    let passages = shown.passages.iter();
    let reads_the_same = |passage: &&Passage| {
        passage.hash == chunk.hash
            && passage.sections.len() == chunk.keys.len()
            && passage.heading_path.starts_with(&chunk.heading_path)
    };
    if let Some(same) = passages.clone().find(reads_the_same) {
        return Some(same);
    }
    let first = chunk.keys.first()?;
    let holds = |key: &SectionKey| passages.clone().any(|passage| passage.sections.contains(key));
    if !chunk.keys.iter().all(holds) {
        return None;
    }
    let mut begins = passages.clone().filter(|passage| passage.sections.first() == Some(first));
    let here = begins.clone().nth(chunk.ordinal as usize).or_else(|| begins.next_back());
    let here = here.or_else(|| passages.clone().rev().find(|passage| passage.sections.contains(first)))?;
    // It may only have moved among its equals.
    note.chunks.iter().all(|other| other.hash != here.hash).then_some(here)
}

#[cfg(test)]
mod tests;
