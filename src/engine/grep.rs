//! What `grep` knows of a vault's texts, and the threads that it reads them with.
//!
//! Nothing of it is on disk, and it costs nothing before the first request. That one reads every note and keeps its
//! signature; the next ones read only notes that may match.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::disk_access::DiskAccess;
use super::indexer::disk::Disk;
use index::NoteNo;
use index::grep::{Pattern, Signature};
use note::FileStat;

/// Bytes of signatures that a vault keeps: those of 250 MB of notes or more. Notes beyond that are read each time.
const MOST_SIGNATURES: usize = 32 << 20;

/// Threads that read notes. The [`DiskAccess`] for single notes has another thread, so that nobody who opens a note
/// waits for a long search.
const READERS: usize = 2;

/// The reading threads and the signatures for one vault.
pub(super) struct Grep {
    readers: [DiskAccess; READERS],
    signatures: Mutex<Signatures>,
}

/// Signatures of notes, each with the state of the file that it was made of.
#[derive(Default)]
struct Signatures {
    by_note: HashMap<NoteNo, (FileStat, Signature)>,
    bytes: usize,
}

impl Grep {
    pub(super) fn new(disk: &Arc<dyn Disk>) -> Self {
        let readers = std::array::from_fn(|_| DiskAccess::new(disk.clone()));
        Grep { readers, signatures: Mutex::default() }
    }

    /// The reader of the `turn`th batch of notes.
    pub(super) fn reader(&self, turn: usize) -> &DiskAccess {
        &self.readers[turn % READERS]
    }

    /// Keeps the notes that may match; `of` gives a note's number, and the state that it was indexed in.
    pub(super) fn keep_possible<T>(
        &self,
        pattern: &Pattern,
        notes: &mut Vec<T>,
        of: impl Fn(&T) -> (NoteNo, FileStat),
    ) {
        let signatures = self.signatures.lock();
        notes.retain(|note| {
            let (no, state) = of(note);
            // A signature of another state says nothing.
            signatures.by_note.get(&no).is_none_or(|(of, known)| *of != state || pattern.may_match(known))
        });
    }

    /// Whether the signature of a note in this state is known.
    pub(super) fn knows(&self, no: NoteNo, state: FileStat) -> bool {
        self.signatures.lock().by_note.get(&no).is_some_and(|(of, _)| *of == state)
    }

    /// Keeps the signature of a note that was read in this state.
    pub(super) fn learn(&self, no: NoteNo, state: FileStat, signature: Signature) {
        let mut signatures = self.signatures.lock();
        if let Some((_, old)) = signatures.by_note.remove(&no) {
            signatures.bytes -= old.bytes();
        }
        if signatures.bytes + signature.bytes() <= MOST_SIGNATURES {
            signatures.bytes += signature.bytes();
            signatures.by_note.insert(no, (state, signature));
        }
    }

    /// Drops all signatures.
    pub(super) fn forget(&self) {
        *self.signatures.lock() = Signatures::default();
    }
}
