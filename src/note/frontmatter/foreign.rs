//! Front matter that is not YAML: TOML between lines of `+++`, as Zola and Hugo have it, and a JSON object, as Hugo has
//! it too. What is not valid stays text.

use std::ops::Range;

use serde_json::Value;

use super::repeated::Unrepeated;
use super::{FrontMatter, LONGEST, fences, own_days, typed};
use crate::OwnDays;

/// The front matter that begins at `start`, where it stands, and where the body starts.
pub(super) fn read(text: &str, start: usize) -> Option<(FrontMatter, Range<usize>, usize)> {
    toml(text, start).or_else(|| json(text, start))
}

fn toml(text: &str, start: usize) -> Option<(FrontMatter, Range<usize>, usize)> {
    let (block, body) = fences(text, start, "+++", &["+++"])?;
    if block.len() > LONGEST {
        return None;
    }
    let properties: toml::Table = toml::from_str(&text[block.clone()]).ok()?;
    Some((typed(properties.into_iter().map(|(key, value)| (key, of_toml(value))).collect()), block, body))
}

fn of_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        // JSON has neither infinity nor what is no number.
        toml::Value::Float(number) => {
            serde_json::Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number)
        }
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(of_toml).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, of_toml(value))).collect(),
    }
}

/// An object is a note's front matter if a body follows, and if it says something that has a meaning here: a note may
/// begin with a piece of JSON that it is about, and a log has one in each line.
fn json(text: &str, start: usize) -> Option<(FrontMatter, Range<usize>, usize)> {
    let rest = &text[start..];
    if !rest.starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(&rest[..rest.floor_char_boundary(LONGEST)]).into_iter();
    let Some(Ok(Value::Object(properties))) = values.next() else { return None };
    let end = start + values.byte_offset();
    let line = text[end..].split_inclusive('\n').next().filter(|line| line.trim().is_empty())?;
    let (body, front) = (end + line.len(), typed(properties));
    let follows = text[body..].trim_start();
    let means =
        front.title.is_some() || !front.tags.is_empty() || own_days(None, &front.properties) != OwnDays::default();
    let is_one = means && !follows.is_empty() && !follows.starts_with('{');
    // Which of two equal keys counts is unclear.
    let is_clear = is_one && serde_json::from_str::<Unrepeated>(&text[start..end]).is_ok();
    is_clear.then_some((front, start..end, body))
}
