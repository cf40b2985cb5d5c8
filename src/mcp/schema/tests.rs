use serde_json::json;

use super::*;

#[derive(JsonSchema)]
#[allow(dead_code)]
struct Inner {
    /// How many.
    n: Option<u32>,
}

#[derive(JsonSchema)]
#[allow(dead_code)]
struct Outer {
    /// A text.
    text: String,
    /// What else.
    inner: Option<Inner>,
    format: Option<f32>,
}

#[test]
fn schemas_are_plain() {
    let schema = of::<Outer>();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["text"]));
    let properties = &schema["properties"];
    assert_eq!(properties["inner"]["type"], "object");
    assert_eq!(properties["inner"]["description"], "What else.");
    assert_eq!(properties["inner"]["properties"]["n"], json!({ "description": "How many.", "type": "integer" }));
    assert_eq!(properties["format"], json!({ "type": "number" }));
    let text = Value::Object((*schema).clone()).to_string();
    assert!(!text.contains("null") && !text.contains("$ref"), "{text}");
}

#[test]
fn the_shape_of_a_result_is_names_and_types() {
    let inner = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let expected = json!({
        "type": "object",
        "properties": { "text": { "type": "string" }, "inner": inner, "format": { "type": "number" } },
    });
    assert_eq!(Value::Object((*shape::<Outer>()).clone()), expected);
}

#[test]
fn arguments_may_be_a_little_odd() {
    let given = json!({ "limit": 10.0, "share": 0.5, "vault": null, "query": "x" });
    let Value::Object(given) = given else { unreachable!() };
    assert_eq!(Value::Object(tolerate(given)), json!({ "limit": 10, "share": 0.5, "query": "x" }));
}
