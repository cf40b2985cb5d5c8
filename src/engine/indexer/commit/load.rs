//! What is stored comes into the index when a vault is opened: one thread reads vectors, another fills tables.

use std::sync::mpsc;

use super::{Committer, warned};
use crate::EngineError;
use crate::decide::note_entry;
use crate::indexer::scan::KnownNotes;
use context::plan::NoteTraits;
use index::{ChunkEntry, Coder, IndexState, WindowVector};
use note::VaultPath;
use store::VectorCache;
use store::record::{ChunkRecord, NoteRecord};

/// Notes whose vectors are read ahead of the index that takes them.
const AHEAD: usize = 256;

/// A note with the vectors that are cached for each of its chunks.
type Loaded = (NoteRecord, Vec<Vec<WindowVector>>);

/// Reads a note's vectors, ready to be loaded.
fn with_vectors(cache: &VectorCache, coder: &Coder, record: NoteRecord) -> Loaded {
    let inputs: Vec<_> = record.chunks.iter().flat_map(|chunk| chunk.inputs.iter().copied()).collect();
    let mut windows = cache.windows(&inputs).into_iter();
    let of_chunk = |chunk: &ChunkRecord| {
        let mut found: Vec<_> = windows.by_ref().take(chunk.inputs.len()).flatten().collect();
        found.iter_mut().for_each(|window| coder.prepare(window));
        found
    };
    let windows = record.chunks.iter().map(of_chunk).collect();
    (record, windows)
}

impl Committer {
    /// Brings the store's notes into the index and publishes them, and shows each record to `each`, without its headings.
    /// Returns those that are to be decided again: the index has lost them, or other rules made them.
    pub(crate) fn load(&mut self, each: &mut dyn FnMut(&NoteRecord)) -> Result<Vec<VaultPath>, EngineError> {
        let pipeline = self.pipeline.clone();
        let (records, coder) = (pipeline.store.take_scanned()?, self.index.coder());
        let (sender, loaded) = mpsc::sync_channel(AHEAD);
        let (mut again, mut known) = (Vec::new(), KnownNotes::new());
        std::thread::scope(|scope| {
            let mut records = records.into_iter().map(|record| with_vectors(&pipeline.vectors, &coder, record));
            // It fails when nobody takes them any more.
            scope.spawn(move || records.all(|loaded| sender.send(loaded).is_ok()));
            for loaded in loaded {
                let (record, is_current) = self.load_one(loaded);
                if !is_current {
                    again.push(record.path.clone());
                }
                known.insert(record.path.clone(), NoteTraits { hash: record.hash, stat: record.stat });
                each(&record);
                self.numbers.insert(record.path, record.no);
            }
        });
        self.known = known.into();
        self.index.drop_unknown()?;
        self.publish()?;
        // Records and vectors went through the hands of several threads, and all records through the database's pages.
        self.pipeline.store.drop_pages()?;
        crate::host::give_memory_back();
        Ok(again)
    }

    /// Brings a note into the index, which takes its chunks' headings; tells whether that has all of it, as the present rules
    /// make it.
    fn load_one(&mut self, (mut record, windows): Loaded) -> (NoteRecord, bool) {
        let inputs: usize = record.chunks.iter().map(|chunk| chunk.inputs.len()).sum();
        let all_cached = windows.iter().map(Vec::len).sum::<usize>() == inputs;
        let has_vectors = all_cached || self.pipeline.withholds_vectors(&record);
        let note = note_entry(&record, &self.pipeline.rules);
        let chunk = |(position, chunk): (u32, &mut ChunkRecord)| ChunkEntry {
            id: chunk.id,
            note: record.no,
            position,
            span: chunk.span,
            lines: chunk.lines,
            heading_path: std::mem::take(&mut chunk.heading_path).into(),
        };
        let chunks = (0..).zip(&mut record.chunks).map(chunk).zip(windows).collect();
        let has_words = self.index.load(note, chunks) == IndexState::Current;
        self.warned.extend(warned(&record).map(|warned| (record.no, warned)));
        self.changed_at = self.changed_at.max(Some(record.decided.1));
        let is_current = has_words && has_vectors && self.pipeline.is_current(&record);
        (record, is_current)
    }
}
