//! Tables that were saved at the end and are restored at the next start.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::super::testing::{chunks, note};
use super::super::*;
use super::{finds, open};
use note::fingerprint::TextHash;
use note::{FileStat, OwnDays, VaultPath};

const STAMP: Stamp = [7; 16];

/// Everything that a snapshot says of its notes and chunks.
fn shown(snapshot: &Snapshot) -> Vec<String> {
    let of_chunk = |row: Row| {
        let chunk = snapshot.chunk(row);
        let found = chunk.and_then(|chunk| snapshot.row_of(chunk.id));
        format!("{row} {chunk:?} {found:?} {:?} {:?}", snapshot.heading_path(row), snapshot.vectors(row))
    };
    let of_note = |note: &std::sync::Arc<NoteEntry>| {
        let linking = (snapshot.backlinks(note.no, &Cancel::default()), snapshot.bearing(note.title()));
        format!("{note:?} {linking:?} {:?}", snapshot.note_at(&note.path).map(|note| note.no))
    };
    let counts = format!("{} {} {}", snapshot.note_count(), snapshot.chunk_count(), snapshot.rows());
    let rows = 0..snapshot.rows() as Row;
    snapshot.notes().map(of_note).chain(rows.map(of_chunk)).chain([counts]).collect()
}

/// A note that says a lot of itself.
fn rich(no: NoteNo, seq: u64) -> NoteEntry {
    let day = |day: i8| jiff::civil::date(2026, 11, day);
    let said = Said {
        title: "Größe & form",
        kind: Some("daily"),
        properties: r#"{"rating":5}"#,
        aliases: &["another"],
        tags: &["a/b", "c"],
        links: &["note 1", "2.md"],
    };
    NoteEntry {
        stat: FileStat { size: 1 << 40, mtime_ns: -7, ctime_ns: i64::MAX, dev: u64::MAX, ino: 3 },
        hash: TextHash([9; 16]),
        texts: said.pack(),
        days: OwnDays { about: Some(day(27)), created: None, modified: Some(jiff::civil::date(-5, 1, 2)) },
        conflict: true,
        ..note(no, seq, &format!("folder/{no}.md"))
    }
}

/// An index of three notes, one of which has been replaced and one removed, so that rows are free.
fn built(dir: &Path) -> Index {
    let mut index = open(dir);
    for no in 1..=4 {
        let texts = [&["apples", "pears", "plums"][..], &["one"], &[], &["four", "more"]][no as usize - 1];
        index.put(note(no, no.into(), &format!("note {no}.md")), chunks(no, texts)).unwrap();
    }
    index.put(rich(2, 5), chunks(2, &["rich one", "rich two"])).unwrap();
    index.remove(1).unwrap();
    index
}

#[test]
fn what_was_saved_is_restored_once_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = built(dir.path());
    let before = index.publish(5).unwrap();
    let mut index = saved_and_restored(index, dir.path());
    let restored = index.publish(5).unwrap();
    assert_eq!(shown(&restored), shown(&before));
    let used = dir.path().join("tables.used");
    let was_there = used.exists();
    index.check().unwrap();
    assert!(was_there && !used.exists(), "the check removes what was read");
    assert_eq!(finds(&restored, "rich more apples"), ["2:0", "2:1", "4:1"]);
    assert!(index.confirm(2, 5, 2) && index.confirm(4, 4, 2));
    assert_eq!(index.drop_unknown().unwrap(), 0);

    // It takes free rows again, and forgets nothing that it was asked to forget.
    index.put(note(7, 6, "7.md"), chunks(7, &["seven", "apples"])).unwrap();
    index.remove(2).unwrap();
    let after = index.publish(7).unwrap();
    assert_eq!(after.rows(), restored.rows(), "no row is added");
    assert_eq!((finds(&after, "rich apples more"), after.note_count()), (vec!["4:1".to_owned(), "7:1".to_owned()], 3));
    assert!(after.bearing("another").is_empty() && restored.bearing("another") == [2]);

    assert!(!restores(&mut open_again(index, dir.path()), &STAMP), "a file serves one start");
}

/// Whether tables with this stamp are there.
fn restores(index: &mut Index, stamp: &Stamp) -> bool {
    index.read_saved();
    index.restore(stamp)
}

/// The index after a clean stop and a start, with the tables that were saved.
fn saved_and_restored(mut index: Index, dir: &Path) -> Index {
    index.sync().unwrap();
    index.save(&STAMP).unwrap();
    let mut index = open_again(index, dir);
    assert!(restores(&mut index, &STAMP));
    index
}

fn open_again(index: Index, dir: &Path) -> Index {
    drop(index);
    open(dir)
}

#[test]
fn what_is_not_what_was_saved_is_not_restored() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = built(dir.path());
    index.publish(5).unwrap();
    index.sync().unwrap();
    let file = dir.path().join("tables");
    index.save(&STAMP).unwrap();
    let saved = fs::read(&file).unwrap();
    let restores_from = |index: &mut Index, bytes: &[u8], stamp: &Stamp| {
        fs::write(&file, bytes).unwrap();
        let restored = restores(index, stamp);
        assert!(!file.exists());
        restored
    };
    let mut index = open_again(index, dir.path());
    assert!(!restores_from(&mut index, &saved, &[8; 16]), "another stamp");
    assert!(!restores_from(&mut index, b"", &STAMP) && !restores_from(&mut index, &[0; 999], &STAMP));
    for at in 0..saved.len() {
        let mut wrong = saved.clone();
        wrong[at] ^= 0x81;
        assert!(!restores_from(&mut index, &wrong, &STAMP), "byte {at}");
        assert!(!restores_from(&mut index, &saved[..at], &STAMP), "{at} bytes");
    }
    assert_eq!(index.publish(5).unwrap().note_count(), 0, "nothing has changed");
    assert!(restores_from(&mut index, &saved, &STAMP));
    assert!(!index.restore(&STAMP), "they are restored once");

    // Vectors of other dimensions.
    drop(index);
    fs::write(&file, &saved).unwrap();
    assert!(!restores(&mut Index::open(dir.path(), 3).unwrap(), &STAMP));

    // Words that were thrown away.
    fs::write(&file, &saved).unwrap();
    fs::write(dir.path().join("words/format"), "situated words 0\n").unwrap();
    let mut index = open(dir.path());
    assert!(index.rebuilt().is_some() && !restores(&mut index, &STAMP));
}

#[test]
fn a_disk_that_takes_no_more_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = built(dir.path());
    index.publish(5).unwrap();
    // A folder where the new file belongs.
    fs::create_dir(dir.path().join("tables.new")).unwrap();
    assert!(index.save(&STAMP).is_err());
    assert!(!dir.path().join("tables").exists());
}

#[test]
fn restored_tables_know_what_the_store_has() {
    let dir = tempfile::tempdir().unwrap();
    let index = &mut built(dir.path());
    let snapshot = index.publish(5).unwrap();
    let path = VaultPath::parse("folder/2.md").unwrap();
    let NoteEntry { stat, hash, .. } = rich(2, 5);
    let rows = snapshot.note(2).unwrap().rows.iter();
    let ids: Vec<_> = rows.map(|row| snapshot.chunk(row).unwrap().id).collect();
    let has = |numbers, stat: &FileStat, hash, ids: &[_], records: &[u32]| {
        let chunks: Vec<_> = ids.iter().map(|id| (*id, records)).collect();
        snapshot.has(numbers, (&path, stat, hash), chunks.into_iter())
    };
    // Their vectors are in no matrix, so a store that has a record for each has something else.
    assert!(!has((2, 5), &stat, &hash, &ids, &[0]) && !has((2, 5), &stat, &hash, &ids, &[]));
    index.set_matrix(std::sync::Arc::new(NoRows));
    let entry = |at: u32| ChunkEntry { id: ids[at as usize], note: 2, position: at, span: (0, 1), lines: (1, 1) };
    let window = |at: u32| WindowVector::at(Some(40 + at), super::super::testing::vector(1, 1));
    index.load(rich(2, 5), (0..2).map(|at| (entry(at), vec![window(at)])).collect());
    let snapshot = index.publish(5).unwrap();
    let has = |numbers, path: &VaultPath, stat: &FileStat, hash: &TextHash, records: [u32; 2]| {
        let chunks = ids.iter().zip(&records).map(|(id, record)| (*id, std::slice::from_ref(record)));
        snapshot.has(numbers, (path, stat, hash), chunks)
    };
    assert!(has((2, 5), &path, &stat, &hash, [40, 41]));
    assert!(!has((2, 6), &path, &stat, &hash, [40, 41]) && !has((3, 5), &path, &stat, &hash, [40, 41]));
    assert!(!has((2, 5), &VaultPath::parse("2.md").unwrap(), &stat, &hash, [40, 41]));
    assert!(!has((2, 5), &path, &FileStat { size: 1, ..stat }, &hash, [40, 41]));
    assert!(!has((2, 5), &path, &stat, &TextHash::UNKNOWN, [40, 41]) && !has((2, 5), &path, &stat, &hash, [40, 42]));
    let one = [(ids[0], &[40u32][..])];
    assert!(!snapshot.has((2, 5), (&path, &stat, &hash), one.into_iter()), "a chunk is missing");
}

/// A matrix that shows nothing.
struct NoRows;

impl Matrix for NoRows {
    fn rows(&self) -> Option<Rows> {
        None
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_tables_are_restored(
        puts in proptest::collection::vec((1u32..9, proptest::option::weighted(0.8, 0usize..4)), 0..30),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut index = open(dir.path());
        for (seq, (no, put)) in (1..).zip(puts) {
            match put {
                Some(count) => index.put(rich(no, seq), chunks(no, &["a", "b", "c"][..count])).unwrap(),
                None => index.remove(no).unwrap(),
            }
        }
        let before = index.publish(99).unwrap();
        let mut index = saved_and_restored(index, dir.path());
        prop_assert_eq!(shown(&index.publish(99).unwrap()), shown(&before));
    }
}
