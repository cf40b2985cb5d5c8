use super::*;
use context::prompt::Form;

fn item(id: &str) -> Item {
    let prompt = Prompt {
        form: Form::Note,
        system: "s".into(),
        document: "d".into(),
        task: "t\n\u{2028}".into(),
        wanted: vec![1],
        json: true,
        expansion: false,
        max_tokens: 9,
        cache: false,
        cut: false,
        tokens: 3,
    };
    let document = Document {
        path: "a.md".into(),
        title: "A".into(),
        aliases: vec![],
        tags: vec![],
        kind: None,
        date: None,
        properties: vec![("status".into(), "open".into())],
        outline: vec![(1, "A".into())],
        links: vec![],
        text: "two\nlines".into(),
        passages: vec![],
    };
    Item {
        id: id.into(),
        path: VaultPath::parse("a.md").unwrap(),
        no: Some(3),
        generation: "g".into(),
        prompt,
        document,
        sketches: vec![(1, Sketch::of("two lines"))],
        keys: vec![Wanted { n: 1, key: ContextKey([7; 16]), since: 5 }],
    }
}

#[test]
fn what_is_written_is_read_again_part_by_part() {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::new(dir.path(), 7);
    let lock = files.lock().unwrap().unwrap();
    assert!(files.lock().unwrap().is_none(), "two work on one batch");
    let mut draft = Draft::begin(&files, (3, 100)).unwrap();
    // Three by number, then two by bytes, then one that is too long for any part.
    for (id, bytes) in [("a", 1), ("b", 1), ("c", 1), ("d", 50), ("e", 50), ("f", 500)] {
        draft.add(&item(id), bytes).unwrap();
    }
    let parts = draft.end().unwrap();
    let ids: Vec<Vec<String>> =
        parts.iter().map(|part| files.read(part).unwrap().into_iter().map(|item| item.id).collect()).collect();
    assert_eq!(ids, [vec!["a", "b", "c"], vec!["d", "e"], vec!["f"]]);
    assert_eq!(files.read(&parts[1]).unwrap()[0], item("d"));

    assert_eq!(files.load().unwrap(), None);
    let mut state = State::new(("anthropic", "host"), "m", 1, parts);
    let not = vec!["batch_0".into()];
    state.parts[0].stage =
        Stage::Submitted { id: "batch_1".into(), found: true, key: Some("k".into()), not: not.clone() };
    state.parts[1].stage = Stage::Submitting { at: 4, not };
    state.parts[1].gone = true;
    files.save(&state).unwrap();
    assert_eq!(files.load().unwrap(), Some(state));
    assert_eq!(Files::new(dir.path(), 8).named_by_others(), ["batch_1"]);
    assert_eq!(Files::runs(dir.path()), [7]);
    for file in fs::read_dir(dir.path().join("batch")).unwrap() {
        assert_eq!(platform::files::mode(&file.unwrap().metadata().unwrap()), 0o600);
    }
    files.remove().unwrap();
    drop(lock);
    assert!(!files.exist() && fs::read_dir(dir.path().join("batch")).unwrap().next().is_none());
}

#[test]
fn what_makes_no_sense_is_told_and_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::new(dir.path(), 7);
    let _lock = files.lock().unwrap();
    fs::write(files.path("state"), "{").unwrap();
    fs::write(files.path("jsonl"), "").unwrap();
    assert_eq!(files.load().unwrap_err().kind(), io::ErrorKind::InvalidData);
    files.set_aside().unwrap();
    assert_eq!(files.load().unwrap(), None);
}

#[test]
fn ids_are_the_providers_kind_and_differ() {
    let files = Files::new(Path::new("/x"), 1);
    let path = VaultPath::parse("ä b.md").unwrap();
    let ids = [files.id(&path, 0), files.id(&path, 1), Files::new(Path::new("/x"), 2).id(&path, 0)];
    assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())));
    assert!(ids[0] != ids[1] && ids[0] != ids[2]);
}
