//! Reading parameters: one that a method does not know is an error that names the nearest one it does.
//!
//! What is known is read off the JSON Schema, so it is what `situated schema` prints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::envelope::{ErrorKind, Params, RpcError};
use crate::nearest::{MOST_NAME, nearest};

/// Objects within objects of parameters are looked into so far.
const MOST_DEPTH: usize = 6;

/// The members that an object may have, and those of the objects in them.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Whether it is an object whose members are all known.
    is_closed: bool,
    members: BTreeMap<String, Known>,
    /// What the items of a list may have.
    items: Option<Box<Known>>,
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
        known
    }

    /// Adds what a schema allows. Of alternatives all is allowed.
    fn add(&mut self, schema: &Value, definitions: &Map<String, Value>, depth: usize) {
        let Some(schema) = schema.as_object().filter(|_| depth < MOST_DEPTH) else { return };
        let referred = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
        if let Some(referred) = referred.and_then(|name| definitions.get(name)) {
            self.add(referred, definitions, depth);
        }
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

    fn names(&self) -> Vec<&str> {
        self.members.keys().map(String::as_str).collect()
    }
}

/// What is said of the first of `given` that a type does not have, if there is one: what was meant, what is known.
pub fn unknown_argument<T: JsonSchema>(given: &Params) -> Option<String> {
    let known = Known::of::<T>();
    let unknown = known.unknown(given)?;
    let meant = unknown.meant().map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    Some(format!("`{}` is not known{meant} ({})", unknown.name(), unknown.others()))
}

/// The parameters of a method.
pub(crate) fn read<T: DeserializeOwned>(method: &str, known: &Known, params: Params) -> Result<T, RpcError> {
    if let Some(unknown) = known.unknown(&params) {
        return Err(unknown.refused(method));
    }
    serde_json::from_value(Value::Object(params)).map_err(|error| {
        // The message quotes what was sent, which may be a whole note.
        let why: String = error.to_string().chars().take(300).collect();
        RpcError::new(ErrorKind::InvalidParams, why).hint("`situated schema` prints what each method takes")
    })
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
