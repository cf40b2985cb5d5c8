use index::Language;
use index::terms::{asked_for, rarity};

use super::*;

fn best(number: u32, weight: f32, score: f32) -> Vec<Read> {
    let vector = json!({WORDS: {"indices": [1, number], "values": [9.0, weight]}});
    vec![Read { id: "a".to_owned(), score, payload: Value::Null, vector }]
}

#[test]
fn a_term_is_asked_once_and_what_its_best_chunk_scores_tells_how_many_have_it() {
    let mut rarities = Rarities::default();
    let terms = asked_for("zebra okapi", &[Language::English], false, 0.0);
    let [one, other] = [terms[0].number, terms[1].number];
    let seen = || HashMap::from([("guides", 3)]);
    assert_eq!(rarities.unknown(&terms, seen()), [one, other]);
    rarities.learn(Some(1000), [(one, best(one, 1.5, 1.5 * rarity(1000, 7))), (other, Vec::new())].into_iter());
    assert!(rarities.unknown(&terms, seen()).is_empty());
    let known = rarities.of(terms.clone(), MeanLengths::default());
    let having: Vec<u64> = known.terms.iter().map(|(_, having)| *having).collect();
    assert_eq!((known.chunks, having), (1000, vec![7, 0]));
    // A few revisions later they are the same, and many later they are asked again.
    assert!(rarities.unknown(&terms, HashMap::from([("guides", 4)])).is_empty());
    assert_eq!(rarities.unknown(&terms, HashMap::from([("guides", 3 + REVISIONS + 1)])).len(), 2);
}

#[test]
fn what_nobody_understands_is_not_taken_for_a_number() {
    let mut rarities = Rarities::default();
    let terms = asked_for("zebra", &[Language::English], false, 0.0);
    let number = terms[0].number;
    rarities.learn(Some(10), [(number, best(number + 1, 1.0, 1.0))].into_iter());
    rarities.learn(Some(10), [(number, best(number, 0.0, 1.0))].into_iter());
    assert!(rarities.of(terms, MeanLengths::default()).terms.is_empty());
}
