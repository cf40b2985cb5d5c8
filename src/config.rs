//! Configuration in two stages: what the user typed, then what it means, checked.
//!
//! Defaults < file < environment < flags. Each module gets its own slice.

use std::path::PathBuf;
use std::time::Duration;

use crate::chunk::ChunkConfig;
use crate::note::NoteRules;

/// The checked configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The vaults, at least one for a daemon; names are unique.
    pub vaults: Vec<VaultConfig>,
    /// When changes are looked at.
    pub watch: WatchConfig,
    /// How notes are cut.
    pub chunk: ChunkConfig,
    /// Notes with fewer chunks never get a model's context.
    pub llm_min_chunks: u32,
    /// What answers look like.
    pub search: SearchConfig,
    /// The socket.
    pub serve: ServeConfig,
    /// Where indexes live: one folder per vault in it.
    pub data_dir: PathBuf,
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

impl Default for WatchConfig {
    fn default() -> Self {
        WatchConfig {
            lone: Duration::from_millis(50),
            burst: Duration::from_millis(300),
            storm: Duration::from_secs(2),
            storm_paths: 500,
            burst_longest: Duration::from_secs(2),
            storm_longest: Duration::from_secs(30),
            walk_interval: Duration::from_secs(15 * 60),
            poll_interval: Duration::from_secs(30),
            doubt: Duration::from_secs(60),
        }
    }
}

impl Default for SearchConfig {
    fn default() -> Self {
        SearchConfig { limit: 20, per_note: 3, window_chars: 1200, dense_weight: 0.5 }
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
            max_note_bytes: 8 << 20,
            poll: None,
            rules: NoteRules::default(),
        }
    }
}
