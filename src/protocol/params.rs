//! Reading parameters: one that a method does not know is an error that names the nearest one it does, and one that is
//! missing or wrong is named with what it may be.
//!
//! What is known is read off the JSON Schema, so it is what `situated schema` prints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::envelope::{ErrorKind, Params, RpcError};
use crate::nearest::{MOST_NAME, nearest};

/// Characters of a value that an error quotes.
const MOST_VALUE: usize = 300;

/// Objects within objects of parameters are looked into so far.
const MOST_DEPTH: usize = 6;

/// The members that an object may have, and those of the objects in them.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Whether it is an object whose members are all known.
    is_closed: bool,
    members: BTreeMap<String, Known>,
    /// Members of the outermost object that must be there.
    required: Vec<String>,
    /// What the value may be; anything if there is nothing.
    kinds: Vec<Kind>,
    /// What the items of a list may have.
    items: Option<Box<Known>>,
}

/// A kind of value.
#[derive(Debug)]
enum Kind {
    /// One value, such as a word.
    Only(Value),
    /// By the name that a schema has for it; of whole numbers the least and the greatest.
    Any(String, Option<i64>, Option<i64>),
}

impl Kind {
    fn fits(&self, value: &Value) -> bool {
        match self {
            Kind::Only(only) => value == only,
            Kind::Any(name, least, most) => match name.as_str() {
                "null" => value.is_null(),
                "boolean" => value.is_boolean(),
                "integer" => {
                    let in_range = |n| least.is_none_or(|least| n >= least) && most.is_none_or(|most| n <= most);
                    value.as_i64().map_or(value.is_u64(), in_range)
                }
                "number" => value.is_number(),
                "string" => value.is_string(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                _ => true,
            },
        }
    }

    /// In words; `null` need not be told of.
    fn words(&self) -> Option<String> {
        Some(match self {
            Kind::Only(Value::String(word)) => format!("`{word}`"),
            Kind::Only(only) => only.to_string(),
            Kind::Any(name, least, most) => match (name.as_str(), least, most) {
                ("null", ..) => return None,
                ("boolean", ..) => "true or false".to_owned(),
                ("integer", Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
                ("integer", Some(least), None) => format!("a whole number from {least} on"),
                ("integer", ..) => "a whole number".to_owned(),
                ("array", ..) => "a list".to_owned(),
                ("object", ..) => "an object".to_owned(),
                (name, ..) => format!("a {name}"),
            },
        })
    }
}

/// A member that nobody knows.
#[derive(Debug, PartialEq)]
struct Unknown<'a> {
    /// The members that lead to it, and its own name.
    path: Vec<&'a str>,
    /// Those that stand in its place.
    known: Vec<&'a str>,
}

impl Known {
    /// What parameters of a type may have.
    pub(crate) fn of<T: JsonSchema>() -> Known {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let schema = generator.subschema_for::<T>().to_value();
        let definitions = generator.take_definitions(true);
        let mut known = Known::default();
        known.add(&schema, &definitions, 0);
        // The parameters of a method are no alternatives, so that all that is required of them is.
        let root = schema.get("$ref").and_then(|name| referred(name, &definitions)).unwrap_or(&schema);
        let required = root.get("required").and_then(Value::as_array).into_iter().flatten();
        known.required = required.filter_map(Value::as_str).map(str::to_owned).collect();
        known
    }

    /// Adds what a schema allows. Of alternatives all is allowed.
    fn add(&mut self, schema: &Value, definitions: &Map<String, Value>, depth: usize) {
        let Some(schema) = schema.as_object().filter(|_| depth < MOST_DEPTH) else { return };
        if let Some(referred) = schema.get("$ref").and_then(|name| referred(name, definitions)) {
            self.add(referred, definitions, depth);
        }
        self.kinds.extend(kinds(schema));
        for alternatives in ["anyOf", "oneOf", "allOf"] {
            for alternative in schema.get(alternatives).and_then(Value::as_array).into_iter().flatten() {
                self.add(alternative, definitions, depth);
            }
        }
        let is_object = schema.get("type").is_some_and(|kind| {
            kind == "object" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"))
        });
        self.is_closed |=
            is_object && schema.get("additionalProperties").is_none_or(|more| more == &Value::Bool(false));
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.members.entry(name.clone()).or_default().add(member, definitions, depth + 1);
        }
        if let Some(items) = schema.get("items") {
            self.items.get_or_insert_default().add(items, definitions, depth + 1);
        }
    }

    fn unknown<'a>(&'a self, object: &'a Params) -> Option<Unknown<'a>> {
        object.iter().find_map(|(name, value)| {
            let mut unknown = match self.members.get(name) {
                Some(known) => known.unknown_in(value)?,
                None if self.is_closed => Unknown { path: Vec::new(), known: self.names() },
                None => return None,
            };
            unknown.path.insert(0, name);
            Some(unknown)
        })
    }

    fn unknown_in<'a>(&'a self, value: &'a Value) -> Option<Unknown<'a>> {
        match value {
            Value::Object(object) => self.unknown(object),
            Value::Array(items) => {
                let known = self.items.as_ref()?;
                items.iter().find_map(|item| known.unknown_in(item))
            }
            _ => None,
        }
    }

    fn fits(&self, value: &Value) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.fits(value))
    }

    /// The first value that does not fit: the members that lead to it, and what is wrong with it.
    fn wrong(&self, value: &Value) -> Option<(Vec<String>, String)> {
        if !self.fits(value) {
            let words: Vec<String> = self.kinds.iter().filter_map(Kind::words).collect();
            let value: String = value.to_string().chars().take(MOST_VALUE).collect();
            return Some((Vec::new(), format!("must be {}, not {value}", words.join(" or "))));
        }
        match value {
            Value::Object(object) => object.iter().find_map(|(name, value)| {
                let (mut path, why) = self.members.get(name)?.wrong(value)?;
                path.insert(0, name.clone());
                Some((path, why))
            }),
            Value::Array(items) => items.iter().find_map(|item| self.items.as_ref()?.wrong(item)),
            _ => None,
        }
    }

    /// A list where an object is due, which would be read by position: what is wrong, as [`Known::wrong`] says it.
    fn listed(&self, params: &Params) -> Option<(Vec<String>, String)> {
        params.iter().find_map(|(name, value)| {
            let known = self.members.get(name)?;
            let (mut path, why) = match value {
                Value::Object(object) => known.listed(object),
                Value::Array(_) if !known.fits(value) => known.wrong(value),
                _ => None,
            }?;
            path.insert(0, name.clone());
            Some((path, why))
        })
    }

    /// The parameter that is missing or wrong, if the schema tells, and what is said of it.
    fn misfit(&self, params: &Value, error: &serde_json::Error) -> (Option<String>, String) {
        if let Some(missing) = self.required.iter().find(|name| params.get(name.as_str()).is_none()) {
            return (Some(missing.clone()), format!("`{missing}` is missing"));
        }
        // The message quotes what was sent, which may be a whole note.
        let said: String = error.to_string().chars().take(MOST_VALUE).collect();
        // Types that are read by hand name the member themselves.
        if let Some((name, _)) = said.strip_prefix('`').and_then(|said| said.split_once('`')) {
            return (Some(name.to_owned()), said);
        }
        match self.wrong(params) {
            Some((path, why)) if !path.is_empty() => {
                let path = path.join(".");
                let why = format!("`{path}` {why}");
                (Some(path), why)
            }
            _ => (None, said),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.members.keys().map(String::as_str).collect()
    }
}

/// What a `$ref` names.
fn referred<'a>(name: &Value, definitions: &'a Map<String, Value>) -> Option<&'a Value> {
    definitions.get(name.as_str()?.strip_prefix("#/$defs/")?)
}

/// What a schema itself says of the kind of a value.
fn kinds(schema: &Map<String, Value>) -> Vec<Kind> {
    let only =
        schema.get("const").into_iter().chain(schema.get("enum").and_then(Value::as_array).into_iter().flatten());
    let only: Vec<Kind> = only.cloned().map(Kind::Only).collect();
    if !only.is_empty() {
        return only;
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
    // The schema of a `u32` states its least value alone.
    let most = (schema.get("format").is_some_and(|format| format == "uint32")).then_some(i64::from(u32::MAX));
    let kind = |name: &str| Kind::Any(name.to_owned(), bound("minimum"), bound("maximum").or(most));
    match schema.get("type") {
        Some(Value::String(name)) => vec![kind(name)],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(kind).collect(),
        _ => Vec::new(),
    }
}

/// The arguments of a type that is no method's parameters, or what is wrong with them: what is unknown, and what was
/// meant; what is missing, or must be something else.
///
/// # Errors
/// They do not fit.
pub fn read_arguments<T: DeserializeOwned + JsonSchema>(given: Params) -> Result<T, String> {
    let known = Known::of::<T>();
    if let Some(unknown) = known.unknown(&given) {
        let meant = unknown.meant().map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        return Err(format!("`{}` is not known{meant} ({})", unknown.name(), unknown.others()));
    }
    let given = Value::Object(given);
    T::deserialize(&given).map_err(|error| known.misfit(&given, &error).1)
}

/// The parameters of a method.
pub(crate) fn read<T: DeserializeOwned>(method: &str, known: &Known, params: Params) -> Result<T, RpcError> {
    if let Some(unknown) = known.unknown(&params) {
        return Err(unknown.refused(method));
    }
    if let Some((path, why)) = known.listed(&params) {
        let path = path.join(".");
        return Err(wrong_parameter(format!("`{path}` {why}"), Some(path)));
    }
    let params = Value::Object(params);
    T::deserialize(&params).map_err(|error| {
        let (parameter, why) = known.misfit(&params, &error);
        wrong_parameter(why, parameter)
    })
}

fn wrong_parameter(why: String, parameter: Option<String>) -> RpcError {
    let refused = RpcError::new(ErrorKind::InvalidParams, why).hint("`situated schema` prints what each method takes");
    match parameter {
        Some(parameter) => refused.with("parameter", parameter),
        None => refused,
    }
}

impl Unknown<'_> {
    /// Its name, with those that lead to it.
    fn name(&self) -> String {
        let cut = |name: &str| name.chars().take(MOST_NAME).collect::<String>();
        self.path.iter().map(|name| cut(name)).collect::<Vec<_>>().join(".")
    }

    fn meant(&self) -> Option<&str> {
        nearest(self.path.last().copied().unwrap_or_default(), self.known.iter().copied())
    }

    fn others(&self) -> String {
        match self.known.as_slice() {
            [] => "it takes none".to_owned(),
            known => format!("known here: {}", known.join(" ")),
        }
    }

    fn refused(&self, method: &str) -> RpcError {
        let (path, meant) = (self.name(), self.meant());
        let why = format!("`{method}` knows no parameter `{path}`");
        RpcError::new(ErrorKind::InvalidParams, why).hint(self.others()).with("parameter", path).nearest(meant)
    }
}

#[cfg(test)]
mod tests;
