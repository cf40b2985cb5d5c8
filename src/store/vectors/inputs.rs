//! Which record holds the vector of which input. Of an input only 32 bits are kept, for the record says all of it: nine
//! bytes an input and not 21, where there are two million.

use hashbrown::HashTable;

use note::fingerprint::InputHash;

/// Records by the inputs that they were made of.
#[derive(Default)]
pub(super) struct Inputs(HashTable<Slot>);

#[derive(Clone, Copy)]
struct Slot {
    prefix: u32,
    record: u32,
}

impl Slot {
    fn new(input: InputHash, record: u32) -> Self {
        let [a, b, c, d, ..] = input.0;
        Slot { prefix: u32::from_le_bytes([a, b, c, d]), record }
    }

    /// An input is a hash already, but a table looks at the highest bits too.
    fn hash(self) -> u64 {
        u64::from(self.prefix) << 32 | u64::from(self.prefix)
    }
}

impl Inputs {
    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, more: usize) {
        self.0.reserve(more, |slot| slot.hash());
    }

    /// The record of an input. `is` says whether a record is this input's: it is asked about the one that is, and of a
    /// million others about one or none.
    pub(super) fn get(&self, input: InputHash, is: impl Fn(u32) -> bool) -> Option<u32> {
        let wanted = Slot::new(input, 0);
        self.0.find(wanted.hash(), |slot| slot.prefix == wanted.prefix && is(slot.record)).map(|slot| slot.record)
    }

    /// Adds the record of an input that has none.
    pub(super) fn add(&mut self, input: InputHash, record: u32) {
        let new = Slot::new(input, record);
        self.0.insert_unique(new.hash(), new, |slot| slot.hash());
    }

    /// Forgets a record of this input.
    pub(super) fn remove(&mut self, input: InputHash, record: u32) {
        let wanted = Slot::new(input, record);
        if let Ok(found) = self.0.find_entry(wanted.hash(), |slot| slot.record == record) {
            found.remove();
        }
    }

    /// Forgets the records of which `is` is not true.
    pub(super) fn retain(&mut self, is: impl Fn(u32) -> bool) {
        self.0.retain(|slot| is(slot.record));
    }

    /// All records.
    pub(super) fn records(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|slot| slot.record)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A set of records, as many as there are: a bit each.
#[derive(Default)]
pub(in super::super) struct Records(Vec<u64>);

impl Records {
    /// Adds one.
    pub(in super::super) fn add(&mut self, record: u32) {
        let at = (record / u64::BITS) as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (record % u64::BITS);
    }

    /// Whether it is in there.
    pub(super) fn has(&self, record: u32) -> bool {
        self.0.get((record / u64::BITS) as usize).is_some_and(|word| word >> (record % u64::BITS) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap, HashSet};

    use proptest::prelude::*;

    use super::*;

    /// Some of these differ in what is not kept of them alone.
    fn input(n: u8) -> InputHash {
        InputHash([n % 5, 1, 2, 3, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    proptest! {
        #[test]
        fn it_is_a_map(ops in proptest::collection::vec((0u8..40, 0u8..4), 0..300)) {
            let (mut inputs, mut map) = (Inputs::default(), BTreeMap::<u8, u32>::new());
            // What the file would say of each record.
            let mut file: HashMap<u32, u8> = HashMap::new();
            for (record, (n, op)) in (0..).zip(ops) {
                if let Some(old) = map.remove(&n) {
                    inputs.remove(input(n), old);
                }
                if op > 0 {
                    inputs.add(input(n), record);
                    map.insert(n, record);
                    file.insert(record, n);
                }
                for n in 0..40 {
                    let found = inputs.get(input(n), |record| file.get(&record) == Some(&n));
                    prop_assert_eq!(found, map.get(&n).copied(), "{}", n);
                }
                let held: HashSet<u32> = inputs.records().collect();
                prop_assert_eq!(held, map.values().copied().collect::<HashSet<u32>>());
                prop_assert_eq!(inputs.len(), map.len());
            }
            inputs.retain(|record| record % 2 == 0);
            prop_assert!(inputs.records().all(|record| record % 2 == 0));
        }

        #[test]
        fn a_set_of_records_has_what_was_added(added in proptest::collection::hash_set(0u32..1000, 0..50)) {
            let mut records = Records::default();
            added.iter().for_each(|record| records.add(*record));
            prop_assert!((0..1100).all(|record| records.has(record) == added.contains(&record)));
        }
    }
}
