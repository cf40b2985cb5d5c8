//! Sections under equal headings that have moved among each other. Such a section is known by its number among its equals,
//! so one more `## Meeting` in front gives each of the others the number of the next. What they say tells them apart.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use super::{CurrentChunk, CurrentNote, DRIFT_BELOW, StoredChunk, StoredNote};
use note::fingerprint::{SectionKey, TextHash};

/// For the current chunks under equal headings of which one has moved: the stored chunk that each was, or `None` if it is
/// new. Chunks without an entry are told by their places.
pub(super) fn shifted(stored: &StoredNote, now: &CurrentNote<'_>) -> HashMap<usize, Option<usize>> {
    let mut groups: HashMap<Vec<&str>, Equals<'_>> = HashMap::new();
    let new = || Equals { stored, note: now, before: BTreeSet::new(), now: Vec::new(), was: HashMap::new() };
    for (i, chunk) in stored.chunks.iter().enumerate() {
        let path = chunk.heading_path.iter().map(String::as_str).collect();
        groups.entry(path).or_insert_with(new).before.insert(i);
    }
    for (i, chunk) in now.chunks.iter().enumerate() {
        groups.entry(chunk.heading_path.clone()).or_insert_with(new).now.push(i);
    }
    let known: HashSet<SectionKey> = stored.chunks.iter().flat_map(|chunk| chunk.keys.iter().copied()).collect();
    groups.into_values().flat_map(|equals| equals.shifted(&known)).collect()
}

/// The chunks of one heading path.
struct Equals<'a> {
    stored: &'a StoredNote,
    note: &'a CurrentNote<'a>,
    /// Stored chunks that no current chunk is known to have been.
    before: BTreeSet<usize>,
    /// The current chunks, in order.
    now: Vec<usize>,
    /// What current chunks are known to have been.
    was: HashMap<usize, usize>,
}

impl<'a> Equals<'a> {
    fn shifted(mut self, known: &HashSet<SectionKey>) -> HashMap<usize, Option<usize>> {
        self.by_text();
        let first_of = |i: usize| self.note.chunks[i].keys.first();
        if self.was.iter().all(|(i, old)| first_of(*i) == self.stored.chunks[*old].keys.first()) {
            return HashMap::new();
        }
        // The others were what stood between the same neighbours: what still reads much alike, then the next one, unless
        // there are more sections than there were.
        for at in 0..self.now.len() {
            let text = &self.chunk(at).text;
            self.take(at, |old| old.sketch.left_in(text) >= DRIFT_BELOW);
        }
        let keys = self.now.iter().flat_map(|i| &self.note.chunks[*i].keys);
        let grown = keys.filter(|key| !known.contains(key)).collect::<HashSet<_>>().len();
        let mut new: HashSet<Option<&SectionKey>> = HashSet::new();
        let mut others = HashMap::new();
        for at in 0..self.now.len() {
            if self.take(at, |_| true) {
                continue;
            }
            let first = self.chunk(at).keys.first();
            let mut section = self.now[..at].iter().rev().take_while(|i| self.note.chunks[**i].keys.first() == first);
            let begin = section.find_map(|i| self.was.get(i)).copied();
            if begin.is_some() {
                // Its section has grown.
                others.insert(self.now[at], begin);
            } else if new.contains(&first) || new.len() < grown {
                new.insert(first);
                others.insert(self.now[at], None);
            }
        }
        self.was.into_iter().map(|(i, old)| (i, Some(old))).chain(others).collect()
    }

    fn chunk(&self, at: usize) -> &'a CurrentChunk<'a> {
        &self.note.chunks[self.now[at]]
    }

    /// Finds what the chunk at `at` was, unless that is known: the first that `fits` of the stored chunks between those that
    /// its neighbours were. Whether it is known now.
    fn take(&mut self, at: usize, fits: impl Fn(&StoredChunk) -> bool) -> bool {
        if self.was.contains_key(&self.now[at]) {
            return true;
        }
        let below = self.now[..at].iter().rev().find_map(|i| self.was.get(i));
        let above = self.now[at..].iter().find_map(|i| self.was.get(i));
        if below.zip(above).is_some_and(|(below, above)| below >= above) {
            return false;
        }
        let mut between = self.before.range((below.map_or(Unbounded, Excluded), above.map_or(Unbounded, Excluded)));
        let ordinal = self.chunk(at).ordinal;
        let is_it = |old: &&usize| self.stored.chunks[**old].ordinal == ordinal && fits(&self.stored.chunks[**old]);
        let Some(old) = between.find(is_it).copied() else { return false };
        self.before.remove(&old);
        self.was.insert(self.now[at], old);
        true
    }

    /// Finds what reads as a stored chunk does: the one at the same place if it may be, else the first.
    fn by_text(&mut self) {
        let mut with_text: HashMap<(TextHash, usize), VecDeque<usize>> = HashMap::new();
        for old in &self.before {
            let chunk = &self.stored.chunks[*old];
            with_text.entry((chunk.hash, chunk.keys.len())).or_default().push_back(*old);
        }
        for by_place in [true, false] {
            for at in 0..self.now.len() {
                let chunk = self.chunk(at);
                let Some(alike) = with_text.get_mut(&(chunk.hash, chunk.keys.len())) else { continue };
                let is_here = |old: &usize| {
                    let old = &self.stored.chunks[*old];
                    (old.keys.first(), old.ordinal) == (chunk.keys.first(), chunk.ordinal)
                };
                let place = if by_place { alike.iter().position(is_here) } else { Some(0) };
                if !self.was.contains_key(&self.now[at])
                    && let Some(old) = place.and_then(|place| alike.remove(place))
                {
                    self.before.remove(&old);
                    self.was.insert(self.now[at], old);
                }
            }
        }
    }
}
