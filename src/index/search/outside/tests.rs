use super::*;
use crate::Said;
use crate::search::{Parsed, parse};
use crate::terms::{Counted, MeanLengths, WordStatistics, asked_for, rarity};
use crate::testing::{chunk, note};
use crate::{Index, Snapshot};

fn outside(no: u32, path: &str, text: &str, lexical: Option<f32>, dense: Option<f32>) -> Outside {
    Outside {
        engine: 0,
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
    let (rankings, outside) = rank_beside(&[part], FoundOutside { chunks, ..FoundOutside::default() }).unwrap();
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
        chunk.note.texts = Said { title: chunk.note.path.stem(), links, ..Said::default() }.pack();
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
    assert_eq!(known.tags, [["africa"]]);
    for (typed, path) in [
        ("Animals/", "animals"),
        ("docs/report", "docs/report.pdf"),
        ("docs/report", "docs/report.canvas"),
        ("./Work", "work"),
        ("Caf\u{e9}", "cafe\u{301}.md"),
        ("Cafe\u{301}", "caf\u{e9}"),
    ] {
        let known = filter(&format!("zebra path:{typed}"));
        assert!(known.is_all && known.paths.iter().any(|known| known == path), "{typed}: {known:?}");
        let known = filter(&format!("zebra -path:{typed}"));
        assert!(known.is_all && known.without[1].iter().any(|known| known == path), "{typed}: {known:?}");
    }
    assert_eq!(filter("tag:Caf\u{e9}").tags, [["caf\u{e9}", "cafe\u{301}"]]);
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
        chunk.note.texts = Said { title: chunk.note.path.stem(), tags, links, ..Said::default() }.pack();
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
    assert_eq!(admitted("okapi AND (horse OR tag:none)"), [okapi], "its note has both");
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

#[test]
fn words_found_elsewhere_weigh_as_in_one_index_of_all() {
    let texts: Vec<String> = (0..40)
        .map(|at| {
            let (common, rare) =
                (if at % 2 == 0 { "zebra" } else { "horse" }, if at % 9 == 0 { "okapi" } else { "grass" });
            format!("{common} eats {rare} {at}")
        })
        .collect();
    let put = |index: &mut Index, at: usize| {
        let no = at as u32;
        index.put(note(no, 1, &format!("{at}.md")), vec![chunk(no, 0, &texts[at], "")]).unwrap();
    };
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [mut whole, mut here] = [0, 1].map(|at| Index::open(dirs[at].path(), 2).unwrap());
    (0..40).for_each(|at| put(&mut whole, at));
    // Of those that are here none has the rare word.
    let is_here = |at: usize| at % 4 < 2 && !at.is_multiple_of(9);
    (0..40).filter(|at| is_here(*at)).for_each(|at| put(&mut here, at));
    let [whole, here] = [whole, here].map(|mut index| index.publish(1).unwrap());
    let there: Vec<usize> = (0..40).filter(|at| !is_here(*at)).collect();
    let options = Options { mode: Mode::Lexical, limit: 40, ..Options::default() };
    let asked = query("zebra okapi");
    let part = |snapshot| Part { snapshot, query: asked.clone(), vector: None, options: options.clone() };
    let terms = asked_for("zebra okapi", &[Language::English], true, options.expansion());
    let words = |at: usize| {
        let (entry, doc) = (note(at as u32, 1, &format!("{at}.md")), chunk(at as u32, 0, &texts[at], ""));
        Counted::of(&entry, &doc, 0, Language::English)
    };
    // All are of one length.
    let mean = MeanLengths(words(0).lengths().map(|length| length as f32));
    let counted = |at: usize| {
        let (numbers, weights) = words(at).weighed(mean);
        numbers.into_iter().zip(weights).collect::<HashMap<u32, f32>>()
    };
    let counted: Vec<_> = there.iter().map(|at| (*at, counted(*at))).collect();
    let chunks = there.len() as u64;
    let terms: Vec<_> = terms
        .into_iter()
        .map(|term| {
            let having = counted.iter().filter(|(_, weights)| weights.contains_key(&term.number)).count() as u64;
            (term, having)
        })
        .collect();
    let found = counted.iter().filter_map(|(at, weights)| {
        let score: f32 = terms
            .iter()
            .map(|(term, having)| term.weight * weights.get(&term.number).unwrap_or(&0.0) * rarity(chunks, *having))
            .sum();
        (score > 0.0).then(|| outside(*at as u32, &format!("{at}.md"), &texts[*at], Some(score), None))
    });
    let found = found.collect();
    let statistics = vec![WordStatistics { chunks, terms, mean }];
    let found = FoundOutside { chunks: found, statistics, ..FoundOutside::default() };
    let (mut rankings, outside) = rank_beside(&[part(&*here)], found).unwrap();
    let mut both = crate::search::finish(&here, "v", rankings.remove(0), &options).unwrap().hits;
    both.extend(outside.finish(&options).hits);
    both.sort_by(|a, b| b.score.total_cmp(&a.score));
    let ranking = crate::search::rank(&whole, &asked, None, &options).unwrap();
    let all = crate::search::finish(&whole, "v", ranking, &options).unwrap().hits;
    assert_eq!(both.len(), all.len());
    for (one, other) in both.iter().zip(&all) {
        assert!((one.score - other.score).abs() < 0.01, "{} {} / {} {}", one.path, one.score, other.path, other.score);
    }
    assert!(all[0].score > 1.2 * all.last().unwrap().score, "both words tell chunks apart");
}
