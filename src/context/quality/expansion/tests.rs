use super::*;
use note::fingerprint::{context_key, section_key, text_hash};

const PASSAGES: [&str; 2] = [
    "The lantern at the north pier was repaired in May 2026 by Veddel & Sons. Who repaired it before nobody knows.",
    "It takes two litres of paraffin a night, and the keeper fills it at dusk.",
];

fn document() -> Document {
    let text = PASSAGES.join("\n\n");
    let passage = |n: u32, words: &str| {
        let key = section_key([(1, "Lantern")], n);
        let start = text.find(words).unwrap();
        Passage {
            n,
            key: context_key(&[key], text_hash(words.as_bytes())),
            sections: vec![key],
            hash: text_hash(words.as_bytes()),
            span: start..start + words.len(),
            heading_path: vec!["Lantern".to_owned()],
        }
    };
    let passages = (1..).zip(PASSAGES).map(|(n, words)| passage(n, words)).collect();
    Document {
        path: "Harbour.md".to_owned(),
        title: "Harbour".to_owned(),
        aliases: Vec::new(),
        tags: Vec::new(),
        kind: None,
        date: None,
        properties: Vec::new(),
        outline: vec![(1, "Lantern".to_owned())],
        links: Vec::new(),
        text,
        passages,
    }
}

fn judged(questions: &[&str], terms: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let document = document();
    let written = Expansion { questions: owned(questions), terms: owned(terms) };
    let Expansion { questions, terms } = judge_expansion(&written, &document, &document.passages[0]);
    (questions, terms)
}

#[test]
fn a_question_stands_or_falls_alone() {
    let good = "Which firm mended the lamp at the north pier?";
    let long = format!("Which firm repaired the lantern {}?", "again and ".repeat(20));
    for bad in [
        "",
        "Why?",
        &long,
        "Who repaired it before nobody knows",
        "WHO repaired it, before nobody knows?",
        "Who repaired the lantern in 1987?",
        "Is the <note> about the lantern?",
        "Is ⟦2⟧ about the lantern?",
        "What does \u{fffd} say of the lantern?",
        "As an AI language model, what is the lantern?",
        "Как называется фирма, которая чинила фонарь?",
        "Does quantum chromodynamics permit glueballs?",
        "{\"n\": 1, \"text\": \"the lantern\"}",
    ] {
        assert_eq!(judged(&[bad, good], &[]).0, [good], "{bad}");
    }
}

#[test]
fn what_comes_twice_or_is_too_much_is_left_out() {
    let many: Vec<String> = ["pier", "lantern", "harbour", "keeper", "paraffin", "dusk"]
        .iter()
        .map(|word| format!("What is said of the {word}?"))
        .collect();
    let mut asked: Vec<&str> = many.iter().map(String::as_str).collect();
    asked.insert(1, "what is said of the PIER");
    let (questions, _) = judged(&asked, &[]);
    assert_eq!(questions, many[..QUESTIONS.1]);
    let terms: Vec<String> = (0..26).map(|n| format!("lamp {}", char::from(b'a' + n))).collect();
    let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    assert_eq!(judged(&[], &terms).1, terms[..MOST_TERMS]);
}

#[test]
fn terms_may_be_in_other_words_but_are_plain_and_short() {
    let wordy = "a term that goes on and on until it is nothing that anybody would search for";
    let given = ["beacon", "N", "Veddel & Sons", "Beacon", "…", "<passage>", "1987", wordy, "фонарь"];
    assert_eq!(judged(&[], &given).1, ["beacon", "Veddel & Sons"]);
}

#[test]
fn questions_in_another_language_are_of_no_use() {
    let german = [
        "Welche Firma hat die Laterne am north pier repariert und wann war das?",
        "Wer füllt die Laterne am Abend, und wie viel paraffin braucht sie in der Nacht?",
    ];
    assert_eq!(judged(&german, &["Laterne"]), (Vec::new(), Vec::new()));
}

#[test]
fn nothing_comes_of_nothing() {
    assert_eq!(judged(&[], &[]), (Vec::new(), Vec::new()));
}
