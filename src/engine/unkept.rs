//! Contexts that were paid for and could not be written to the disk, or came when their store was closed. They wait in
//! memory, also while another indexer or writer takes over, until the indexer of their vault and generation writes them.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use context::ContextRecord;
use context::plan::PendingContext;
use note::VaultPath;
use note::fingerprint::ContextKey;
use store::{Store, StoreError};

/// Contexts that wait at most. Once a context of a note cannot be kept, nothing more is asked about that note, so only
/// answers that were under way wait here.
const MOST: usize = 1000;

/// A context that waits, with what [`Store::keep_context_of`] takes.
#[derive(Debug)]
pub(super) struct Unwritten {
    /// The folder of its store.
    pub(super) dir: PathBuf,
    pub(super) note: VaultPath,
    pub(super) tags: Vec<String>,
    pub(super) key: ContextKey,
    pub(super) record: ContextRecord,
}

/// The contexts that wait.
#[derive(Debug, Default)]
pub(super) struct Unkept(Mutex<Vec<Unwritten>>);

impl Unkept {
    pub(super) fn put(&self, unwritten: Unwritten) {
        let mut waiting = self.0.lock();
        if waiting.len() < MOST {
            waiting.push(unwritten);
        }
    }

    /// Whether one of these contexts waits for the store in a folder.
    pub(super) fn has(&self, dir: &Path, pending: &[(ContextKey, PendingContext)]) -> bool {
        let waits =
            |key: &ContextKey| self.0.lock().iter().any(|unwritten| unwritten.dir == dir && unwritten.key == *key);
        pending.iter().any(|(key, _)| waits(key))
    }

    /// Writes what waits for the store in a folder; returns the notes that it was written for.
    ///
    /// # Errors
    /// Some of them still cannot be written, and go on waiting.
    pub(super) fn write(&self, dir: &Path, store: &Store) -> Result<Vec<VaultPath>, StoreError> {
        let (mut notes, mut failure) = (Vec::new(), None);
        self.0.lock().retain(|Unwritten { dir: of, note, tags, key, record }| {
            if of != dir {
                return true;
            }
            let kept = store.keep_context_of(note, tags, *key, record);
            let waits = kept.is_err();
            match kept {
                Ok(()) => notes.push(note.clone()),
                Err(error) => failure = Some(error),
            }
            waits
        });
        failure.map_or(Ok(notes), Err)
    }
}
