use super::*;

#[test]
fn words_are_found_as_words() {
    let found = |text: &'static str, words: &[&str]| -> Vec<&str> {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        occurrences(text, &words).into_iter().map(|range| &text[range]).collect()
    };
    let text = "Sensor sensors, (SENSOR) biosensor 海潮汐表, _sensor_";
    assert_eq!(found(text, &["sensor", "潮汐"]), ["Sensor", "SENSOR", "潮汐", "sensor"]);
    // İ becomes two characters in lower case.
    assert_eq!(found("in İstanbul", &["i\u{307}stanbul", "i"]), ["İstanbul"]);
    assert!(found("aİ", &["ai"]).is_empty());
    assert_eq!(found("New York is new", &["york", "new york", "new"]), ["New York", "New", "York", "new"]);
}

#[test]
fn a_late_mark_is_brought_into_sight() {
    let text = format!("{}needle and more", "hay ".repeat(40));
    let at = text.find("needle").unwrap() as u32;
    let hit = crate::cli::live::state::tests::hit("a.md", &text, vec![(at, at + 6)]);
    let lines = excerpt(&hit, 30, 1, Style::new());
    let shown: String = lines[0].spans.iter().map(|span| span.content.as_ref()).collect();
    assert!(shown.starts_with('…') && shown.contains("needle") && columns(&shown) <= 30, "{shown}");
}
