//! How many chunks are in each language, to tell that of a note which is too short to tell it.

use std::collections::HashMap;

use crate::{Language, NoteNo};

/// The chunks of notes by their languages.
#[derive(Default)]
pub(super) struct Tally {
    notes: HashMap<NoteNo, (Language, u32)>,
    chunks: [u64; Language::ALL.len()],
}

impl Tally {
    /// Counts a note's chunks, and no longer those that it had before.
    pub(super) fn set(&mut self, note: NoteNo, language: Language, chunks: u32) {
        self.remove(note);
        self.notes.insert(note, (language, chunks));
        self.chunks[language as usize] += u64::from(chunks);
    }

    /// No longer counts a note's chunks.
    pub(super) fn remove(&mut self, note: NoteNo) {
        if let Some((language, chunks)) = self.notes.remove(&note) {
            self.chunks[language as usize] -= u64::from(chunks);
        }
    }

    /// The language of most chunks.
    pub(super) fn most(&self) -> Language {
        let most = Language::ALL.iter().copied().rev().max_by_key(|language| self.chunks[*language as usize]);
        most.unwrap_or_default()
    }
}
