//! Numbers of the items of a [`Blocks`] table by their keys, and as cheap to copy as that. Only the numbers are stored
//! here, since the item of a number has its key: so a chunk takes 7 bytes and not 27, and a note does not take the text
//! of its path.

use std::sync::Arc;

use hashbrown::HashTable;

use super::{ChunkEntry, NoteEntry};
use crate::hash::keyed;
use note::VaultPath;
use note::fingerprint::ChunkId;
use vector::Blocks;

/// Hash tables (shards) of a [`Lookup`], and of other maps that are copied in such pieces. With 10,000 notes each has
/// about 40 of them, which is what a save copies.
pub(super) const SHARDS: usize = 256;

/// What can be looked up by its key.
pub(super) trait Keyed: Clone {
    /// Of items with the same key only one is found.
    type Key: Eq;

    fn key(&self) -> &Self::Key;

    /// 64 good bits.
    fn hash(key: &Self::Key) -> u64;
}

impl Keyed for ChunkEntry {
    type Key = ChunkId;

    fn key(&self) -> &ChunkId {
        &self.id
    }

    /// An id is a hash already.
    fn hash(key: &ChunkId) -> u64 {
        key.0.first_chunk().map_or(0, |half| u64::from_le_bytes(*half))
    }
}

impl Keyed for Arc<NoteEntry> {
    type Key = VaultPath;

    fn key(&self) -> &VaultPath {
        &self.path
    }

    fn hash(key: &VaultPath) -> u64 {
        keyed(key.as_str())
    }
}

/// Numbers by the keys of their items. An item whose number is in here keeps its key until the number is forgotten.
#[derive(Clone)]
pub(super) struct Lookup(Vec<Arc<HashTable<u32>>>);

impl Default for Lookup {
    fn default() -> Self {
        Lookup((0..SHARDS).map(|_| Arc::default()).collect())
    }
}

impl Lookup {
    /// The number of the item with this key.
    pub(super) fn get<T: Keyed>(&self, key: &T::Key, items: &Blocks<T>) -> Option<u32> {
        let hash = T::hash(key);
        self.0[shard(hash)].find(hash, |no| has(items, *no, key)).copied()
    }

    /// The numbers of all items. Of those with the same key the last one is found.
    pub(super) fn of<T: Keyed>(items: &Blocks<T>) -> Self {
        // Sorted by table first, since one table fits into the processor's cache and all of them do not.
        let mut hashed = vec![Vec::new(); SHARDS];
        for (no, item) in items.numbered() {
            let hash = T::hash(item.key());
            hashed[shard(hash)].push((hash, no));
        }
        let table = |hashed: Vec<(u64, u32)>| {
            let mut table = HashTable::with_capacity(hashed.len());
            hashed.into_iter().for_each(|(hash, no)| put(&mut table, hash, no, items));
            Arc::new(table)
        };
        Lookup(hashed.into_iter().map(table).collect())
    }

    /// Makes this the number that is found by its item's key, whichever was before.
    pub(super) fn insert<T: Keyed>(&mut self, no: u32, items: &Blocks<T>) {
        let Some(key) = items.get(no).map(Keyed::key) else { return };
        let hash = T::hash(key);
        put(Arc::make_mut(&mut self.0[shard(hash)]), hash, no, items);
    }

    /// Forgets a number whose item is about to be removed, unless another number has taken over its key.
    pub(super) fn forget<T: Keyed>(&mut self, no: u32, items: &Blocks<T>) {
        let Some(key) = items.get(no).map(Keyed::key) else { return };
        if self.get(key, items) != Some(no) {
            return;
        }
        let hash = T::hash(key);
        let table = Arc::make_mut(&mut self.0[shard(hash)]);
        if let Ok(found) = table.find_entry(hash, |other| *other == no) {
            found.remove();
        }
    }
}

/// Puts the number of an item with this hash into a table, in place of another with the same key. Looks at the item's
/// key only if the table has a hash like this one: items lie far apart in memory.
fn put<T: Keyed>(table: &mut HashTable<u32>, hash: u64, no: u32, items: &Blocks<T>) {
    let key = || items.get(no).map(Keyed::key);
    if let Some(old) = table.find_mut(hash, |other| key().is_some_and(|key| has(items, *other, key))) {
        *old = no;
        return;
    }
    // Every number in the table still has its item: it is forgotten before its item goes.
    table.insert_unique(hash, no, |no| items.get(*no).map_or(0, |item| T::hash(item.key())));
}

fn has<T: Keyed>(items: &Blocks<T>, no: u32, key: &T::Key) -> bool {
    items.get(no).is_some_and(|item| item.key() == key)
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

    fn chunk(id: u8) -> ChunkEntry {
        // Many ids in one table, some of which differ in their last half alone.
        let id = ChunkId([id % 7, 0, 0, 0, 0, 0, 0, 0, id, 0, 0, 0, 0, 0, 0, id % 2]);
        ChunkEntry { id, note: 0, position: 0, span: (0, 0), lines: (0, 0) }
    }

    /// Puts items at numbers, or takes them away, and compares with a map, as clones of any time do.
    fn compare<T: Keyed>(ops: Vec<(u32, Option<u8>)>, item: fn(u8) -> T)
    where
        T::Key: std::hash::Hash + Clone,
    {
        let (mut lookup, mut items) = (Lookup::default(), Blocks::<T>::default());
        let mut map = HashMap::new();
        let mut kept = Vec::new();
        for (at, (no, put)) in ops.into_iter().enumerate() {
            lookup.forget(no, &items);
            if let Some(old) = items.set(no, None)
                && map.get(old.key()) == Some(&no)
            {
                map.remove(old.key());
            }
            if let Some(put) = put.map(item) {
                map.insert(put.key().clone(), no);
                items.set(no, Some(put));
                lookup.insert(no, &items);
            }
            if at % 32 == 0 {
                kept.push((lookup.clone(), items.clone(), map.clone()));
            }
        }
        let all = Lookup::of(&items);
        for one in (0..60).map(item) {
            let last = items.numbered().filter(|(_, item)| item.key() == one.key()).last();
            assert_eq!(all.get(one.key(), &items), last.map(|(no, _)| no));
        }
        kept.push((lookup, items, map));
        for (lookup, items, map) in &kept {
            for one in (0..60).map(item) {
                assert_eq!(lookup.get(one.key(), items), map.get(one.key()).copied());
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_a_map_and_clones_do_not_change(ops in proptest::collection::vec((0u32..300, proptest::option::of(0u8..60)), 0..400)) {
            compare(ops.clone(), chunk);
            compare(ops, |name| Arc::new(note(0, 0, &format!("{name}.md"))));
        }
    }
}
