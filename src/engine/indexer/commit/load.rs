//! What is stored comes into the index when a vault is opened: one thread decodes notes and reads their vectors, another
//! fills tables.

use std::sync::mpsc;

use super::{Committer, warned};
use crate::EngineError;
use crate::decide::note_entry;
use index::{ChunkEntry, Coder, IndexState, WindowVector};
use note::VaultPath;
use note::fingerprint::InputHash;
use store::VectorCache;
use store::record::{ChunkRecord, NoteRecord};

/// Notes that are decoded while those before them come into the index.
const AT_ONCE: usize = 64;

/// The vectors that are cached for a note's inputs.
type Windows = Vec<Option<WindowVector>>;

/// Reads a note's vectors, ready to be loaded.
fn read_vectors(cache: &VectorCache, coder: &Coder, inputs: &[InputHash]) -> Windows {
    let mut windows = cache.windows(inputs);
    windows.iter_mut().flatten().for_each(|window| coder.prepare(window));
    windows
}

/// What the vectors of a note's chunks were made of.
fn inputs(record: &NoteRecord) -> Vec<InputHash> {
    record.chunks.iter().flat_map(|chunk| &chunk.inputs).copied().collect()
}

impl Committer {
    /// Brings the store's notes into the index and publishes them, and shows each record to `each`. Returns those that are to
    /// be decided again: the index has lost them, or other rules made them.
    /// An error of `room` ends it, if there are more than a few.
    pub(crate) fn load(
        &mut self,
        room: &dyn Fn() -> Result<(), EngineError>,
        each: &mut dyn FnMut(&NoteRecord),
    ) -> Result<Vec<VaultPath>, EngineError> {
        let pipeline = self.pipeline.clone();
        let (mut records, coder) = (pipeline.store.take_scanned()?, self.index.coder());
        let mut again = Vec::new();
        std::thread::scope(|scope| -> Result<(), EngineError> {
            let (answer, batches) = mpsc::sync_channel(1);
            let (give_back, used) = mpsc::channel::<Vec<NoteRecord>>();
            let read = move |record: &NoteRecord| read_vectors(&pipeline.vectors, &coder, &inputs(record));
            scope.spawn(move || {
                loop {
                    let next: Result<Vec<NoteRecord>, _> = records.by_ref().take(AT_ONCE).collect();
                    if next.as_ref().is_ok_and(Vec::is_empty) {
                        return;
                    }
                    let batch = next.map(|next| {
                        let windows: Vec<Windows> = next.iter().map(&read).collect();
                        (next, windows)
                    });
                    // Nobody takes it once the other thread has met with an error.
                    if answer.send(batch).is_err() {
                        return;
                    }
                    // Notes that are in the index end where they were decoded: what is freed elsewhere than it was allocated
                    // both threads wait for.
                    used.try_iter().for_each(drop);
                }
            });
            for batch in batches {
                let (records, windows) = batch?;
                room()?;
                for (record, windows) in records.iter().zip(windows) {
                    if !self.load_one(record, windows) {
                        again.push(record.path.clone());
                    }
                    each(record);
                }
                // At the end there is nobody to take them.
                let _ = give_back.send(records);
            }
            Ok(())
        })?;
        self.index.drop_unknown()?;
        self.publish()?;
        // Vectors went through the hands of two threads, and all records through the database's pages.
        self.pipeline.store.drop_pages()?;
        crate::host::give_memory_back();
        Ok(again)
    }

    /// Brings a note into the index; tells whether that has all of it, as the present rules make it.
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
