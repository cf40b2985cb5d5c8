//! Conditions on the properties of a note: those of its front matter, and fields in its text.
//!
//! ```text
//! prop.status:done      the property is `done`, whatever its case; of a list, one element is
//! prop.priority:>=3     numbers, and days: prop.due:<2026-12, prop.due:>today
//! prop.due:2026-11      a day in that month, or the month itself
//! [status]              the note has the property, and it is not empty
//! [status:done]         as Obsidian writes it; [status:done OR open], [status:null] for one that is empty
//! ```

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use jiff::civil::Date;
use serde::de::{DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::dates::{calendar_days, days};
use super::fold::fold;
use note::FIELDS;

/// How a value must stand to the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// There must be a value.
    Any,
    /// There must be the property, without a value.
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
    /// As it was typed, or could be.
    pub(super) typed: String,
    name: String,
    tests: Vec<Test>,
}

impl Property {
    /// `value` is as typed: `done`, `>3`, `a OR b`, `*` for any, `null` for an empty one; `today` is what relative
    /// dates are reckoned from.
    pub(super) fn new(typed: &str, (name, value): (&str, &str), today: Date) -> Result<Self, String> {
        let name = letters(&fold(name.trim())).collect::<String>();
        if name.is_empty() {
            return Err("the name of a property is missing".to_owned());
        }
        let tests = value.split(" OR ").map(|value| Test::new(value.trim(), today)).collect::<Result<_, _>>()?;
        Ok(Property { typed: typed.to_owned(), name, tests })
    }

    /// As it could be typed, without its values.
    pub(super) fn named(&self) -> String {
        format!("prop.{}", self.name)
    }

    /// Whether it holds for a note with these properties, a JSON object.
    pub(super) fn holds(&self, properties: &str) -> bool {
        let mut found = Vec::new();
        // If this is no JSON object, which nobody writes, there are no properties.
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
        let days = days(text, today);
        if sign.is_some() && days.is_none() && number(text).is_none() {
            return Err(format!("`{text}` is neither a number nor a date, and only those are more or less"));
        }
        Ok(Test { relation, text: fold(plain(text)).into_owned(), days })
    }

    /// For a list, one element that meets it is enough.
    fn holds(&self, value: &Value) -> bool {
        match value {
            Value::Null => self.relation == Relation::Empty,
            Value::Array(items) if items.is_empty() => self.relation == Relation::Empty,
            // Lists in lists are not looked into: they hold nothing that somebody would type.
            Value::Array(items) => items.iter().any(|item| !item.is_array() && self.holds(item)),
            Value::String(text) if text.trim().is_empty() => self.relation == Relation::Empty,
            Value::String(text) => self.compare(text, value),
            Value::Number(number) => self.compare(&number.to_string(), value),
            Value::Bool(flag) => self.compare(&flag.to_string(), value),
            Value::Object(_) => self.relation == Relation::Any,
        }
    }

    fn compare(&self, text: &str, value: &Value) -> bool {
        let day = note::day(value).map(|day| (day, day.tomorrow().unwrap_or(day)));
        let in_days =
            self.days.zip(day.or_else(|| calendar_days(plain(text)))).and_then(|((from, to), (first, after))| {
                if first >= to {
                    Some(Ordering::Greater)
                } else if after <= from {
                    Some(Ordering::Less)
                } else {
                    // A month is neither more nor less than a day in it.
                    (from <= first && after <= to).then_some(Ordering::Equal)
                }
            });
        // Of texts, `1.1` is not `1.10`, nor `1234` `01234`.
        let is_other_text = self.relation == Relation::Equal && value.is_string();
        let in_numbers = numbers(text, &self.text).filter(|_| !is_other_text);
        // Eight digits are a day, if a year is asked for.
        let order = if text.len() == 8 { in_days.or(in_numbers) } else { in_numbers.or(in_days) };
        match self.relation {
            Relation::Any => true,
            Relation::Empty => false,
            Relation::Equal => {
                order.is_some_and(Ordering::is_eq) || names(text).iter().any(|name| fold(name) == self.text)
            }
            Relation::Less => order.is_some_and(Ordering::is_lt),
            Relation::AtMost => order.is_some_and(Ordering::is_le),
            Relation::More => order.is_some_and(Ordering::is_gt),
            Relation::AtLeast => order.is_some_and(Ordering::is_ge),
        }
    }
}

/// How a number stands to another: whole numbers exactly, however long they are.
fn numbers(have: &str, asked: &str) -> Option<Ordering> {
    match (have.trim().parse::<i128>(), asked.trim().parse::<i128>()) {
        (Ok(have), Ok(asked)) => Some(have.cmp(&asked)),
        _ => number(have)?.partial_cmp(&number(asked)?),
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// What stands in the brackets of a link.
fn linked(text: &str) -> Option<&str> {
    text.trim().strip_prefix("[[")?.strip_suffix("]]")
}

/// A text without the brackets of a link.
fn plain(text: &str) -> &str {
    linked(text).unwrap_or(text.trim())
}

/// What one may call a value: what it says; of `[[People/Bob#Work|Bob]]` also the note, its name and what is shown.
fn names(text: &str) -> [&str; 4] {
    let Some(all) = linked(text) else { return [text.trim(); 4] };
    let (target, shown) = all.split_once('|').unwrap_or((all, all));
    let note = target.split_once('#').map_or(target, |(note, _)| note);
    let name = note.rsplit_once('/').map_or(note, |(_, name)| name);
    [all, shown, note, name].map(str::trim)
}

/// The characters of a property's name that count: `due-date`, `Due Date` and `due_date` are one, as when notes are
/// read.
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
        while let Some(key) = map.next_key_seed(Wanted(self.name))? {
            match key {
                Key::Wanted => self.found.push(map.next_value()?),
                Key::Fields => map.next_value_seed(Find { name: self.name, found: self.found })?,
                Key::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

/// What a key is.
enum Key {
    Wanted,
    /// [`FIELDS`].
    Fields,
    Other,
}

/// Whether a key is the name.
struct Wanted<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Key;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Wanted<'_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a property")
    }

    fn visit_str<E>(self, key: &str) -> Result<Key, E> {
        if key == FIELDS {
            return Ok(Key::Fields);
        }
        let key: Cow<'_, str> = fold(key);
        Ok(if letters(&key).eq(self.0.chars()) { Key::Wanted } else { Key::Other })
    }
}

#[cfg(test)]
mod tests;
