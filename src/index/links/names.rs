//! Notes by name: by the names that they bear, or those that they mention. Cheap to copy, like [`vector::Blocks`].

use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

use super::Kind;
use crate::NoteNo;
use crate::hash::keyed;
use crate::lookup::{SHARDS, shard};

/// Most notes of one name in the hash table itself. If there are more, such as a thousand called `index`, the rest is
/// in a list; otherwise the table would look through all of them for each new note.
const FEW: usize = 4;

/// A normalised name in the tables: its hash, since names are only looked up there and never read, and their texts
/// would take 40 MB for a million chunks. Among a million names, two have the same hash with a probability of 3 in 100
/// million. Each process has its own key for the hash, so nobody can construct two that collide.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct NameKey([u32; 2]);

impl NameKey {
    pub(super) fn of(name: &str) -> Self {
        let hash = keyed(name);
        NameKey([hash as u32, (hash >> 32) as u32])
    }

    fn hash(self) -> u64 {
        u64::from(self.0[0]) | u64::from(self.0[1]) << 32
    }
}

/// A note in the list of a name, which has each note once.
pub(super) trait Listed: Copy {
    fn note(self) -> NoteNo;

    /// Merges another entry of the same note.
    fn join(&mut self, other: Self);
}

impl Listed for NoteNo {
    fn note(self) -> NoteNo {
        self
    }

    fn join(&mut self, _: NoteNo) {}
}

/// A note that bears a name, in one way or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bearer {
    pub(super) no: NoteNo,
    /// One bit for each [`Kind`].
    kinds: u8,
}

impl Bearer {
    pub(super) fn new(kind: Kind, no: NoteNo) -> Self {
        Bearer { no, kinds: 1 << kind as u8 }
    }

    /// How it comes by the name.
    pub(super) fn kinds(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.kinds & 1 << *kind as u8 != 0)
    }
}

impl Listed for Bearer {
    fn note(self) -> NoteNo {
        self.no
    }

    fn join(&mut self, other: Bearer) {
        self.kinds |= other.kinds;
    }
}

/// Notes by names.
#[derive(Clone)]
pub(super) struct Names<T>(Vec<Arc<Shard<T>>>);

#[derive(Clone)]
struct Shard<T> {
    /// Up to [`FEW`] of each name.
    few: HashTable<(NameKey, T)>,
    /// The rest, for names that have more, in order of number: if every note of a vault links to the same one, adding a
    /// note does not look through all of them.
    rest: HashTable<(NameKey, Vec<T>)>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Names((0..SHARDS).map(|_| Arc::new(Shard { few: HashTable::new(), rest: HashTable::new() })).collect())
    }
}

impl<T: Listed> Names<T> {
    /// The notes of a name, each once, in no order.
    pub(super) fn all(&self, key: NameKey) -> impl Iterator<Item = T> {
        let shard = &self.0[shard(key.hash())];
        let rest = shard.rest.find(key.hash(), |(name, _)| *name == key).map_or(&[][..], |(_, rest)| rest);
        let few = shard.few.iter_hash(key.hash()).filter(move |(name, _)| *name == key).map(|(_, listed)| listed);
        few.chain(rest).copied()
    }

    /// Adds a note to those of a name.
    pub(super) fn add(&mut self, key: NameKey, listed: T) {
        let shard = Arc::make_mut(&mut self.0[shard(key.hash())]);
        let mut count = 0;
        for (_, known) in shard.few.iter_hash_mut(key.hash()).filter(|(name, _)| *name == key) {
            if known.note() == listed.note() {
                return known.join(listed);
            }
            count += 1;
        }
        if count < FEW {
            shard.few.insert_unique(key.hash(), (key, listed), |(name, _)| name.hash());
            return;
        }
        let rest = shard.rest.entry(key.hash(), |(name, _)| *name == key, |(name, _)| name.hash());
        let mut rest = rest.or_insert_with(|| (key, Vec::new()));
        let rest = &mut rest.get_mut().1;
        match rest.binary_search_by_key(&listed.note(), |other| other.note()) {
            Ok(at) => rest[at].join(listed),
            Err(at) => rest.insert(at, listed),
        }
    }

    /// Removes a note from those of a name, however it comes by that name; copies nothing if it is not among them.
    pub(super) fn take(&mut self, key: NameKey, no: NoteNo) {
        if self.all(key).all(|listed| listed.note() != no) {
            return;
        }
        let shard = Arc::make_mut(&mut self.0[shard(key.hash())]);
        let few = shard.few.find_entry(key.hash(), |(name, listed)| *name == key && listed.note() == no);
        let is_few = few.map(OccupiedEntry::remove).is_ok();
        let Ok(mut found) = shard.rest.find_entry(key.hash(), |(name, _)| *name == key) else { return };
        let rest = &mut found.get_mut().1;
        rest.retain(|listed| listed.note() != no);
        let moves_up = if is_few { rest.pop() } else { None };
        if rest.is_empty() {
            found.remove();
        }
        if let Some(listed) = moves_up {
            shard.few.insert_unique(key.hash(), (key, listed), |(name, _)| name.hash());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    type Map = BTreeMap<(u8, NoteNo), BTreeSet<Kind>>;

    fn key(name: u8) -> NameKey {
        // Several names in one table, some with one hash but for a bit.
        NameKey([u32::from(name % 3), u32::from(name / 3) << 31])
    }

    fn of(names: &Names<Bearer>, name: u8) -> Map {
        let kinds = |bearer: Bearer| ((name, bearer.no), bearer.kinds().collect());
        let all: Vec<_> = names.all(key(name)).map(kinds).collect();
        let map: Map = all.iter().cloned().collect();
        assert_eq!(map.len(), all.len(), "each note once");
        map
    }

    proptest! {
        #[test]
        fn it_is_a_map_and_clones_do_not_change(
            ops in proptest::collection::vec((0u8..6, 0u32..12, proptest::option::weighted(0.7, 0usize..5)), 0..300),
        ) {
            let (mut names, mut map) = (Names::<Bearer>::default(), Map::new());
            let mut kept = Vec::new();
            for (at, (name, no, put)) in ops.into_iter().enumerate() {
                if let Some(kind) = put.map(|kind| Kind::ALL[kind]) {
                    names.add(key(name), Bearer::new(kind, no));
                    map.entry((name, no)).or_default().insert(kind);
                } else {
                    names.take(key(name), no);
                    map.remove(&(name, no));
                }
                if at % 32 == 0 {
                    kept.push((names.clone(), map.clone()));
                }
            }
            kept.push((names, map));
            for (names, map) in &kept {
                let all: Map = (0..6).flat_map(|name| of(names, name)).collect();
                prop_assert_eq!(&all, map);
            }
        }
    }

    #[test]
    fn a_name_without_notes_takes_no_room() {
        let mut names = Names::<NoteNo>::default();
        (0..10).for_each(|no| names.add(NameKey::of("index"), no));
        names.take(NameKey::of("other"), 1);
        assert_eq!(names.all(NameKey::of("index")).collect::<BTreeSet<_>>(), (0..10).collect());
        (0..10).for_each(|no| names.take(NameKey::of("index"), no));
        assert!(names.0.iter().all(|shard| shard.few.is_empty() && shard.rest.is_empty()));
    }

    #[test]
    fn a_change_copies_one_table_and_what_is_not_there_none() {
        let mut names = Names::<NoteNo>::default();
        (0..1000).for_each(|no| names.add(NameKey::of(&no.to_string()), no));
        let before = names.clone();
        let copied = |names: &Names<NoteNo>| names.0.iter().zip(&before.0).filter(|(a, b)| !Arc::ptr_eq(a, b)).count();
        names.take(NameKey::of("7"), 8);
        assert_eq!(copied(&names), 0);
        names.take(NameKey::of("7"), 7);
        assert_eq!(copied(&names), 1);
    }
}
