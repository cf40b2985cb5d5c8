//! Why a note was not found, or stands where it stands.

use super::*;
use crate::NoteNo;

fn why(vault: &Vault, query: &str, no: NoteNo, options: &Options) -> Expected {
    let parsed = parse(query, TODAY).unwrap();
    let vector: Option<Vector> = parsed.has_text().then(|| builtin::model().embed(&parsed.text()));
    let answer = search(&vault.snapshot, "v", &parsed, vector.as_ref(), options).unwrap();
    let note = vault.snapshot.note(no).unwrap();
    let part = Part { snapshot: &vault.snapshot, query: parsed, vector, options: options.clone() };
    expect(&[part], 0, "v", note, &answer.hits).unwrap()
}

fn said(expected: &Expected) -> String {
    expected.why.join(" ")
}

#[test]
fn each_condition_that_leaves_a_note_out_is_named() {
    let vault = vault();
    // Of the note Work/Travel.md: query, and the conditions that are not met.
    let cases: [(&str, &[&str]); 14] = [
        ("costs path:Garden", &["it does not meet `path:Garden`"]),
        ("costs path:Garden path:Home", &["it does not meet `path:Garden or path:Home`"]),
        ("costs path:Garden path:Work", &[]),
        ("costs tag:work tag:done", &["it does not meet `tag:done`"]),
        ("costs -tag:fruit", &["it does not meet `-tag:fruit`"]),
        ("costs type:\"daily note\"", &["it does not meet `type:\"daily note\"`"]),
        ("costs link:Budget", &["it does not meet `link:Budget`"]),
        ("costs prop.status:active", &["it does not meet `prop.status:active`"]),
        ("costs after:2026-01", &["it does not meet `after:2026-01-01`"]),
        ("costs before:2025-06-01", &["it does not meet `before:2025-06-01`"]),
        ("costs modified:today", &["it does not meet `modified:>=2026-11-20 modified:<2026-11-21`"]),
        ("costs \"costs travel\"", &["\"costs travel\" stands nowhere in it, word for word"]),
        ("costs -finance", &["it has \"finance\", which must not occur"]),
        ("tag:done -month costs", &["it does not meet `tag:done`", "it has \"month\", which must not occur"]),
    ];
    for (query, reasons) in cases {
        let expected = why(&vault, query, 5, &Options::default());
        assert_eq!(expected.excluded_by, reasons, "{query}");
        let standing = if reasons.is_empty() { NoteStanding::Hit } else { NoteStanding::Excluded };
        assert_eq!(expected.standing, standing, "{query}");
        assert!(reasons.iter().all(|reason| said(&expected).contains(reason)), "{expected:?}");
    }
}

#[test]
fn conditions_that_no_passage_meets_together() {
    let vault = vault();
    let expected = why(&vault, "\"full sun\" \"young trees\"", 1, &Options::default());
    assert_eq!(expected.excluded_by, ["no passage of it meets all conditions at once"]);
}

#[test]
fn a_hit_says_where_it_stands() {
    let vault = vault();
    let expected = why(&vault, "how to prune trees", 2, &Options::default());
    assert_eq!(
        (expected.standing, expected.hit, expected.would_be, expected.rank),
        (NoteStanding::Hit, Some(1), Some(1), Some(1))
    );
    assert_eq!((expected.lines, expected.lacks.as_slice()), (Some((1, 1)), &[][..]));
    let text = said(&expected);
    assert!(text.starts_with("It is hit no. 1. Its best passage, lines 1 to 1, is no. 1 by words (BM25 "), "{text}");
}

#[test]
fn what_is_cut_off_says_by_what() {
    let vault = vault();
    let one = Options { limit: 1, ..Options::default() };
    let expected = why(&vault, "prune fruit trees", 1, &one);
    assert_eq!((expected.standing, expected.would_be, expected.hit), (NoteStanding::Below, Some(2), None));
    assert!(expected.score.unwrap() < expected.last_score.unwrap());
    let text = said(&expected);
    assert!(text.contains("it would be hit no. 2, and the limit is 1"), "{text}");
    assert!(text.contains("have: Prune.") || text.contains("have: prune."), "{text}");

    let options = Options { per_note: 1, ..Options::default() };
    let expected = why(&vault, "trees in full sun, water, harvest", 1, &options);
    assert_eq!((expected.hit, expected.held_back), (Some(1), 2), "{expected:?}");
    assert!(
        said(&expected).contains("2 more of its passages would be hits, but no more than 1 of one note are shown.")
    );
}

#[test]
fn a_note_that_no_lane_brings_says_how_near_it_comes() {
    let vault = vault();
    let found = why(&vault, "travel costs", 4, &Options::default());
    assert_eq!((found.standing, found.lexical.as_ref(), found.dense.is_some()), (NoteStanding::Hit, None, true));
    assert_eq!(found.lacks, ["travel", "costs"]);
    // Where meaning has no weight only words bring notes.
    let expected = why(&vault, "travel costs", 4, &Options { dense_weight: 0.0, ..Options::default() });
    assert_eq!((expected.standing, expected.rank, &expected.dense), (NoteStanding::Unmatched, None, &found.dense));
    assert!(said(&expected).starts_with("No passage of it has any word of the query"), "{expected:?}");
    assert!(said(&expected).contains("Its best passage, lines 1 to 1, is no. "), "{expected:?}");
    let lexical = why(&vault, "travel costs", 4, &Options { mode: Mode::Lexical, ..Options::default() });
    assert_eq!((lexical.standing, &lexical.dense), (NoteStanding::Unmatched, &None));
}

#[test]
fn conditions_alone() {
    let vault = vault();
    let expected = why(&vault, "type:note", 3, &Options { limit: 2, ..Options::default() });
    assert_eq!(expected.standing, NoteStanding::Below);
    assert!(said(&expected).contains("conditions only"), "{expected:?}");
}

#[test]
fn a_passage_beyond_the_depth_of_both_lanes() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    for no in 1..=400 {
        put(&mut index, no, &format!("n{no:03}.md"), &[], None, &[], &["harbour pilot boat schedule\n"]);
    }
    put(
        &mut index,
        500,
        "far.md",
        &[],
        None,
        &[],
        &["A long list of recipes for bread, soup and cake mentions the harbour once.\n"],
    );
    let vault = Vault { snapshot: index.publish(1).unwrap(), _dir: dir };
    let expected = why(&vault, "harbour pilot boat", 500, &Options::default());
    assert_eq!((expected.standing, expected.rank, expected.would_be), (NoteStanding::Below, Some(401), Some(401)));
    assert_eq!(expected.lexical.as_ref().unwrap().rank, 401);
    let text = said(&expected);
    assert!(text.contains("each lane brings its best 120 passages, and it is among neither's"), "{text}");
    assert_eq!(expected.lacks, ["pilot", "boat"]);
}

#[test]
fn it_is_counted_in_hits_and_in_all_vaults() {
    let vault = vault();
    let one = Options { limit: 1, ..Options::default() };
    let expected = why(&vault, "water young trees in full sun and harvest the fruit", 2, &one);
    assert_eq!((expected.rank, expected.would_be), (Some(4), Some(2)), "three passages of the first note are one hit");

    let parsed = parse("prune fruit trees", TODAY).unwrap();
    let vector: Option<Vector> = Some(builtin::model().embed(&parsed.text()));
    let hits = search(&vault.snapshot, "v", &parsed, vector.as_ref(), &one).unwrap().hits;
    let part = Part { snapshot: &vault.snapshot, query: parsed, vector, options: one };
    let note = vault.snapshot.note(2).unwrap();
    let expected = expect(&[part.clone(), part], 1, "w", note, &hits).unwrap();
    assert_eq!((expected.standing, expected.rank, expected.would_be), (NoteStanding::Below, Some(2), Some(2)));
}
