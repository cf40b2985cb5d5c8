use super::*;

#[test]
fn what_was_meant_is_said() {
    for (word, said) in [
        ("file:todo.md", "`path:*todo.md*` is a condition"),
        ("filename:*Pancakes*", "`path:*Pancakes*` is a condition"),
        ("file:\"Apple pie\"", "`path:\"*Apple pie*\"` is a condition"),
        ("Tags:#work", "`tag:#work` is a condition"),
        ("tga:work", "`tag:work` is a condition"),
        ("linkedfrom:Note", "`linked-from:Note` is a condition"),
        ("status:open", "a property is asked for by `prop.status:open`"),
        ("prop:open", "a property is asked for by `prop.NAME:open`"),
        ("title:Ships", "titles, headings and text are searched together"),
    ] {
        assert_eq!(hint(word), Some(format!("`{word}` is searched for as words; {said}")), "{word}");
    }
}

#[test]
fn other_words_with_a_colon_are_words() {
    for word in [
        "foo:bar",
        "https://x.org/y",
        "12:30",
        "C:\\x",
        ":x",
        "x:",
        "std::vec",
        "file:///home",
        "note:",
        "a:b",
        "mailto:x@y",
    ] {
        assert_eq!(hint(word), None, "{word}");
    }
}

#[test]
fn a_long_word_is_cut() {
    let said = hint(&format!("file:{}", "x".repeat(10_000))).unwrap();
    assert!(said.len() < 300, "{}", said.len());
}
