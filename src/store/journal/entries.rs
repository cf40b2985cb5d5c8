//! The journal's content in memory: where each context is in the file, which keys find it, who holds it; and drafts of
//! the entries to write next. Pure.

use std::collections::{HashMap, HashSet};

use super::NoteEvent;
use super::frames::frame;
use super::holders::{Holder, Holders};
use crate::codec::{self, Id, id};
use crate::damage::Damage;
use crate::v1::Entry;
use context::{ContextRecord, Expansion};
use note::fingerprint::{ContextKey, context_key};

/// Where a context's frame lies.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: u32,
    /// The last key that was given to it.
    pub(super) newest: ContextKey,
}

impl Place {
    fn end(self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// What the journal's frames say, in their order.
#[derive(Default)]
pub(super) struct Entries {
    /// Bytes of the file; the next frame begins there.
    pub(super) length: u64,
    by_id: HashMap<Id, u32>,
    /// The last context under each key.
    by_key: HashMap<ContextKey, u32>,
    /// The contexts before it under each key, the oldest first; few keys have any.
    older: HashMap<ContextKey, Vec<u32>>,
    places: Vec<Place>,
    holders: Holders,
    /// Offset and length of the frame with each context's expansion.
    expansions: HashMap<Id, (u64, u32)>,
}

/// Entries that are to be written at once.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) bytes: Vec<u8>,
    /// Each with its offset in the bytes and its length.
    entries: Vec<(Entry, u64, u32)>,
    /// Contexts that it adds, so that one that comes twice is written once.
    fresh: HashSet<Id>,
    /// The last context under each key that it names.
    last: HashMap<ContextKey, Id>,
    /// Contexts that it adds an expansion to.
    expanded: HashSet<Id>,
    /// Where the last frame ends among the contexts that the draft names and the journal has already.
    named: u64,
}

impl Draft {
    /// How many contexts it adds.
    pub(super) fn added(&self) -> u64 {
        self.fresh.len() as u64
    }

    /// How much of the file must be on the disk before the writer may rely on the contexts that the draft names; `end`
    /// is the file's length with the draft.
    pub(super) fn relies_on(&self, end: u64) -> u64 {
        if self.fresh.is_empty() && self.expanded.is_empty() { self.named } else { end }
    }

    fn push(&mut self, entry: Entry) -> Result<(), Damage> {
        let start = self.bytes.len();
        frame(&entry, &mut self.bytes)?;
        self.entries.push((entry, start as u64, (self.bytes.len() - start) as u32));
        Ok(())
    }
}

impl Entries {
    /// Takes in the entry of the frame at `offset`, the last one so far.
    pub(super) fn learn(&mut self, entry: &Entry, offset: u64, length: u32) {
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
            Entry::Expansion { of, .. } => drop(self.expansions.insert(*of, (offset, length))),
        }
    }

    /// Takes in a draft that was appended to the file.
    pub(super) fn learn_draft(&mut self, draft: &Draft) {
        for (entry, offset, length) in &draft.entries {
            self.learn(entry, self.length + *offset, *length);
        }
        self.length += draft.bytes.len() as u64;
    }

    /// Makes a context the last one under a key.
    fn hold(&mut self, key: ContextKey, n: u32) {
        let Some(before) = self.by_key.insert(key, n).filter(|before| *before != n) else { return };
        let older = self.older.entry(key).or_default();
        older.retain(|other| *other != n);
        older.push(before);
    }

    /// The numbers of the contexts under a key, the last one first.
    pub(super) fn under(&self, key: ContextKey) -> impl Iterator<Item = u32> + '_ {
        let older = self.older.get(&key).map_or(&[][..], Vec::as_slice);
        self.by_key.get(&key).copied().into_iter().chain(older.iter().rev().copied())
    }

    /// The places and holders of the contexts under a key, the last one first.
    pub(super) fn held_under(&self, key: ContextKey) -> Vec<(Place, Vec<Holder>)> {
        let with_holders = |n: u32| (self.places[n as usize], self.holders.of(n).cloned().collect());
        self.under(key).map(with_holders).collect()
    }

    /// The place of the context that a key finds.
    pub(super) fn place(&self, key: ContextKey) -> Option<Place> {
        self.by_key.get(&key).map(|&n| self.places[n as usize])
    }

    /// The place of each context, by number.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Whether any context has an expansion.
    pub(super) fn has_expansions(&self) -> bool {
        !self.expansions.is_empty()
    }

    /// Offsets and lengths of the frames of all expansions, in order.
    pub(super) fn expansions(&self) -> Vec<(u64, u32)> {
        let mut all: Vec<(u64, u32)> = self.expansions.values().copied().collect();
        all.sort_unstable();
        all
    }

    /// Offset and length of the frame with the expansion of the context with this name.
    pub(super) fn expansion(&self, of: &Id) -> Option<(u64, u32)> {
        self.expansions.get(of).copied()
    }

    /// Every key that finds a context.
    pub(super) fn keys(&self) -> impl Iterator<Item = ContextKey> + '_ {
        self.by_key.keys().copied()
    }

    /// Every holder with the contexts that it holds or held.
    pub(super) fn holders(&self) -> impl Iterator<Item = (&Holder, Vec<u32>)> {
        self.holders.all()
    }

    /// Whether a key finds a context.
    pub(super) fn contains(&self, key: ContextKey) -> bool {
        self.by_key.contains_key(&key)
    }

    /// Whether a key finds a context that the note at `path` is known to hold.
    pub(super) fn contains_of(&self, key: ContextKey, path: &str) -> bool {
        self.under(key).any(|n| self.holders.holds(path, n))
    }

    /// Whether a key finds the context of this name, as the last one or as an older one.
    pub(super) fn holds(&self, key: ContextKey, of: &Id) -> bool {
        self.by_id.get(of).is_some_and(|n| self.under(key).any(|other| other == *n))
    }

    /// For each context the last key that was given to it, unless a later context took that key over.
    pub(super) fn newest_keys(&self) -> impl Iterator<Item = ContextKey> + '_ {
        let is_its =
            |(n, place): (usize, &Place)| (self.by_key.get(&place.newest) == Some(&(n as u32))).then_some(place.newest);
        self.places.iter().enumerate().filter_map(is_its)
    }

    /// Drafts the entries that make each of these contexts found by its key.
    pub(super) fn draft_contexts<'a>(
        &self,
        contexts: impl IntoIterator<Item = (ContextKey, &'a ContextRecord)>,
    ) -> Result<Draft, Damage> {
        let mut draft = Draft::default();
        for (key, context) in contexts {
            self.draft_context(key, context, &mut draft)?;
        }
        Ok(draft)
    }

    /// Drafts what happened to notes and the contexts that they hold, without what the journal knows already.
    pub(super) fn draft_events(&self, events: Vec<NoteEvent<'_>>) -> Result<Draft, Damage> {
        let mut draft = Draft::default();
        // Old path of each note that moves, by its new path: the journal still knows it there.
        let mut before: HashMap<&str, &str> = HashMap::new();
        // Paths of the holders that this draft adds.
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
                        draft.push(held(path.as_str(), tags, false, of))?;
                    }
                }
                NoteEvent::Moved { from, to } if self.holders.tags_at(from.as_str()).is_some() => {
                    before.insert(to.as_str(), from.as_str());
                    draft.push(Entry::Moved { from: from.to_string(), to: to.to_string() })?;
                }
                NoteEvent::Removed { path, tags }
                    if new.contains(path.as_str()) || self.holders.tags_at(path.as_str()).is_some() =>
                {
                    draft.push(Entry::Removed { path: path.to_string(), tags: tags.to_vec() })?;
                }
                NoteEvent::Moved { .. } | NoteEvent::Removed { .. } => {}
            }
        }
        Ok(draft)
    }

    /// Drafts contexts with the notes that hold or held them.
    pub(super) fn draft_held(&self, contexts: &[(ContextKey, &ContextRecord, &[Holder])]) -> Result<Draft, Damage> {
        let mut draft = Draft::default();
        for (key, context, holders) in contexts {
            let Some(id) = self.draft_context(*key, context, &mut draft)? else { continue };
            let known = self.by_id.get(&id).copied();
            for holder in *holders {
                if known.is_none_or(|n| self.holders.of(n).all(|known| known != holder)) {
                    draft.push(held(&holder.path, &holder.tags, holder.removed, vec![id]))?;
                }
            }
        }
        Ok(draft)
    }

    fn is_held(&self, path: &str, id: &Id) -> bool {
        self.by_id.get(id).is_some_and(|n| self.holders.holds(path, *n))
    }

    /// Drafts a context's expansion, unless the journal has one.
    fn draft_expansion(&self, of: Id, written: &Expansion, draft: &mut Draft) -> Result<(), Damage> {
        let known = written.is_empty() || self.expansions.contains_key(&of);
        if known || !draft.expanded.insert(of) { Ok(()) } else { draft.push(expansion(of, written)) }
    }

    /// Drafts the entry that makes a key find a context, and returns the context's id; `None` for a free context.
    fn draft_context(&self, key: ContextKey, context: &ContextRecord, draft: &mut Draft) -> Result<Option<Id>, Damage> {
        if !context.is_paid() {
            return Ok(None);
        }
        let record = codec::encode_contexts([context])?;
        let of = id(&record);
        self.draft_expansion(of, &context.expansion, draft)?;
        let known = self.by_id.get(&of).copied();
        if let Some(n) = known {
            draft.named = draft.named.max(self.places[n as usize].end());
        }
        // A chunk may still hold an older context while a newer one waits to replace it: the older must not move to the
        // front.
        let is_there = match draft.last.get(&key) {
            Some(last) => *last == of,
            None => known.is_some_and(|n| self.under(key).any(|other| other == n)),
        };
        if is_there {
            return Ok(Some(of));
        }
        let entry = if known.is_none() && draft.fresh.insert(of) {
            let own = context_key(&context.sections, context.written_for);
            // If another context was written for the same sections and text, that one keeps the key.
            let taken = own == key || self.contains(own) || draft.last.contains_key(&own);
            let keys = if taken { vec![key] } else { vec![own, key] };
            draft.last.extend(keys.iter().map(|&key| (key, of)));
            Entry::Context { keys, record }
        } else {
            draft.last.insert(key, of);
            Entry::Alias { key, of }
        };
        draft.push(entry)?;
        Ok(Some(of))
    }
}

/// The entry of a context's expansion.
pub(super) fn expansion(of: Id, Expansion { questions, terms }: &Expansion) -> Entry {
    Entry::Expansion { of, questions: questions.clone(), terms: terms.clone() }
}

/// The entry of a note that holds contexts.
pub(super) fn held(path: &str, tags: &[String], removed: bool, of: Vec<Id>) -> Entry {
    Entry::Held { path: path.to_owned(), tags: tags.to_vec(), removed, of }
}
