//! Words in the languages of their notes.

use super::super::testing::{chunks, note};
use super::super::*;
use super::words::{corrected, find, query, said};
use super::{finds, open};

pub(super) const GERMAN: &str =
    "Die Häuser der alten Stadt stehen dicht gedrängt am Ufer, und die Gärten dahinter reichen bis zum Wald.";
const RUSSIAN: &str =
    "Мы обсудили планы новой библиотеки и решили, что книги будут перевезены в следующем месяце вместе с полками.";
const ENGLISH: &str =
    "The houses of the old town stand close together on the river bank, and the gardens behind them reach the forest.";

#[test]
fn words_are_stemmed_as_their_notes_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.put(note(1, 1, "a.md"), chunks(1, &[GERMAN])).unwrap();
    index.put(note(2, 1, "b.md"), chunks(2, &[RUSSIAN])).unwrap();
    index.put(note(3, 1, "c.md"), chunks(3, &[ENGLISH])).unwrap();
    let said = NoteEntry { texts: said("d", r#"{"lang":"fr"}"#, &[]), ..note(4, 1, "d.md") };
    index.put(said, chunks(4, &["Continuellement."])).unwrap();
    let hyphened = GERMAN.replace("Stadt", "Leucht\u{AD}turm\u{AD}wärter").replace("Ufer", "Hafen\u{AD}becken");
    index.put(note(5, 1, "e.md"), chunks(5, &[&hyphened])).unwrap();
    let snapshot = index.publish(1).unwrap();
    let table: [(&str, &[&str]); 11] = [
        ("Haus", &["1:0", "5:0"]),
        ("Hauses", &["1:0", "5:0"]),
        ("GARTEN", &["1:0", "5:0"]),
        ("Leuchtturmwärter", &["5:0"]),
        ("Hafenbeckens", &["5:0"]),
        ("garden", &["3:0"]),
        ("библиотека", &["2:0"]),
        ("книг", &["2:0"]),
        ("continuel", &["4:0"]),
        ("forests", &["3:0"]),
        ("Wäldern", &["1:0", "5:0"]),
    ];
    for (words, expected) in table {
        let mut found = finds(&snapshot, words);
        found.sort();
        assert_eq!(found, expected, "{words}");
    }
    let phrase = LexicalQuery { phrases: vec!["alte Städte".to_owned()], ..query("", false) };
    assert_eq!(snapshot.lexical(&phrase, &|_| true, 9).unwrap().len(), 1);
    let text = snapshot.text(snapshot.note(1).unwrap().rows.get(0).unwrap()).unwrap();
    assert_eq!(text.language, Language::German);
    let forms = snapshot.forms("Haus").unwrap();
    let mut marked = Vec::new();
    snapshot.analyze(&text.text, text.language, &mut |range, form| {
        if forms.iter().any(|known| known.text == form) {
            marked.push(text.text[range].to_owned());
        }
    });
    assert_eq!(marked, ["Häuser"]);
}

#[test]
fn a_word_counts_in_the_form_that_it_has_in_the_language_of_a_note() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let plan =
        "Ein Plan für den Garten und das Haus, eine App dazu, den wir im Winter mit der Nachbarin besprochen haben.";
    let texts = [
        "The pipes of the house are old and should be seen to by a plumber before the winter comes.",
        "To have it on the other machine as well, the tool is installed with pip from the shell.",
        "Planes take a little over two hours from here to the south, and the train takes a day.",
        "The plan for the garden was made with the neighbour, who knows a lot about apple trees.",
        plan,
        "Мы обсудили план новой библиотеки и решили, что книги будут перевезены в следующем месяце.",
        "The words for it in the other languages of the house are these: книг, which is of books, and so on.",
    ];
    let put = |index: &mut Index, notes: std::ops::Range<u32>| {
        for (no, text) in (1..).zip(texts).filter(|(no, _)| notes.contains(no)) {
            index.put(note(no, 1, &format!("{no}.md")), chunks(no, &[text])).unwrap();
        }
        index.publish(1).unwrap()
    };
    let english = put(&mut index, 1..5);
    let all = put(&mut index, 5..8);
    // `pip` and `plan` are the German forms.
    for (words, among_english, among_all) in [
        ("pipes", vec![1], vec![1]),
        ("planes", vec![3], vec![3, 5]),
        ("garden planes", vec![3, 4], vec![3, 4, 5]),
        ("Häusern", vec![], vec![5]),
        ("apps", vec![], vec![5]),
        ("книги", vec![], vec![6, 7]),
    ] {
        let sorted = |snapshot: &Snapshot| {
            let mut found = find(snapshot, words, false).0;
            found.sort_unstable();
            found
        };
        assert_eq!((sorted(&english), sorted(&all)), (among_english, among_all), "{words}");
    }
    let phrase = LexicalQuery { phrases: vec!["planes".to_owned()], ..query("", false) };
    assert_eq!(all.lexical(&phrase, &|_| true, 9).unwrap().len(), 2);
    // Two vaults answer as one.
    let other = tempfile::tempdir().unwrap();
    let german = put(&mut open(other.path()), 5..6);
    let together = Corpus::of([&*english, &*german]);
    let found = |snapshot: &Snapshot, words: &str| {
        snapshot.find_in(&together, (&query(words, false), &Meant::default()), None, 9).unwrap().len()
    };
    assert_eq!((found(&english, "planes"), found(&german, "planes")), (1, 1));
    assert_eq!(together.meant(&query("planing", false)).unwrap().corrected, []);
}

#[test]
fn a_literal_word_is_found_in_a_language_of_a_single_note() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    for (no, code) in (1..).zip(["de", "de", "nl", "nl", "sv", "sv", "fr", "fr", "es", "es", "pt", "pt", "it"]) {
        let texts = said(&no.to_string(), &format!(r#"{{"lang":"{code}"}}"#), &[]);
        let text = if code == "it" { "Il perché di Barolo" } else { "Alba" };
        index.put(NoteEntry { texts, ..note(no, 1, &format!("{no}.md")) }, chunks(no, &[text])).unwrap();
    }
    let snapshot = index.publish(1).unwrap();
    assert_eq!(finds(&snapshot, "Barolo"), ["13:0"]);
    let phrase = LexicalQuery { phrases: vec!["perché di Barolo".to_owned()], ..query("", false) };
    assert_eq!(snapshot.lexical(&phrase, &|_| true, 9).unwrap().len(), 1);
    assert_eq!(corrected(&snapshot, "Barolo"), []);
}

#[test]
fn a_language_for_all_notes_makes_the_index_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.put(note(1, 1, "a.md"), chunks(1, &["Häuser"])).unwrap();
    assert_eq!(finds(&index.publish(1).unwrap(), "Haus").len(), 0);
    index.sync().unwrap();
    drop(index);
    let mut index = Index::open_unchecked(dir.path(), 2, Some(Language::German)).unwrap();
    index.check().unwrap();
    assert!(index.rebuilt().is_some());
    index.put(note(1, 1, "a.md"), chunks(1, &["Häuser"])).unwrap();
    assert_eq!(finds(&index.publish(1).unwrap(), "Haus").len(), 1);
}

#[test]
fn a_note_too_short_to_tell_is_in_the_language_of_most() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.put(note(1, 1, "a.md"), chunks(1, &[GERMAN])).unwrap();
    index.put(note(2, 1, "b.md"), chunks(2, &["Alte Häuser"])).unwrap();
    let snapshot = index.publish(1).unwrap();
    assert_eq!(finds(&snapshot, "Haus").len(), 2);
    drop(snapshot);
    drop(index);
    // So it is after a start.
    let mut index = open(dir.path());
    index.put(note(3, 2, "c.md"), chunks(3, &["Neue Häuser"])).unwrap();
    assert!(finds(&index.publish(2).unwrap(), "Haus").contains(&"3:0".to_owned()));
}

#[test]
fn a_note_counts_once_for_the_language_of_most_however_often_it_is_saved() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    for no in 1..=5 {
        index.put(note(no, 1, &format!("{no}.md")), chunks(no, &[ENGLISH])).unwrap();
    }
    for seq in 2..=13 {
        index.put(note(6, seq, "de.md"), chunks(6, &[GERMAN])).unwrap();
        index.publish(seq).unwrap();
    }
    index.put(note(7, 14, "new.md"), chunks(7, &["running shoes and jumping"])).unwrap();
    assert_eq!(finds(&index.publish(14).unwrap(), "jump"), ["7:0"]);
    // What is gone, or says nothing any more, does not count.
    for no in 1..=4 {
        index.remove(no).unwrap();
    }
    index.put(note(5, 15, "5.md"), chunks(5, &["Town."])).unwrap();
    index.put(note(8, 15, "kurz.md"), chunks(8, &["Alte Gärten"])).unwrap();
    assert!(finds(&index.publish(15).unwrap(), "Garten").contains(&"8:0".to_owned()));
}
