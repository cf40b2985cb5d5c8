use super::*;

#[test]
fn json_always_says_its_schema() {
    assert_eq!(with_schema(json!({"a": 1})), json!({"schema": 1, "a": 1}));
    assert_eq!(with_schema(Value::Null), json!({"schema": 1}));
    assert_eq!(with_schema(json!([1])), json!({"schema": 1, "result": [1]}));
}

#[test]
fn codes() {
    assert_eq!(CliFailure::usage("x").code(), 2);
    assert_eq!(CliFailure::Quiet.code(), 0);
    assert_eq!(CliFailure::from(io::Error::other("x")).code(), 74);
    assert_eq!(CliFailure::from(ConfigErrors { problems: Vec::new() }).code(), 78);
}
