//! The index as a whole, on real folders.

mod expansion;
mod languages;
mod memory;
mod restart;
mod saved;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use note::VaultPath;

use super::testing::{chunk, chunks, id, note, vector};
use super::*;

pub(super) fn open(dir: &Path) -> Index {
    Index::open(dir, 2).unwrap()
}

fn query(words: &str) -> LexicalQuery {
    LexicalQuery { words: words.to_owned(), contextual: true, ..LexicalQuery::default() }
}

/// `note:position` of the hits, sorted.
fn found(snapshot: &Snapshot, query: &LexicalQuery) -> Vec<String> {
    let hits = snapshot.lexical(query, &|_| true, 100).unwrap();
    assert!(hits.is_sorted_by(|a, b| a.1 >= b.1) && hits.iter().all(|hit| hit.1 > 0.0));
    let mut found: Vec<String> = hits
        .iter()
        .map(|&(row, _)| snapshot.chunk(row).map(|c| format!("{}:{}", c.note, c.position)).unwrap())
        .collect();
    found.sort();
    found
}

pub(super) fn finds(snapshot: &Snapshot, words: &str) -> Vec<String> {
    found(snapshot, &query(words))
}

/// The files of the segments in the lexical index's folder.
pub(super) fn segment_files(words: &Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(words).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().unwrap().len() > 32).collect()
}

#[test]
fn put_replace_remove_and_old_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    assert_eq!(index.rebuilt(), None);
    let empty = index.publish(0).unwrap();

    index.put(note(1, 1, "a.md"), chunks(1, &["red apples", "green pears"])).unwrap();
    index.put(note(2, 2, "b.md"), chunks(2, &["red wine"])).unwrap();
    let first = index.publish(2).unwrap();
    assert_eq!(finds(&first, "red"), ["1:0", "2:0"]);

    index.put(note(1, 3, "c.md"), chunks(1, &["blue apples", "green pears", "red plums"])).unwrap();
    let second = index.publish(3).unwrap();
    index.remove(2).unwrap();
    index.remove(2).unwrap();
    let third = index.publish(4).unwrap();
    index.put(note(7, 5, "z.md"), chunks(7, &["red rust", "more", "and more"])).unwrap();
    let fourth = index.publish(5).unwrap();

    let path = |p: &str| VaultPath::parse(p).unwrap();
    let seen = |s: &Snapshot| (s.seq(), s.note_count(), s.chunk_count(), finds(s, "red"), finds(s, "apple"));
    let strings = |hits: &[&str]| hits.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(seen(&empty), (0, 0, 0, strings(&[]), strings(&[])));
    assert_eq!(seen(&first), (2, 2, 3, strings(&["1:0", "2:0"]), strings(&["1:0", "1:1"][..1])));
    assert_eq!(seen(&second), (3, 2, 4, strings(&["1:2", "2:0"]), strings(&["1:0"])));
    assert_eq!(seen(&third), (4, 1, 3, strings(&["1:2"]), strings(&["1:0"])));
    assert_eq!(seen(&fourth), (5, 2, 6, strings(&["1:2", "7:0"]), strings(&["1:0"])));

    for (snapshot, text) in [(&first, "red apples"), (&second, "blue apples"), (&fourth, "blue apples")] {
        let row = snapshot.row_of(id(1, 0)).unwrap();
        assert_eq!(snapshot.text(row).unwrap().text, text);
        assert_eq!(snapshot.note(1).unwrap().rows.get(0), Some(row));
    }
    assert_eq!((first.note_at(&path("a.md")).is_some(), first.note_at(&path("c.md")).is_some()), (true, false));
    assert_eq!((second.note_at(&path("a.md")).is_some(), second.note_at(&path("c.md")).is_some()), (false, true));
    assert_eq!(first.row_of(id(1, 0)), second.row_of(id(1, 0)), "a chunk that stays keeps its row");
    assert!(third.row_of(id(2, 0)).is_none() && second.row_of(id(2, 0)).is_some());
    assert_eq!(fourth.notes().map(|n| n.no).collect::<Vec<_>>(), [1, 7]);
    assert_eq!(fourth.rows(), 6, "the row of the removed note was used again");
    assert!(fourth.text(99).is_err() && fourth.chunk(99).is_none());

    let (hits, best) = (second.dense(&vector(0, 1), None, 1), second.row_of(id(1, 0)).unwrap());
    assert!(hits[0].1 > 0.999 && [best, second.row_of(id(2, 0)).unwrap()].contains(&hits[0].0));
    assert_eq!(second.dense_of(&vector(0, 1), &[hits[0].0, 99])[1].to_bits(), 0f32.to_bits());
    assert_eq!(second.vectors(best), [vector(0, 1)]);
}

#[test]
fn filters_are_asked_before_the_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    for no in 1..=60 {
        index.put(note(no, 1, &format!("{no}.md")), chunks(no, &["the same words"])).unwrap();
    }
    let snapshot = index.publish(1).unwrap();
    let allowed = |row: Row| snapshot.chunk(row).is_some_and(|c| c.note > 57);
    let hits = snapshot.lexical(&query("same words"), &allowed, 5).unwrap();
    assert_eq!(hits.len(), 3);
    let near = snapshot.dense(&vector(0, 1), Some(&allowed), 5);
    assert_eq!(near.len(), 3);
    let rows: Vec<Row> = (0..snapshot.rows() as Row).filter(|row| allowed(*row)).collect();
    assert_eq!(snapshot.dense_among(&vector(0, 1), &rows, 5), near, "looked at one by one");
    assert_eq!(snapshot.exact().dense(&vector(0, 1), Some(&allowed), 5), near);
    assert_eq!(snapshot.lexical(&query("same"), &|_| true, 0).unwrap(), []);
}

#[test]
fn words_of_many_scripts() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let texts = [
        "Die Straßenbahn fährt über die Brücke",
        "東京都の図書館で猫を見た",
        "Я живу в Москве ещё пять лет, Ёлка",
        "मुझे हिन्दी में लिखना पसंद है",
        "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
        "Le café où l’homme déjeune, naïve résumé",
        "학교에서 한국어를 배웠다",
        "كِتَابٌ عن التاريخ",
        "running foxes with fooBarBaz and snake_case_name in HTMLParser v3.14, e-mail Anna's",
        "ＡＢＣ ﬁne ½ x²",
        "İstanbul Ιησούς",
        "မြန်မာစာ ភាសាខ្មែរ",
    ];
    index.put(note(1, 1, "n.md"), chunks(1, &texts)).unwrap();
    let snapshot = index.publish(1).unwrap();
    let table: [(&str, &[u32]); 50] = [
        ("Brucke", &[0]),
        ("BRÜCKE", &[0]),
        ("bru\u{308}cke", &[0]),
        ("strassenbahn", &[0]),
        ("brückenbau", &[]),
        ("図書館", &[1]),
        ("東京", &[1]),
        ("京都", &[1]),
        ("猫", &[1]),
        ("た", &[1]),
        ("犬", &[]),
        ("москве", &[2]),
        ("еще", &[2]),
        ("елка", &[2]),
        ("ЁЛКА", &[2]),
        ("हिन्दी", &[3]),
        ("हन्द", &[]),
        ("हिन्द", &[]),
        ("पसंद", &[3]),
        ("ภาษาไทย", &[4]),
        ("ช่องว่าง", &[4]),
        ("xช่อง", &[4]),
        ("cafe", &[5]),
        ("homme", &[5]),
        ("l'homme", &[5]),
        ("naive", &[5]),
        ("RESUME", &[5]),
        ("한국어", &[6]),
        ("학교", &[6]),
        ("\u{1112}\u{1161}\u{11A8}\u{1100}\u{116D}", &[6]),
        ("중국", &[]),
        ("كتاب", &[7]),
        ("تاريخ", &[]),
        ("التاريخ", &[7]),
        ("run", &[8]),
        ("fox", &[8]),
        ("foobarbaz", &[8]),
        ("bar", &[8]),
        ("snake_case", &[8]),
        ("snakeCaseName", &[8]),
        ("parser", &[8]),
        ("html", &[8]),
        ("3.14", &[8]),
        ("314", &[]),
        ("email", &[8]),
        ("anna", &[8]),
        ("abc", &[9]),
        ("fine", &[9]),
        ("istanbul", &[10]),
        ("ΙΗΣΟΥΣ", &[10]),
    ];
    for (words, expected) in table {
        let expected: Vec<String> = expected.iter().map(|position| format!("1:{position}")).collect();
        assert_eq!(finds(&snapshot, words), expected, "{words}");
    }
    for (words, position) in [("မြန်မာ", "1:11"), ("ខ្មែរ", "1:11")] {
        assert_eq!(finds(&snapshot, words), [position], "{words}");
    }
}

#[test]
fn phrases_without_and_contexts() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let docs = vec![
        chunk(1, 0, "state-of-the-art methods", "about budgets"),
        chunk(1, 1, "the art of the state", "about travel plans"),
        chunk(1, 2, "東京都に住む", ""),
        chunk(1, 3, "京都と東に住む budgets", ""),
    ];
    let entry = NoteEntry {
        texts: Said { title: "Weekly review", tags: &["area/health"], aliases: &["Odd one"], ..Said::default() }.pack(),
        ..note(1, 1, "Weekly review.md")
    };
    index.put(entry, docs).unwrap();
    let snapshot = index.publish(1).unwrap();
    let phrase = |phrases: &[&str], words: &str, without: &[&str], contextual: bool| {
        let strings = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let query =
            LexicalQuery { words: words.into(), phrases: strings(phrases), contextual, ..LexicalQuery::default() };
        // A search leaves out what each of these finds.
        let out = |without: &&str| {
            found(&snapshot, &LexicalQuery { phrases: strings(&[without]), contextual, ..LexicalQuery::default() })
        };
        let out: Vec<String> = without.iter().flat_map(out).collect();
        found(&snapshot, &query).into_iter().filter(|found| !out.contains(found)).collect::<Vec<_>>()
    };
    assert_eq!(phrase(&["state of the art"], "", &[], true), ["1:0"]);
    assert_eq!(phrase(&["state-of-the-art"], "", &[], true), ["1:0"]);
    assert_eq!(phrase(&["Of The State"], "methods", &[], true), ["1:1"]);
    assert_eq!(phrase(&["東京都"], "", &[], true), ["1:2"]);
    assert_eq!(phrase(&["weekly review", "methods"], "", &[], true), ["1:0"]);
    assert_eq!(phrase(&["nowhere to be found"], "state", &[], true), [""; 0]);
    assert_eq!(phrase(&["travel plans"], "", &[], true), ["1:1"]);
    assert_eq!(phrase(&["travel plans"], "", &[], false), [""; 0]);
    assert_eq!(phrase(&[], "budget", &[], true), ["1:0", "1:3"]);
    assert_eq!(phrase(&[], "budget", &[], false), ["1:3"]);
    assert_eq!(phrase(&[], "state", &["methods"], true), ["1:1"]);
    assert_eq!(phrase(&[], "state", &["of the state"], true), ["1:0"]);
    assert_eq!(phrase(&[], "住む", &["猫", "都"], true), [""; 0]);
    assert_eq!(phrase(&[], "", &["methods"], true), [""; 0]);
    assert_eq!(phrase(&["!!"], "", &[], true), [""; 0]);
    assert_eq!(phrase(&[], "health", &[], true).len(), 4);
    assert_eq!(phrase(&[], "odd", &[], true).len(), 4);
    let contexts: Vec<String> =
        (0..2).map(|p| snapshot.text(snapshot.row_of(id(1, p)).unwrap()).unwrap().context).collect();
    assert_eq!(contexts, ["about budgets", "about travel plans"]);
}

/// The searched form and the shown form of a chunk may differ.
#[test]
fn the_raw_text_is_shown_and_the_searchable_text_is_searched() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let doc = ChunkDoc { searchable: "visible".into(), ..chunk(1, 0, "visible %%hidden%%", "") };
    index.put(note(1, 1, "n.md"), vec![doc]).unwrap();
    let snapshot = index.publish(1).unwrap();
    assert_eq!((finds(&snapshot, "hidden").len(), finds(&snapshot, "visible").len()), (0, 1));
    assert_eq!(snapshot.text(0).unwrap().text, "visible %%hidden%%");
}

#[test]
fn a_second_writer_is_refused_and_harms_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.put(note(1, 1, "1.md"), chunks(1, &["one"])).unwrap();
    assert!(Index::open(dir.path(), 2).is_err());
    assert_eq!(finds(&index.publish(1).unwrap(), "one"), ["1:0"]);
}

#[test]
fn saves_do_not_pile_up_segments_or_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.begin_bulk(|| ()).unwrap();
    for no in 1..=300 {
        index.put(note(no, 1, &format!("{no}.md")), chunks(no, &["a text", "another text"])).unwrap();
    }
    index.publish(1).unwrap();
    index.end_bulk().unwrap();
    for seq in 2..=60 {
        let no = (seq % 7 + 1) as NoteNo;
        index.put(note(no, seq, &format!("{no}.md")), chunks(no, &["a text", "an edit"])).unwrap();
        index.publish(seq).unwrap();
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while index.segments() > 10 {
        assert!(std::time::Instant::now() < deadline, "{} segments", index.segments());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    index.put(note(1, 61, "1.md"), chunks(1, &["last"])).unwrap();
    let snapshot = index.publish(61).unwrap();
    assert_eq!((snapshot.note_count(), finds(&snapshot, "edit").len()), (300, 6));
    let files = segment_files(&dir.path().join("words")).len();
    assert!(files <= 12 * 10, "{files} files");
}

#[test]
fn a_bulk_without_an_end_does_not_pile_up_segments() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.begin_bulk(|| ()).unwrap();
    for seq in 1..=200 {
        let no = (seq % 50 + 1) as NoteNo;
        index.put(note(no, seq, &format!("{no}.md")), chunks(no, &["a text", "an edit"])).unwrap();
        index.publish(seq).unwrap();
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while index.segments() > 100 {
        assert!(std::time::Instant::now() < deadline, "{} segments", index.segments());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(index.publish(200).unwrap().note_count(), 50);
}

#[test]
fn a_bulk_that_spares_memory_goes_on_as_a_bulk_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.begin_bulk(|| ()).unwrap();
    for seq in 1..=30 {
        if seq > 5 {
            index.spare_memory().unwrap();
        }
        index.put(note(seq as NoteNo, seq, &format!("{seq}.md")), chunks(seq as NoteNo, &["a text"])).unwrap();
        index.publish(seq).unwrap();
    }
    // A writer for saves would have merged them by six.
    assert_eq!(index.segments(), 30);
    index.end_bulk().unwrap();
    assert_eq!(finds(&index.publish(31).unwrap(), "text").len(), 30);
    index.spare_memory().unwrap();
    index.put(note(31, 32, "31.md"), chunks(31, &["a save"])).unwrap();
    assert_eq!(finds(&index.publish(32).unwrap(), "save"), ["31:0"]);
}

#[test]
fn hostile_texts_are_only_texts() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let texts = [
        "a".repeat(1 << 20),
        "aB".repeat(1 << 19),
        "a-".repeat(1 << 18),
        "猫".repeat(1 << 18),
        "\u{301}".repeat(1 << 16),
        "e\u{301}\u{301}".repeat(1 << 16),
        "\0\u{FFFF}''--".repeat(999),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    index.put(note(u32::MAX, u64::MAX, "n.md"), chunks(u32::MAX, &texts)).unwrap();
    let snapshot = index.publish(1).unwrap();
    assert_eq!(finds(&snapshot, &"a".repeat(1 << 20)), [format!("{}:0", u32::MAX)]);
    assert_eq!(finds(&snapshot, "猫猫"), [format!("{}:3", u32::MAX)]);
    for text in texts {
        snapshot.lexical(&query(text), &|_| true, 10).unwrap();
        let mut phrases = query("");
        phrases.phrases = vec![text.chars().take(1000).collect()];
        snapshot.lexical(&phrases, &|_| true, 10).unwrap();
    }
}

proptest! {
    #[test]
    fn analysis_never_panics_and_gives_ranges_of_the_text(text in "\\PC{0,60}|[a-zA-Z0-9_.'’ -]{0,60}|[ก-๛ぁ-んア-ン一-鿿가-힣ऀ-ॿ a-z]{0,40}") {
        let mut position = 0;
        for word in super::analyze::words(&text, Some(Language::English)) {
            prop_assert!(text.get(word.range.clone()).is_some_and(|t| !t.is_empty()));
            prop_assert!(!word.text.is_empty() && word.text.len() <= 64);
            prop_assert!(word.position >= position);
            position = word.position;
        }
    }

    #[test]
    fn a_words_normal_form_is_stable(text in "[a-zA-ZäöüßéÑ]{1,20}|[а-яёА-Я]{1,20}") {
        let once = super::analyze::words(&text.to_lowercase(), Some(Language::English));
        let upper = super::analyze::words(&text.to_lowercase().to_uppercase(), Some(Language::English));
        prop_assert_eq!(once.iter().map(|w| &w.text).collect::<Vec<_>>(), upper.iter().map(|w| &w.text).collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// The tables say what a map of notes would say, in every snapshot, however notes come and go.
    #[test]
    fn snapshots_agree_with_a_map(ops in proptest::collection::vec((1u32..6, proptest::option::of(0usize..4)), 1..25)) {
        let dir = tempfile::tempdir().unwrap();
        let mut index = open(dir.path());
        let mut map: BTreeMap<NoteNo, usize> = BTreeMap::new();
        let mut kept: Vec<(Arc<Snapshot>, BTreeMap<NoteNo, usize>)> = Vec::new();
        for (seq, (no, count)) in (1u64..).zip(ops) {
            if let Some(count) = count {
                index.put(note(no, seq, &format!("{no}.md")), chunks(no, &["word"; 4][..count])).unwrap();
                map.insert(no, count);
            } else {
                index.remove(no).unwrap();
                map.remove(&no);
            }
            if seq % 3 == 0 {
                kept.push((index.publish(seq).unwrap(), map.clone()));
            }
        }
        kept.push((index.publish(99).unwrap(), map));
        for (snapshot, map) in kept {
            let expected: Vec<String> = map.iter().flat_map(|(no, count)| (0..*count).map(move |p| format!("{no}:{p}"))).collect();
            prop_assert_eq!(finds(&snapshot, "word"), expected.clone());
            prop_assert_eq!(snapshot.dense(&vector(0, 1), None, 99).len(), expected.len());
            prop_assert_eq!((snapshot.note_count(), snapshot.chunk_count()), (map.len(), expected.len()));
            for (no, count) in map {
                for position in 0..count as u32 {
                    let row = snapshot.row_of(id(no, position)).unwrap();
                    prop_assert_eq!(snapshot.chunk(row).map(|c| (c.note, c.position)), Some((no, position)));
                    prop_assert_eq!(snapshot.text(row).unwrap().text, "word");
                }
                prop_assert_eq!(snapshot.row_of(id(no, count as u32)), None);
            }
        }
    }
}
