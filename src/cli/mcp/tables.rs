//! The same as [`super::edit`] for a file in TOML: puts one entry into a table, or removes it. Pure.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table};

use super::edit::{OF_HTTP, Refusal};
use crate::cli::toml_text;

/// `text` with `entry` under `name` in the table `section`; `None` if it has it already. In an existing entry, keys
/// that `entry` does not have stay, except those that are [`OF_HTTP`]: Codex refuses an entry of both kinds.
pub(super) fn with_entry(text: &str, section: &str, name: &str, entry: &Value) -> Result<Option<String>, Refusal> {
    let mut document = parsed(text)?;
    let servers = document.entry(section).or_insert_with(|| {
        let mut servers = Table::new();
        // A separate header of the section would say nothing.
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers.as_table_like_mut().ok_or_else(|| no_table(section))?;
    let known = servers.entry(name).or_insert_with(|| Item::Table(Table::new()));
    let known = known.as_table_like_mut().ok_or_else(|| no_table(&format!("{section}.{name}")))?;
    let mut changed = OF_HTTP.iter().filter(|key| known.remove(key).is_some()).count() > 0;
    for (key, value) in entry.as_object().into_iter().flatten() {
        if known.get(key).and_then(json).as_ref() != Some(value) {
            toml_text::set(known, key, toml(value));
            changed = true;
        }
    }
    Ok(changed.then(|| toml_text::written(text, &document)))
}

/// `text` without the entry `name` in the table `section`; `None` if there is none.
pub(super) fn without_entry(text: &str, section: &str, name: &str) -> Result<Option<String>, Refusal> {
    let mut document = parsed(text)?;
    let servers = document.get_mut(section).and_then(Item::as_table_like_mut);
    let removed = servers.and_then(|servers| servers.remove(name)).is_some();
    Ok(removed.then(|| toml_text::written(text, &document)))
}

/// The entry of this name in the table `section`.
pub(super) fn entry(text: &str, section: &str, name: &str) -> Option<String> {
    let document = parsed(text).ok()?;
    let entry = document.get(section)?.as_table_like()?.get(name)?;
    entry.is_table_like().then(|| entry.to_string().trim().to_owned())
}

fn parsed(text: &str) -> Result<DocumentMut, Refusal> {
    toml_text::parsed(text).map_err(Refusal::NotToml)
}

fn no_table(name: &str) -> Refusal {
    Refusal::Shape(format!("`{name}` in it is no table"))
}

fn toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::Array(values) => toml_edit::Value::Array(values.iter().map(toml).collect::<Array>()),
        Value::Object(members) => toml_edit::Value::InlineTable(
            members.iter().map(|(key, value)| (key, toml(value))).collect::<InlineTable>(),
        ),
        Value::String(text) => text.as_str().into(),
        // TOML has no null, and none of our entries has one.
        Value::Null => "".into(),
    }
}

/// A value of a kind that our entries have: a string, or a list of strings.
fn json(item: &Item) -> Option<Value> {
    let value = item.as_value()?;
    if let Some(values) = value.as_array() {
        return values
            .iter()
            .map(|value| Some(value.as_str()?.into()))
            .collect::<Option<Vec<Value>>>()
            .map(Value::from);
    }
    Some(value.as_str()?.into())
}

#[cfg(test)]
mod tests;
