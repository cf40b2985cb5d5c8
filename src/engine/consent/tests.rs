use super::*;

fn terms(model: &str, to: Option<&str>) -> Terms {
    Terms { provider: "anthropic".to_owned(), model: model.to_owned(), to: to.map(str::to_owned) }
}

fn never(_: &str, _: &str) -> bool {
    panic!("what was bought before is asked once")
}

#[test]
fn a_yes_is_for_one_model_at_one_address() {
    let dir = tempfile::tempdir().unwrap();
    let (small, large) = (terms("small", Some("a.example")), terms("large", Some("a.example")));
    let elsewhere = terms("small", Some("b.example"));
    assert!(!small.are_agreed(dir.path(), |_, _| false));
    small.set_agreed(dir.path(), true).unwrap();
    small.set_agreed(dir.path(), true).unwrap();
    assert!(small.are_agreed(dir.path(), never));
    assert!(!large.are_agreed(dir.path(), never) && !elsewhere.are_agreed(dir.path(), never));
    large.set_agreed(dir.path(), true).unwrap();
    small.set_agreed(dir.path(), false).unwrap();
    assert!(!small.are_agreed(dir.path(), never) && large.are_agreed(dir.path(), never));
}

#[test]
fn what_was_bought_before_anybody_asked_is_a_yes_and_only_then() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (terms("old", None), terms("new", None));
    assert!(old.are_agreed(dir.path(), |provider, model| (provider, model) == ("anthropic", "old")));
    // From now on what is bought is bought with a yes, or by a rebuild that was confirmed for itself.
    assert!(!new.are_agreed(dir.path(), never) && old.are_agreed(dir.path(), never));
}

#[test]
fn a_damaged_file_agrees_to_nothing_and_is_mended_by_a_yes() {
    let dir = tempfile::tempdir().unwrap();
    let terms = terms("small", None);
    for damage in ["", "{", "[]", "{\"agreed\": 1}", "{\"agreed\": [{\"at\": 1}]}"] {
        std::fs::write(dir.path().join(FILE), damage).unwrap();
        assert!(!terms.are_agreed(dir.path(), never), "{damage}");
        terms.set_agreed(dir.path(), true).unwrap();
        assert!(terms.are_agreed(dir.path(), never), "{damage}");
    }
}
