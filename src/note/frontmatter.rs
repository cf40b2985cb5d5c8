//! Front matter: cut out by hand and read as strict YAML, or by a lenient reader where it is not YAML; or as TOML or
//! JSON. No note can be lost here: at worst the front matter is read as text.

mod foreign;
mod repeated;

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};
use serde_saphyr::DuplicateKeyPolicy;

use super::dates::Named;
use super::{OwnDays, Warning, dates, lenient, outline};
use repeated::Unrepeated;

/// The name under which [`FrontMatter::properties`] has the fields that are not at the top of the text, in an object.
pub const FIELDS: &str = "::";

/// The longest front matter in bytes; the strict reader's budget is measured for it.
const LONGEST: usize = 64 * 1024;

/// The properties of a note.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
    /// `title`.
    pub title: Option<String>,
    /// `aliases` / `alias`.
    pub aliases: Vec<String>,
    /// `tags` / `tag`, without `#`; also those of Zola's `[taxonomies]`.
    pub tags: Vec<String>,
    /// `type` / `pageType` / `kind`, in lower case.
    pub kind: Option<String>,
    /// `description` / `summary` / `desc`.
    pub description: Option<String>,
    /// Every property, as a JSON object; with fields of the text under [`FIELDS`].
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
    /// The lines between the fences if they were read as YAML; else empty.
    pub(super) yaml: Range<usize>,
    /// Where the body starts.
    pub(super) body: usize,
    /// The lines between the fences, whether they were read or not.
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
    /// As TOML or JSON.
    Foreign,
    /// Line by line, since it is not YAML.
    Lenient,
    /// Not at all: it stays in the body.
    Text,
}

/// Reads the front matter that begins at `start`, if one does.
pub(super) fn read(text: &str, start: usize, warnings: &mut Vec<Warning>) -> Cut {
    let none = Cut { yaml: start..start, body: start, ..Cut::default() };
    if let Some((front, block, body)) = foreign::read(text, start) {
        return Cut { front, block, body, reading: Reading::Foreign, ..none };
    }
    let Some((yaml, body)) = fences(text, start, "---", &["---", "..."]) else {
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
            (lenient::read(slice, is_name), Reading::Lenient)
        }
    };
    Cut { front: typed(properties), block: yaml.clone(), yaml, body, reading }
}

fn begins_with_a_property(yaml: &str) -> bool {
    let told = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    yaml.lines().find(told).is_some_and(lenient::is_property)
}

/// The lines between a line at `start` that opens front matter and the next one that closes it, and what follows it.
fn fences(text: &str, start: usize, opens: &str, closes: &[&str]) -> Option<(Range<usize>, usize)> {
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == opens && line.ends_with('\n'))?;
    let open = start + first.len();
    let mut at = open;
    for line in lines {
        if closes.contains(&line.trim_end()) {
            return Some((open..at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// The options of the YAML reader; `duplicate_keys` says what it does with a key that occurs twice.
fn options(duplicate_keys: DuplicateKeyPolicy) -> serde_saphyr::Options {
    // An alias bomb has to stop within milliseconds; 64 KiB of honest properties stay far below.
    serde_saphyr::options! {
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
        duplicate_keys: duplicate_keys,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        with_snippet: false,
    }
}

/// Reads YAML 1.2 with the two liberties that notes need: the last of equal keys wins, and what YAML takes for a
/// comment, a nested list or a decimal (`tags: #a`, `up: [[Note]]`, `title: 007`) is read as it was meant. Fails with
/// the 1-based line of the error.
fn strict(yaml: &str) -> Result<Map<String, Value>, u32> {
    let mut properties = match serde_saphyr::from_str_with_options(yaml, options(DuplicateKeyPolicy::LastWins)) {
        Ok(Value::Object(properties)) => properties,
        Ok(Value::Null) => return Ok(Map::new()),
        Ok(_) => return Err(1),
        // Lines are counted here: YAML ends one at a lone carriage return, too; a note only at a line feed.
        Err(error) => {
            let before = error.location().map_or(0, |place| place.span().offset() as usize);
            return Err(1 + yaml.chars().take(before).filter(|c| *c == '\n').count() as u32);
        }
    };
    let meant = |(key, value): (&String, &Value)| {
        holds(value, Value::is_f64)
            || (is_name(key) && holds(value, Value::is_number))
            || (is_tags(key) && holds(value, Value::is_null))
    };
    if properties.iter().any(meant) {
        for (key, reading) in lenient::read(yaml, is_name) {
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

/// Whether a key occurs twice in YAML that is valid except for that, however the key is written: quoted, with a tag or
/// an anchor, behind a `?`.
pub(super) fn repeats_a_key(yaml: &str) -> bool {
    serde_saphyr::from_str_with_options::<Unrepeated>(yaml, options(DuplicateKeyPolicy::Error)).is_err()
}

/// Whether a property of this name holds tags.
pub(super) fn is_tags(key: &str) -> bool {
    same_name(key, "tags") || same_name(key, "tag")
}

/// Whether a property of this name holds what stands for tags in some programs: Zettlr's keywords, Hugo's categories.
pub(super) fn is_topics(key: &str) -> bool {
    ["keywords", "keyword", "categories", "category"].iter().any(|name| same_name(key, name))
}

/// Whether a property of this name holds other names of the note.
pub(super) fn is_aliases(key: &str) -> bool {
    same_name(key, "aliases") || same_name(key, "alias")
}

/// Whether a property of this name names something, so that a number is meant as it is written: `aliases: [1.10, 007]`.
fn is_name(key: &str) -> bool {
    same_name(key, "title") || is_tags(key) || is_aliases(key)
}

/// Whether it is true of a value, or of an item of a list.
fn holds(value: &Value, is: impl Fn(&Value) -> bool) -> bool {
    is(value) || value.as_array().is_some_and(|items| items.iter().any(is))
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

/// Names that programs and people give these days; those of publication last, for a clipped page has both.
const CREATED: [&str; 11] = [
    "created",
    "createdat",
    "datecreated",
    "creationdate",
    "createdon",
    "createdtime",
    "createddate",
    "ctime",
    "pubdate",
    "pubdatetime",
    "publishdate",
];
const MODIFIED: [&str; 14] = [
    "modified",
    "updated",
    "modifiedat",
    "updatedat",
    "datemodified",
    "lastmod",
    "lastmodified",
    "lastupdated",
    "lasteditedtime",
    "lastedited",
    "updateddate",
    "dateupdated",
    "modifieddate",
    "mtime",
];

/// Whether a property of this name says which day its note is about, or when it was made or changed.
pub fn dates_note(name: &str) -> bool {
    ["date"].iter().chain(&CREATED).chain(&MODIFIED).any(|known| same_name(name, known))
}

/// The days that properties name; `named` is what the file's name says.
pub(super) fn own_days(named: Option<Named>, properties: &Map<String, Value>) -> OwnDays {
    let day = |names: &[&str]| names.iter().find_map(|name| get(properties, &[name]).and_then(dates::from_value));
    OwnDays {
        about: day(&["date"]).or_else(|| named.map(|named| named.date)),
        created: day(&CREATED),
        modified: day(&MODIFIED),
    }
}

/// The properties that have a meaning here.
pub(super) fn typed(properties: Map<String, Value>) -> FrontMatter {
    let text = |names: &[&str]| get(&properties, names).and_then(plain_text);
    let mut aliases = Vec::new();
    for name in ["aliases", "alias"] {
        for_each_text(get(&properties, &[name]), |alias, listed| {
            let parts = if listed { vec![alias] } else { alias.split(',').collect() };
            aliases.extend(parts.into_iter().map(outline::fold));
        });
    }
    let mut tags = Vec::new();
    let taxonomies = properties.get("taxonomies").and_then(|all| all.get("tags"));
    for own in [get(&properties, &["tags"]), get(&properties, &["tag"]), taxonomies] {
        for_each_text(own, |tag, listed| {
            // In a list an item may hold spaces (Hugo, Jekyll); in a string they separate tags (Obsidian).
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
        properties,
    }
}

/// The value of the first of `names` that exists and is not null.
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
mod tests;
