//! AND, OR and NOT.

use super::*;

const GARDEN: &[&str] = &["Garden/Apples.md", "Garden/Pruning.md"];

#[test]
fn operators_hold_in_every_lane() {
    let vault = vault();
    // (query, what every lane must find and nothing else)
    let cases: [(&str, &[&str]); 14] = [
        ("winter OR autumn", GARDEN),
        ("water AND harvest", &["Garden/Apples.md"]),
        ("water AND winter", &[]),
        ("water AND (harvest OR tag:nothing)", &["Garden/Apples.md"]),
        ("(water OR tag:work) AND (harvest OR tag:nothing)", &["Garden/Apples.md"]),
        ("water AND (winter OR tag:nothing)", &[]),
        ("sun AND (water OR tag:nothing) AND (path:Work OR harvest)", &["Garden/Apples.md"]),
        ("trees NOT winter path:Garden", &["Garden/Apples.md"]),
        ("trees AND NOT (water OR winter)", &["Garden/Apples.md"]),
        ("tag:garden OR tag:fruit/apple", GARDEN),
        ("(tag:work AND \"travel costs\") OR 東京", &["Work/Budget.md", "Work/Travel.md", "日記.md"]),
        ("(tag:work OR winter) AND NOT tag:fruit", &["Garden/Pruning.md", "Work/Budget.md"]),
        ("trees AND before:2026-06", &["Garden/Apples.md"]),
        ("link:Apples OR winter", &["Garden/Pruning.md", "Work/Travel.md"]),
    ];
    for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
        let options = Options { mode, ..Options::default() };
        for (query, found) in cases {
            let answer = ask(&vault, query, &options);
            let mut got = paths(&answer);
            got.sort_unstable();
            got.dedup();
            // A lane ranks what it knows: of words beside conditions one lane may know none.
            let may_be_fewer = mode != Mode::Hybrid;
            assert!(
                got == found || may_be_fewer && got.iter().all(|path| found.contains(path)),
                "{mode:?} {query}: {got:?}"
            );
        }
    }
}

#[test]
fn a_note_has_both_words_and_its_passages_one_of_them() {
    let vault = vault();
    let options = Options { merge: false, ..Options::default() };
    let answer = ask(&vault, "water AND harvest", &options);
    let lines: Vec<u32> = answer.hits.iter().map(|hit| hit.line).collect();
    assert_eq!((lines.len(), lines.contains(&1)), (2, false), "the first passage has neither: {lines:?}");
}

#[test]
fn each_passage_that_has_one_of_the_words_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    let words: Vec<String> = (b'a'..=b'y').map(|letter| format!("mango{}", char::from(letter))).collect();
    let texts: Vec<String> = words.iter().map(|word| format!("A {word}.\n")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).chain(["It was late.\n", "Heron.\n"]).collect();
    put(&mut index, 1, "1.md", &[], None, &[], &texts);
    let vault = Vault { snapshot: index.publish(1).unwrap(), _dir: dir };
    let options = Options { mode: Mode::Lexical, merge: false, per_note: 99, limit: 99, ..Options::default() };
    for (query, found) in [("was OR heron", 2), ("was OR quibble", 1), (words.join(" OR ").as_str(), words.len())] {
        let answer = ask(&vault, query, &options);
        assert_eq!(answer.hits.len(), found, "{query}");
        assert!(!answer.warnings.iter().any(|said| said.contains("no note has a word")), "{:?}", answer.warnings);
    }
}

#[test]
fn a_note_that_meets_a_condition_alone_is_found_though_no_lane_knows_it() {
    let vault = vault();
    for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
        let options = Options { mode, ..Options::default() };
        for (query, last) in [
            ("winter OR tag:work", &["Work/Budget.md", "Work/Travel.md"][..]),
            ("winter OR type:nothing OR path:Work", &["Work/Budget.md", "Work/Travel.md"][..]),
        ] {
            let answer = ask(&vault, query, &options);
            let mut got = paths(&answer);
            got.dedup();
            assert_eq!(got.first(), Some(&"Garden/Pruning.md"), "{mode:?} {query}: {got:?}");
            assert!(last.iter().all(|path| got.contains(path)), "{mode:?} {query}: {got:?}");
            assert_eq!(got.len(), 3, "{mode:?} {query}: {got:?}");
        }
    }
    let told = ask(&vault, "quibbleheron OR tag:work", &Options::default());
    assert_eq!(
        (told.hits.len(), told.warnings[0].as_str()),
        (2, "no note has a word of this query; these meet its conditions")
    );
    // A word that nothing requires ranks, and the words alone bring nothing that lacks it.
    let options = Options { mode: Mode::Lexical, ..Options::default() };
    assert_eq!(ask(&vault, "quibbleheron (tag:work OR tag:nothing)", &options).hits.len(), 0);
}

#[test]
fn what_no_note_meets_is_named() {
    let vault = vault();
    let answer = ask(&vault, "trees AND nosuch", &Options::default());
    assert_eq!((answer.hits.len(), answer.warnings.as_slice()), (0, &["no note meets `nosuch`".to_owned()][..]));
    let answer = ask(&vault, "plan (nosuch OR neither)", &Options::default());
    assert_eq!(answer.warnings, ["no note meets `nosuch OR neither`"]);
    let told = |query| ask(&vault, query, &Options::default()).warnings;
    assert_eq!(told("tag:wrok OR (tag:work AND path:nosuch) OR trees"), ["no note meets `tag:wrok` or `path:nosuch`"]);
    assert_eq!(told("trees NOT tag:wrok"), [""; 0]);
    let answer = ask(&vault, "+water +harvest", &Options::default());
    assert_eq!(answer.warnings, ["no passage has all that must occur, but a note has: ask for `water AND harvest`"]);
}

#[test]
fn hidden_notes_answer_no_operator() {
    let vault = vault();
    let hidden = Arc::new(note::Private::new(&["Work/**".to_owned()]));
    for query in ["finance OR nosuch", "NOT nosuch", "link:Travel OR nosuch", "linked-from:Travel OR nosuch"] {
        let mut parsed = parse(query, TODAY).unwrap();
        parsed.filter.hidden = Some(Arc::clone(&hidden));
        let answer = search(&vault.snapshot, "v", &parsed, None, &Options::default()).unwrap();
        assert!(paths(&answer).iter().all(|path| !path.starts_with("Work/")), "{query}");
        assert!(!query.starts_with("link") || answer.hits.is_empty(), "{query}: {:?}", paths(&answer));
    }
}
