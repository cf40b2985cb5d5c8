//! What is stored comes into the index when a vault is opened: one thread decodes notes and reads vectors, another fills
//! tables.

use std::sync::mpsc;

use super::{Committer, warned};
use crate::EngineError;
use crate::decide::note_entry;
use crate::indexer::scan::KnownNotes;
use context::plan::NoteTraits;
use index::{ChunkEntry, Coder, IndexState, WindowVector};
use note::VaultPath;
use note::fingerprint::InputHash;
use store::VectorCache;
use store::record::{ChunkRecord, NoteRecord};

/// Notes whose vectors are read while those before them come into the index.
const AT_ONCE: usize = 256;

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
        let (mut again, mut known) = (Vec::new(), KnownNotes::new());
        // One thread decodes notes and lets them go: what is freed elsewhere than it was allocated both threads wait for.
        std::thread::scope(|scope| -> Result<(), EngineError> {
            let (ask, asked) = mpsc::sync_channel::<Vec<Vec<InputHash>>>(1);
            let (answer, found) = mpsc::sync_channel(1);
            let read = |inputs: &Vec<InputHash>| read_vectors(&pipeline.vectors, &coder, inputs);
            // It ends when nobody asks any more, or takes what was found.
            scope.spawn(move || asked.iter().all(|asked| answer.send(asked.iter().map(read).collect()).is_ok()));
            let (mut waiting, mut ready) = (Vec::new(), Vec::new());
            loop {
                if !waiting.is_empty() {
                    room()?;
                }
                let next: Vec<NoteRecord> = records.by_ref().take(AT_ONCE).collect::<Result<_, _>>()?;
                // It fails only if the other thread has panicked, and that is passed on at the end.
                let _ = ask.send(next.iter().map(inputs).collect());
                for (record, windows) in waiting.into_iter().zip(ready) {
                    if !self.load_one(&record, windows) {
                        again.push(record.path.clone());
                    }
                    known.insert(record.path.clone(), NoteTraits { hash: record.hash, stat: record.stat });
                    each(&record);
                }
                if next.is_empty() {
                    return Ok(());
                }
                (waiting, ready) = (next, found.recv().unwrap_or_default());
            }
        })?;
        self.known = known.into();
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
