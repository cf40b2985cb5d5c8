//! Configuration in two stages: what the user typed (`raw`), then what it means, checked (`check`).
//!
//! Defaults < file < environment < flags (`layers`). Each module gets its own slice. Every scalar key is one
//! row of the table in `keys`, which reading, showing, `situated init` and the environment all share, so that
//! no key can be known to one of them and unknown to another.

mod check;
mod keys;
mod layers;
mod paths;
mod raw;
mod show;
#[cfg(test)]
mod tests;
mod units;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chunk::ChunkRules;
use crate::context::settings::ContextConfig;
use crate::embed::settings::EmbedConfig;
use crate::note::NoteRules;
use crate::search::question::Expand;
use crate::search::rerank::RerankConfig;

pub use layers::{Loaded, Origin, Overrides, Whereabouts, config_file};
pub use paths::{default_config_file, default_data_dir, home, socket_too_long};
pub use show::{sample_file, sample_file_of};
pub use units::show_dollars;

/// The checked configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The vaults, at least one for a daemon; names are unique.
    pub vaults: Vec<VaultConfig>,
    /// When changes are looked at.
    pub watch: WatchConfig,
    /// How notes are cut.
    pub chunk: ChunkRules,
    /// Who writes contexts, and how.
    pub context: ContextConfig,
    /// Who makes vectors, and how.
    pub embed: EmbedConfig,
    /// Other ways of writing contexts, by name, to build beside and compare: `[generation.NAME]`.
    pub generations: BTreeMap<String, ContextConfig>,
    /// How much may be spent on them.
    pub budget: BudgetConfig,
    /// The daily look after them.
    pub sync: SyncConfig,
    /// What answers look like.
    pub search: SearchConfig,
    /// Who judges what is found.
    pub rerank: RerankConfig,
    /// How questions are answered.
    pub ask: AskConfig,
    /// What assistants may do.
    pub mcp: McpConfig,
    /// The socket.
    pub serve: ServeConfig,
    /// What the daemon takes from its host.
    pub host: HostConfig,
    /// Where indexes live: one folder per vault in it.
    pub data_dir: PathBuf,
    /// What opens a note for a person.
    pub open: Opener,
}

/// What opens a note for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Opener {
    /// `$VISUAL` or `$EDITOR`.
    #[default]
    Editor,
    /// Obsidian, by its address.
    Obsidian,
    /// A command, with `{path}` and `{line}` in it.
    Command(String),
}

/// One vault.
#[derive(Clone, Debug, PartialEq)]
pub struct VaultConfig {
    /// Its name in commands and answers.
    pub name: String,
    /// Its root, absolute.
    pub path: PathBuf,
    /// Globs that are left out, in the syntax of `.gitignore`.
    pub exclude: Vec<String>,
    /// Globs of notes that no assistant is shown and that leave the machine for nobody, in the same syntax.
    pub private: Vec<String>,
    /// Larger files are skipped and reported.
    pub max_note_bytes: u64,
    /// Poll instead of watching; `None` decides by the file system.
    pub poll: Option<bool>,
    /// Kinds of notes by folder.
    pub rules: NoteRules,
}

/// When changes are looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchConfig {
    /// Quiet after a lone change.
    pub lone: Duration,
    /// Quiet after a burst of changes.
    pub burst: Duration,
    /// Quiet after a storm of more than `storm_paths`, or while git holds its index lock.
    pub storm: Duration,
    /// What makes a storm.
    pub storm_paths: usize,
    /// No change waits longer, a storm or a lock excepted.
    pub burst_longest: Duration,
    /// No storm waits longer.
    pub storm_longest: Duration,
    /// The regular reconciling walk.
    pub walk_interval: Duration,
    /// The walk of polled vaults.
    pub poll_interval: Duration,
    /// How long before a second look decides about a vault that seems gone or emptied.
    pub doubt: Duration,
}

/// What answers look like.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchConfig {
    /// Hits unless the request says otherwise.
    pub limit: usize,
    /// Hits of one note.
    pub per_note: usize,
    /// Characters of a hit with its neighbours.
    pub window_chars: usize,
    /// Weight (0..=1) of the dense lane; the lexical lane has the rest.
    pub dense_weight: f32,
    /// What words are stemmed as: a code of two letters, or "auto" for the language that each note seems to be in.
    pub language: String,
    /// Weight (0..=1) of the place among the links.
    pub graph_weight: f32,
    /// Of notes that the query names, and half of it of those linked with them.
    pub link_weight: f32,
    /// Of new notes.
    pub recency_weight: f32,
    /// After this time a note counts as half as new.
    pub recency_half_life: Duration,
    /// Of kinds of notes, in lower case.
    pub type_weights: BTreeMap<String, f32>,
    /// What a model adds to a query.
    pub expand: Expand,
}

/// How questions are answered: by the provider of `[context]`, from passages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskConfig {
    /// Another model than the one that writes contexts.
    pub model: Option<String>,
    /// Passages that it is shown, each a window.
    pub passages: usize,
    /// Tokens of an answer at most.
    pub max_tokens: u32,
}

/// What assistants may do, over MCP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpConfig {
    /// Whether they may ask a model that somebody pays for, within the budget.
    pub allow_spending: bool,
}

/// How much may be spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetConfig {
    /// Millionths of a dollar per day of the user's time zone.
    pub day: u64,
    /// Millionths of a dollar per rebuild.
    pub rebuild: u64,
    /// Tokens (in and out) per day for models whose price is not known.
    pub day_tokens: u64,
    /// The same per rebuild.
    pub rebuild_tokens: u64,
}

/// The daily look after contexts that serve and should be better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncConfig {
    /// Whether it is done by itself.
    pub background: bool,
    /// How often.
    pub interval: Duration,
}

/// The socket.
#[derive(Clone, Debug, PartialEq)]
pub struct ServeConfig {
    /// Where; `None` lets `serve::bind` choose.
    pub socket: Option<PathBuf>,
    /// Connections at once.
    pub max_connections: usize,
    /// Deadline of a query.
    pub query_timeout: Duration,
}

/// What the daemon takes from its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Whether the kernel holds the daemon to the files and connections that it needs, where it can.
    pub sandbox: bool,
    /// Where the state of the battery is read; `None`: it does not matter.
    pub battery: Option<PathBuf>,
    /// Resident memory in bytes above which work in bulk slows down.
    pub memory: u64,
}

impl HostConfig {
    /// Where Linux tells of batteries and mains.
    pub const POWER_SUPPLY: &str = "/sys/class/power_supply";
}

impl Default for HostConfig {
    fn default() -> Self {
        // Below what the systemd unit calls high (`MemoryHigh=1G`), where the kernel would slow down searches too.
        HostConfig { sandbox: true, battery: Some(HostConfig::POWER_SUPPLY.into()), memory: 900 << 20 }
    }
}

impl Default for WatchConfig {
    fn default() -> Self {
        WatchConfig {
            lone: Duration::from_millis(50),
            burst: Duration::from_millis(300),
            storm: Duration::from_secs(2),
            storm_paths: 500,
            burst_longest: Duration::from_secs(2),
            storm_longest: Duration::from_secs(30),
            walk_interval: Duration::from_mins(15),
            poll_interval: Duration::from_secs(30),
            doubt: Duration::from_mins(1),
        }
    }
}

impl Default for SearchConfig {
    fn default() -> Self {
        SearchConfig {
            limit: 20,
            per_note: 3,
            window_chars: 1200,
            dense_weight: 0.5,
            graph_weight: 0.0,
            link_weight: 0.02,
            recency_weight: 0.15,
            recency_half_life: Duration::from_hours(30 * 24),
            type_weights: BTreeMap::from([("daily".to_owned(), 0.05)]),
            expand: Expand::Off,
            language: "auto".to_owned(),
        }
    }
}

impl Default for AskConfig {
    fn default() -> Self {
        AskConfig { model: None, passages: 8, max_tokens: 1_000 }
    }
}

impl Default for BudgetConfig {
    fn default() -> Self {
        BudgetConfig { day: 500_000, rebuild: 5_000_000, day_tokens: 2_000_000, rebuild_tokens: 20_000_000 }
    }
}

impl Default for SyncConfig {
    fn default() -> Self {
        SyncConfig { background: true, interval: Duration::from_hours(24) }
    }
}

impl Default for ServeConfig {
    fn default() -> Self {
        ServeConfig { socket: None, max_connections: 64, query_timeout: Duration::from_secs(10) }
    }
}

impl VaultConfig {
    /// A vault with default settings.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        VaultConfig {
            name: name.into(),
            path: path.into(),
            exclude: Vec::new(),
            private: Vec::new(),
            max_note_bytes: 8 << 20,
            poll: None,
            rules: NoteRules::default(),
        }
    }
}

impl Config {
    /// Default settings for these vaults, with the data in `data_dir`.
    pub fn new(data_dir: impl Into<PathBuf>, vaults: Vec<VaultConfig>) -> Self {
        Config {
            vaults,
            watch: WatchConfig::default(),
            chunk: ChunkRules::default(),
            context: ContextConfig::default(),
            embed: EmbedConfig::default(),
            generations: BTreeMap::new(),
            budget: BudgetConfig::default(),
            sync: SyncConfig::default(),
            search: SearchConfig::default(),
            rerank: RerankConfig::default(),
            ask: AskConfig::default(),
            mcp: McpConfig::default(),
            serve: ServeConfig::default(),
            host: HostConfig::default(),
            data_dir: data_dir.into(),
            open: Opener::default(),
        }
    }

    /// How contexts of a generation are written; the plain one has no name.
    pub fn context_of(&self, generation: &str) -> Option<&ContextConfig> {
        if generation.is_empty() { Some(&self.context) } else { self.generations.get(generation) }
    }

    /// Who answers questions: the provider that writes the contexts of the plain generation.
    pub fn answerer(&self) -> ContextConfig {
        let mut config = self.context.clone();
        if self.ask.model.is_some() {
            config.model.clone_from(&self.ask.model);
        }
        config
    }

    /// Reads file and environment, lays the flags over them, and checks the result: vaults must be folders.
    ///
    /// # Errors
    /// Every problem found, not only the first; the process should end with [`ConfigErrors::EXIT_CODE`].
    pub fn load(overrides: &Overrides) -> Result<Loaded, ConfigErrors> {
        layers::load(overrides, &layers::environment())
    }

    /// Where a daemon with this configuration is to be found. Never fails: a client must reach a daemon
    /// that runs well although somebody is in the middle of editing its configuration.
    pub fn whereabouts(overrides: &Overrides) -> Whereabouts {
        layers::whereabouts(overrides, &layers::environment())
    }
}

/// Something wrong in the configuration: where, what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The file, unless the value came from the environment, a flag, or the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// 1-based line in `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based column in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The key with its section (`search.limit`, `vault.notes.path`), if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
            if let (Some(line), Some(column)) = (self.line, self.column) {
                write!(f, ":{line}:{column}")?;
            }
            f.write_str(": ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// All that is wrong with a configuration; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors {
    /// In order of file and line.
    pub problems: Vec<Problem>,
}

impl ConfigErrors {
    /// `EX_CONFIG`: a supervisor must not start the daemon again.
    pub const EXIT_CODE: u8 = 78;
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

/// The name a vault has if the user gives none: that of its folder, without what a name may not hold.
pub fn name_of_folder(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let clean: String =
        name.chars().map(|c| if c.is_control() || c == '/' || c == '\u{FFFD}' { '_' } else { c }).take(64).collect();
    let clean = clean.trim_start_matches('.').trim();
    if clean.is_empty() { "vault".to_owned() } else { clean.to_owned() }
}

/// A length of time as somebody types it at a shell, in the units of the configuration: `24h`, `90s`, `7d`.
pub(crate) fn typed_duration(text: &str) -> Result<Duration, String> {
    const CENTURY: Duration = Duration::from_hours(24 * 36_500);
    units::duration(&units::Value::Typed(text.to_owned()), Duration::from_secs(1)..=CENTURY)
}
