//! Tables of what a note may hold, properties that hold for any bytes, and shapes made to hurt.

mod inline;
#[path = "../../tests/fuzz/bodies/whole.rs"]
mod whole;

use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use whole::whole;

pub(super) fn note_at(path: &str, bytes: &[u8]) -> Note {
    let note = parse(&VaultPath::parse(path).unwrap(), bytes, &NoteRules::default());
    whole(&note);
    note
}

pub(super) fn note(text: &str) -> Note {
    note_at("folder/Stem.md", text.as_bytes())
}

fn outline(text: &str) -> Vec<(u8, String)> {
    note(text).outline.into_iter().map(|heading| (heading.level, heading.text)).collect()
}

#[test]
fn headings() {
    for (text, expected) in [
        ("# A\n## B ##\n", vec![(1, "A"), (2, "B")]),
        ("A\n===\nB b\nc\n---\n", vec![(1, "A"), (2, "B b c")]),
        ("```\n# no\n```\n~~~\n# no\n~~~\n    # no\n# Yes\n", vec![(1, "Yes")]),
        ("#tag\n#tag/x more\n####### seven\n", vec![]),
        ("> # quoted\n\n- # listed\n\n1. ## listed\n\n# Top\n", vec![(1, "Top")]),
        ("# `code` *em* **s** ~~d~~ [l](x.md) [[N]] [[N|a]] ![i](p.png) $x$\n", vec![(1, "code em s d l N a i x")]),
        ("# A &amp; B \\# C {#id .cls}\n", vec![(1, "A & B # C")]),
        ("# {{date}} {a, b}\n# Log ^log-1\n#\n", vec![(1, "{{date}} {a, b}"), (1, "Log"), (1, "")]),
        ("  #  Spaced\t out \n", vec![(1, "Spaced out")]),
        ("# CRLF\r\ntext\r\n## B\r\n", vec![(1, "CRLF"), (2, "B")]),
        ("# A #b/c\n", vec![(1, "A #b/c")]),
        ("%%\n# Hidden\n%%\n# Shown\n<!--\n# No\n-->\n", vec![(1, "Shown")]),
        ("<div>\n# in html\n</div>\n\n# After\n", vec![(1, "After")]),
        ("# A <b>b</b> <!-- c -->d\n", vec![(1, "A b d")]),
        ("---\n# not: a heading\n---\n# A\n", vec![(1, "A")]),
        ("text\n***\n---\n# A\n---\n", vec![(1, "A")]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(level, text)| (level, text.to_owned())).collect();
        assert_eq!(outline(text), expected, "{text:?}");
    }
}

fn section_texts(text: &str) -> Vec<(Vec<String>, String, String)> {
    let note = note(text);
    let path = |section| note.heading_path(section).into_iter().map(str::to_owned).collect();
    let read = |span: &Range<usize>| note.text[span.clone()].to_owned();
    note.sections.iter().map(|section| (path(section), read(&section.span), read(&section.content))).collect()
}

#[test]
fn sections() {
    for (text, expected) in [
        ("", vec![("", "", "")]),
        (" \n", vec![("", " \n", " \n")]),
        ("a\n# H\nb\n", vec![("", "a\n", "a\n"), ("H", "# H\nb\n", "b\n")]),
        ("\n\n# H\nb", vec![("H", "\n\n# H\nb", "b")]),
        ("---\nt: 1\n---\n\n# H", vec![("H", "\n# H", "")]),
        (
            "## A\n# B\n### C\n## D\n",
            vec![("A", "## A\n", ""), ("B", "# B\n", ""), ("B/C", "### C\n", ""), ("B/D", "## D\n", "")],
        ),
        ("A\n=\nx\n", vec![("A", "A\n=\nx\n", "x\n")]),
    ] {
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(path, span, content)| {
                let path = path.split('/').filter(|p| !p.is_empty()).map(str::to_owned).collect::<Vec<_>>();
                (path, span.to_owned(), content.to_owned())
            })
            .collect();
        assert_eq!(section_texts(text), expected, "{text:?}");
    }
}

#[test]
fn section_keys_depend_on_path_and_ordinal_only() {
    let keys = |text: &str| note(text).sections.into_iter().map(|s| s.key).collect::<Vec<_>>();
    let before = keys("# A\n## B\nx\n## B\n# C\n## B\n");
    assert_eq!(keys("# A\n## B\nother\n\n## B\n# C\n## B\n"), before, "bodies do not count");
    assert_eq!(keys("# A\n# New\n## B\n# C\n## B\n")[4], before[4], "elsewhere does not count");
    let renamed = keys("# Z\n## B\nx\n## B\n# C\n## B\n");
    let kept: Vec<bool> = before.iter().zip(&renamed).map(|(a, b)| a == b).collect();
    assert_eq!(kept, [false, false, false, true, true], "a new name counts below it");
    assert_eq!(before[0], crate::fingerprint::section_key([(1, "A")], 0));
    assert_eq!(before[2], crate::fingerprint::section_key([(1, "A"), (2, "B")], 1));
}

fn blocks(text: &str) -> Vec<(BlockKind, String, Vec<String>)> {
    let note = note(text);
    let read = |block: &Block| {
        let starts = block.cuts.iter().copied();
        let ends = block.cuts.iter().skip(1).copied().chain([block.span.end]);
        starts.zip(ends).map(|(start, end)| note.text[start..end].to_owned()).collect()
    };
    note.blocks.iter().map(|block| (block.kind, note.text[block.span.clone()].to_owned(), read(block))).collect()
}

#[test]
fn top_level_blocks() {
    use BlockKind::{Code, Heading, Html, List, Paragraph, Quote, Table};
    for (text, kind, cuts) in [
        ("a\nb\n", Paragraph, vec![]),
        ("# a\n", Heading, vec![]),
        ("- a\n  - b\n\n    c\n- d\n", List, vec!["  - b\n\n    c\n", "- d\n"]),
        ("- [ ] a\n- [x] b\n", List, vec!["- [x] b\n"]),
        ("|a|b|\n|-|-|\n|1|2|\n|3|4|\n", Table, vec!["|1|2|\n", "|3|4|\n"]),
        ("```rust\na\n\nb\n```\n", Code, vec!["a\n", "\n", "b\n", "```\n"]),
        ("    a\n    b\n", Code, vec!["    b\n"]),
        ("$$\nx\n$$\n", Code, vec!["x\n", "$$\n"]),
        ("> [!note]- T\n> a\n", Quote, vec!["> a\n"]),
        ("> - a\n> - b\n", Quote, vec!["> - b\n"]),
        ("<div>\nx\n</div>\n", Html, vec![]),
        ("***\n", Paragraph, vec![]),
        ("[^1]: note\n", Paragraph, vec![]),
        ("a $$x$$\n", Paragraph, vec![]),
    ] {
        let cuts: Vec<_> = cuts.into_iter().map(str::to_owned).collect();
        assert_eq!(blocks(text), [(kind, text.to_owned(), cuts.clone())], "{text:?}");
        let wrapped = format!("para\n\n{text}\n\n\n# end");
        assert_eq!(blocks(&wrapped)[1], (kind, text.to_owned(), cuts), "{wrapped:?}");
    }
    assert_eq!(blocks("a\r\n\r\n- b\r\n- c\r\n")[1].1, "- b\r\n- c\r\n");
}

#[test]
fn titles() {
    for (text, title) in [
        ("---\ntitle: T\n---\n# H\n", "T"),
        ("\n\n# H\n## I\n", "H"),
        ("x\n\n# H\n", "Stem"),
        ("# H\n# I\n", "Stem"),
        ("## H\n# I\n", "Stem"),
        ("#\n", "Stem"),
        ("", "Stem"),
        ("---\ntitle:\n---\n", "Stem"),
        ("<!-- markdownlint-disable MD033 -->\n# H\n", "H"),
        ("%% draft %%\n\n# H\n", "H"),
        ("[[_TOC_]]\n\n# H\n", "H"),
        ("[TOC]\n\n---\n\n# H\n", "H"),
        ("<div align=\"center\">\n<img src=\"a.png\">\n</div>\n\n# H\n", "H"),
        ("import Tabs from '@theme/Tabs';\nimport './a.css'\n\n# H\n", "H"),
        ("<p>x</p>\n\n# H\n", "Stem"),
        ("see [TOC]\n\n# H\n", "Stem"),
        ("import licences from Norway\n\n# H\n", "Stem"),
    ] {
        assert_eq!(note(text).title, title, "{text:?}");
    }
    assert_eq!(note_at("pages/projects___alpha.md", b"x").title, "projects/alpha");
    assert_eq!(note_at("a%20b.png", b"").title, "a%20b.png");
}

#[test]
fn what_programs_put_something_else_in_place_of_is_not_read() {
    for (text, read) in [
        ("[[_TOC_]]\n\na [[b]] [TOC]\n", "a b [TOC]"),
        ("# H\n\nimport Tabs from \"@theme/Tabs\";\n\na\n\nimport b from 'b'\n", "# H\n\n\na\n\nimport b from 'b'"),
    ] {
        let note = note(text);
        assert_eq!(crate::chunk::searchable(&note, &(0..note.text.len())).trim(), read);
        assert!(note.links.iter().all(|link| link.target == "b"), "{:?}", note.links);
    }
}

#[test]
fn what_programs_keep_in_a_note_for_themselves_is_not_read() {
    let id = "6720a1c4-0b7e-4e0f-9d1c-3b5a7f9e2d10";
    let read = |text: &str| crate::chunk::searchable(&note(text), &(0..text.len()));
    for (text, expected) in [
        (format!("- hull\n  collapsed:: true\n\t- paint\n\t  id:: {id}\n- x"), "- hull\n\t- paint\n- x"),
        (format!("- id:: {id}\n  a"), "- \n  a"),
        ("- q #card\n  card-repeats:: 2\n  card-last-score:: 5\n  by:: me\n".to_owned(), "- q #card\n  by:: me\n"),
        (
            "- DONE a\n  :LOGBOOK:\n  CLOCK: [2026-11-01 Fri 10:11]--[..] =>  00:30\n  :END:\n  b\n".to_owned(),
            "- DONE a\n  b\n",
        ),
        ("<style>\na { b }\n\nc\n</style>\n\n# H\n\n<SCRIPT setup>\nx\n</SCRIPT>\n".to_owned(), "\n\n# H\n\n\n"),
        (
            "say id:: here\n:LOGBOOK: a\n:END:\n\n<style>\nopen".to_owned(),
            "say id:: here\n:LOGBOOK: a\n:END:\n\n<style>\nopen",
        ),
    ] {
        assert_eq!(read(&text), expected);
    }
    assert!(note("- :LOGBOOK:\n- a\n- :END:\n").hidden.is_empty(), "it ends with its block");
    let block = note(&format!("- a\n  id:: {id}\n"));
    assert_eq!(block.block_ids, [(id.to_owned(), 0)], "it is known all the same");
    assert!(note_at("n.txt", b"<style>\na\n</style>\n").hidden.is_empty());
}

#[test]
fn of_a_drawing_its_words_are_read() {
    let text = "---\nexcalidraw-plugin: parsed\n---\n==⚠  Switch to EXCALIDRAW VIEW. ⚠==\n\n\n# Text Elements\nherbs ^a1\n\n# Drawing\n```json\n{}\n```\n%%";
    let drawing = note(text);
    assert_eq!(crate::chunk::searchable(&drawing, &(drawing.body..text.len())).trim(), "# Text Elements\nherbs ^a1");
    assert_eq!(drawing.outline.len(), 1);
    let hidden = note(&text.replace("# Drawing", "%%\n## Drawing"));
    assert_eq!(hidden.hidden.len(), 2);
    assert!(note(&text.replace("excalidraw", "other")).hidden.is_empty());
}

#[test]
fn what_is_indented_below_an_admonition_or_a_tab_is_a_quote() {
    for text in [
        "!!! warning \"Mains\"\n\n    See [r](r.md) #t\n",
        "=== \"Linux\"\n\tSee [r](r.md) #t\n",
        "??? note\n    a\n\n    # h\n    [r](r.md) #t\n",
    ] {
        let note = note(text);
        assert_eq!((note.links[0].target.as_str(), note.tags.as_slice()), ("r.md", &["t".to_owned()][..]), "{text}");
        assert_eq!((note.outline.len(), note.blocks.last().unwrap().kind), (0, BlockKind::Quote), "{text}");
    }
    for text in ["```\n!!! note\n    [r](r.md)\n```\n", "!!! note\n\na\n\n    [r](r.md)\n", "!!!\n\n    [r](r.md)\n"] {
        assert!(note(text).links.is_empty(), "{text}");
    }
}

#[test]
fn what_stands_in_a_callout_of_html_is_markdown() {
    for text in [
        "<aside>\n💡 [r](r.md) **b** #t <!-- #no -->\n# h\n\n</aside>\n",
        "<details open>\n<summary>x</summary>\n[r](r.md) #t\n</details>\n",
    ] {
        let note = note(text);
        assert_eq!((note.links[0].target.as_str(), note.tags.as_slice()), ("r.md", &["t".to_owned()][..]), "{text}");
        assert_eq!((note.outline.len(), note.blocks[0].kind), (0, BlockKind::Html), "{text}");
    }
    assert!(note("<div>\n[r](r.md)\n</div>\n").links.is_empty());
}

#[test]
fn kinds_and_dates() {
    let day = Some(jiff::civil::date(2026, 11, 20));
    let daily = note_at("journals/2026_11_20.md", b"x");
    assert_eq!((daily.kind.as_deref(), daily.days.day()), (Some("daily"), day));
    let told = note_at("2026-01-01.md", b"---\ntype: Log\ndate: 2026-11-20\ncreated: 2025-01-01\n---\n");
    assert_eq!((told.kind.as_deref(), told.days.day()), (Some("log"), day));
    let broken = note_at("2026-11-20.md", b"---\ndate: {{date}}\n---\n");
    assert_eq!((broken.kind.as_deref(), broken.days.day()), (Some("daily"), day));
}

#[test]
fn encodings() {
    let marked = note("\u{FEFF}---\ntitle: T\n---\n# H\n");
    assert_eq!((marked.title.as_str(), marked.outline.len()), ("T", 1));
    assert_eq!(note("\u{FEFF}# H\n").title, "H");
    let utf16: Vec<u8> = "\u{FEFF}---\ntitle: Ü\n---\n# H\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide = note_at("a.md", &utf16);
    assert_eq!((wide.title.as_str(), wide.hash), ("Ü", crate::fingerprint::text_hash(&utf16)));
    let lossy = note_at("a.md", b"# H\n\xFF\0[[a]]\n");
    assert_eq!((lossy.links.len(), lossy.warnings[0].line), (1, 2));
}

#[test]
fn lines_are_counted_from_1_and_a_position_past_the_end_is_on_the_last() {
    let note = note("a\n\nb\r\nc");
    assert_eq!([0, 1, 2, 3, 5, 6, 9].map(|at| note.line_of(at)), [1, 1, 2, 3, 3, 4, 4]);
}

/// Each of these once took, or would take without a bound, more than linear time or stack. The sizes are
/// such that a quadratic reading would be felt.
#[test]
fn hostile_shapes_finish() {
    let nested_list = (0..1500).fold(String::new(), |mut text, depth| {
        let _ = writeln!(text, "{}- a", " ".repeat(depth * 2));
        text
    });
    let shapes = [
        "word ".repeat(400_000),
        "# a\n".repeat(100_000),
        "> ".repeat(10_000) + "x\n" + &"y\n".repeat(100_000),
        "- ".repeat(10_000) + "x\n" + &"y\n".repeat(100_000),
        "1. ".repeat(10_000) + "x\r" + &"y\r".repeat(50_000),
        nested_list,
        "[[".repeat(50_000),
        "[[a".repeat(50_000) + &"]]".repeat(50_000),
        "![".repeat(50_000) + &"a".repeat(50_000) + &"](b)".repeat(50_000),
        "|a".repeat(10_000) + "\n" + &"|-".repeat(10_000) + "\n" + &"a\n".repeat(20),
        "\0".repeat(200_000),
        "#t ".repeat(50_000),
        "%% ".repeat(100_000),
        "%%\n\n".repeat(50_000),
        "<div><!--\n\n".repeat(30_000),
        "<aside>\n".repeat(50_000),
        "a\n<aside>\n".repeat(30_000),
        "<!-- --> ".repeat(50_000),
        "[a:: ".repeat(20_000),
        "a:: ".repeat(50_000),
        "a://".repeat(50_000),
        format!("https://x{}", ")".repeat(200_000)),
        "^".repeat(100_000),
        format!("# {}\n{}", "x".repeat(300_000), "## b\n".repeat(10_000)),
        format!("---\na: {}\n---\n", "[[".repeat(30_000)),
        format!("---\n{}---\n", "a: b: c\n".repeat(8_000)),
        "---\n".repeat(50_000),
        format!("<p>\n{}", "data:a/".repeat(200_000)),
        "![".repeat(20_000) + &"](data:a/)".repeat(20_000),
        "[//]: # (a)\n".repeat(20_000),
        ":LOGBOOK:\n".repeat(50_000),
        "collapsed:: true\n".repeat(50_000),
        "[id:: a] ".repeat(50_000),
    ];
    for shape in &shapes {
        note(shape);
    }
    let tagged = (0..5000).fold(String::new(), |text, i| text + &format!("#t{i} "));
    assert_eq!(note(&tagged).tags.len(), 5000);
}

#[test]
fn deep_quotes_stay_quotes_and_their_text_is_read() {
    let deep = "> ".repeat(10_000) + "#tag [[a]]\n";
    let note = note(&deep);
    assert_eq!((note.blocks.len(), note.blocks[0].kind, note.links.len()), (1, BlockKind::Quote, 1));
    assert_eq!(note.tags, ["tag"]);
}

/// Pieces that mean something to one of the readers, so that random texts hit their seams.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        " ",
        "    ",
        "\t",
        "# ",
        "## ",
        "===\n",
        "---\n",
        "...\n",
        "> ",
        "- ",
        "1. ",
        "- [ ] ",
        "| a | b |\n",
        "|---|---|\n",
        "|",
        "```\n",
        "~~~",
        "$$",
        "$",
        "`",
        "[[",
        "]]",
        "![[",
        "#",
        "^",
        "\\",
        "%%",
        "<!--",
        "-->",
        "<div>",
        "</div>",
        "[",
        "](",
        ")",
        "::",
        ": ",
        "key",
        "#tag/x",
        "*",
        "_",
        "==",
        "~~",
        "{#id}",
        "&amp;",
        "https://x.y/",
        "ü",
        "日本",
        "\u{301}",
        "\0",
        "\u{FEFF}",
        "title: ",
        "tags: ",
        "&a ",
        "*a ",
        "[^1]",
        "[^1]: ",
        "[r]: x\n",
        "a",
        "b c",
    ]);
    (any::<bool>(), prop::collection::vec(piece, 0..60))
        .prop_map(|(front, pieces)| if front { "---\n".to_owned() + &pieces.concat() } else { pieces.concat() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_soup_parses(text in soup()) {
        note(&text);
    }

    #[test]
    fn any_bytes_parse(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        note_at("a/2026-11-20.md", &bytes);
    }

    #[test]
    fn utf8_is_kept_byte_for_byte(text in soup()) {
        let lines: Vec<String> = text.split("\r\n").map(|line| line.replace('\r', "\n")).collect();
        prop_assert_eq!(note(&text).text, lines.join("\r\n"));
    }
}

#[test]
fn a_reference_to_a_block_is_a_link_by_its_id() {
    let id = "6720a1c4-0b7e-4e0f-9d1c-3b5a7f9e2d10";
    for (text, expected) in [
        (format!("- see (({id})) and {{{{embed (({id}))}}}}"), 2),
        (format!("f((({id})))"), 1),
        (format!("`(({id}))` (({id}x)) (({})) ({id})", &id[1..]), 0),
        (format!("(({id}"), 0),
        ("(((((((((".to_owned(), 0),
    ] {
        let links = note(&text).links;
        assert_eq!(links.len(), expected, "{text}");
        for link in links {
            assert_eq!((link.mention(), link.block.as_deref()), (Some(format!("id:{id}")), Some(id)));
            assert_eq!(text[link.span.clone()], format!("(({id}))"));
        }
    }
}

#[test]
fn rows_of_dashes_part_paragraphs_of_plain_text() {
    let log =
        "Calls\n=====\n\nMonday\n------\nAnn called, call back\nbefore noon.\n-----\nZoe called.\n-----\n\n# Done\n";
    let titles = |path| note_at(path, log.as_bytes()).outline.iter().map(|h| h.text.clone()).collect::<Vec<_>>();
    assert_eq!(titles("calls.txt"), ["Calls", "Monday", "Done"]);
    assert_eq!(titles("calls.md"), ["Calls", "Monday", "Ann called, call back before noon.", "Zoe called.", "Done"]);
}
