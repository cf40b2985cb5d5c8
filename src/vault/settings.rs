//! The settings of a vault and of watching it.

use std::path::PathBuf;
use std::time::Duration;

use note::NoteRules;

/// One vault.
#[derive(Clone, Debug, PartialEq)]
pub struct VaultConfig {
    /// Its name in commands and answers.
    pub name: String,
    /// Its root, absolute.
    pub path: PathBuf,
    /// Globs that are left out, in the syntax of `.gitignore`.
    pub exclude: Vec<String>,
    /// Globs of notes that no assistant sees and that never leave the machine, in the same syntax.
    pub private: Vec<String>,
    /// Larger files are skipped and reported.
    pub max_note_bytes: u64,
    /// Poll instead of watching; `None` decides by the file system.
    pub poll: Option<bool>,
    /// The team that its notes are published for, by the name of `[team.NAME]`.
    pub publish: Option<String>,
    /// Kinds of notes by folder.
    pub rules: NoteRules,
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
            publish: None,
            rules: NoteRules::default(),
        }
    }
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
    /// No change waits longer, except in a storm or behind git's lock.
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

impl WatchConfig {
    /// Quiet after a lone file that is known to be complete: a tenth of what a lone change waits is enough to recognise
    /// a burst.
    pub fn saved(&self) -> Duration {
        self.lone / 10
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
