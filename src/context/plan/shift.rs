//! Sections under equal headings that have moved among each other. Such a section is known by its number among its equals,
//! so one more `## Meeting` in front gives each of the others the number of the next. What they say tells them apart.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use super::{CurrentNote, DRIFT_BELOW, StoredNote};
use note::fingerprint::{SectionKey, TextHash};

/// The chunks of one heading path, in order.
#[derive(Default)]
struct Equals {
    before: Vec<usize>,
    now: Vec<usize>,
}

/// For the current chunks under equal headings of which one has moved: the stored chunk that each was, or `None` if it is
/// new. Chunks without an entry are told by their places.
pub(super) fn shifted(stored: &StoredNote, now: &CurrentNote<'_>) -> HashMap<usize, Option<usize>> {
    let mut groups: HashMap<Vec<&str>, Equals> = HashMap::new();
    for (i, chunk) in stored.chunks.iter().enumerate() {
        let path = chunk.heading_path.iter().map(String::as_str).collect();
        groups.entry(path).or_default().before.push(i);
    }
    for (i, chunk) in now.chunks.iter().enumerate() {
        groups.entry(chunk.heading_path.clone()).or_default().now.push(i);
    }
    let known: HashSet<SectionKey> = stored.chunks.iter().flat_map(|chunk| chunk.keys.iter().copied()).collect();
    groups.into_values().flat_map(|equals| equals.shifted(stored, now, &known)).collect()
}

impl Equals {
    fn shifted(
        self,
        stored: &StoredNote,
        now: &CurrentNote<'_>,
        known: &HashSet<SectionKey>,
    ) -> HashMap<usize, Option<usize>> {
        let first_of = |i: usize| now.chunks[i].keys.first().copied();
        let first_before = |old: usize| stored.chunks[old].keys.first().copied();
        let mut was = self.by_text(stored, now);
        if was.iter().all(|(i, old)| first_of(*i) == first_before(*old)) {
            return HashMap::new();
        }
        // The others were what stood between the same neighbours, unless there are more sections than there were.
        let taken: HashSet<usize> = was.values().copied().collect();
        let mut left: BTreeSet<usize> = self.before.iter().copied().filter(|old| !taken.contains(old)).collect();
        let keys = self.now.iter().flat_map(|i| &now.chunks[*i].keys);
        let grown = keys.filter(|key| !known.contains(key)).collect::<HashSet<_>>().len();
        let mut new: HashSet<Option<SectionKey>> = HashSet::new();
        let mut others = HashMap::new();
        // What still reads much alike is found before the rest is told by order.
        for by_text in [true, false] {
            let mut below = None;
            for (at, &i) in self.now.iter().enumerate() {
                if let Some(old) = was.get(&i) {
                    below = Some(*old);
                    continue;
                }
                let above = self.now[at..].iter().find_map(|i| was.get(i)).copied();
                let range = (below.map_or(Unbounded, Excluded), above.map_or(Unbounded, Excluded));
                let is_range = below.zip(above).is_none_or(|(below, above)| below < above);
                let between = is_range.then(|| left.range(range)).into_iter().flatten().copied();
                let chunk = &now.chunks[i];
                let mut at_ordinal = between.filter(|old| stored.chunks[*old].ordinal == chunk.ordinal);
                let alike = |old: &usize| stored.chunks[*old].sketch.left_in(chunk.text) >= DRIFT_BELOW;
                let found = if by_text { at_ordinal.find(alike) } else { at_ordinal.next() };
                if let Some(old) = found {
                    left.remove(&old);
                    was.insert(i, old);
                    below = Some(old);
                }
                if by_text || found.is_some() {
                    continue;
                }
                let mut section = self.now[..at].iter().rev().take_while(|other| first_of(**other) == first_of(i));
                let begin = section.find_map(|other| was.get(other)).copied();
                if begin.is_some() {
                    // Its section has grown.
                    others.insert(i, begin);
                } else if new.contains(&first_of(i)) || new.len() < grown {
                    new.insert(first_of(i));
                    others.insert(i, None);
                }
            }
        }
        was.into_iter().map(|(i, old)| (i, Some(old))).chain(others).collect()
    }

    /// The current chunks that read as a stored one does: the one at the same place if it may be, else the first.
    fn by_text(&self, stored: &StoredNote, now: &CurrentNote<'_>) -> HashMap<usize, usize> {
        type Text = (TextHash, usize);
        let mut with_text: HashMap<Text, VecDeque<usize>> = HashMap::new();
        for old in &self.before {
            let chunk = &stored.chunks[*old];
            with_text.entry((chunk.hash, chunk.keys.len())).or_default().push_back(*old);
        }
        let mut was = HashMap::new();
        for by_place in [true, false] {
            for &i in &self.now {
                let chunk = &now.chunks[i];
                let Some(old) = with_text.get_mut(&(chunk.hash, chunk.keys.len())) else { continue };
                let is_here = |old: &usize| {
                    let old = &stored.chunks[*old];
                    (old.keys.first(), old.ordinal) == (chunk.keys.first(), chunk.ordinal)
                };
                let at = if by_place { old.iter().position(is_here) } else { Some(0) };
                if !was.contains_key(&i)
                    && let Some(old) = at.and_then(|at| old.remove(at))
                {
                    was.insert(i, old);
                }
            }
        }
        was
    }
}
