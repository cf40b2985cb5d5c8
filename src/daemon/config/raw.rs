//! The file as typed: every scalar with its place, every vault, and all that no key is called like.
//!
//! The document is walked by hand rather than deserialised, since a deserialiser stops at the first problem
//! and forgets where values stood.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, KEYS, PROMPT_KEYS, SECTIONS, VAULT_KEYS};
use super::units::{Value, nearest};
use super::{Problem, units};

/// Ways of writing contexts beside the one in force, each under a name.
const GENERATION: &str = "generation";

/// Sections that hold scalar keys or vaults.
const VAULT: &str = "vault";
const CONTEXT: &str = "context";
/// Tables in `[context]`.
const PROMPT: &str = "prompt";
const MODELS: &str = "models";
const CHUNK: &str = "chunk";
/// The tables in `[chunk]`.
const TYPES: &str = "types";
/// Their names' prefix.
pub(super) const CHUNK_TYPES: &str = "chunk.types";

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed<T> {
    pub value: T,
    pub line: u32,
    pub column: u32,
}

/// Folders (or globs) and the kinds of their notes.
pub(super) type Kinds = Vec<(String, Placed<Value>)>;

/// A `[[vault]]` as typed.
#[derive(Clone, Debug, Default)]
pub(super) struct RawVault {
    pub line: u32,
    pub column: u32,
    pub name: Option<Placed<Value>>,
    pub path: Option<Placed<Value>>,
    pub exclude: Option<Placed<Vec<Placed<Value>>>>,
    pub private: Option<Placed<Vec<Placed<Value>>>>,
    pub max_note_bytes: Option<Placed<Value>>,
    pub poll: Option<Placed<Value>>,
    /// Folder and kind, in the order of the file.
    pub kinds: Option<Placed<Kinds>>,
}

/// A `[[context.prompt]]` as typed.
#[derive(Clone, Debug, Default)]
pub(super) struct RawPrompt {
    pub line: u32,
    pub column: u32,
    pub kind: Option<Placed<Value>>,
    pub instructions: Option<Placed<Value>>,
    pub version: Option<Placed<Value>>,
}

/// A `[generation.NAME]` or `[chunk.types.NAME]` as typed: keys of `[context]` or of `[chunk]`.
#[derive(Clone, Debug)]
pub(super) struct RawTable {
    pub name: Placed<String>,
    pub scalars: Vec<(String, Placed<Value>)>,
}

/// The whole file.
#[derive(Clone, Debug, Default)]
pub(super) struct RawConfig {
    pub generations: Vec<RawTable>,
    pub types: Vec<RawTable>,
    /// `section.name` and value.
    pub scalars: Vec<(String, Placed<Value>)>,
    pub vaults: Vec<RawVault>,
    pub prompts: Vec<RawPrompt>,
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

    fn problem(&mut self, key: &str, span: &Range<usize>, message: String) {
        let (line, column) = self.place(span.start);
        self.problems.push(Problem {
            file: Some(self.file.to_path_buf()),
            line: Some(line),
            column: Some(column),
            key: (!key.is_empty()).then(|| key.to_owned()),
            message,
        });
    }

    /// Reads the text; what could not be understood is in `problems`.
    pub(super) fn read(&mut self) -> RawConfig {
        let mut raw = RawConfig::default();
        let (document, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            let span = error.span().unwrap_or(0..0);
            self.problem("", &span, format!("this is not TOML: {}", error.message().trim()));
        }
        if !errors.is_empty() {
            // What the parser made of a broken file is a guess; problems with guesses would only confuse.
            return raw;
        }
        for (key, value) in in_order(document.get_ref()) {
            let name = key.get_ref().as_ref();
            match value.get_ref() {
                DeValue::Array(items) if name == VAULT => {
                    for item in items {
                        self.vault(item, &mut raw);
                    }
                }
                _ if name == VAULT => {
                    self.problem(
                        VAULT,
                        &key.span(),
                        "write `[[vault]]`, with two brackets: there may be several".to_owned(),
                    );
                }
                DeValue::Table(table) if name == GENERATION => {
                    raw.generations = self.tables(GENERATION, CONTEXT, table);
                }
                DeValue::Table(table) if SECTIONS.iter().any(|(section, _)| *section == name) => {
                    self.section(name, table, &mut raw);
                }
                _ if SECTIONS.iter().any(|(section, _)| *section == name) => {
                    self.problem(
                        name,
                        &key.span(),
                        format!("`{name}` is a section; write `[{name}]` on a line of its own"),
                    );
                }
                scalar if keys::names_in("").contains(&name) => {
                    raw.scalars.push((name.to_owned(), self.placed(Self::scalar(scalar), &value.span())));
                }
                DeValue::Table(_) | DeValue::Array(_) => self.unknown_section(name, &key.span()),
                _ => self.unknown_key("", name, &key.span()),
            }
        }
        raw
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>, raw: &mut RawConfig) {
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            match (section, name) {
                (CONTEXT, PROMPT) => {
                    self.prompts(value, raw);
                    continue;
                }
                (CONTEXT, MODELS) => {
                    self.models(value, raw);
                    continue;
                }
                (CHUNK, TYPES) => {
                    match value.get_ref() {
                        DeValue::Table(table) => raw.types = self.tables(CHUNK_TYPES, CHUNK, table),
                        _ => self.problem(CHUNK_TYPES, &key.span(), form(CHUNK_TYPES, CHUNK)),
                    }
                    continue;
                }
                (CONTEXT, "model") if matches!(value.get_ref(), DeValue::Table(_)) => {
                    let message =
                        "what is known about models stands in `[context.models.\"ID\"]`; `model` names the one to ask";
                    self.problem("context.model", &key.span(), message.to_owned());
                    continue;
                }
                _ => {}
            }
            if keys::names_in(section).contains(&name) {
                raw.scalars
                    .push((format!("{section}.{name}"), self.placed(Self::scalar(value.get_ref()), &value.span())));
            } else {
                self.unknown_key(section, name, &key.span());
            }
        }
    }

    /// The tables `[prefix.NAME]`, each with keys of `section`.
    fn tables(&mut self, prefix: &str, section: &str, tables: &DeTable<'_>) -> Vec<RawTable> {
        let mut found = Vec::new();
        for (name, value) in in_order(tables) {
            let Some(keys) = value.get_ref().as_table() else {
                self.problem(prefix, &name.span(), form(prefix, section));
                continue;
            };
            let mut scalars = Vec::new();
            for (key, value) in in_order(keys) {
                let key_name = key.get_ref().as_ref();
                if keys::names_in(section).contains(&key_name) {
                    scalars.push((key_name.to_owned(), self.placed(Self::scalar(value.get_ref()), &value.span())));
                } else if section == CHUNK {
                    let message = format!("there is no such key; {}", advice(CHUNK_TYPES, key_name));
                    self.problem(&format!("{prefix}.{}.{key_name}", name.get_ref()), &key.span(), message);
                } else {
                    self.unknown_key(section, key_name, &key.span());
                }
            }
            let name = self.placed(name.get_ref().to_string(), &name.span());
            found.push(RawTable { name, scalars });
        }
        found
    }

    fn vault(&mut self, item: &Spanned<DeValue<'_>>, raw: &mut RawConfig) {
        let DeValue::Table(table) = item.get_ref() else {
            self.problem(VAULT, &item.span(), "write `[[vault]]` with its keys below".to_owned());
            return;
        };
        let (line, column) = self.place(item.span().start);
        let mut vault = RawVault { line, column, ..RawVault::default() };
        for (key, value) in in_order(table) {
            let scalar = self.placed(Self::scalar(value.get_ref()), &value.span());
            match key.get_ref().as_ref() {
                "name" => vault.name = Some(scalar),
                "path" => vault.path = Some(scalar),
                "max_note_bytes" => vault.max_note_bytes = Some(scalar),
                "poll" => vault.poll = Some(scalar),
                "exclude" => vault.exclude = self.list("exclude", value),
                "private" => vault.private = self.list("private", value),
                "kinds" => vault.kinds = self.kinds(value),
                name => self.unknown_key(VAULT, name, &key.span()),
            }
        }
        raw.vaults.push(vault);
    }

    fn prompts(&mut self, value: &Spanned<DeValue<'_>>, raw: &mut RawConfig) {
        let tables: Option<Vec<_>> = match value.get_ref() {
            DeValue::Array(items) => {
                items.iter().map(|item| item.get_ref().as_table().map(|t| (item.span(), t))).collect()
            }
            _ => None,
        };
        let Some(tables) = tables else {
            let message = "write `[[context.prompt]]`, with two brackets, and its keys below: there may be several";
            self.problem("context.prompt", &value.span(), message.to_owned());
            return;
        };
        for (span, table) in tables {
            let (line, column) = self.place(span.start);
            let mut prompt = RawPrompt { line, column, ..RawPrompt::default() };
            for (key, value) in in_order(table) {
                let scalar = self.placed(Self::scalar(value.get_ref()), &value.span());
                match key.get_ref().as_ref() {
                    "kind" => prompt.kind = Some(scalar),
                    "instructions" => prompt.instructions = Some(scalar),
                    "version" => prompt.version = Some(scalar),
                    name => self.unknown_key("context.prompt", name, &key.span()),
                }
            }
            raw.prompts.push(prompt);
        }
    }

    /// What the user knows about models is kept as it is: whoever reads it knows its keys.
    fn models(&mut self, value: &Spanned<DeValue<'_>>, raw: &mut RawConfig) {
        const EXPECTED: &str = "write `[context.models.\"ID\"]` and what is known about the model below";
        let Some(table) = value.get_ref().as_table() else {
            self.problem("context.models", &value.span(), EXPECTED.to_owned());
            return;
        };
        // Read once more without places, for only this form can be written out again.
        let plain = toml::from_str::<toml::Table>(self.text).ok();
        let plain = plain.as_ref().and_then(|all| all.get(CONTEXT)?.get(MODELS));
        for (id, model) in in_order(table) {
            let id_text = id.get_ref().as_ref();
            let text = plain.and_then(|models| toml::to_string(models.get(id_text)?.as_table()?).ok());
            match text {
                Some(text) => raw.models.push((id_text.to_owned(), self.placed(text, &id.span()))),
                None => self.problem("context.models", &model.span(), EXPECTED.to_owned()),
            }
        }
    }

    fn list(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Placed<Vec<Placed<Value>>>> {
        let DeValue::Array(items) = value.get_ref() else {
            let message = format!("write a list, such as `{key} = [\"Templates/\", \"*.draft.md\"]`");
            self.problem(&format!("vault.{key}"), &value.span(), message);
            return None;
        };
        let list = items.iter().map(|item| self.placed(Self::scalar(item.get_ref()), &item.span())).collect();
        Some(self.placed(list, &value.span()))
    }

    fn kinds(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Placed<Kinds>> {
        let DeValue::Table(table) = value.get_ref() else {
            self.problem(
                "vault.kinds",
                &value.span(),
                "write a table, such as `kinds = { \"Daily/\" = \"daily\" }`".to_owned(),
            );
            return None;
        };
        let kinds = in_order(table)
            .into_iter()
            .map(|(folder, kind)| {
                (folder.get_ref().to_string(), self.placed(Self::scalar(kind.get_ref()), &kind.span()))
            })
            .collect();
        Some(self.placed(kinds, &value.span()))
    }

    fn scalar(value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(n) => {
                i64::from_str_radix(n.as_str(), n.radix()).map_or(Value::Other("a very large integer"), Value::Int)
            }
            DeValue::Float(x) => x.as_str().parse().map_or(Value::Other("a float"), Value::Float),
            DeValue::Boolean(b) => Value::Bool(*b),
            DeValue::Datetime(_) => Value::Other("a date"),
            DeValue::Array(_) => Value::Other("a list"),
            DeValue::Table(table) => {
                let item = |(key, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
                    (key.get_ref().to_string(), Self::scalar(value.get_ref()))
                };
                Value::Table(in_order(table).into_iter().map(item).collect())
            }
        }
    }

    fn unknown_section(&mut self, name: &str, span: &Range<usize>) {
        let mut sections: Vec<&str> = SECTIONS.iter().map(|(section, _)| *section).collect();
        sections.push(VAULT);
        let message = nearest(name, &sections).map_or_else(
            || format!("there is no such section; there is {}", listed(&sections)),
            |near| {
                format!("there is no such section; did you mean `[{}]`?", if near == VAULT { "[vault]" } else { near })
            },
        );
        self.problem(name, span, message);
    }

    fn unknown_key(&mut self, section: &str, name: &str, span: &Range<usize>) {
        let full = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
        if is_a_key(section, name) {
            self.problem(&full, span, format!("no key stands in this file; {}", units::where_keys_go(section)));
            return;
        }
        let message = format!("there is no such key; {}", advice(section, name));
        self.problem(&full, span, message);
    }
}

/// Whether somebody wants to write a provider's key here.
pub(super) fn is_a_key(section: &str, name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    let words = ["key", "api_key", "apikey", "token", "api_token", "auth_token", "bearer", "secret", "password"];
    let keys = ["_api_key", "_secret_access_key", "_access_key_id", "_bearer_token"];
    matches!(section, CONTEXT | "" | "embed" | "rerank")
        && (words.contains(&&*name) || keys.iter().any(|end| name.ends_with(end)))
}

/// What may have been meant by a key that does not exist.
pub(super) fn advice(section: &str, name: &str) -> String {
    let here: Vec<&str> = match section {
        VAULT => VAULT_KEYS.iter().map(|(key, _)| *key).collect(),
        "context.prompt" => PROMPT_KEYS.to_vec(),
        CONTEXT => keys::names_in(section).into_iter().chain([PROMPT, MODELS]).collect(),
        CHUNK => keys::names_in(section).into_iter().chain([TYPES]).collect(),
        CHUNK_TYPES => keys::names_in(CHUNK),
        _ => keys::names_in(section),
    };
    if let Some(near) = nearest(name, &here) {
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
    if VAULT_KEYS.iter().any(|(key, _)| *key == name) {
        return format!("`{name}` belongs in `[[vault]]`");
    }
    format!("there is {}", listed(&here))
}

/// How a table with a name is written.
fn form(prefix: &str, section: &str) -> String {
    format!("write `[{prefix}.NAME]` and keys of `[{section}]` below")
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The entries of a table in the order of the file: the parser sorts them by name.
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Spanned<Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Reads a scalar of a vault with one of the readers of [`units`], and notes the problem if it fails.
pub(super) fn take<T>(
    reader: &mut Reader<'_>,
    key: &str,
    placed: &Placed<Value>,
    read: impl FnOnce(&Value) -> Result<T, String>,
) -> Option<T> {
    read(&placed.value).map_err(|message| reader.problem_at(key, placed.line, placed.column, message)).ok()
}

impl Reader<'_> {
    /// Notes a problem whose place is known already.
    pub(super) fn problem_at(&mut self, key: &str, line: u32, column: u32, message: String) {
        self.problems.push(Problem {
            file: Some(self.file.to_path_buf()),
            line: Some(line),
            column: Some(column),
            key: Some(key.to_owned()),
            message,
        });
    }
}

/// A string of a list or table.
pub(super) fn text(reader: &mut Reader<'_>, key: &str, placed: &Placed<Value>) -> Option<String> {
    take(reader, key, placed, units::string)
}
