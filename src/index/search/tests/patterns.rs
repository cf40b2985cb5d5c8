//! Regular expressions.

use super::*;

#[test]
fn patterns_hold_in_every_lane() {
    let vault = vault();
    // (query, what every lane must find and nothing else)
    let cases: [(&str, &[&str]); 10] = [
        ("/tre+s need/", &["Garden/Apples.md"]),
        ("trees /^Prune\\b/", &["Garden/Pruning.md"]),
        ("costs /costs\\.$/", &["Work/Budget.md"]),
        ("costs -/costs\\.$/ tag:work", &["Work/Travel.md"]),
        ("/TREES/", &[]),
        ("/(?i)PRUNE/", &["Garden/Pruning.md"]),
        ("/都.へ/", &["日記.md"]),
        ("/late winter/ OR /quarterly (budget|plan)/", &["Garden/Pruning.md", "Work/Budget.md"]),
        ("/Apple trees/ AND /Harvest/", &["Garden/Apples.md"]),
        ("finance AND NOT (/paid back/ OR tag:garden)", &["Work/Budget.md"]),
    ];
    for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
        let options = Options { mode, ..Options::default() };
        for (query, found) in cases {
            let answer = ask(&vault, query, &options);
            let mut got = paths(&answer);
            got.sort_unstable();
            got.dedup();
            // A lane ranks what it knows: of a word beside a condition one lane may know nothing.
            let may_be_fewer = mode != Mode::Hybrid && got.iter().all(|path| found.contains(path));
            assert!(got == found || may_be_fewer, "{mode:?} {query}: {got:?}");
        }
    }
}

#[test]
fn the_line_that_matches_is_shown() {
    let vault = vault();
    for query in ["/when the fruit/", "garden OR /when the fruit/"] {
        let answer = ask(&vault, query, &Options { merge: false, ..Options::default() });
        let hit = answer.hits.iter().find(|hit| hit.path == "Garden/Apples.md").unwrap();
        let marked: Vec<&str> = hit.highlights.iter().map(|(a, b)| &hit.snippet[*a as usize..*b as usize]).collect();
        assert_eq!((hit.line, hit.match_line, marked), (3, 3, vec!["when the fruit"]), "{query}");
    }
}

#[test]
fn a_pattern_that_nothing_matches_is_named() {
    let vault = vault();
    let answer = ask(&vault, "trees /no.such/", &Options::default());
    assert_eq!((answer.hits.len(), answer.warnings.as_slice()), (0, &["no note meets `/no.such/`".to_owned()][..]));
    let answer = ask(&vault, "trees -/./", &Options::default());
    assert_eq!(answer.warnings, ["no note meets `-/./`"]);
}

#[test]
fn hidden_notes_match_nothing() {
    let vault = vault();
    let hidden = Arc::new(note::Private::new(&["Work/**".to_owned()]));
    for query in ["/finance/", "NOT /trees/", "-/trees/"] {
        let mut parsed = parse(query, TODAY).unwrap();
        parsed.filter.hidden = Some(Arc::clone(&hidden));
        let answer = search(&vault.snapshot, "v", &parsed, None, &Options::default()).unwrap();
        assert!(paths(&answer).iter().all(|path| !path.starts_with("Work/")), "{query}: {:?}", paths(&answer));
    }
}

#[test]
fn a_search_for_a_pattern_can_be_cancelled() {
    let vault = vault();
    let options = Options::default();
    options.cancel.cancel();
    let parsed = parse("/trees/", TODAY).unwrap();
    let cancelled = search(&vault.snapshot, "v", &parsed, None, &options);
    assert!(matches!(cancelled, Err(LexicalError::Cancelled)), "{cancelled:?}");
}

#[test]
fn signs_that_are_no_words_are_matched_as_text() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    for (no, path, text) in [
        (1, "due.md", "Water the plants 📅 2026-12-01\n"),
        (2, "dash.md", "Water the trees — twice ⚠️\n"),
        (3, "z.md", "Water\n"),
    ] {
        put(&mut index, no, path, &[], None, &[], &[text]);
    }
    let vault = Vault { snapshot: index.publish(1).unwrap(), _dir: dir };
    for (query, found) in [
        ("water AND 📅", &["due.md"][..]),
        ("water NOT 📅", &["dash.md", "z.md"]),
        ("water -📅", &["dash.md", "z.md"]),
        ("water AND NOT —", &["due.md", "z.md"]),
        ("water OR 📅", &["dash.md", "due.md", "z.md"]),
        ("\"📅\"", &["due.md"]),
        ("water +📅", &["due.md"]),
        ("water \"— twice\" \"⚠\"", &["dash.md"]),
        ("water \"—\" +⚠️", &["dash.md"]),
    ] {
        let answer = ask(&vault, query, &Options::default());
        let mut got = paths(&answer);
        got.sort_unstable();
        assert_eq!((got.as_slice(), answer.warnings.len()), (found, 0), "{query}");
    }
    let marked = &ask(&vault, "+📅", &Options::default()).hits[0];
    let (from, to) = marked.highlights[0];
    assert_eq!(&marked.snippet[from as usize..to as usize], "📅");
    let none = ask(&vault, "water +🎉", &Options::default());
    assert_eq!((none.hits.len(), none.warnings[0].as_str()), (0, "no note meets `\"🎉\"`"));
}
