//! What a model wrote beside a context: kept in the journal alone, and found wherever the context is.

use super::*;
use crate::codec::id;
use crate::codec::{decode_entry, encode_contexts, encode_entry};
use crate::v1::Entry;
use context::Expansion;

fn beside(name: &str) -> Expansion {
    Expansion { questions: vec![format!("Who built the {name}?"), "When?".into()], terms: vec![name.to_owned()] }
}

fn expanded(text: &str) -> ContextRecord {
    ContextRecord { expansion: beside(text), ..paid(&[section(1)], text_hash(b"body"), text) }
}

/// A note of two chunks whose second context came with an expansion.
fn written(at: &str) -> (NoteRecord, Vec<ContextRecord>) {
    let (record, mut contexts) = note(at, 2, 0);
    contexts[1].expansion = beside(at);
    (record, contexts)
}

#[test]
fn it_is_found_with_its_context_in_note_archive_and_journal() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let (record, contexts) = written("a.md");
    let key = context_key(&record.chunks[1].keys, record.chunks[1].hash);
    store.keep_context_of(&path("a.md"), &[], key, &contexts[1]).unwrap();
    // As it comes from the archive it goes into the note.
    let found = store.archived(key).unwrap().unwrap();
    assert_eq!(found.expansion, beside("a.md"));
    let put = Some((record, vec![contexts[0].clone(), found]));
    store.apply(&path("a.md"), NoteWrite { put, ..NoteWrite::default() }).unwrap();
    drop(store);
    for compacts in [false, true, true] {
        if compacts {
            compact(dir.path()).unwrap();
        }
        let (store, opened) = open(dir.path());
        assert_eq!(opened, Opened { notes: 1, ..Opened::default() });
        assert_eq!(store.contexts(&path("a.md")).unwrap(), contexts);
        assert_eq!(store.archived_all(key).unwrap().found[0].0, contexts[1]);
        let generation = &contexts[1].generation;
        assert_eq!(store.archived_of_note(&path("a.md"), key, generation).unwrap().as_ref(), Some(&contexts[1]));
    }
}

#[test]
fn it_comes_back_when_the_database_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let (record, contexts) = written("a.md");
    let key = context_key(&record.chunks[1].keys, record.chunks[1].hash);
    let put = Some((record, contexts.clone()));
    store.apply(&path("a.md"), NoteWrite { put, ..NoteWrite::default() }).unwrap();
    drop(store);
    fs::write(dir.path().join("sled/conf"), "nonsense that is long enough").unwrap();
    fs::write(dir.path().join("sled/db"), vec![7; 100_000]).unwrap();
    let (store, opened) = open(dir.path());
    assert!(opened.quarantined.is_some());
    assert_eq!(store.archived(key).unwrap().as_ref(), Some(&contexts[1]));
}

/// A program that knows no expansions reads the bytes of a context as ever, and passes over the entries that it does not
/// know, as the second version did: the bytes of both stand here so that they stay as they are.
#[test]
fn an_older_program_loses_no_context() {
    let plain = ContextRecord { expansion: Expansion::default(), ..expanded("lantern") };
    let bytes = encode_contexts([&expanded("lantern")]).unwrap();
    assert_eq!(bytes, encode_contexts([&plain]).unwrap(), "the context is written as without");
    let Expansion { questions, terms } = beside("lantern");
    let entry = Entry::Expansion { of: id(&bytes), questions, terms };
    let sealed = encode_entry(&entry).unwrap();
    assert_eq!(sealed[0], 3, "a version that older programs leave where it is");
    assert_eq!(decode_entry(&sealed), Ok(entry));
    assert_eq!(encode_entry(&Entry::Alias { key: ContextKey([5; 16]), of: id(&bytes) }).unwrap()[0], 1);
}

#[test]
fn an_export_carries_it_and_a_line_without_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let key = context_key(&[section(1)], text_hash(b"now"));
    store.keep_context_of(&path("a.md"), &[], key, &expanded("lantern")).unwrap();
    let mut lines = Vec::new();
    assert_eq!(store.export(&mut lines, &ContextRecord::is_paid, &Private::default()).unwrap(), 2, "under two keys");
    let text = String::from_utf8(lines).unwrap();
    let field = r#","expansion":{"questions":["Who built the lantern?","When?"],"terms":["lantern"]}"#;
    assert!(text.contains(field), "{text}");

    // A line of an older program first; then what was written beside it is learnt, and not bought again.
    let other = tempfile::tempdir().unwrap();
    let (copy, _) = open(other.path());
    let old = text.replace(field, "");
    assert_eq!(copy.import(old.as_bytes()).unwrap().added, 2);
    assert_eq!(copy.archived(key).unwrap().unwrap().expansion, Expansion::default());
    assert_eq!(copy.import(text.as_bytes()).unwrap().known, 2);
    assert_eq!(copy.archived(key).unwrap(), Some(expanded("lantern")));
    // An unknown field is passed over: so did the program that knew no expansions.
    let later = text.replace("\"expansion\":", "\"later\":");
    assert_eq!(copy.import(later.as_bytes()).unwrap().bad, []);
}
