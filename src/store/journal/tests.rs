use std::sync::mpsc;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::tests::{free, paid, section};
use note::fingerprint::{SectionKey, TextHash, context_key, text_hash};

fn texts(n: u8) -> (ContextKey, ContextRecord) {
    let hash = text_hash(&[n]);
    (context_key(&[section(n)], hash), paid(&[section(n)], hash, &format!("context {n}")))
}

/// A journal with the contexts 0..n, and where each frame begins.
fn written(path: &Path, n: u8) -> Vec<usize> {
    let (journal, _) = Journal::open(path).unwrap();
    for n in 0..n {
        let (key, context) = texts(n);
        assert_eq!(journal.append([(key, &context)]).unwrap(), 1);
    }
    scan(&fs::read(path).unwrap()).whole.iter().map(|(offset, _)| *offset).collect()
}

/// Bytes of the journal's file.
fn length(journal: &Journal) -> u64 {
    journal.with_entries(|entries| entries.length)
}

fn assert_has(journal: &Journal, wanted: impl IntoIterator<Item = u8>) {
    for n in wanted {
        let (key, context) = texts(n);
        assert_eq!(journal.get(key).unwrap(), Some(context), "{n}");
    }
}

#[test]
fn a_frame_torn_at_any_byte_is_cut_off_and_the_rest_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let last = *written(&path, 4).last().unwrap();
    let bytes = fs::read(&path).unwrap();
    for length in last..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let (journal, damaged) = Journal::open(&path).unwrap();
        assert_eq!((damaged, journal.len()), (0, 3), "cut at {length}");
        assert_eq!(fs::metadata(&path).unwrap().len(), last as u64);
        assert_has(&journal, 0..3);
        let (key, context) = texts(9);
        journal.append([(key, &context)]).unwrap();
        let (journal, damaged) = Journal::open(&path).unwrap();
        assert_eq!(damaged, 0);
        assert_has(&journal, [0, 1, 2, 9]);
    }
    // The file grew, the data did not come.
    let mut grown = bytes[..last].to_vec();
    grown.extend([0; 300]);
    fs::write(&path, &grown).unwrap();
    let (journal, damaged) = Journal::open(&path).unwrap();
    assert_eq!((damaged, journal.len(), length(&journal)), (0, 3, last as u64));
}

#[test]
fn a_damaged_frame_is_passed_over_and_left_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let starts = written(&path, 5);
    let bytes = fs::read(&path).unwrap();
    for at in starts[1]..starts[2] {
        let mut bad = bytes.clone();
        bad[at] ^= 0x55;
        fs::write(&path, &bad).unwrap();
        let (journal, damaged) = Journal::open(&path).unwrap();
        assert_eq!((damaged, journal.len()), (1, 4), "at {at}");
        assert_has(&journal, [0, 2, 3, 4]);
        assert_eq!(fs::read(&path).unwrap(), bad, "nothing is cut off");
    }
    // Damage at the end that no torn write explains stays too, and what is appended is found behind it.
    let mut bad = bytes.clone();
    bad[starts[4] + HEAD + 20] ^= 1;
    bad.extend(b"and something behind it");
    fs::write(&path, &bad).unwrap();
    let (journal, damaged) = Journal::open(&path).unwrap();
    assert_eq!((damaged, length(&journal)), (1, bad.len() as u64));
    let (key, context) = texts(9);
    journal.append([(key, &context)]).unwrap();
    assert_has(&journal, [0, 1, 2, 3, 9]);
    assert_has(&Journal::open(&path).unwrap().0, [0, 1, 2, 3, 9]);
}

#[test]
fn a_context_is_written_once_and_found_by_all_its_keys() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let (journal, _) = Journal::open(&path).unwrap();
    let (own, context) = texts(1);
    let edited = context_key(&[section(1)], text_hash(b"edited"));
    let again = context_key(&[section(1)], text_hash(b"edited again"));
    assert_eq!(journal.append([(edited, &context), (edited, &context), (again, &context)]).unwrap(), 1);
    let before = length(&journal);
    assert_eq!(journal.append([(again, &context), (own, &context)]).unwrap(), 0);
    assert_eq!(length(&journal), before, "nothing is new");
    assert_eq!(journal.append([(own, &free(&[], TextHash([0; 16])))]).unwrap(), 0, "free ones are not kept");
    let (journal, _) = Journal::open(&path).unwrap();
    assert_eq!(journal.len(), 1);
    for key in [own, edited, again] {
        assert_eq!(journal.get(key).unwrap().as_ref(), Some(&context));
    }
    assert_eq!(journal.newest_keys(), [again]);
}

#[test]
fn the_last_context_for_a_key_wins() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let (journal, _) = Journal::open(&path).unwrap();
    let (key, first) = texts(1);
    let second = ContextRecord { text: "better".into(), ..first.clone() };
    journal.append([(key, &first)]).unwrap();
    journal.append([(key, &second)]).unwrap();
    assert_eq!(journal.get(key).unwrap().as_ref(), Some(&second));
    let (journal, _) = Journal::open(&path).unwrap();
    assert_eq!(journal.get(key).unwrap().as_ref(), Some(&second));
    assert_eq!(journal.newest_keys(), [key]);
    // A chunk still holds the first one while the second waits to take its place: it does not come back in front.
    assert_eq!(journal.append([(key, &first)]).unwrap(), 0);
    assert_eq!(Journal::open(&path).unwrap().0.get(key).unwrap().as_ref(), Some(&second));
}

#[test]
fn all_contexts_of_a_key_stay_in_the_order_in_which_they_came() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let (mut journal, _) = Journal::open(&path).unwrap();
    let (key, a) = texts(1);
    let [b, c] = ["b", "c"].map(|text| ContextRecord { text: text.into(), ..a.clone() });
    let kept = |journal: &Journal| journal.all(key).0.into_iter().rev().map(|(context, _)| context).collect::<Vec<_>>();
    // Both orders within one call, and one that comes back.
    journal.append([(key, &a), (key, &b), (key, &a), (key, &a)]).unwrap();
    assert_eq!(kept(&journal), [b.clone(), a.clone()]);
    journal.append([(key, &c), (key, &b)]).unwrap();
    for step in 0..3 {
        assert_eq!(kept(&journal), [a.clone(), c.clone(), b.clone()], "step {step}");
        assert_eq!(journal.get(key).unwrap().as_ref(), Some(&b));
        assert!(journal.holds(key, &a).unwrap() && !journal.holds(texts(2).0, &a).unwrap());
        drop(journal);
        if step == 1 {
            compact(&path).unwrap();
        }
        journal = Journal::open(&path).unwrap().0;
    }
}

#[test]
fn compacting_loses_no_context_and_no_key() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("contexts.journal");
    let starts = written(&path, 5);
    let (journal, _) = Journal::open(&path).unwrap();
    let (_, context) = texts(1);
    let others: Vec<_> = (0..20u8).map(|n| context_key(&[SectionKey([7; 16])], text_hash(&[n, 7]))).collect();
    for key in &others {
        journal.append([(*key, &context)]).unwrap();
    }
    let (taken, first) = texts(2);
    journal.append([(taken, &ContextRecord { text: "taken over".into(), ..first.clone() })]).unwrap();
    drop(journal);
    // An entry of a version to come, and a damaged frame.
    let mut bytes = fs::read(&path).unwrap();
    let mut later = vec![9];
    later.extend(codec::checksum(&[&[9], b"unknown"]));
    later.extend(b"unknown");
    bytes.extend(frames::MAGIC);
    bytes.extend((later.len() as u32).to_le_bytes());
    bytes.extend(&later);
    bytes[starts[4] + HEAD + 15] ^= 1;
    fs::write(&path, &bytes).unwrap();
    compact(&path).unwrap();
    let (journal, damaged) = Journal::open(&path).unwrap();
    assert_eq!((damaged, journal.len()), (0, 5));
    assert_has(&journal, [0, 1, 3]);
    assert_eq!(journal.get(taken).unwrap().unwrap().text, "taken over");
    for key in &others {
        assert_eq!(journal.get(*key).unwrap().as_ref(), Some(&context));
    }
    assert!(journal.newest_keys().contains(&others[19]));
    let after = fs::read(&path).unwrap();
    assert!(after.len() < bytes.len() && after.windows(later.len()).any(|w| w == later));
    let kept = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path());
    let kept: Vec<_> = kept.filter(|p| p.to_string_lossy().contains(".damaged-")).collect();
    assert_eq!(fs::read(&kept[0]).unwrap(), bytes, "the damaged file stays");
    assert!(compact(&dir.path().join("none")).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_scan_and_open(bytes in proptest::collection::vec(any::<u8>(), 0..200), magic in any::<[u8; 5]>()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let mut all = bytes;
        for at in magic {
            all.splice(usize::from(at).min(all.len()).., []).for_each(drop);
            all.extend(frames::MAGIC);
            all.push(at);
        }
        fs::write(&path, &all).unwrap();
        let (journal, _) = Journal::open(&path).unwrap();
        let (key, context) = texts(1);
        journal.append([(key, &context)]).unwrap();
        prop_assert_eq!(Journal::open(&path).unwrap().0.get(key).unwrap(), Some(context));
    }
}

#[test]
fn only_who_names_a_context_that_is_not_on_the_disk_waits_for_the_disk() {
    /// Nothing is waited for that comes: whoever should wait is seen not to have ended by then.
    const MOMENT: Duration = Duration::from_millis(30);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    written(&path, 2);
    let (journal, _) = Journal::open(&path).unwrap();
    let note = VaultPath::parse("a.md").unwrap();
    let hold = &|n: u8| {
        let (key, context) = texts(n);
        journal.record(vec![NoteEvent::Held { path: &note, tags: &[], contexts: vec![(key, &context)] }])
    };
    // The disk is slow.
    let slow = journal.syncing.lock();
    std::thread::scope(|threads| {
        let (ends, ended) = mpsc::channel();
        let (pays, ends_too) = (ends.clone(), ends);
        let (key, context) = texts(5);
        let pay = &journal;
        threads.spawn(move || pays.send(pay.append([(key, &context)])).unwrap());
        while !journal.contains(key) {
            std::thread::yield_now();
        }
        let before = length(&journal);
        assert_has(&journal, [0, 1, 5]);
        assert_eq!(hold(0).unwrap(), 0);
        assert!(length(&journal) > before, "a note holds it now, and nobody waited");
        threads.spawn(move || ends_too.send(hold(5)).unwrap());
        assert!(ended.recv_timeout(MOMENT).is_err(), "both rely on a context that a crash might still take");
        drop(slow);
        let mut added = [ended.recv().unwrap().unwrap(), ended.recv().unwrap().unwrap()];
        added.sort_unstable();
        assert_eq!(added, [0, 1]);
    });
    assert!(journal.synced.load(Ordering::Relaxed) >= journal.with_entries(|entries| entries.places()[2].offset));
}
