//! Puts one entry into a JSON file of another program, whose values, comments and order stay as they are. Pure.

use std::fmt;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Value, json};

use crate::cli::toml_text::BYTE_ORDER_MARK;

/// Why a file is not touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not JSON; why not.
    NotJson(String),
    /// It is not TOML; why not.
    NotToml(String),
    /// Its structure is not the expected one.
    Shape(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotJson(why) => write!(f, "it is not JSON ({why})"),
            Refusal::NotToml(why) => write!(f, "it is not TOML ({why})"),
            Refusal::Shape(why) => f.write_str(why),
        }
    }
}

/// Members of an entry for a server that speaks HTTP, in any client: one that starts a program must have none of them.
pub(super) const OF_HTTP: &[&str] =
    &["url", "serverUrl", "httpUrl", "headers", "bearer_token_env_var", "http_headers", "env_http_headers"];

/// What the clients' own files may contain besides JSON.
const COMMENTED: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// `text` with `entry` under `name` in the object `section` at the top; `None` if it has it already. Of an existing entry
/// all stays that `entry` does not have, except what is [`OF_HTTP`].
pub(super) fn with_entry(text: &str, section: &str, name: &str, entry: &Value) -> Result<Option<String>, Refusal> {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if body.trim().is_empty() {
        let fresh = json!({ section: { name: entry } });
        return Ok(Some(format!("{fresh:#}\n")));
    }
    let (root, top) = parsed(body)?;
    let servers = match only(&top, section)? {
        Some(known) => known.object_value().ok_or_else(|| Refusal::Shape(format!("`{section}` in it is no object")))?,
        None => top.object_value_or_set(section),
    };
    match only(&servers, name)? {
        Some(known) => match known.object_value() {
            Some(members) if !set(&members, entry)? => return Ok(None),
            Some(_) => {}
            None => known.set_value(input(entry)),
        },
        None => drop(servers.append(name, input(entry))),
    }
    Ok(Some(format!("{}{root}", &text[..text.len() - body.len()])))
}

/// Gives an entry these members; whether it changed.
fn set(known: &CstObject, entry: &Value) -> Result<bool, Refusal> {
    let mut changed = false;
    for key in OF_HTTP {
        if let Some(member) = only(known, key)? {
            member.remove();
            changed = true;
        }
    }
    // A client that needs no `type` for a program takes its absence for one.
    if entry.get("type").is_none()
        && let Some(member) = only(known, "type")?
        && value_of(&member) != Some(json!("stdio"))
    {
        member.remove();
        changed = true;
    }
    for (key, value) in entry.as_object().into_iter().flatten() {
        match only(known, key)? {
            Some(member) if value_of(&member).as_ref() == Some(value) => continue,
            Some(member) => member.set_value(input(value)),
            None => drop(known.append(key, input(value))),
        }
        changed = true;
    }
    Ok(changed)
}

/// `text` without the entry `name` in the object `section` at the top; `None` if there is none.
pub(super) fn without_entry(text: &str, section: &str, name: &str) -> Result<Option<String>, Refusal> {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if body.trim().is_empty() {
        return Ok(None);
    }
    let (root, top) = parsed(body)?;
    let Some(servers) = only(&top, section)?.and_then(|servers| servers.object_value()) else { return Ok(None) };
    let Some(known) = only(&servers, name)? else { return Ok(None) };
    known.remove();
    Ok(Some(format!("{}{root}", &text[..text.len() - body.len()])))
}

/// The entry of this name in the object `section` at the top.
pub(super) fn entry(text: &str, section: &str, name: &str) -> Option<String> {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let entry = value_of(&parsed(body).ok()?.1.object_value(section)?.get(name)?)?;
    (!entry.is_null()).then(|| format!("{entry:#}"))
}

/// A file and the object that it holds.
fn parsed(text: &str) -> Result<(CstRootNode, CstObject), Refusal> {
    let root = CstRootNode::parse(text, &COMMENTED).map_err(|error| Refusal::NotJson(error.to_string()))?;
    if root.value().is_none() {
        return Err(Refusal::NotJson("it holds no value".to_owned()));
    }
    let top = root.object_value().ok_or_else(|| Refusal::Shape("it does not hold an object".to_owned()))?;
    Ok((root, top))
}

/// The one member of this name; a file with two is ambiguous.
fn only(object: &CstObject, key: &str) -> Result<Option<CstObjectProp>, Refusal> {
    let members = object.properties();
    let mut found = members.into_iter().filter(|member| member.decoded_name().as_deref() == Some(key));
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(Refusal::Shape(format!("`{key}` stands in it twice"))),
        (one, None) => Ok(one),
    }
}

fn value_of(member: &CstObjectProp) -> Option<Value> {
    member.value()?.to_serde_value()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests;
