//! Contexts of several generations under one key, changes without a sequence number, small values.

use super::*;
use crate::tree::SurveyPlace;

fn of(generation: &str, text: &str) -> ContextRecord {
    ContextRecord { generation: generation.into(), ..paid(&[section(1)], text_hash(b"body"), text) }
}

fn key() -> ContextKey {
    context_key(&[section(1)], text_hash(b"body"))
}

fn keep(store: &Store, context: &ContextRecord) {
    store.keep_context_of(&path("a.md"), &[], key(), context).unwrap();
}

/// The last text of a generation under the key, whichever note it was written for.
fn text_of(store: &Store, generation: &str) -> Option<String> {
    let found = store.archived_all(key()).unwrap().found;
    found.into_iter().map(|(context, _)| context).find(|context| context.generation == generation).map(|c| c.text)
}

fn assert_kept(store: &Store) {
    let found = |generation| text_of(store, generation);
    assert_eq!(found("llm/a").as_deref(), Some("a, again"));
    assert_eq!(found("llm/b").as_deref(), Some("b"));
    assert_eq!(found("llm/c"), None);
    assert_eq!(store.archived(key()).unwrap().unwrap().text, "b", "the last one");
}

fn keep_several(store: &Store) {
    keep(store, &of("llm/a", "a"));
    keep(store, &of("llm/a", "a, again"));
    keep(store, &of("llm/b", "b"));
    keep(store, &free(&[section(1)], text_hash(b"body")));
}

#[test]
fn contexts_of_several_generations_are_kept_under_one_key() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    keep_several(&store);
    assert_kept(&store);
    assert_eq!((store.seq(), store.notes().unwrap().len()), (0, 0), "nothing is found changed");
    // The journal alone is on the disk by now; killed, it is all that is left.
    let killed = tempfile::tempdir().unwrap();
    fs::copy(dir.path().join(JOURNAL), killed.path().join(JOURNAL)).unwrap();
    assert_kept(&open(killed.path()).0);
    drop(store);
    fs::write(dir.path().join("sled/conf"), "damage that is long enough").unwrap();
    let (store, opened) = open(dir.path());
    assert_eq!((opened.quarantined.is_some(), opened.contexts_recovered), (true, 3));
    assert_kept(&store);
    drop(store);
    compact(dir.path()).unwrap();
    assert_kept(&open(dir.path()).0);
    // Without the journal the archive knows the last one, and gives it back to the journal.
    fs::remove_file(dir.path().join(JOURNAL)).unwrap();
    assert_eq!(text_of(&open(dir.path()).0, "llm/b").unwrap(), "b");
}

#[test]
fn a_context_lies_in_the_archive_once_with_whatever_texts_it_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let give_up = |text: &[u8], context: &ContextRecord| {
        let key = context_key(&[section(1)], text_hash(text));
        let write = NoteWrite { archive: vec![(key, context.clone())], ..NoteWrite::default() };
        store.apply(&path("a.md"), write).unwrap();
    };
    let bytes = || store.database.with(|trees| trees.survey(SurveyPlace::default(), |_| {})).unwrap().bytes;
    let first = of("llm/a", "one sentence about the note. ".repeat(20).trim());
    give_up(b"body", &first);
    let before = bytes();
    let texts: Vec<String> = (0..10).map(|n| format!("text {n}")).collect();
    texts.iter().for_each(|text| give_up(text.as_bytes(), &first));
    let further = bytes() - before;
    assert!(further < 10 * 64, "{further} bytes for 10 further keys of a text of {}", first.text.len());

    // Another one that was written for the first of those texts; then the first one is given up with the second again.
    let other = ContextRecord { written_for: text_hash(b"text 0"), text: "another".into(), ..first.clone() };
    give_up(b"text 0", &other);
    give_up(b"text 1", &other);
    give_up(b"text 1", &first);
    drop(store);
    // The archive alone says so now.
    fs::remove_file(dir.path().join(JOURNAL)).unwrap();
    let (store, _) = open(dir.path());
    let found = |text: &[u8]| store.archived(context_key(&[section(1)], text_hash(text))).unwrap();
    assert_eq!(found(b"body").as_ref(), Some(&first));
    assert_eq!(found(b"text 0").as_ref(), Some(&other));
    texts[1..].iter().for_each(|text| assert_eq!(found(text.as_bytes()).as_ref(), Some(&first), "{text}"));
}

#[test]
fn what_a_chunk_holds_is_found_before_what_it_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let (mut record, mut contexts) = note("a.md", 1, 0);
    record.chunks[0].hash = text_hash(b"body");
    record.chunks[0].keys = vec![section(1)];
    contexts[0] = of("llm/a", "a");
    let write = NoteWrite { put: Some((record.clone(), contexts.clone())), ..NoteWrite::default() };
    store.apply(&path("a.md"), write).unwrap();
    // A rebuild: the new one is kept as it comes, then takes the place of the old one.
    let old = std::mem::replace(&mut contexts[0], of("llm/b", "b"));
    keep(&store, &contexts[0]);
    let write = NoteWrite { put: Some((record, contexts)), archive: vec![(key(), old)], ..NoteWrite::default() };
    store.apply(&path("a.md"), write).unwrap();
    for restart in [false, true] {
        let store = if restart { None } else { Some(&store) };
        let copy = tempfile::tempdir().unwrap();
        let reopened = store.is_none().then(|| {
            fs::copy(dir.path().join(JOURNAL), copy.path().join(JOURNAL)).unwrap();
            open(copy.path()).0
        });
        let store = store.or(reopened.as_ref()).unwrap();
        assert_eq!(store.archived(key()).unwrap().unwrap().text, "b");
        assert_eq!(text_of(store, "llm/a").unwrap(), "a");
    }
}

#[test]
fn all_generations_are_exported_and_an_import_replaces_none() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    keep_several(&store);
    let mut lines = Vec::new();
    assert_eq!(store.export(&mut lines, &ContextRecord::is_paid, &Private::default()).unwrap(), 3);
    assert_eq!(store.import(&*lines).unwrap(), ImportReport { known: 3, ..ImportReport::default() });
    let other = tempfile::tempdir().unwrap();
    let (copy, _) = open(other.path());
    assert_eq!(copy.import(&*lines).unwrap().added, 3);
    assert_kept(&copy);

    let third = tempfile::tempdir().unwrap();
    let (copy, _) = open(third.path());
    keep(&copy, &of("llm/c", "c"));
    assert_eq!(copy.import(&*lines).unwrap().added, 3);
    assert_eq!(copy.archived(key()).unwrap().unwrap().text, "c", "what is here stays");
    assert_eq!(text_of(&copy, "llm/a").unwrap(), "a, again");
}

#[test]
fn amending_changes_the_record_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let (at, write) = put("a.md", 2, 0);
    let before = store.apply(&at, write).unwrap();
    let due = PendingContext { reason: Reason::Rebuild, since: 5, tries: 2 };
    let known = store.amend(&at, |record| {
        record.chunks[0].due = Some(due);
        record.chunks[0].later = None;
        (record.seq, record.no, record.path) = (99, 99, path("b.md"));
    });
    assert!(known.unwrap());
    assert!(!store.amend(&path("none.md"), |_| panic!("there is nothing to change")).unwrap());
    assert!(store.amend(&at, |record| record.chunks.clear()).is_err());
    let mut after = before.clone();
    (after.chunks[0].due, after.chunks[0].later) = (Some(due), None);
    assert_eq!((store.notes().unwrap(), store.seq()), (vec![after.clone()], 1));
    assert_eq!(super::scanned(&store), [after.clone()], "what was scanned before is old");
    assert_eq!(store.contexts(&at).unwrap(), note("a.md", 2, 0).1);
    store.flush(true).unwrap();
    drop(store);
    let (store, opened) = open(dir.path());
    assert_eq!((store.note(&at).unwrap(), opened.quarantined), (Some(after), None));
}

#[test]
fn values_last_and_damaged_ones_are_absent() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    assert_eq!(store.value("sync").unwrap(), None);
    store.set_value("sync", Some("{\"at\":1}")).unwrap();
    store.set_value("sync", Some("{\"at\":2}")).unwrap();
    store.set_value("rebuild", Some("{}")).unwrap();
    store.set_value("gone", Some("1")).unwrap();
    store.set_value("gone", None).unwrap();
    // Killed right after: what was set is on the disk.
    let killed = tempfile::tempdir().unwrap();
    damage::copy_all(dir.path(), killed.path());
    assert_eq!(open(killed.path()).0.value("sync").unwrap().as_deref(), Some("{\"at\":2}"));
    drop(store);
    compact(dir.path()).unwrap();
    let db = sled::open(dir.path().join("sled")).unwrap();
    db.open_tree("values").unwrap().insert("rebuild", "no record").unwrap();
    db.flush().unwrap();
    drop(db);
    let (store, opened) = open(dir.path());
    assert_eq!(opened, Opened::default(), "a damaged value damages nothing else");
    let values = ["sync", "rebuild", "gone"].map(|name| store.value(name).unwrap());
    assert_eq!(values, [Some("{\"at\":2}".to_owned()), None, None]);
    store.set_value("rebuild", Some("new")).unwrap();
    assert_eq!(store.value("rebuild").unwrap().as_deref(), Some("new"));
}

#[test]
fn compaction_never_makes_a_store_larger() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    keep_several(&store);
    drop(store);
    for turn in 0..3 {
        let report = compact(dir.path()).unwrap();
        assert!(report.after <= report.before, "{turn}: {report:?}");
        assert_kept(&open(dir.path()).0);
    }
    // Much that is gone since is given back.
    let (store, _) = open(dir.path());
    for n in 0..40 {
        let long = n.to_string().repeat(60_000);
        store.set_value("large", Some(&long)).unwrap();
        store.flush(true).unwrap();
    }
    store.set_value("large", None).unwrap();
    drop(store);
    let report = compact(dir.path()).unwrap();
    assert!(report.after < report.before, "{report:?}");
    assert_kept(&open(dir.path()).0);
}
