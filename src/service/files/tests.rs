use super::*;

#[test]
fn exactly_what_was_done_is_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    fs::create_dir(at("there")).unwrap();
    fs::write(at("there/old"), "old").unwrap();
    fs::write(at("there/gone"), "gone").unwrap();
    let mut undo = Undo::default();
    undo.write(&Write::new(at("a/b/new"), "new".into())).unwrap();
    undo.write(&Write::new(at("there/old"), "newer".into())).unwrap();
    undo.write(&Write::new(at("there/gone"), "gone".into())).unwrap();
    undo.remove(&at("there/gone")).unwrap();
    undo.link(&at("a/wants/x"), &at("a/b/new")).unwrap();
    undo.link(&at("there/old"), &at("a")).unwrap();
    assert_eq!(fs::read_to_string(at("there/old")).unwrap(), "newer");
    assert_eq!(platform::files::mode(&fs::metadata(at("a/b/new")).unwrap()) & 0o777, 0o644);
    assert!(at("a/wants/x").exists() && !at("there/gone").exists());
    fs::write(at("a/of another"), "").unwrap();
    assert_eq!(undo.take_back(), Vec::<String>::new());
    assert_eq!(fs::read_to_string(at("there/old")).unwrap(), "old");
    assert_eq!(fs::read_to_string(at("there/gone")).unwrap(), "gone");
    assert!(!at("a/b").exists() && !at("a/wants").exists() && at("a/of another").exists());
}
