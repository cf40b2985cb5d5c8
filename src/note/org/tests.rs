use crate::{BlockKind, Note, NoteRules, VaultPath, chunk::searchable, parse};

fn note(text: &str) -> Note {
    parse(&VaultPath::parse("Notes/Harbour log.org").unwrap(), text.as_bytes(), &NoteRules::default())
}

const LOG: &str = "\
#+title: The harbour log
#+filetags: :harbour:winter:
#+date: 2026-11-03

Before the first headline.

* Lanterns :light:urgent:
:PROPERTIES:
:ID: 8a31-secret-id
:END:
The lantern on the pier is [[file:lamps/pier.org][the old one]]. See [[https://example.org]].
# a remark that nobody reads
** TODO Oil
- lamp oil
- wicks
#+begin_src sh
* not a headline
echo oil
#+end_src
* [[buoys][Buoys]] of the north
| buoy | colour |
| N1   | red    |
";

#[test]
fn headlines_tags_links_and_keywords_are_read_and_lines_stay() {
    let note = note(LOG);
    assert_eq!(note.title, "The harbour log");
    assert_eq!(note.text, LOG);
    let outline: Vec<(u8, &str, u32)> =
        note.outline.iter().map(|h| (h.level, h.text.as_str(), note.line_of(h.span.start))).collect();
    // A line with a star at its start ends the source block, as it does in Org.
    assert_eq!(outline[..2], [(1, "Lanterns", 7), (2, "Oil", 13)]);
    assert_eq!(outline.last(), Some(&(1, "Buoys of the north", 20)));
    assert_eq!(note.tags, ["harbour", "winter", "light", "urgent"]);
    let links: Vec<(&str, Option<&str>)> = note.links.iter().map(|l| (l.target.as_str(), l.alias.as_deref())).collect();
    assert_eq!(links[..2], [("lamps/pier.org", Some("the old one")), ("https://example.org", None)]);
    assert_eq!(note.days.about.map(|day| day.to_string()).as_deref(), Some("2026-11-03"));
    assert_eq!(note.blocks.last().map(|block| (block.kind, block.cuts.len())), Some((BlockKind::Table, 1)));
}

#[test]
fn drawers_keywords_and_comments_are_not_searched() {
    let note = note(LOG);
    let searched = searchable(&note, &(0..note.text.len()));
    for gone in ["secret-id", "PROPERTIES", "remark", "filetags"] {
        assert!(!searched.contains(gone), "{gone} in {searched}");
    }
    assert!(searched.contains("The lantern on the pier is the old one."));
}

#[test]
fn ids_link_and_a_file_s_own_drawer_is_read_as_its_properties() {
    let note = note(
        ":PROPERTIES:\n:ID: 20201111T10\n:ROAM_ALIASES: \"The Quay\" quay\n:CATEGORY: port\n:END:\n#+title: Quay\n\n\
         [[id:8a31::*Oil][oil]] and [[id:8a32]]\n* Ropes\n:PROPERTIES:\n:ID: r-1\n:EFFORT: 2h\n:END:\n:LOGBOOK:\n- x\n:END:\n",
    );
    assert_eq!(note.front.aliases, ["The Quay", "quay"]);
    assert_eq!(note.front.properties["category"], "port");
    assert_eq!(note.front.properties.get("effort"), None);
    assert_eq!(crate::ids(&serde_json::Value::from(note.front.properties.clone()).to_string()), ["20201111T10", "r-1"]);
    let mentions: Vec<_> = note.links.iter().filter_map(crate::Link::mention).collect();
    assert_eq!(mentions, ["id:8a31", "id:8a32"]);
    assert_eq!(note.links[0].heading.as_deref(), Some("Oil"));
}

#[test]
fn a_drawer_without_an_end_is_text() {
    let open = note("* One\n:LOGBOOK:\nclocked in\n* Two\nmore\n:NOTES:\nto the end");
    assert!(open.hidden.is_empty(), "{:?}", open.hidden);
    let searched = searchable(&open, &(0..open.text.len()));
    assert!(searched.contains("clocked in") && searched.contains("to the end"));
}

#[test]
fn quotes_have_links_and_blocks_of_comment_are_not_searched() {
    let note = note(
        "#+date: <2026-03-05 Thu>\n#+begin_VERSE\nA [[a.org][verse]]\n#+end_VERSE\n#+caption: no property\n#+begin_comment\n\
         secret [[b]]\n:END:\n#+end_comment\nshown [[file:c.org::*Head][x]] [[*Own]]\n* COMMENT Off\nsecret\n** Below\n\
         secret\n* On\nshown\n",
    );
    let searched = searchable(&note, &(0..note.text.len()));
    assert!(!searched.contains("secret") && searched.matches("shown").count() == 2, "{searched}");
    let links: Vec<_> = note.links.iter().map(|link| (link.target.as_str(), link.heading.as_deref())).collect();
    assert_eq!(links, [("a.org", None), ("c.org", Some("Head")), ("", Some("Own"))]);
    assert_eq!(note.outline.iter().map(|heading| heading.text.as_str()).collect::<Vec<_>>(), ["On"]);
    assert_eq!(note.days.about.map(|day| day.to_string()).as_deref(), Some("2026-03-05"));
    assert_eq!(note.front.properties.keys().collect::<Vec<_>>(), ["date"]);
}

#[test]
fn a_private_tag_counts_in_every_place() {
    for text in [
        "#+filetags: :private:\ntext",
        "* Head :private:\n",
        "#+FILETAGS: private\n",
        // Also where what stands above lacks its end, which may just be typed.
        ":PROPERTIES:\n:ID: 1\n:EN\n#+title: Roam\n#+filetags: :private:\n\ntext",
        ":NOTES:\n#+tags: private\n* Head\n:END:\n",
        "#+begin_src sh\nls\n\n#+FileTags: :a:private:\n",
        "#+begin_comment\n#+filetags: :private:\n",
    ] {
        assert!(note(text).tags.iter().any(|tag| tag == "private"), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_and_blocks_stand_in_order(text in "[*:#+|\\[\\]\\- a-cE_\n]{0,120}") {
        let note = note(&text);
        let mut end = 0;
        for block in &note.blocks {
            assert!(block.span.start >= end && block.span.end > block.span.start, "{:?}", note.blocks);
            assert!(block.cuts.iter().all(|cut| block.span.contains(cut)));
            end = block.span.end;
        }
    }
}

#[test]
fn a_line_of_colons_is_read_quickly() {
    let start = std::time::Instant::now();
    assert!(note(&":".repeat(1 << 20)).links.is_empty());
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn all_lines_of_tags_count_and_tags_to_choose_from_do_not() {
    for private in [
        "#+TAGS: work(w) home(h)\n#+FILETAGS: :private:\n* Head",
        "#+FILETAGS: :journal:\n#+FILETAGS: :private:\n* Head",
        "#+FILETAGS: :private:\n#+FILETAGS: :journal:\n* Head",
        "#+TAGS: { @work(w) @home(h) } laptop(l)\n#+filetags:\t:a:private:",
        "#+TAGS: work, private",
        "#+TAGS: [[private]]",
        "* COMMENT Settings\n#+FILETAGS: :private:\n",
        ":PROPERTIES:\n:TAGS: private\n:END:\nx",
    ] {
        assert!(note(private).tags.iter().any(|tag| crate::private::is_private(tag)), "{private:?}");
    }
    let tags = |text: &str| note(text).tags;
    assert_eq!(
        tags("#+TAGS: work(w) home(h)\n#+TAGS: { a b }\n#+FILETAGS: :x:y:\n#+FILETAGS: :y:z:\n"),
        ["x", "y", "z"]
    );
}

#[test]
fn how_far_a_task_is_does_not_count_as_its_outline() {
    let outline = |text: &str| note(text).outline.into_iter().map(|heading| heading.text).collect::<Vec<_>>();
    for headline in [
        "TODO [#A] Write the report [0/2]",
        "DONE Write the report [100%]",
        "[#1] Write the [1/2] report",
        "CANCELLED Write the report [/] :work:",
        "Write the report",
        "CHECK Write the report",
    ] {
        let text = format!("#+TODO: TODO CHECK(c) | DONE(d!)\n* {headline}\nx\n");
        assert_eq!(outline(&text), ["Write the report"], "{headline}");
    }
    let kept = [
        "CHECK the report",
        "TODO",
        "[#A]",
        "[1/2]",
        "See [1] and [a/b]",
        "TODOs of the week",
        "<2026-11-03 Tue> Sailed",
    ];
    for headline in kept {
        assert_eq!(outline(&format!("* {headline}\n")), [headline]);
    }
}

#[test]
fn titles_have_no_marks() {
    let note = note("#+TITLE: Org *bold* title\n* The *bold* =verb= ~code~ heading\nw\n");
    assert_eq!((note.title.as_str(), note.outline[0].text.as_str()), ("Org bold title", "The bold verb code heading"));
}

#[test]
fn a_link_may_be_filled_over_lines() {
    let text =
        "* H\nSee [[file:d.org][the long\ndescription]] here, [[e]] and [[broken\n\nnext]] x\n* [[no\n* Next]]\n";
    let note = note(text);
    let links: Vec<_> = note.links.iter().map(|link| (link.target.as_str(), link.alias.as_deref())).collect();
    assert_eq!(links, [("d.org", Some("the long description")), ("e", None)]);
    let rendered = crate::render(crate::Format::Org, text).text.into_owned();
    let lines: Vec<_> = rendered.lines().take(3).map(str::trim).collect();
    assert_eq!(lines[1..], ["· See the long description", "here, e and [[broken"]);
}

#[test]
fn hostile_links_finish() {
    let many = ["=a ", "<file:", "<<", "file:a.", "=", ":", "file"].map(|text| text.repeat(50_000));
    let texts = ["[[a]]".repeat(20_000), "[[a\n".repeat(5_000), "[[".repeat(50_000), "[1/".repeat(50_000)];
    for text in texts.into_iter().chain(many) {
        note(&text);
        note(&format!("* {text}"));
    }
}

fn mentions(text: &str) -> Vec<String> {
    note(text).links.iter().filter_map(crate::Link::mention).collect()
}

#[test]
fn links_to_files_have_many_forms() {
    for (text, target) in [
        ("see file:../a.org, or", "../a.org"),
        ("<file:../a b.org>", "../a b.org"),
        ("(file:../a.org)", "../a.org"),
        ("[[FILE:a.org]]", "a.org"),
        ("[[file+emacs:a.org][x]]", "a.org"),
        ("[[file+sys:a.org]]", "a.org"),
        ("[[file:~/org/a.org::*Head]]", "~/org/a.org"),
        ("[[file:///home/u/a.org]]", "/home/u/a.org"),
        ("[[./a.org]]", "./a.org"),
        ("[[file:we\\[ird\\].org]]", "we[ird].org"),
        ("[[denote:20240315T123045][D]]", "20240315T123045"),
        ("<denote:20240315T123045> there", "20240315T123045"),
        ("id:8a31f0c2-9d5e-4b77-a111-222233334444", "id:8a31f0c2-9d5e-4b77-a111-222233334444"),
        ("| a | [[a.org][=A=]] |", "a.org"),
        ("a = b [[a.org]] = c, ~ [[a.org][", "a.org"),
    ] {
        assert_eq!(mentions(text), [target], "{text}");
    }
    for (text, said) in [
        ("file:a.org", Some(".")),
        ("see <file:~/a.org>", Some("/home/u")),
        ("https://x.y", None),
        ("profile:a.b", None),
    ] {
        assert_eq!(note(text).links.len(), usize::from(said.is_some()), "{text}");
        assert_eq!(searchable(&note(text), &(0..text.len())), text, "the words stay");
        assert_eq!(crate::render(crate::Format::Org, text).text, text, "the words stay");
    }
}

#[test]
fn what_is_verbatim_has_no_links() {
    for text in [
        "write =[[file:a.org]]= or ~[[file:a.org]]~, =file:a.org=.",
        ": [[file:a.org]]",
        "* Head ~[[a.org]]~",
        "the line:column of file:line, and a profile:x.y",
        "[[a.org",
    ] {
        assert_eq!(mentions(text), [] as [&str; 0], "{text}");
    }
}

#[test]
fn links_to_places_of_the_file_stay_in_it() {
    let text = "* TODO Meeting  notes :x:\nsee [[Meeting notes]], [[*Meeting notes]], <<here>> [[Here][x]] and [[#cid]]\n\
                #+name: fig\n| a |\n[[fig]] [[(code)]] [[Elsewhere]] [[file:fig]]\n* [[Buoys]]\n";
    let note = note(text);
    assert_eq!(note.links.iter().filter_map(crate::Link::mention).collect::<Vec<_>>(), ["Elsewhere", "fig", "Buoys"]);
    let headings: Vec<_> = note.links.iter().filter_map(|link| link.heading.as_deref()).collect();
    assert_eq!(headings, ["Meeting notes", "Meeting notes", "Here", "cid", "fig", "(code)"]);
    let read = searchable(&note, &(0..text.len()));
    assert!(
        read.contains("see Meeting notes, , <<here>> x and") && read.contains("fig (code) Elsewhere fig"),
        "{read}"
    );
}

#[test]
fn a_headline_of_a_day_is_no_title() {
    for (path, text, title) in [
        ("journals/2026_11_22.org", "* bought varnish\n", "2026_11_22"),
        ("daily/2026-11-22.org", "#+title: Sunday\n* bought varnish\n", "Sunday"),
        ("a.org", "* bought varnish\n", "bought varnish"),
    ] {
        assert_eq!(crate::tests::note_at(path, text.as_bytes()).title, title, "{path}");
    }
}
