//! Notes as models are shown them: what is in, what is out, and that passages keep their text.

use proptest::prelude::*;

use super::*;
use note::VaultPath;
use note::chunk::{ChunkConfig, Strategy as Cutting, Tools, chunk};
use note::{NoteRules, parse};

/// Where words start: close enough to the tokenizer's pieces.
fn words(text: &str) -> Vec<u32> {
    let starts = |(at, c): (usize, char)| {
        let first = text[..at].chars().next_back().is_none_or(char::is_whitespace);
        (!c.is_whitespace() && first).then_some(at as u32)
    };
    text.char_indices().filter_map(starts).collect()
}

fn small(strategy: Cutting) -> ChunkConfig {
    ChunkConfig { strategy, target: 12, min: 5, max: 18, overlap_percent: 15 }
}

fn document(path: &str, text: &str, config: &ChunkConfig) -> (Note, Vec<Chunk>, Document) {
    let note = parse(&VaultPath::parse(path).unwrap(), text.as_bytes(), &NoteRules::default());
    let chunks = chunk(&note, config, &Tools { token_starts: &words(&note.text), embed: &|_| Vec::new() });
    let document = Document::new(&note, &chunks);
    (note, chunks, document)
}

fn of(text: &str) -> Document {
    document("Projects/Note.md", text, &small(Cutting::Obsidian)).2
}

#[test]
fn a_note_says_what_it_is_and_keeps_its_secrets() {
    let text = "---\ntitle: Atlas rollout\naliases: [ATL, Atlas rollout]\ntags: [vendor]\ntype: Meeting\n\
        date: 2026-11-20\nstatus: active\nproject: \"[[Atlas]]\"\nauthor: [Mira, Jo]\n\
        source: https://me:hidden0@example.org/a?token=hidden1\napi_key: hidden2\npassword: hidden3\nclient_secret: hidden4\n\
        author_token: hidden5\nfolder: {status: hidden6}\n---\n# Plan\n\nWords of [[Northwind|them]] and [[Mira Chen]]. \
        %%hidden7%% See [[Mira Chen#Phone]] and [site](https://example.org).\n";
    let document = of(text);
    assert_eq!(document.title, "Atlas rollout");
    assert_eq!(document.aliases, ["ATL"]);
    assert_eq!(document.kind.as_deref(), Some("meeting"));
    assert_eq!(document.date.as_deref(), Some("2026-11-20 Friday"));
    assert_eq!(document.outline, [(1, "Plan".to_owned())]);
    assert_eq!(document.links, ["Northwind", "Mira Chen"]);
    let properties: Vec<(&str, &str)> = document.properties.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let expected =
        [("status", "active"), ("project", "Atlas"), ("author", "Mira, Jo"), ("source", "https://example.org/a")];
    assert_eq!(properties, expected);
    assert!(!format!("{document:?}").contains("hidden"), "{document:?}");
}

#[test]
fn front_matter_that_cannot_be_read_keeps_its_secrets_too() {
    let long = format!("---\n{}api_key: hidden\n---\n\nWords.\n", "key: value\n".repeat(7000));
    for text in [
        // While it is typed.
        "---\napi_password: hidden\n\n# Plan\n\nWords.\n",
        "---\ntitle: x\ntags: [a,\nb]\napi_password: hidden\n\ntoken: hidden\n- hidden\n\n# Plan\n\nWords.\n",
        "---\r\nurl: [[hidden]]\r\n  key: hidden\r\n\r\nWords.\r\n",
        "+++\ntoken = \"hidden\"\n+++\n\nWords.\n",
        "{\n\"token\": \"hidden\"\n}\n\nWords.\n",
        "title: x\ntags: a\ntoken: hidden\n-----------\n\nWords.\n",
        "---\n{{date}}\ntoken: hidden\n---\n\nWords.\n",
        long.as_str(),
    ] {
        let document = of(text);
        assert!(!format!("{document:?}").contains("hidden"), "{text:.80}: {document:?}");
        assert!(document.text.contains("Words."), "{text:.80}: {document:?}");
    }
}

#[test]
fn links_read_as_what_they_show() {
    let cases = [
        ("[[Mira Chen]]", "Mira Chen"),
        ("[[People/Mira Chen|Mira]]", "Mira (Mira Chen)"),
        ("[[#Risks]]", "Risks"),
        ("[the plan](Plan.md)", "the plan"),
        ("[site](https://example.org/x)", "site"),
        ("![[img/photo.png]]", "[image: photo.png]"),
        ("![[photo.png|300x200]]", "[image: photo.png]"),
        ("![a cat](https://example.org/cat.jpg)", "[image: a cat]"),
        ("![](data:image/png;base64,AAAA)", ""),
        ("![a dog](data:image/png;base64,AAAA)", "[image: a dog]"),
        ("![[Other note]]", "[embed: Other note]"),
        ("a <!-- x --> b", "a  b"),
        ("a\u{7}b\u{202e}c\r\nd\u{e0041}", "abc\nd"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            of(&format!("Some words {text} more.\n")).text,
            format!("Some words {expected} more.\n"),
            "{text:?}"
        );
    }
}

#[test]
fn long_code_is_shown_by_its_ends() {
    let lines: String = (1..=50).map(|n| format!("line{n}\n")).collect();
    let text = format!("Before.\n\n```rust\n{lines}```\n\nAfter.\n");
    let whole = ChunkConfig { strategy: Cutting::Obsidian, target: 500, min: 100, max: 800, overlap_percent: 15 };
    let (.., document) = document("n.md", &text, &whole);
    assert!(document.text.contains("```rust\nline1\n") && document.text.contains("line50\n```\n\nAfter."));
    assert!(document.text.contains("line9\n[… 32 lines …]\nline42\n"), "{}", document.text);
    assert_eq!(document.passage_text(&document.passages[0]), document.text.trim_end());
    let short = format!("```\n{}```\n", "x\n".repeat(28));
    assert_eq!(of(&short).text, short);
}

#[test]
fn long_code_in_several_chunks_leaves_none_of_them_empty() {
    let lines: String = (1..=400).map(|n| format!("line{n} with words\n")).collect();
    let config = ChunkConfig { strategy: Cutting::Obsidian, target: 150, min: 50, max: 200, overlap_percent: 15 };
    let (.., document) = document("n.md", &format!("```\n{lines}```\n"), &config);
    assert!(document.passages.len() > 3);
    for passage in &document.passages {
        assert!(document.passage_text(passage).contains("with words"), "{passage:?}");
    }
    assert!(document.text.contains("lines …]"));
}

#[test]
fn heading_paths_hold_what_is_above_and_within() {
    let document = of("# A\n\none two three\n\n## B\n\nfour\n\n## C\n\nfive\n");
    assert_eq!(document.passages.len(), 1);
    assert_eq!(document.passages[0].heading_path, ["A", "B", "C"]);
    assert_eq!(document.passages[0].n, 1);
    let empty = of("");
    assert_eq!((empty.text.as_str(), empty.passages.len()), ("", 1));
    assert_eq!(empty.passage_text(&empty.passages[0]), "");
}

/// Words and marks that make every kind of thing that is replaced, in any order.
fn any_note() -> impl Strategy<Value = String> {
    let piece = "([a-zé日]{1,6} |[a-z]{1,4} |\n|\n\n|# H\n|## K\n|\r\n|%%|<!--|-->|\\[\\[No|\\|al|\\]\\]|!\\[\\[|\\[t\\]\\(u\\)|\
        ```\n|- |\\||`|\u{7}|\u{202e}|x\ny\nz\n|\u{feff}|---\n|title: a\n)";
    prop::collection::vec(prop::string::string_regex(piece).unwrap(), 0..160).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn passages_keep_their_words(text in any_note(), fixed in any::<bool>()) {
        let config = small(if fixed { Cutting::Fixed } else { Cutting::Obsidian });
        let (note, chunks, document) = document("n.md", &text, &config);
        prop_assert_eq!(chunks.len(), document.passages.len());
        let mut last = 0;
        for passage in &document.passages {
            let shown = document.text.get(passage.span.clone());
            prop_assert!(shown.is_some(), "{:?} is no span of the text", passage.span);
            prop_assert!(passage.span.start >= last);
            last = passage.span.start;
        }
        prop_assert!(document.text.chars().all(|c| !is_unseen(c)));
        prop_assert_eq!(&Document::new(&note, &chunks), &document);
    }

    #[test]
    fn plain_notes_keep_every_word(text in "([a-zé日]{1,6}[ \n]|# H\n|## K\n|\r\n|\u{7}|- ){0,80}") {
        let (note, chunks, document) = document("n.md", &text, &small(Cutting::Obsidian));
        for (chunk, passage) in chunks.iter().zip(&document.passages) {
            let words = |text: &str| text.chars().filter(|c| !c.is_whitespace() && !is_unseen(*c)).collect::<String>();
            prop_assert_eq!(words(document.passage_text(passage)), words(&note.text[chunk.span.clone()]));
        }
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let note = parse(&VaultPath::parse("n.md").unwrap(), &bytes, &NoteRules::default());
        let chunks = chunk(&note, &small(Cutting::Fixed), &Tools { token_starts: &words(&note.text), embed: &|_| Vec::new() });
        let document = Document::new(&note, &chunks);
        prop_assert!(document.passages.iter().all(|p| document.text.get(p.span.clone()).is_some()));
    }
}
