//! The one table of scalar keys: how each is called, explained, read and shown.

use std::time::Duration;

use super::Config;
use super::units::{self, Value};
use crate::chunk::Strategy;

/// A scalar key of the configuration.
pub(super) struct Key {
    /// Its section, `""` for keys that stand above the first section.
    pub section: &'static str,
    /// Its name in the section.
    pub name: &'static str,
    /// One line for `situated init`.
    pub about: &'static str,
    /// Reads a value as typed; the error says what would be right.
    pub set: fn(&mut Config, &Value) -> Result<(), String>,
    /// The value as TOML; `None` if it is not set and has no default that could be written down.
    pub get: fn(&Config) -> Option<String>,
}

impl Key {
    /// `section.name`.
    pub(super) fn full(&self) -> String {
        if self.section.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.section, self.name) }
    }

    /// Its variable in the environment: `SITUATED_SEARCH_LIMIT`.
    pub(super) fn variable(&self) -> String {
        format!("SITUATED_{}", self.full().replace('.', "_").to_uppercase())
    }
}

/// The sections of scalar keys, in the order in which they are shown.
pub(super) const SECTIONS: [(&str, &str); 6] = [
    ("watch", "When changes are looked at."),
    ("chunk", "How notes are cut into chunks; sizes in tokens."),
    ("context", "What is written about each chunk to situate it in its note."),
    ("embed", "What turns text into vectors."),
    ("search", "What answers look like unless a request says otherwise."),
    ("serve", "The socket."),
];

/// The keys of a `[[vault]]`, each with a line for `situated init`.
pub(super) const VAULT_KEYS: [(&str, &str); 6] = [
    ("name", "What the vault is called in commands and answers; the folder's name if absent."),
    ("path", "The folder of notes: absolute, or below `~/`."),
    ("exclude", "What is left out, in the syntax of .gitignore."),
    ("max_note_bytes", "Larger files are skipped, and `situated status` says so."),
    ("poll", "true looks at the whole vault now and then instead of listening; chosen by file system if absent."),
    ("kinds", "Kinds of notes by folder, first match wins."),
];

const DAY: Duration = Duration::from_hours(24);
const MS: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_mins(1);

fn quoted(text: impl AsRef<str>) -> Option<String> {
    Some(toml::Value::String(text.as_ref().to_owned()).to_string())
}

fn time(duration: Duration) -> Option<String> {
    quoted(units::show_duration(duration))
}

fn strategy_name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Obsidian => "obsidian",
        Strategy::Markdown => "markdown",
        Strategy::Fixed => "fixed",
    }
}

macro_rules! key {
    ($section:literal $name:literal, $about:literal, |$c:ident, $v:ident| $set:expr, $get:expr) => {
        Key {
            section: $section,
            name: $name,
            about: $about,
            set: |$c: &mut Config, $v: &Value| {
                $set;
                Ok(())
            },
            get: |$c: &Config| $get,
        }
    };
}

/// Every scalar key, in the order in which they are shown.
pub(super) static KEYS: &[Key] = &[
    key!("" "data_dir", "Where indexes live, one folder per vault. Never inside a vault.",
        |c, v| c.data_dir = units::path(v)?, quoted(c.data_dir.to_string_lossy())),
    key!("watch" "quiet", "Quiet after a lone change before it is read.",
        |c, v| c.watch.lone = units::duration(v, MS..=MINUTE)?, time(c.watch.lone)),
    key!("watch" "burst", "Quiet after several changes.",
        |c, v| c.watch.burst = units::duration(v, MS..=MINUTE)?, time(c.watch.burst)),
    key!("watch" "storm", "Quiet after a storm (a checkout, a sync), and while git works.",
        |c, v| c.watch.storm = units::duration(v, MS..=10 * MINUTE)?, time(c.watch.storm)),
    key!("watch" "storm_paths", "Changed paths that make a storm.",
        |c, v| c.watch.storm_paths = units::count(v, 2..=1_000_000)? as usize, Some(c.watch.storm_paths.to_string())),
    key!("watch" "walk_interval", "How often all of a vault is compared with the index, whatever was heard.",
        |c, v| c.watch.walk_interval = units::duration(v, Duration::from_secs(1)..=7 * DAY)?, time(c.watch.walk_interval)),
    key!("watch" "poll_interval", "The same for vaults that cannot be listened to.",
        |c, v| c.watch.poll_interval = units::duration(v, 100 * MS..=DAY)?, time(c.watch.poll_interval)),
    key!("watch" "doubt", "How long a vault that seems gone or emptied is doubted before notes are dropped.",
        |c, v| c.watch.doubt = units::duration(v, 100 * MS..=DAY)?, time(c.watch.doubt)),
    key!("chunk" "strategy", "\"obsidian\" (sections, small ones merged), \"markdown\" (sections) or \"fixed\".",
        |c, v| c.chunk.strategy = match units::word(v, &["obsidian", "markdown", "fixed"])? {
            "markdown" => Strategy::Markdown,
            "fixed" => Strategy::Fixed,
            _ => Strategy::Obsidian,
        },
        quoted(strategy_name(c.chunk.strategy))),
    key!("chunk" "target", "What a chunk should reach before the next one is begun.",
        |c, v| c.chunk.target = units::count(v, 20..=8000)? as u32, Some(c.chunk.target.to_string())),
    key!("chunk" "min", "Smaller chunks are merged with a neighbour.",
        |c, v| c.chunk.min = units::count(v, 0..=8000)? as u32, Some(c.chunk.min.to_string())),
    key!("chunk" "max", "No chunk is larger, unless a single line is.",
        |c, v| c.chunk.max = units::count(v, 20..=8000)? as u32, Some(c.chunk.max.to_string())),
    key!("chunk" "overlap", "What is repeated where a section has to be split, in percent of the target.",
        |c, v| c.chunk.overlap_percent = units::percent(v, 0..=50)?, Some(c.chunk.overlap_percent.to_string())),
    key!("context" "provider", "\"template\": free, made from the note itself, nothing leaves the machine.",
        |_c, v| units::word(v, &["template"])?, quoted("template")),
    key!("context" "llm_min_chunks", "Notes with fewer chunks never get a model's context.",
        |c, v| c.context.llm_min_chunks = units::count(v, 1..=1_000_000)? as u32, Some(c.context.llm_min_chunks.to_string())),
    key!("embed" "provider", "\"builtin\": the model compiled in; nothing is downloaded or sent.",
        |_c, v| units::word(v, &["builtin"])?, quoted("builtin")),
    key!("search" "limit", "Hits at most.",
        |c, v| c.search.limit = units::count(v, 1..=200)? as usize, Some(c.search.limit.to_string())),
    key!("search" "per_note", "Hits of one note at most.",
        |c, v| c.search.per_note = units::count(v, 1..=200)? as usize, Some(c.search.per_note.to_string())),
    key!("search" "window_chars", "Characters of a hit with its neighbours.",
        |c, v| c.search.window_chars = units::count(v, 0..=100_000)? as usize, Some(c.search.window_chars.to_string())),
    key!("search" "dense_weight", "Weight of meaning, from 0 (words alone) to 1 (meaning alone).",
        |c, v| c.search.dense_weight = units::share(v)?, Some(format!("{:?}", c.search.dense_weight))),
    key!("serve" "socket", "Where the socket is; chosen in the user's runtime folder if absent.",
        |c, v| c.serve.socket = Some(units::path(v)?),
        c.serve.socket.as_ref().and_then(|path| quoted(path.to_string_lossy()))),
    key!("serve" "max_connections", "Connections at once.",
        |c, v| c.serve.max_connections = units::count(v, 1..=1024)? as usize, Some(c.serve.max_connections.to_string())),
    key!("serve" "query_timeout", "After this a query is given up.",
        |c, v| c.serve.query_timeout = units::duration(v, 10 * MS..=10 * MINUTE)?, time(c.serve.query_timeout)),
];

/// The names of the keys of a section.
pub(super) fn names_in(section: &str) -> Vec<&'static str> {
    KEYS.iter().filter(|key| key.section == section).map(|key| key.name).collect()
}
