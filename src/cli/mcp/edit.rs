//! One entry put into a JSON file that is somebody else's: every other byte of it stays as it is. Pure.

use std::ops::Range;

use serde_json::Value;

/// Why a file is not touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is no JSON (comments are none), and why.
    NotJson(String),
    /// It is JSON of another shape than expected.
    Shape(String),
}

/// A member of an object: its key, and where its value stands.
struct Member {
    key: String,
    at: usize,
    value: Range<usize>,
}

/// `text` with `entry` under `name` in the object `section` at the top; `None` if it stands there already.
pub(super) fn with_entry(text: &str, section: &str, name: &str, entry: &Value) -> Result<Option<String>, Refusal> {
    let body = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if body.trim().is_empty() {
        let fresh = serde_json::json!({ section: { name: entry } });
        return Ok(Some(format!("{}\n", pretty(&fresh, "  "))));
    }
    let parsed: Value = serde_json::from_str(body).map_err(|error| Refusal::NotJson(error.to_string()))?;
    if !parsed.is_object() {
        return Err(Refusal::Shape("it does not hold an object".to_owned()));
    }
    if parsed[section][name] == *entry {
        return Ok(None);
    }
    let start = text.find('{').unwrap_or_default();
    let root = members(text, start);
    let known = only(&root, section)?;
    let unit = indent(text, &root).unwrap_or_else(|| "  ".to_owned());
    let Some(known) = known else {
        let fresh = serde_json::json!({ name: entry });
        return Ok(Some(inserted(text, start, &root, section, &fresh, (&unit, 1))));
    };
    if !parsed[section].is_object() {
        return Err(Refusal::Shape(format!("`{section}` in it is no object")));
    }
    let servers = members(text, known.value.start);
    Ok(Some(match only(&servers, name)? {
        Some(old) => replaced(text, &old.value, &nested(&pretty(entry, &unit), &unit, 2)),
        None => inserted(text, known.value.start, &servers, name, entry, (&unit, 2)),
    }))
}

/// The one member of this name; a file with two says nothing clear.
fn only<'a>(members: &'a [Member], key: &str) -> Result<Option<&'a Member>, Refusal> {
    let mut found = members.iter().filter(|member| member.key == key);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(Refusal::Shape(format!("`{key}` stands in it twice"))),
        (one, None) => Ok(one),
    }
}

/// The members of the object that begins at `start`, in text that is JSON.
fn members(text: &str, start: usize) -> Vec<Member> {
    let bytes = text.as_bytes();
    let mut members = Vec::new();
    let mut at = skip_space(bytes, start + 1);
    while bytes.get(at) == Some(&b'"') {
        let key = at..skip_value(bytes, at);
        let value = skip_space(bytes, skip_space(bytes, key.end) + 1);
        let value = value..skip_value(bytes, value);
        at = skip_space(bytes, value.end);
        let name = serde_json::from_str(&text[key.clone()]).unwrap_or_default();
        members.push(Member { key: name, at: key.start, value });
        if bytes.get(at) == Some(&b',') {
            at = skip_space(bytes, at + 1);
        }
    }
    members
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// The end of the value that begins at `at`.
fn skip_value(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    loop {
        match bytes.get(at) {
            None => return at,
            Some(b'"') => {
                at += 1;
                while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']' | b',') if depth == 0 => return at,
            Some(b'}' | b']') => depth -= 1,
            Some(byte) if depth == 0 && byte.is_ascii_whitespace() => return at,
            Some(b':') if depth == 0 => return at,
            Some(_) => {}
        }
        at += 1;
        if depth == 0 && matches!(bytes.get(at - 1), Some(b'"' | b'}' | b']')) {
            return at;
        }
    }
}

/// What members of the outermost object are indented by.
fn indent(text: &str, members: &[Member]) -> Option<String> {
    let before = &text[..members.first()?.at];
    let line = before.rsplit('\n').next().filter(|_| before.contains('\n'))?;
    (!line.is_empty() && line.chars().all(char::is_whitespace)).then(|| line.to_owned())
}

fn pretty(value: &Value, unit: &str) -> String {
    use serde::Serialize as _;
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    // Values have a JSON form, and memory takes it.
    let _ = value.serialize(&mut serializer);
    String::from_utf8(out).unwrap_or_default()
}

/// All lines but the first moved in by so many units.
fn nested(text: &str, unit: &str, depth: usize) -> String {
    text.replace('\n', &format!("\n{}", unit.repeat(depth)))
}

fn replaced(text: &str, range: &Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

/// With a new member at the end of the object that begins at `start`.
fn inserted(
    text: &str,
    start: usize,
    members: &[Member],
    key: &str,
    value: &Value,
    (unit, depth): (&str, usize),
) -> String {
    let member = format!("{}: {}", Value::from(key), nested(&pretty(value, unit), unit, depth));
    let line = format!("\n{}", unit.repeat(depth));
    if let Some(last) = members.last() {
        return replaced(text, &(last.value.end..last.value.end), &format!(",{line}{member}"));
    }
    let end = skip_space(text.as_bytes(), start + 1);
    replaced(text, &(start + 1..end), &format!("{line}{member}\n{}", unit.repeat(depth - 1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn entry() -> Value {
        json!({ "command": "/bin/situated", "args": ["mcp"] })
    }

    fn set(text: &str) -> Result<Option<String>, Refusal> {
        with_entry(text, "mcpServers", "situated", &entry())
    }

    #[test]
    fn what_stands_there_stays() {
        let text = "{\n    \"zebra\": 1.50,\n    \"mcpServers\": {\n        \"b\": {\"command\": \"x, \\\"}\"},\n        \"a\": {}\n    },\n    \"apple\": [1,  2]\n}\n";
        let new = set(text).unwrap().unwrap();
        assert_eq!(
            new,
            text.replace(
                "\"a\": {}\n",
                "\"a\": {},\n        \"situated\": {\n            \"args\": [\n                \"mcp\"\n            ],\n            \"command\": \"/bin/situated\"\n        }\n"
            )
        );
        assert_eq!(set(&new), Ok(None), "once is enough");
        let old = new.replace("/bin/situated", "/old/situated");
        assert_eq!(set(&old).unwrap().unwrap(), new);
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
            assert_eq!(parsed["mcpServers"]["situated"], entry(), "{new}");
            if let Ok(Value::Object(before)) = serde_json::from_str(text.trim_start_matches('\u{FEFF}')) {
                assert!(before.iter().all(|(key, value)| key == "mcpServers" || parsed[key] == *value), "{new}");
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        assert!(matches!(set("{ // a comment\n}"), Err(Refusal::NotJson(_))));
        assert!(matches!(set("{\"a\": 1,}"), Err(Refusal::NotJson(_))));
        assert!(matches!(set("[1]"), Err(Refusal::Shape(_))));
        assert!(matches!(set("{\"mcpServers\": []}"), Err(Refusal::Shape(_))));
        assert!(matches!(set("{\"mcpServers\": {}, \"mcpServers\": {}}"), Err(Refusal::Shape(_))));
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
                    expected["mcpServers"]["situated"] = entry();
                    prop_assert_eq!(serde_json::from_str::<Value>(&new).unwrap(), expected);
                }
                Ok(None) => prop_assert!(false, "it was not there"),
                Err(_) => prop_assert!(!value.is_object() || value.get("mcpServers").is_some_and(|s| !s.is_object())),
            }
        }
    }
}
