//! The whole protocol as JSON Schema: what `situated schema` prints.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema as _, Schema};
use serde_json::{Map, Value, json};

use crate::envelope::{ErrorKind, PROTOCOL};
use crate::events::{Lagged, Notice, Results};
use crate::notification::{Progress, Text};
use crate::table::{COMMON_ERRORS, Method};

/// Parameters, results and errors by method, notifications, errors.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut methods = Map::new();
    for &method in Method::ALL {
        let (params, result) = method.schemas(&mut generator);
        let described = json!({
            "description": method.about(),
            "params": params,
            "result": result,
            "errors": names(&[COMMON_ERRORS, method.errors()].concat()),
        });
        methods.insert(method.name().to_owned(), described);
    }
    let progress = generator.subschema_for::<Progress>();
    let text = generator.subschema_for::<Text>();
    let mut events = Notice::json_schema(&mut generator).get("oneOf").cloned().unwrap_or_default();
    if let Value::Array(events) = &mut events {
        events.push(of_kind("results", Results::json_schema(&mut generator)));
        events.push(of_kind("lagged", Lagged::json_schema(&mut generator)));
    }
    let errors: Vec<Value> =
        ErrorKind::ALL.iter().map(|kind| json!({ "code": kind.code(), "kind": kind.name() })).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "situated",
        "protocol": PROTOCOL,
        "methods": methods,
        "notifications": {
            "progress": progress,
            "text": text,
            "event": { "type": "object", "required": ["kind"], "oneOf": events },
        },
        "errors": errors,
        "$defs": generator.take_definitions(true),
    })
}

/// The schema of an event with its tag, of which schemars knows nothing where it is a struct's.
fn of_kind(kind: &str, schema: Schema) -> Value {
    let mut schema = schema.to_value();
    schema["properties"]["kind"] = json!({ "const": kind });
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.push("kind".into());
    }
    schema
}

fn names(kinds: &[ErrorKind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_says_its_kind() {
        let schema = schema();
        let events = schema["notifications"]["event"]["oneOf"].as_array().unwrap();
        let kinds: Vec<&str> =
            events.iter().map(|event| event["properties"]["kind"]["const"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["decision", "index", "state", "job", "results", "lagged"]);
        let requires = |event: &Value| event["required"].as_array().unwrap().contains(&json!("kind"));
        assert!(events.iter().all(requires), "{events:?}");
    }

    #[test]
    fn the_schema_is_closed() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(object) => {
                    if let Some(Value::String(reference)) = object.get("$ref") {
                        found.push(reference.clone());
                    }
                    object.values().for_each(|value| references(value, found));
                }
                Value::Array(values) => values.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let schema = schema();
        assert_eq!(schema["methods"].as_object().unwrap().len(), Method::ALL.len());
        let mut found = Vec::new();
        references(&schema, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let name = reference.strip_prefix("#/$defs/").unwrap();
            assert!(schema["$defs"].get(name).is_some(), "{reference}");
        }
        assert!(schema["$defs"]["SearchRequest"]["properties"]["query"].is_object());
    }
}
