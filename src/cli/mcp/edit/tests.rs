//! Files that are edited, and those that are left alone.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn ours() -> Value {
    json!({ "command": "/bin/situated", "args": ["mcp"] })
}

fn set(text: &str) -> Result<Option<String>, Refusal> {
    with_entry(text, "mcpServers", "situated", &ours())
}

#[test]
fn what_stands_there_stays() {
    let text = "{\n    \"zebra\": 1.50,\n    \"mcpServers\": {\n        \"b\": {\"command\": \"x, \\\"}\"},\n        \"a\": {}\n    },\n    \"apple\": [1,  2]\n}\n";
    let new = set(text).unwrap().unwrap();
    assert_eq!(
        new,
        text.replace(
            "\"a\": {}\n",
            "\"a\": {},\n        \"situated\": {\n            \"args\": [\"mcp\"],\n            \"command\": \"/bin/situated\"\n        }\n"
        )
    );
    assert_eq!(set(&new), Ok(None), "once is enough");
    let old = new.replace("/bin/situated", "/old/situated");
    assert_eq!(set(&old).unwrap().unwrap(), new);
}

#[test]
fn an_entry_that_is_there_keeps_what_its_user_added() {
    let text = |command: &str| {
        format!(
            "{{\"mcpServers\": {{\"situated\": {{\"command\": \"{command}\", \"args\": [\"mcp\"], \"disabled\": true, // mine\n \
             \"env\": {{\"A\": \"b\"}}}}}}}}"
        )
    };
    assert_eq!(set(&text("/old/situated")).unwrap().unwrap(), text("/bin/situated"));
    assert_eq!(set(&text("/bin/situated")), Ok(None), "what is added to it is no reason to write it");
    // An entry that speaks HTTP is none that starts a program.
    let http =
        json!({ "mcpServers": { "situated": { "type": "http", "url": "http://x", "headers": {}, "disabled": true } } });
    let new: Value = serde_json::from_str(&set(&http.to_string()).unwrap().unwrap()).unwrap();
    let kept = json!({ "command": "/bin/situated", "args": ["mcp"], "disabled": true });
    assert_eq!(new["mcpServers"]["situated"], kept);
    let odd = json!({ "mcpServers": { "situated": 3 } });
    let new: Value = serde_json::from_str(&set(&odd.to_string()).unwrap().unwrap()).unwrap();
    assert_eq!(new["mcpServers"]["situated"], ours());
}

#[test]
fn sections_are_made() {
    for text in [
        "",
        " \n",
        "{}",
        "{ }",
        "{\n}\n",
        "{\"a\": 1}",
        "{\"a\": {\"mcpServers\": 3}}",
        "\u{FEFF}{\"mcpServers\": {}}",
        "{\"mcpServers\":{\"x\":1}}",
    ] {
        let new = set(text).unwrap().unwrap();
        let parsed: Value = serde_json::from_str(new.trim_start_matches('\u{FEFF}')).unwrap();
        assert_eq!(parsed["mcpServers"]["situated"], ours(), "{new}");
        if let Ok(Value::Object(before)) = serde_json::from_str(text.trim_start_matches('\u{FEFF}')) {
            assert!(before.iter().all(|(key, value)| key == "mcpServers" || parsed[key] == *value), "{new}");
        }
    }
}

#[test]
fn what_is_not_understood_is_left_alone() {
    for text in [
        "{ # a comment\n}",
        "{\"a\": 1,,}",
        "{\"a\": 1 \"b\": 2}",
        "{'a': 1}",
        "{a: 1}",
        "{\"a\": 0x1}",
        "// nothing",
        "{",
    ] {
        assert!(matches!(set(text), Err(Refusal::NotJson(_))), "{text}");
    }
    assert!(matches!(set("[1]"), Err(Refusal::Shape(_))));
    assert!(matches!(set("{\"mcpServers\": []}"), Err(Refusal::Shape(_))));
    assert!(matches!(set("{\"mcpServers\": {}, \"mcpServers\": {}}"), Err(Refusal::Shape(_))));
}

#[test]
fn comments_and_trailing_commas_stay() {
    let text = "// Settings\n{\n  // of servers\n  \"mcpServers\": {\n    \"a\": {}, // the first\n    /* none after it */\n  },\n  \"b\": [1,],\n}\n";
    let new = set(text).unwrap().unwrap();
    let member = "    \"situated\": {\n      \"args\": [\"mcp\"],\n      \"command\": \"/bin/situated\",\n    },\n";
    assert_eq!(new, text.replace("// the first\n", &format!("// the first\n{member}")));
    assert_eq!(set(&new), Ok(None));
    assert!(entry(&new, "mcpServers", "situated").is_some() && entry(text, "mcpServers", "situated").is_none());
}

#[test]
fn what_was_entered_is_taken_out_again() {
    let out = |text: &str| without_entry(text, "mcpServers", "situated");
    for text in [
        "{\n  \"mcpServers\": {\n    \"a\": {}\n  },\n  \"z\": 1.50\n}\n",
        "// Settings\n{\n  // of servers\n  \"mcpServers\": {\n    \"a\": {}, // the first\n  },\n  \"b\": [1,],\n}\n",
        "\u{FEFF}{\n\t\"mcpServers\": {\n\t\t\"a\": { \"env\": {} },\n\t\t\"b\": {}\n\t}\n}",
    ] {
        let entered = set(text).unwrap().unwrap();
        assert_ne!(entered, text);
        assert_eq!(out(&entered).unwrap().unwrap(), text);
        assert_eq!(out(text), Ok(None), "it is not there");
    }
    for text in ["", "{}", "{\"mcpServers\": {}}", "{\"mcpServers\": 3}"] {
        assert_eq!(out(text), Ok(None), "{text}");
    }
    // What stands in one line comes back in several, and says the same.
    let back = out(&set("{\"mcpServers\":{\"x\":1}}").unwrap().unwrap()).unwrap().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), json!({ "mcpServers": { "x": 1 } }));
    // The first of several, the one in the middle, and the only one.
    for (text, left) in [
        ("{\"mcpServers\": {\"situated\": {}, \"b\": 2}}", json!({ "b": 2 })),
        ("{\"mcpServers\": {\"a\": 1, \"situated\": {}, /* last */ \"b\": 2,}}", json!({ "a": 1, "b": 2 })),
        ("{\n  \"mcpServers\": {\n    \"situated\": {}\n  }\n}\n", json!({})),
    ] {
        let rest = out(text).unwrap().unwrap();
        let (_, top) = parsed(&rest).unwrap();
        assert_eq!(top.to_serde_value().unwrap(), json!({ "mcpServers": left }), "{rest}");
    }
    assert!(matches!(out("{ # a comment\n}"), Err(Refusal::NotJson(_))));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\"\\\\{}\\[\\],: \\n]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z\"\\\\{,:]{0,3}|mcpServers", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_file_keeps_its_members(value in value(), spaced in any::<bool>()) {
        let text = if spaced { format!("{value:#}") } else { value.to_string() };
        match set(&text) {
            Ok(Some(new)) => {
                let mut expected = value.clone();
                expected["mcpServers"]["situated"] = ours();
                prop_assert_eq!(serde_json::from_str::<Value>(&new).unwrap(), expected.clone());
                let out = without_entry(&new, "mcpServers", "situated").unwrap().unwrap();
                expected["mcpServers"].as_object_mut().unwrap().remove("situated");
                prop_assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), expected);
            }
            Ok(None) => prop_assert!(false, "it was not there"),
            Err(_) => prop_assert!(!value.is_object() || value.get("mcpServers").is_some_and(|s| !s.is_object())),
        }
    }
}
