use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;

use parking_lot::Mutex;
use platform::files::Mapped;
use proptest::prelude::*;

use super::dot::{dots, dots_of};
use super::*;
use crate::Allowed;

const DIMENSIONS: usize = 8;

fn vector() -> impl Strategy<Value = Vector> {
    let values = proptest::collection::vec(-127i8..=127, DIMENSIONS);
    // Made of whole numbers: an assertion in proptest's own ranges of floats fails once in some 100,000 cases.
    (values, prop_oneof![Just(0.0f32), (1000u16..10_000).prop_map(|millionths| f32::from(millionths) * 1e-6)])
        .prop_map(|(values, scale)| Vector { values: values.into(), scale })
}

/// Vectors that lie in no matrix.
fn given(vectors: &[Vector]) -> Vec<WindowVector> {
    vectors.iter().cloned().map(WindowVector::from).collect()
}

/// A file with a row for each vector that was added, which can be cut.
struct Table {
    file: Arc<File>,
    vectors: Mutex<Vec<Vector>>,
}

/// What stands before each row of it: something else, and its factor.
const BEFORE: usize = 3 + 4;

impl Table {
    fn new() -> Self {
        Table { file: Arc::new(tempfile::tempfile().unwrap()), vectors: Mutex::default() }
    }

    fn end(rows: usize) -> usize {
        rows * (BEFORE + DIMENSIONS)
    }

    /// The vectors, every second of which lies in the file from now on.
    fn add(&self, vectors: &[Vector]) -> Vec<WindowVector> {
        let mut all = self.vectors.lock();
        let add = |(at, vector): (usize, &Vector)| {
            let record = (at % 2 == 0 && vector.values.len() == DIMENSIONS).then(|| {
                (&*self.file).write_all(&[7; 3]).unwrap();
                (&*self.file).write_all(&vector.scale.to_le_bytes()).unwrap();
                (&*self.file).write_all(&vector.values.iter().map(|v| v.cast_unsigned()).collect::<Vec<_>>()).unwrap();
                all.push(vector.clone());
                all.len() as u32 - 1
            });
            WindowVector::at(record, vector.clone())
        };
        vectors.iter().enumerate().map(add).collect()
    }
}

impl Matrix for Table {
    fn rows(&self) -> Option<Rows> {
        let bytes = Some(Mapped::of(&self.file, Table::end(self.vectors.lock().len())).ok()?);
        Some(Rows { bytes, first: BEFORE, stride: BEFORE + DIMENSIONS, dimensions: DIMENSIONS })
    }
}

/// The windows, and the free slots, as another process reads them.
fn saved_and_restored(windows: &Windows) -> (Windows, FreeSlots) {
    let mut bytes = Vec::new();
    windows.save(&mut bytes).unwrap();
    let mut rest = &*bytes;
    let restored = windows.restored(&mut rest).expect("what was saved");
    assert!(rest.is_empty());
    for cut in 0..bytes.len().min(40) {
        assert!(
            windows.restored(&mut &bytes[..cut]).is_none()
                && windows.restored(&mut &bytes[..bytes.len() - cut - 1]).is_none()
        );
    }
    assert!(Windows::new(DIMENSIONS + 1, None).restored(&mut &*bytes).is_none());
    restored
}

/// A filter.
const NO_THIRD: &Allowed<'_> = &|row| !row.is_multiple_of(3);

/// What `nearest` must give, the slow way.
fn brute(
    rows: &BTreeMap<Row, Vec<Vector>>,
    query: &Vector,
    k: usize,
    allowed: Option<&Allowed<'_>>,
) -> Vec<(Row, f32)> {
    let cosine = |v: &Vector| {
        let sum: i32 = v.values.iter().zip(&query.values).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        sum as f32 * v.scale * query.scale
    };
    let mut all: Vec<(Row, f32)> = rows
        .iter()
        .filter_map(|(row, vectors)| {
            let best = vectors.iter().filter(|v| v.scale != 0.0).map(cosine).reduce(f32::max)?;
            (query.scale != 0.0 && allowed.is_none_or(|allowed| allowed(*row))).then_some((*row, best))
        })
        .collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(k);
    all
}

/// What a search finds of [`NO_THIRD`]: in so many parts, with a second look at `most` windows or with one look.
fn found(windows: &Windows, query: &Vector, k: usize, most: Option<usize>, parts: usize) -> Vec<(Row, f32)> {
    found_of(windows, query, k, most, parts, Some(NO_THIRD))
}

/// As [`found`], of what is allowed.
fn found_of(
    windows: &Windows,
    query: &Vector,
    k: usize,
    most: Option<usize>,
    parts: usize,
    allowed: Option<&Allowed<'_>>,
) -> Vec<(Row, f32)> {
    let mut all = Width::all().into_iter().map(|width| {
        let scan = Scan::looking(windows, query, k, most, width);
        let end = scan.whole().end;
        let part = |part: usize| scan.part(end * part / parts..end * (part + 1) / parts, allowed);
        let found = (0..parts).map(part).reduce(|one, other| one.join(other)).expect("a part");
        scan.finish(found)
    });
    let one = all.next().expect("a width");
    for other in all {
        assert_eq!(one, other, "it is the same however wide the loops are");
    }
    one
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
        let rows: Vec<&[i8]> = values.chunks_exact(dimensions).collect();
        let expected: Vec<i64> = rows.iter().map(|row| product(row)).collect();
        for width in Width::all() {
            let mut products = vec![7];
            dots(width, query, &values, &mut products);
            prop_assert_eq!(products.iter().map(|&product| i64::from(product)).collect::<Vec<_>>(), &expected[..]);
            dots_of(width, query, &rows, &mut products);
            prop_assert_eq!(products.iter().map(|&product| i64::from(product)).collect::<Vec<_>>(), &expected[..]);
            dots(width, &[], &values, &mut products);
            prop_assert!(products.is_empty());
        }
    }

    #[test]
    fn nearest_is_exact_after_any_edits(
        edits in proptest::collection::vec((0u32..400, proptest::collection::vec(vector(), 0..4)), 0..300),
        query in vector(),
        k in 0usize..40,
        parts in 1usize..4,
        filtered in any::<bool>(),
    ) {
        let table = Arc::new(Table::new());
        let mut windows = Windows::new(DIMENSIONS, Some(table.clone()));
        let (mut free, mut rows) = (FreeSlots::default(), BTreeMap::new());
        let half = edits.len() / 2;
        let (mut kept, mut restored) = (None, None);
        for (i, (row, vectors)) in edits.into_iter().enumerate() {
            if i == half {
                kept = Some((windows.clone(), rows.clone()));
                restored = Some(saved_and_restored(&windows));
            }
            let mut given = table.add(&vectors);
            if i % 2 == 1 {
                // As at a start: without the values of those that lie in the file.
                given.iter_mut().for_each(|window| windows.coder().prepare(window));
            }
            windows.set(row, &given, &mut free);
            if let Some((windows, free)) = &mut restored {
                windows.set(row, &given, free);
            }
            rows.insert(row, vectors);
        }
        let restored = restored.map(|(windows, _)| (windows, rows.clone()));
        for (windows, rows) in kept.into_iter().chain(restored).chain([(windows, rows)]) {
            let allowed = filtered.then_some(NO_THIRD);
            let expected = brute(&rows, &query, k, allowed);
            prop_assert_eq!(&found_of(&windows, &query, k, None, parts, allowed), &expected);
            // As many as there are: all of them are looked at again.
            let all = Some(windows.blocks.len() * BLOCK);
            prop_assert_eq!(&found_of(&windows, &query, k, all, parts, allowed), &expected);
            let these = rows.keys().copied().filter(|row| allowed.is_none_or(|allowed| allowed(*row)));
            prop_assert_eq!(&windows.scan(&query, k).among(these), &expected);
            for (row, vectors) in &rows {
                let usable: Vec<Vector> = vectors.iter().filter(|v| v.scale != 0.0).cloned().collect();
                prop_assert!(windows.vectors(*row).iter().map(|window| &window.vector).eq(&usable));
            }
        }
    }

    #[test]
    fn what_the_second_look_finds_has_its_exact_cosine_and_is_the_same_in_parts(
        vectors in proptest::collection::vec(vector(), 300..700),
        query in vector(),
        k in 1usize..20,
        most in 0usize..300,
        parts in 1usize..4,
    ) {
        let (mut windows, mut free) = (Windows::new(DIMENSIONS, None), FreeSlots::default());
        for (row, vectors) in (0..).zip(vectors.chunks(2)) {
            windows.set(row, &given(vectors), &mut free);
        }
        let hits = found(&windows, &query, k, Some(most), parts);
        prop_assert_eq!(&hits, &found(&windows, &query, k, Some(most), 1));
        prop_assert!(hits.len() <= k.min(most));
        prop_assert!(hits.iter().all(|(row, cosine)| row % 3 != 0 && *cosine <= windows.cosines(&query, &[*row])[0]));
        let exact = brute(&(0..).zip(vectors.chunks(2).map(<[Vector]>::to_vec)).collect(), &query, k, Some(NO_THIRD));
        prop_assert!(hits.iter().zip(&exact).all(|(hit, best)| hit.1 <= best.1), "nothing is better than the best");
    }
}

#[test]
fn a_large_matrix_is_looked_at_twice_and_what_is_near_is_found() {
    let (mut windows, mut free) = (Windows::new(100, None), FreeSlots::default());
    let mut random = 1u64;
    let mut vector = |near: Option<&Vector>| {
        let noise = (0..100).map(|at| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 40) as f32 / 8_388_608.0 - 1.0
                + near.map_or(0.0, |near: &Vector| f32::from(near.values[at]) / 30.0)
        });
        Vector::normalised(&noise.collect::<Vec<_>>()).expect("numbers")
    };
    let query = vector(None);
    for row in 0..3000 {
        let near = row % 100 == 7;
        windows.set(row, &[vector(near.then_some(&query)).into()], &mut free);
    }
    // Where a search looks twice, what a filter leaves is looked at alone up to a number that grows with what is wanted.
    assert!(windows.few(30) == 2 * windows.few(15) && windows.few(2000) < 3000);
    let near: Vec<Row> = (0..30).map(|at| at * 100 + 7).collect();
    let scan = windows.scan(&query, 30);
    let found = scan.finish(scan.part(scan.whole(), None));
    assert!(matches!(scan.part(scan.whole(), None).0, scan::Part::Likely(_)));
    let mut rows: Vec<Row> = found.iter().map(|(row, _)| *row).collect();
    rows.sort_unstable();
    assert_eq!(rows, near);
    assert!(found.iter().all(|(row, cosine)| cosine.to_bits() == windows.cosines(&query, &[*row])[0].to_bits()));
    // Of what a filter leaves nothing is lost, however far it is.
    let far = |row: Row| row.is_multiple_of(300);
    let all = scan.finish(scan.part(scan.whole(), Some(&far)));
    assert_eq!(all, scan.among((0..3000).filter(|row| far(*row))));
    assert_eq!(all.len(), 10);
    windows.clear(7, &mut free);
    let scan = windows.scan(&query, 30);
    let found = scan.finish(scan.part(scan.whole(), None));
    assert!(found.iter().all(|(row, _)| *row != 7));
    let everything = windows.scan(&query, 2000);
    assert!(matches!(everything.part(everything.whole(), None).0, scan::Part::Best(_)));
}

#[test]
fn zero_vectors_and_vectors_of_another_length_are_never_found() {
    let (mut windows, mut free) = (Windows::new(2, None), FreeSlots::default());
    let vector = |values: &[i8], scale| Vector { values: values.into(), scale };
    windows.set(0, &given(&[vector(&[1, 1], 0.0), vector(&[1, 1, 1], 1.0), vector(&[1, 1], f32::NAN)]), &mut free);
    windows.set(1, &given(&[vector(&[-100, 0], 0.01)]), &mut free);
    let query = vector(&[100, 0], 0.01);
    for most in [None, Some(10)] {
        assert_eq!(found(&windows, &query, 10, most, 1), vec![(1, -1.0)]);
        assert_eq!(found(&windows, &vector(&[0, 0], 0.0), 10, most, 1), vec![]);
        assert_eq!(found(&Windows::new(0, None), &vector(&[], 1.0), 10, most, 1), vec![]);
        assert_eq!(found(&Windows::new(2, None), &query, 10, most, 1), vec![]);
    }
    assert_eq!(windows.scan(&vector(&[0, 0], 0.0), 10).among(0..2), vec![]);
    assert!(windows.cosines(&query, &[0])[0].abs() < f32::EPSILON);
    assert!((windows.cosines(&query, &[1])[0] + 1.0).abs() < 1e-6);
}

#[test]
fn of_a_file_that_was_cut_nothing_is_looked_at() {
    let table = Arc::new(Table::new());
    let (mut windows, mut free) = (Windows::new(DIMENSIONS, Some(table.clone())), FreeSlots::default());
    let vector = |x: i8| Vector { values: [x, 1, 0, 0, 0, 0, 0, 0].into(), scale: 0.01 };
    for row in 0..10 {
        windows.set(row, &table.add(&[vector(row as i8)]), &mut free);
    }
    windows.set(10, &given(&[vector(3)]), &mut free);
    let query = vector(50);
    assert_eq!(found(&windows, &query, 20, None, 2).len(), 7, "all that the test's filter lets through");
    // Unix lets a mapped file be cut; Windows refuses.
    if cfg!(unix) {
        table.file.set_len(5).unwrap();
        let near = 151.0 * 0.01 * 0.01;
        for most in [None, Some(20)] {
            assert_eq!(found(&windows, &query, 20, most, 2), [(10, near)], "its values are here");
        }
        assert!(windows.vectors(1).is_empty() && windows.vectors(10).len() == 1);
        assert!(windows.cosines(&query, &[1, 10]) == [0.0, near]);
    }
}

#[test]
fn slots_are_used_again() {
    let (mut windows, mut free) = (Windows::new(2, None), FreeSlots::default());
    for i in 0..100i8 {
        windows.set(
            7,
            &given(&[Vector { values: [i, 1].into(), scale: 1.0 }, Vector { values: [1, i].into(), scale: 1.0 }]),
            &mut free,
        );
    }
    assert_eq!(windows.blocks[0].used, 2);
    assert_eq!(windows.vectors(7).len(), 2);
}
