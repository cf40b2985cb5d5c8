//! The properties of a note as texts: what its front matter says besides names, tags and the note's own dates, which are
//! handled elsewhere.

use note::FIELDS;
use serde_json::{Map, Value};

use crate::Language;

/// Properties that are found elsewhere, or say how a note is shown.
const ELSEWHERE: [&str; 10] =
    [FIELDS, "alias", "aliases", "cssclass", "cssclasses", "publish", "tag", "tags", "title", "type"];

/// Most texts of a note's properties, and most bytes of one text.
const MOST_TEXTS: usize = 64;
const MOST_BYTES: usize = 2048;

/// Name and text of each value that says something, in order: words, numbers and days, not times, `true` or nothing.
/// `properties` is a JSON object.
pub(crate) fn texts(properties: &str) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    // Most notes have none.
    if properties.len() > 2 {
        let read: Map<String, Value> = serde_json::from_str(properties).unwrap_or_default();
        for (name, value) in &read {
            let key = name.to_lowercase();
            if !ELSEWHERE.contains(&key.as_str()) && !is_language(&key, value) {
                collect(name, value, &mut texts);
            }
        }
    }
    texts
}

/// Whether a property says in which language the note is stemmed.
fn is_language(key: &str, value: &Value) -> bool {
    ["lang", "language"].contains(&key) && value.as_str().is_some_and(|code| Language::of_code(code).is_some())
}

fn collect(name: &str, value: &Value, texts: &mut Vec<(String, String)>) {
    let text = match value {
        _ if texts.len() >= MOST_TEXTS => return,
        Value::Null | Value::Bool(_) => return,
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        Value::Array(values) => return values.iter().for_each(|value| collect(name, value, texts)),
        Value::Object(values) => return values.iter().for_each(|(_, value)| collect(name, value, texts)),
    };
    if text.chars().any(char::is_alphanumeric) && !is_time(name, &text) {
        texts.push((name.to_owned(), text[..text.floor_char_boundary(MOST_BYTES)].to_owned()));
    }
}

/// Whether a text is a time (`2026-11-20T10:00:00Z`, `1604539200000`), or a day of the note itself: those are conditions.
fn is_time(name: &str, text: &str) -> bool {
    let (day, time) = text.split_at_checked(10).unwrap_or((text, ""));
    // Milliseconds of this century's first half, give or take a few years.
    let is_millis = text.len() == 13 && text.starts_with('1') && text.bytes().all(|byte| byte.is_ascii_digit());
    let of_time = |c: char| c.is_ascii_digit() || "TZ :.+-".contains(c);
    let is_own = !time.is_empty() || note::dates_note(name);
    is_millis || (is_own && time.chars().all(of_time) && day.parse::<jiff::civil::Date>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_something_is_a_text() {
        let properties = r#"{"title":"A","Tags":["x"],"email":"anna@example.org","isbn":9783161484100,"done":true,
            "due":"2026-11-20","Date-Created":"2026-11-20","trip":"2026-11-20 to Rome","at":"2026-11-20T10:00:00+01:00","people":["Bo"," ",null,["Cy"]],"site":{"url":"https://x.org"},
            "updated":1604539200000,"rating":4.5,"empty":"--","::":{"runs":"nightly"}}"#;
        let expected = [
            ("due", "2026-11-20"),
            ("email", "anna@example.org"),
            ("isbn", "9783161484100"),
            ("people", "Bo"),
            ("people", "Cy"),
            ("rating", "4.5"),
            ("site", "https://x.org"),
            ("trip", "2026-11-20 to Rome"),
        ];
        let mut texts = texts(properties);
        texts.sort();
        assert_eq!(texts, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }

    #[test]
    fn a_language_is_a_text_unless_notes_are_stemmed_in_it() {
        let said = |properties| texts(properties).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert!(said(r#"{"lang":"de-AT","Language":"en"}"#).is_empty());
        assert_eq!(said(r#"{"language":"Icelandic"}"#), ["Icelandic"]);
        assert_eq!(said(r#"{"lang":["is","fo"]}"#), ["is", "fo"]);
    }

    #[test]
    fn what_is_broken_or_without_end_says_little() {
        assert!(texts("{}").is_empty() && texts("nonsense").is_empty() && texts("").is_empty());
        let many = serde_json::json!({ "x": vec!["word"; 1000], "long": "é".repeat(5000) }).to_string();
        let texts = texts(&many);
        assert!(texts.len() <= MOST_TEXTS && texts.iter().all(|(_, text)| text.len() <= MOST_BYTES));
    }
}
