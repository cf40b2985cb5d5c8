use super::*;
use crate::journal::Journal;
use crate::tests::{paid, section};
use note::fingerprint::{context_key, text_hash};

#[test]
fn a_store_is_looked_at_and_rehearsed_without_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!((look(dir.path()), rehearse(dir.path(), 1 << 30)), (Looked::default(), None), "nothing is there");
    let store = dir.path().join("store");
    let (opened, _) = crate::Store::open(&store, "e", 4).unwrap();
    opened.flush(true).unwrap();
    drop(opened);
    let before = look(&store);
    assert!(before.bytes > 0 && before.moved_aside.is_empty(), "{before:?}");
    assert_eq!(rehearse(&store, 1 << 30), Some(Ok(0)));
    assert_eq!(rehearse(&store, 1), None, "too much to copy");
    assert_eq!(look(&store), before);
    let database = sled::open(store.join("sled")).unwrap();
    database.open_tree("meta").unwrap().insert("counters", vec![2; 20]).unwrap();
    drop(database);
    assert!(matches!(rehearse(&store, 1 << 30), Some(Err(_))));
    std::fs::create_dir(store.join("sled.damaged-1")).unwrap();
    std::fs::write(store.join(JOURNAL), "no frames").unwrap();
    let damaged = look(&store);
    assert_eq!((damaged.moved_aside.len(), damaged.journal.is_some()), (1, true));
}

#[test]
fn a_store_that_is_open_is_in_use_and_so_is_the_folder_above_it() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!is_in_use(&dir.path().join("nothing")));
    let (opened, _) = crate::Store::open(&dir.path().join("a/store"), "e", 4).unwrap();
    assert!(is_in_use(dir.path()) && is_in_use(&dir.path().join("a/store")));
    drop(opened);
    assert!(!is_in_use(dir.path()));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_the_journal_is_told_of_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(JOURNAL);
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(matches!(look(dir.path()).journal, Some(Err(_))));
    assert!(journaled(dir.path()).is_err());
}

#[test]
fn the_last_context_under_each_key_is_found_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(journaled(dir.path()).unwrap().len(), 0, "no journal, no contexts");
    let path = dir.path().join(JOURNAL);
    let (journal, _) = Journal::open(&path).unwrap();
    let of = |n: u8, text: &str| paid(&[section(n)], text_hash(&[n]), text);
    let key = |n: u8, text: u8| context_key(&[section(n)], text_hash(&[text]));
    let (first, second, third) = (of(1, "first"), of(2, "second"), of(1, "better"));
    // The second also serves an edited text, and the third comes after the first.
    journal.append([(key(1, 1), &first), (key(2, 2), &second), (key(2, 9), &second), (key(1, 1), &third)]).unwrap();
    journal.sync().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend(&bytes.clone()[..20]);
    std::fs::write(&path, &bytes).unwrap();

    let found: HashMap<_, _> = journaled(dir.path()).unwrap().into_iter().collect();
    let text = |key: ContextKey| found.get(&key).map(|context| context.text.as_str());
    assert_eq!(text(key(1, 1)), Some("better"));
    assert_eq!((text(key(2, 2)), text(key(2, 9))), (Some("second"), Some("second")));
    assert_eq!((text(key(3, 3)), found.len()), (None, 3));
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "the torn frame is left to the one who has it open");
}
