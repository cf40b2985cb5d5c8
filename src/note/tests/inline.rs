//! Tags, comments, links, block ids and fields.

use serde_json::json;

use super::*;

fn tags(text: &str) -> Vec<String> {
    note(text).tags
}

#[test]
fn tags_in_text() {
    for (text, expected) in [
        ("#a #b/c, (#d) #e-f_g.\n#h\n- #i\n> #j\n", vec!["a", "b/c", "d", "e-f_g", "h", "i", "j"]),
        ("#über #日本語 #काम #🚀x #ñ", vec!["über", "日本語", "काम", "🚀x", "ñ"]),
        ("#a #A #a", vec!["a"]),
        ("#1 #123 # #- #/x #!x a#b &#35; \\#no ##x", vec![]),
        ("#2026-x #y1984", vec!["2026-x", "y1984"]),
        ("`#no` $#no$\n\n```\n#no\n```\n\n    #no\n\n<p>\n#no\n</p>\n", vec![]),
        ("https://x.y/#no http://x/(#no [#no](x) [[#no]] <https://x/#no>", vec![]),
        ("**#a** _#b_ ==#c== |#d", vec!["a", "b", "c", "d"]),
        ("%%#no%% #a <!-- #no --> #b\n\n%%\n#no\n\n#no\n%%\n#c", vec!["a", "b", "c"]),
        ("100%% #a and %% #b", vec!["b"]),
        ("# Heading #a\n\n|x|\n|-|\n|#b|\n", vec!["a", "b"]),
        ("---\ntags: [z, a]\n---\n#a #b/", vec!["z", "a", "b"]),
        ("#a_b_c #d*e", vec!["a_b_c", "d"]),
        ("#[[two words]] (#[[a/b|shown]] #[[ ]] x#[[no]] [[no]] #[[no\n]]", vec!["two words", "a/b"]),
        ("「#a」 “#b”", vec!["a", "b"]),
        ("#two words 2026# and #x/y zz z2#, #a", vec!["two words 2026", "two", "x/y zz z2", "x/y", "a"]),
        ("#a on C# and #b, not #c#d #e f## #g h #i", vec!["a", "b", "c", "e", "g", "i"]),
    ] {
        assert_eq!(tags(text), expected, "{text:?}");
    }
}

#[test]
fn comments_are_those_of_markdown_and_of_no_other_text() {
    for path in ["n.txt", "n.canvas", "n.html", "n.epub", "n.docx"] {
        assert_eq!(note_at(path, b"%% #a\n\n#b\n\n%%\n").tags, ["a", "b"], "{path}");
        assert!(note_at(path, b"%% a\n").warnings.is_empty(), "{path}");
    }
    assert_eq!(note_at("n.MARKDOWN", b"%% #a\n\n#b\n\n%%\n#c").tags, ["c"]);
}

#[test]
fn an_unclosed_comment_hides_nothing() {
    assert_eq!(tags("a %% #x\n\n#b %% #c\n"), ["x", "b", "c"], "not at a line's start: pairs within a block only");
    let open = note("#a\n\n%%\n#b\n");
    assert_eq!((open.tags.len(), open.hidden.len(), open.warnings[0].line), (2, 0, 3));
    let html = note("#a\n\n<!-- x\n\n#b\n");
    assert_eq!((html.hidden.len(), html.warnings[0].line), (0, 3));
    let nested = note("%% a <!-- b --> c %% d\n");
    assert_eq!(nested.hidden, vec![0..20]);
}

fn link(target: &str) -> Link {
    Link {
        kind: LinkKind::Wiki,
        embed: false,
        vault: None,
        target: target.to_owned(),
        heading: None,
        block: None,
        alias: None,
        span: 0..0,
    }
}

#[test]
fn links_of_all_kinds() {
    let some = |text: &str| Some(text.to_owned());
    let markdown = |target| Link { kind: LinkKind::Markdown, ..link(target) };
    let url = |target| Link { kind: LinkKind::Url, ..link(target) };
    for (text, expected) in [
        ("[[Note]]", link("Note")),
        (
            "[[dendron://vault/bird.heron#Nest]]",
            Link { heading: some("Nest"), vault: some("vault"), ..link("bird.heron") },
        ),
        ("[[ Folder/Note.md ]]", link("Folder/Note.md")),
        ("[[Note|a *b*]]", Link { alias: some("a *b*"), ..link("Note") }),
        ("[[Note#Head ing|x]]", Link { heading: some("Head ing"), alias: some("x"), ..link("Note") }),
        ("[[Note#A#B]]", Link { heading: some("A#B"), ..link("Note") }),
        ("[[Note#^b-1]]", Link { block: some("b-1"), ..link("Note") }),
        ("[[Note^b1]]", Link { block: some("b1"), ..link("Note") }),
        ("[[#Here]]", Link { heading: some("Here"), ..link("") }),
        ("[[#^b]]", Link { block: some("b"), ..link("") }),
        ("[[100%20]]", link("100%20")),
        ("[[https://x.y/z|s]]", Link { alias: some("s"), ..url("https://x.y/z") }),
        ("![[Note#H]]", Link { embed: true, heading: some("H"), ..link("Note") }),
        ("![[i.png|100]]", Link { embed: true, ..link("i.png") }),
        ("![[i.png|alt|100x20]]", Link { embed: true, alias: some("alt"), ..link("i.png") }),
        ("[[Note|100]]", Link { alias: some("100"), ..link("Note") }),
        ("| a |\n|---|\n| [[P\\|q]] |", Link { alias: some("q"), ..link("P") }),
        ("| a |\n|---|\n| ![[i.png\\|50]] |", Link { embed: true, ..link("i.png") }),
        ("[t](a%20b.md#A%20b)", Link { heading: some("A b"), alias: some("t"), ..markdown("a b.md") }),
        ("[t](<a b.md> \"title\")", Link { alias: some("t"), ..markdown("a b.md") }),
        ("[t](a%23b.md)", Link { alias: some("t"), ..markdown("a#b.md") }),
        ("[t](%FFx.md)", Link { alias: some("t"), ..markdown("%FFx.md") }),
        ("[t](x.md#^id)", Link { block: some("id"), alias: some("t"), ..markdown("x.md") }),
        ("[t](#x)", Link { heading: some("x"), alias: some("t"), ..markdown("") }),
        ("[x.md](x.md)", markdown("x.md")),
        ("[](x.md)", markdown("x.md")),
        ("[a `b` **c**](x.md)", Link { alias: some("a b c"), ..markdown("x.md") }),
        ("[Foo](Foo:%20bar.md)", Link { alias: some("Foo"), ..markdown("Foo: bar.md") }),
        ("![alt|100](i.png)", Link { embed: true, alias: some("alt"), ..markdown("i.png") }),
        ("[t][r]\n\n[r]: a.md", Link { alias: some("t"), ..markdown("a.md") }),
        ("[t]([[Page]])", Link { alias: some("t"), ..markdown("Page") }),
        ("![t]([[Page#H]])", Link { embed: true, heading: some("H"), alias: some("t"), ..markdown("Page") }),
        ("[t]([[https://x.y]])", Link { alias: some("t"), ..url("https://x.y") }),
        (
            "[t](((64f0a1b2-1111-4222-8333-444455556666)))",
            Link {
                block: some("64f0a1b2-1111-4222-8333-444455556666"),
                alias: some("t"),
                ..markdown("id:64f0a1b2-1111-4222-8333-444455556666")
            },
        ),
        ("[t](denote:20240315T123045)", Link { alias: some("t"), ..markdown("denote:20240315T123045") }),
        ("[t](https://x.y/a%20b#c)", Link { alias: some("t"), ..url("https://x.y/a%20b#c") }),
        ("[t](//x.y)", Link { alias: some("t"), ..url("//x.y") }),
        ("<https://x.y>", url("https://x.y")),
        ("<a@b.de>", url("mailto:a@b.de")),
        ("see https://x.y/a_b?c=d&e#f.", url("https://x.y/a_b?c=d&e#f")),
        ("(https://x.y/a(b))", url("https://x.y/a(b)")),
        ("---\nup: \"[[Up|u]]\"\n---\n", Link { alias: some("u"), ..link("Up") }),
    ] {
        let links: Vec<_> = note(text).links.into_iter().map(|link| Link { span: 0..0, ..link }).collect();
        assert_eq!(links, [expected], "{text:?}");
    }
}

#[test]
fn what_a_link_mentions() {
    for (text, mention) in [
        ("[[Note|x]]", "Note\nx"),
        ("[[dendron://v2/a.b#h]]", "dendron://v2/a.b"),
        ("[[B|dendron://v2/a.b#h]]", "B\ndendron://v2/a.b"),
        ("[[dendron://v2/a.b|B]]", "dendron://v2/a.b\nB"),
        ("[D](denote:20240315T123045)", "20240315T123045"),
    ] {
        assert_eq!(note(text).links[0].mention().as_deref(), Some(mention), "{text}");
    }
    for (text, file) in [
        ("[x](file:///home/u/My%20Notes/a.md#h)", Some("/home/u/My Notes/a.md")),
        ("[x](/a.md)", Some("/a.md")),
        ("[x](https://a.b/c)", None),
        ("[x](a.md)", None),
    ] {
        assert_eq!(note(text).links[0].file().as_deref(), file, "{text}");
    }
}

#[test]
fn a_text_that_is_a_link() {
    for (text, target, part) in [
        ("[[Plan#Dates|x]]", "Plan", Some("Dates")),
        ("![[Plan^b1]]", "Plan", Some("b1")),
        ("[text](My%20Plan.md#Dates)", "My Plan.md", Some("Dates")),
        ("[[file:a.org::*Head][x]]", "a.org", Some("Head")),
        ("[[file:/home/u/a.org]]", "/home/u/a.org", None),
        ("[x](https://x.y/Plan.md)", "https://x.y/Plan.md", None),
        ("[[id:64f0a1b2-1111-4222-8333-444455556666][t]]", "id:64f0a1b2-1111-4222-8333-444455556666", None),
        (
            "((64f0a1b2-1111-4222-8333-444455556666))",
            "id:64f0a1b2-1111-4222-8333-444455556666",
            Some("64f0a1b2-1111-4222-8333-444455556666"),
        ),
    ] {
        let link = crate::link(text).unwrap();
        assert_eq!((link.target.as_str(), link.heading.or(link.block).as_deref()), (target, part), "{text}");
    }
    for text in ["Plan", "see [[Plan]]", "[Plan]", "", "[[Plan]] and [[Other]]", "# [[Plan]]"] {
        assert_eq!(crate::link(text), None, "{text}");
    }
}

#[test]
fn what_is_no_link() {
    for text in [
        "`[[a]]`",
        "```\n[[a]]\n```",
        "[[]]",
        "[[ ]]",
        "[[a\nb]]",
        "\\[[a]]",
        "%%[[a]]%%",
        "<!-- [[a]] -->",
        "[a]",
        "[^1]",
        "http://",
        "$[[a]]$",
        "[ ] a",
        "{{[[TODO]]}} a, {{[[query]]: {and: b}}}",
    ] {
        assert_eq!(note(text).links, [], "{text:?}");
    }
    let nested = note("[![alt](i.png) t](x.md) [[z]]");
    let spans: Vec<_> = nested.links.iter().map(|l| (l.target.as_str(), l.alias.as_deref(), l.span.clone())).collect();
    assert_eq!(spans, [("x.md", Some("alt t"), 0..23), ("i.png", Some("alt"), 1..14), ("z", None, 24..29)]);
}

#[test]
fn block_ids() {
    let ids = |text: &str| note(text).block_ids;
    for (text, expected) in [
        ("text ^id-1\nmore\n", vec![("id-1", 5)]),
        ("- a ^x\n- b\n  ^y\n", vec![("x", 4), ("y", 13)]),
        ("> q\n\n^own\n", vec![("own", 5)]),
        ("# H ^h  \r\n", vec![("h", 4)]),
        ("a **b** ^c", vec![("c", 8)]),
        ("x^2\na ^b c\n`^d`\n[^1]\n^\n|a ^t|\n|-|\n%% ^no\n%%", vec![]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(id, at)| (id.to_owned(), at)).collect();
        assert_eq!(ids(text), expected, "{text:?}");
    }
}

#[test]
fn dataview_fields() {
    for (text, expected) in [
        ("due:: 2026-11-20\nMy key::  a [[b]] `c` \n", json!({"due": "2026-11-20", "My key": "a [[b]] `c`"})),
        ("- **Status**:: done\n- [ ] who:: me\n> q:: r\n", json!({FIELDS: {"Status": "done", "who": "me", "q": "r"}})),
        ("a [x:: 1] (y:: 2 (3)) [z::[[n]]]", json!({FIELDS: {"x": 1, "y": "2 (3)", "z": "[[n]]"}})),
        ("größe:: 5 m", json!({"größe": "5 m"})),
        ("std::vec a::b `k:: v`\n\nempty::\n\n%%h:: x%%\nsome. sentence:: x\n[open:: 1\n", json!({})),
        ("|a|\n|-|\n|k:: v|\n|[k:: w]|\n", json!({FIELDS: {"k": "w"}})),
    ] {
        assert_eq!(json!(note(text).front.properties), expected, "{text:?}");
    }
}

#[test]
fn a_link_may_be_read_with_its_text_first() {
    type Read<'a> = Option<(&'a str, Option<&'a str>, Option<&'a str>)>;
    let table: [(&str, Read<'_>, Option<&str>); 19] = [
        ("[[book:Dune]]", None, Some("book:Dune")),
        ("[[t|book:Dune]]", Some(("book:Dune", None, Some("t"))), Some("t\nbook:Dune")),
        ("[[mailto:ann@example.org]]", None, None),
        ("[[C#]]", None, Some("C#")),
        ("[[the moon|Tides]]", Some(("Tides", None, Some("the moon"))), Some("the moon\nTides")),
        ("[[the moon|Tides#Neap]]", Some(("Tides", Some("Neap"), Some("the moon"))), Some("the moon\nTides")),
        ("[[C# basics|lang.c]]", Some(("lang.c", None, Some("C#basics"))), Some("C\nlang.c")),
        (
            "[[t|dendron://sea/tides.neap#a]]",
            Some(("tides.neap", Some("a"), Some("t"))),
            Some("t\ndendron://sea/tides.neap"),
        ),
        ("[[t|dendron://sea]]", None, Some("t")),
        ("[[t|https://x.y/z]]", None, Some("t")),
        ("[[t|#Neap]]", None, Some("t")),
        ("| a |\n|---|\n| [[t\\|Tides]] |", Some(("Tides", None, Some("t"))), Some("t\nTides")),
        ("[[Tides]]", None, Some("Tides")),
        ("[the moon](Tides.md)", None, Some("Tides.md")),
        ("![[t|Tides#Neap]]", Some(("Tides", Some("Neap"), Some("t"))), Some("t\nTides")),
        ("![[Tides|300]]", None, Some("Tides")),
        ("![[tide.png|a tide|300x200]]", Some(("a tide", None, Some("tide.png"))), Some("tide.png\na tide")),
        ("[[https://x.y/z|Tides]]", None, None),
        ("[[#Neap|Tides]]", Some(("Tides", None, Some("#Neap"))), None),
    ];
    for (text, expected, mention) in table {
        let link = &note(text).links[0];
        let read = link.text_first();
        let read = read.as_ref().map(|l| (l.target.as_str(), l.heading.as_deref(), l.alias.as_deref()));
        assert_eq!(read, expected, "{text}");
        assert_eq!(link.mention().as_deref(), mention, "{text}");
    }
    assert_eq!(note("[[_TOC_]]\n\n- {{[[TODO]]}} wash\n").links, []);
}

#[test]
fn a_citation_in_two_pairs_of_brackets_is_a_link_to_its_address() {
    let table: [(&str, LinkKind, &str, Option<&str>, &str); 10] = [
        ("See [[1]](#sources).", LinkKind::Markdown, "", Some("sources"), "[1]"),
        ("See [[1]](https://x.y/z).", LinkKind::Url, "https://x.y/z", None, ""),
        ("See [[1]](../a/Tides.md#neap)", LinkKind::Markdown, "../a/Tides.md", Some("neap"), "[1]"),
        ("See [[the moon]](Tides.md)", LinkKind::Markdown, "Tides.md", None, "[the moon]"),
        ("As [[Smith]](2020) says", LinkKind::Wiki, "Smith", None, ""),
        ("As [[Smith]](see #3)", LinkKind::Wiki, "Smith", None, ""),
        ("As [[Smith]](#3", LinkKind::Wiki, "Smith", None, ""),
        ("As [[Smith]](#3\u{3000})", LinkKind::Wiki, "Smith", None, ""),
        ("![[Smith]](#3)", LinkKind::Wiki, "Smith", None, ""),
        ("As [[Smith]] (#3)", LinkKind::Wiki, "Smith", None, ""),
    ];
    for (text, kind, target, heading, shown) in table {
        let links = note(text).links;
        let [link] = &links[..] else { panic!("{text}: {links:?}") };
        let read =
            (link.kind, link.target.as_str(), link.heading.as_deref(), link.alias.as_deref().unwrap_or_default());
        assert_eq!(read, (kind, target, heading, shown), "{text}");
    }
}

#[test]
fn files_in_addresses_are_not_read() {
    let held = format!("data:image/png;base64,{}", "iVBORw0KGgo+/".repeat(500));
    for (text, read) in [
        (format!("We saw ![an okapi]({held}) there.\n"), "We saw an okapi there."),
        (format!("We saw ![]({held}) there.\n"), "We saw  there."),
        (format!("We saw ![an okapi](<{held}> \"title\").\n"), "We saw an okapi."),
        (format!("We saw ![][image1].\n\n[image1]: <{held}>\n"), "We saw ."),
        (format!("A <img src=\"{held}\" alt=\"b\"> c\n"), "A <img src=\"data:\" alt=\"b\"> c"),
        (format!("<p style='background: url({held})'>c</p>\n"), "<p style='background: url(data:)'>c</p>"),
        ("[see](data: no address) <p>data: 3/4</p>\n".to_owned(), "[see](data: no address) <p>data: 3/4</p>"),
    ] {
        for path in ["n.md", "n.txt", "n.html"] {
            let note = note_at(path, text.as_bytes());
            let searched = crate::chunk::searchable(&note, &(0..note.text.len()));
            assert_eq!(searched.trim(), read, "{path}");
            assert!(note.links.iter().all(|link| !link.target.contains("base64")), "{:?}", note.links);
        }
    }
}

#[test]
fn definitions_that_serve_as_comments_are_not_read() {
    let foam = "[//begin]: # \"Autogenerated link references for markdown compatibility\"\n[boats]: boats \"Boats\"\n[//end]: #\n";
    for (text, read) in [
        ("a\n\n[//]: # (secret draft)\n\nb\n", "a\n\n\n\nb"),
        ("a\n\n[comment]: <> (secret draft)\n", "a"),
        (foam, "[boats]: boats \"Boats\""),
    ] {
        let note = note(text);
        assert_eq!(crate::chunk::searchable(&note, &(0..note.text.len())).trim(), read);
    }
    let plain = note_at("n.txt", b"a\n\n[//]: # (draft)\n");
    assert!(plain.hidden.is_empty());
}

#[test]
fn a_priority_is_no_tag() {
    assert_eq!(tags("- TODO [#A] buy milk\n- [#a] [#B-C] (#A)\n"), ["a", "B-C"]);
}
