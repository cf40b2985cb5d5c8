use std::time::{Duration, Instant};

use super::*;
use note::NoteRules;

#[test]
fn links_are_names() {
    for (typed, name) in [
        ("Plan.md", "Plan.md"),
        (" Plan ", "Plan"),
        ("[[Plan]]", "Plan"),
        ("![[Plan]]", "Plan"),
        ("[[a/Plan|the plan]]", "a/Plan"),
        ("[[Plan#Next steps|later]]", "Plan#Next steps"),
        ("[[Plan\\|in a table]]", "Plan"),
        ("[Plan]", "[Plan]"),
        ("[[Plan", "[[Plan"),
        ("[[]]", ""),
    ] {
        assert_eq!(bare(typed), name, "{typed}");
    }
}

#[test]
fn headings_and_blocks_are_lines() {
    let text =
        "---\ntags: [a]\n---\n# Plan\n\nIntro. ^start\n\n## Next steps: now!\n\nOne.\n\n### Deep\n\nTwo.\n\n## Last\n";
    let path = VaultPath::parse("Plan.md").unwrap();
    let note = note::parse(&path, text.as_bytes(), &NoteRules::default());
    for (part, lines) in [
        ("Plan", Some((4, 16))),
        ("next steps: now!", Some((8, 15))),
        ("Next steps now", Some((8, 15))),
        ("Next steps now#Deep", Some((12, 15))),
        ("Last", Some((16, 16))),
        ("^start", Some((6, 6))),
        ("Plan#^start", Some((6, 6))),
        ("^nosuch", None),
        ("Nosuch", None),
    ] {
        assert_eq!(part_of(&note, part), lines, "{part}");
    }
}

#[test]
fn a_heading_is_meant_as_it_is_spelt_if_one_is_spelt_so() {
    let text = "# Alpha\n## Tasks\na\n# Beta\n## Tasks\nb\n# C\nc\n# C++\nd\n# 😀\ne\n# 🎉\nf\n# C#\ng\n##\n\
                # Issue #12\nh\n# c++ too\n## Sub\n### Tasks\ni\n";
    let note = note::parse(&VaultPath::parse("N.md").unwrap(), text.as_bytes(), &NoteRules::default());
    for (part, line) in [
        ("Tasks", Some(2)),
        ("Beta#Tasks", Some(5)),
        ("#Beta#Tasks", Some(5)),
        ("c++ too#Tasks", Some(22)),
        ("C++ too#Sub#Tasks", Some(22)),
        ("Beta#Sub", None),
        ("C", Some(7)),
        ("C++", Some(9)),
        ("c++", Some(9)),
        ("C#", Some(15)),
        ("🎉", Some(13)),
        ("😎", None),
        ("#", None),
        ("Issue #12", Some(18)),
        ("Issue 12", Some(18)),
        ("issue-12", Some(18)),
        ("c-1", Some(9)),
        ("c-3", None),
    ] {
        assert_eq!(part_of(&note, part).map(|(first, _)| first), line, "{part}");
    }
}

#[test]
fn a_heading_is_known_by_the_anchor_of_a_web_page() {
    let text = "# Guide\n## Don't panic\n## CI/CD & more\n## v1.2.3 (stable)\n## Notes\n## Q&A\n## Notes\n## Notes\n\
                ## Custom {#my-id}\n## Notes 4\n## Own {.wide #other}\n## A {b}\n## Custom\n";
    let note = note::parse(&VaultPath::parse("N.md").unwrap(), text.as_bytes(), &NoteRules::default());
    for (part, line) in [
        ("dont-panic", Some(2)),
        ("cicd--more", Some(3)),
        ("cicd-more", Some(3)),
        ("v123-stable", Some(4)),
        ("notes", Some(5)),
        ("qa", Some(6)),
        ("notes-1", Some(7)),
        ("notes_2", Some(8)),
        ("notes-3", None),
        ("notes-4", Some(10)),
        ("my-id", Some(9)),
        ("other", Some(11)),
        ("Custom", Some(9)),
        ("custom-1", Some(13)),
        ("a-b", Some(12)),
        ("b", None),
        ("--", None),
    ] {
        assert_eq!(part_of(&note, part).map(|(first, _)| first), line, "{part}");
    }
}

#[test]
fn a_headline_of_org_is_known_by_its_ids() {
    let text =
        ":PROPERTIES:\n:ID: file\n:END:\n* One\n:PROPERTIES:\n:ID: 1f\n:CUSTOM_ID: own\n:END:\na\n** Sub\nb\n* Two\n";
    let note = note::parse(&VaultPath::parse("N.org").unwrap(), text.as_bytes(), &NoteRules::default());
    for (part, lines) in
        [("^1F", Some((4, 11))), ("own", Some((4, 11))), ("two", Some((12, 12))), ("^file", None), ("^other", None)]
    {
        assert_eq!(part_of(&note, part), lines, "{part}");
    }
}

#[test]
fn a_page_of_a_pdf_is_a_line() {
    let note = note::parse(&VaultPath::parse("d.pdf").unwrap(), b"one\n\nthree\n", &NoteRules::default());
    for (part, line) in
        [("page=3", Some(3)), ("page=1&selection=0,1,2,3", Some(1)), ("page=4", None), ("page=0", None), ("x", None)]
    {
        assert_eq!(part_of(&note, part), line.map(|line| (line, line)), "{part}");
    }
}

#[test]
fn the_time_for_a_heading_grows_with_their_number() {
    let note =
        note::parse(&VaultPath::parse("N.md").unwrap(), "# a\n".repeat(100_000).as_bytes(), &NoteRules::default());
    let began = Instant::now();
    assert_eq!(heading_of(&note.outline, "x#a"), None);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_block_is_all_that_its_id_names() {
    let text = "One line\nand another. ^para\n\n- a\n- b ^item\n  more\n- c\n\n^list\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n^table\n\n\
                ```\ncode\n\nmore\n```\n^code\n\n> [!note] N\n> text\n\n^callout\n";
    let note = note::parse(&VaultPath::parse("N.md").unwrap(), text.as_bytes(), &NoteRules::default());
    for (part, lines) in [
        ("^para", (1, 2)),
        ("^item", (5, 6)),
        ("^list", (4, 9)),
        ("^table", (11, 15)),
        ("^code", (17, 22)),
        ("^callout", (24, 27)),
    ] {
        assert_eq!(part_of(&note, part), Some(lines), "{part}");
    }
    let text =
        "- parent ^p\n  - child\n    - grandchild ^g\n  - other\n\n    more\n- next\n\n1. a ^a\n\t- deep\n2. b\n";
    let note = note::parse(&VaultPath::parse("N.md").unwrap(), text.as_bytes(), &NoteRules::default());
    for (part, lines) in [("^p", (1, 6)), ("^g", (3, 3)), ("^a", (9, 10))] {
        assert_eq!(part_of(&note, part), Some(lines), "{part}");
    }
}

#[test]
fn lines_are_known_behind_a_name() {
    for (name, note) in
        [("L:3-2", Some("L")), ("a/L.md:0", Some("a/L.md")), ("L:2-", Some("L")), ("L:", None), ("L: 2", None)]
    {
        assert_eq!(by_lines(name), note, "{name}");
    }
}
