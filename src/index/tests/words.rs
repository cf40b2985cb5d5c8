//! What a query's words stand for: beginnings, slips, weights of fields.

use super::super::testing::{chunk, chunks, note};
use super::super::*;
use super::languages::GERMAN;
use super::{finds, open};

pub(super) fn said(title: &str, properties: &str, aliases: &[&str]) -> NoteTexts {
    Said { title, properties, aliases, ..Said::default() }.pack()
}

pub(super) fn query(words: &str, prefix: bool) -> LexicalQuery {
    LexicalQuery { words: words.to_owned(), contextual: true, prefix, ..LexicalQuery::default() }
}

/// What a search finds.
pub(super) struct Found {
    rows: Vec<(Row, f32)>,
    meant: Meant,
}

pub(super) fn find(snapshot: &Snapshot, words: &str, prefix: bool) -> (Vec<NoteNo>, Found) {
    let query = query(words, prefix);
    let meant = Corpus::of([snapshot]).meant(&query).unwrap();
    let found = Found { rows: snapshot.lexical(&query, &|_| true, 100).unwrap(), meant };
    let notes = found.rows.iter().map(|(row, _)| snapshot.chunk(*row).unwrap().note).collect();
    (notes, found)
}

#[test]
fn every_chunk_has_the_first_tags_and_the_first_chunk_all() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let tags: Vec<String> = (0..200).map(|n| format!("tagged{n}")).collect();
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    let texts = Said { title: "a", tags: &tags, ..Said::default() }.pack();
    index.put(NoteEntry { texts, ..note(1, 1, "a.md") }, chunks(1, &["alpha", "beta"])).unwrap();
    let snapshot = index.publish(1).unwrap();
    assert_eq!(finds(&snapshot, "tagged3"), ["1:0", "1:1"]);
    assert_eq!(finds(&snapshot, "tagged199"), ["1:0"]);
}

#[test]
fn a_word_being_typed_stands_for_those_that_begin_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let texts =
        ["the kitchen plan", "kitten and kite", "running water", "a kitchen", "東京都 猫", "Reliability, Engineering"];
    for (no, text) in (1..).zip(texts) {
        index.put(note(no, 1, &format!("{no}.md")), chunks(no, &[text])).unwrap();
    }
    let snapshot = index.publish(1).unwrap();
    let sorted = |words: &str, prefix: bool| {
        let (mut notes, _) = find(&snapshot, words, prefix);
        notes.sort_unstable();
        notes
    };
    let table: [(&str, &[NoteNo]); 13] = [
        ("kit", &[1, 2, 4]),
        ("kitch", &[1, 4]),
        ("KITC", &[1, 4]),
        ("kit plan", &[1]),
        ("plan kit", &[1, 2, 4]),
        ("kit ", &[]),
        ("runnin", &[3]),
        ("Reliabili", &[6]),
        ("Engineerin", &[6]),
        ("running", &[3]),
        ("the", &[1]),
        ("東", &[5]),
        ("zzz", &[]),
    ];
    for (words, expected) in table {
        assert_eq!(sorted(words, true), expected, "{words}");
    }
    assert_eq!(sorted("kit", false), [0; 0]);
    assert_eq!(find(&snapshot, "plan kit", true).0[0], 1, "a note with both words is the best");
    assert_eq!(find(&snapshot, "kitch", true).1.meant.completed().collect::<Vec<_>>(), ["kitchen"]);
}

#[test]
fn a_word_is_found_at_the_end_of_others_where_the_language_joins_nouns() {
    const INSURANCE: &str =
        "Die Haftpflichtversicherungen der beiden Häuser laufen im März aus, und wir müssen sie vorher kündigen.";
    const POLICY: &str =
        "Der Versicherungsvertreter kommt am Dienstag um zehn Uhr und bringt die Unterlagen für das Auto mit.";
    const PLAIN: &str = "Unsere neue Versicherung ist teurer, aber sie zahlt auch, wenn im Keller das Wasser steht.";
    const WAREHOUSE: &str =
        "The warehouses stand close together on the river bank, and the gardens behind them reach the forest.";
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.put(note(1, 1, "a.md"), chunks(1, &[INSURANCE])).unwrap();
    index.put(note(2, 1, "b.md"), chunks(2, &[POLICY])).unwrap();
    index.put(note(3, 1, "c.md"), chunks(3, &[WAREHOUSE])).unwrap();
    let snapshot = index.publish(1).unwrap();
    // No note has the word itself: those that end with it come first, and the answer says what was searched for.
    assert_eq!(find(&snapshot, "Versicherung", false).0, [1, 2]);
    assert_eq!(corrected(&snapshot, "Versicherung"), pair("Versicherung", "haftpflichtversicherungen"));
    assert_eq!(find(&snapshot, "house", false).0, [0; 0], "English writes most such words apart");
    index.put(note(4, 1, "d.md"), chunks(4, &[PLAIN])).unwrap();
    let snapshot = index.publish(2).unwrap();
    let (found, hits) = find(&snapshot, "Versicherung", false);
    assert_eq!((found, &hits.meant.corrected), (vec![4, 1], &Vec::new()), "the word itself comes first");
    assert_eq!(hits.meant.compounds_and_numbers().collect::<Vec<_>>(), ["haftpflichtversicherungen"]);
    let found = find(&snapshot, "neue Versicherung Keller Wasser", false).0;
    assert_eq!(found, [4], "a long query says enough by itself");
}

/// What the misspelt words of queries are taken for.
pub(super) fn corrected(snapshot: &Snapshot, words: &str) -> Vec<(String, String)> {
    let corrected = find(snapshot, words, false).1.meant.corrected;
    corrected.into_iter().map(|word| (word.typed, word.name)).collect()
}

fn pair(typed: &str, name: &str) -> Vec<(String, String)> {
    vec![(typed.to_owned(), name.to_owned())]
}

#[test]
fn a_word_is_found_in_spite_of_a_slip() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.put(note(1, 1, "Obsidian vaults.md"), chunks(1, &["How to keep notes together"])).unwrap();
    let named = NoteEntry { texts: said("Cluster", "{}", &["Kubernetes"]), ..note(2, 1, "Cluster.md") };
    index.put(named, chunks(2, &["Where it runs, obsidan or not; see `Get-ChildItem`"])).unwrap();
    index.put(note(3, 1, "c.md"), vec![chunk(3, 0, "Nothing but a marmalade configuration", "")]).unwrap();
    let snapshot = index.publish(1).unwrap();
    for (typed, name) in [
        ("Obsidain", "obsidian"),
        ("kubernetse", "kubernetes"),
        ("clustr", "cluster"),
        // Words of texts, slips in endings that stems have not, parts of names, names written together.
        ("marmelade", "marmalade"),
        ("configuratoin", "configuration"),
        ("getchildiitem", "getchilditem"),
    ] {
        assert_eq!(corrected(&snapshot, typed), pair(typed, name));
    }
    assert_eq!(find(&snapshot, "obsidain", false).0[0], 1);
    assert_eq!(find(&snapshot, "configuratoin", false).0, [3]);
    assert_eq!(corrected(&snapshot, "kubrnets keep"), pair("kubrnets", "kubernetes"));
    assert_eq!(corrected(&snapshot, "clustr-x"), pair("clustr", "cluster"));
    assert_eq!(corrected(&snapshot, "Get-ChlidItem"), pair("Chlid", "child"));
    // Never for a word that occurs, for a word of the language, for short ones, numbers, or two slips in a short word.
    let time = LexicalQuery { time: Some(7..16), ..query("clustr obsidaiin", false) };
    let taken = Corpus::of([&*snapshot]).meant(&time).unwrap().corrected;
    assert_eq!(taken.iter().map(|word| word.typed.as_str()).collect::<Vec<_>>(), ["clustr"], "a time is no slip");
    for words in ["obsidan", "clusters", "quality", "vlt", "clstr", "cluster9", "how teh", "クラスタ", "get-childitem"]
    {
        assert_eq!(corrected(&snapshot, words), [], "{words}");
    }
    assert_eq!(corrected(&snapshot, "Obsidain kubrnets clustr vualts").len(), 3);
}

#[test]
fn a_word_that_is_right_is_not_corrected() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let text =
        "The left hand and the main plan: been there, want to walk, soups, carrots, runs, savings, drained plants";
    index.put(note(1, 1, "a.md"), chunks(1, &[text])).unwrap();
    let snapshot = index.publish(1).unwrap();
    let right = "Servings, parrots, planks, rugs; sprained; Hund im Wald, WLAN, Besen";
    for word in right.split_whitespace() {
        assert_eq!(corrected(&snapshot, word.trim_end_matches([',', ';'])), [], "{word}");
    }
    for (typed, name) in [("mian", "main"), ("hannd", "hand"), ("carots", "carrots"), ("plsnts", "plants")] {
        assert_eq!(corrected(&snapshot, typed), pair(typed, name));
    }
    // A word that holds sentences together in a language of the vault.
    assert_eq!(corrected(&snapshot, "wann"), []);
    index.put(note(2, 1, "b.md"), chunks(2, &[GERMAN])).unwrap();
    assert_eq!(corrected(&index.publish(2).unwrap(), "wieso geburtstag waren"), []);
}

#[test]
fn a_word_that_no_note_has_any_more_is_corrected_and_corrects_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let texts: Vec<String> = (0..40).map(|n| format!("herons {n}")).collect();
    index.put(note(1, 1, "a.md"), chunks(1, &texts.iter().map(String::as_str).collect::<Vec<_>>())).unwrap();
    index.put(note(2, 1, "b.md"), chunks(2, &["The frobnicator must be renewed by Bramblewick"])).unwrap();
    index.put(note(3, 1, "c.md"), chunks(3, &["The frobnikator is old"])).unwrap();
    let before = index.publish(1).unwrap();
    index.put(note(2, 2, "b.md"), chunks(2, &["Renewed"])).unwrap();
    let after = index.publish(2).unwrap();
    assert_eq!(corrected(&before, "Bramblewik"), pair("Bramblewik", "bramblewick"));
    assert_eq!(corrected(&after, "Bramblewik"), []);
    assert_eq!(corrected(&before, "frobnicator"), []);
    assert_eq!(corrected(&after, "frobnicator"), pair("frobnicator", "frobnikator"));
    assert_eq!(find(&after, "frobnicater", false).0, [3]);
}

#[test]
fn words_that_were_joined_or_split_by_a_slip_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index
        .put(note(1, 1, "a.md"), chunks(1, &["The mindpalace of an engineer", "Some palace marmalade, some blueberry"]))
        .unwrap();
    let snapshot = index.publish(1).unwrap();
    assert_eq!(corrected(&snapshot, "the mind palace"), pair("mind palace", "mindpalace"));
    assert_eq!(corrected(&snapshot, "blueb erry jam"), pair("blueb erry", "blueberry"));
    assert_eq!(corrected(&snapshot, "some palace"), []);
    assert_eq!(corrected(&snapshot, "palacemarmalade"), pair("palacemarmalade", "palace marmalade"));
    // These never stand together.
    assert_eq!(corrected(&snapshot, "engineerblueberry"), []);
}

#[test]
fn numbers_are_found_however_their_notes_write_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let texts = [
        "Took 400 mg of ibuprofen; screws 20 mm; baked at 350 °F",
        "The stick has 16GB",
        "As @solnit2000 [p. 12] says",
        "1,299.00 € and 17.480,00 €, or 8 990 €, or 21'300 CHF, or 1_000_000",
        "Released v2.0.1 today",
        "The numbers 2, 0 and 1, 16, and 400 of them, and mg",
        "Paint it in RAL 7016",
        "Call +46 70 555 01 23, or 0431-555 77 88; pay to DE02 1203 0000 0000 2020 51",
        "The numbers 46 70, 555 and 01 23",
    ];
    for (no, text) in (1..).zip(texts) {
        index.put(note(no, 1, &format!("{no}.md")), chunks(no, &[text])).unwrap();
    }
    let snapshot = index.publish(1).unwrap();
    for (words, best) in [
        ("400mg", 1),
        ("20mm", 1),
        ("20mm screws", 1),
        ("350F", 1),
        ("16 GB stick", 2),
        ("16 gb", 2),
        ("solnit", 3),
        ("1299", 4),
        ("17480", 4),
        ("8990 €", 4),
        ("21300", 4),
        ("1000000", 4),
        ("2.0.1", 5),
        ("RAL7016", 7),
        ("+46705550123", 8),
        ("04315557788", 8),
        ("DE02120300000000202051", 8),
    ] {
        assert_eq!(find(&snapshot, words, false).0.first(), Some(&best), "{words}");
    }
    assert_eq!(corrected(&snapshot, "solnit"), pair("solnit", "solnit2000"));
    assert_eq!(corrected(&snapshot, "RAL7016 400mg"), []);
    for none in ["401mg", "46705550124", "705550123460"] {
        assert_eq!(find(&snapshot, none, false).0, [0; 0], "{none}");
    }
}

#[test]
fn the_likelier_of_two_similar_words_counts_for_more() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let texts = ["gravel", "gravel again", "gravel and more", "gravel at last"];
    index.put(note(1, 1, "a.md"), chunks(1, &texts)).unwrap();
    index.put(note(2, 1, "b.md"), chunks(2, &["gravex"])).unwrap();
    let snapshot = index.publish(1).unwrap();
    // Both are one slip away.
    assert_eq!(corrected(&snapshot, "graveh"), pair("graveh", "gravel"));
    let found = find(&snapshot, "graveh", false).0;
    assert!(found.contains(&1) && found.contains(&2), "{found:?}");
}

#[test]
fn a_title_counts_for_more_than_a_text_and_both_for_more_than_either() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let filler = "some more words that are here and there";
    index.put(note(1, 1, "Compost.md"), chunks(1, &[&format!("About it: {filler}")])).unwrap();
    index.put(note(2, 1, "Soil.md"), chunks(2, &[&format!("Compost, {filler}")])).unwrap();
    index.put(note(3, 1, "Old compost.md"), chunks(3, &[&format!("Compost, {filler}")])).unwrap();
    index.put(note(4, 1, "Tea.md"), vec![chunk(4, 0, &format!("Brewed, {filler}"), "compost")]).unwrap();
    let snapshot = index.publish(1).unwrap();
    let (order, _) = find(&snapshot, "compost", false);
    assert_eq!(order[0], 3);
    assert!(order.iter().position(|n| *n == 1) < order.iter().position(|n| *n == 2), "{order:?}");
    assert_eq!(order.len(), 4);
}

#[test]
fn of_many_words_those_are_looked_up_that_few_chunks_have() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let texts = ["salt pepper leeks", "salt pepper", "salt yeti", "salt", "leeks"];
    index.put(note(1, 1, "a.md"), chunks(1, &texts)).unwrap();
    let snapshot = index.publish(1).unwrap();
    let found = |words, choice| super::found(&snapshot, &LexicalQuery { choice, ..query(words, false) });
    let words = "salt pepper leeks yeti nowhere";
    assert_eq!(found(words, Choice::Rarest(1)), ["1:2"]);
    assert_eq!(found(words, Choice::Rarest(3)), ["1:0", "1:1", "1:2", "1:4"]);
    for choice in [Choice::Rarest(4), Choice::Rarest(5), Choice::All] {
        assert_eq!(found(words, choice).len(), 5, "{choice:?}: a word that no chunk has takes no place");
    }
    // "yeti" leads from its chunk to no other.
    assert_eq!(found(words, Choice::Shared(2)), ["1:0", "1:1", "1:4"]);
    assert_eq!([Choice::Shared(3), Choice::Shared(5)].map(|choice| found(words, choice).len()), [5; 2]);
    // A correction takes no place either, nor does a word that is being typed.
    assert_eq!(found("salt peppper yeti", Choice::Rarest(1)), ["1:0", "1:1", "1:2"]);
    let typing = LexicalQuery { choice: Choice::Rarest(1), prefix: true, ..query("leeks yeti sal", false) };
    assert_eq!(super::found(&snapshot, &typing), ["1:0", "1:1", "1:2", "1:3"]);
}

/// The character that tells the index how to read a value means nothing in a text.
#[test]
fn no_text_can_say_how_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.put(note(1, 1, "\u{F002F}a.md"), chunks(1, &["\u{F002F}houses", "\u{F001F}\u{F001F}houses"])).unwrap();
    let snapshot = index.publish(1).unwrap();
    for words in ["house", "\u{F002F}house", "\u{F0000}house"] {
        assert_eq!(finds(&snapshot, words), ["1:0", "1:1"], "{words}");
    }
}

#[test]
fn what_a_word_was_taken_for_is_embedded_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.put(note(1, 1, "Obsidian.md"), chunks(1, &["Where notes are kept together"])).unwrap();
    let snapshot = index.publish(1).unwrap();
    let today = jiff::civil::date(2026, 11, 23);
    for (typed, meant) in [
        ("my Obsidain, notes", "my obsidian, notes"),
        ("obsidian notes", "obsidian notes"),
        ("path:x \"two words\" obsidain", "obsidian two words"),
    ] {
        let mut parsed = crate::search::parse(typed, today).unwrap();
        parsed.understand([(&*snapshot, None)], &crate::search::Options::default()).unwrap();
        assert_eq!(parsed.text_meant(), meant);
    }
}

#[test]
fn other_words_for_a_query_are_understood_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.put(note(1, 1, "Obsidian.md"), chunks(1, &["Where notes are kept together"])).unwrap();
    index.put(note(2, 1, "Kubernetes.md"), chunks(2, &["Where it runs"])).unwrap();
    let snapshot = index.publish(1).unwrap();
    let options = crate::search::Options { mode: protocol::search::Mode::Lexical, ..Default::default() };
    let mut typed = crate::search::parse("obsidain path:*.md", jiff::civil::date(2026, 11, 23)).unwrap();
    typed.understand([(&*snapshot, None)], &options).unwrap();
    let other = typed.rephrased("kubernetse");
    assert_eq!((&other.filter, other.meant.is_none()), (&typed.filter, true));
    let found = crate::search::search(&snapshot, "v", &other, None, &options).unwrap();
    assert_eq!(found.hits.iter().map(|hit| hit.path.as_str()).collect::<Vec<_>>(), ["Kubernetes.md"]);
}

#[test]
fn names_of_short_parts_are_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let texts =
        ["calls findById() and then userById()", "user_repository.find_by_id", "aGVsbG8 aBcDeF", "LaTeX, eBook"];
    for (no, text) in (1..).zip(texts) {
        index.put(note(no, 1, &format!("{no}.md")), chunks(no, &[text])).unwrap();
    }
    let snapshot = index.publish(1).unwrap();
    for (words, expected) in [
        ("findById", &[1, 2][..]),
        ("find by id", &[2, 1]),
        ("latex", &[4]),
        ("book", &[4]),
        ("ebook", &[4]),
        // Encoded data has no words.
        ("bc", &[]),
    ] {
        let mut found = find(&snapshot, words, false).0;
        found.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{words}");
    }
}

#[test]
fn names_with_symbols_are_words_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let texts = ["Ported to C++.", "C, c, and c", "In C# or F#", "On .NET (or `.NET`)", "the net of 1+1, x+y"];
    for (no, text) in (1..).zip(texts) {
        index.put(note(no, 1, &format!("{no}.md")), chunks(no, &[text])).unwrap();
    }
    let snapshot = index.publish(1).unwrap();
    for (words, best) in [("C++", 1), ("c", 2), ("F#", 3), (".net", 4)] {
        assert_eq!(find(&snapshot, words, false).0.first(), Some(&best), "{words}");
    }
    let holding = |phrase: &str| {
        let query = LexicalQuery { phrases: vec![phrase.to_owned()], ..LexicalQuery::default() };
        snapshot.lexical(&query, &|_| true, 100).unwrap().len()
    };
    assert_eq!((holding("C++"), holding("to C++"), holding("c"), holding("in c#")), (1, 1, 3, 1));
}

#[test]
fn a_compound_counts_as_the_better_of_its_readings() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let texts = [
        "Router: the Wi-Fi box stands in the hall",
        "wifi password of the hotel: sardinha22",
        "the e-mail client",
        "email from the bank",
        "Follow up with the dentist, then the therapist",
        "Follow-up: dentist",
    ];
    for (no, text) in (1..).zip(texts) {
        index.put(note(no, 1, &format!("{no}.md")), chunks(no, &[text])).unwrap();
    }
    let snapshot = index.publish(1).unwrap();
    for (words, best) in [("wi-fi password", 2), ("wi-fi", 1), ("e-mail bank", 4), ("follow-up therapist", 5)] {
        assert_eq!(find(&snapshot, words, false).0.first(), Some(&best), "{words}");
    }
    // What is also asked for by itself counts beside the compound.
    assert_eq!(find(&snapshot, "e-mail mail client", false).0.first(), Some(&3));
}

#[test]
fn all_chunks_are_found_as_those_are_that_all_may_be() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let put = |index: &mut Index, no: NoteNo, seq: u64| {
        let often = "badger ".repeat(no as usize % 7 + 1);
        index.put(note(no, seq, &format!("{no}.md")), chunks(no, &[&often, "egret and badger"])).unwrap();
    };
    for no in 1..=30 {
        put(&mut index, no, 1);
        if no % 8 == 0 {
            index.publish(1).unwrap();
        }
    }
    (3..9).for_each(|no| put(&mut index, no, 2));
    let snapshot = index.publish(2).unwrap();
    let corpus = Corpus::of([&*snapshot]);
    let found = |allowed: Option<&Allowed<'_>>, k: usize| {
        snapshot.find_in(&corpus, (&query("badger egret", false), &Meant::default()), allowed, k).unwrap()
    };
    assert_eq!(found(None, 300).len(), 60);
    assert_eq!(found(None, 300), found(Some(&|_| true), 300));
    // Which of equals come last may differ.
    let scores = |found: Vec<(Row, f32)>| found.into_iter().map(|(_, score)| score).collect::<Vec<_>>();
    assert_eq!(scores(found(None, 9)), scores(found(Some(&|_| true), 9)));
}
