//! Contexts that were paid for and could not be written to the disk. They wait in memory, also while the indexer is
//! opened anew. When their note is asked about again, they are stored instead of being bought again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use context::ContextRecord;
use note::VaultPath;
use note::fingerprint::ContextKey;

/// Contexts that wait at most. Once a context of a note cannot be kept, nothing more is asked about that note, so only
/// answers that were under way wait here.
const MOST: usize = 1000;

/// The vault, the note, and the chunk's sections and text.
type Place = (PathBuf, VaultPath, ContextKey);

#[derive(Debug, Default)]
pub(super) struct Unkept(Mutex<HashMap<Place, ContextRecord>>);

impl Unkept {
    /// Keeps a context of a note that could not be written.
    pub(super) fn put(&self, vault: &Path, note: &VaultPath, key: ContextKey, record: ContextRecord) {
        let mut waiting = self.0.lock();
        if waiting.len() < MOST {
            waiting.insert((vault.to_path_buf(), note.clone(), key), record);
        }
    }

    /// Takes the context that waits for this chunk.
    pub(super) fn take(&self, vault: &Path, note: &VaultPath, key: ContextKey) -> Option<ContextRecord> {
        self.0.lock().remove(&(vault.to_path_buf(), note.clone(), key))
    }
}
