//! The configuration as text: what is in force, and the commented file that `situated init` writes.

use std::fmt::Write as _;

use super::keys::{HIDDEN, KEYS, Key, SECTIONS, VAULT_KEYS};
use super::units::{self, quoted};
use super::{Config, Loaded, ValueOrigin, VaultConfig, team};
use context::settings::{ContextConfig, KindPrompt, Provider};
use note::chunk::ChunkConfig;
use protocol::folders::SHOWN_CONFIG;

/// One value in force.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ShownValue {
    /// `search.limit`, `vault.NAME.path`.
    pub key: String,
    /// As TOML.
    pub value: String,
    /// Which layer it came from.
    pub origin: String,
}

impl ShownValue {
    /// The last part of its key.
    fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or(&self.key)
    }
}

impl Loaded {
    /// Where a value came from.
    pub fn origin(&self, key: &str) -> &ValueOrigin {
        self.origins.get(key).unwrap_or(&ValueOrigin::Default)
    }

    /// Every value in force: those of the sections, then those of their tables.
    pub fn values(&self) -> Vec<ShownValue> {
        let (of_sections, others): (Vec<Table>, Vec<Table>) =
            self.tables().into_iter().partition(|table| table.section.is_some());
        let models = self.config.engine.context.models.iter();
        let models = models.map(|model| self.shown(format!("context.models.{}", model.model), model.table.clone()));
        let values_of = |tables: Vec<Table>| tables.into_iter().flat_map(|table| table.values);
        let mut values: Vec<ShownValue> = KEYS.iter().filter_map(|key| self.value(key)).collect();
        // The kind of a prompt is in the names of its other keys.
        values.extend(values_of(of_sections).filter(|value| value.name() != "kind"));
        values.extend(models.chain(values_of(others)));
        values
    }

    /// A TOML file that would give the same configuration; with `origin` every line says where it came from.
    pub fn show(&self, origin: bool) -> String {
        let (mut out, tables) = (String::new(), self.tables());
        for section in std::iter::once("").chain(SECTIONS.map(|(section, _)| section)) {
            if !section.is_empty() {
                let _ = writeln!(out, "\n[{section}]");
            }
            let keys = KEYS.iter().filter(|key| key.section == section);
            let values: Vec<ShownValue> = keys.filter_map(|key| self.value(key)).collect();
            push_values(&mut out, &values, origin);
            let below = tables.iter().filter(|table| table.section == Some(section));
            below.for_each(|table| table.push(&mut out, origin));
            if section == "context" {
                self.push_models(&mut out, origin);
            }
        }
        tables.iter().filter(|table| table.section.is_none()).for_each(|table| table.push(&mut out, origin));
        out
    }

    fn shown(&self, key: String, value: String) -> ShownValue {
        let origin = self.origin(&key).to_string();
        ShownValue { key, value, origin }
    }

    fn value(&self, key: &Key) -> Option<ShownValue> {
        (key.get)(&self.config).map(|value| self.shown(key.full(), value))
    }

    /// The tables, but for those of models.
    fn tables(&self) -> Vec<Table> {
        let table = |section, header: String, full: &str, values: Vec<(&'static str, String)>| {
            let values = values.into_iter().map(|(key, value)| self.shown(format!("{full}.{key}"), value));
            Table { section, header, values: values.collect() }
        };
        let engine = &self.config.engine;
        let mut tables = Vec::new();
        for (kind, config) in &engine.chunk.types {
            let (header, full) = (format!("[chunk.types.{}]", name(kind)), format!("chunk.types.{kind}"));
            tables.push(table(Some("chunk"), header, &full, type_values(config)));
        }
        for prompt in &engine.context.prompts {
            let full = format!("context.prompt.{}", prompt.kind);
            let mut prompt = table(Some("context"), "[[context.prompt]]".to_owned(), &full, prompt_values(prompt));
            // All of a prompt comes from one place.
            prompt.values.iter_mut().for_each(|value| value.origin = self.origin(&full).to_string());
            tables.push(prompt);
        }
        for (name, context) in &engine.generations {
            let full = format!("generation.{name}");
            tables.push(table(None, format!("[{full}]"), &full, self.generation_values(context)));
        }
        for (name, config) in &engine.teams {
            let full = format!("team.{name}");
            tables.push(table(None, format!("[{full}]"), &full, team::values(config)));
        }
        for vault in &engine.vaults {
            tables.push(table(None, "[[vault]]".to_owned(), &format!("vault.{}", vault.name), vault_values(vault)));
        }
        tables
    }

    /// The values in which a generation differs from what it takes from `[context]`.
    fn generation_values(&self, context: &ContextConfig) -> Vec<(&'static str, String)> {
        let (mut config, mut lent) = (self.config.clone(), self.config.clone());
        lent.engine.context = config.engine.context.lent_to(context.provider, context.base_url.as_deref());
        config.engine.context = context.clone();
        let value = |key: &Key| (key.get)(&config).filter(|value| (key.get)(&lent).as_ref() != Some(value));
        let keys = KEYS.iter().filter(|key| key.section == "context");
        keys.filter_map(|key| Some((key.name, value(key)?))).collect()
    }

    /// What the user wrote about models, which was TOML when it was read.
    fn push_models(&self, out: &mut String, origin: bool) {
        for model in &self.config.engine.context.models {
            let Ok(table) = model.table.parse::<toml::Table>() else { continue };
            let from = self.origin(&format!("context.models.{}", model.model)).to_string();
            let header = format!("[context.models.{}]", name(&model.model));
            let lines = table.iter().map(|(key, value)| format!("{} = {value}", name(key)));
            out.push('\n');
            push_aligned(out, std::iter::once(header).chain(lines).map(|line| (line, from.clone())).collect(), origin);
        }
    }
}

/// A table as it is shown.
struct Table {
    /// The section under which it stands; the others are at the end.
    section: Option<&'static str>,
    header: String,
    values: Vec<ShownValue>,
}

impl Table {
    fn push(&self, out: &mut String, origin: bool) {
        let _ = writeln!(out, "\n{}", self.header);
        push_values(out, &self.values, origin);
    }
}

/// Lines with values, each under the last part of its key; a secret one is a comment.
fn push_values(out: &mut String, values: &[ShownValue], origin: bool) {
    let line = |shown: &ShownValue| {
        let hidden = if shown.value == HIDDEN { "# " } else { "" };
        (format!("{hidden}{} = {}", shown.name(), shown.value), shown.origin.clone())
    };
    push_aligned(out, values.iter().map(line).collect(), origin);
}

fn type_values(config: &ChunkConfig) -> Vec<(&'static str, String)> {
    let ChunkConfig { strategy, target, min, max, overlap_percent } = config;
    vec![
        ("strategy", quoted(strategy.name())),
        ("target", target.to_string()),
        ("min", min.to_string()),
        ("max", max.to_string()),
        ("overlap", overlap_percent.to_string()),
    ]
}

fn prompt_values(prompt: &KindPrompt) -> Vec<(&'static str, String)> {
    let KindPrompt { kind, instructions, own, version } = prompt;
    let text = match own {
        Some(own) => ("template", one_line(own.text())),
        None => ("instructions", one_line(instructions)),
    };
    vec![("kind", quoted(kind)), text, ("version", version.to_string())]
}

/// A key of a table, in quotes only where it needs them.
fn name(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if bare { key.to_owned() } else { one_line(key) }
}

/// A TOML string on one line: keys must be, and long texts are easier to read so.
fn one_line(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            c if c.is_control() => write!(out, "\\u{:04X}", u32::from(c)),
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
    out
}

fn push_aligned(out: &mut String, lines: Vec<(String, String)>, origin: bool) {
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).min(48);
    for (line, from) in lines {
        // A control character in a path would end the comment and begin something else.
        let from: String = from.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let _ = if origin { writeln!(out, "{line:width$}  # {from}") } else { writeln!(out, "{line}") };
    }
}

fn vault_values(vault: &VaultConfig) -> Vec<(&'static str, String)> {
    let mut values = vec![("name", quoted(&vault.name)), ("path", quoted(&vault.path.to_string_lossy()))];
    let globs: Vec<String> = vault.exclude.iter().map(|glob| quoted(glob)).collect();
    values.push(("exclude", format!("[{}]", globs.join(", "))));
    if !vault.private.is_empty() {
        let globs: Vec<String> = vault.private.iter().map(|glob| quoted(glob)).collect();
        values.push(("private", format!("[{}]", globs.join(", "))));
    }
    values.push(("max_note_bytes", quoted(&units::show_bytes(vault.max_note_bytes))));
    if let Some(team) = &vault.publish {
        values.push(("publish", quoted(team)));
    }
    if let Some(poll) = vault.poll {
        values.push(("poll", poll.to_string()));
    }
    if vault.rules.comments {
        values.push(("comments", "true".to_owned()));
    }
    let kinds: Vec<String> =
        vault.rules.folders.iter().map(|(folder, kind)| format!("{} = {}", quoted(folder), quoted(kind))).collect();
    if !kinds.is_empty() {
        values.push(("kinds", format!("{{ {} }}", kinds.join(", "))));
    }
    values
}

/// A value for a key that has no default.
fn example(key: &Key) -> String {
    match key.name {
        "key_file" => quoted(&format!("{SHOWN_CONFIG}/{}", key.example)),
        _ => key.example.to_owned(),
    }
}

/// What the tables of `[chunk]` look like.
const TYPES: &str = r#"# The same for notes of a kind: what is not said is as above, or as its strategy has it.
#   [chunk.types.daily]
#   strategy = "sentence"
#   max = 1200
"#;

/// What the tables of `[context]` look like.
const TABLES: &str = r#"# Further instructions for notes of a kind ("*": all others); a higher version makes older contexts count as old.
#   [[context.prompt]]
#   kind = "meeting"
#   instructions = "Name who took part and what was decided."
#   version = 1
# Instead of `instructions`: `template`, your own prompt in the place of ours, with {document}, {chunk} (needed), {title},
# {type}, {tags}, {path}, {min_words} and {max_words}; or `preset`, "situate" or "prefix".
# What the compiled-in table does not know about a model, or knows wrongly, under the model's id.
#   [context.models."my-model"]
"#;

/// The commented file of `situated init`: the vaults, and every key with its default as a comment, but for the way of
/// writing contexts.
pub fn sample_file_of(vaults: &[VaultConfig], provider: Provider) -> String {
    let defaults = Config::new(super::default_data_dir(), Vec::new());
    let mut out = String::from(
        "# Configuration of situated. Every key has the default shown, or an example where there is none; remove a `#` to\n\
         # change one.\n\
         # `situated config check` checks this file, `situated config show --origin` says what is in force and why.\n\
         # A running daemon takes changes over on SIGHUP or `situated call reload`.\n",
    );
    for key in KEYS.iter().filter(|key| key.section.is_empty()) {
        let value = (key.get)(&defaults).unwrap_or_default();
        let _ = write!(out, "\n# {}\n# {} = {value}\n", key.about, key.name);
    }
    out.push_str("\n# The vaults: one [[vault]] for each. They are read, never written.\n[[vault]]\n");
    for (i, vault) in vaults.iter().enumerate() {
        if i == 0 {
            sample_vault(&mut out, vault);
        } else {
            let (name, path) = (quoted(&vault.name), quoted(&vault.path.to_string_lossy()));
            let _ = write!(out, "\n[[vault]]\nname = {name}\npath = {path}\n");
        }
    }
    for (section, about) in SECTIONS {
        let _ = write!(out, "\n# {about}\n[{section}]\n");
        for key in KEYS.iter().filter(|key| key.section == section) {
            let value = (key.get)(&defaults).unwrap_or_else(|| example(key));
            if key.full() == "context.provider" && provider != Provider::Template {
                let _ = writeln!(out, "# {}\n{} = {}", key.about, key.name, quoted(provider.name()));
                continue;
            }
            let _ = writeln!(out, "# {}\n# {} = {value}", key.about, key.name);
        }
        out.push_str(match section {
            "context" => TABLES,
            "chunk" => TYPES,
            _ => "",
        });
    }
    out.push_str(&team::sample());
    out
}

/// A vault with every key it can have, each explained.
fn sample_vault(out: &mut String, vault: &VaultConfig) {
    let values = vault_values(vault);
    for (key, about) in VAULT_KEYS {
        let value = values.iter().find(|(name, _)| *name == key).map(|(_, value)| value.as_str());
        let example = match key {
            "exclude" => "[\"Templates/\", \"*.draft.md\"]",
            "private" => "[\"Journal/\"]",
            "poll" | "comments" => "true",
            "publish" => "\"handbook\"",
            "kinds" => "{ \"Daily/\" = \"daily\", \"People/\" = \"person\" }",
            _ => "",
        };
        let given = matches!(key, "name" | "path")
            || (value.is_some_and(|value| value != "[]") && matches!(key, "exclude" | "private"));
        let shown = if given || example.is_empty() { value.unwrap_or(example) } else { example };
        // A key that needs a table further down cannot be uncommented alone.
        let mark = if given {
            ""
        } else if key == "publish" {
            "#   "
        } else {
            "# "
        };
        let _ = writeln!(out, "# {about}\n{mark}{key} = {shown}");
    }
}
