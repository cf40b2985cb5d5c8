//! JSON Schemas of tools as clients of all kinds understand them: everything in one place, no unions with `null`, no
//! formats that only Rust knows.

use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of a type, which must be an object.
pub(super) fn of<T: JsonSchema>() -> Arc<Map<String, Value>> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    match schema {
        Value::Object(mut object) => {
            // Said once, by the tool itself; and the dialect is the protocol's own.
            for said in ["title", "description", "$schema"] {
                object.remove(said);
            }
            object.entry("type").or_insert_with(|| "object".into());
            object.entry("properties").or_insert_with(|| Map::new().into());
            Arc::new(object)
        }
        _ => Arc::default(),
    }
}

/// The schema of what a tool gives: names and types, without descriptions and without the parts that are required. A
/// model reads the result itself, and pays for every word of a schema in every conversation.
pub(super) fn shape<T: JsonSchema>() -> Arc<Map<String, Value>> {
    let mut schema = Value::Object((*of::<T>()).clone());
    silence(&mut schema);
    match schema {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

fn silence(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    for said in ["description", "required"] {
        object.remove(said);
    }
    // The keys below `properties` are names of fields, and a field may be called `description`.
    object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut).for_each(silence);
    object.get_mut("items").into_iter().for_each(silence);
}

fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            // `Option` of an object: what is left beside `null` takes the place of both.
            if let Some(Value::Array(either)) = object.get_mut("anyOf") {
                either.retain(|one| one["type"] != "null");
                if let [Value::Object(only)] = &either[..] {
                    let only = only.clone();
                    object.remove("anyOf");
                    let said = object.get("description").cloned();
                    object.extend(only);
                    object.extend(said.map(|said| ("description".to_owned(), said)));
                }
            }
            // Words that are explained one by one: what the argument itself says explains them.
            if let Some(words) = object.get("oneOf").and_then(words) {
                object.remove("oneOf");
                object.extend([("type".to_owned(), "string".into()), ("enum".to_owned(), words)]);
            }
            if let Some(Value::Array(values)) = object.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            if object.get("format").is_some_and(Value::is_string) {
                object.remove("format");
            }
            // An optional argument need not state its default, and a count need not state that it is not negative.
            object.remove("default");
            if object.get("minimum") == Some(&Value::from(0)) {
                object.remove("minimum");
            }
            // The limit of a small integer type: no model gives more.
            object.remove("maximum");
            object.values_mut().for_each(simplify);
        }
        Value::Array(values) => values.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// The words that alternatives are, if each is one.
fn words(alternatives: &Value) -> Option<Value> {
    alternatives.as_array()?.iter().map(|one| one.get("const").cloned()).collect()
}

/// Arguments as a model writes them: 10.0 for 10, and `null` for what is not said.
pub(super) fn tolerate(arguments: Map<String, Value>) -> Map<String, Value> {
    let whole = |value: Value| match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() < 9e15 => Value::from(number as i64),
        _ => value,
    };
    arguments.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name, whole(value))).collect()
}

#[cfg(test)]
mod tests;
