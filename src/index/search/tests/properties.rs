//! What the front matter says is found.

use super::*;
use crate::testing::note;
use crate::{PackedStrings, Said};

/// Two chunks, under properties.
fn with_properties(properties: &str) -> Vault {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    put(&mut index, 2, "Other.md", &[], None, &[], &["A person who gardens.\n"]);
    let texts = ["The person met in Lisbon.\n", "Likes long walks.\n"];
    let chunks = (0..).zip(texts).map(|(position, text)| ChunkDoc {
        entry: ChunkEntry {
            id: chunk_id("Anna.md", section_key([], 0), position),
            note: 1,
            position,
            span: (position * 100, position * 100 + 10),
            lines: (position + 6, position + 6),
        },
        heading_path: PackedStrings::default(),
        text: text.to_owned(),
        searchable: text.to_owned(),
        windows: vec![builtin::model().embed(text).into()],
        context: String::new(),
        expansion: String::new(),
    });
    let anna = NoteEntry {
        texts: Said::<&str> { title: "Anna", properties, ..Said::default() }.pack(),
        ..note(1, 1, "Anna.md")
    };
    index.put(anna, chunks.collect()).unwrap();
    Vault { snapshot: index.publish(1).unwrap(), _dir: dir }
}

#[test]
fn a_property_is_found_by_its_words_and_shown() {
    let vault = with_properties(r#"{"email":"anna@example.org","employer":"Quokka Works","birthday":"1984-03-12"}"#);
    for (query, shown) in [
        ("anna@example.org", "email: anna@example.org"),
        ("quokka", "employer: Quokka Works"),
        ("1984-03-12", "birthday: 1984-03-12"),
        ("\"quokka works\"", "employer: Quokka Works"),
    ] {
        let answer = ask(&vault, query, &Options { mode: Mode::Lexical, ..Options::default() });
        let hit = &answer.hits[0];
        assert_eq!(
            (hit.path.as_str(), hit.line, hit.match_line, hit.snippet.as_str()),
            ("Anna.md", 6, 1, shown),
            "{query}"
        );
        assert!(!hit.highlights.is_empty() && hit.text == "The person met in Lisbon.\n");
    }
    let own = ask(&vault, "lisbon", &Options::default());
    assert_eq!((own.hits[0].match_line, own.hits[0].snippet.as_str()), (6, "The person met in Lisbon."));
}

#[test]
fn a_property_is_shown_beside_a_passage_that_lacks_its_words() {
    let vault = with_properties(r#"{"email":"anna@example.org","phone":"+48 600 100 200","employer":"Quokka Works"}"#);
    let lexical = Options { mode: Mode::Lexical, ..Options::default() };
    let answer = ask(&vault, "lisbon quokka", &lexical);
    let hit = &answer.hits[0];
    let shown: Vec<&str> =
        hit.highlights.iter().map(|(start, end)| &hit.snippet[*start as usize..*end as usize]).collect();
    assert_eq!((hit.path.as_str(), hit.match_line, shown), ("Anna.md", 1, vec!["Quokka", "Lisbon"]));
    assert!(hit.snippet.starts_with("employer: Quokka Works") && hit.snippet.ends_with("The person met in Lisbon."));
    // A name of a property is a word, too.
    let named = ask(&vault, "lisbon phone", &lexical);
    assert!(named.hits[0].snippet.starts_with("phone: +48 600 100 200"), "{}", named.hits[0].snippet);
    // A passage that has all words is enough.
    let own = ask(&vault, "person lisbon", &lexical);
    assert_eq!((own.hits[0].match_line, own.hits[0].snippet.as_str()), (6, "The person met in Lisbon."));
}

#[test]
fn an_alias_a_tag_or_a_kind_that_was_found_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    put(&mut index, 1, "Borscht.md", &["food/vegetarian"], None, &[], &["Four beetroots.\n", "Serve hot.\n"]);
    let mut called = note(2, 1, "Elfriede.md");
    called.texts = Said { title: "Elfriede", kind: Some("person"), aliases: &["Oma"], ..Said::default() }.pack();
    let chunk =
        ChunkDoc { context: "Elfriede. person.".to_owned(), ..crate::testing::chunk(2, 0, "Born in May.\n", "") };
    index.put(called, vec![chunk]).unwrap();
    let vault = Vault { snapshot: index.publish(1).unwrap(), _dir: dir };
    for (query, shown) in [
        ("vegetarian", "#food/vegetarian"),
        ("vegetarian beetroots", "#food/vegetarian · Four beetroots."),
        ("oma", "alias: Oma"),
        ("person", "type: person"),
        ("borscht", "Four beetroots."),
        ("elfriede may", "Born in May."),
    ] {
        let answer = ask(&vault, query, &Options { mode: Mode::Lexical, ..Options::default() });
        let hit = &answer.hits[0];
        assert_eq!((hit.snippet.as_str(), hit.match_line), (shown, hit.line), "{query}");
    }
}
