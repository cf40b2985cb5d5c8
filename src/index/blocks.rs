//! Tables that are cheap to copy: what a snapshot holds, and what the writer goes on changing.
//!
//! Both tables are made of reference-counted pieces. A clone copies the pointers to the pieces; a change
//! copies the one piece it lies in, if a snapshot still holds that piece, and changes it in place otherwise.
//! So publishing after one save costs a few kilobytes, however large the vault is.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

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

/// Maps of a [`Shards`]. With 10,000 notes a shard has about 40 entries, which is what a save copies.
const SHARDS: usize = 256;

/// A hash map in pieces.
pub(super) struct Shards<K, V> {
    shards: Vec<Arc<HashMap<K, V>>>,
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

impl<K: Hash + Eq + Clone, V: Clone> Shards<K, V> {
    fn shard<Q: Hash + ?Sized>(&self, key: &Q) -> usize {
        self.hasher.hash_one(key) as usize % SHARDS
    }

    /// The value of `key`.
    pub(super) fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shards[self.shard(key)].get(key)
    }

    /// Puts a value.
    pub(super) fn insert(&mut self, key: K, value: V) {
        let shard = self.shard(&key);
        Arc::make_mut(&mut self.shards[shard]).insert(key, value);
    }

    /// Takes a value out; touches nothing if it is not there.
    pub(super) fn remove<Q>(&mut self, key: &Q)
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let shard = self.shard(key);
        if self.shards[shard].contains_key(key) {
            Arc::make_mut(&mut self.shards[shard]).remove(key);
        }
    }
}

/// Several values under one name, as the link tables need them.
impl<K: Hash + Eq + Clone, T: Clone + PartialEq> Shards<K, Vec<T>> {
    /// The values of `key`.
    pub(super) fn all<Q>(&self, key: &Q) -> &[T]
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.get(key).map_or(&[], Vec::as_slice)
    }

    /// Adds `value` to those of `key`, once.
    pub(super) fn add(&mut self, key: K, value: T) {
        let shard = self.shard(&key);
        let values = Arc::make_mut(&mut self.shards[shard]).entry(key).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    }

    /// Takes `value` from those of `key`.
    pub(super) fn take<Q>(&mut self, key: &Q, value: &T)
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let shard = self.shard(key);
        if !self.shards[shard].contains_key(key) {
            return;
        }
        let map = Arc::make_mut(&mut self.shards[shard]);
        if let Some(values) = map.get_mut(key) {
            values.retain(|v| v != value);
            if values.is_empty() {
                map.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_are_a_map_and_clones_do_not_change(ops in proptest::collection::vec((0u32..2000, proptest::option::of(any::<u16>())), 0..200)) {
            let (mut blocks, mut map) = (Blocks::default(), BTreeMap::new());
            let mut kept = Vec::new();
            for (i, (at, item)) in ops.into_iter().enumerate() {
                let before = match item {
                    Some(item) => map.insert(at, item),
                    None => map.remove(&at),
                };
                prop_assert_eq!(blocks.set(at, item), before);
                if i % 16 == 0 {
                    kept.push((blocks.clone(), map.clone()));
                }
            }
            kept.push((blocks, map));
            for (blocks, map) in &kept {
                prop_assert_eq!(blocks.iter().collect::<Vec<_>>(), map.values().collect::<Vec<_>>());
                for at in 0..2000 {
                    prop_assert_eq!(blocks.get(at), map.get(&at));
                }
            }
        }
    }

    #[test]
    fn a_change_copies_one_block_only() {
        let mut blocks = Blocks::default();
        for at in 0..1000 {
            blocks.set(at, Some(at));
        }
        let snapshot = blocks.clone();
        blocks.set(300, Some(0));
        let shared = blocks.blocks.iter().zip(&snapshot.blocks).filter(|(a, b)| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        });
        assert_eq!(shared.count(), blocks.blocks.len() - 1);
    }

    #[test]
    fn a_shard_keeps_several_values_and_old_clones() {
        let mut names: Shards<String, Vec<u32>> = Shards::default();
        names.add("a".into(), 1);
        names.add("a".into(), 2);
        names.add("a".into(), 2);
        let before = names.clone();
        names.take("a", &1);
        names.take("a", &7);
        names.take("b", &1);
        assert_eq!((names.all("a"), before.all("a")), (&[2][..], &[1, 2][..]));
        names.take("a", &2);
        assert!(names.get("a").is_none(), "a name without notes takes no room");
    }
}
