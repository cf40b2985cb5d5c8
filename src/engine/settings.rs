//! The engine's settings, checked: each part has the type of the crate that it serves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use crate::source::SettingsSource;
use context::settings::{ContextConfig, KeyConfig};
use index::embed::settings::EmbedConfig;
use index::search::rerank::RerankConfig;
use note::chunk::ChunkRules;
use protocol::search::Expand;
use provider::settings::BudgetConfig;
use vault::settings::{VaultConfig, WatchConfig};

/// Everything that the engine needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
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
    /// Collections that are shared with a team, by name: `[team.NAME]`.
    pub teams: BTreeMap<String, TeamConfig>,
    /// How much may be spent on models.
    pub budget: BudgetConfig,
    /// The daily check of contexts.
    pub sync: SyncConfig,
    /// What answers look like.
    pub search: SearchConfig,
    /// The reranker.
    pub rerank: RerankConfig,
    /// How questions are answered.
    pub ask: AskConfig,
    /// Whether assistants may ask a model that somebody pays for, within the budget.
    pub assistants_may_spend: bool,
    /// What the daemon takes from its host.
    pub host: HostConfig,
    /// Where indexes live: one folder per vault in it.
    pub data_dir: PathBuf,
    /// The file that these settings were read from.
    pub source: SettingsSource,
}

impl Settings {
    /// Default settings for these vaults, with the data in `data_dir`.
    pub fn new(data_dir: impl Into<PathBuf>, vaults: Vec<VaultConfig>) -> Self {
        Settings {
            vaults,
            watch: WatchConfig::default(),
            chunk: ChunkRules::default(),
            context: ContextConfig::default(),
            embed: EmbedConfig::default(),
            generations: BTreeMap::new(),
            teams: BTreeMap::new(),
            budget: BudgetConfig::default(),
            sync: SyncConfig::default(),
            search: SearchConfig::default(),
            rerank: RerankConfig::default(),
            ask: AskConfig::default(),
            assistants_may_spend: false,
            host: HostConfig::default(),
            data_dir: data_dir.into(),
            source: SettingsSource::default(),
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
    /// Weight (0..=1) of the questions and terms beside contexts in the lexical lane.
    pub expansion_weight: f32,
    /// The language that words are stemmed in: a code of two letters, or "auto" for the language that each note seems
    /// to be in.
    pub language: String,
    /// Weight (0..=1) of a note's centrality among the links.
    pub graph_weight: f32,
    /// Weight of notes that the query names; notes linked with them get half of it.
    pub link_weight: f32,
    /// Weight of new notes.
    pub recency_weight: f32,
    /// After this time a note counts as half as new.
    pub recency_half_life: Duration,
    /// Weight of notes from the time that the query names.
    pub date_weight: f32,
    /// Weights of kinds of notes, by kind in lower case.
    pub type_weights: BTreeMap<String, f32>,
    /// What a model adds to a query.
    pub expand: Expand,
    /// How long a query may take in all.
    pub query_timeout: Duration,
}

impl Default for SearchConfig {
    fn default() -> Self {
        SearchConfig {
            limit: 20,
            per_note: 3,
            window_chars: 2400,
            dense_weight: 0.5,
            expansion_weight: 0.5,
            graph_weight: 0.0,
            link_weight: 0.1,
            recency_weight: 0.15,
            recency_half_life: Duration::from_hours(30 * 24),
            date_weight: 0.3,
            type_weights: BTreeMap::from([("daily".to_owned(), 0.05)]),
            expand: Expand::Off,
            language: "auto".to_owned(),
            query_timeout: Duration::from_secs(10),
        }
    }
}

/// A collection that is shared with a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamConfig {
    /// Where its server is.
    pub url: String,
    /// Other nodes of the same cluster: asked if `url` does not answer.
    pub replicas: Vec<String>,
    /// Whether a server at an address of this machine hands on to others what it is sent: a tunnel.
    pub passes_on: bool,
    /// Its name there.
    pub collection: String,
    /// Where the key is, if the server asks for one.
    pub key: KeyConfig,
    /// Certificates of the authorities that may vouch for the server; `None`: those that this machine trusts.
    pub ca_file: Option<PathBuf>,
    /// How long a search waits for it.
    pub timeout: Duration,
    /// Whether searches ask it beside the vaults.
    pub search: bool,
}

impl TeamConfig {
    /// A collection with default settings.
    pub fn new(url: impl Into<String>, collection: impl Into<String>) -> Self {
        TeamConfig {
            url: url.into(),
            replicas: Vec::new(),
            passes_on: false,
            collection: collection.into(),
            key: KeyConfig::default(),
            ca_file: None,
            timeout: Duration::from_millis(300),
            search: true,
        }
    }

    /// Whether both are the same collection: one name, and a server that both name.
    pub fn is_collection_of(&self, other: &TeamConfig) -> bool {
        let plain = |url: &String| url.trim_end_matches('/').to_ascii_lowercase();
        let nodes = |team: &TeamConfig| -> BTreeSet<String> {
            std::iter::once(&team.url).chain(&team.replicas).map(plain).collect()
        };
        self.collection == other.collection && !nodes(self).is_disjoint(&nodes(other))
    }
}

/// How questions are answered: by the provider of `[context]`, from passages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskConfig {
    /// Another model than the one that writes contexts.
    pub model: Option<String>,
    /// Passages that the model is shown, each a window.
    pub passages: usize,
    /// Tokens of an answer at most.
    pub max_tokens: u32,
}

impl Default for AskConfig {
    fn default() -> Self {
        AskConfig { model: None, passages: 8, max_tokens: 1_000 }
    }
}

/// The daily check for contexts that are in use but should be better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncConfig {
    /// Whether the daemon does it without being asked.
    pub background: bool,
    /// How often.
    pub interval: Duration,
}

impl Default for SyncConfig {
    fn default() -> Self {
        SyncConfig { background: true, interval: Duration::from_hours(24) }
    }
}

/// What the daemon takes from its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Whether the kernel restricts the daemon to the files and connections that it needs, if it can.
    pub sandbox: bool,
    /// Where the state of the battery is read; `None`: it does not matter.
    pub battery: Option<PathBuf>,
    /// Memory that no file backs, in bytes, above which work in bulk slows down.
    pub memory: u64,
    /// The limit of that memory, in bytes: bulk work waits before it is reached, and a vault that does not fit is not
    /// opened. `None`: the limit of the control group.
    pub memory_max: Option<u64>,
}

impl HostConfig {
    /// Where Linux reports batteries and mains.
    pub const POWER_SUPPLY: &str = "/sys/class/power_supply";
}

impl Default for HostConfig {
    fn default() -> Self {
        // Below what the systemd unit calls high (`MemoryHigh=1G`), where the kernel would slow down searches too.
        HostConfig {
            sandbox: true,
            battery: Some(HostConfig::POWER_SUPPLY.into()),
            memory: 900 << 20,
            memory_max: None,
        }
    }
}
