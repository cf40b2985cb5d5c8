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
//! same text): the last one wins, and the others stay, to be found by [`Journal::find`].
//!
//! Since version 2 the journal also says which note holds each context ([`holders`]): a context tells of its note, so
//! another note must not be given it. Contexts that version 1 wrote get their holder when a store is opened whose
//! notes hold them; what lay in the archive alone stays without one.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

mod holders;

use super::codec::{self, Damage};
use super::v1::Entry;
use super::{StoreError, salvage};
use context::ContextRecord;
pub use holders::Holder;
use holders::Holders;
use note::VaultPath;
use note::fingerprint::{ContextKey, context_key};

const MAGIC: [u8; 4] = [0xC7, 0x73, 0xF5, 0x0A];
pub(super) const HEAD: usize = 8;

/// The largest payload: a context is some hundred words, so even one imported from elsewhere is far
/// smaller. A length above it is damage.
const MOST: usize = 16 << 20;

/// The hash of a context's bytes, which names it within the journal.
type Id = [u8; 16];

/// Where a context's frame lies.
#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    length: u32,
    /// The last key that was given to it.
    newest: ContextKey,
}

/// The open journal, with an index of it in memory.
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    length: u64,
    by_id: HashMap<Id, u32>,
    /// The last context under each key.
    by_key: HashMap<ContextKey, u32>,
    /// Those before it, the oldest first; few keys have any.
    older: HashMap<ContextKey, Vec<u32>>,
    places: Vec<Place>,
    holders: Holders,
    dirty: bool,
    broken: bool,
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

/// Entries that are to be written at once.
#[derive(Default)]
struct Draft {
    bytes: Vec<u8>,
    /// Each with its offset in the bytes and its length.
    entries: Vec<(Entry, u64, u32)>,
    /// Contexts that it adds, so that one that comes twice is written once.
    fresh: HashSet<Id>,
    /// The last context under each key that it names.
    last: HashMap<ContextKey, Id>,
}

/// What reading the frames of a file found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Frames {
    /// Offset and length of each whole frame, its head included.
    pub whole: Vec<(usize, usize)>,
    /// Stretches that are no frames.
    pub damaged: u64,
    /// Where a torn last frame begins, if the file ends in one.
    pub torn: Option<usize>,
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
        let mut length = bytes.len() as u64;
        if let Some(torn) = frames.torn {
            length = torn as u64;
            file.set_len(length).and_then(|()| file.sync_data()).map_err(fail)?;
        }
        let mut journal = Journal {
            file,
            path: path.to_path_buf(),
            length,
            by_id: HashMap::new(),
            by_key: HashMap::new(),
            older: HashMap::new(),
            places: Vec::new(),
            holders: Holders::default(),
            dirty: false,
            broken: false,
        };
        let mut damaged = frames.damaged;
        for (offset, length) in frames.whole {
            match codec::decode_entry(&bytes[offset + HEAD..offset + length]) {
                Ok(entry) => journal.learn(&entry, offset as u64, length as u32),
                // Another version's entry is not damage: it stays where it is.
                Err(Damage::Version(_)) => {}
                Err(_) => damaged += 1,
            }
        }
        Ok((journal, damaged))
    }

    fn learn(&mut self, entry: &Entry, offset: u64, length: u32) {
        match entry {
            Entry::Context { keys, record } => {
                let newest = keys.last().copied().unwrap_or(ContextKey([0; 16]));
                let n = *self.by_id.entry(id(record)).or_insert(self.places.len() as u32);
                if n as usize == self.places.len() {
                    self.places.push(Place { offset, length, newest });
                }
                for &key in keys {
                    self.hold(key, n);
                }
            }
            Entry::Alias { key, of } => {
                if let Some(&n) = self.by_id.get(of) {
                    self.places[n as usize].newest = *key;
                    self.hold(*key, n);
                }
            }
            Entry::Held { path, tags, removed, of } => {
                let holder = Holder { path: path.clone(), tags: tags.clone(), removed: *removed };
                self.holders.hold(&holder, of.iter().filter_map(|id| self.by_id.get(id).copied()));
            }
            Entry::Moved { from, to } => self.holders.moved(from, to),
            Entry::Removed { path, tags } => self.holders.removed(path, tags),
        }
    }

    /// Makes a context the last one under a key.
    fn hold(&mut self, key: ContextKey, n: u32) {
        let Some(before) = self.by_key.insert(key, n).filter(|before| *before != n) else { return };
        let older = self.older.entry(key).or_default();
        older.retain(|other| *other != n);
        older.push(before);
    }

    /// The contexts under a key, the last one first.
    fn under(&self, key: ContextKey) -> impl Iterator<Item = u32> + '_ {
        let older = self.older.get(&key).map_or(&[][..], Vec::as_slice);
        self.by_key.get(&key).copied().into_iter().chain(older.iter().rev().copied())
    }

    /// Whether a key finds a context.
    pub(super) fn contains(&self, key: ContextKey) -> bool {
        self.by_key.contains_key(&key)
    }

    /// How many contexts there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Every key that finds a context.
    pub(super) fn keys(&self) -> impl Iterator<Item = ContextKey> + '_ {
        self.by_key.keys().copied()
    }

    /// The context that a key finds.
    pub(super) fn get(&self, key: ContextKey) -> Result<Option<ContextRecord>, StoreError> {
        let place = self.by_key.get(&key).map(|&n| self.places[n as usize]);
        place.map(|place| self.read(place)).transpose()
    }

    /// All contexts under a key with their holders, the last one first; those that cannot be read are left out, and
    /// why the last of them cannot is said.
    pub(super) fn all(&self, key: ContextKey) -> (Vec<(ContextRecord, Vec<Holder>)>, Option<StoreError>) {
        let (mut found, mut unread) = (Vec::new(), None);
        for n in self.under(key) {
            match self.read(self.places[n as usize]) {
                Ok(context) => found.push((context, self.holders.of(n).cloned().collect())),
                Err(error) => unread = Some(error),
            }
        }
        (found, unread)
    }

    /// Whether a key finds a context that the note at `path` is known to hold.
    pub(super) fn contains_of(&self, key: ContextKey, path: &str) -> bool {
        self.under(key).any(|n| self.holders.holds(path, n))
    }

    /// Whether a key finds this very context, as the last one or as an older one.
    pub(super) fn holds(&self, key: ContextKey, context: &ContextRecord) -> Result<bool, StoreError> {
        let record = codec::encode_contexts([context]).map_err(|damage| self.unfit(&damage))?;
        let n = self.by_id.get(&id(&record));
        Ok(n.is_some_and(|n| self.under(key).any(|other| other == *n)))
    }

    /// For each context the last key that was given to it, unless a later context took that key over.
    pub(super) fn newest_keys(&self) -> impl Iterator<Item = ContextKey> + '_ {
        let is_its =
            |(n, place): (usize, &Place)| (self.by_key.get(&place.newest) == Some(&(n as u32))).then_some(place.newest);
        self.places.iter().enumerate().filter_map(is_its)
    }

    fn read(&self, place: Place) -> Result<ContextRecord, StoreError> {
        let mut frame = vec![0; place.length as usize];
        self.file.read_exact_at(&mut frame, place.offset).map_err(|e| StoreError::io(&self.path, &e))?;
        match codec::decode_entry(&frame[HEAD..]) {
            Ok(Entry::Context { record, .. }) => codec::decode_context(&record),
            Ok(_) => Err(Damage::Shape("a context was expected".into())),
            Err(damage) => Err(damage),
        }
        .map_err(|damage| StoreError::Io { path: self.path.clone(), message: damage.to_string() })
    }

    /// Sees to it that each of these contexts is found by its key, and, unless another is, by the key of what it was
    /// written for. What is new under a key comes before what was there; what was there keeps its place. Contexts
    /// that are new are on the disk when this returns; free ones are passed over. Returns how many were new.
    pub(super) fn append<'a>(
        &mut self,
        contexts: impl IntoIterator<Item = (ContextKey, &'a ContextRecord)>,
    ) -> Result<u64, StoreError> {
        let mut draft = Draft::default();
        for (key, context) in contexts {
            self.draft_context(key, context, &mut draft)?;
        }
        self.write_draft(draft)
    }

    /// As [`Journal::append`], with the notes that the contexts belong to, in the order of what happened to them.
    /// Says nothing that the journal knows already.
    pub(super) fn record(&mut self, events: Vec<NoteEvent<'_>>) -> Result<u64, StoreError> {
        let mut draft = Draft::default();
        // Where the notes that move are still known.
        let mut before: HashMap<&str, &str> = HashMap::new();
        // Those that are new here.
        let mut new: HashSet<&str> = HashSet::new();
        for event in events {
            match event {
                NoteEvent::Held { path, tags, contexts } => {
                    let known = before.get(path.as_str()).copied().unwrap_or(path.as_str());
                    let mut of: Vec<Id> = Vec::new();
                    for (key, context) in contexts {
                        let id = self.draft_context(key, context, &mut draft)?;
                        of.extend(id.filter(|id| !self.is_held(known, id)));
                    }
                    let retagged = self.holders.tags_at(known).is_some_and(|known| known != tags);
                    if !of.is_empty() || retagged {
                        new.insert(path.as_str());
                        self.draft(held(path.as_str(), tags, false, of), &mut draft)?;
                    }
                }
                NoteEvent::Moved { from, to } if self.holders.tags_at(from.as_str()).is_some() => {
                    before.insert(to.as_str(), from.as_str());
                    self.draft(Entry::Moved { from: from.to_string(), to: to.to_string() }, &mut draft)?;
                }
                NoteEvent::Removed { path, tags }
                    if new.contains(path.as_str()) || self.holders.tags_at(path.as_str()).is_some() =>
                {
                    self.draft(Entry::Removed { path: path.to_string(), tags: tags.to_vec() }, &mut draft)?;
                }
                NoteEvent::Moved { .. } | NoteEvent::Removed { .. } => {}
            }
        }
        self.write_draft(draft)
    }

    /// Notes that hold or held contexts, elsewhere: as they were exported.
    pub(super) fn append_with(
        &mut self,
        contexts: &[(ContextKey, &ContextRecord, &[Holder])],
    ) -> Result<u64, StoreError> {
        let mut draft = Draft::default();
        for (key, context, holders) in contexts {
            let Some(id) = self.draft_context(*key, context, &mut draft)? else { continue };
            let known = self.by_id.get(&id).copied();
            for holder in *holders {
                if known.is_none_or(|n| self.holders.of(n).all(|known| known != holder)) {
                    self.draft(held(&holder.path, &holder.tags, holder.removed, vec![id]), &mut draft)?;
                }
            }
        }
        self.write_draft(draft)
    }

    fn is_held(&self, path: &str, id: &Id) -> bool {
        self.by_id.get(id).is_some_and(|n| self.holders.holds(path, *n))
    }

    /// Drafts what makes a key find a context; the context's id, unless it is free.
    fn draft_context(
        &self,
        key: ContextKey,
        context: &ContextRecord,
        draft: &mut Draft,
    ) -> Result<Option<Id>, StoreError> {
        if !context.is_paid() {
            return Ok(None);
        }
        let record = codec::encode_contexts([context]).map_err(|d| self.unfit(&d))?;
        let of = id(&record);
        let known = self.by_id.get(&of).copied();
        // One that a chunk still holds while a newer one waits to take its place must not come before it.
        let is_there = match draft.last.get(&key) {
            Some(last) => *last == of,
            None => known.is_some_and(|n| self.under(key).any(|other| other == n)),
        };
        if is_there {
            return Ok(Some(of));
        }
        let entry = if known.is_none() && draft.fresh.insert(of) {
            let own = context_key(&context.sections, context.written_for);
            // Another context that was written for the same keeps that key.
            let taken = own == key || self.contains(own) || draft.last.contains_key(&own);
            let keys = if taken { vec![key] } else { vec![own, key] };
            draft.last.extend(keys.iter().map(|&key| (key, of)));
            Entry::Context { keys, record }
        } else {
            draft.last.insert(key, of);
            Entry::Alias { key, of }
        };
        self.draft(entry, draft)?;
        Ok(Some(of))
    }

    fn draft(&self, entry: Entry, draft: &mut Draft) -> Result<(), StoreError> {
        let start = draft.bytes.len();
        frame(&entry, &mut draft.bytes).map_err(|damage| self.unfit(&damage))?;
        draft.entries.push((entry, start as u64, (draft.bytes.len() - start) as u32));
        Ok(())
    }

    /// Writes a draft behind what is there; returns how many contexts are new.
    fn write_draft(&mut self, draft: Draft) -> Result<u64, StoreError> {
        let start = self.length;
        self.write(&draft.bytes)?;
        if !draft.fresh.is_empty() {
            self.sync()?;
        }
        for (entry, offset, length) in &draft.entries {
            self.learn(entry, start + *offset, *length);
        }
        Ok(draft.fresh.len() as u64)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let fail = |path: &Path, error: std::io::Error| StoreError::io(path, &error);
        if self.broken {
            // Half a frame is at the end; were it left there, damage would be counted at the next start.
            self.file.set_len(self.length).map_err(|error| fail(&self.path, error))?;
            self.broken = false;
        }
        self.dirty = true;
        if let Err(error) = self.file.write_all(bytes) {
            self.broken = self.file.set_len(self.length).is_err();
            return Err(fail(&self.path, error));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        if self.dirty {
            self.file.sync_data().map_err(|error| StoreError::io(&self.path, &error))?;
            self.dirty = false;
        }
        Ok(())
    }

    fn unfit(&self, damage: &Damage) -> StoreError {
        StoreError::Io { path: self.path.clone(), message: format!("a context cannot be written: {damage}") }
    }
}

/// Rewrites the journal at `path` without damage, with each context's keys in one entry and each note's contexts in one. Entries of
/// another version are copied as they are; if there was damage, the file as it was stays beside the new
/// one.
pub(super) fn compact(path: &Path) -> Result<(), StoreError> {
    if !path.exists() {
        return Ok(());
    }
    let fail = |error: std::io::Error| StoreError::io(path, &error);
    let (journal, damaged) = Journal::open(path)?;
    let bytes = fs::read(path).map_err(fail)?;
    let unfit = |damage: Damage| journal.unfit(&damage);
    let mut keys: Vec<Vec<ContextKey>> = vec![Vec::new(); journal.places.len()];
    let mut again = Vec::new();
    for &key in journal.by_key.keys() {
        let mut order: Vec<u32> = journal.under(key).collect();
        order.reverse();
        order.iter().for_each(|&n| keys[n as usize].push(key));
        if !order.is_sorted() {
            again.push((key, order));
        }
    }
    // Where an older context was given its key back, that is said once more behind all of them.
    again.sort_unstable();
    let mut out = Vec::new();
    let mut ids: Vec<Id> = Vec::with_capacity(keys.len());
    for (place, mut keys) in journal.places.iter().zip(keys) {
        // A fixed order, with the newest key last as `learn` expects; one that a later context took over
        // is still the newest of this one only if none is left.
        keys.sort_unstable_by_key(|key| (*key == place.newest, *key));
        let start = place.offset as usize + HEAD;
        let payload = &bytes[start..start + place.length as usize - HEAD];
        if let Entry::Context { record, .. } = codec::decode_entry(payload).map_err(unfit)? {
            ids.push(id(&record));
            frame(&Entry::Context { keys, record }, &mut out).map_err(unfit)?;
        }
    }
    for (key, order) in again {
        for of in order.iter().filter_map(|&n| ids.get(n as usize).copied()) {
            frame(&Entry::Alias { key, of }, &mut out).map_err(unfit)?;
        }
    }
    for (holder, contexts) in journal.holders.all() {
        let of = contexts.iter().filter_map(|n| ids.get(*n as usize).copied()).collect();
        frame(&held(&holder.path, &holder.tags, holder.removed, of), &mut out).map_err(unfit)?;
    }
    for (offset, length) in scan(&bytes).whole {
        let whole = &bytes[offset..offset + length];
        if matches!(codec::decode_entry(&whole[HEAD..]), Err(Damage::Version(_))) {
            out.extend_from_slice(whole);
        }
    }
    let temporary = path.with_extension("journal.new");
    let mut file = File::create(&temporary).map_err(fail)?;
    file.write_all(&out).and_then(|()| file.sync_all()).map_err(fail)?;
    if damaged > 0 {
        fs::copy(path, salvage::aside(path)).map_err(fail)?;
    }
    fs::rename(&temporary, path).map_err(fail)?;
    path.parent().map_or(Ok(()), salvage::sync_dir)
}

fn held(path: &str, tags: &[String], removed: bool, of: Vec<Id>) -> Entry {
    Entry::Held { path: path.to_owned(), tags: tags.to_vec(), removed, of }
}

pub(super) fn id(record: &[u8]) -> Id {
    let mut id = [0; 16];
    id.copy_from_slice(&blake3::hash(record).as_bytes()[..16]);
    id
}

fn frame(entry: &Entry, out: &mut Vec<u8>) -> Result<(), Damage> {
    let payload = codec::encode_entry(entry)?;
    if payload.len() > MOST {
        return Err(Damage::Shape("it is too large".into()));
    }
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&payload);
    Ok(())
}

/// Finds the frames in the bytes of a journal.
pub(super) fn scan(bytes: &[u8]) -> Frames {
    let mut frames = Frames::default();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(length) = whole_frame(&bytes[at..]) {
            frames.whole.push((at, length));
            at += length;
            continue;
        }
        let next = (at + 1..bytes.len()).find(|&p| bytes[p] == MAGIC[0] && whole_frame(&bytes[p..]).is_some());
        match next {
            Some(next) => {
                frames.damaged += 1;
                at = next;
            }
            None if is_torn(&bytes[at..]) => {
                frames.torn = Some(at);
                break;
            }
            None => {
                frames.damaged += 1;
                break;
            }
        }
    }
    frames
}

/// The length of the frame that the bytes begin with, if it is whole.
fn whole_frame(bytes: &[u8]) -> Option<usize> {
    let (length, rest) = declared(bytes)?;
    let payload = rest.get(..length)?;
    codec::is_sealed(payload).then_some(HEAD + length)
}

/// The payload's length that a frame's head declares, and what follows the head.
fn declared(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    (head[..4] == MAGIC && length <= MOST).then_some((length, rest))
}

/// Whether a tail that holds no whole frame is what a write that was cut short leaves: the beginning of
/// a frame, or nothing but the zeros of a file that grew before its data came.
fn is_torn(tail: &[u8]) -> bool {
    let begins = MAGIC.starts_with(&tail[..tail.len().min(4)]) || tail.starts_with(&MAGIC);
    let cut = match declared(tail) {
        Some((length, rest)) => rest.len() <= length,
        None => tail.len() < HEAD,
    };
    (begins && cut) || tail.iter().all(|&b| b == 0)
}

#[cfg(test)]
mod tests;
