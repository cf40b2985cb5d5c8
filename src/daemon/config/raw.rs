//! The file as typed: every scalar with its place, every vault, and every name that is not a key.
//!
//! The document is walked by hand rather than deserialised, since a deserialiser stops at the first problem and forgets
//! where values were.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, KEYS, Key, PROMPT_KEYS, SECTIONS, TEAM, TEAM_KEYS, VAULT, VAULT_KEYS};
use super::units::{Placed, Value, listed};
use super::{Problem, units};
use protocol::nearest::nearest;

/// Tables for other ways of writing contexts beside the one in force, each under a name.
const GENERATION: &str = "generation";

/// Sections that hold scalar keys.
pub(super) const CONTEXT: &str = "context";
pub(super) const CHUNK: &str = "chunk";
/// Tables in `[context]`.
const PROMPT: &str = "prompt";
const MODELS: &str = "models";
/// The tables in `[chunk]`.
const TYPES: &str = "types";
/// Their names' prefix.
pub(super) const CHUNK_TYPES: &str = "chunk.types";

/// A table as typed: a `[[vault]]` or `[[context.prompt]]`, which has no name, or a `[generation.NAME]` or
/// `[chunk.types.NAME]`. It holds only keys that such a table takes.
#[derive(Clone, Debug)]
pub(super) struct RawTable {
    pub name: Placed<String>,
    pub entries: Vec<(String, Placed<Value>)>,
}

impl RawTable {
    /// The value of a key, if it was given.
    pub(super) fn get(&self, key: &str) -> Option<&Placed<Value>> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

/// The whole file.
#[derive(Default)]
pub(super) struct RawConfig {
    pub scalars: Vec<(&'static Key, Placed<Value>)>,
    pub vaults: Vec<RawTable>,
    pub prompts: Vec<RawTable>,
    pub generations: Vec<RawTable>,
    pub types: Vec<RawTable>,
    pub teams: Vec<RawTable>,
    /// Model and its `[context.models."…"]` as TOML.
    pub models: Vec<(String, Placed<String>)>,
}

/// Collects problems with their places.
pub(super) struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
    pub problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    /// For one file with this text.
    pub(super) fn new(file: &'a Path, text: &'a str) -> Self {
        Reader { file, text, problems: Vec::new() }
    }

    /// Line and column (in characters) of a byte position, both from 1.
    fn place(&self, position: usize) -> (u32, u32) {
        let before = &self.text.as_bytes()[..position.min(self.text.len())];
        let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1);
        let line = before.split(|b| *b == b'\n').count();
        // Bytes that do not continue a character begin one.
        let column = before[line_start..].iter().filter(|b| **b & 0xC0 != 0x80).count() + 1;
        (line as u32, column as u32)
    }

    fn placed<T>(&self, value: T, span: &Range<usize>) -> Placed<T> {
        let (line, column) = self.place(span.start);
        Placed { value, line, column }
    }

    fn problem(&mut self, key: &str, span: &Range<usize>, message: impl Into<String>) {
        self.problem_at(key, &self.placed((), span), message);
    }

    /// Records a problem whose place is known already.
    pub(super) fn problem_at<T>(&mut self, key: &str, at: &Placed<T>, message: impl Into<String>) {
        let (file, key) = (Some(self.file.to_path_buf()), (!key.is_empty()).then(|| units::without_secrets(key)));
        let message = units::without_secrets(&message.into());
        self.problems.push(Problem { file, line: Some(at.line), column: Some(at.column), key, message });
    }

    /// Reads a value with one of the readers of [`units`], and records the problem if it fails.
    pub(super) fn take<T>(
        &mut self,
        key: &str,
        placed: &Placed<Value>,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        read(&placed.value).map_err(|message| self.problem_at(key, placed, message)).ok()
    }

    /// Sets what entries of a table say, by the `keys` of `section`; returns the names of those that are right. In
    /// problems, `full` precedes their names.
    pub(super) fn set<'e, T>(
        &mut self,
        (keys, section): (&'static [Key<T>], &str),
        full: &str,
        entries: impl IntoIterator<Item = &'e (String, Placed<Value>)>,
        into: &mut T,
    ) -> Vec<&'e str> {
        let mut set = Vec::new();
        for (name, placed) in entries {
            let (Some(key), full) = (keys::find(keys, section, name), format!("{full}.{name}")) else { continue };
            let items = match &placed.value {
                Value::List(items) if key.is_list => items.as_slice(),
                _ if key.is_list => {
                    let message = format!("write a list, such as `{name} = {}`", key.example);
                    self.problem_at(&full, placed, message);
                    continue;
                }
                _ => std::slice::from_ref(placed),
            };
            let right = items.iter().filter_map(|item| self.take(&full, item, |value| (key.set)(into, value)));
            if right.count() == items.len() {
                set.push(name.as_str());
            }
        }
        set
    }

    /// Reads the text; what could not be understood is in `problems`.
    pub(super) fn read(&mut self) -> RawConfig {
        let mut raw = RawConfig::default();
        let (document, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            let span = error.span().unwrap_or(0..0);
            let said = match (error.message().trim(), self.text.get(span.clone())) {
                ("duplicate key", Some(name)) => {
                    format!("duplicate key `{}`: it stands further up already, and what is new goes there", name.trim())
                }
                (said, _) => said.to_owned(),
            };
            self.problem("", &span, format!("this is not TOML: {said}"));
        }
        if !errors.is_empty() {
            // What the parser made of a broken file is a guess; problems with guesses would only confuse.
            return raw;
        }
        for (key, value) in in_order(document.get_ref()) {
            let name = key.get_ref().as_ref();
            let is_section = SECTIONS.iter().any(|(section, _)| *section == name);
            match value.get_ref() {
                rows if name == VAULT => raw.vaults = self.rows(VAULT, &key.span(), rows),
                DeValue::Table(table) if name == GENERATION => {
                    raw.generations = self.tables(GENERATION, CONTEXT, table);
                }
                DeValue::Table(table) if name == TEAM => raw.teams = self.tables(TEAM, TEAM, table),
                DeValue::Table(table) if is_section => self.section(name, table, &mut raw),
                _ if is_section => {
                    let message = format!("`{name}` is a section; write `[{name}]` on a line of its own");
                    self.problem(name, &key.span(), message);
                }
                DeValue::Table(_) | DeValue::Array(_) if keys::find(KEYS, "", name).is_none() => {
                    self.unknown_section(name, &key.span());
                }
                _ => self.scalar("", key, value, &mut raw),
            }
        }
        raw
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>, raw: &mut RawConfig) {
        for (key, value) in in_order(table) {
            match (section, key.get_ref().as_ref(), value.get_ref()) {
                (CONTEXT, PROMPT, rows) => raw.prompts = self.rows(keys::PROMPT, &value.span(), rows),
                (CONTEXT, MODELS, _) => self.models(value, raw),
                (CHUNK, TYPES, DeValue::Table(table)) => raw.types = self.tables(CHUNK_TYPES, CHUNK, table),
                (CHUNK, TYPES, _) => self.problem(CHUNK_TYPES, &key.span(), form(CHUNK_TYPES, CHUNK)),
                (CONTEXT, "model", DeValue::Table(_)) => self.problem(
                    "context.model",
                    &key.span(),
                    "what is known about models stands in `[context.models.\"ID\"]`; `model` names the one to ask",
                ),
                _ => self.scalar(section, key, value, raw),
            }
        }
    }

    fn scalar(
        &mut self,
        section: &str,
        key: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        raw: &mut RawConfig,
    ) {
        match keys::find(KEYS, section, key.get_ref()) {
            Some(known) => raw.scalars.push((known, self.value(value))),
            None => self.unknown_key(section, section, key.get_ref(), &key.span()),
        }
    }

    /// The tables `[prefix.NAME]`, each with keys of `section`.
    fn tables(&mut self, prefix: &str, section: &str, tables: &DeTable<'_>) -> Vec<RawTable> {
        let mut found = Vec::new();
        for (name, value) in in_order(tables) {
            let Some(table) = value.get_ref().as_table() else {
                self.problem(prefix, &name.span(), form(prefix, section));
                continue;
            };
            let kind = if section == CHUNK { CHUNK_TYPES } else { section };
            let full = format!("{prefix}.{}", name.get_ref());
            let name = self.placed(name.get_ref().to_string(), &name.span());
            found.push(self.table(name, kind, &full, table));
        }
        found
    }

    /// The tables `[[kind]]`.
    fn rows(&mut self, kind: &str, span: &Range<usize>, rows: &DeValue<'_>) -> Vec<RawTable> {
        let Some(rows) = rows.as_array().filter(|rows| rows.iter().all(|row| row.get_ref().is_table())) else {
            let message = format!("write `[[{kind}]]`, with two brackets, and its keys below: there may be several");
            self.problem(kind, span, message);
            return Vec::new();
        };
        let tables =
            rows.iter().filter_map(|row| Some((self.placed(String::new(), &row.span()), row.get_ref().as_table()?)));
        let tables: Vec<_> = tables.collect();
        tables.into_iter().map(|(name, table)| self.table(name, kind, kind, table)).collect()
    }

    /// A table of this kind; in problems, `full` precedes the names of its keys.
    fn table(&mut self, name: Placed<String>, kind: &str, full: &str, table: &DeTable<'_>) -> RawTable {
        let known = taken_by(kind);
        let mut entries = Vec::new();
        for (key, value) in in_order(table) {
            let key_name = key.get_ref().as_ref();
            if known.contains(&key_name) {
                entries.push((key_name.to_owned(), self.value(value)));
            } else {
                self.unknown_key(kind, full, key_name, &key.span());
            }
        }
        RawTable { name, entries }
    }

    /// Keeps what the user writes about models as it is: the crate `context`, which reads it, knows its keys.
    fn models(&mut self, value: &Spanned<DeValue<'_>>, raw: &mut RawConfig) {
        const EXPECTED: &str = "write `[context.models.\"ID\"]` and what is known about the model below";
        let Some(table) = value.get_ref().as_table() else {
            return self.problem("context.models", &value.span(), EXPECTED);
        };
        // Read once more without places, because only this form can be written out again.
        let plain = toml::from_str::<toml::Table>(self.text).ok();
        let plain = plain.as_ref().and_then(|all| all.get(CONTEXT)?.get(MODELS));
        for (id, model) in in_order(table) {
            let id_text = id.get_ref().as_ref();
            let text = plain.and_then(|models| toml::to_string(models.get(id_text)?.as_table()?).ok());
            match text {
                Some(text) => raw.models.push((id_text.to_owned(), self.placed(text, &id.span()))),
                None => self.problem("context.models", &model.span(), EXPECTED),
            }
        }
    }

    /// A value with its place, and the places of what it holds.
    fn value(&self, spanned: &Spanned<DeValue<'_>>) -> Placed<Value> {
        let value = match spanned.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(n) => {
                i64::from_str_radix(n.as_str(), n.radix()).map_or(Value::Other("a very large integer"), Value::Int)
            }
            DeValue::Float(x) => x.as_str().parse().map_or(Value::Other("a float"), Value::Float),
            DeValue::Boolean(b) => Value::Bool(*b),
            DeValue::Datetime(_) => Value::Other("a date"),
            DeValue::Array(items) => Value::List(items.iter().map(|item| self.value(item)).collect()),
            DeValue::Table(table) => {
                let entries = in_order(table).into_iter();
                Value::Table(entries.map(|(key, value)| (key.get_ref().to_string(), self.value(value))).collect())
            }
        };
        self.placed(value, &spanned.span())
    }

    fn unknown_section(&mut self, name: &str, span: &Range<usize>) {
        let mut sections: Vec<&str> = SECTIONS.iter().map(|(section, _)| *section).collect();
        sections.extend([VAULT, TEAM]);
        let message = nearest(name, sections.iter().copied()).map_or_else(
            || format!("there is no such section; there is {}", listed(&sections)),
            |near| {
                format!("there is no such section; did you mean `[{}]`?", if near == VAULT { "[vault]" } else { near })
            },
        );
        self.problem(name, span, message);
    }

    fn unknown_key(&mut self, section: &str, prefix: &str, name: &str, span: &Range<usize>) {
        let full = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        let message = if is_a_key(section, name) {
            format!("no key stands in this file; {}", units::where_keys_go(section))
        } else if section == CONTEXT && matches!(name, PROMPT | MODELS) {
            format!("`{CONTEXT}.{name}` holds for all generations; none has its own")
        } else {
            format!("there is no such key; {}", advice(section, name))
        };
        self.problem(&full, span, message);
    }
}

/// Whether the user seems to write a provider's key here.
pub(super) fn is_a_key(section: &str, name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    let words = ["key", "api_key", "apikey", "token", "api_token", "auth_token", "bearer", "secret", "password"];
    let keys = ["_api_key", "_secret_access_key", "_access_key_id", "_bearer_token"];
    matches!(section, CONTEXT | "" | "embed" | "rerank" | TEAM)
        && (words.contains(&&*name) || keys.iter().any(|end| name.ends_with(end)))
}

/// The keys that a section, or a table of this kind, takes.
fn taken_by(section: &str) -> Vec<&'static str> {
    match section {
        VAULT => keys::names(VAULT_KEYS, VAULT),
        keys::PROMPT => keys::names(PROMPT_KEYS, keys::PROMPT),
        TEAM => keys::names(TEAM_KEYS, TEAM),
        CHUNK_TYPES => keys::names(KEYS, CHUNK),
        _ => keys::names(KEYS, section),
    }
}

/// Says what a key that does not exist may have meant.
pub(super) fn advice(section: &str, name: &str) -> String {
    let mut here = taken_by(section);
    match section {
        CONTEXT => here.extend([PROMPT, MODELS]),
        CHUNK => here.push(TYPES),
        _ => {}
    }
    if let Some(near) = nearest(name, here.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    if let Some(key) = KEYS.iter().find(|key| key.name == name) {
        let place = if key.section.is_empty() {
            "above the first section".to_owned()
        } else {
            format!("in `[{}]`", key.section)
        };
        return format!("`{name}` belongs {place}");
    }
    if keys::find(VAULT_KEYS, VAULT, name).is_some() {
        return format!("`{name}` belongs in `[[vault]]`");
    }
    format!("there is {}", listed(&here))
}

/// How a table with a name is written.
fn form(prefix: &str, section: &str) -> String {
    format!("write `[{prefix}.NAME]` and keys of `[{section}]` below")
}

/// The entries of a table in the order of the file: the parser sorts them by name.
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Spanned<Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}
