//! Loads the index from the store when a vault is opened: one thread scans the store, another decodes its notes and
//! reads their vectors, and the indexer's thread fills the tables of the index.

use std::cell::Cell;
use std::sync::mpsc;

use super::{Committer, warned};
use crate::EngineError;
use crate::decide::note_entry;
use index::{ChunkEntry, Coder, IndexState, WindowVector};
use note::VaultPath;
use note::fingerprint::InputHash;
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

impl Committer {
    /// Scans the store, brings its notes into the index and publishes them, and shows each record to `each`. Returns
    /// the notes that have to be decided again: the index lacks words or vectors of them, or other rules made their
    /// records.
    ///
    /// # Errors
    /// The store is damaged, or `room` says that no more memory may be taken.
    pub(crate) fn load(
        &mut self,
        room: &(dyn Fn() -> Result<(), EngineError> + Sync),
        each: &mut dyn FnMut(&NoteRecord),
    ) -> Result<Vec<VaultPath>, EngineError> {
        let (pipeline, coder) = (self.pipeline.clone(), self.index.coder());
        let mut again = Vec::new();
        std::thread::scope(|scope| -> Result<(), EngineError> {
            // A thread that fails drops its ends of the channels, so the threads before and behind it stop too.
            let (send, scanned) = mpsc::sync_channel::<EncodedNotes>(1);
            let (send_on, decoded) = mpsc::sync_channel(1);
            let (give_back, used) = mpsc::channel::<Vec<NoteRecord>>();
            let (store, vectors) = (pipeline.store.clone(), pipeline.vectors.clone());
            let scanning = scope.spawn(move || {
                let stopped = Cell::new(false);
                let mut pass_on = |notes| stopped.set(send.send(notes).is_err());
                store.scan(&|| !stopped.get() && room().is_ok(), &mut pass_on)
            });
            scope.spawn(move || {
                for notes in scanned {
                    let mut notes = notes.decoded().peekable();
                    while notes.peek().is_some() {
                        let records: Vec<NoteRecord> = notes.by_ref().take(AT_ONCE).collect();
                        let windows = |record| read_vectors(&vectors, &coder, &inputs(record));
                        let windows: Vec<Windows> = records.iter().map(windows).collect();
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
                room()?;
                for (record, windows) in records.iter().zip(windows) {
                    if !self.load_one(record, windows) {
                        again.push(record.path.clone());
                    }
                    each(record);
                }
                // At the end the other thread is gone and receives nothing.
                let _ = give_back.send(records);
            }
            Ok(scanning.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
        })?;
        self.index.drop_unknown()?;
        self.publish()?;
        // Loading left memory behind: vectors went through two threads, and all records through sled's page cache.
        self.pipeline.store.drop_pages()?;
        crate::host::give_memory_back();
        Ok(again)
    }

    /// Brings a note into the index; returns whether the index has all of it, made by the present rules.
    fn load_one(&mut self, record: &NoteRecord, windows: Windows) -> bool {
        let has_vectors = windows.iter().all(Option::is_some) || self.pipeline.withholds_vectors(record);
        let mut note = note_entry(record, &self.pipeline.rules);
        note.headings = record.chunks.iter().map(|chunk| &chunk.heading_path).collect();
        let mut windows = windows.into_iter();
        let chunk = |(position, chunk): (u32, &ChunkRecord)| {
            let entry = ChunkEntry { id: chunk.id, note: record.no, position, span: chunk.span, lines: chunk.lines };
            (entry, windows.by_ref().take(chunk.inputs.len()).flatten().collect())
        };
        let chunks = (0..).zip(&record.chunks).map(chunk).collect();
        let has_words = self.index.load(note, chunks) == IndexState::Current;
        self.warned.extend(warned(record).map(|warned| (record.no, warned)));
        self.changed_at = self.changed_at.max(Some(record.decided.1));
        has_words && has_vectors && self.pipeline.is_current(record)
    }
}
