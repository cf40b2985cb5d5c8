//! The configuration as text: what is in force, and the commented file that `situated init` writes.

use std::fmt::Write as _;

use super::keys::{HIDDEN, KEYS, Key, SECTIONS, VAULT_KEYS};
use super::{Config, Loaded, ValueOrigin, VaultConfig, team, units};
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

impl Loaded {
    /// Where a value came from.
    pub fn origin(&self, key: &str) -> &ValueOrigin {
        self.origins.get(key).unwrap_or(&ValueOrigin::Default)
    }

    /// Every value in force, in the order of [`Loaded::show`].
    pub fn values(&self) -> Vec<ShownValue> {
        let shown = |key: String, value: String| {
            let origin = self.origin(&key).to_string();
            ShownValue { key, value, origin }
        };
        let mut values = Vec::new();
        for key in KEYS {
            values.extend((key.get)(&self.config).map(|value| shown(key.full(), value)));
        }
        for (kind, config) in &self.config.engine.chunk.types {
            let value = |(key, value)| shown(format!("chunk.types.{kind}.{key}"), value);
            values.extend(type_values(config).into_iter().map(value));
        }
        for prompt in &self.config.engine.context.prompts {
            let full = format!("context.prompt.{}", prompt.kind);
            let origin = self.origin(&full).to_string();
            let value = |(key, value)| ShownValue { key: format!("{full}.{key}"), value, origin: origin.clone() };
            values.extend(prompt_values(prompt).into_iter().skip(1).map(value));
        }
        for model in &self.config.engine.context.models {
            values.push(shown(format!("context.models.{}", model.model), model.table.clone()));
        }
        for (name, context) in &self.config.engine.generations {
            let value = |(key, value)| shown(format!("generation.{name}.{key}"), value);
            values.extend(self.generation_values(context).into_iter().map(value));
        }
        for (name, config) in &self.config.engine.teams {
            let value = |(key, value)| shown(format!("team.{name}.{key}"), value);
            values.extend(team::values(config).into_iter().map(value));
        }
        for vault in &self.config.engine.vaults {
            for (key, value) in vault_values(vault) {
                values.push(shown(format!("vault.{}.{key}", vault.name), value));
            }
        }
        values
    }

    /// A TOML file that would give the same configuration; with `origin` every line says where it came from.
    pub fn show(&self, origin: bool) -> String {
        let mut out = String::new();
        let mut lines: Vec<(String, String)> = Vec::new();
        for section in std::iter::once("").chain(SECTIONS.map(|(section, _)| section)) {
            if !section.is_empty() {
                let _ = writeln!(out, "\n[{section}]");
            }
            for key in KEYS.iter().filter(|key| key.section == section) {
                if let Some(value) = (key.get)(&self.config) {
                    let hidden = if value == HIDDEN { "# " } else { "" };
                    lines.push((format!("{hidden}{} = {value}", key.name), self.origin(&key.full()).to_string()));
                }
            }
            push_aligned(&mut out, &mut lines, origin);
            match section {
                "context" => self.show_tables(&mut out, origin),
                "chunk" => self.show_types(&mut out, origin),
                _ => {}
            }
        }
        let generations = self.config.engine.generations.iter();
        let generations =
            generations.map(|(name, context)| (format!("generation.{name}"), self.generation_values(context)));
        let teams = self.config.engine.teams.iter();
        let teams = teams.map(|(name, config)| (format!("team.{name}"), team::values(config)));
        for (table, values) in generations.chain(teams) {
            let _ = writeln!(out, "\n[{table}]");
            lines.extend(values.into_iter().map(|(key, value)| {
                let hidden = if value == HIDDEN { "# " } else { "" };
                (format!("{hidden}{key} = {value}"), self.origin(&format!("{table}.{key}")).to_string())
            }));
            push_aligned(&mut out, &mut lines, origin);
        }
        for vault in &self.config.engine.vaults {
            out.push_str("\n[[vault]]\n");
            for (key, value) in vault_values(vault) {
                lines.push((
                    format!("{key} = {value}"),
                    self.origin(&format!("vault.{}.{key}", vault.name)).to_string(),
                ));
            }
            push_aligned(&mut out, &mut lines, origin);
        }
        out
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

    /// The tables of `[chunk]`.
    fn show_types(&self, out: &mut String, origin: bool) {
        let mut lines = Vec::new();
        for (kind, config) in &self.config.engine.chunk.types {
            let _ = writeln!(out, "\n[chunk.types.{}]", name(kind));
            lines.extend(type_values(config).into_iter().map(|(key, value)| {
                (format!("{key} = {value}"), self.origin(&format!("chunk.types.{kind}.{key}")).to_string())
            }));
            push_aligned(out, &mut lines, origin);
        }
    }

    /// The tables of `[context]`.
    fn show_tables(&self, out: &mut String, origin: bool) {
        let mut lines = Vec::new();
        for prompt in &self.config.engine.context.prompts {
            out.push_str("\n[[context.prompt]]\n");
            let from = self.origin(&format!("context.prompt.{}", prompt.kind)).to_string();
            lines.extend(
                prompt_values(prompt).into_iter().map(|(key, value)| (format!("{key} = {value}"), from.clone())),
            );
            push_aligned(out, &mut lines, origin);
        }
        for model in &self.config.engine.context.models {
            // It was TOML when it was read.
            let Ok(table) = model.table.parse::<toml::Table>() else { continue };
            let from = self.origin(&format!("context.models.{}", model.model)).to_string();
            out.push('\n');
            lines.push((format!("[context.models.{}]", name(&model.model)), from.clone()));
            lines.extend(table.iter().map(|(key, value)| (format!("{} = {value}", name(key)), from.clone())));
            push_aligned(out, &mut lines, origin);
        }
    }
}

fn type_values(config: &ChunkConfig) -> [(&'static str, String); 5] {
    let ChunkConfig { strategy, target, min, max, overlap_percent } = config;
    [
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

fn push_aligned(out: &mut String, lines: &mut Vec<(String, String)>, origin: bool) {
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).min(48);
    for (line, from) in lines.drain(..) {
        // A control character in a path would end the comment and begin something else.
        let from: String = from.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let _ = if origin { writeln!(out, "{line:width$}  # {from}") } else { writeln!(out, "{line}") };
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
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
fn example(key: &str) -> String {
    let example = match key {
        "context.model" | "ask.model" => "\"claude-haiku-5-5\"",
        "rerank.model" => "\"rerank-v5.0-pro\"",
        "rerank.when" => "\"always\"",
        "rerank.top" => "100",
        "rerank.deadline" => "\"1500ms\"",
        "rerank.base_url" => "\"http://127.0.0.1:8080\"",
        "rerank.key_file" => return quoted(&format!("{SHOWN_CONFIG}/rerank-key")),
        "rerank.key_command" => "\"pass show reranker\"",
        "rerank.key_credential" => "\"reranker-key\"",
        "rerank.price_per_mtok" => "0.05",
        "rerank.price_per_1k" => "2.00",
        "context.base_url" => "\"http://127.0.0.1:11434\"",
        "context.dialect" => "\"compat\"",
        "context.min_words" => "50",
        "context.max_document_tokens" => "12000",
        "embed.model" => "\"nomic-embed-text\"",
        "embed.path" => "\"~/models/potion-multilingual-128M\"",
        "embed.base_url" => "\"http://127.0.0.1:11434\"",
        "embed.key_file" => return quoted(&format!("{SHOWN_CONFIG}/embed-key")),
        "embed.key_command" => "\"pass show situated-embed\"",
        "embed.key_credential" => "\"situated-key\"",
        "embed.dimensions" => "512",
        "embed.query_prefix" => "\"search_query: \"",
        "embed.document_prefix" => "\"search_document: \"",
        "embed.max_tokens" => "2048",
        "embed.price_per_mtok" => "0.02",
        "host.memory_max" => "\"1 GiB\"",
        "context.key_file" => return quoted(&format!("{SHOWN_CONFIG}/key")),
        "context.key_command" => "\"pass show situated\"",
        "context.key_credential" => "\"situated-key\"",
        _ => "\"~/.local/state/situated/sock\"",
    };
    example.to_owned()
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

/// The commented file of `situated init`: the vault, and every key with its default as a comment.
pub fn sample_file(vault: &VaultConfig) -> String {
    sample_file_of(std::slice::from_ref(vault), Provider::Template)
}

/// The same for several vaults, and another way of writing contexts.
pub fn sample_file_of(vaults: &[VaultConfig], provider: Provider) -> String {
    let defaults = Config::new(super::default_data_dir(), Vec::new());
    let mut out = String::from(
        "# Configuration of situated. Every key has the default shown; remove a `#` to change one.\n\
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
            let value = (key.get)(&defaults).unwrap_or_else(|| example(&key.full()));
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
