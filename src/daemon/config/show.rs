//! The configuration as text: what is in force, and the commented file that `situated init` writes.

use std::fmt::Write as _;

use super::keys::{KEYS, Key, PROMPT_KEYS, SECTIONS, TEAM_KEYS, VAULT_KEYS};
use super::shown::HIDDEN;
use super::units::{one_line, quoted};
use super::{Config, Loaded, ValueOrigin, VaultConfig};
use context::settings::{ContextConfig, Provider};
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
            let values: Vec<ShownValue> = in_section(section).filter_map(|key| self.value(key)).collect();
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
        for (kind, chunk) in &engine.chunk.types {
            let (header, full) = (format!("[chunk.types.{}]", name(kind)), format!("chunk.types.{kind}"));
            let mut config = self.config.clone();
            config.engine.chunk.plain = *chunk;
            tables.push(table(Some("chunk"), header, &full, values(in_section("chunk"), &config)));
        }
        for prompt in &engine.context.prompts {
            let full = format!("context.prompt.{}", prompt.kind);
            let mut prompt =
                table(Some("context"), "[[context.prompt]]".to_owned(), &full, values(PROMPT_KEYS, prompt));
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
            tables.push(table(None, format!("[{full}]"), &full, values(TEAM_KEYS, config)));
        }
        for vault in &engine.vaults {
            let full = format!("vault.{}", vault.name);
            tables.push(table(None, "[[vault]]".to_owned(), &full, values(VAULT_KEYS, vault)));
        }
        tables
    }

    /// The values in which a generation differs from what it takes from `[context]`.
    fn generation_values(&self, context: &ContextConfig) -> Vec<(&'static str, String)> {
        let (mut config, mut lent) = (self.config.clone(), self.config.clone());
        lent.engine.context = config.engine.context.lent_to(context.provider, context.base_url.as_deref());
        config.engine.context = context.clone();
        let differs = |key: &&Key| (key.get)(&config) != (key.get)(&lent);
        values(in_section("context").filter(differs), &config)
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

/// The keys of a section.
fn in_section(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.section == section)
}

/// The values that a table has for its keys.
fn values<'k, T: 'static>(keys: impl IntoIterator<Item = &'k Key<T>>, table: &T) -> Vec<(&'static str, String)> {
    keys.into_iter().filter_map(|key| Some((key.name, (key.get)(table)?))).collect()
}

/// A key of a table, in quotes only where it needs them.
fn name(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if bare { key.to_owned() } else { one_line(key) }
}

fn push_aligned(out: &mut String, lines: Vec<(String, String)>, origin: bool) {
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).min(48);
    for (line, from) in lines {
        // A control character in a path would end the comment and begin something else.
        let from: String = from.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let _ = if origin { writeln!(out, "{line:width$}  # {from}") } else { writeln!(out, "{line}") };
    }
}

/// A value for a key that has no default.
fn example<T>(key: &Key<T>) -> String {
    match key.name {
        "key_file" | "ca_file" => quoted(&format!("{SHOWN_CONFIG}/{}", key.example)),
        _ => key.example.to_owned(),
    }
}

/// What the tables of `[chunk]` look like.
const TYPES: &str = r#"# The same for notes of a kind: what is not said is as above, or as its strategy has it.
#   [chunk.types.daily]
#   strategy = "sentence"
#   max = 1200
"#;

/// What stands above the table of a team.
const TEAMS: &str = "
# A team's notes on a Qdrant server: read beside the vaults here, and published by their keeper.
#   [team.handbook]
";

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
#   input = 0.25    # dollars for a million tokens read; price = "free" or "unknown" instead
#   output = 1.25   # and written
#   context_size = 128000
# A second set of contexts, of other keys of [context]: `situated generations build NAME` builds it beside this one.
#   [generation.second]
#   model = "another-model"
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
    for key in in_section("") {
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
        for key in in_section(section) {
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
    out.push_str(TEAMS);
    for key in TEAM_KEYS {
        let _ = writeln!(out, "# {}\n#   {} = {}", key.about, key.name, example(key));
    }
    out
}

/// A vault with every key it can have, each explained.
fn sample_vault(out: &mut String, vault: &VaultConfig) {
    for key in VAULT_KEYS {
        let value = (key.get)(vault).unwrap_or_default();
        let given = match key.name {
            "name" | "path" => true,
            "exclude" | "private" => !matches!(value.as_str(), "" | "[]"),
            _ => false,
        };
        let shown = if given || key.example.is_empty() { &value } else { key.example };
        let mark = match key.name {
            _ if given => "",
            // It needs a table further down, so it cannot be uncommented alone.
            "publish" => "#   ",
            _ => "# ",
        };
        let _ = writeln!(out, "# {}\n{mark}{} = {shown}", key.about, key.name);
    }
}
