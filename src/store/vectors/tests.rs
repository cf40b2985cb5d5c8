use super::*;
use crate::tests::{DIMENSIONS, EMBEDDER, vector};

fn input(n: u8) -> InputHash {
    InputHash([n; 16])
}

fn open(dir: &Path) -> VectorFile {
    VectorFile::open_and_read(dir, EMBEDDER, DIMENSIONS, &|| true).unwrap()
}

fn put(file: &mut VectorFile, which: impl IntoIterator<Item = u8>) {
    let vectors: Vec<_> = which.into_iter().map(|n| (input(n), vector(n))).collect();
    file.put(&vectors).unwrap();
}

fn got(file: &mut VectorFile, n: u8) -> Option<Vector> {
    let read = file.get(input(n), false).map(|(_, vector)| vector);
    assert_eq!(file.get(input(n), true).map(|(_, vector)| vector), read);
    read
}

/// Gives up what is not one of these.
fn give_up(file: &mut VectorFile, live: &HashSet<InputHash>) {
    let mut named = Records::default();
    live.iter().filter_map(|input| file.record_of(*input, false)).for_each(|record| named.add(record));
    file.give_up(&named);
}

fn assert_has(file: &mut VectorFile, which: impl IntoIterator<Item = u8>) {
    for n in which {
        assert_eq!(got(file, n), Some(vector(n)), "{n}");
    }
}

#[test]
fn vectors_come_back_from_memory_and_from_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = open(dir.path());
    put(&mut file, 0..20);
    put(&mut file, 10..30);
    assert_has(&mut file, 0..30);
    file.sync().unwrap();
    let length = fs::metadata(&file.path).unwrap().len();
    assert_eq!(length, file.head + 30 * record_size(DIMENSIONS) as u64, "none is written twice");
    let mut file = open(dir.path());
    assert_eq!(file.len(), 30);
    assert_has(&mut file, 0..30);
    put(&mut file, 30..40);
    assert_has(&mut file, 0..40);
    assert_eq!(got(&mut file, 99), None);
    let zero = Vector { values: vec![0; DIMENSIONS].into(), scale: 0.0 };
    file.put(&[(input(98), zero.clone())]).unwrap();
    assert_eq!(got(&mut file, 98), Some(zero));
    let long = Vector { values: vec![0; DIMENSIONS + 1].into(), scale: 0.0 };
    assert!(file.put(&[(input(97), long)]).is_err());
}

#[test]
fn another_embedder_has_another_file() {
    let dir = tempfile::tempdir().unwrap();
    put(&mut open(dir.path()), 0..3);
    let names = [(EMBEDDER, DIMENSIONS), (EMBEDDER, 16), ("test-embedder/1", DIMENSIONS), ("日本語", 8)];
    let names: HashSet<_> = names.iter().map(|(identity, dims)| file_name(identity, *dims)).collect();
    assert_eq!(names.len(), 4);
    assert!(names.iter().all(|name| name.is_ascii() && !name.contains('/')), "{names:?}");
    assert_eq!(VectorFile::open_and_read(dir.path(), "other", DIMENSIONS, &|| true).unwrap().len(), 0);
    assert_has(&mut open(dir.path()), 0..3);
}

#[test]
fn torn_and_damaged_records_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = open(dir.path());
    put(&mut file, 0..4);
    let (path, head) = (file.path.clone(), file.head as usize);
    drop(file);
    let bytes = fs::read(&path).unwrap();
    let size = record_size(DIMENSIONS);
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let mut file = open(dir.path());
        let whole = length.saturating_sub(head) / size;
        assert_eq!(file.len(), whole, "cut at {length}");
        assert_has(&mut file, 0..whole as u8);
        put(&mut file, 4..6);
        assert_has(&mut open(dir.path()), (0..whole as u8).chain(4..6));
    }
    for at in 0..bytes.len() {
        let mut bad = bytes.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).unwrap();
        let mut file = open(dir.path());
        let hit = at.checked_sub(head).map(|at| (at / size) as u8);
        assert_has(&mut file, (0..4).filter(|n| Some(*n) != hit));
        assert!((0..4).all(|n| got(&mut file, n).is_none() == (Some(n) == hit)), "flipped at {at}");
        // A record that went bad is written again when its vector is made again.
        put(&mut file, 0..4);
        assert_has(&mut open(dir.path()), 0..4);
    }
}

#[test]
fn inputs_that_look_alike_in_memory_keep_their_own_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let alike = |n: u8| InputHash([7, 7, 7, 7, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut file = open(dir.path());
    for n in [1, 2, 1, 3] {
        file.put(&[(alike(n), vector(n))]).unwrap();
    }
    assert_eq!(file.records, 3, "each once");
    drop(file);
    let mut file = open(dir.path());
    assert!([1, 2, 3].iter().all(|n| file.get(alike(*n), true).is_some_and(|(_, found)| found == vector(*n))));
    assert!(!file.holds(alike(4)) && file.len() == 3);
}

#[test]
fn a_file_that_memory_has_no_room_for_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let input = |n: u32| InputHash([n.to_le_bytes(); 4].concat().try_into().unwrap());
    let vectors: Vec<_> = (0..70_000).map(|n| (input(n), vector(n as u8))).collect();
    open(dir.path()).put(&vectors).unwrap();
    let refused = VectorFile::open_and_read(dir.path(), EMBEDDER, DIMENSIONS, &|| false);
    assert!(matches!(refused, Err(StoreError::NoRoom)));
    assert_eq!(open(dir.path()).len(), vectors.len());
}

#[test]
fn a_record_that_goes_bad_while_open_is_not_handed_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = open(dir.path());
    put(&mut file, 0..2);
    write_all_at(&file.file, &[0x77; 4], file.head + 20).unwrap();
    assert_eq!(got(&mut file, 0), None);
    assert!(!file.holds(input(0)), "it is made again");
    assert_has(&mut file, [1]);
}

#[cfg(unix)] // Windows refuses to cut it.
#[test]
fn a_file_that_is_cut_while_open_shows_no_rows_and_loses_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let cache = crate::VectorCache::new(open(dir.path()));
    let inputs: Vec<_> = (1..5).map(input).collect();
    cache.put(&inputs.iter().map(|input| (*input, vector(input.0[0]))).collect::<Vec<_>>()).unwrap();
    let records: Vec<_> = cache.windows(&inputs).into_iter().flatten().map(|window| window.record).collect();
    assert_eq!(records, [Some(0), Some(1), Some(2), Some(3)]);
    let rows = index::Matrix::rows(&cache).unwrap();
    let is_shown = |n: u8| rows.get(n.into()) == Some((&*vector(n + 1).values, vector(n + 1).scale));
    assert!((0..4).all(is_shown) && rows.get(4).is_none());
    let path = dir.path().join(file_name(EMBEDDER, DIMENSIONS));
    let whole = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(whole - record_size(DIMENSIONS) as u64 - 1).unwrap();
    assert!(index::Matrix::rows(&cache).is_none());
    let found = cache.windows(&inputs).into_iter().map(|window| window.is_some()).collect::<Vec<_>>();
    assert_eq!(found, [true, true, false, false]);
    // What is made again goes where no other record is.
    cache.put(&[(input(4), vector(4))]).unwrap();
    assert_eq!(cache.get(input(4)), Some(vector(4)));
    drop((cache, rows));
    let mut file = open(dir.path());
    assert_has(&mut file, [1, 2, 4]);
    assert_eq!(got(&mut file, 3), None);
}

#[test]
fn compacting_drops_repeats_and_the_oldest_garbage() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = open(dir.path());
    put(&mut file, 0..20);
    let path = file.path.clone();
    drop(file);
    let live: HashSet<_> = [3, 18].map(input).into();
    compact(dir.path(), &live).unwrap();
    let mut file = open(dir.path());
    let kept: Vec<u8> = (0..20).filter(|n| got(&mut file, *n).is_some()).collect();
    assert_eq!(kept, [3, 15, 16, 17, 18, 19]);
    let before = fs::read(&path).unwrap();
    compact(dir.path(), &live).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before, "nothing is left to do");
    // A file without its header is left alone.
    fs::write(dir.path().join("vectors-x-8.bin"), "garbage").unwrap();
    compact(dir.path(), &live).unwrap();
    assert_eq!(fs::read(dir.path().join("vectors-x-8.bin")).unwrap(), b"garbage");
}

#[test]
fn those_that_nobody_names_are_written_over_and_the_file_grows_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = open(dir.path());
    let input = |n: u32| {
        let mut hash = [7; 16];
        hash[..4].copy_from_slice(&n.to_le_bytes());
        InputHash(hash)
    };
    let vector = |n: u32| vector((n % 251) as u8);
    // As notes are edited: 200 are named at a time, and each is replaced again and again.
    let mut live = HashSet::new();
    let mut lengths = Vec::new();
    for round in 0..200_u32 {
        let fresh: Vec<_> = (round * 100..round * 100 + 200).map(|n| (input(n), vector(n))).collect();
        file.put(&fresh).unwrap();
        live = fresh.iter().map(|(input, _)| *input).collect();
        give_up(&mut file, &live);
        for n in round * 100..round * 100 + 200 {
            let (record, found) = file.get(input(n), true).unwrap();
            let (rows, Vector { values, scale }) = (file.rows().unwrap(), vector(n));
            assert_eq!((&found, rows.get(record)), (&vector(n), Some((&*values, scale))), "{n}");
        }
        // What was given up in the last call is as it was.
        for record in &file.resting {
            let mut bytes = vec![0; record_size(DIMENSIONS)];
            read_exact_at(&file.file, &mut bytes, file.place(*record)).unwrap();
            assert!(input_of(&bytes).is_some_and(|input| !live.contains(&input)));
        }
        lengths.push(file.records);
    }
    // Those that are named, half as many and the spare, and the two hundred that rest or are free.
    assert_eq!(lengths.last(), lengths.get(60), "{lengths:?}");
    assert!(*lengths.last().unwrap() <= 200 + 100 + SPARE as u32 + 200, "{lengths:?}");
    let newest: Vec<u32> = (0..20_100).filter(|n| file.holds(input(*n))).collect();
    assert_eq!(newest.len(), 200 + 100 + SPARE);
    assert!(newest.windows(2).all(|two| two[0] + 1 == two[1]) && newest.last() == Some(&20_099), "the newest stay");
    file.sync().unwrap();
    drop(file);
    // After a restart the old records that are left are known again, until they are given up.
    let mut file = open(dir.path());
    assert!(live.iter().all(|input| file.get(*input, false).is_some()));
    give_up(&mut file, &live);
    assert!(live.iter().all(|input| file.get(*input, true).is_some()));
}
