//! Questions and terms that a model wrote beside a chunk's context: searched with a weight of their own, never shown.

use super::*;

const ASKED: &str = "Which firm mended the lamps?\nbeacon, maintenance";

fn index(dir: &Path, expansion: &str) -> Arc<Snapshot> {
    let mut index = open(dir);
    let expanded =
        ChunkDoc { expansion: expansion.to_owned(), ..chunk(1, 0, "Veddel repaired the lantern.", "North pier") };
    index.put(note(1, 1, "pier.md"), vec![expanded, chunk(1, 1, "Paraffin and wicks.", "")]).unwrap();
    index.put(note(2, 2, "other.md"), chunks(2, &["A beacon of hope in maintenance.", "Lanterns"])).unwrap();
    index.publish(2).unwrap()
}

fn asked(words: &str, expansion: f32) -> LexicalQuery {
    LexicalQuery { expansion, ..query(words) }
}

fn scores(snapshot: &Snapshot, query: &LexicalQuery) -> Vec<(Row, u32)> {
    snapshot.lexical(query, &|_| true, 100).unwrap().into_iter().map(|(row, score)| (row, score.to_bits())).collect()
}

#[test]
fn a_word_of_a_question_finds_the_chunk_if_it_has_a_weight() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = index(dir.path(), ASKED);
    for (words, with) in
        [("firm", &["1:0"][..]), ("mends a lamp", &["1:0"]), ("which", &["1:0"]), ("wicks firm", &["1:0", "1:1"])]
    {
        assert_eq!(found(&snapshot, &asked(words, 0.5)), with, "{words}");
        assert!(found(&snapshot, &asked(words, 0.0)).iter().all(|chunk| chunk == "1:1"), "{words}");
    }
    // What stands in a text counts for more than what stands in a question.
    let best = snapshot.lexical(&asked("maintenance", 0.5), &|_| true, 1).unwrap()[0].0;
    assert_eq!(snapshot.chunk(best).unwrap().note, 2);
    assert!(scores(&snapshot, &asked("firm", 0.9))[0].1 > scores(&snapshot, &asked("firm", 0.1))[0].1);
    let shown = snapshot.text(snapshot.row_of(id(1, 0)).unwrap()).unwrap();
    assert_eq!((shown.text.as_str(), shown.context.as_str()), ("Veddel repaired the lantern.", "North pier"));
}

#[test]
fn phrases_and_exclusions_do_not_look_at_it() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = index(dir.path(), ASKED);
    // What a query excludes is looked up as phrases are.
    let of = |phrase: &str| found(&snapshot, &LexicalQuery { phrases: vec![phrase.to_owned()], ..asked("", 1.0) });
    assert_eq!(of("mended the lamps"), [""; 0]);
    assert_eq!(of("repaired the lantern"), ["1:0"]);
    assert_eq!((of("firm"), of("veddel")), (Vec::new(), vec!["1:0".to_owned()]));
}

#[test]
fn where_there_is_none_the_weight_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = index(dir.path(), "");
    for words in ["lantern", "beacon maintenance", "firm", "lantren", "north veddel paraffin"] {
        for prefix in [false, true] {
            let [with, without] = [0.7, 0.0].map(|weight| LexicalQuery { prefix, ..asked(words, weight) });
            assert_eq!(scores(&snapshot, &with), scores(&snapshot, &without), "{words}");
        }
    }
}

#[test]
fn the_words_that_stand_there_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = index(dir.path(), ASKED);
    let named = |words: &str, weight, no, position| {
        snapshot.in_expansion(&asked(words, weight), snapshot.row_of(id(no, position)).unwrap()).unwrap()
    };
    assert_eq!(named("Firms lantern lamp firm beacon", 0.5, 1, 0), ["Firms", "lamp", "beacon"]);
    assert_eq!(named("lantern", 0.5, 1, 0), [""; 0]);
    assert_eq!(
        (named("firm", 0.0, 1, 0).len(), named("beacon", 0.5, 2, 0).len(), named("firm", 0.5, 1, 1).len()),
        (0, 0, 0)
    );
    assert_eq!(snapshot.in_expansion(&asked("firm", 0.5), 999).unwrap(), [""; 0]);
}
