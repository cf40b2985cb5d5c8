use super::*;
use crate::search::{Parsed, parse};
use crate::testing::note;
use crate::{Index, Snapshot};

fn outside(no: u32, path: &str, text: &str, lexical: Option<f32>, dense: Option<f32>) -> Outside {
    Outside {
        vault: "team/guides".to_owned(),
        note: note(no, 1, path),
        chunk: format!("{no}"),
        heading_path: Vec::new(),
        lines: (1, 1),
        text: text.to_owned(),
        context: String::new(),
        language: Language::English,
        lexical,
        dense,
    }
}

fn empty() -> (tempfile::TempDir, std::sync::Arc<Snapshot>) {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), 2).unwrap();
    let snapshot = index.publish(1).unwrap();
    (dir, snapshot)
}

fn answered(query: Parsed, chunks: Vec<Outside>) -> Answer {
    let (_dir, snapshot) = empty();
    let options = Options { mode: Mode::Hybrid, familiarity: 1.0, ..Options::default() };
    let part = Part { snapshot: &snapshot, query, vector: None, options: options.clone() };
    let (rankings, outside) = rank_beside(&[part], chunks).unwrap();
    assert!(rankings.iter().all(|ranking| ranking.rows(9).is_empty()));
    outside.finish(&options)
}

fn query(text: &str) -> Parsed {
    parse(text, "2026-11-24".parse().unwrap()).unwrap()
}

#[test]
fn what_is_found_elsewhere_is_fused_as_what_is_found_here() {
    let chunks = vec![
        outside(1, "a.md", "The zebra grazes.", Some(2.0), Some(0.5)),
        outside(2, "b.md", "A horse grazes.", None, Some(0.9)),
        outside(3, "c.md", "zebra", Some(4.0), Some(0.1)),
    ];
    let answer = answered(query("zebra"), chunks);
    let scores: Vec<(&str, f32)> = answer.hits.iter().map(|hit| (hit.path.as_str(), hit.score)).collect();
    // Half the cosine and half the share of the best BM25.
    assert_eq!(scores, [("c.md", 0.55), ("a.md", 0.5), ("b.md", 0.45)]);
    assert_eq!(answer.hits[1].snippet, "The zebra grazes.");
    assert_eq!(answer.hits[1].highlights, [(4, 9)]);
}

#[test]
fn a_note_that_the_query_names_is_boosted_and_none_takes_more_than_its_share() {
    let chunks =
        vec![outside(1, "Zebra Plan.md", "one", Some(1.0), Some(0.5)), outside(2, "b.md", "two", Some(1.0), Some(0.5))];
    let answer = answered(query("the zebra plan"), chunks);
    assert_eq!(answer.hits[0].path, "Zebra Plan.md");
    assert!(answer.hits[0].score > answer.hits[1].score);
    let many = (0..9).map(|_| outside(1, "a.md", "one", Some(1.0), None)).collect();
    assert_eq!(answered(query("one"), many).hits.len(), Options::default().per_note);
}

#[test]
fn what_is_linked_with_a_note_that_the_query_names_is_boosted() {
    let found = |no: u32, path: &str, links: &[&str]| {
        let mut chunk = outside(no, path, "text", Some(1.0), Some(0.5));
        chunk.note.links = links.iter().map(|link| (*link).to_owned()).collect();
        chunk
    };
    // From the note that is named, to it, and to one that is named and was not found.
    let chunks = vec![
        found(1, "a.md", &[]),
        found(2, "Zebra Plan.md", &["b.md"]),
        found(3, "b.md", &[]),
        found(4, "c.md", &["Zebra Plan.md"]),
        found(5, "d.md", &["Gone/Okapi Plan.md"]),
    ];
    let ranked = |text: &str| -> Vec<(String, bool)> {
        let hits = answered(query(text), chunks.clone()).hits;
        let least = hits.iter().map(|hit| hit.score).fold(f32::MAX, f32::min);
        hits.into_iter().map(|hit| (hit.path, hit.score > least)).collect()
    };
    let boosted = |text: &str| -> Vec<String> {
        ranked(text).into_iter().filter(|(_, above)| *above).map(|(path, _)| path).collect()
    };
    assert_eq!(boosted("the zebra plan"), ["Zebra Plan.md", "b.md", "c.md"]);
    assert_eq!(boosted("the okapi plan"), ["d.md"]);
    // The beginning of a name.
    assert_eq!(boosted("about Zebra"), ["Zebra Plan.md", "b.md", "c.md"]);
}

#[test]
fn what_an_engine_elsewhere_is_asked_for_and_what_nobody_can_tell() {
    let filter = |text: &str| query(text).filter.elsewhere();
    let known = filter("zebra tag:Africa path:Animals/ -tag:old after:2026-01-01");
    assert_eq!((known.tags, known.paths), (vec!["africa".to_owned()], vec!["animals".to_owned()]));
    assert_eq!((known.without[0].as_slice(), known.days.0.is_some()), (["old".to_owned()].as_slice(), true));
    assert!(known.is_all);
    for partly in ["zebra path:*.draft.md path:work", "zebra link:Plan", "zebra modified:>2026", "zebra -path:**/old/*"]
    {
        let known = filter(partly);
        assert!(!known.is_all && known.paths.is_empty(), "{partly}: {known:?}");
        assert!(query(partly).unknown_elsewhere().is_empty(), "{partly}");
    }
    let unknown = query("zebra prop.status:done (linked-from:Plan OR tag:a)").unknown_elsewhere();
    assert_eq!(unknown, ["prop.status", "linked-from:Plan"]);
}

#[test]
fn what_is_asked_for_besides_words_is_looked_for_in_what_comes() {
    let found = |no: u32, path: &str, text: &str, tags: &[&str], links: &[&str]| {
        let mut chunk = outside(no, path, text, Some(1.0), None);
        chunk.note.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        chunk.note.links = links.iter().map(|link| (*link).to_owned()).collect();
        chunk
    };
    let chunks = vec![
        found(1, "work/a.md", "The zebra grazes.", &["africa/south"], &["Plans/Big plan.md"]),
        found(2, "work/b.draft.md", "A horse and a zebra.", &["europe"], &[]),
        found(3, "c.md", "A horse eats grass.", &["europe"], &[]),
        found(4, "d.md", "An okapi.", &[], &[]),
        found(4, "d.md", "Its horse.", &[], &[]),
    ];
    let admitted = |text: &str| -> Vec<String> {
        let mut kept = chunks.clone();
        keep_admitted(&query(text), &mut kept, true);
        kept.into_iter().map(|chunk| chunk.text).collect()
    };
    let (zebra, both, horse, okapi, second) =
        ("The zebra grazes.", "A horse and a zebra.", "A horse eats grass.", "An okapi.", "Its horse.");
    assert_eq!(admitted("animals"), [zebra, both, horse, okapi, second]);
    assert_eq!(admitted("zebra AND horse"), [both]);
    assert_eq!(admitted("okapi AND horse"), [okapi, second], "each in another chunk of the note");
    assert_eq!(admitted("zebra OR okapi"), [zebra, both, okapi]);
    assert_eq!(admitted("animals AND NOT zebra"), Vec::<&str>::new());
    assert_eq!(admitted("horse AND NOT zebra"), [horse, second]);
    assert_eq!(admitted("(tag:africa OR path:c.md) AND (zebra OR horse)"), [zebra, horse]);
    assert_eq!(admitted("animals path:work/*.draft.md"), [both]);
    assert_eq!(admitted("animals -path:work/*"), [horse, okapi, second]);
    assert_eq!(admitted("animals link:\"big plan\""), [zebra]);
    assert_eq!(admitted("animals \"eats grass\""), [horse]);
    assert_eq!(admitted("animals -horse"), [zebra, okapi]);
    assert_eq!(admitted("animals /h.rse (and|eats)/"), [both, horse]);
    assert_eq!(admitted("animals -/zebra/ -/okapi/"), [horse, second]);
    assert_eq!(admitted("animals modified:>2020"), Vec::<&str>::new(), "these are of 1970");
}
