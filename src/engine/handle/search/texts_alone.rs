//! Searches without contexts use vectors of the texts alone. A fast local embedder makes them here, from the notes
//! themselves, at the first such search of a vault, and they are kept: most users never need them. A slow embedder was
//! asked for them when the note was decided about, if `[embed] text_vectors` is set.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::super::access::Served;
use super::{CallError, Cancel};
use crate::decide::NotePipeline;
use crate::disk_access::TEXT_WITHIN;
use crate::indexer::disk::Disk;
use index::embed::input::{hash_without_context, inputs_within};
use index::embed::{Vector, builtin};
use index::{NoteEntry, NoteNo, WindowVector, WithoutContexts};
use note::fingerprint::{InputHash, text_hash};
use store::record::{ChunkRecord, NoteRecord};
use vault::documents::FileText;
use vault::read::ReadError;

/// How long a search makes vectors before it goes on without the rest. The next search goes on making them.
const MAKES_FOR: Duration = Duration::from_secs(5);

/// Notes that are read at a time.
const BATCH: usize = 64;

/// Switches to the vectors of texts alone; returns a warning if some are missing. The first search of a snapshot
/// reads them.
pub(super) fn leave_contexts_out(served: &mut Served, cancel: &Cancel) -> Result<Option<String>, CallError> {
    cancel.check()?;
    let known = served.snapshot.known_without_contexts().cloned();
    let found = known.map_or_else(|| read_texts_alone(served, cancel), |known| Ok(Ok(known)))?;
    let vault = &served.vault.name;
    let WithoutContexts { snapshot, lacking } = match found {
        Ok(found) => found,
        Err(left) => {
            let notes = served.snapshot.note_count();
            return Ok(Some(format!(
                "`{vault}`: vectors without contexts are being made, and {left} of {notes} notes have none yet, so those \
                 with contexts count; ask again"
            )));
        }
    };
    let said = (lacking > 0).then(|| {
        let chunks = snapshot.chunk_count();
        let advice = if served.pipeline.service.embedder.is_local_and_fast() {
            "they are made when their notes have been looked at"
        } else {
            "`[embed] text_vectors = true` has them made"
        };
        format!(
            "`{vault}`: {lacking} of {chunks} chunks have no vectors without their context, so theirs count with it; \
             {advice}"
        )
    });
    served.snapshot = snapshot;
    Ok(said)
}

/// The snapshot with the vectors of texts alone, or how many notes still lack them.
fn read_texts_alone(served: &Served, cancel: &Cancel) -> Result<Result<WithoutContexts, usize>, CallError> {
    let pipeline = &*served.pipeline;
    // If the store cannot be read, no chunk has such vectors.
    let records = pipeline.store.notes().unwrap_or_default();
    let left = make(pipeline, &records, cancel)?;
    if left > 0 {
        return Ok(Err(left));
    }
    let records: HashMap<NoteNo, NoteRecord> = records.into_iter().map(|record| (record.no, record)).collect();
    let mut vectors_of = |note: &NoteEntry, position: usize| -> Option<Vec<WindowVector>> {
        let record = records.get(&note.no).filter(|record| record.seq == note.seq)?;
        let inputs: Vec<_> = alone(pipeline, record.chunks.get(position)?).collect();
        pipeline.vectors.windows(&inputs).into_iter().collect()
    };
    Ok(Ok(served.snapshot.without_contexts(&mut vectors_of).clone()))
}

/// The inputs of a chunk's text alone, one per window. If the chunk has no context, they are its usual inputs.
fn alone<'a>(pipeline: &NotePipeline, chunk: &'a ChunkRecord) -> impl Iterator<Item = InputHash> + use<'a> {
    let own = pipeline.service.embedder.limits().together || chunk.context_hash == text_hash(b"");
    chunk.inputs.iter().map(move |input| if own { *input } else { hash_without_context(*input) })
}

/// Makes the vectors that notes lack, if the embedder is fast and local, and caches them. Returns how many notes are
/// left when the time is over; a note that has changed since it was indexed is skipped.
fn make(pipeline: &NotePipeline, records: &[NoteRecord], cancel: &Cancel) -> Result<usize, CallError> {
    if !pipeline.service.embedder.is_local_and_fast() {
        return Ok(0);
    }
    let began = Instant::now();
    let lacks = |chunk: &ChunkRecord| alone(pipeline, chunk).any(|input| !pipeline.vectors.holds(input));
    let lacking: Vec<_> = records.iter().filter(|record| record.chunks.iter().any(lacks)).collect();
    for (n, batch) in lacking.chunks(BATCH).enumerate() {
        cancel.check()?;
        let left = lacking.len() - n * BATCH;
        if began.elapsed() > MAKES_FOR {
            return Ok(left);
        }
        let Some(texts) = read(pipeline, batch) else { return Ok(left) };
        let whole = batch.iter().zip(texts).filter_map(|(record, text)| Some((record, text.ok()?)));
        let vectors: Vec<_> = whole.flat_map(|(record, text)| of_note(pipeline, record, &text.bytes)).collect();
        // On a full disk they are not kept, and the chunks count as lacking.
        if let Err(error) = pipeline.vectors.put(&vectors) {
            tracing::debug!(%error, "vectors without contexts are not kept");
        }
    }
    Ok(0)
}

/// The texts of notes; `None` if the file system hangs.
fn read(pipeline: &NotePipeline, notes: &[&NoteRecord]) -> Option<Vec<Result<FileText, ReadError>>> {
    let paths: Vec<_> = notes.iter().map(|note| note.path.clone()).collect();
    let (root, most) = (pipeline.root.clone(), pipeline.max_note_bytes);
    let read = move |disk: &dyn Disk| paths.iter().map(|path| disk.read(&root, path, most)).collect();
    pipeline.disk.ask(TEXT_WITHIN, read).ok()
}

/// The vectors of a note's texts alone, if it still reads as it was indexed.
fn of_note(pipeline: &NotePipeline, record: &NoteRecord, bytes: &[u8]) -> Vec<(InputHash, Vector)> {
    if text_hash(bytes) != record.hash {
        return Vec::new();
    }
    let note = note::parse(&record.path, bytes, &pipeline.rules);
    let chunks = index::chunk::cut(&note, pipeline.chunk.of(note.kind.as_deref()));
    let embedder = &pipeline.service.embedder;
    let starts = |text: &str| builtin::model().token_starts(text);
    let mut vectors = Vec::new();
    for (chunk, stored) in chunks.iter().zip(&record.chunks).filter(|(chunk, stored)| chunk.hash == stored.hash) {
        // Such embedders cut a text into the same windows whatever its context is.
        let inputs = inputs_within(&embedder.limits(), "", &chunk.searchable(&note), &starts);
        let hashes: Vec<_> = alone(pipeline, stored).collect();
        if inputs.len() == hashes.len() {
            let made = inputs.iter().zip(hashes).filter(|(_, hash)| !pipeline.vectors.holds(*hash));
            vectors.extend(made.filter_map(|(input, hash)| Some((hash, embedder.input_at_once(input)?))));
        }
    }
    vectors
}
