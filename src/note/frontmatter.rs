//! Front matter: cut by hand, read as strict YAML, and by a lenient reader where vaults hold what is
//! no YAML. Nothing here can lose a note: at worst the front matter is read as text.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::{Warning, dates, lenient, outline};

/// The longest front matter in bytes; the strict reader's budget is measured for it.
const LONGEST: usize = 64 * 1024;

/// The properties of a note.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
    /// `title`.
    pub title: Option<String>,
    /// `aliases` / `alias`.
    pub aliases: Vec<String>,
    /// `tags` / `tag`, without `#`.
    pub tags: Vec<String>,
    /// `type` / `pageType` / `kind`, in lower case.
    pub kind: Option<String>,
    /// `description` / `summary` / `desc`.
    pub description: Option<String>,
    /// `created` / `date`.
    pub created: Option<jiff::civil::Date>,
    /// `modified` / `updated`.
    pub modified: Option<jiff::civil::Date>,
    /// Every property, as a JSON object.
    pub properties: Map<String, Value>,
}

impl FrontMatter {
    /// A property by name; case, `-`, `_` and spaces in names do not count unless a name fits exactly.
    pub fn property(&self, name: &str) -> Option<&Value> {
        get(&self.properties, &[name])
    }
}

/// What stands between the fences, and where the body starts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Cut {
    /// The properties; empty if there is no front matter.
    pub(super) front: FrontMatter,
    /// The lines between the fences.
    pub(super) yaml: Range<usize>,
    /// Where the body starts.
    pub(super) body: usize,
    /// What stands between the fences, whether it was read or not.
    pub(super) block: Range<usize>,
    /// How it was read.
    pub(super) reading: Reading,
}

/// How front matter was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reading {
    /// There is none, or its end is missing.
    #[default]
    None,
    /// As YAML.
    Strict,
    /// Line by line, for it is no YAML.
    Lenient,
    /// Not at all: it stays in the body.
    Text,
}

/// Reads the front matter that begins at `start`, if one does.
pub(super) fn read(text: &str, start: usize, warnings: &mut Vec<Warning>) -> Cut {
    let none = Cut { yaml: start..start, body: start, ..Cut::default() };
    let Some((yaml, body)) = fences(text, start) else {
        return none;
    };
    let slice = &text[yaml.clone()];
    let none = Cut { block: yaml.clone(), reading: Reading::Text, ..none };
    if yaml.len() > LONGEST {
        if begins_with_a_property(slice) {
            warnings.push(Warning { line: 1, message: "front matter over 64 KiB is read as text".to_owned() });
        }
        return none;
    }
    let (properties, reading) = match strict(slice) {
        Ok(properties) => (properties, Reading::Strict),
        Err(line) => {
            // Prose between two rules is no front matter and must stay in the body.
            if !begins_with_a_property(slice) {
                let message = "front matter without properties is read as text".to_owned();
                warnings.push(Warning { line: 1, message });
                return none;
            }
            let message = "front matter is not valid YAML and was read line by line".to_owned();
            warnings.push(Warning { line: line + 1, message });
            (lenient::read(slice), Reading::Lenient)
        }
    };
    Cut { front: typed(properties), block: yaml.clone(), yaml, body, reading }
}

fn begins_with_a_property(yaml: &str) -> bool {
    let told = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    yaml.lines().find(told).is_some_and(lenient::is_property)
}

/// The lines between a `---` line at `start` and the next `---` or `...` line, and what follows it.
fn fences(text: &str, start: usize) -> Option<(Range<usize>, usize)> {
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---" && line.ends_with('\n'))?;
    let open = start + first.len();
    let mut at = open;
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((open..at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// Reads YAML 1.2 with the two liberties that notes need: the last of equal keys wins, and what YAML
/// takes for a comment, a nested list or a decimal (`tags: #a`, `up: [[Note]]`, `title: 007`) is read as
/// it was meant. Fails with the 1-based line of the trouble.
fn strict(yaml: &str) -> Result<Map<String, Value>, u32> {
    // An alias bomb has to stop within milliseconds; 64 KiB of honest properties stay far below.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 32,
            flow_nesting_limit: 32,
            max_anchors: 200,
            max_aliases: 400,
            max_nodes: 60_000,
            max_events: 150_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 4_000,
            max_replay_stack_depth: 8,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        with_snippet: false,
    };
    let mut properties = match serde_saphyr::from_str_with_options(yaml, options) {
        Ok(Value::Object(properties)) => properties,
        Ok(Value::Null) => return Ok(Map::new()),
        Ok(_) => return Err(1),
        Err(error) => return Err(error.location().map_or(1, |place| place.line() as u32)),
    };
    let meant = |(key, value): (&String, &Value)| value.is_f64() || (is_tags(key) && holds_null(value));
    if properties.iter().any(meant) {
        for (key, reading) in lenient::read(yaml) {
            if let Some(value) = properties.get_mut(&key).filter(|value| meant((&key, value))) {
                *value = reading;
            }
        }
    }
    if yaml.contains("[[") {
        for value in properties.values_mut() {
            relink(value);
        }
    }
    Ok(properties)
}

/// Whether a property of this name holds tags.
pub(super) fn is_tags(key: &str) -> bool {
    same_name(key, "tags") || same_name(key, "tag")
}

fn holds_null(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(|items| items.iter().any(Value::is_null))
}

/// An unquoted `[[Note]]` is a list in a list to YAML; here it is a link again.
fn relink(value: &mut Value) {
    if let Some(link) = unquoted_link(value) {
        *value = link;
    } else if let Value::Array(items) = value {
        for item in items {
            if let Some(link) = unquoted_link(item) {
                *item = link;
            }
        }
    }
}

fn unquoted_link(value: &Value) -> Option<Value> {
    let [Value::Array(inner)] = value.as_array()?.as_slice() else {
        return None;
    };
    let parts: Option<Vec<&str>> = inner.iter().map(Value::as_str).collect();
    let parts = parts.filter(|parts| !parts.is_empty())?;
    Some(Value::String(format!("[[{}]]", parts.join(", "))))
}

const CREATED: [&str; 6] = ["created", "date", "createdat", "datecreated", "creationdate", "createdon"];
const MODIFIED: [&str; 8] =
    ["modified", "updated", "modifiedat", "updatedat", "datemodified", "lastmod", "lastmodified", "lastupdated"];

fn typed(properties: Map<String, Value>) -> FrontMatter {
    let text = |names: &[&str]| get(&properties, names).and_then(plain_text);
    let day = |names: &[&str]| names.iter().find_map(|name| get(&properties, &[name]).and_then(dates::from_value));
    let mut aliases = Vec::new();
    for name in ["aliases", "alias"] {
        for_each_text(get(&properties, &[name]), |alias, listed| {
            let parts = if listed { vec![alias] } else { alias.split(',').collect() };
            aliases.extend(parts.into_iter().map(outline::fold));
        });
    }
    let mut tags = Vec::new();
    for name in ["tags", "tag"] {
        for_each_text(get(&properties, &[name]), |tag, listed| {
            // In a list an item may hold spaces (Hugo, Jekyll); in a string they part tags (Obsidian).
            let parts = tag.split(|c: char| c == ',' || (c.is_whitespace() && (!listed || tag.contains('#'))));
            tags.extend(parts.map(|part| outline::fold(part.trim().trim_start_matches('#').trim_end_matches('/'))));
        });
    }
    FrontMatter {
        title: text(&["title"]),
        aliases: distinct(aliases),
        tags: distinct(tags),
        kind: text(&["type", "pagetype", "kind"]).map(|kind| kind.to_lowercase()),
        description: text(&["description", "summary", "desc"]),
        created: day(&CREATED),
        modified: day(&MODIFIED),
        properties,
    }
}

/// The first of `names` that is there and says something.
fn get<'a>(properties: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let told = |value: &&Value| !value.is_null();
    names.iter().find_map(|name| {
        let exact = properties.get(*name).filter(told);
        exact.or_else(|| {
            properties.iter().find(|(key, value)| same_name(key, name) && told(value)).map(|(_, value)| value)
        })
    })
}

fn same_name(a: &str, b: &str) -> bool {
    fn letters(name: &str) -> impl Iterator<Item = u8> {
        name.bytes().filter(|b| !matches!(b, b'-' | b'_' | b' ')).map(|b| b.to_ascii_lowercase())
    }
    letters(a).eq(letters(b))
}

/// A property as one line of text: lists give their first item, `[[links]]` their target's name.
fn plain_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => outline::fold(text),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(items) => {
            return items.first().filter(|first| !first.is_array()).and_then(plain_text);
        }
        _ => return None,
    };
    let link = text.strip_prefix("[[").and_then(|text| text.strip_suffix("]]")).filter(|link| !link.contains("[["));
    let text = link.map_or(text.as_str(), |link| link.rsplit(['|', '/']).next().unwrap_or(link).trim());
    (!text.is_empty()).then(|| text.to_owned())
}

/// Every text in a value and the lists in it, in order, with whether it stood in a list.
fn for_each_text(value: Option<&Value>, mut each: impl FnMut(&str, bool)) {
    let mut waiting: Vec<(&Value, bool)> = value.map(|value| (value, false)).into_iter().collect();
    while let Some((value, listed)) = waiting.pop() {
        match value {
            Value::String(text) => each(text, listed),
            Value::Number(number) => each(&number.to_string(), listed),
            Value::Bool(flag) => each(if *flag { "true" } else { "false" }, listed),
            Value::Array(items) => waiting.extend(items.iter().rev().map(|item| (item, true))),
            Value::Null | Value::Object(_) => {}
        }
    }
}

fn distinct(mut list: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::with_capacity(list.len());
    list.retain(|text| !text.is_empty() && seen.insert(text.to_lowercase()));
    list
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use serde_json::json;

    fn read_all(text: &str) -> (Cut, Vec<Warning>) {
        let mut warnings = Vec::new();
        (read(text, 0, &mut warnings), warnings)
    }

    fn front(yaml: &str) -> FrontMatter {
        read_all(&format!("---\n{yaml}\n---\nbody\n")).0.front
    }

    #[test]
    fn fences_stand_at_the_start_only() {
        for (text, body) in [
            ("---\na: 1\n---\nx", Some("x")),
            ("---\na: 1\n...\nx", Some("x")),
            ("---  \r\na: 1\r\n---\r\nx", Some("x")),
            ("---\n---\nx", Some("x")),
            ("---\na: 1\n---", Some("")),
            ("---\n# only a comment\n---\nx", Some("x")),
            ("\n---\na: 1\n---\nx", None),
            ("---\na: 1\nx", None),
            ("----\na: 1\n---\nx", None),
            ("---", None),
            ("", None),
            ("---\nSome words between two rules.\n---\nx", None),
            ("---\n\nSome words\n- [ between: two\n\n---\nx", None),
        ] {
            assert_eq!(text.get(read_all(text).0.body..), body.or(Some(text)), "{text:?}");
        }
        let (cut, warnings) = read_all("---\na: 1\n---\nx\n---\ny");
        assert_eq!((cut.body, cut.yaml, warnings), (13, 4..9, vec![]));
    }

    #[test]
    fn too_long_front_matter_is_text() {
        let long = format!("---\ntitle: T\n{}---\nbody", "key: value\n".repeat(7000));
        let (cut, warnings) = read_all(&long);
        assert_eq!((cut.body, warnings.len()), (0, 1));
        let rules = format!("---\n{}---\nbody", "Some prose.\n".repeat(7000));
        assert_eq!(read_all(&rules).1, vec![], "two rules far apart are nothing odd");
    }

    #[test]
    fn typed_fields() {
        let front = front(
            "title: \"A  title\"\naliases: [One, 'Two, too']\ntags:\n  - work/plan\n  - \"#Home\"\n  - [deep, er]\n  - home\n\
             pageType: Project\nsummary: >\n  Two\n  lines\ncreated: 2026-11-20T10:00:00+01:00\nupdated: 1795132800000\nrating: 4.5\n",
        );
        assert_eq!(front.title.as_deref(), Some("A title"));
        assert_eq!(front.aliases, ["One", "Two, too"]);
        assert_eq!(front.tags, ["work/plan", "Home", "deep", "er"]);
        assert_eq!(front.kind.as_deref(), Some("project"));
        assert_eq!(front.description.as_deref(), Some("Two lines"));
        assert_eq!(front.created, Some(jiff::civil::date(2026, 11, 20)));
        assert_eq!(front.modified, Some(jiff::civil::date(2026, 11, 20)));
        assert_eq!(front.properties["rating"], json!(4.5));
        assert_eq!(front.property("Page-Type"), Some(&json!("Project")));
    }

    #[test]
    fn names_of_properties_are_matched_loosely() {
        for yaml in [
            "Created: 2026-11-20",
            "created_at: 2026-11-20",
            "date created: 2026-11-20",
            "Date: 2026-11-20",
            "created:\ndate: 2026-11-20",
        ] {
            assert_eq!(front(yaml).created, Some(jiff::civil::date(2026, 11, 20)), "{yaml}");
        }
        assert_eq!(front("lastmod: 2026-11-20").modified, Some(jiff::civil::date(2026, 11, 20)));
    }

    #[test]
    fn tags_in_all_their_forms() {
        let ab: &[&str] = &["a", "b"];
        for (yaml, tags) in [
            ("tags: a, b", ab),
            ("tags: a b", ab),
            ("tags: '#a #b'", ab),
            ("tags: #a #b", ab),
            ("tags: [#a, #b]", ab),
            ("tags: [a, b, A]", ab),
            ("tags:\n- a\n- b", ab),
            ("tags:\n  - #a\n  - #b", ab),
            ("tags: a\ntag: b", ab),
            ("Tags: [a,b]", ab),
            ("tags:", &[]),
            ("tags: {a: b}", &[]),
            ("tags: [machine learning, 2026]", &["machine learning", "2026"]),
            ("tags: a/b/", &["a/b"]),
            ("tags: 007", &["007"]),
        ] {
            assert_eq!(front(yaml).tags, tags, "{yaml}");
        }
    }

    #[test]
    fn what_is_no_yaml_is_read_line_by_line() {
        for (yaml, key, value) in [
            ("title: Foo: bar", "title", json!("Foo: bar")),
            ("title: {{title}}", "title", json!("{{title}}")),
            ("date: {{date:YYYY-MM-DD}}\nn: 5", "n", json!(5)),
            ("a: [x, 'y, z', [[L, M]]]\nb: c: d", "a", json!(["x", "y, z", "[[L, M]]"])),
            ("a:\n\t- x\n\t- y\nb: c: d", "a", json!(["x", "y"])),
            ("a: |\n  one\n  two\nb: c: d", "a", json!("one\ntwo")),
            ("a: one\n  two\nb: c: d", "a", json!("one two")),
            ("a: \"it's \\\"so\\\"\"\nb: c: d", "a", json!("it's \"so\"")),
            ("a: true # yes\nb: c: d", "a", json!(true)),
            ("a: 012\nb: c: d", "a", json!("012")),
            ("a: -1.5\nb: c: d", "a", json!(-1.5)),
            ("a:\nb: c: d", "a", json!(null)),
            ("a: @x", "a", json!("@x")),
            ("a: *none", "a", json!("*none")),
            ("a: [[A]], [[B]]", "a", json!("[[A]], [[B]]")),
            ("a: https://x.y/z\nb: c: d", "a", json!("https://x.y/z")),
            ("title: 'Don't'", "title", json!("Don't")),
        ] {
            let (cut, warnings) = read_all(&format!("---\n{yaml}\n---\n"));
            assert_eq!(cut.front.properties.get(key), Some(&value), "{yaml}");
            assert_eq!(warnings.len(), 1, "{yaml}");
        }
        let (_, warnings) = read_all("---\na: 1\ntitle: Foo: bar\n---\n");
        assert_eq!(warnings[0].line, 3);
    }

    #[test]
    fn liberties_of_the_strict_reader() {
        for (yaml, key, value) in [
            ("a: 1\na: 2", "a", json!(2)),
            ("up: [[Note]]", "up", json!("[[Note]]")),
            ("up:\n  - [[A]]\n  - [[B|b]]", "up", json!(["[[A]]", "[[B|b]]"])),
            ("id: 007", "id", json!("007")),
            ("a: yes", "a", json!("yes")),
            ("a: 2026-11-20", "a", json!("2026-11-20")),
            ("a: &x [1]\nb: *x", "b", json!([1])),
            ("a: .nan", "a", json!(".nan")),
            ("a: {b: {c: d}}", "a", json!({"b": {"c": "d"}})),
        ] {
            let (cut, warnings) = read_all(&format!("---\n{yaml}\n---\n"));
            assert_eq!(cut.front.properties.get(key), Some(&value), "{yaml}");
            assert_eq!(warnings, vec![], "{yaml}");
        }
    }

    #[test]
    fn bombs_go_off_harmlessly() {
        let mut bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for i in 1..30 {
            let refs = vec![format!("*a{}", i - 1); 9].join(", ");
            let _ = writeln!(bomb, "a{i}: &a{i} [{refs}]");
        }
        let (cut, warnings) = read_all(&format!("---\n{bomb}---\nbody"));
        assert_eq!((cut.front.properties.len(), warnings.len()), (30, 1), "read line by line");
        let deep = format!("---\na: {}\n---\n", "[".repeat(30_000));
        assert_eq!(read_all(&deep).1.len(), 1);
        let mut many = String::new();
        for i in 0..6000 {
            let _ = writeln!(many, "k{i}: 1");
        }
        assert_eq!(read_all(&format!("---\n{many}---\n")).0.front.properties.len(), 6000);
    }
}
