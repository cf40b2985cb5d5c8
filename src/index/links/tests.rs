use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::Said;

/// A vault of notes `(path, title, aliases, links)`, numbered from 1.
fn vault(notes: &[(&str, &str, &[&str], &[&str])]) -> (NoteTable, Links) {
    let (mut table, mut links) = (NoteTable::default(), Links::default());
    for (no, (path, title, aliases, targets)) in (1u32..).zip(notes) {
        let note = NoteEntry {
            texts: Said { title, aliases, links: targets, ..Said::default() }.pack(),
            ..super::super::testing::note(no, 1, path)
        };
        links.add(&note);
        table.put(note);
    }
    (table, links)
}

fn backlinks(links: &Links, notes: &NoteTable, no: NoteNo) -> Vec<NoteNo> {
    links.linking(notes, &[no], &Cancel::default())
}

#[test]
fn targets_resolve_by_path_then_name() {
    let (notes, links) = vault(&[
        ("Plan.md", "The Plan", &["scheme"], &[]),
        ("a/Plan.md", "Plan of A", &[], &[]),
        ("a/b/Deep.md", "Deep", &["Scheme"], &[]),
        ("z/Other.md", "Plan", &["Ünïcode"], &[]),
        ("a/v1.2.md", "Version", &[], &[]),
        ("z/AC\u{0327}a\u{0301}.txt", "A / B", &[], &[]),
        ("y/Other.md", "Other", &[], &[]),
    ]);
    let table: [(&str, &str, Option<&str>); 26] = [
        ("Plan", "x.md", Some("Plan.md")),
        ("plan", "a/x.md", Some("Plan.md")),
        ("Plan.md", "a/x.md", Some("a/Plan.md")),
        ("./Plan", "a/x.md", Some("a/Plan.md")),
        ("../Plan.md", "a/x.md", Some("Plan.md")),
        ("../../Plan.md", "a/x.md", None),
        ("/a/Plan", "z/x.md", Some("a/Plan.md")),
        ("a/plan", "z/x.md", Some("a/Plan.md")),
        ("b/Deep", "z/x.md", Some("a/b/Deep.md")),
        ("c/Deep", "z/x.md", None),
        ("eep", "z/x.md", None),
        ("Deep.md", "z/x.md", Some("a/b/Deep.md")),
        ("Deep.txt", "z/x.md", None),
        ("Deep", "q/x.md", Some("a/b/Deep.md")),
        ("The plan", "x.md", Some("Plan.md")),
        ("SCHEME", "x.md", Some("Plan.md")),
        ("scheme", "a/b/x.md", Some("a/b/Deep.md")),
        ("ünïcode", "x.md", Some("z/Other.md")),
        ("u\u{0308}ni\u{0308}code", "x.md", Some("z/Other.md")),
        ("v1.2", "x.md", Some("a/v1.2.md")),
        ("a/v1.2.md", "x.md", Some("a/v1.2.md")),
        ("Açá", "x.md", Some("z/AC\u{0327}a\u{0301}.txt")),
        ("z/AÇÁ.txt", "x.md", Some("z/AC\u{0327}a\u{0301}.txt")),
        ("a / b", "x.md", Some("z/AC\u{0327}a\u{0301}.txt")),
        ("Other", "z/x.md", Some("z/Other.md")),
        ("Other", "x.md", Some("y/Other.md")),
    ];
    for (target, from, expected) in table {
        let from = VaultPath::parse(from).unwrap();
        let found = links.resolve(&notes, target, &from).map(|no| notes.get(no).unwrap().path.as_str());
        assert_eq!(found, expected, "{target} from {from}");
    }
    let from = VaultPath::parse("x.md").unwrap();
    assert_eq!(links.resolve(&notes, "", &from), None);
    assert_eq!(links.resolve(&notes, "///", &from), None);
}

#[test]
fn of_paths_that_differ_in_case_the_one_that_is_spelt_so_is_meant() {
    let (notes, links) = vault(&[
        ("Case.md", "Case", &[], &["case"]),
        ("case.md", "Other", &[], &["Case"]),
        ("a/CASE.md", "Third", &[], &["./case"]),
        ("a/b/Deep.md", "Deep", &[], &[]),
        ("a/b/deep.md", "deep", &[], &[]),
    ]);
    for (target, from, expected) in [
        ("case", "x.md", "case.md"),
        ("Case", "x.md", "Case.md"),
        ("/case.md", "a/x.md", "case.md"),
        ("../case.md", "a/x.md", "case.md"),
        ("CASE", "a/x.md", "Case.md"),
        ("CASE.md", "a/x.md", "a/CASE.md"),
        ("deep", "x.md", "a/b/deep.md"),
        ("b/Deep", "x.md", "a/b/Deep.md"),
        ("DEEP", "x.md", "a/b/Deep.md"),
    ] {
        let found = links.resolve(&notes, target, &VaultPath::parse(from).unwrap());
        assert_eq!(found.map(|no| notes.get(no).unwrap().path.as_str()), Some(expected), "{target} from {from}");
    }
    assert_eq!((backlinks(&links, &notes, 1), backlinks(&links, &notes, 2)), (vec![2], vec![1]));
    for (name, expected) in
        [("case", &[2][..]), ("Case", &[1]), ("cASE", &[1, 2]), ("deep.md", &[5]), ("DEEP", &[4, 5])]
    {
        assert_eq!(links.meant(&notes, name, &|_| false), expected, "{name}");
    }
}

#[test]
fn pages_of_logseq_are_known_by_their_names() {
    let (notes, links) = vault(&[
        ("pages/projects___alpha.md", "projects/alpha", &[], &["Projects/beta", "Mar 5th, 2026"]),
        ("pages/projects%2Fbeta.md", "Beta", &[], &["projects/alpha", "projects/beta"]),
        ("pages/Question%3F.md", "Question?", &[], &["projects___alpha", "question?"]),
        ("journals/2026_03_05.md", "2026_03_05", &[], &["Question?", "Beta"]),
    ]);
    assert_eq!(backlinks(&links, &notes, 1), [2, 3]);
    assert_eq!(backlinks(&links, &notes, 2), [1, 4]);
    assert_eq!(backlinks(&links, &notes, 3), [4], "a link to itself is none");
    assert_eq!(backlinks(&links, &notes, 4), [1]);
    for (name, expected) in
        [("projects/BETA", 2), ("projects%2Fbeta", 2), ("Question?", 3), ("mar 5th, 2026", 4), ("2026_03_05", 4)]
    {
        assert_eq!(links.meant(&notes, name, &|_| false), [expected], "{name}");
    }
    let from = VaultPath::parse("pages/x.md").unwrap();
    assert_eq!(links.resolve(&notes, "#Projects/alpha", &from), Some(1), "a tag");
    for day in ["2026-03-05", "Thursday, 05.03.2026", "2026/03/05", "5th March 2026", "20260305"] {
        assert_eq!(links.resolve(&notes, day, &from), Some(4), "{day}");
    }
    for other in ["2026-03-06", "Trip of 2026-03-05", "03.2026"] {
        assert_eq!(links.resolve(&notes, other, &from), None, "{other}");
    }
    assert!(links.meant(&notes, "alpha", &|_| false).is_empty(), "the last part alone is no name of the page");
    assert!(links.beginning(&notes, "Mar", 9).is_empty());
}

#[test]
fn links_are_read_as_other_programs_write_them() {
    let linking = ["Getting Started", "./Roll-back-plan.md", "guide/", "C#", "docs/guide"];
    let (notes, links) = vault(&[
        ("docs/Home.md", "Home", &[], &linking),
        ("docs/Getting-Started.md", "First steps", &[], &[]),
        ("docs/Roll%2Dback-plan.md", "Plan", &[], &[]),
        ("docs/guide/_index.md", "Guide", &[], &[]),
        ("C.md", "C", &[], &[]),
        ("a/two-pages.md", "A", &[], &["../docs/guide"]),
        ("b/two-pages.md", "B", &[], &["Kit\u{a0}chen"]),
        ("Kit chen.md", "Kitchen", &[], &[]),
    ]);
    let home = VaultPath::parse("docs/Home.md").unwrap();
    for (link, expected) in linking.into_iter().zip([2, 3, 4, 5, 4]) {
        assert_eq!(links.resolve(&notes, link, &home), Some(expected), "{link}");
    }
    for (no, expected) in [(2, &[1][..]), (3, &[1]), (4, &[1, 6]), (5, &[1]), (6, &[]), (8, &[7])] {
        assert_eq!(backlinks(&links, &notes, no), expected, "{no}");
    }
    for (other, from) in [("Two pages", &home), ("./guide", &notes.get(6).unwrap().path), ("D#", &home)] {
        assert_eq!(links.resolve(&notes, other, from), None, "{other}");
    }
    assert_eq!(links.meant(&notes, "getting started", &|_| false), [2]);
    assert_eq!(links.meant(&notes, "getting started", &|note| note.no == 2), [] as [NoteNo; 0]);
}

#[test]
fn whole_paths_are_found_among_notes_of_one_name() {
    let paths: Vec<String> = (0..300).map(|n| format!("f{n}/index.md")).collect();
    let notes: Vec<_> = paths.iter().map(|path| (path.as_str(), "Index", &[][..], &[][..])).collect();
    let (notes, links) = vault(&notes);
    let from = VaultPath::parse("f7/x.md").unwrap();
    for (target, expected) in [
        ("../f250/index.md", Some(251)),
        ("f250/index", Some(251)),
        ("/f0/INDEX", Some(1)),
        ("index", Some(8)),
        ("index.md", Some(8)),
        ("../index.md", None),
        ("g/index", None),
    ] {
        assert_eq!(links.resolve(&notes, target, &from), expected, "{target}");
    }
    assert_eq!(links.bearing("INDEX").len(), 300);
    assert_eq!(links.bearing("/f0/index"), [] as [NoteNo; 0]);
}

#[test]
fn file_endings() {
    for (target, expected) in [
        ("a.png", true),
        ("a/b.PDF ", true),
        ("talk.opus", true),
        ("c.avi?x", true),
        ("v1.2", false),
        ("Node.js", false),
        ("a.md", false),
        ("png", false),
    ] {
        assert_eq!(is_file(target), expected, "{target}");
    }
}

#[test]
fn backlinks_follow_renames_without_touching_the_linking_note() {
    let (mut notes, mut links) = vault(&[
        ("Home.md", "Home", &[], &["Plan", "a/b/Deep.md", "nowhere", "Plan"]),
        ("Plan.md", "The Plan", &["scheme"], &["Home"]),
        ("a/b/Deep.md", "Deep", &[], &["SCHEME", "../../Plan.md", "Deep"]),
    ]);
    assert_eq!(backlinks(&links, &notes, 1), [2]);
    assert_eq!(backlinks(&links, &notes, 2), [1, 3]);
    assert_eq!(backlinks(&links, &notes, 3), [1], "a link to itself is none");
    assert_eq!(backlinks(&links, &notes, 9), [] as [NoteNo; 0]);
    let before = (notes.clone(), links.clone());

    let old = notes.get(2).unwrap().clone();
    links.remove(&old);
    let renamed = NoteEntry { path: VaultPath::parse("a/nowhere.md").unwrap(), ..(*old).clone() };
    links.add(&renamed);
    notes.put(renamed);
    assert_eq!(backlinks(&links, &notes, 2), [1, 3], "by its new name, and still by its alias");
    assert_eq!(backlinks(&before.1, &before.0, 2), [1, 3]);

    links.remove(&notes.remove(1).unwrap());
    assert_eq!(backlinks(&links, &notes, 2), [3]);
    assert!(links.bearers("home").next().is_none() && links.mentions.all(links.keys.of("nowhere")).next().is_none());
}

#[test]
fn either_side_of_a_bar_may_name_the_note() {
    let mut notes_of = vec![
        ("Tides.md", "Tides", &[][..], &["the moon\nTides"][..]),
        ("lang.rust.md", "Rust", &["Ferris"], &["Tides\nthe pull", "nowhere\nnor.here"]),
        ("Moorings.md", "Rust removal", &[], &["Rust removal\nlang.rust", "Tides\nlang.rust", "Rust\nFerris"]),
    ];
    let (notes, links) = vault(&notes_of);
    let from = VaultPath::parse("x.md").unwrap();
    for (mention, expected) in [
        ("Tides", Some((Side::First, 1))),
        ("the moon\nTides", Some((Side::Second, 1))),
        ("Tides\nthe pull", Some((Side::First, 1))),
        ("nowhere\nnor.here", None),
        // Both name a note: the first, unless only the second is a file's name.
        ("Tides\nlang.rust", Some((Side::First, 1))),
        ("lang.rust.md\nTides", Some((Side::First, 2))),
        ("Rust removal\nlang.rust", Some((Side::Second, 2))),
        ("Rust removal\nRust", Some((Side::First, 3))),
        ("Ferris\n./Tides", Some((Side::Second, 1))),
    ] {
        assert_eq!(links.resolve_side(&notes, mention, &from), expected, "{mention:?}");
        assert_eq!(links.resolve(&notes, mention, &from), expected.map(|(_, no)| no), "{mention:?}");
    }
    assert_eq!(backlinks(&links, &notes, 1), [2, 3]);
    assert_eq!(backlinks(&links, &notes, 2), [3]);
    // The note that the second side names comes later: the link means it from then on.
    notes_of.push(("nor.here.md", "Here", &[], &[]));
    let (notes, links) = vault(&notes_of);
    assert_eq!(backlinks(&links, &notes, 4), [2]);
    assert!(is_file("a drawing\nplan.pdf") && is_file("plan.pdf\na drawing") && !is_file("a\nb"));
}

#[test]
fn a_dead_link_does_not_lead_to_what_its_text_names() {
    let from = VaultPath::parse("x.md").unwrap();
    for (others, expected, linking) in [
        (&["Meeting\nthat one", "Ann\nmy aunt"][..], None, &[5][..]),
        (&["Meeting\nthat one"], None, &[]),
        (&["who\nAnn"], Some((Side::Second, 1)), &[3, 4, 5]),
    ] {
        let (mut notes, mut links) = vault(&[
            ("Ann.md", "Ann", &[], &[]),
            ("Meeting.md", "Meeting", &[], &[]),
            ("One.md", "The one", &[], &["Ann Lee\nAnn", "Meeting\nthe meeting"]),
            ("Two.md", "Two", &[], &["Ann Lee\nAnn", "Old Meeting\nMeeting"]),
            ("Three.md", "Three", &[], others),
        ]);
        assert_eq!(links.resolve_side(&notes, "Ann Lee\nAnn", &from), expected, "{others:?}");
        assert_eq!(backlinks(&links, &notes, 1), linking, "{others:?}");
        // Without the other links the two that name a note by their text are ahead.
        links.remove(&notes.remove(5).unwrap());
        assert_eq!(links.resolve_side(&notes, "Ann Lee\nAnn", &from), Some((Side::Second, 1)));
    }
}

/// A target in any of the forms that notes have: a path to or a name of some note, or of none.
fn target() -> impl Strategy<Value = String> {
    let folder = select(vec!["", "", "", "./", "../", "/", "a/", "../a/", "a/b/", "g h/", "#", "dendron://a/"]);
    let name = select(vec![
        "index",
        "README",
        "Plan",
        "plan",
        "my note",
        "My-note",
        "my-old note",
        "a note",
        "C#",
        "C",
        "a",
        "b",
        "A / B",
        "g h",
        "",
        ".",
        "..",
        "2026-03-05",
        "Mar 5th, 2026",
        "roll-back",
    ]);
    (folder, name, select(vec!["", "", "", ".md", "/", "#"]))
        .prop_map(|(folder, name, end)| format!("{folder}{name}{end}"))
}

proptest! {
    #[test]
    fn a_note_has_the_backlinks_that_the_links_of_others_make(
        notes in vec(
            (
                select(vec!["", "", "a/", "a/b/", "g h/", "journals/"]),
                select(vec!["index", "README", "Plan", "my-note", "My note", "my-old-note", "C#", "C", "a", "2026_03_05", "roll%2Dback"]),
                select(vec!["Plan", "A / B", "A note", "my old-note", "C", "C#"]),
                vec((target(), proptest::option::of(target())), 0..6),
            ),
            1..12,
        ),
    ) {
        let (mut table, mut links) = (NoteTable::default(), Links::default());
        for (no, (folder, stem, title, targets)) in (1u32..).zip(&notes) {
            let mentions = targets.iter().map(|(one, other)| other.iter().fold(one.clone(), |one, other| format!("{one}\n{other}")));
            let mentions: Vec<String> = mentions.collect();
            let note = NoteEntry {
                texts: Said { title, links: &mentions, ..Said::default() }.pack(),
                ..super::super::testing::note(no, 1, &format!("{folder}{stem}.md"))
            };
            links.add(&note);
            table.put(note);
        }
        for note in table.iter() {
            let means = |other: &NoteEntry| other.links().any(|link| links.resolve(&table, link, &other.path) == Some(note.no));
            let linking: Vec<NoteNo> = table.iter().filter(|other| other.no != note.no && means(other)).map(|other| other.no).collect();
            prop_assert_eq!(backlinks(&links, &table, note.no), linking, "of {}", note.path);
        }
    }
}

#[test]
fn what_a_user_means_by_a_name() {
    let (notes, links) = vault(&[
        ("Plan.md", "The Plan", &["scheme"], &[]),
        ("a/Plan.md", "Plan of A", &[], &[]),
        ("a/b/Deep.md", "Deep", &["Scheme"], &[]),
        ("x/Same.md", "Same", &[], &[]),
        ("y/z/Same.md", "Same", &[], &[]),
        ("Pull Requests.md", "Pull Requests", &["PRs"], &[]),
    ]);
    let cases: [(&str, &[&str]); 11] = [
        ("plan", &["Plan.md"]),
        ("A/PLAN.md", &["a/Plan.md"]),
        ("the plan", &["Plan.md"]),
        ("prs", &["Pull Requests.md"]),
        ("pull requests.md", &["Pull Requests.md"]),
        ("scheme", &["Plan.md", "a/b/Deep.md"]),
        ("same", &["x/Same.md", "y/z/Same.md"]),
        ("z/same", &["y/z/Same.md"]),
        ("../Plan", &[]),
        ("", &[]),
        ("nosuch", &[]),
    ];
    let paths = |meant: Vec<NoteNo>| meant.iter().map(|no| notes.get(*no).unwrap().path.as_str()).collect::<Vec<_>>();
    for (name, expected) in cases {
        assert_eq!(paths(links.meant(&notes, name, &|_| false)), expected, "{name}");
    }
    let hides = |note: &NoteEntry| note.path.as_str() == "Plan.md";
    assert_eq!(paths(links.meant(&notes, "scheme", &hides)), ["a/b/Deep.md"]);

    let all: Vec<_> = (1..=6).filter_map(|no| notes.get(no)).collect();
    let like =
        |name: &str| named_like(all.iter().copied(), name, 3).iter().map(|n| n.path.as_str()).collect::<Vec<_>>();
    assert_eq!(like("Pul Request"), ["Pull Requests.md"]);
    assert_eq!(like("requests"), ["Pull Requests.md"]);
    assert_eq!(like("somewhere/Dep"), ["a/b/Deep.md"]);
    assert_eq!(like("same"), ["x/Same.md", "y/z/Same.md"]);
    assert_eq!(like("the"), ["Plan.md"]);
    assert!(like("").is_empty() && like("quite another").is_empty() && like(&"x".repeat(10_000)).is_empty());
}

#[test]
fn an_id_names_the_note_that_has_it() {
    let properties = r#"{"id":"front","::":{"id":["6720A1C4-0b7e","r-1"],"Runs":3}}"#;
    let note =
        |no, path, said: Said<'_, &str>| NoteEntry { texts: said.pack(), ..super::super::testing::note(no, 1, path) };
    let ropes = note(1, "Ropes.org", Said { properties, ..Said::default() });
    let quay = note(2, "Quay.md", Said { links: &["id:6720a1c4-0B7E"], ..Said::default() });
    let (mut notes, mut links) = (NoteTable::default(), Links::default());
    for note in [&ropes, &quay] {
        links.add(note);
        notes.put(note.clone());
    }
    for (target, expected) in [("id:6720a1c4-0b7e", Some(1)), ("id:R-1", Some(1)), ("id:front", None), ("r-1", None)] {
        assert_eq!(links.resolve(&notes, target, &quay.path), expected, "{target}");
    }
    assert_eq!(backlinks(&links, &notes, 1), [2]);
    links.remove(&ropes);
    assert_eq!(links.resolve(&notes, "id:r-1", &quay.path), None);
}

#[test]
fn a_link_that_names_a_vault_means_the_note_in_its_folder() {
    let (notes, links) = vault(&[
        ("v1/a.b.md", "B", &[], &[]),
        ("v2/a.b.md", "B", &[], &["dendron://v1/a.b"]),
        ("v1/x.md", "X", &[], &["dendron://v2/a.b", "B\ndendron://v2/a.b"]),
        ("v2/notes/deep.one.md", "One", &[], &["dendron://v2/nosuch"]),
        ("v1/only.md", "Only", &[], &[]),
    ]);
    let from = VaultPath::parse("v1/x.md").unwrap();
    for (target, expected) in [
        ("dendron://v2/a.b", Some(2)),
        ("dendron://v1/a.b", Some(1)),
        ("dendron://V2/deep.one", Some(4)),
        ("B\ndendron://v2/a.b", Some(2)),
        ("dendron://v2/nosuch", None),
        // It is called otherwise than its folder.
        ("dendron://main/only", Some(5)),
        ("dendron://main", None),
    ] {
        assert_eq!(links.resolve(&notes, target, &from), expected, "{target}");
    }
    assert_eq!((backlinks(&links, &notes, 1), backlinks(&links, &notes, 2)), (vec![2], vec![3]));
    assert_eq!(missing("dendron://v2/nosuch", &from, &HashSet::new()).as_deref(), Some("dendron://v2/nosuch"));
}

#[test]
fn a_note_is_known_by_the_time_in_its_name_if_no_other_has_it() {
    let (notes, links) = vault(&[
        ("202403151230 Zettel.md", "Zettel", &[], &["202501010101", "20240315"]),
        ("in/20240315T123045--my-title__tag.org", "My title", &[], &["202403151230"]),
        ("a/202501010101-one.md", "One", &[], &["20240315T123045"]),
        ("b/Two 202501010101.md", "Two", &[], &[]),
        ("20240315-foo.md", "Foo", &[], &[]),
        ("Said.md", "202412312359", &[], &[]),
        ("202412312359 Other.md", "Other", &[], &[]),
        ("202402020202.md", "Plain", &[], &[]),
    ]);
    let from = VaultPath::parse("x.md").unwrap();
    for (target, expected) in [
        ("202403151230", Some(1)),
        ("202403151230.md", Some(1)),
        ("20240315t123045", Some(2)),
        ("202501010101", None),
        ("20240315", None),
        ("202412312359", Some(6)),
        ("202402020202", Some(8)),
    ] {
        assert_eq!(links.resolve(&notes, target, &from), expected, "{target}");
    }
    assert_eq!(backlinks(&links, &notes, 1), [2]);
    assert_eq!(backlinks(&links, &notes, 2), [3]);
    assert_eq!(backlinks(&links, &notes, 3), [] as [NoteNo; 0]);
    assert_eq!(links.meant(&notes, "202501010101", &|_| false), [3, 4]);
    assert_eq!(links.bearing("202403151230"), [] as [NoteNo; 0]);
}

#[test]
fn greek_names_are_the_same_in_capitals() {
    let (notes, links) = vault(&[("Λόγος.md", "Λόγος", &["ΣΟΦΟΣ"], &[]), ("x.md", "X", &[], &["ΛΌΓΟΣ"])]);
    let from = VaultPath::parse("x.md").unwrap();
    for target in ["ΛΌΓΟΣ", "λόγος", "σοφος", "Σοφοσ"] {
        assert_eq!(links.resolve(&notes, target, &from), Some(1), "{target}");
    }
    assert_eq!(backlinks(&links, &notes, 1), [2]);
}

#[test]
fn a_link_with_a_slash_or_dots_at_its_end_is_a_backlink_too() {
    let (notes, links) = vault(&[
        ("b.md", "Bee", &[], &[]),
        ("one.md", "One", &[], &["./b/"]),
        ("two.md", "Two", &[], &["b/"]),
        ("three.md", "Three", &[], &["b/."]),
        ("a/four.md", "Four", &[], &["../b/c/.."]),
        ("five.md", "Five", &[], &["b/c"]),
    ]);
    let from = |path: &str| VaultPath::parse(path).unwrap();
    let meant = |target: &str, path: &str| links.resolve(&notes, target, &from(path));
    let linking: Vec<NoteNo> = [("./b/", "one.md"), ("b/", "two.md"), ("b/.", "three.md"), ("../b/c/..", "a/four.md")]
        .into_iter()
        .zip(2..)
        .filter(|((target, path), _)| meant(target, path) == Some(1))
        .map(|(_, no)| no)
        .collect();
    assert!(linking.contains(&2) && linking.len() > 2, "{linking:?}");
    assert_eq!(backlinks(&links, &notes, 1), linking);
}
