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
//! Several contexts may come under one key (another model, another try): the last one wins, and the others
//! stay, to be found by [`Journal::find`].

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use super::codec::{self, Damage};
use super::v1::Entry;
use super::{StoreError, salvage};
use crate::context::ContextRecord;
use crate::fingerprint::{ContextKey, context_key};

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

/// The open journal, with an index of it in memory. Whoever looks something up waits for no write: the index changes
/// after the disk has what it names.
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    tail: Mutex<Tail>,
    index: RwLock<Index>,
}

/// The end of the file, whose owner may write.
struct Tail {
    length: u64,
    dirty: bool,
    broken: bool,
}

/// What is in the file.
#[derive(Default)]
struct Index {
    by_id: HashMap<Id, u32>,
    /// The last context under each key.
    by_key: HashMap<ContextKey, u32>,
    /// Those before it, the oldest first; few keys have any.
    older: HashMap<ContextKey, Vec<u32>>,
    places: Vec<Place>,
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

impl Index {
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

    /// Whether a key finds this very context, as the last one or as an older one.
    fn holds(&self, key: ContextKey, of: &Id) -> bool {
        self.by_id.get(of).is_some_and(|n| self.under(key).any(|other| other == *n))
    }
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
        let mut index = Index::default();
        let mut damaged = frames.damaged;
        for (offset, length) in frames.whole {
            match codec::decode_entry(&bytes[offset + HEAD..offset + length]) {
                Ok(entry) => index.learn(&entry, offset as u64, length as u32),
                // Another version's entry is not damage: it stays where it is.
                Err(Damage::Version(_)) => {}
                Err(_) => damaged += 1,
            }
        }
        let tail = Mutex::new(Tail { length, dirty: false, broken: false });
        Ok((Journal { file, path: path.to_path_buf(), tail, index: RwLock::new(index) }, damaged))
    }

    fn index(&self) -> RwLockReadGuard<'_, Index> {
        // Learning an entry cannot fail half-way.
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a key finds a context.
    pub(super) fn contains(&self, key: ContextKey) -> bool {
        self.index().by_key.contains_key(&key)
    }

    /// How many contexts there are.
    pub(super) fn len(&self) -> usize {
        self.index().places.len()
    }

    /// Every key that finds a context.
    pub(super) fn keys(&self) -> Vec<ContextKey> {
        self.index().by_key.keys().copied().collect()
    }

    /// The context that a key finds.
    pub(super) fn get(&self, key: ContextKey) -> Result<Option<ContextRecord>, StoreError> {
        let place = {
            let index = self.index();
            index.by_key.get(&key).map(|&n| index.places[n as usize])
        };
        place.map(|place| self.read(place)).transpose()
    }

    /// The last context under a key that is `wanted`. One that cannot be read is passed over if another is found.
    pub(super) fn find(
        &self,
        key: ContextKey,
        wanted: impl Fn(&ContextRecord) -> bool,
    ) -> Result<Option<ContextRecord>, StoreError> {
        let mut unread = None;
        for place in self.places_under(key) {
            match self.read(place) {
                Ok(context) if wanted(&context) => return Ok(Some(context)),
                Ok(_) => {}
                Err(error) => unread = Some(error),
            }
        }
        unread.map_or(Ok(None), Err)
    }

    /// All contexts under a key, the oldest first.
    pub(super) fn all(&self, key: ContextKey) -> Result<Vec<ContextRecord>, StoreError> {
        self.places_under(key).into_iter().rev().map(|place| self.read(place)).collect()
    }

    /// Where the contexts under a key lie, the last one first.
    fn places_under(&self, key: ContextKey) -> Vec<Place> {
        let index = self.index();
        index.under(key).map(|n| index.places[n as usize]).collect()
    }

    /// Whether a key finds this very context, as the last one or as an older one.
    pub(super) fn holds(&self, key: ContextKey, context: &ContextRecord) -> Result<bool, StoreError> {
        let record = codec::encode_contexts([context]).map_err(|damage| self.unfit(&damage))?;
        Ok(self.index().holds(key, &id(&record)))
    }

    /// For each context the last key that was given to it, unless a later context took that key over.
    pub(super) fn newest_keys(&self) -> Vec<ContextKey> {
        let index = self.index();
        let is_its = |(n, place): (usize, &Place)| {
            (index.by_key.get(&place.newest) == Some(&(n as u32))).then_some(place.newest)
        };
        index.places.iter().enumerate().filter_map(is_its).collect()
    }

    fn read(&self, place: Place) -> Result<ContextRecord, StoreError> {
        let mut frame = vec![0; place.length as usize];
        self.file.read_exact_at(&mut frame, place.offset).map_err(|e| StoreError::io(&self.path, &e))?;
        match codec::decode_entry(&frame[HEAD..]) {
            Ok(Entry::Context { record, .. }) => codec::decode_context(&record),
            Ok(Entry::Alias { .. }) => Err(Damage::Shape("a context was expected".into())),
            Err(damage) => Err(damage),
        }
        .map_err(|damage| StoreError::Io { path: self.path.clone(), message: damage.to_string() })
    }

    /// Sees to it that each of these contexts is found by its key, and, unless another is, by the key of what it was
    /// written for. What is new under a key comes before what was there; what was there keeps its place. Contexts
    /// that are new are on the disk when this returns; free ones are passed over. Returns how many were new.
    pub(super) fn append<'a>(
        &self,
        contexts: impl IntoIterator<Item = (ContextKey, &'a ContextRecord)>,
    ) -> Result<u64, StoreError> {
        let mut paid: Vec<(ContextKey, &ContextRecord, Vec<u8>)> = Vec::new();
        for (key, context) in contexts.into_iter().filter(|(_, context)| context.is_paid()) {
            let record = codec::encode_contexts([context]).map_err(|damage| self.unfit(&damage))?;
            paid.push((key, context, record));
        }
        let all_there = {
            let index = self.index();
            paid.iter().all(|(key, _, record)| index.holds(*key, &id(record)))
        };
        if all_there {
            // As for most saves: then nobody waits for whoever writes.
            return Ok(0);
        }
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let (entries, fresh) = self.entries(paid);
        let mut bytes = Vec::new();
        let mut places = Vec::with_capacity(entries.len());
        for entry in &entries {
            let start = bytes.len();
            frame(entry, &mut bytes).map_err(|damage| self.unfit(&damage))?;
            places.push((tail.length + start as u64, (bytes.len() - start) as u32));
        }
        self.write(&mut tail, &bytes)?;
        if fresh > 0 {
            self.sync_tail(&mut tail)?;
        }
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        for (entry, (offset, length)) in entries.iter().zip(places) {
            index.learn(entry, offset, length);
        }
        Ok(fresh)
    }

    /// What is to be written so that each of these contexts is found, and how many of them are new.
    fn entries(&self, paid: Vec<(ContextKey, &ContextRecord, Vec<u8>)>) -> (Vec<Entry>, u64) {
        let index = self.index();
        let mut entries = Vec::new();
        // What this call adds itself, so that a context that comes twice is written once.
        let mut fresh: HashSet<Id> = HashSet::new();
        let mut last: HashMap<ContextKey, Id> = HashMap::new();
        for (key, context, record) in paid {
            let of = id(&record);
            // One that a chunk still holds while a newer one waits to take its place must not come before it.
            let is_there = last.get(&key).map_or_else(|| index.holds(key, &of), |last| *last == of);
            if is_there {
                continue;
            }
            if !index.by_id.contains_key(&of) && fresh.insert(of) {
                let own = context_key(&context.sections, context.written_for);
                // Another context that was written for the same keeps that key.
                let taken = own == key || index.by_key.contains_key(&own) || last.contains_key(&own);
                let keys = if taken { vec![key] } else { vec![own, key] };
                last.extend(keys.iter().map(|&key| (key, of)));
                entries.push(Entry::Context { keys, record });
            } else {
                last.insert(key, of);
                entries.push(Entry::Alias { key, of });
            }
        }
        (entries, fresh.len() as u64)
    }

    fn write(&self, tail: &mut Tail, bytes: &[u8]) -> Result<(), StoreError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let fail = |error: std::io::Error| StoreError::io(&self.path, &error);
        if tail.broken {
            // Half a frame is at the end; were it left there, damage would be counted at the next start.
            self.file.set_len(tail.length).map_err(fail)?;
            tail.broken = false;
        }
        tail.dirty = true;
        if let Err(error) = (&self.file).write_all(bytes) {
            tail.broken = self.file.set_len(tail.length).is_err();
            return Err(fail(error));
        }
        tail.length += bytes.len() as u64;
        Ok(())
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.sync_tail(&mut self.tail.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn sync_tail(&self, tail: &mut Tail) -> Result<(), StoreError> {
        if tail.dirty {
            self.file.sync_data().map_err(|error| StoreError::io(&self.path, &error))?;
            tail.dirty = false;
        }
        Ok(())
    }

    /// Bytes of what is written.
    #[cfg(test)]
    fn length(&self) -> u64 {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).length
    }

    fn unfit(&self, damage: &Damage) -> StoreError {
        StoreError::Io { path: self.path.clone(), message: format!("a context cannot be written: {damage}") }
    }
}

/// Rewrites the journal at `path` without damage, with each context's keys in one entry. Entries of
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
    let index = journal.index();
    let mut keys: Vec<Vec<ContextKey>> = vec![Vec::new(); index.places.len()];
    let mut again = Vec::new();
    for &key in index.by_key.keys() {
        let mut order: Vec<u32> = index.under(key).collect();
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
    for (place, mut keys) in index.places.iter().zip(keys) {
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
