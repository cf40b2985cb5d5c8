//! Notes by name: by the names that they bear, or those that they mention. Cheap to copy, like [`vector::Blocks`].

use std::sync::Arc;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;
use siphasher::sip::SipHasher13;

use super::Kind;
use crate::NoteNo;
use crate::lookup::{SHARDS, shard};
use crate::packed::{put_number, take_number, taken};

/// Most notes of one name in the hash table itself. If there are more, such as a thousand called `index`, the rest is
/// in a list; otherwise the table would look through all of them for each new note.
const FEW: usize = 4;

/// A normalised name in the tables: its hash, since names are only looked up there and never read, and their texts
/// would take 40 MB for a million chunks. Among a million names, two have the same hash with a probability of 3 in 100
/// million.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct NameKey([u32; 2]);

/// Makes the keys of names, with a secret of its own, so that nobody can construct two names that collide (SipHash-1-3:
/// Aumasson and Bernstein, INDOCRYPT 2012). Tables that are saved take the secret with them.
#[derive(Clone, Copy)]
pub(super) struct NameKeys(SipHasher13);

impl Default for NameKeys {
    fn default() -> Self {
        let random = RandomState::new();
        NameKeys::new([0, 1].map(|number: u64| random.hash_one(number)))
    }
}

impl NameKeys {
    fn new([one, other]: [u64; 2]) -> Self {
        NameKeys(SipHasher13::new_with_keys(one, other))
    }

    /// The key of a normalised name.
    pub(super) fn of(self, name: &str) -> NameKey {
        NameKey::of_hash(self.0.hash(name.as_bytes()))
    }

    /// Appends the secret to `out`.
    pub(super) fn save(self, out: &mut Vec<u8>) {
        let (one, other) = self.0.keys();
        [one, other].iter().for_each(|half| out.extend(half.to_le_bytes()));
    }

    /// Takes a secret that [`NameKeys::save`] wrote from the beginning of `bytes`.
    pub(super) fn restored(bytes: &mut &[u8]) -> Option<Self> {
        Some(NameKeys::new([u64::from_le_bytes(taken(bytes)?), u64::from_le_bytes(taken(bytes)?)]))
    }
}

impl NameKey {
    fn of_hash(hash: u64) -> Self {
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

    /// What it says besides the note.
    fn mark(self) -> u8;

    /// The entry of a note that says this besides.
    fn marked(note: NoteNo, mark: u8) -> Self;
}

impl Listed for NoteNo {
    fn note(self) -> NoteNo {
        self
    }

    fn join(&mut self, _: NoteNo) {}

    fn mark(self) -> u8 {
        0
    }

    fn marked(note: NoteNo, _: u8) -> Self {
        note
    }
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

    fn mark(self) -> u8 {
        self.kinds
    }

    fn marked(no: NoteNo, kinds: u8) -> Self {
        Bearer { no, kinds }
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

    /// Appends all of it to `out`: for each table the number of its entries, and these.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        for shard in &self.0 {
            put_number(shard.few.len(), out);
            shard.few.iter().for_each(|(name, listed)| save_entry(*name, *listed, out));
            put_number(shard.rest.iter().map(|(_, rest)| rest.len()).sum(), out);
            let rest = shard.rest.iter().flat_map(|(name, rest)| rest.iter().map(|listed| (*name, *listed)));
            rest.for_each(|(name, listed)| save_entry(name, listed, out));
        }
    }

    /// Takes names that [`Names::save`] wrote from the beginning of `bytes`; `None` if they are cut.
    pub(super) fn restored(bytes: &mut &[u8]) -> Option<Self> {
        let mut shards = Vec::with_capacity(SHARDS);
        for _ in 0..SHARDS {
            let mut shard = Shard { few: HashTable::new(), rest: HashTable::new() };
            let few = take_number(bytes)?;
            shard.few.reserve(few.min(bytes.len()), |(name, _): &(NameKey, T)| name.hash());
            for _ in 0..few {
                let (name, listed) = restored_entry(bytes)?;
                shard.few.insert_unique(name.hash(), (name, listed), |(name, _)| name.hash());
            }
            for _ in 0..take_number(bytes)? {
                let (name, listed) = restored_entry(bytes)?;
                let rest = shard.rest.entry(name.hash(), |(of, _)| *of == name, |(name, _)| name.hash());
                rest.or_insert_with(|| (name, Vec::new())).get_mut().1.push(listed);
            }
            shards.push(Arc::new(shard));
        }
        Some(Names(shards))
    }
}

fn save_entry<T: Listed>(name: NameKey, listed: T, out: &mut Vec<u8>) {
    out.extend(name.hash().to_le_bytes());
    out.extend(listed.note().to_le_bytes());
    out.push(listed.mark());
}

fn restored_entry<T: Listed>(bytes: &mut &[u8]) -> Option<(NameKey, T)> {
    let name = NameKey::of_hash(u64::from_le_bytes(taken(bytes)?));
    let (no, [mark]) = (NoteNo::from_le_bytes(taken(bytes)?), taken(bytes)?);
    Some((name, T::marked(no, mark)))
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
            let mut bytes = Vec::new();
            names.save(&mut bytes);
            let restored = Names::restored(&mut &*bytes).unwrap();
            prop_assert!(Names::<Bearer>::restored(&mut &bytes[..bytes.len() - 1]).is_none());
            kept.push((restored, map.clone()));
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
        (0..10).for_each(|no| names.add(NameKeys(SipHasher13::new()).of("index"), no));
        names.take(NameKeys(SipHasher13::new()).of("other"), 1);
        assert_eq!(names.all(NameKeys(SipHasher13::new()).of("index")).collect::<BTreeSet<_>>(), (0..10).collect());
        (0..10).for_each(|no| names.take(NameKeys(SipHasher13::new()).of("index"), no));
        assert!(names.0.iter().all(|shard| shard.few.is_empty() && shard.rest.is_empty()));
    }

    #[test]
    fn a_change_copies_one_table_and_what_is_not_there_none() {
        let mut names = Names::<NoteNo>::default();
        (0..1000).for_each(|no| names.add(NameKeys(SipHasher13::new()).of(&no.to_string()), no));
        let before = names.clone();
        let copied = |names: &Names<NoteNo>| names.0.iter().zip(&before.0).filter(|(a, b)| !Arc::ptr_eq(a, b)).count();
        names.take(NameKeys(SipHasher13::new()).of("7"), 8);
        assert_eq!(copied(&names), 0);
        names.take(NameKeys(SipHasher13::new()).of("7"), 7);
        assert_eq!(copied(&names), 1);
    }
}
