use super::*;

#[test]
fn words_are_found_as_words() {
    let words = vec!["sensor".to_owned(), "潮汐".to_owned()];
    let text = "Sensor sensors, (SENSOR) biosensor 海潮汐表";
    let found: Vec<&str> = occurrences(text, &words).into_iter().map(|range| &text[range]).collect();
    assert_eq!(found, ["Sensor", "SENSOR", "潮汐"]);
    // İ becomes two characters in lower case.
    assert_eq!(occurrences("İstanbul", &["i\u{307}stanbul".to_owned()]).first(), Some(&(0..9)));
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
