use crate::{Note, NoteRules, VaultPath, parse};

fn note(text: &str) -> Note {
    parse(&VaultPath::parse("docs/log.rst").unwrap(), text.as_bytes(), &NoteRules::default())
}

#[test]
fn adornments_make_levels_in_the_order_of_their_first_use() {
    let text = "\
=======
The log
=======

Before it all.

Lanterns
--------

.. a remark
.. note:: kept

Oil
~~~
text

Buoys
-----
";
    let note = note(text);
    let outline: Vec<(u8, &str, u32)> =
        note.outline.iter().map(|h| (h.level, h.text.as_str(), note.line_of(h.span.start))).collect();
    assert_eq!(outline, [(1, "The log", 1), (2, "Lanterns", 7), (3, "Oil", 13), (2, "Buoys", 17)]);
    assert_eq!(note.title, "The log");
    assert_eq!(note.hidden.iter().map(|span| &text[span.clone()]).collect::<Vec<_>>(), [".. a remark\n"]);
}

#[test]
fn a_comment_goes_on_as_long_as_it_is_indented() {
    let text = "a\n\n.. one\n   two\n\n   three\n\nb\n\n..\n   four\n\n..\n\n   quoted\n";
    let note = note(text);
    let shown = crate::chunk::visible(&note, &(0..text.len()));
    assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), ["a", "b", "quoted"]);
}

#[test]
fn what_only_looks_like_a_title_is_none() {
    for text in ["....\n\ntext\n", "a long line\n--\n", " indented\n--------\n", "----\n", "\n====\n"] {
        assert!(note(text).outline.is_empty(), "{text:?}: {:?}", note(text).outline);
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_and_blocks_stand_in_order(text in "[=\\-~.: a-c\n]{0,120}") {
        let note = note(&text);
        let mut end = 0;
        for block in &note.blocks {
            assert!(block.span.start >= end && block.span.end > block.span.start, "{:?}", note.blocks);
            end = block.span.end;
        }
    }
}

#[test]
fn a_private_tag_counts_in_every_place() {
    for text in [
        "Title\n=====\n\n:tags: work, private\n\ntext\n",
        ".. title: T\n.. tags: private/diary\n\ntext\n",
        "---\ntags: [private]\n---\ntext\n",
        "text (#Private), more\n",
    ] {
        assert!(crate::Private::default().covers_note(&note(text)), "{text}");
    }
    for text in ["A private talk.\n", "C# private\n", "#privateer\n"] {
        assert!(!crate::Private::default().covers_note(&note(text)), "{text}");
    }
}

#[test]
fn titles_have_no_marks() {
    let note = note("The **bold** and ``code`` title\n===============================\n\nx\n");
    assert_eq!(note.outline[0].text, "The bold and code title");
}
