use serde_json::json;

use crate::tests::{note, note_at};
use crate::{FIELDS, Private};

#[test]
fn properties_at_the_top_count_as_front_matter() {
    let page = note(
        "title:: projects/alpha\nalias:: Alpha, [[The first]]\ntags:: [[work]], plain, #x, #[[two words]]\ntype:: [[Project]]\n\
         status:: open\nempty::\ncreated:: [[Mar 5th, 2026]]\npeople:: [[Bo]], [[Cy, Jr.]]\n\n- A block.\n  rating:: 5\n  title:: No\n",
    );
    assert_eq!((page.title.as_str(), page.kind.as_deref()), ("projects/alpha", Some("project")));
    assert_eq!(page.front.aliases, ["Alpha", "The first"]);
    assert_eq!(page.tags, ["work", "plain", "x", "two words"]);
    assert_eq!(page.days.created, Some(jiff::civil::date(2026, 3, 5)));
    assert_eq!(page.front.properties["status"], "open");
    assert_eq!(page.front.properties["people"], json!(["Bo", "Cy, Jr."]));
    assert_eq!(page.front.properties[FIELDS], json!({"rating": 5, "title": "No"}));
    for (text, title) in [
        ("- title:: In the first block\n  status:: x\n- Next\n", "In the first block"),
        ("\n\ntitle:: T\n", "T"),
        ("status:: open\n\n# Heading\n", "Heading"),
        ("---\ntitle: Front\n---\ntitle:: T\n", "Front"),
        ("Words.\n\ntitle:: T\n", "Stem"),
        ("- Words.\n  title:: T\n", "Stem"),
        ("- a:: 1\n- title:: T\n", "Stem"),
        ("> title:: T\n", "Stem"),
        ("[title:: T]\n", "Stem"),
        ("```\ntitle:: T\n```\n", "Stem"),
        ("%%\ntitle:: T\n%%\n", "Stem"),
    ] {
        assert_eq!(note(text).title, title, "{text:?}");
    }
}

#[test]
fn fields_are_properties_too_and_front_matter_wins() {
    for (text, expected) in [
        ("---\nRating: 3\n---\nrating:: 5\ntags:: a\n", json!({"Rating": 3, "tags": ["a"]})),
        ("x\n\nRating:: 5\nrating:: 6\n", json!({FIELDS: {"Rating": 5, "rating": 6}})),
        ("x [n:: 1] (n:: 2) [n:: 3]", json!({FIELDS: {"n": [1, 2, 3]}})),
        (
            "x\n  id:: 6720a1c4-0b7e-4e0f-9d1c-3b5a7f9e2d10\n",
            json!({FIELDS: {"id": ["6720a1c4-0b7e-4e0f-9d1c-3b5a7f9e2d10"]}}),
        ),
        ("x\n  id:: a-1\n  collapsed:: true\n", json!({})),
        ("x\n\ndate:: 2026-03-05\n", json!({FIELDS: {"date": "2026-03-05"}})),
    ] {
        assert_eq!(json!(note(text).front.properties), expected, "{text:?}");
    }
    assert_eq!(note("x\n\ndate:: 2026-03-05\ncreated:: 2026-03-05\n").days, crate::OwnDays::default());
    let many: String = (0..999).map(|n| format!("x [k{n}:: {}]\n", "é".repeat(200))).collect();
    let kept = note(&many).front.properties;
    assert!(
        kept[FIELDS].as_object().is_some_and(|fields| fields.len() == 64) && json!(kept).to_string().len() < 16_000
    );
}

#[test]
fn tags_at_the_top_are_those_of_the_note_whatever_front_matter_says() {
    let is_private = |text: &str| Private::default().covers_note(&note(text));
    for text in [
        "status:: open\n\ntags:: private\n",
        "---\ntags: [work]\n---\n- status:: open\n  tags:: [[home]] [[private/x]]\n",
        "---\ntags: work\n---\ntag:: #Private\n",
        "#[[private]]",
        "Words #[[Private/two words|shown]].",
    ] {
        assert!(is_private(text), "{text:?}");
    }
    let many: String = (0..999).map(|n| format!("k{n}:: x\n")).collect();
    assert!(is_private(&format!("{many}tags:: private\n")));
    for text in ["private:: true\n", "status:: private\n", "%%tags:: private%%", "[[private]]", "`tags:: private`"] {
        assert!(!is_private(text), "{text:?}");
    }
}

#[test]
fn ids_of_blocks_stand_below_them() {
    let text = "- One\n\t- Two\n\t  collapsed:: true\n\t  id:: 6720a1c4-0b7e\n\t  more\n- id:: three\n\nFour\nid:: four\n\nFive ^five\n";
    let note = note_at("pages/x.md", text.as_bytes());
    let ids: Vec<_> = note.block_ids.iter().map(|(id, at)| (id.as_str(), note.line_of(*at))).collect();
    assert_eq!(ids, [("five", 11), ("6720a1c4-0b7e", 2), ("three", 6), ("four", 8)]);
    let hostile = note_at("x.md", "id:: a\n".repeat(20_000).as_bytes());
    assert_eq!(hostile.block_ids.len(), 20_000);
    // Within a line it is a field like others: Logseq does not write it there.
    assert_eq!(note_at("x.md", b"- A [id:: a] b\n  [id:: c]\n").block_ids, []);
    assert_eq!(note_at("x.md", "[id:: a] ".repeat(100_000).as_bytes()).block_ids, []);
}
