use proptest::prelude::*;

use super::*;

fn check(format: Format, cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(render(format, source).text, *expected, "{source:?}");
    }
}

#[test]
fn marks_go_and_words_stay() {
    let cases = [
        ("", ""),
        ("plain", "plain"),
        ("# Plan\n\nBuy *apples*, **pears** and ~~plums~~.\n", "Plan\n\n· Buy apples, pears and plums."),
        ("Setext\n======\nText", "Setext\n\n· Text"),
        ("Ends here.\n\nA next one", "Ends here.\n\nA next one"),
        ("a\nb  \nc\\\nd", "a\nb\nc\nd"),
        (r"1\_000 \*not bold\* &amp; &lt;this&gt;", "1_000 *not bold* & <this>"),
        ("do `x = y` and ``a`b``", "do x = y and a`b"),
        ("Run\n\n```sh\nls -l  # __all__\n\ncd\n```\nthen", "Run\n\n\n· ls -l  # __all__\n\ncd\n\n· then"),
        ("    indented *code*", "indented *code*"),
        ("***\n\nafter", "\n\nafter"),
        ("$x_1 + y_2$ and $$z$$", "x_1 + y_2 and z"),
    ];
    check(Format::Markdown, &cases);
}

#[test]
fn lists_and_tables() {
    let cases = [
        ("- a\n- b.\n  - c\n* d", "a\n· b.\nc\n· d"),
        ("1. a\n2. b", "1. a\n· 2. b"),
        ("3) a\n\n   more\n\n4) b", "3. a\n\n· more\n\n· 4. b"),
        ("- [ ] open\n- [x] done", "[ ] open\n· [x] done"),
        ("| a | b |\n|---|:-:|\n| 1 |   |\n| *2* | 3 |", "a | b\n\n· 1\n· 2 | 3"),
        ("> quoted\n> twice\n\nend", "quoted\ntwice\n\n· end"),
    ];
    check(Format::Markdown, &cases);
}

#[test]
fn links_are_what_they_show() {
    let cases = [
        ("see [the *guide*](https://example.org/a?b=c 'title'), or ![a plan](plan.png)", "see the guide, or a plan"),
        ("see [the guide][1].\n\n[1]: https://example.org", "see the guide."),
        ("see [the guide][1], [it][] and ![a plan][plan]", "see the guide, it and a plan"),
        ("[an aside], table[i][j]", "[an aside], table[i][j]"),
        ("<https://example.org> and https://example.org/x_y_z", "https://example.org and https://example.org/x_y_z"),
        (
            "[[Heron]], [[birds/Heron#Nests]], [[Heron|the bird]], [[#Nests]]",
            "Heron, birds/Heron > Nests, the bird, Nests",
        ),
        ("[[The heron|birds.heron]] [[a b|dendron://birds/heron]]", "The heron a b"),
        ("As [[1]](#sources), [[2]](https://x.y/z) and [[Smith]](2020) say", "As [1], [2] and Smith(2020) say"),
        ("x ![[plan.png|300]] y ![[Heron]]", "x  y Heron"),
        ("a claim[^1]\n\n[^1]: its *source*", "a claim\n\n· its source"),
    ];
    check(Format::Markdown, &cases);
}

#[test]
fn what_applications_hide() {
    let cases = [
        ("> [!note] Title\n> text", "Title\n· text"),
        ("> [!faq]- Is it?\n> Yes", "Is it?\nYes"),
        ("> [!my-own]\n> text", "\ntext"),
        ("> [a](b) stays", "a stays"),
        ("a line ^id-1\nb^2\n\n^table-id", "a line\nb^2"),
        ("a ==b c== d, ==e==. x == y, a==b", "a b c d, e. x == y, a==b"),
        ("==“Quoted” text== x, ==(y)==, ==🎉 z==", "“Quoted” text x, (y), 🎉 z"),
        ("==**b** c== d, ==c **b**== == =====x", "b c d, c b == =====x"),
        ("a<br>b <b>c</b> <!-- no --> d", "a b c  d"),
        ("<div class=\"x\n y\"><p>one</p><p>two</p>\n<!-- no\nno --></div>\n\nthree", "\none two \n\n\n\n· three"),
        ("1 < 2 and a <- b", "1 < 2 and a <- b"),
        (
            "<aside>\n💡 See [the *rules*](r.md) and **tides**\n\n</aside>\n\nx",
            "\n💡 See the rules and tides \n\n\n\n· x",
        ),
        ("<details>\n<summary>More</summary>\n# *a*\n- b\n</details>\nc", "\nMore \n· a\n· b \n\n· c"),
        ("!!! note\n\n    a *b*\n\n        c\n\nd", "!!! note\n\n· a b\n\n·   c\n\n· d"),
        ("<iframe src=\"x\"></iframe>\n[a](b.md)", "\na"),
    ];
    check(Format::Markdown, &cases);
}

#[test]
fn a_piece_may_begin_in_code() {
    let cases = [
        ("__init__ = *x*\n```\n\n*after*", "__init__ = *x*\n\n\n· after"),
        ("__a__\n~~~\nb\n```py\n__c__\n", "__a__\n\n· b\n\n· __c__\n"),
        ("a\n```\n__b__\n```\nc", "a\n\n· __b__\n\n· c"),
        ("# A\n````\n```md\n__b__\n```\n````\nc", "A\n\n· ```md\n__b__\n```\n\n· c"),
        ("# A\n```\n__b__\n```\n~~~py\nc\n~~~", "A\n\n· __b__\n\n\n· c\n"),
        ("Some *a*\n\n- ```js\n  __b__\n  ```\n", "Some a\n\n\n· __b__\n"),
        ("1. ```\n   __b__\n   ```\n*c*", "1. \n__b__\n\n· c"),
        ("# A\n```\n\n*b*\n```md\n__c__\n```", "# A\n\n\n· b\n\n· __c__\n"),
    ];
    check(Format::Markdown, &cases);
}

#[test]
fn where_it_begins_to_say_something() {
    let cases = [
        ("# Heading\n\n---\nfirst words\nmore", 3),
        ("first", 0),
        ("# only", 0),
        ("## A\n### B\n```\n\n--\ncode\n```", 5),
        ("| a | b |\n|---|---|", 0),
        ("Setext\n---\n\n- x", 3),
    ];
    for (source, line) in cases {
        assert_eq!(render(Format::Markdown, source).first_line, line, "{source:?}");
    }
    assert_eq!(render(Format::Org, "# a comment\n* heading\n*words*").first_line, 2);
    assert_eq!(render(Format::Pdf, " \nwords").first_line, 1);
}

#[test]
fn org_mode() {
    let cases = [
        (
            ":PROPERTIES:\n:ID: 1\n:END:\n#+title: Birds\n* TODO The *heron*  :bird:\n# no\n\nIt /stands/.",
            "\n\n\n\nTODO The heron\n\n\n· It stands.",
        ),
        ("- a [[id:x][link]]\n- [ ] b [[Birds]]\n  more\n1. c", "a link\n· [ ] b Birds\nmore\n· 1. c"),
        ("| a | *b* |\n|---+---|\n| 1 | [[u][v]] |", "a | b\n\n· 1 | v"),
        ("Run\n#+begin_src sh\nls =x=  # *y*\n#+end_src\nthen", "Run\n\n· ls =x=  # *y*\n\n· then"),
        (": fixed *width*", "fixed *width*"),
        ("#+begin_quote\nA *wise* [[x][word]]\n#+end_quote\nend", "\nA wise word\n\n· end"),
        ("=code= ~verb~ +old+ _u_ */both/* a*b*c 2 * 3 * 4 *open", "code verb old u both a*b*c 2 * 3 * 4 *open"),
    ];
    check(Format::Org, &cases);
    let found = render(Format::Org, "* A\ntext\n** B *b*\n").headings;
    let found: Vec<_> = found.iter().map(|heading| (heading.line, heading.level, heading.text.as_str())).collect();
    assert_eq!(found, [(0, 1, "A"), (2, 2, "B b")], "as the outline has them");
}

#[test]
fn plain_text_has_no_tags() {
    let cases = [
        (
            "[10:01] <alice> hello\n#include <vector>\nx<y and y>z",
            "[10:01] <alice> hello\n#include <vector>\nx<y and y>z",
        ),
        ("a\n\n<b>\nc <!-- d -->\n", "a\n\n· <b>\nc <!-- d -->\n"),
    ];
    check(Format::Text, &cases);
}

#[test]
fn restructured_text() {
    let cases = [
        ("=====\nTitle\n=====\n\nSub ``x``\n---------\ntext", "\nTitle\n\n\n· Sub x\n\n· text"),
        (
            "**bold**, *it*, ``co*d*e``, `ref`_, `text <https://x.org>`__, :doc:`a page </p>`",
            "bold, it, co*d*e, ref, text, a page",
        ),
        (
            ".. _target:\n\n.. note:: Be careful here.\n   :class: x\n\n   And more.",
            "\n\nBe careful here.\n\n\nAnd more.",
        ),
        (".. code-block:: python\n\n   x = 1\n\n.. a comment\n\n.. image:: x.png", "\n\nx = 1"),
        ("* a\n* b\n\n#. c", "a\n· b\n\n· c"),
        ("Like this::\n\n    code", "Like this:\n\ncode"),
        ("+---+---+\n| a | b |\n+---+---+", "\na | b"),
        ("a `b", "a `b"),
    ];
    check(Format::Rst, &cases);
}

#[test]
fn its_headings() {
    let source = "## The *first*\n\ntext\n\nSetext `one`\nof two lines\n---\n> # quoted\n\n- # listed\n\n```\n# code\n```\n#### Deep ^id\nend";
    let found = render(Format::Markdown, source).headings;
    let found: Vec<_> = found.iter().map(|heading| (heading.line, heading.level, heading.text.as_str())).collect();
    assert_eq!(found, [(0, 2, "The first"), (4, 2, "Setext one of two lines"), (14, 4, "Deep")]);
    assert_eq!(render(Format::Rst, "A\n==\nb").headings, [], "only the whole note tells its levels");
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,6}",
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        prop::sample::select(vec![
            "- ",
            "> ",
            "1. ",
            "# ",
            "```",
            "~~~",
            "`",
            "*",
            "**",
            "_",
            "==",
            "|",
            "\n|---|\n",
            "[",
            "](b)",
            "[[",
            "]]",
            "![[",
            "<!--",
            "-->",
            "<b",
            ">",
            "</b>",
            "&amp;",
            "&#27;",
            "[!x]",
            "^",
            "[^1]",
            "$",
            "\\",
            "東京",
            "é",
            "\r\n",
            "\t",
            "    ",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn lines_keep_their_places(source in pieces()) {
        let source = source.replace('\r', "");
        let rendered = render(Format::Markdown, &source);
        let lines = source.matches('\n').count();
        prop_assert!(rendered.text.matches('\n').count() <= lines, "{:?}", rendered);
        prop_assert!(rendered.first_line <= lines);
    }

    #[test]
    fn a_word_stays_on_its_line(before in pieces(), after in pieces()) {
        let source = format!("{before}\n\nneedle\n\n{after}").replace('\r', "");
        let rendered = render(Format::Markdown, &source);
        let line_of = |text: &str| text.find("needle").map(|at| text[..at].matches('\n').count());
        if let Some(line) = line_of(&rendered.text) {
            prop_assert_eq!(Some(line), line_of(&source));
        }
    }

    #[test]
    fn any_text_renders(source in any::<String>(), pieces in pieces()) {
        for format in [Format::Markdown, Format::Org, Format::Rst, Format::Pdf] {
            render(format, &source);
            let lines = pieces.matches('\n').count();
            prop_assert!(render(format, &pieces).text.matches('\n').count() <= lines);
        }
    }
}
