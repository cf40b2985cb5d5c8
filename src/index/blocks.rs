//! Tables that are cheap to copy: what a snapshot holds, and what the writer goes on changing.
//!
//! Both tables are made of reference-counted pieces. A clone copies the pointers to the pieces; a change
//! copies the one piece it lies in, if a snapshot still holds that piece, and changes it in place otherwise.
//! So publishing after one save costs a few kilobytes, however large the vault is.

use std::borrow::Borrow;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::{Entry, OccupiedEntry};
use smallvec::{Array, SmallVec};

/// Items of a block: small enough to copy on a save, large enough that the list of blocks stays short.
const BLOCK: usize = 256;

/// A sparse list indexed by number. A number that was never set reads as `None`, and so does one that was
/// cleared; blocks without any item take no room but their pointer.
pub(super) struct Blocks<T> {
    blocks: Vec<Option<Arc<Vec<Option<T>>>>>,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Blocks { blocks: Vec::new() }
    }
}

impl<T> Clone for Blocks<T> {
    fn clone(&self) -> Self {
        Blocks { blocks: self.blocks.clone() }
    }
}

impl<T: Clone> Blocks<T> {
    /// The item at `at`.
    pub(super) fn get(&self, at: u32) -> Option<&T> {
        let at = at as usize;
        self.blocks.get(at / BLOCK)?.as_ref()?.get(at % BLOCK)?.as_ref()
    }

    /// Puts `item` at `at`, or clears the place, and returns what was there.
    pub(super) fn set(&mut self, at: u32, item: Option<T>) -> Option<T> {
        let (block, place) = (at as usize / BLOCK, at as usize % BLOCK);
        if block >= self.blocks.len() {
            item.as_ref()?;
            self.blocks.resize(block + 1, None);
        }
        let slot = &mut self.blocks[block];
        if slot.is_none() && item.is_none() {
            return None;
        }
        let items = Arc::make_mut(slot.get_or_insert_with(|| Arc::new(Vec::new())));
        if place >= items.len() {
            items.resize(place + 1, None);
        }
        std::mem::replace(&mut items[place], item)
    }

    /// All items, in order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flatten().flat_map(|block| block.iter().flatten())
    }
}

/// Tables of a [`Shards`]. With 10,000 notes a shard has about 40 entries, which is what a save copies.
const SHARDS: usize = 256;

/// A hash map in pieces.
pub(super) struct Shards<K, V> {
    shards: Vec<Arc<HashTable<(K, V)>>>,
    hasher: RandomState,
}

impl<K, V> Default for Shards<K, V> {
    fn default() -> Self {
        Shards { shards: (0..SHARDS).map(|_| Arc::default()).collect(), hasher: RandomState::new() }
    }
}

impl<K, V> Clone for Shards<K, V> {
    fn clone(&self) -> Self {
        Shards { shards: self.shards.clone(), hasher: self.hasher.clone() }
    }
}

/// Which shard has a key of this hash. The tables look at other bits of it.
fn shard(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

impl<K: Hash + Eq + Clone, V: Clone> Shards<K, V> {
    /// The value of `key`.
    pub(super) fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        self.shards[shard(hash)].find(hash, |(known, _)| known.borrow() == key).map(|(_, value)| value)
    }

    /// The place of `key` in its shard, which is copied if a snapshot has it.
    fn entry(&mut self, key: &K) -> Entry<'_, (K, V)> {
        let (hasher, hash) = (&self.hasher, self.hasher.hash_one(key));
        Arc::make_mut(&mut self.shards[shard(hash)]).entry(
            hash,
            |(known, _)| known == key,
            |(known, _)| hasher.hash_one(known),
        )
    }

    /// The same of a key that is there; copies nothing if it is not.
    fn occupied<Q>(&mut self, key: &Q) -> Option<OccupiedEntry<'_, (K, V)>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        let table = &mut self.shards[shard(hash)];
        table.find(hash, |(known, _)| known.borrow() == key)?;
        Arc::make_mut(table).find_entry(hash, |(known, _)| known.borrow() == key).ok()
    }

    /// Puts a value.
    pub(super) fn insert(&mut self, key: K, value: V) {
        self.entry(&key).insert((key, value));
    }

    /// Takes a value out; touches nothing if it is not there.
    pub(super) fn remove<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some(found) = self.occupied(key) {
            found.remove();
        }
    }
}

/// Several values under one name, as the link tables need them.
impl<K: Hash + Eq + Clone, T: Clone + PartialEq, const N: usize> Shards<K, SmallVec<[T; N]>>
where
    [T; N]: Array<Item = T>,
{
    /// The values of `key`.
    pub(super) fn all<Q>(&self, key: &Q) -> &[T]
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.get(key).map_or(&[], SmallVec::as_slice)
    }

    /// Adds `value` to those of `key`, once.
    pub(super) fn add(&mut self, key: K, value: T) {
        let mut found = self.entry(&key).or_insert_with(|| (key, SmallVec::new()));
        let (_, values) = found.get_mut();
        if !values.contains(&value) {
            values.push(value);
        }
    }

    /// Takes `value` from those of `key`.
    pub(super) fn take<Q>(&mut self, key: &Q, value: &T)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let Some(mut found) = self.occupied(key) else { return };
        let (_, values) = found.get_mut();
        values.retain(|v| v != value);
        if values.is_empty() {
            found.remove();
        }
    }
}

#[cfg(test)]
mod tests;
