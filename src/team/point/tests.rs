use proptest::prelude::*;

use super::*;
use crate::testing::document;

const MEAN: MeanLengths = MeanLengths([10.0, 5.0, 0.0]);

fn made(document: &Document, revision: u64) -> Vec<Value> {
    points(document, "handbook", revision, MEAN, &Private::default())
}

#[test]
fn a_point_has_all_that_a_hit_needs() {
    let point = made(&document("a/b/Note.md", &["Project/Alpha"], &["The zebra.", "The gnu."]), 7).remove(1);
    let payload: Payload = serde_json::from_value(point["payload"].clone()).unwrap();
    assert_eq!(payload.folders, ["a", "a/b", "a/b/note.md"]);
    assert_eq!(payload.tags, ["project", "project/alpha"]);
    assert_eq!(payload.own_tags, ["Project/Alpha"]);
    assert_eq!((payload.position, payload.chunks, payload.lines), (1, 2, (2, 2)));
    assert_eq!((payload.text.as_str(), payload.revision), ("The gnu.", 7));
    assert_eq!(payload.sum, payload.reckoned());
    assert_eq!(point["vector"][DENSE].as_array().unwrap().len(), 1);
}

#[test]
fn a_private_note_has_no_points() {
    assert!(made(&document("a.md", &["private"], &["zebra"]), 1).is_empty());
    let private = Private::new(&["secret/".to_owned()]);
    assert!(points(&document("secret/a.md", &[], &["zebra"]), "handbook", 1, MEAN, &private).is_empty());
}

#[test]
fn days_are_in_order_as_numbers() {
    let day = |text: &str| number(text.parse().unwrap());
    assert_eq!(day("2026-10-31"), 20_261_031);
    assert!(day("2025-12-31") < day("2026-01-01"));
}

proptest! {
    #[test]
    fn writing_twice_writes_the_same_and_ids_are_of_one_chunk_and_revision(
        texts in proptest::collection::vec("[a-z ]{0,40}", 1..5),
        other in "[a-z]{1,8}",
        (one, two) in (1..50_u64, 51..99_u64),
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let note = document("a.md", &[], &texts);
        let first = made(&note, one);
        prop_assert_eq!(&first, &made(&note, one));
        let all = [first, made(&note, two), made(&document(&format!("{other}/a.md"), &[], &texts), one)].concat();
        let ids: std::collections::BTreeSet<&str> = all.iter().filter_map(|point| point["id"].as_str()).collect();
        prop_assert_eq!(ids.len(), 3 * texts.len());
    }

    #[test]
    fn a_payload_comes_back_as_it_went(text in "\\PC{0,80}", tag in "[a-zA-Z/]{0,12}", revision in 0..u64::from(u32::MAX)) {
        let point = made(&document("a.md", &[&tag], &[&text]), revision).pop();
        if let Some(point) = point {
            let over_the_wire: Value = serde_json::from_str(&point["payload"].to_string()).unwrap();
            let payload: Payload = serde_json::from_value(over_the_wire).unwrap();
            prop_assert_eq!(&payload.text, &text);
            prop_assert_eq!(payload.sum.clone(), payload.reckoned());
        }
    }
}
