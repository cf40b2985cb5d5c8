//! Contexts that were paid for and could not be written to the disk. They wait in memory, also while the indexer is
//! opened anew or another writer takes over. When their note is asked about again, they are stored instead of being
//! bought again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use context::ContextRecord;
use note::VaultPath;
use note::fingerprint::ContextKey;

/// Contexts that wait at most. Once a context of a note cannot be kept, nothing more is asked about that note, so only
/// answers that were under way wait here.
const MOST: usize = 1000;

/// The vault, the note, the chunk's sections and text, and the generation that wrote for it.
type Place = (PathBuf, VaultPath, ContextKey, String);

/// The contexts, and whether each was written for a public note.
#[derive(Debug, Default)]
pub(super) struct Unkept(Mutex<HashMap<Place, (ContextRecord, bool)>>);

impl Unkept {
    /// Keeps a context of a note that could not be written; `public` says that the note is known not to be private.
    pub(super) fn put(&self, vault: &Path, note: &VaultPath, key: ContextKey, record: ContextRecord, public: bool) {
        let mut waiting = self.0.lock();
        if waiting.len() < MOST {
            let place = (vault.to_path_buf(), note.clone(), key, record.generation.clone());
            waiting.insert(place, (record, public));
        }
    }

    /// Takes the context of a generation that waits for this chunk. It may also be one of a public note that is gone:
    /// perhaps that is where this note was before.
    pub(super) fn take(
        &self,
        vault: &Path,
        note: &VaultPath,
        (key, generation): (ContextKey, &str),
        is_gone: impl Fn(&VaultPath) -> bool,
    ) -> Option<ContextRecord> {
        let mut waiting = self.0.lock();
        let place = (vault.to_path_buf(), note.clone(), key, generation.to_owned());
        let moved = |(place, (_, public)): (&Place, &(ContextRecord, bool))| {
            let (of, note, same, by) = place;
            (of == vault && *same == key && by == generation && *public && is_gone(note)).then(|| place.clone())
        };
        let place = if waiting.contains_key(&place) { place } else { waiting.iter().find_map(moved)? };
        waiting.remove(&place).map(|(record, _)| record)
    }
}

#[cfg(test)]
mod tests;
