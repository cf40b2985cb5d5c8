//! The lenient reader of front matter, for text that is not YAML but clear to a person: `title: Foo: bar`, `tags:
//! [#a]`, `{{date}}`, tabs, a stray line. It reads line by line and never fails.

use serde_json::{Map, Value};

/// The longest key in bytes; a longer text before a colon is a sentence.
const LONGEST_KEY: usize = 100;

/// The properties in `yaml`; later ones win over earlier ones of the same name. Properties that hold `names` keep numbers
/// as they are written.
pub(super) fn read(yaml: &str, names: impl Fn(&str) -> bool) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut open: Option<Property> = None;
    for line in yaml.lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with("# ") || content == "#" {
            continue;
        }
        let top = !line.starts_with([' ', '\t']) && !is_item(content);
        match property(content).filter(|_| top) {
            Some((key, rest)) => {
                close(open.replace(Property::new(key, rest, names(key))), &mut properties);
            }
            None => {
                if let Some(property) = &mut open {
                    property.go_on(content);
                }
            }
        }
    }
    close(open, &mut properties);
    properties
}

/// Whether a line reads `key: value`.
pub(super) fn is_property(line: &str) -> bool {
    property(line.trim_end()).is_some()
}

/// The name of the property that a line begins.
pub(super) fn name(line: &str) -> Option<&str> {
    property(line.trim()).map(|(name, _)| name)
}

fn close(property: Option<Property>, properties: &mut Map<String, Value>) {
    if let Some(property) = property {
        properties.insert(property.key.to_owned(), property.value());
    }
}

/// A property whose lines are still being read.
struct Property<'a> {
    key: &'a str,
    rest: &'a str,
    /// Reads one of its values.
    scalar: fn(&str) -> Value,
    items: Vec<&'a str>,
    lines: Vec<&'a str>,
}

impl<'a> Property<'a> {
    fn new(key: &'a str, rest: &'a str, is_name: bool) -> Self {
        let scalar = if is_name { as_written } else { scalar };
        Property { key, rest, scalar, items: Vec::new(), lines: Vec::new() }
    }

    /// Takes a line that begins no property: an item of a list or more text.
    fn go_on(&mut self, content: &'a str) {
        if self.rest.is_empty() && self.lines.is_empty() && is_item(content) {
            self.items.push(content[1..].trim());
        } else {
            self.lines.push(content);
        }
    }

    fn value(self) -> Value {
        let block = matches!(self.rest, "|" | "|-" | "|+" | ">" | ">-" | ">+");
        if !self.items.is_empty() {
            // Text after items continues the list as far as a reader can tell.
            return self.items.into_iter().chain(self.lines).map(self.scalar).collect();
        }
        if self.lines.is_empty() {
            return if block { Value::Null } else { value(self.rest, self.scalar) };
        }
        if block || self.rest.is_empty() {
            return Value::String(self.lines.join("\n"));
        }
        let joined = format!("{} {}", self.rest, self.lines.join(" "));
        value(&joined, self.scalar)
    }
}

fn is_item(content: &str) -> bool {
    content == "-" || content.starts_with("- ") || content.starts_with("-\t")
}

/// Splits `key: rest`. Without a space after the colon the key has to be one word and the rest no URL.
fn property(line: &str) -> Option<(&str, &str)> {
    let colon = line.find(':').filter(|&colon| colon > 0 && colon <= LONGEST_KEY)?;
    let (key, rest) = (line[..colon].trim(), &line[colon + 1..]);
    let spaced = rest.is_empty() || rest.starts_with([' ', '\t']);
    let word = key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    if !(spaced || (word && !rest.starts_with([':', '/']))) || key.starts_with(['{', '[', '#', '%', '!', '<', '`']) {
        return None;
    }
    let key = unquote(key);
    (!key.is_empty()).then(|| (key, rest.trim()))
}

fn value(text: &str, scalar: fn(&str) -> Value) -> Value {
    let text = without_comment(text);
    // `[[Note]]` and `[[A]], [[B]]` are links; `[[[A]], [[B]]]` is a list of links.
    let is_link = text.starts_with("[[") && !text.starts_with("[[[");
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(inside) if !is_link => items(inside).into_iter().filter(|item| !item.is_empty()).map(scalar).collect(),
        _ => scalar(text),
    }
}

/// Splits at the commas outside quotes and brackets.
fn items(inside: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_u32, None);
    for (at, byte) in inside.bytes().enumerate() {
        match (byte, quote) {
            (b, Some(open)) => quote = (b != open).then_some(open),
            // A quote opens only where an item starts: an apostrophe is none.
            (b'"' | b'\'', None) if inside[start..at].trim().is_empty() => quote = Some(byte),
            (b'[' | b'{', None) => depth += 1,
            (b']' | b'}', None) => depth = depth.saturating_sub(1),
            (b',', None) if depth == 0 => {
                items.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(inside[start..].trim());
    items
}

pub(super) fn scalar(text: &str) -> Value {
    let text = without_comment(text);
    let inner = unquote(text);
    if inner.len() < text.len() {
        let unescaped = if text.starts_with('"') { inner.replace("\\\"", "\"") } else { inner.replace("''", "'") };
        return Value::String(unescaped);
    }
    match text {
        "" | "null" | "~" => return Value::Null,
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let numeric = digits.starts_with(|c: char| c.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0') || digits.starts_with("0."));
    let number = numeric.then(|| serde_json::from_str::<serde_json::Number>(text).ok()).flatten();
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// A scalar that is a number only if it is written as the number is.
fn as_written(text: &str) -> Value {
    let told = without_comment(text);
    match scalar(text) {
        Value::Number(number) if number.to_string() != told => Value::String(told.to_owned()),
        value => value,
    }
}

/// A comment is ` # ` with spaces on both sides; ` #tag` is a tag.
fn without_comment(text: &str) -> &str {
    if text.starts_with(['"', '\'']) { text.trim() } else { text.find(" # ").map_or(text, |at| &text[..at]).trim() }
}

fn unquote(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)))
        .unwrap_or(text)
}
