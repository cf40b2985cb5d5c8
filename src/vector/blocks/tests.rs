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
            prop_assert!(blocks.numbered().map(|(at, item)| (at, *item)).eq(map.iter().map(|(at, item)| (*at, *item))));
            prop_assert!(map.keys().all(|at| *at < blocks.end()));
            let again: Blocks<u16> = (0..blocks.end()).map(|at| blocks.get(at).copied()).collect();
            prop_assert!(again.numbered().eq(blocks.numbered()));
        }
    }
}

proptest! {
    #[test]
    fn the_items_of_another_table_take_the_places_of_those_that_are_there(
        mut ours in proptest::collection::btree_map(0u32..2000, any::<u16>(), 0..60),
        others in proptest::collection::btree_map(0u32..2000, any::<u16>(), 0..60),
    ) {
        let blocks = |map: &BTreeMap<u32, u16>| {
            let mut blocks = Blocks::default();
            map.iter().for_each(|(at, item)| assert_eq!(blocks.set(*at, Some(*item)), None));
            blocks
        };
        let (mut all, before) = (blocks(&ours), blocks(&ours));
        let copy = all.clone();
        all.append(blocks(&others));
        ours.extend(others);
        prop_assert!(all.numbered().eq(blocks(&ours).numbered()));
        prop_assert!(copy.numbered().eq(before.numbered()), "a clone does not change");
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
