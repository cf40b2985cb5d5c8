//! Kills and damage: copies of the files of an open store, cut and zeroed in every place, must open.

use std::collections::HashMap;

use super::*;
use crate::version::{PROGRAM, WRITTEN_BY};

const NOTES: u32 = 60;

pub(super) fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn name(n: u32) -> String {
    format!("folder {}/note {n:03}.md", n % 7)
}

/// A store with some history, still open.
fn written(dir: &Path) -> Store {
    let (store, _) = open(dir);
    store.apply_many((0..NOTES).map(|n| put(&name(n), 6, 0)).collect()).unwrap();
    for n in 0..NOTES {
        let (at, write) = put(&name(n), 6, 1);
        store.apply(&at, write).unwrap();
        if n % 10 == 0 {
            store.flush(false).unwrap();
        }
    }
    store.flush(true).unwrap();
    store
}

/// Whether a store that is opened without a scan is found to be whole by the scan that follows.
fn is_whole(dir: &Path) -> bool {
    let mut notes = Vec::new();
    let opened = Store::open_unscanned(dir, EMBEDDER, DIMENSIONS, &|| true, ReadInputs::AtOnce, || ());
    match opened
        .and_then(|(store, ())| store.scan(&|| true, &mut |batch| notes.extend(batch.decoded().map(|note| note.path))))
    {
        Ok(()) => assert_eq!(notes.len() as u32, NOTES),
        Err(StoreError::Damaged(..)) => return false,
        Err(error) => panic!("{error}"),
    }
    true
}

/// Opens what is left; whatever happened to the database, every paid context must be found, by the key of
/// both versions of its chunk.
fn must_open(dir: &Path, what: &str) -> Opened {
    let (store, opened) = open(dir);
    for n in 0..NOTES {
        for version in 0..2 {
            for key in paid_keys(&name(n), 6, version) {
                let found = store.archived(key).unwrap();
                assert!(found.is_some_and(|c| c.text.contains(&name(n))), "{what}: note {n}");
            }
        }
    }
    match &opened.quarantined {
        Some((moved, why)) => {
            assert!(moved.is_dir() && !why.is_empty(), "{what}");
            assert_eq!((opened.notes, opened.contexts_recovered), (0, u64::from(NOTES) * 3), "{what}");
        }
        None => assert_eq!(opened.notes, u64::from(NOTES), "{what}"),
    }
    // And it works.
    let (at, write) = put("after.md", 2, 0);
    let record = store.apply(&at, write).unwrap();
    assert_eq!(store.note(&at).unwrap(), Some(record), "{what}");
    opened
}

#[test]
fn a_killed_store_has_all_that_was_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let store = written(dir.path());
    let copy = tempfile::tempdir().unwrap();
    copy_all(dir.path(), copy.path());
    let expected = store.notes().unwrap();
    let (killed, opened) = open(copy.path());
    assert_eq!((opened.quarantined, opened.notes), (None, u64::from(NOTES)));
    assert_eq!((killed.notes().unwrap(), killed.seq()), (expected, store.seq()));
}

#[test]
fn a_damaged_database_is_moved_aside_and_no_paid_context_is_lost() {
    /// Places that are cut off, zeroed or overwritten, evenly over the file.
    const CASES: usize = 24;
    let dir = tempfile::tempdir().unwrap();
    let store = written(dir.path());
    // Several of sled's segments of half a megabyte.
    for version in 0..100 {
        store.apply_many((0..NOTES).map(|n| put(&name(n), 6, version % 2)).collect()).unwrap();
    }
    store.flush(true).unwrap();
    drop(store);
    // sled writes a snapshot of its page table as it opens. Before that, damage looks like an end of the
    // log; after it, damage is met by reading pages that the snapshot promises.
    for restarted in [false, true] {
        if restarted {
            drop(open(dir.path()));
        }
        let bytes = fs::read(dir.path().join("sled/db")).unwrap();
        let mut reasons = HashMap::<String, u32>::new();
        for case in 0..CASES {
            let copy = tempfile::tempdir().unwrap();
            copy_all(dir.path(), copy.path());
            let at = bytes.len() * case / CASES;
            fs::write(copy.path().join("sled/db"), damaged(&bytes, case % 3, at)).unwrap();
            let what = format!("case {case} at {at} of {}, restarted: {restarted}", bytes.len());
            if case % 2 == 0 {
                let tried = tempfile::tempdir().unwrap();
                copy_all(copy.path(), tried.path());
                let is_whole = is_whole(tried.path());
                let opened = must_open(tried.path(), &what);
                // One that sled does not open may open the next time.
                assert!(!is_whole || opened.quarantined.is_none(), "{what}: whole, and then not");
            }
            let opened = must_open(copy.path(), &what);
            *reasons.entry(opened.quarantined.map_or_else(String::new, |(_, why)| why)).or_default() += 1;
        }
        let said = |words: &str| reasons.keys().any(|why| why.contains(words));
        assert_eq!(said("had been on the disk"), !restarted, "{reasons:?}");
        assert_eq!(said("panicked at pagecache/") || said("corrupted data"), restarted, "{reasons:?}");
    }
}

fn damaged(bytes: &[u8], how: usize, at: usize) -> Vec<u8> {
    let mut bad = bytes.to_vec();
    let end = (at + 16 * 1024).min(bytes.len());
    match how {
        0 => bad.truncate(at),
        1 => bad[at..end].fill(0),
        _ => bad[at..end].iter_mut().for_each(|byte| *byte ^= 0xA5),
    }
    bad
}

#[test]
fn every_file_of_the_database_may_be_emptied_or_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    drop(written(dir.path()));
    let files: Vec<_> = fs::read_dir(dir.path().join("sled")).unwrap().map(|e| e.unwrap()).collect();
    for file in files.iter().filter(|file| file.file_type().unwrap().is_file()) {
        for content in [vec![], vec![0xFF; 4096]] {
            let copy = tempfile::tempdir().unwrap();
            copy_all(dir.path(), copy.path());
            let what = format!("{:?} with {} bytes", file.file_name(), content.len());
            fs::write(copy.path().join("sled").join(file.file_name()), content).unwrap();
            must_open(copy.path(), &what);
        }
    }
}

#[test]
fn records_that_do_not_decode_are_damage() {
    let dir = tempfile::tempdir().unwrap();
    drop(written(dir.path()));
    for (tree, key, value) in [
        ("notes", name(3).into_bytes(), vec![1; 40]),
        ("contexts", name(3).into_bytes(), codec::encode_contexts([]).unwrap()),
        ("archive", vec![1; 16], vec![]),
        ("archived", vec![1; 16], vec![]),
        ("archive keys", vec![1; 16], vec![]),
        ("archive keys", vec![1; 15], codec::seal(&[1_u8; 16]).unwrap()),
        ("meta", b"counters".to_vec(), vec![2; 20]),
        ("notes", vec![0xFF], vec![]),
    ] {
        let copy = tempfile::tempdir().unwrap();
        copy_all(dir.path(), copy.path());
        let db = sled::open(copy.path().join("sled")).unwrap();
        db.open_tree(tree).unwrap().insert(key, value).unwrap();
        db.flush().unwrap();
        drop(db);
        let opened = must_open(copy.path(), tree);
        assert!(opened.quarantined.is_some(), "{tree}");
        assert_eq!(quarantines(copy.path()), 1);
        assert_eq!(open(copy.path()).1.quarantined, None, "once is enough");
    }
}

#[test]
fn a_lost_journal_is_written_again_from_the_database() {
    let dir = tempfile::tempdir().unwrap();
    drop(written(dir.path()));
    fs::remove_file(dir.path().join(JOURNAL)).unwrap();
    drop(open(dir.path()));
    fs::remove_dir_all(dir.path().join("sled")).unwrap();
    let (store, opened) = open(dir.path());
    assert_eq!((opened.notes, opened.quarantined), (0, None));
    for n in 0..NOTES {
        for key in paid_keys(&name(n), 6, 1) {
            assert!(store.archived(key).unwrap().is_some());
        }
    }
}

/// The other half of the tests below: with the variable set it is a process of its own that writes until
/// it is killed or may not write on.
#[test]
fn child_that_writes() {
    let Some(dir) = std::env::var_os("SITUATED_STORE_TEST_DIR") else {
        return;
    };
    let store = match Store::open(Path::new(&dir), EMBEDDER, DIMENSIONS) {
        Ok((store, _)) => store,
        Err(error) => return println!("failed {error}"),
    };
    for version in 0.. {
        for n in 0..NOTES {
            let (at, write) = put(&name(n), 6, version % 2);
            match store.apply(&at, write).and_then(|_| store.flush(false)) {
                Ok(()) => println!("applied {}", store.seq()),
                Err(error) => {
                    println!("failed {error}");
                    return;
                }
            }
        }
    }
}

/// This program, as [`child_that_writes`]; with what `shell` says before.
fn child(dir: &Path, shell: Option<&str>) -> std::process::Child {
    let program = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new(if shell.is_some() { Path::new("sh") } else { &program });
    if let Some(shell) = shell {
        command.args(["-c", &format!("{shell} exec \"$0\" \"$@\"")]).arg(&program);
    }
    command
        .args(["tests::damage::child_that_writes", "--exact", "--nocapture"])
        .env("SITUATED_STORE_TEST_DIR", dir)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_process_that_is_killed_holds_the_lock_until_then_and_loses_nothing_flushed() {
    use std::io::BufRead;
    let dir = tempfile::tempdir().unwrap();
    let mut child = child(dir.path(), None);
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut last = 0;
    for line in &mut lines {
        if let Some(seq) = line.strip_prefix("applied ") {
            last = seq.parse().unwrap();
        }
        if last >= 100 {
            break;
        }
    }
    assert!(matches!(Store::open(dir.path(), EMBEDDER, DIMENSIONS), Err(StoreError::Locked(_))));
    child.kill().unwrap();
    child.wait().unwrap();
    let (store, opened) = open(dir.path());
    assert!(last >= 100 && store.seq() >= last, "{} of {last}", store.seq());
    assert_eq!((opened.notes, opened.quarantined), (u64::from(NOTES), None));
}

/// A limit on the size of files stands in for a full disk: writes fail, here with EFBIG. The smaller limit
/// stops the store from opening, the larger one from going on.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_and_no_damage() {
    use std::io::Read;
    for goes_on in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        drop(written(dir.path()));
        let size = |name: &str| fs::metadata(dir.path().join(name)).unwrap().len();
        let limit = if goes_on { size("sled/db") + (1 << 20) } else { size(JOURNAL) };
        let script = format!("trap '' XFSZ; ulimit -f {};", limit / 512);
        let mut child = child(dir.path(), Some(&script));
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        assert_eq!(said.contains("applied "), goes_on, "{said}");
        assert!(said.contains("failed "), "{said}");
        assert_eq!(quarantines(dir.path()), 0, "{said}");
        let opened = must_open(dir.path(), "after the limit");
        assert_eq!(opened.quarantined, None);
    }
}

/// Downgrading is no way to lose an index, nor to pay twice.
#[test]
fn what_a_newer_version_wrote_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    drop(written(dir.path()));
    let payload = b"what is not known yet";
    let sum = codec::checksum(&[&[9], payload]);
    let newer = [&[9], &sum[..], payload].concat();
    let put = |key: &str, bytes: &[u8]| {
        let db = sled::open(dir.path().join(compact::SLED)).unwrap();
        let before = db.open_tree("notes").unwrap().insert(key, bytes).unwrap();
        db.flush().unwrap();
        before.unwrap()
    };
    let before = put(&name(7), &newer);
    fs::write(dir.path().join(WRITTEN_BY), "9.1.0\n").unwrap();
    let error = Store::open(dir.path(), EMBEDDER, DIMENSIONS).err().unwrap().to_string();
    for said in [
        "a newer version of situated wrote it (9.1.0; this is",
        "records of version 9",
        "sled",
        "move this folder away",
    ] {
        assert!(error.contains(said), "{error}");
    }
    let moved =
        fs::read_dir(dir.path()).unwrap().flatten().any(|e| e.file_name().to_string_lossy().contains("damaged"));
    assert!(!moved, "it was taken for damage");
    // The newer version finds everything as it was.
    put(&name(7), &before);
    assert_eq!(must_open(dir.path(), "newer").quarantined, None);
    assert_eq!(fs::read_to_string(dir.path().join(WRITTEN_BY)).unwrap().trim(), PROGRAM, "who opened it last");
}

/// Whatever opens a database asks for room first: sled that finds none in the middle of it damages the database.
#[test]
#[cfg(target_os = "linux")]
fn on_a_full_disk_no_database_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    drop(written(dir.path()));
    let before = fs::read(dir.path().join("sled/db")).unwrap();
    let unscanned =
        || Store::open_unscanned(dir.path(), EMBEDDER, DIMENSIONS, &|| true, ReadInputs::AtOnce, || ()).err();
    let opens: [&dyn Fn() -> Option<StoreError>; 3] =
        [&|| Store::open(dir.path(), EMBEDDER, DIMENSIONS).err(), &unscanned, &|| compact(dir.path()).err()];
    for (at, opens) in opens.iter().enumerate() {
        // Whatever is written there finds no room.
        std::os::unix::fs::symlink("/dev/full", dir.path().join("probe.tmp")).unwrap();
        let said = opens().unwrap().to_string();
        assert!(said.contains("make room on the disk") && said.matches("the store").count() == 1, "{at}: {said}");
        assert!(fs::read(dir.path().join("sled/db")).unwrap() == before, "{at}: it was written to");
    }
    assert!(is_whole(dir.path()));
}

/// A power cut may cost both the end of the database and the journal.
#[test]
fn a_database_that_ends_too_early_gives_the_journal_what_was_paid_for() {
    let dir = tempfile::tempdir().unwrap();
    drop(written(dir.path()));
    let lock = fs::OpenOptions::new().read(true).write(true).open(dir.path().join(LOCK)).unwrap();
    mark::write(&lock, mark::read(&lock) + 7);
    fs::write(dir.path().join(JOURNAL), "").unwrap();
    let opened = must_open(dir.path(), "no journal");
    assert!(opened.quarantined.unwrap().1.starts_with("it ends at change"));
}
