use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const DIMENSIONS: usize = 8;

fn vector() -> impl Strategy<Value = Vector> {
    let values = proptest::collection::vec(-127i8..=127, DIMENSIONS);
    (values, prop_oneof![Just(0.0f32), 0.001f32..0.01])
        .prop_map(|(values, scale)| Vector { values: values.into(), scale })
}

/// What `nearest` must give, the slow way.
fn brute(rows: &BTreeMap<Row, Vec<Vector>>, query: &Vector, k: usize) -> Vec<(Row, f32)> {
    let cosine = |v: &Vector| {
        let sum: i32 = v.values.iter().zip(&query.values).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        sum as f32 * v.scale * query.scale
    };
    let mut all: Vec<(Row, f32)> = rows
        .iter()
        .filter_map(|(row, vectors)| {
            let best = vectors.iter().filter(|v| v.scale != 0.0).map(cosine).reduce(f32::max)?;
            (query.scale != 0.0 && row % 3 != 0).then_some((*row, best))
        })
        .collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(k);
    all
}

proptest! {
    #[test]
    fn products_are_those_of_whole_numbers(
        values in proptest::collection::vec(any::<i8>(), 0..400),
        dimensions in 1usize..70,
        query in proptest::collection::vec(any::<i8>(), 70),
    ) {
        let query = &query[..dimensions];
        let product = |row: &[i8]| row.iter().zip(query).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum::<i64>();
        let mut products = vec![7];
        dots(query, &values, &mut products);
        let expected: Vec<i64> = values.chunks_exact(dimensions).map(product).collect();
        prop_assert_eq!(products.iter().map(|&product| i64::from(product)).collect::<Vec<_>>(), expected);
        dots(&[], &values, &mut products);
        prop_assert!(products.is_empty());
    }

    #[test]
    fn nearest_is_exact_after_any_edits(
        edits in proptest::collection::vec((0u32..400, proptest::collection::vec(vector(), 0..4)), 0..300),
        query in vector(),
        k in 0usize..40,
    ) {
        let (mut windows, mut free, mut rows) = (Windows::new(DIMENSIONS), FreeSlots::default(), BTreeMap::new());
        let half = edits.len() / 2;
        let mut kept = None;
        for (i, (row, vectors)) in edits.into_iter().enumerate() {
            if i == half {
                kept = Some((windows.clone(), rows.clone()));
            }
            windows.set(row, &vectors, &mut free);
            rows.insert(row, vectors);
        }
        for (windows, rows) in kept.into_iter().chain([(windows, rows)]) {
            let (allowed, blocks) = (|row: Row| !row.is_multiple_of(3), windows.blocks.len());
            prop_assert_eq!(windows.nearest(&query, &allowed, k), brute(&rows, &query, k));
            let [one, other] = [0..blocks / 2, blocks / 2..blocks].map(|half| windows.scan(half, &query, &allowed, k));
            prop_assert_eq!(one.join(other).finish(), brute(&rows, &query, k));
            for (row, vectors) in &rows {
                let usable: Vec<Vector> = vectors.iter().filter(|v| v.scale != 0.0).cloned().collect();
                prop_assert_eq!(windows.vectors(*row).collect::<Vec<_>>(), usable);
            }
        }
    }
}

#[test]
fn zero_vectors_and_vectors_of_another_length_are_never_found() {
    let (mut windows, mut free) = (Windows::new(2), FreeSlots::default());
    let vector = |values: &[i8], scale| Vector { values: values.into(), scale };
    windows.set(0, &[vector(&[1, 1], 0.0), vector(&[1, 1, 1], 1.0), vector(&[1, 1], f32::NAN)], &mut free);
    windows.set(1, &[vector(&[-100, 0], 0.01)], &mut free);
    let query = vector(&[100, 0], 0.01);
    assert_eq!(windows.nearest(&query, &|_| true, 10), vec![(1, -1.0)]);
    assert_eq!(windows.nearest(&vector(&[0, 0], 0.0), &|_| true, 10), vec![]);
    assert!(windows.cosine(&query, 0).abs() < f32::EPSILON);
    assert!((windows.cosine(&query, 1) + 1.0).abs() < 1e-6);
}

#[test]
fn slots_are_used_again() {
    let (mut windows, mut free) = (Windows::new(2), FreeSlots::default());
    for i in 0..100i8 {
        windows.set(
            7,
            &[Vector { values: [i, 1].into(), scale: 1.0 }, Vector { values: [1, i].into(), scale: 1.0 }],
            &mut free,
        );
    }
    assert_eq!(windows.blocks[0].owners.len(), 2);
    assert_eq!(windows.vectors(7).count(), 2);
}
