//! Numbers of notes by their paths, and as cheap to copy as a [`Blocks`] table. Only the numbers are stored here, since
//! the note of a number has its path.

use std::sync::Arc;

use hashbrown::HashTable;

use super::NoteEntry;
use crate::hash::keyed;
use note::VaultPath;
use vector::Blocks;

/// Hash tables (shards) of a [`Lookup`], and of other maps that are copied in such pieces. With 10,000 notes each has
/// about 40 of them, which is what a save copies.
pub(super) const SHARDS: usize = 256;

/// The notes whose numbers are looked up.
type Notes = Blocks<Arc<NoteEntry>>;

/// Numbers by the paths of their notes. A note whose number is in here keeps its path until the number is forgotten.
#[derive(Clone)]
pub(super) struct Lookup(Vec<Arc<HashTable<u32>>>);

impl Default for Lookup {
    fn default() -> Self {
        Lookup((0..SHARDS).map(|_| Arc::default()).collect())
    }
}

impl Lookup {
    /// The number of the note at this path.
    pub(super) fn get(&self, path: &VaultPath, notes: &Notes) -> Option<u32> {
        let hash = hash(path);
        self.0[shard(hash)].find(hash, |no| has(notes, *no, path)).copied()
    }

    /// Makes this the number that is found by its note's path, whichever was before.
    pub(super) fn insert(&mut self, no: u32, notes: &Notes) {
        let Some(note) = notes.get(no) else { return };
        let hash = hash(&note.path);
        put(Arc::make_mut(&mut self.0[shard(hash)]), hash, no, notes);
    }

    /// Forgets a number whose note is about to be removed, unless another number has taken over its path.
    pub(super) fn forget(&mut self, no: u32, notes: &Notes) {
        let Some(note) = notes.get(no) else { return };
        if self.get(&note.path, notes) != Some(no) {
            return;
        }
        let hash = hash(&note.path);
        let table = Arc::make_mut(&mut self.0[shard(hash)]);
        if let Ok(found) = table.find_entry(hash, |other| *other == no) {
            found.remove();
        }
    }
}

/// What a [`Lookup`] of many notes is made from: their numbers with the hashes of their paths, by the table that will
/// have them. One table fits into the processor's cache, and all of them do not.
pub(super) struct Hashed(Vec<Vec<(u64, u32)>>);

impl Default for Hashed {
    fn default() -> Self {
        Hashed(vec![Vec::new(); SHARDS])
    }
}

impl Hashed {
    /// Adds the number of the note at this path; at best while the path is at hand, for notes lie far apart in memory.
    pub(super) fn add(&mut self, no: u32, path: &VaultPath) {
        let hash = hash(path);
        self.0[shard(hash)].push((hash, no));
    }

    /// Adds all that another one has.
    pub(super) fn append(&mut self, others: Hashed) {
        for (hashed, mut others) in self.0.iter_mut().zip(others.0) {
            hashed.append(&mut others);
        }
    }

    /// The numbers of these notes. Of those with the same path the one that was added last is found.
    pub(super) fn lookup(self, notes: &Notes) -> Lookup {
        let table = |hashed: Vec<(u64, u32)>| {
            let mut table = HashTable::with_capacity(hashed.len());
            hashed.into_iter().for_each(|(hash, no)| put(&mut table, hash, no, notes));
            Arc::new(table)
        };
        Lookup(self.0.into_iter().map(table).collect())
    }
}

/// Puts the number of a note with this hash into a table, in place of another with the same path. Looks at the note's
/// path only if the table has a hash like this one: notes lie far apart in memory.
fn put(table: &mut HashTable<u32>, hash: u64, no: u32, notes: &Notes) {
    let path = || notes.get(no).map(|note| &note.path);
    if let Some(old) = table.find_mut(hash, |other| path().is_some_and(|path| has(notes, *other, path))) {
        *old = no;
        return;
    }
    // Every number in the table still has its note: it is forgotten before its note goes.
    table.insert_unique(hash, no, |no| notes.get(*no).map_or(0, |note| self::hash(&note.path)));
}

fn has(notes: &Notes, no: u32, path: &VaultPath) -> bool {
    notes.get(no).is_some_and(|note| note.path == *path)
}

/// 64 good bits.
fn hash(path: &VaultPath) -> u64 {
    keyed(path.as_str())
}

/// Which table has the keys of this hash. The tables themselves use other bits of it: the lowest, and the seven
/// highest.
pub(super) fn shard(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::super::testing::note;
    use super::*;

    /// A note whose path is one of sixty.
    fn named(name: u8) -> Arc<NoteEntry> {
        Arc::new(note(0, 0, &format!("{name}.md")))
    }

    proptest! {
        /// Puts notes at numbers, or takes them away, and compares with a map, as clones of any time do.
        #[test]
        fn it_is_a_map_and_clones_do_not_change(ops in proptest::collection::vec((0u32..300, proptest::option::of(0u8..60)), 0..400)) {
            let (mut lookup, mut notes) = (Lookup::default(), Notes::default());
            let mut map = HashMap::new();
            let mut kept = Vec::new();
            for (at, (no, put)) in ops.into_iter().enumerate() {
                lookup.forget(no, &notes);
                if let Some(old) = notes.set(no, None)
                    && map.get(&old.path) == Some(&no)
                {
                    map.remove(&old.path);
                }
                if let Some(put) = put.map(named) {
                    map.insert(put.path.clone(), no);
                    notes.set(no, Some(put));
                    lookup.insert(no, &notes);
                }
                if at % 32 == 0 {
                    kept.push((lookup.clone(), notes.clone(), map.clone()));
                }
            }
            let mut hashed = Hashed::default();
            notes.numbered().for_each(|(no, note)| hashed.add(no, &note.path));
            let all = hashed.lookup(&notes);
            for one in (0..60).map(named) {
                let last = notes.numbered().filter(|(_, note)| note.path == one.path).last();
                prop_assert_eq!(all.get(&one.path, &notes), last.map(|(no, _)| no));
            }
            kept.push((lookup, notes, map));
            for (lookup, notes, map) in &kept {
                for one in (0..60).map(named) {
                    prop_assert_eq!(lookup.get(&one.path, notes), map.get(&one.path).copied());
                }
            }
        }
    }
}
