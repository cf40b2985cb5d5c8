//! The map from inputs to the records of their vectors. Only 32 bits of an input are kept: the record has all of it.
//! Most inputs are in one sorted list, with eight bytes per input, where a hash table of two million took eighteen. A
//! hash table has the inputs that were added since the list was made.

use hashbrown::HashTable;

use note::fingerprint::InputHash;

/// Records by the inputs that they were made of.
#[derive(Default)]
pub(super) struct Inputs {
    /// Sorted by prefix. A slot that is [`GONE`] stays until the list is rebuilt.
    listed: Vec<Slot>,
    gone: usize,
    added: HashTable<Slot>,
}

/// Stands for a record that was removed.
const GONE: u32 = u32::MAX;

/// The list is rebuilt once so many inputs have been added, or an eighth of the list if that is more.
const FEW: usize = 1 << 10;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    prefix: u32,
    record: u32,
}

impl Slot {
    pub(super) fn new(input: InputHash, record: u32) -> Self {
        let [a, b, c, d, ..] = input.0;
        Slot { prefix: u32::from_le_bytes([a, b, c, d]), record }
    }

    /// The prefix twice: an input is a hash already, but the hash table uses the highest bits too.
    fn hash(self) -> u64 {
        u64::from(self.prefix) << 32 | u64::from(self.prefix)
    }
}

impl Inputs {
    /// The inputs of these records. Of two records of the `same` input the later one counts.
    pub(super) fn of(mut listed: Vec<Slot>, same: impl Fn(u32, u32) -> bool) -> Self {
        listed.sort_unstable();
        for mut alike in listed.chunk_by_mut(|one, other| one.prefix == other.prefix) {
            while let Some((slot, later)) = alike.split_first_mut() {
                if later.iter().any(|other| same(other.record, slot.record)) {
                    slot.record = GONE;
                }
                alike = later;
            }
        }
        listed.retain(|slot| slot.record != GONE);
        Inputs { listed, ..Inputs::default() }
    }

    /// Where the slots of a prefix begin in the list. Prefixes are spread evenly, so the search starts at the
    /// expected place.
    fn begin(&self, prefix: u32) -> usize {
        let count = self.listed.len();
        let is_before = |at: usize| self.listed.get(at).is_some_and(|slot| slot.prefix < prefix);
        let guess = ((u64::from(prefix) * count as u64) >> u32::BITS) as usize;
        let (mut low, mut high, mut step) = (guess, guess, 1);
        while low > 0 && !is_before(low - 1) {
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 1;
        while high < count && is_before(high) {
            high = (high + step).min(count);
            step *= 2;
        }
        low + self.listed[low..high].partition_point(|slot| slot.prefix < prefix)
    }

    /// The places in the list of the slots of a prefix that are not gone.
    fn places(&self, prefix: u32) -> impl Iterator<Item = usize> + '_ {
        let begin = self.begin(prefix);
        let of_prefix = self.listed[begin..].iter().take_while(move |slot| slot.prefix == prefix);
        (begin..).zip(of_prefix).filter(|(_, slot)| slot.record != GONE).map(|(at, _)| at)
    }

    /// The record of an input. `is` says whether a record belongs to this input: it is called for the right record, and
    /// for one or none of a million others.
    pub(super) fn get(&self, input: InputHash, is: impl Fn(u32) -> bool) -> Option<u32> {
        let wanted = Slot::new(input, 0);
        let listed = self.places(wanted.prefix).map(|at| self.listed[at].record).find(|record| is(*record));
        listed.or_else(|| {
            let is_wanted = |slot: &Slot| slot.prefix == wanted.prefix && is(slot.record);
            self.added.find(wanted.hash(), is_wanted).map(|slot| slot.record)
        })
    }

    /// Adds the record of an input that has none.
    pub(super) fn add(&mut self, input: InputHash, record: u32) {
        if self.added.len() >= FEW.max(self.listed.len() / 8) {
            self.list();
        }
        let new = Slot::new(input, record);
        self.added.insert_unique(new.hash(), new, |slot| slot.hash());
    }

    /// Rebuilds the list from all slots.
    fn list(&mut self) {
        let mut listed = Vec::with_capacity(self.len());
        listed.extend(self.slots());
        listed.sort_unstable();
        *self = Inputs { listed, ..Inputs::default() };
    }

    /// Forgets a record of this input.
    pub(super) fn remove(&mut self, input: InputHash, record: u32) {
        let wanted = Slot::new(input, record);
        let listed = self.places(wanted.prefix).find(|at| self.listed[*at] == wanted);
        if let Some(at) = listed {
            self.listed[at].record = GONE;
            self.gone += 1;
        } else if let Ok(found) = self.added.find_entry(wanted.hash(), |slot| *slot == wanted) {
            found.remove();
        }
    }

    /// Forgets the records for which `is` is false.
    pub(super) fn retain(&mut self, is: impl Fn(u32) -> bool) {
        self.listed.retain(|slot| slot.record != GONE && is(slot.record));
        self.gone = 0;
        self.added.retain(|slot| is(slot.record));
    }

    fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.listed.iter().chain(&self.added).copied().filter(|slot| slot.record != GONE)
    }

    /// All records.
    pub(super) fn records(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots().map(|slot| slot.record)
    }

    /// Number of records.
    pub(super) fn len(&self) -> usize {
        self.listed.len() - self.gone + self.added.len()
    }
}

/// A set of records, one bit per record.
#[derive(Default)]
pub(in super::super) struct Records(Vec<u64>);

impl Records {
    /// Adds a record.
    pub(in super::super) fn add(&mut self, record: u32) {
        let at = (record / u64::BITS) as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (record % u64::BITS);
    }

    /// Whether the set has a record.
    pub(super) fn has(&self, record: u32) -> bool {
        self.0.get((record / u64::BITS) as usize).is_some_and(|word| word >> (record % u64::BITS) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap, HashSet};

    use proptest::prelude::*;

    use super::*;

    /// Some of these inputs differ only in bits that are not kept.
    fn input(n: u8) -> InputHash {
        InputHash([n % 5, 1, 2, 3, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    proptest! {
        #[test]
        fn it_is_a_map(ops in proptest::collection::vec((0u8..40, 0u8..4), 0..300)) {
            let (mut inputs, mut map) = (Inputs::default(), BTreeMap::<u8, u32>::new());
            // The input that the file would have for each record.
            let mut file: HashMap<u32, u8> = HashMap::new();
            for (record, (n, op)) in (0..).zip(ops) {
                if n == 0 {
                    inputs.list();
                }
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
            let kept = map.values().filter(|record| **record % 2 == 0).count();
            prop_assert!(inputs.records().all(|record| record % 2 == 0));
            prop_assert_eq!((inputs.len(), inputs.records().count()), (kept, kept));
        }

        #[test]
        fn of_several_records_of_an_input_the_last_counts(of in proptest::collection::vec(0u8..40, 0..200)) {
            let slots = (0..).zip(&of).map(|(record, n)| Slot::new(input(*n), record)).collect();
            let inputs = Inputs::of(slots, |one, other| of[one as usize] == of[other as usize]);
            for n in 0..40 {
                let last = of.iter().rposition(|other| *other == n).map(|at| at as u32);
                prop_assert_eq!(inputs.get(input(n), |record| of[record as usize] == n), last);
            }
            prop_assert_eq!(inputs.len(), of.iter().collect::<HashSet<_>>().len());
        }

        #[test]
        fn a_prefix_is_found_however_they_are_spread(mut of in proptest::collection::vec(any::<u32>(), 0..200), wanted in any::<u32>()) {
            of.extend([0, u32::MAX]);
            let input = |prefix: u32| InputHash(std::array::from_fn(|at| prefix.to_le_bytes()[at % 4]));
            let slots = (0..).zip(&of).map(|(record, prefix)| Slot::new(input(*prefix), record)).collect();
            let inputs = Inputs::of(slots, |_, _| false);
            for (record, prefix) in (0..).zip(&of) {
                prop_assert_eq!(inputs.get(input(*prefix), |found| found == record), Some(record));
            }
            prop_assert_eq!(inputs.get(input(wanted), |_| true).is_some(), of.contains(&wanted));
        }

        #[test]
        fn a_set_of_records_has_what_was_added(added in proptest::collection::hash_set(0u32..1000, 0..50)) {
            let mut records = Records::default();
            added.iter().for_each(|record| records.add(*record));
            prop_assert!((0..1100).all(|record| records.has(record) == added.contains(&record)));
        }
    }
}
