//! Contexts that were paid for and could not be written to the disk: they wait in memory, outlive the indexer that is opened
//! anew, and are kept when their note is asked about again, instead of being bought again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use context::ContextRecord;
use note::VaultPath;
use note::fingerprint::ContextKey;

/// Contexts that wait at most. Nothing more is asked about a note once one of its contexts cannot be kept, so that these are
/// what was under way.
const MOST: usize = 1000;

/// The vault, the note, and the chunk's sections and text.
type Place = (PathBuf, VaultPath, ContextKey);

#[derive(Debug, Default)]
pub(super) struct Unkept(Mutex<HashMap<Place, ContextRecord>>);

impl Unkept {
    /// A context of a note could not be written.
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
