//! The journal of contexts that were paid for: append-only, checksummed, fsynced, beside the database.
//!
//! Whatever happens to the database, the journal knows every context that cost something and every
//! [`ContextKey`] that finds it. The file is a sequence of frames: four bytes of magic, the payload's
//! length as a little-endian `u32`, and the payload, a sealed record ([`super::codec`]) whose checksum is
//! the frame's. The magic is not UTF-8, so no text in a payload can hold it.
//!
//! An entry is a context with its keys, or one more key for a context that is there already: a body edit
//! leaves a chunk its context and gives it another key. The context's entry is on the disk before
//! [`Journal::append`] returns; a further key only reaches the disk with the next sync, so that a save
//! of a note does not wait for the disk.
//!
//! Several contexts may come under one key (another model, another try, another note with the same section and the
//! same text): the last one wins, and the others stay, to be found by [`Journal::all`].
//!
//! Since version 2 the journal also says which note holds each context ([`holders`]): a context reveals its note, so no
//! other note must get it. Contexts that version 1 wrote get their holders when a store is opened whose notes hold
//! them. Contexts that were only in the archive stay without one.
//!
//! Since version 3 separate entries hold what a model wrote beside a context ([`context::Expansion`]). An older program
//! passes them over and still finds the context. Expansions are stored nowhere else: a context that is read gets its
//! expansion from here.
//!
//! A lookup never waits for the disk: the lock on [`Entries`] is held only until the system has taken a frame, and
//! fsync runs outside it. A writer waits only for contexts that it names itself.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use platform::files::read_exact_at;

mod entries;
mod frames;
mod holders;
mod rewrite;

use super::codec::{self, Id, id};
use super::damage::Damage;
use super::v1::Entry;
use super::{StoreError, salvage};
use context::{ContextRecord, Expansion};
use entries::{Draft, Entries, Place};
#[cfg(any(test, fuzzing))]
pub(super) use frames::MAGIC;
pub(super) use frames::{HEAD, scan};
pub use holders::Holder;
use note::VaultPath;
use note::fingerprint::ContextKey;
pub(super) use rewrite::compact;

/// The open journal.
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    /// Also guards the end of the file: the thread that holds this lock may append.
    entries: Mutex<Entries>,
    /// A failed write left half a frame at the end, which the next start would count as damage.
    broken: AtomicBool,
    /// Bytes that are known to be on the disk.
    synced: AtomicU64,
    /// Held during an fsync, so that threads that wait for the disk share one.
    syncing: Mutex<()>,
}

/// What happened to a note that holds contexts, or may.
pub(super) enum NoteEvent<'a> {
    /// It was written, with these tags.
    Held { path: &'a VaultPath, tags: &'a [String], contexts: Vec<(ContextKey, &'a ContextRecord)> },
    /// It has another path.
    Moved { from: &'a VaultPath, to: &'a VaultPath },
    /// It is gone; these were its tags.
    Removed { path: &'a VaultPath, tags: &'a [String] },
}

impl Journal {
    /// Opens or creates the journal; a torn last frame is cut off. Returns how many stretches of damage
    /// were passed over.
    pub(super) fn open(path: &Path) -> Result<(Self, u64), StoreError> {
        let fail = |error: std::io::Error| StoreError::io(path, &error);
        let created = !path.exists();
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(fail)?;
        if created && let Some(dir) = path.parent() {
            salvage::sync_dir(dir)?;
        }
        let bytes = fs::read(path).map_err(fail)?;
        let frames = scan(&bytes);
        let mut entries = Entries::default();
        let mut damaged = frames.damaged;
        for (offset, length) in frames.whole {
            match codec::decode_entry(&bytes[offset + HEAD..offset + length]) {
                Ok(entry) => entries.learn(&entry, offset as u64, length as u32),
                // Another version's entry is not damage: it stays where it is.
                Err(Damage::Version(_)) => {}
                Err(_) => damaged += 1,
            }
        }
        entries.length = bytes.len() as u64;
        if let Some(torn) = frames.torn {
            entries.length = torn as u64;
            file.set_len(entries.length).and_then(|()| file.sync_data()).map_err(fail)?;
        }
        let journal = Journal {
            file,
            path: path.to_path_buf(),
            synced: AtomicU64::new(entries.length),
            entries: Mutex::new(entries),
            broken: AtomicBool::new(false),
            syncing: Mutex::new(()),
        };
        Ok((journal, damaged))
    }

    /// Runs `read` on the entries.
    fn with_entries<T>(&self, read: impl FnOnce(&Entries) -> T) -> T {
        read(&self.entries.lock())
    }

    /// Whether a key finds a context.
    pub(super) fn contains(&self, key: ContextKey) -> bool {
        self.with_entries(|entries| entries.contains(key))
    }

    /// Whether a key finds a context that the note at `path` is known to hold.
    pub(super) fn contains_of(&self, key: ContextKey, path: &str) -> bool {
        self.with_entries(|entries| entries.contains_of(key, path))
    }

    /// How many contexts there are.
    pub(super) fn len(&self) -> usize {
        self.with_entries(|entries| entries.places().len())
    }

    /// Every key that finds a context.
    pub(super) fn keys(&self) -> Vec<ContextKey> {
        self.with_entries(|entries| entries.keys().collect())
    }

    /// For each context the last key that was given to it, unless a later context took that key over.
    pub(super) fn newest_keys(&self) -> Vec<ContextKey> {
        self.with_entries(|entries| entries.newest_keys().collect())
    }

    /// The context that a key finds.
    pub(super) fn get(&self, key: ContextKey) -> Result<Option<ContextRecord>, StoreError> {
        let place = self.with_entries(|entries| entries.place(key));
        place.map(|place| self.read(place)).transpose()
    }

    /// All contexts under a key with their holders, the last one first. Unreadable ones are left out; the error is that
    /// of the last of them.
    pub(super) fn all(&self, key: ContextKey) -> (Vec<(ContextRecord, Vec<Holder>)>, Option<StoreError>) {
        let (mut found, mut unread) = (Vec::new(), None);
        for (place, holders) in self.with_entries(|entries| entries.held_under(key)) {
            match self.read(place) {
                Ok(context) => found.push((context, holders)),
                Err(error) => unread = Some(error),
            }
        }
        (found, unread)
    }

    /// Whether a key finds this very context, as the last one or as an older one.
    pub(super) fn holds(&self, key: ContextKey, context: &ContextRecord) -> Result<bool, StoreError> {
        let record = codec::encode_contexts([context]).map_err(|damage| self.unfit(&damage))?;
        Ok(self.with_entries(|entries| entries.holds(key, &id(&record))))
    }

    fn read(&self, place: Place) -> Result<ContextRecord, StoreError> {
        let mut frame = vec![0; place.length as usize];
        read_exact_at(&self.file, &mut frame, place.offset).map_err(|error| self.failed(&error))?;
        match codec::decode_entry(&frame[HEAD..]) {
            Ok(Entry::Context { record, .. }) => {
                let of = id(&record);
                codec::decode_context(&record)
                    .map(|context| ContextRecord { expansion: self.expansion(&of), ..context })
            }
            Ok(_) => Err(Damage::Shape("a context was expected".into())),
            Err(damage) => Err(damage),
        }
        .map_err(|damage| StoreError::Io { path: self.path.clone(), message: damage.to_string() })
    }

    /// Gives contexts that were read elsewhere their expansions.
    pub(super) fn expand(&self, contexts: &mut [ContextRecord]) {
        if !self.with_entries(Entries::has_expansions) {
            return;
        }
        for context in contexts.iter_mut().filter(|context| context.is_paid()) {
            if let Ok(record) = codec::encode_contexts([&*context]) {
                context.expansion = self.expansion(&id(&record));
            }
        }
    }

    /// The expansion of the context with this name. An unreadable one counts as empty: the context is usable without
    /// it.
    fn expansion(&self, of: &Id) -> Expansion {
        let place = self.with_entries(|entries| entries.expansion(of));
        place
            .and_then(|(offset, length)| {
                let mut frame = vec![0; length as usize];
                read_exact_at(&self.file, &mut frame, offset).ok()?;
                match codec::decode_entry(frame.get(HEAD..)?) {
                    Ok(Entry::Expansion { questions, terms, .. }) => Some(Expansion { questions, terms }),
                    Ok(_) | Err(_) => None,
                }
            })
            .unwrap_or_default()
    }

    /// Makes each of these contexts found by its key, and also by the key of what it was written for, unless another
    /// context has that key. A context that is new under a key comes before those that were there; one that was there
    /// keeps its place. New contexts are on the disk when this returns; free ones are passed over. Returns how many
    /// were new.
    pub(super) fn append<'a>(
        &self,
        contexts: impl IntoIterator<Item = (ContextKey, &'a ContextRecord)>,
    ) -> Result<u64, StoreError> {
        self.write(|entries| entries.draft_contexts(contexts))
    }

    /// As [`Journal::append`], with what happened to the notes that the contexts belong to, in order. Writes nothing
    /// that the journal knows already.
    pub(super) fn record(&self, events: Vec<NoteEvent<'_>>) -> Result<u64, StoreError> {
        self.write(|entries| entries.draft_events(events))
    }

    /// As [`Journal::append`], with the notes that hold or held each context.
    pub(super) fn append_with(&self, contexts: &[(ContextKey, &ContextRecord, &[Holder])]) -> Result<u64, StoreError> {
        self.write(|entries| entries.draft_held(contexts))
    }

    /// Appends a draft to the file, and waits for the disk if the draft names contexts that are not on it yet; returns
    /// how many contexts are new.
    fn write(&self, draft: impl FnOnce(&Entries) -> Result<Draft, Damage>) -> Result<u64, StoreError> {
        let mut entries = self.entries.lock();
        let draft = draft(&entries).map_err(|damage| self.unfit(&damage))?;
        self.write_bytes(&draft.bytes, entries.length)?;
        entries.learn_draft(&draft);
        let relies_on = draft.relies_on(entries.length);
        drop(entries);
        self.sync_to(relies_on)?;
        Ok(draft.added())
    }

    /// Hands bytes to the system, behind the `length` bytes that are there.
    fn write_bytes(&self, bytes: &[u8], length: u64) -> Result<(), StoreError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.broken.load(Ordering::Relaxed) {
            self.file.set_len(length).map_err(|error| self.failed(&error))?;
            self.broken.store(false, Ordering::Relaxed);
        }
        (&self.file).write_all(bytes).map_err(|error| {
            self.broken.store(self.file.set_len(length).is_err(), Ordering::Relaxed);
            self.failed(&error)
        })?;
        machine::wrote(&self.path);
        Ok(())
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.sync_to(self.with_entries(|entries| entries.length))
    }

    /// Waits until the first `length` bytes are on the disk.
    fn sync_to(&self, length: u64) -> Result<(), StoreError> {
        if self.synced.load(Ordering::Acquire) >= length {
            return Ok(());
        }
        let _syncing = self.syncing.lock();
        // Another thread's fsync may have taken these bytes along.
        if self.synced.load(Ordering::Acquire) < length {
            let written = self.with_entries(|entries| entries.length);
            self.file.sync_data().map_err(|error| self.failed(&error))?;
            self.synced.store(written, Ordering::Release);
            machine::synced(&self.path);
        }
        Ok(())
    }

    fn failed(&self, error: &std::io::Error) -> StoreError {
        StoreError::io(&self.path, error)
    }

    fn unfit(&self, damage: &Damage) -> StoreError {
        StoreError::Io { path: self.path.clone(), message: format!("a context cannot be written: {damage}") }
    }
}

#[cfg(test)]
mod tests;
