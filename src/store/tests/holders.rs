//! Which note holds which context, as the journal knows it.

use super::*;

fn holders(store: &Store, key: ContextKey) -> Vec<Holder> {
    let all = store.archived_all(key).unwrap();
    assert!(all.unread.is_none());
    all.found.into_iter().flat_map(|(_, holders)| holders).collect()
}

fn holder(path: &str, tags: &[&str], removed: bool) -> Holder {
    Holder { path: path.into(), tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), removed }
}

/// A note with one paid chunk, the same in every note.
fn alike(at: &str, tags: &[&str]) -> (VaultPath, NoteWrite) {
    let (mut record, _) = note(at, 1, 0);
    record.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    record.chunks[0].hash = text_hash(b"body");
    let context = paid(&record.chunks[0].keys, text_hash(b"body"), &format!("of {at}"));
    (path(at), NoteWrite { put: Some((record, vec![context])), ..NoteWrite::default() })
}

fn key() -> ContextKey {
    context_key(&[section(0)], text_hash(b"body"))
}

fn apply(store: &Store, (at, write): (VaultPath, NoteWrite)) {
    store.apply(&at, write).unwrap();
}

/// A store in which one of two notes with the same text has moved, and the other, private by then, was removed.
fn lived(dir: &Path) -> Store {
    let (store, _) = open(dir);
    apply(&store, alike("a.md", &["x"]));
    apply(&store, alike("b.md", &[]));
    let (_, write) = alike("a.md", &["x"]);
    apply(&store, (path("c.md"), NoteWrite { moved_from: Some(path("a.md")), ..write }));
    apply(&store, alike("b.md", &["private"]));
    apply(&store, (path("b.md"), NoteWrite::default()));
    store
}

fn assert_lived(store: &Store) {
    let mut known = holders(store, key());
    known.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(known, [holder("b.md", &["private"], true), holder("c.md", &["x"], false)]);
    let of = |at| store.archived_of_note(&path(at), key(), "llm/test").unwrap().map(|context| context.text);
    assert_eq!((of("c.md"), of("b.md"), of("a.md")), (Some("of a.md".into()), Some("of b.md".into()), None));
}

#[test]
fn a_holder_follows_its_note_and_ends_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = lived(dir.path());
    assert_lived(&store);
    drop(store);
    assert_lived(&open(dir.path()).0);
    compact(dir.path()).unwrap();
    let (store, _) = open(dir.path());
    assert_lived(&store);
    // One that comes later under the same path is another.
    apply(&store, alike("b.md", &[]));
    assert!(holders(&store, key()).contains(&holder("b.md", &[], false)));
    assert!(holders(&store, key()).contains(&holder("b.md", &["private"], true)));
    // Nothing is said twice.
    let length = || fs::metadata(dir.path().join(JOURNAL)).unwrap().len();
    let before = length();
    apply(&store, alike("b.md", &[]));
    assert_eq!(length(), before);
}

#[test]
fn notes_tell_whose_the_contexts_of_an_older_journal_are() {
    let dir = tempfile::tempdir().unwrap();
    let store = lived(dir.path());
    drop(store);
    // Version 1 wrote contexts and keys, and no more.
    let path = dir.path().join(JOURNAL);
    let bytes = fs::read(&path).unwrap();
    let frames = journal::scan(&bytes).whole;
    let old =
        frames.iter().filter(|(at, _)| bytes[at + journal::HEAD] == 1).map(|(at, length)| &bytes[*at..at + length]);
    fs::write(&path, old.collect::<Vec<_>>().concat()).unwrap();

    let (store, opened) = open(dir.path());
    assert_eq!((opened.journal_damaged, opened.quarantined), (0, None));
    assert_eq!(holders(&store, key()), [holder("c.md", &["x"], false)], "what no note holds is nobody's");
    assert_eq!(store.archived_all(key()).unwrap().found.len(), 2, "and is there");
}

#[test]
fn an_answer_names_the_note_that_was_asked_about() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    apply(&store, alike("a.md", &["x"]));
    let late = ContextRecord { text: "late".into(), ..paid(&[section(0)], text_hash(b"body"), "") };
    let asked = ["private".to_owned()];
    store.keep_context_of(&path("a.md"), &asked, key(), &late).unwrap();
    assert_eq!(holders(&store, key())[0], holder("a.md", &["x"], false), "as it is now");
    let gone = ContextRecord { text: "gone".into(), ..late };
    store.keep_context_of(&path("gone.md"), &asked, key(), &gone).unwrap();
    assert_eq!(holders(&store, key())[0], holder("gone.md", &["private"], true), "as it was when asked");
}

#[test]
fn an_export_says_whose_contexts_are() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    assert_eq!(lived(dir.path()).export(&mut lines, &ContextRecord::is_paid, &Private::default()).unwrap(), 2);
    let other = tempfile::tempdir().unwrap();
    let (copy, _) = open(other.path());
    assert_eq!(copy.import(&*lines).unwrap().added, 2);
    let mut known = holders(&copy, key());
    known.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(known, [holder("b.md", &["private"], true), holder("c.md", &["x"], true)], "notes that were, elsewhere");

    // Lines of an older version name a note at most.
    let older = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("notes");
        format!("{line}\n")
    };
    let lines: String = String::from_utf8(lines).unwrap().lines().map(older).collect();
    let third = tempfile::tempdir().unwrap();
    let (copy, _) = open(third.path());
    assert_eq!(copy.import(lines.as_bytes()).unwrap().added, 2);
    let known = holders(&copy, key());
    assert_eq!(known.len(), 2, "{known:?}");
    assert!(known.contains(&holder("c.md", &["private"], true)), "who can say that it was not? {known:?}");
    assert!(known.iter().any(Holder::is_unnamed), "{known:?}");
}

#[test]
fn a_note_that_a_pattern_makes_private_is_private_where_its_contexts_are_imported() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    let private = note::Private::new(&["c.md".to_owned()]);
    assert_eq!(lived(dir.path()).export(&mut lines, &ContextRecord::is_paid, &private).unwrap(), 2);
    let other = tempfile::tempdir().unwrap();
    let (copy, _) = open(other.path());
    assert_eq!(copy.import(&*lines).unwrap().added, 2);
    let known = holders(&copy, key());
    assert!(known.contains(&holder("c.md", &["x", "private"], true)), "{known:?}");
    assert!(known.contains(&holder("b.md", &["private"], true)), "{known:?}");
}
