//! Conditions on the properties of a note's front matter.
//!
//! ```text
//! prop.status:done      the property is `done`, whatever its case; of a list, one element is
//! prop.priority:>=3     numbers, and days: prop.due:<2026-12, prop.due:>today
//! prop.due:2026-11      a day in that month
//! [status]              the note has the property, and it is not empty
//! [status:done]         as Obsidian writes it; [status:done OR open], [status:null] for one that is empty
//! ```

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use jiff::civil::Date;
use serde::de::{DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::dates::whole_days;
use super::fold::fold;

/// How a value must stand to the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// There must be one.
    Any,
    /// There must be none, but the property.
    Empty,
    Equal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// What is asked of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Test {
    relation: Relation,
    /// Folded.
    text: String,
    /// The days that `text` means, if it is a date: from the first, before the second.
    days: Option<(Date, Date)>,
}

/// A condition on a property: one of its tests must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Property {
    name: String,
    tests: Vec<Test>,
}

impl Property {
    /// `value` is as typed: `done`, `>3`, `a OR b`, `*` for any, `null` for an empty one; `today` is what relative
    /// dates are reckoned from.
    pub(super) fn new(name: &str, value: &str, today: Date) -> Result<Self, String> {
        let name = letters(&fold(name.trim())).collect::<String>();
        if name.is_empty() {
            return Err("the name of a property is missing".to_owned());
        }
        let tests = value.split(" OR ").map(|value| Test::new(value.trim(), today)).collect::<Result<_, _>>()?;
        Ok(Property { name, tests })
    }

    /// Whether it holds for a note with these properties, a JSON object.
    pub(super) fn holds(&self, properties: &str) -> bool {
        let mut found = Vec::new();
        // What is no JSON object, though nobody writes such a thing, has no properties.
        let _ = serde_json::Deserializer::from_str(properties)
            .deserialize_map(Find { name: &self.name, found: &mut found });
        found.iter().any(|value| self.tests.iter().any(|test| test.holds(value)))
    }
}

impl Test {
    fn new(value: &str, today: Date) -> Result<Self, String> {
        let signs = [(">=", Relation::AtLeast), ("<=", Relation::AtMost), (">", Relation::More), ("<", Relation::Less)];
        let sign = signs.iter().find_map(|(sign, relation)| Some((*relation, value.strip_prefix(sign)?.trim())));
        let (relation, text) = sign.unwrap_or(match value {
            "*" => (Relation::Any, value),
            "null" => (Relation::Empty, value),
            _ => (Relation::Equal, value),
        });
        if text.is_empty() {
            return Err("a value is missing".to_owned());
        }
        let days = whole_days(text, today);
        if sign.is_some() && days.is_none() && number(text).is_none() {
            return Err(format!("`{text}` is neither a number nor a date, and only those are more or less"));
        }
        Ok(Test { relation, text: fold(text).into_owned(), days })
    }

    /// Of a list one element is enough.
    fn holds(&self, value: &Value) -> bool {
        match value {
            Value::Null => self.relation == Relation::Empty,
            Value::Array(items) if items.is_empty() => self.relation == Relation::Empty,
            // Lists in lists are not looked into: they hold nothing that somebody would type.
            Value::Array(items) => items.iter().any(|item| !item.is_array() && self.holds(item)),
            Value::String(text) if text.trim().is_empty() => self.relation == Relation::Empty,
            Value::String(text) => self.compare(text, number(text), value),
            Value::Number(number) => self.compare(&number.to_string(), number.as_f64(), value),
            Value::Bool(flag) => self.compare(&flag.to_string(), None, value),
            Value::Object(_) => self.relation == Relation::Any,
        }
    }

    fn compare(&self, text: &str, have: Option<f64>, value: &Value) -> bool {
        let order = match (have, number(&self.text)) {
            (Some(have), Some(asked)) => have.partial_cmp(&asked),
            _ => self.days.zip(note::day(value)).map(|((from, to), day)| match day {
                day if day < from => Ordering::Less,
                day if day >= to => Ordering::Greater,
                _ => Ordering::Equal,
            }),
        };
        match self.relation {
            Relation::Any => true,
            Relation::Empty => false,
            Relation::Equal => order.is_some_and(Ordering::is_eq) || fold(plain(text)) == self.text,
            Relation::Less => order.is_some_and(Ordering::is_lt),
            Relation::AtMost => order.is_some_and(Ordering::is_le),
            Relation::More => order.is_some_and(Ordering::is_gt),
            Relation::AtLeast => order.is_some_and(Ordering::is_ge),
        }
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// A text without the brackets of a link.
fn plain(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("[[").and_then(|text| text.strip_suffix("]]")).unwrap_or(text)
}

/// What counts of a property's name: `due-date`, `Due Date` and `due_date` are one, as in what the notes are read by.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' '))
}

/// Reads the values under one name out of a JSON object, and steps over the others.
struct Find<'a> {
    name: &'a str,
    found: &'a mut Vec<Value>,
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of properties")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(wanted) = map.next_key_seed(Wanted(self.name))? {
            if wanted {
                self.found.push(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Whether a key is the name.
struct Wanted<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Wanted<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a property")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        let key: Cow<'_, str> = fold(key);
        Ok(letters(&key).eq(self.0.chars()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    const TODAY: Date = date(2026, 11, 20);

    const NOTE: &str = r#"{"Status":"Draft","priority":3,"rating":"4.5","due-date":"2026-12-01","done":false,
        "tags":["a","B c",7],"empty":null,"none":[],"blank":" ","about":"[[Other note]]","year":2025,"Größe":"XL",
        "nested":{"x":1},"when":["2026-11-02T09:30","later"]}"#;

    fn holds(name: &str, value: &str) -> bool {
        Property::new(name, value, TODAY).unwrap().holds(NOTE)
    }

    #[test]
    fn values() {
        for (name, value, expected) in [
            ("status", "draft", true),
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
            ("year", "2025", true),
            ("year", "<2026", true),
            ("GRÖSSE", "xl", false),
            ("größe", "xl", true),
            ("nested", "*", true),
            ("nested", "1", false),
            ("when", "<2026-11-03", true),
            ("when", "later", true),
        ] {
            assert_eq!(holds(name, value), expected, "{name} {value}");
        }
    }

    #[test]
    fn what_cannot_be_asked() {
        for (name, value) in [("", "x"), ("- ", "x"), ("a", ""), ("a", ">"), ("a", ">high"), ("a", "x OR ")] {
            assert!(Property::new(name, value, TODAY).is_err(), "{name} {value}");
        }
    }

    #[test]
    fn what_is_no_object_has_no_properties() {
        let any = Property::new("a", "*", TODAY).unwrap();
        for text in ["", "[]", "1", "{", r#"{"a""#, r#"{"b":1"#] {
            assert!(!any.holds(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_condition_on_any_text(name in any::<String>(), value in any::<String>(), text in any::<String>()) {
            if let Ok(property) = Property::new(&name, &value, TODAY) {
                property.holds(&text);
                property.holds(&serde_json::json!({ name: text }).to_string());
            }
        }

        #[test]
        fn a_number_is_less_equal_or_more(a in -1000i32..1000, b in -1000i32..1000) {
            let note = serde_json::json!({ "n": a }).to_string();
            let holds = |sign: &str| Property::new("n", &format!("{sign}{b}"), TODAY).unwrap().holds(&note);
            prop_assert_eq!((holds("<"), holds(""), holds(">")), (a < b, a == b, a > b));
            prop_assert_eq!((holds("<="), holds(">=")), (a <= b, a >= b));
        }
    }
}
