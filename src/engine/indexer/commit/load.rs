//! Loads the index when a vault is opened.
//!
//! After a clean stop the tables of the index are there as they were saved, and answer queries at once. Then, or if they
//! are not there, the store is read: one thread scans it, another decodes its notes and reads their vectors, and the
//! indexer's thread fills the tables. Notes that the restored tables have as the store has them are only confirmed, so
//! in the end the index has what the store has, whatever was restored.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Arc, mpsc};

use super::{Committer, Room, warned};
use crate::EngineError;
use crate::decide::note_entry;
use index::{ChunkEntry, Coder, NoteNo, Snapshot, Stamp, WindowVector};
use note::VaultPath;
use note::fingerprint::{Fields, InputHash};
use store::record::{ChunkRecord, NoteRecord};
use store::{EncodedNotes, VectorCache};

/// Notes per batch.
const AT_ONCE: usize = 64;

/// The vectors that are cached for a note's inputs.
type Windows = Vec<Option<WindowVector>>;

/// Reads a note's vectors, ready to be loaded.
fn read_vectors(cache: &VectorCache, coder: &Coder, inputs: &[InputHash]) -> Windows {
    let mut windows = cache.windows(inputs);
    windows.iter_mut().flatten().for_each(|window| coder.prepare(window));
    windows
}

/// The inputs that the vectors of a note's chunks were made from.
fn inputs(record: &NoteRecord) -> Vec<InputHash> {
    record.chunks.iter().flat_map(|chunk| &chunk.inputs).copied().collect()
}

/// Whether tables that were restored have a note as the store has it, with all of its vectors.
fn has(restored: &Snapshot, record: &NoteRecord, cache: &VectorCache) -> bool {
    let records: Vec<Vec<u32>> = record.chunks.iter().map(|chunk| cache.records(&chunk.inputs)).collect();
    let is_whole = record.chunks.iter().zip(&records).all(|(chunk, records)| chunk.inputs.len() == records.len());
    let chunks = record.chunks.iter().zip(&records).map(|(chunk, records)| (chunk.id, &**records));
    is_whole && restored.has((record.no, record.seq), (&record.path, &record.stat, &record.hash), chunks)
}

impl Committer {
    /// What the tables of the index are made from: whenever that changes, so does the stamp.
    fn stamp(&self) -> Result<Stamp, EngineError> {
        let (records, written) = self.pipeline.vectors.version()?;
        let generation = &self.pipeline.generation;
        let stamp = Fields::new("tables/1")
            .bytes(env!("CARGO_PKG_VERSION").as_bytes())
            .bytes(generation.embedder.as_bytes())
            .bytes(generation.chunker.as_bytes())
            .number(self.pipeline.store.seq())
            .number(records.into())
            .number(written.cast_unsigned());
        Ok(stamp.finish())
    }

    /// Saves the tables of the index for the next start.
    pub(super) fn save_tables(&self) -> Result<(), EngineError> {
        let stamp = self.stamp()?;
        if let Err(error) = self.index.save(&stamp) {
            tracing::warn!(%error, "the tables of the index could not be saved: the next start takes longer");
        }
        Ok(())
    }

    /// Publishes the tables that the last stop saved, if nothing has changed since.
    fn restore(&mut self) -> Result<Option<Arc<Snapshot>>, EngineError> {
        let stamp = self.stamp()?;
        if !self.index.restore(&stamp) {
            return Ok(None);
        }
        if self.publish().is_err() {
            // The words are damaged: the check throws them away.
            self.index.check()?;
            self.publish()?;
        }
        Ok(self.shared.snapshot())
    }

    /// Scans the store, brings its notes into the index and publishes them, and shows each record to `each`. Returns
    /// the notes that have to be decided again: the index lacks words or vectors of them, or other rules made their
    /// records.
    ///
    /// # Errors
    /// The store is damaged, or `room` says that no more memory may be taken.
    pub(crate) fn load(
        &mut self,
        room: &Room<'_>,
        each: &mut dyn FnMut(&NoteRecord),
    ) -> Result<Vec<VaultPath>, EngineError> {
        let (pipeline, coder) = (self.pipeline.clone(), self.index.coder());
        let restored = self.restore()?;
        self.index.check()?;
        let mut seen: HashSet<NoteNo> = HashSet::new();
        let mut again = Vec::new();
        std::thread::scope(|scope| -> Result<(), EngineError> {
            // A thread that fails drops its ends of the channels, so the threads before and behind it stop too.
            let (send, scanned) = mpsc::sync_channel::<EncodedNotes>(1);
            let (send_on, decoded) = mpsc::sync_channel(1);
            let (give_back, used) = mpsc::channel::<Vec<NoteRecord>>();
            let (store, vectors, tables) = (pipeline.store.clone(), pipeline.vectors.clone(), restored.clone());
            let scanning = scope.spawn(move || {
                let stopped = Cell::new(false);
                let mut pass_on = |notes| stopped.set(send.send(notes).is_err());
                store.scan(&|| !stopped.get() && room(0).is_ok(), &mut pass_on)
            });
            scope.spawn(move || {
                for notes in scanned {
                    let mut notes = notes.decoded().peekable();
                    while notes.peek().is_some() {
                        let records: Vec<NoteRecord> = notes.by_ref().take(AT_ONCE).collect();
                        let windows = |record: &NoteRecord| {
                            let is_there = tables.as_ref().is_some_and(|tables| has(tables, record, &vectors));
                            (!is_there).then(|| read_vectors(&vectors, &coder, &inputs(record)))
                        };
                        let windows: Vec<Option<Windows>> = records.iter().map(windows).collect();
                        if send_on.send((records, windows)).is_err() {
                            return;
                        }
                        // Records are freed on the thread that decoded them: two threads that allocate from and free to
                        // one heap make each other wait.
                        used.try_iter().for_each(drop);
                    }
                }
            });
            for (records, windows) in decoded {
                room(0)?;
                for (record, windows) in records.iter().zip(windows) {
                    if !self.load_one(record, windows) {
                        again.push(record.path.clone());
                    }
                    if restored.is_some() {
                        seen.insert(record.no);
                    }
                    each(record);
                }
                // At the end the other thread is gone and receives nothing.
                let _ = give_back.send(records);
            }
            Ok(scanning.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
        })?;
        let gone = self.index.notes().iter().map(|note| note.no).filter(|no| restored.is_some() && !seen.contains(no));
        for no in gone.collect::<Vec<_>>() {
            self.index.remove(no)?;
        }
        self.index.drop_unknown()?;
        if self.known().is_empty() {
            // Before it answers: the indexer's own reports begin later.
            self.shared.set_incomplete(Some(self.shared.first_look()));
        }
        self.publish()?;
        // Loading left memory behind: vectors went through two threads, and all records through sled's page cache.
        self.pipeline.store.drop_pages()?;
        crate::host::give_memory_back();
        Ok(again)
    }

    /// Brings a note into the index, or confirms it, if there are no windows: then restored tables have it. Returns
    /// whether the index has all of it, made by the present rules.
    fn load_one(&mut self, record: &NoteRecord, windows: Option<Windows>) -> bool {
        self.warned.extend(warned(record).map(|warned| (record.no, warned)));
        self.changed_at = self.changed_at.max(Some(record.decided.1));
        let Some(windows) = windows else {
            let has_words = self.index.confirm(record.no, record.seq, record.chunks.len());
            return has_words && self.pipeline.is_current(record);
        };
        let has_vectors = windows.iter().all(Option::is_some) || self.pipeline.withholds_vectors(record);
        let mut note = note_entry(record, &self.pipeline.rules);
        note.headings = record.chunks.iter().map(|chunk| &chunk.heading_path).collect();
        let mut windows = windows.into_iter();
        let chunk = |(position, chunk): (u32, &ChunkRecord)| {
            let entry = ChunkEntry { id: chunk.id, note: record.no, position, span: chunk.span, lines: chunk.lines };
            (entry, windows.by_ref().take(chunk.inputs.len()).flatten().collect())
        };
        let chunks = (0..).zip(&record.chunks).map(chunk).collect();
        let has_words = self.index.load(note, chunks);
        has_words && has_vectors && self.pipeline.is_current(record)
    }
}

#[cfg(test)]
mod tests;
