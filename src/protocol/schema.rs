//! The whole protocol as JSON Schema: what `situated schema` prints.

use schemars::JsonSchema as _;
use schemars::generate::SchemaSettings;
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
        events.push(Results::json_schema(&mut generator).into());
        events.push(Lagged::json_schema(&mut generator).into());
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

fn names(kinds: &[ErrorKind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
