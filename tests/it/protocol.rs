//! Every example of `src/protocol/PROTOCOL.md`, run in order against a daemon over the sample vault. What is tested here is
//! the wire itself, so nothing is read by the types that the daemon writes with.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) const PROTOCOL: &str = include_str!("../../src/protocol/PROTOCOL.md");

/// Longer than any example takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A fenced block: what follows the fence's opening on its line, and its lines.
pub(crate) struct Block<'a> {
    pub(crate) info: &'a str,
    /// Where it begins, for messages.
    line: usize,
    pub(crate) lines: Vec<&'a str>,
}

pub(crate) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(info), None) => open = Some(Block { info, line: number + 1, lines: Vec::new() }),
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.lines.push(line);
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "the last fence is not closed");
    blocks
}

/// Writes the notes that the examples speak of into the vault.
pub(crate) fn add_notes(vault: &Path) {
    for block in blocks(PROTOCOL) {
        if let Some(path) = block.info.strip_prefix("markdown ") {
            let path = vault.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, block.lines.join("\n") + "\n").unwrap();
        }
    }
}

/// Whether `actual` is what `pattern` says; the rules stand in the specification.
fn matches(pattern: &Value, actual: &Value) -> bool {
    match (pattern, actual) {
        (Value::String(pattern), _) if pattern == "…" => true,
        (Value::String(pattern), Value::String(actual)) => text_matches(pattern, actual),
        (Value::Object(pattern), Value::Object(actual)) => {
            pattern.iter().all(|(key, pattern)| actual.get(key).is_some_and(|actual| matches(pattern, actual)))
        }
        (Value::Array(pattern), Value::Array(actual)) => {
            let open = pattern.last() == Some(&json!("…"));
            let fixed = &pattern[..pattern.len() - usize::from(open)];
            (actual.len() == fixed.len() || (open && actual.len() > fixed.len()))
                && fixed.iter().zip(actual).all(|(pattern, actual)| matches(pattern, actual))
        }
        _ => pattern == actual,
    }
}

fn text_matches(pattern: &str, actual: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('…') else {
        return pattern == actual;
    };
    let Some(mut actual) = actual.strip_prefix(head) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split('…').collect();
    let tail = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match actual.find(piece) {
            Some(at) => actual = &actual[at + piece.len()..],
            None => return false,
        }
    }
    actual.ends_with(tail)
}

fn run(block: &Block<'_>, socket: &Path) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for (offset, line) in block.lines.iter().enumerate() {
        let place = format!("PROTOCOL.md:{}", block.line + offset + 1);
        if let Some(sent) = line.strip_prefix("→ ") {
            stream.write_all(format!("{sent}\n").as_bytes()).unwrap_or_else(|error| panic!("{place}: {error}"));
        } else if let Some(expected) = line.strip_prefix("← ") {
            let pattern: Value = serde_json::from_str(expected).unwrap_or_else(|error| panic!("{place}: {error}"));
            expect(&pattern, &mut reader, &place);
        } else {
            panic!("{place}: neither → nor ←");
        }
    }
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    if !block.lines.iter().any(|line| line.contains("\"subscribe\"")) {
        let mut rest = String::new();
        reader.read_line(&mut rest).unwrap();
        assert_eq!(rest, "", "PROTOCOL.md:{}: one answer more than expected", block.line);
    }
}

fn expect(pattern: &Value, reader: &mut impl std::io::BufRead, place: &str) {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap_or_else(|error| panic!("{place}: nothing more came: {error}"));
        assert!(!line.is_empty(), "{place}: the connection ended");
        let actual: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{place}: {error}: {line}"));
        if matches(pattern, &actual) {
            return;
        }
        let is_notification = actual.get("id").is_none();
        assert!(is_notification, "{place}:\nexpected {pattern}\n     got {actual}");
    }
}

#[test]
fn every_example_of_the_specification() {
    let daemon = crate::support::sample_daemon("notes", add_notes);
    let examples: Vec<_> = blocks(PROTOCOL).into_iter().filter(|block| block.info == "json-rpc").collect();
    assert!(examples.len() > 10);
    for block in &examples {
        run(block, daemon.socket());
    }
}

#[test]
fn specification_and_schema_speak_of_the_same() {
    let schema = protocol::schema::schema();
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
    let methods = names(&schema["methods"]);
    // Headings name methods: ### `name` {…}, `name` {…}
    let headed = PROTOCOL
        .lines()
        .filter(|line| line.starts_with("### `"))
        .flat_map(|line| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(headed.collect::<BTreeSet<String>>(), methods, "headings and methods");
    let sent = |name: &str| format!("\"method\":\"{name}\"");
    let called = PROTOCOL.lines().filter_map(|line| line.strip_prefix("→ "));
    let called = called.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let called: BTreeSet<String> = called.filter_map(|request| request["method"].as_str().map(str::to_owned)).collect();
    let misspelt = BTreeSet::from(["frobnicate".to_owned(), "serach".to_owned()]);
    assert_eq!(&called - &misspelt, methods, "examples and methods");
    for notification in names(&schema["notifications"]) {
        // That of `ask` needs a model, which the examples do without.
        let shown =
            PROTOCOL.contains(&sent(&notification)) || PROTOCOL.contains(&format!("`{notification}` notification"));
        assert!(shown, "nothing is said of the notification `{notification}`");
    }
    for event in schema["notifications"]["event"]["oneOf"].as_array().unwrap() {
        let kind = event.pointer("/properties/kind/const").or_else(|| event.pointer("/allOf/0/properties/kind/const"));
        let kind = kind.and_then(Value::as_str).unwrap_or_else(|| panic!("{event}"));
        assert!(PROTOCOL.contains(&format!("`{kind}`")), "nothing is said of the event `{kind}`");
    }
    for error in schema["errors"].as_array().unwrap() {
        let row = format!("| {} | `{}` |", error["code"], error["kind"].as_str().unwrap());
        assert!(PROTOCOL.contains(&row), "the table of errors lacks {row}");
    }
}

#[test]
fn patterns() {
    let table = [
        (json!({"a": 1}), json!({"a": 1, "b": 2}), true),
        (json!({"a": 1, "c": "…"}), json!({"a": 1, "b": 2}), false),
        (json!({"a": "…"}), json!({"a": null}), true),
        (json!([1, "…"]), json!([1]), true),
        (json!([1, "…"]), json!([1, 2, 3]), true),
        (json!([1, "…"]), json!([2]), false),
        (json!([1]), json!([1, 2]), false),
        (json!([]), json!([]), true),
        (json!("a…c"), json!("abc"), true),
        (json!("a…c"), json!("ab"), false),
        (json!("…b…"), json!("abc"), true),
        (json!("…x…"), json!("abc"), false),
        (json!("ab…ba"), json!("aba"), false),
        (json!("a"), json!("ab"), false),
        (json!(1), json!(2), false),
    ];
    for (pattern, actual, expected) in table {
        assert_eq!(matches(&pattern, &actual), expected, "{pattern} {actual}");
    }
}
