use super::*;
use jiff::civil::date;
use proptest::prelude::*;

const TODAY: Date = date(2026, 11, 20);

const NOTE: &str = r#"{"Status":"Draft","priority":3,"rating":"4.5","due-date":"2026-12-01","done":false,
        "tags":["a","B c",7],"empty":null,"none":[],"blank":" ","about":"[[Other note]]","owner":["[[People/Bob Ray#Work|Bob]]"],"year":2025,"Größe":"XL",
        "nested":{"x":1},"::":{"Runs":["nightly",7],"x":9},"when":["2026-11-02T09:30","later"],
        "past":"2026-10-15","zip":"01234","version":"1.10","tweet":1234567890123456789,"digits":20261120,
        "published":"2025-06"}"#;

fn holds(name: &str, value: &str) -> bool {
    Property::new("", (name, value), TODAY).unwrap().holds(NOTE)
}

#[test]
fn values() {
    for (name, value, expected) in [
        ("status", "draft", true),
        ("runs", "nightly", true),
        ("runs", ">6", true),
        ("x", "9", true),
        ("x", "1", false),
        ("::", "*", false),
        ("STATUS", "Draft", true),
        ("status", "dra", false),
        ("status", "final OR draft", true),
        ("status", "*", true),
        ("status", "null", false),
        ("state", "*", false),
        ("priority", "3", true),
        ("priority", "3.0", true),
        ("priority", ">2", true),
        ("priority", ">3", false),
        ("priority", ">=3", true),
        ("priority", "<= 3", true),
        ("priority", "<3", false),
        ("rating", ">4", true),
        ("rating", "<-1e3", false),
        ("due date", "2026-12", true),
        ("due_date", "2026-12-02", false),
        ("duedate", ">today", true),
        ("due-date", ">2026-12", false),
        ("due-date", ">=2026-12", true),
        ("due-date", "<2026-12", false),
        ("due-date", "<=2026-12-01", true),
        ("due-date", "<2027", true),
        ("status", ">2026", false),
        ("done", "False", true),
        ("done", "true", false),
        ("tags", "b C", true),
        ("tags", ">6", true),
        ("tags", "c", false),
        ("empty", "null", true),
        ("empty", "*", false),
        ("none", "null", true),
        ("blank", "null", true),
        ("about", "other note", true),
        ("about", "[[Other note]]", true),
        ("owner", "bob", true),
        ("owner", "Bob Ray", true),
        ("owner", "People/Bob Ray", true),
        ("owner", "[[People/Bob Ray#Work|Bob]]", true),
        ("owner", "People", false),
        ("owner", "Ray", false),
        ("year", "2025", true),
        ("year", "<2026", true),
        ("GRÖSSE", "xl", false),
        ("größe", "xl", true),
        ("nested", "*", true),
        ("nested", "1", false),
        ("when", "<2026-11-03", true),
        ("when", "later", true),
        // The whole of a period that is named, and a single day where days are counted.
        ("past", "october", true),
        ("past", "last-month", true),
        ("past", ">october", false),
        ("past", "<=last month", true),
        ("past", "this-month", false),
        ("past", "90d", false),
        ("past", ">90d", true),
        // A month as the value.
        ("published", "2025", true),
        ("published", "june-2025", true),
        ("published", ">2025", false),
        ("published", "<=2025", true),
        ("published", ">=2025-01", true),
        ("published", "<2025-07", true),
        ("published", "2025-06-15", false),
        ("published", ">2025-06-15", false),
        ("published", ">2025-05-31", true),
        ("year", "<2026-05", true),
        // Texts that are equal as numbers.
        ("zip", "01234", true),
        ("zip", "1234", false),
        ("version", "1.1", false),
        ("version", ">1", true),
        ("rating", "4.50", false),
        ("tweet", "1234567890123456789", true),
        ("tweet", "1234567890123456780", false),
        ("tweet", "<1234567890123456790", true),
        // Eight digits are a day, if a year is asked for.
        ("digits", "<2027", true),
        ("digits", "2026", true),
        ("digits", "20261120", true),
        ("digits", ">20261119", true),
    ] {
        assert_eq!(holds(name, value), expected, "{name} {value}");
    }
}

#[test]
fn what_cannot_be_asked() {
    for (name, value) in [("", "x"), ("- ", "x"), ("a", ""), ("a", ">"), ("a", ">high"), ("a", "x OR ")] {
        assert!(Property::new("", (name, value), TODAY).is_err(), "{name} {value}");
    }
}

#[test]
fn what_is_no_object_has_no_properties() {
    let any = Property::new("", ("a", "*"), TODAY).unwrap();
    for text in ["", "[]", "1", "{", r#"{"a""#, r#"{"b":1"#] {
        assert!(!any.holds(text), "{text}");
    }
}

proptest! {
    #[test]
    fn any_condition_on_any_text(name in any::<String>(), value in any::<String>(), text in any::<String>()) {
        if let Ok(property) = Property::new("", (&name, &value), TODAY) {
            property.holds(&text);
            property.holds(&serde_json::json!({ name: text }).to_string());
        }
    }

    #[test]
    fn a_number_is_less_equal_or_more(a in -1000i32..1000, b in -1000i32..1000) {
        let note = serde_json::json!({ "n": a }).to_string();
        let holds = |sign: &str| Property::new("", ("n", &format!("{sign}{b}")), TODAY).unwrap().holds(&note);
        prop_assert_eq!((holds("<"), holds(""), holds(">")), (a < b, a == b, a > b));
        prop_assert_eq!((holds("<="), holds(">=")), (a <= b, a >= b));
    }
}
