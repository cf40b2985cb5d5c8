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

#[test]
fn what_is_said_is_broken_between_words_and_commands_are_not() {
    let text = "one two three four\n    situated --config /a/b search x\nfive";
    assert_eq!(told(text, Some(10)), "one two\nthree four\n    situated --config /a/b search x\nfive");
    assert_eq!(told(text, None), text);
}
