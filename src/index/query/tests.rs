use super::*;

const LANGUAGES: [Language; 2] = [Language::English, Language::German];

fn forms(word: &AskedWord) -> String {
    word.forms.iter().map(|form| form.text.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_stop_words_are_sorted() {
    assert!(STOP.is_sorted());
}

#[test]
fn a_query_asks_for_each_word_once() {
    let table: [(&str, bool, &[(&str, As, f32)]); 14] = [
        ("How to plan the plans", false, &[("plan", As::Name, 1.0)]),
        ("Häuser", false, &[("hauser haus", As::Name, 1.0)]),
        ("plan plan", false, &[("plan", As::Name, 1.0)]),
        ("to be or not to be", false, &[("not", As::Name, 1.0)]),
        ("the who", false, &[("the", As::Name, 1.0), ("who", As::Name, 1.0)]),
        ("e-mail", false, &[("e", As::Name, 0.5), ("email", As::Word, 1.0), ("mail", As::Name, 0.5)]),
        (
            "2.3.4.5",
            false,
            &[
                ("2", As::Name, 0.25),
                ("2.3.4.5 v2345", As::Word, 1.0),
                ("3", As::Name, 0.25),
                ("4", As::Name, 0.25),
                ("5", As::Name, 0.25),
            ],
        ),
        ("東京都", false, &[("東京", As::Word, 1.0), ("京都", As::Word, 1.0)]),
        ("猫", false, &[("猫", As::Beginning, 1.0)]),
        ("  !? ", false, &[]),
        ("what is th", true, &[("th", As::Unfinished, 1.0)]),
        ("what is the", true, &[("the", As::Unfinished, 1.0)]),
        ("the plan ", true, &[("plan", As::Name, 1.0)]),
        ("a.b", true, &[("a", As::Name, 0.5), ("ab", As::Unfinished, 1.0), ("b", As::Unfinished, 0.5)]),
    ];
    for (query, prefix, expected) in table {
        let words = query.to_owned();
        let got = LexicalQuery { words, prefix, ..LexicalQuery::default() }.asked(&LANGUAGES);
        let got: Vec<(String, As, f32)> = got.iter().map(|w| (forms(w), w.as_what, w.weight)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(forms, what, weight)| ((*forms).to_owned(), *what, *weight)).collect();
        assert_eq!(got, expected, "{query}");
    }
    let flood = (0..1000).map(|i| format!("w{i} ")).collect::<String>();
    assert_eq!(asked(&flood, &LANGUAGES).len(), MOST_WORDS);
}

#[test]
fn words_that_say_nothing_are_shown_only_where_there_are_no_others() {
    let told = |text: &str| {
        let mut words: Vec<String> = telling(text, &[Language::English]).into_iter().map(|form| form.text).collect();
        words.sort_unstable();
        words
    };
    assert_eq!(told("who inspects the fires?"), ["fire", "inspect"]);
    assert_eq!(told("To be"), ["be", "to"]);
}

#[test]
fn words_that_say_nothing_in_a_language_of_the_vault_are_skipped() {
    for (query, expected) in [
        ("wann hat sie Geburtstag", "geburtstag"),
        ("Wer hat unseren Schlüssel?", "schlussel"),
        ("wieviel kostet die Wärmepumpe", "kostet warmepumpe"),
        ("где лежит мой паспорт", "лежит паспорт"),
        // One alone may be a word of another language, and so may these together.
        ("war and peace", "war peace"),
        ("war in Afghanistan", "war afghanistan"),
        ("die so hard", "die hard"),
        // As a name, without others, and in a language that the vault has not.
        ("die Frau liest gern Die Zeit", "frau liest gern die zeit"),
        ("ist das die", "ist das die"),
        ("quando è il compleanno", "quando e il compleanno"),
    ] {
        let languages = [Language::English, Language::German, Language::Russian];
        let asked: Vec<String> = asked(query, &languages).into_iter().map(|word| word.plain).collect();
        assert_eq!(asked.join(" "), expected, "{query}");
    }
}

#[test]
fn a_stop_word_that_is_written_as_a_name_is_a_word() {
    for (query, expected) in [
        ("IT contact", "it contact"),
        ("it contact", "contact"),
        ("WHO guidelines", "who guidelin"),
        ("AS number", "as number"),
        ("birthday of Will", "birthday will"),
        ("concert of The Who", "concert the who"),
        ("The who concert", "concert"),
        // The whole query is written so, or a sentence begins.
        ("WHO IS THE PLUMBER", "plumber"),
        ("What Is The Plan", "plan"),
        ("the garden. It was late", "garden late"),
        ("where do I find A plan", "find plan"),
    ] {
        let asked = asked(query, &[Language::English]);
        assert_eq!(asked.iter().map(forms).collect::<Vec<_>>().join(" "), expected, "{query}");
        assert!(asked.iter().all(|word| telling(query, &[Language::English]).contains(&word.forms[0])), "{query}");
    }
}
