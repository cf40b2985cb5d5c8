use proptest::prelude::*;

use crate::VaultPath;
use crate::{Note, NoteRules, Private, parse};

fn note(text: &str) -> Note {
    parse(&VaultPath::parse("a.md").unwrap(), text.as_bytes(), &NoteRules::default())
}

fn is_private(text: &str) -> bool {
    Private::default().covers_note(&note(text))
}

/// Whether a note that was private when it was last read still is.
fn stays_private(text: &str) -> bool {
    Private::default().covers_now(&note(text), Some(&["private".to_owned()]))
}

#[test]
fn broken_front_matter_that_names_a_private_tag_is_private() {
    for text in [
        // Being typed.
        "---\ntags: [private, fam\n---\nx",
        "---\ntags: [private, fam",
        "---\ntags: [work, Private/fam\nstatus: x\n---\nx",
        "---\ntags:\n  - [private\n---\nx",
        "---\ntags: \"private\n---\nx",
        // A bracket that is lost.
        "---\ntags: private]\n---\nx",
        "---\naliases: [a, b\ntags: [private]\n---\nx",
        "---\ntags: [work,\nprivate\ntitle: x\n---\nx",
        // A fence that is lost.
        "---\ntags: [private]\n\n# Title\n\nWords.",
        "---\ntags: [private]\n--\n\n# Title",
        "---\r\ntags: [private]\r\n\r\n# Title",
        // TOML and JSON, valid or not.
        "+++\ntags = [\"work\"]\ntags = [\"private\"]\n+++\nx",
        "+++\ntags = [\"private\n+++\nx",
        "+++\ntitle = \"x\"\n[params]\ntags = [\"private\"]\n+++\nx",
        "+++\ntags = [\"work\"]\n[taxonomies]\ntags = [\"private\"]\n+++\nx",
        "{\"tags\": [\"private\"], \"tags\": [\"work\"]}\nbody",
        "{\"tags\": [\"private\"], \"title\": \"x\",}\nbody",
        "+++\ntags = [\"private\"]\n+++\nx",
        "+++\r\ntags = [\"private\"]\r\n+++\r\nx",
        "+++\n[taxonomies]\ntags = ['Private/fam']",
        "---\rtags: [private]\r---\rx",
        "{\n\"title\":\"x\",\n\"tags\": [\"private\"]\n}\n\nbody",
        "{\r\n  \"tags\": [\r\n    \"private\"\r\n  ]\r\n}\r\nbody",
        "{\"tags\": [\"private\"]}\nbody",
        "{\n\"tags\": [\"private",
        "title: My Denote title\ntags:       private\nidentifier: 2024\n-----------\n\nbody",
        // Which of the two counts?
        "---\ntags: [private]\ntags: [work]\n---\nx",
        "---\ntags: [work]\ntags: [private]\n---\nx",
        "---\nTags: [private]\ntags: [work]\n---\nx",
        "---\ntags: private\ntitle: x\ntags:\n  - work\n---\nx",
        // The same, where only YAML knows that the keys are one.
        "---\ntags: [private]\n? tags\n: [work]\n---\nx",
        "---\ntags: [private]\n\"\\x74ags\": [work]\n---\nx",
        "---\ntags: [private]\n&a tags: [work]\n---\nx",
        "---\ntags: [private]\n!!str tags: [work]\n---\nx",
        "---\ntags: [private]\n!r tags: [work]\n---\nx",
        // The private tag, as only YAML reads it.
        "---\ntags: [work]\ntags: [\"\\x70rivate\"]\n---\nx",
        "---\ntags: [\"pri\\u0076ate\"]\n\"\\x74ags\": [work]\n---\nx",
        "---\ntags: [work, \"\\U00000070rivate\"\n---\nx",
        "---\ntags: [\"priv\\\n  ate\"]\ntags: [work]\n---\nx",
        // Indented as no YAML is.
        "---\ntitle: x\n  tags: [private]\n---\nx",
        "---\ntags:\n- work\n - private\n---\nx",
        "---\n tags: [private]\ntitle: x\n---\nx",
        "---\ntitle: x\n\ttags: [private]\n---\nx",
        "---\ntags:\n\t- private\n---\nx",
        "---\nmeta:\n  tags: [private]\n---\nx",
        "---\ntags: {private}\n---\nx",
        "---\ntags:\n  - private:\n---\nx",
        // A colon that is missing.
        "---\ntitle: x\ntags [private]\n---\nx",
        "\u{feff}---\ntags: [private\n---\nx",
    ] {
        assert!(is_private(text), "{text:?}");
        assert!(stays_private(text), "{text:?}");
    }
    let long = format!("---\ntags: [private\n{}---\nbody", "key: value\n".repeat(7000));
    assert!(is_private(&long), "front matter that is too long to be read");
}

#[test]
fn keywords_and_categories_make_a_note_private_too() {
    for text in [
        "---\nkeywords: [bog, private]\n---\n",
        "---\nCategories: Private, bog\n---\n",
        "+++\ncategories = [\"private/x\"]\n+++\n",
    ] {
        assert!(is_private(text), "{text:?}");
    }
    for text in ["---\nkeywords: [private equity]\n---\n", "---\ncategory: not private\n---\n"] {
        assert!(!is_private(text), "{text:?}");
    }
}

#[test]
fn what_can_be_read_says_itself_whether_it_is_private() {
    for text in [
        "",
        "x",
        "---\ntags: [work]\n---\nx",
        "---\ntags: []\n---\nprivate",
        "---\ntitle: A private matter\n---\nx",
        "---\ntitle: Foo: bar\n---\nA private matter.",
        "---\nA private thought between two rules.\n---\nx",
        "---\n\nA private thought after a rule, with\nmore lines of prose.\n",
        "---\ntags: [privateer\n---\nx",
        "---\ntags: [deprivate, x\n---\nx",
        "+++\ntags = [\"work\"]\n+++\nA private matter.",
        "+++\ntitle = \"A private matter\"\n+++\nx",
        "{\"title\": \"A private matter\"}\nx",
        "++++\nprivate",
        "{\"tags\": [\"work\"]}\nA private matter.",
        "{\n\"tags\": []\n}\nA private matter.",
        "{{private}}\n",
        "{private}\n",
        "title: A private matter\ntags: work\n-----------\n",
        "tags: private\n",
        "words, and then\ntags:: private",
        "# Title\ntags:: private",
        "tags:: privateer\n",
        "description:: private\n",
    ] {
        assert!(!is_private(text), "{text:?}");
    }
    for text in ["---\ntags: [work]\n---\nx", "x", "# Title\n\nWords.", "---\ntitle: x\n---\n", "---\n---\nx"] {
        assert!(!stays_private(text), "the tag was taken away: {text:?}");
    }
    for text in ["---\ntitle: Foo: bar\n---\nx", "---\ntags: [pri", "---\ntags: [pri\n---\nx", "---", "", "---\nta"] {
        assert!(stays_private(text) && !is_private(text), "{text:?}");
    }
    assert!(!Private::default().covers_now(&note("---\ntags: [pri"), Some(&["work".to_owned()])));
    assert!(!Private::default().covers_now(&note("---\ntags: [pri"), None::<[&str; 0]>));
}

#[test]
fn page_properties_of_logseq_are_read() {
    for text in [
        "tags:: private\n\n- A block.",
        "title:: x\ntags:: work, private/family\n- A block.",
        "tags:: #private, #work",
        "tags:: [[Private]]",
        "Tags:: work #private",
        "- tags:: private\n- A block.",
        "\ntags::private",
        "---\ntitle: x\n---\ntags:: private\n",
    ] {
        assert!(is_private(text), "{text:?}");
    }
    assert_eq!(note("tags:: work, private/family\n").tags, ["work", "private/family"]);
}

#[test]
fn whoever_is_guarded_is_told() {
    let told = note("---\ntags: [private, fam\n---\nx").warnings;
    assert!(told.iter().any(|warning| warning.message.contains("private")), "{told:?}");
    assert!(note("---\ntags: [private]\n---\nx").warnings.is_empty());
}

proptest! {
    /// However much of a private note's front matter has been written, it is not public.
    #[test]
    fn no_truncation_of_front_matter_makes_a_private_note_public(
        before in prop::collection::vec("(title: [a-z: ]{0,12}|aliases: \\[[a-z, ]{0,8}\\]?|n: [0-9]{1,3}|  - [a-z]{1,5}|# [a-z]{0,6})", 0..4),
        tags in prop::sample::select(vec![
            "tags: private", "tags: [work, private]", "tags:\n  - private", "tag: '#private/x'", "Tags: [Private, ä]",
        ]),
        after in prop::collection::vec("(status: [a-z]{0,8}|date: 2026-01-0[1-9])", 0..3),
        crlf in any::<bool>(),
    ) {
        let mut front = String::from("---\n");
        for line in before.iter().map(String::as_str).chain([tags]).chain(after.iter().map(String::as_str)) {
            front.push_str(line);
            front.push('\n');
        }
        let front = if crlf { front.replace('\n', "\r\n") } else { front };
        let whole = format!("{front}---\n# Title\n\nWords.\n");
        prop_assert!(is_private(&whole), "{whole:?}");
        let named = front.to_lowercase().find("private").unwrap() + "private".len();
        for end in 0..front.len() + 3 {
            let part = String::from_utf8_lossy(&whole.as_bytes()[..end]).into_owned();
            prop_assert!(stays_private(&part), "{part:?}");
            prop_assert!(end < named || is_private(&part), "it names the tag: {part:?}");
        }
    }
}
