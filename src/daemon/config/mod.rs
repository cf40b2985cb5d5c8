//! Configuration in two stages: what the user typed (`raw`), then what it means, checked (`check`).
//!
//! Defaults < file < environment < flags (`layers`). Each module gets its own slice. Every scalar key is one
//! row of the table in `keys`, which reading, showing, `situated init` and the environment all share, so that
//! no key can be known to one of them and unknown to another.

mod check;
#[cfg(any(test, fuzzing))]
#[path = "../../../tests/fuzz/bodies/config.rs"]
pub mod fuzz;
mod keys;
mod layers;
mod paths;
mod raw;
mod show;
mod shown;
mod team;
#[cfg(all(test, unix))]
mod tests;
mod units;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use context::settings::KeyConfig;
use engine::settings::Settings;
use note::{Private, VaultPath};
use protocol::daemon::Problem;
use provider::Whose;
use vault::root::look_at;
use vault::settings::VaultConfig;

pub use layers::config_file;
pub use paths::{Unnamed, default_config_file, default_data_dir, socket_too_long};
pub use show::sample_file_of;
pub(crate) use units::quoted;

/// The checked configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The settings of the engine.
    pub engine: Settings,
    /// The socket.
    pub serve: ServeConfig,
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

impl Default for ServeConfig {
    fn default() -> Self {
        ServeConfig { socket: None, max_connections: 64, query_timeout: Duration::from_secs(10) }
    }
}

/// A provider that the configuration has asked over HTTP.
#[derive(Clone, Debug)]
pub struct AskedProvider<'a> {
    /// The section that names it: `context`, `generation.NAME`, `embed`, `rerank`.
    pub section: String,
    /// Its name.
    pub name: &'static str,
    /// Where its key is.
    pub key: &'a KeyConfig,
    /// Which keys it takes.
    pub whose: Whose,
    /// Whether it is asked at another address than its own.
    pub elsewhere: bool,
}

impl<'a> AskedProvider<'a> {
    fn new(
        section: String,
        name: &'static str,
        key: &'a KeyConfig,
        whose: impl Into<Whose>,
        url: Option<&String>,
    ) -> Self {
        AskedProvider { section, name, key, whose: whose.into(), elsewhere: url.is_some() }
    }
}

impl Config {
    /// Default settings for these vaults, with the data in `data_dir`.
    pub fn new(data_dir: impl Into<PathBuf>, vaults: Vec<VaultConfig>) -> Self {
        Config { engine: Settings::new(data_dir, vaults), serve: ServeConfig::default(), open: Opener::default() }
    }

    /// The settings of the engine. The deadline of queries belongs to the socket, but the engine plans by it.
    pub fn for_engine(self) -> Settings {
        let mut settings = self.engine;
        settings.search.query_timeout = self.serve.query_timeout;
        settings
    }

    /// The providers that are asked over HTTP. (Only `situated models add` downloads a cross-encoder.)
    pub fn providers(&self) -> impl Iterator<Item = AskedProvider<'_>> {
        let Settings { context, generations, embed, rerank, .. } = &self.engine;
        let generations = generations.iter().map(|(name, generation)| (format!("generation.{name}"), generation));
        let contexts = std::iter::once(("context".to_owned(), context)).chain(generations);
        let contexts = contexts.map(|(section, of)| {
            AskedProvider::new(section, of.provider.name(), &of.key, of.provider, of.base_url.as_ref())
        });
        let embed = AskedProvider::new(
            "embed".to_owned(),
            embed.provider.name(),
            &embed.key,
            embed.provider,
            embed.base_url.as_ref(),
        );
        let rerank = AskedProvider::new(
            "rerank".to_owned(),
            rerank.provider.name(),
            &rerank.key,
            rerank.provider,
            rerank.base_url.as_ref(),
        );
        contexts.chain([embed, rerank]).filter(|asked| asked.whose.is_asked())
    }

    /// The sections that name something that is asked over HTTP, each with its provider.
    pub fn over_http(&self) -> Vec<String> {
        let providers = self.providers().map(|asked| format!("[{}] {}", asked.section, asked.name));
        let teams = self.engine.teams.keys().map(|name| format!("[team.{name}]"));
        providers.chain(teams).collect()
    }

    /// The places of the keys of all providers and teams.
    pub fn keys(&self) -> impl Iterator<Item = &KeyConfig> {
        let Settings { context, generations, embed, rerank, teams, .. } = &self.engine;
        let contexts = generations.values().chain([context]).map(|context| &context.key);
        contexts.chain([&embed.key, &rerank.key]).chain(teams.values().map(|team| &team.key))
    }

    /// Says of files, wherever they are named from, whether the globs of a vault make them private.
    pub fn private_files(&self) -> impl Fn(&Path) -> bool + use<> {
        let vaults = self.engine.vaults.iter().filter(|vault| !vault.private.is_empty());
        let vaults: Vec<_> = vaults.map(|v| (real_folder(&v.path), Private::new(&v.private))).collect();
        move |file| {
            let folder = file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
            let named = file.file_name().map(|name| real_folder(folder).join(name));
            // A link is one of the vault it lies in, and the file itself of its own.
            let places = named.into_iter().chain([real_folder(file)]);
            places.into_iter().any(|place| {
                let inside = |root: &PathBuf| VaultPath::from_relative(place.strip_prefix(root).ok()?);
                vaults.iter().any(|(root, private)| inside(root).is_some_and(|path| private.covers_path(&path)))
            })
        }
    }

    /// Reads file and environment, lays the flags over them, and checks the result: vaults must be folders.
    ///
    /// # Errors
    /// Every problem found, not only the first; the process should end with [`ConfigErrors::EXIT_CODE`].
    pub fn load(overrides: &Overrides) -> Result<Loaded, ConfigErrors> {
        layers::load(overrides, &layers::environment())
    }

    /// What can be understood of file, environment and flags, and all that is wrong with it: for callers that need to
    /// know what is named there, even while somebody is in the middle of editing the file.
    pub fn read(overrides: &Overrides) -> (Loaded, Vec<Problem>) {
        layers::read(overrides, &layers::environment(), None)
    }

    /// What would be wrong with a text as the configuration in this file.
    pub fn problems_of(file: &Path, text: &str, overrides: &Overrides) -> Vec<Problem> {
        let overrides = Overrides { config: Some(file.to_owned()), ..overrides.clone() };
        layers::read(&overrides, &layers::environment(), Some(text)).1
    }

    /// Where a daemon with this configuration is to be found. Never fails: a client must reach a daemon
    /// that runs well although somebody is in the middle of editing its configuration.
    pub fn whereabouts(overrides: &Overrides) -> Whereabouts {
        layers::whereabouts(overrides, &layers::environment())
    }

    /// The parts of `loaded` whose place neither a flag, a variable nor the file names.
    pub fn unnamed(loaded: &Loaded, overrides: &Overrides) -> Unnamed {
        layers::unnamed(loaded, overrides, &layers::environment())
    }
}

/// What the command line says; it overrides everything else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// `--socket`.
    pub socket: Option<PathBuf>,
    /// `situated run VAULT...`: only these vaults, with the file's settings for those that the file names.
    pub vaults: Vec<PathBuf>,
    /// Those of `vaults` that the file has named: if it names one of them no more, that is not served any more.
    pub named: Vec<PathBuf>,
}

/// Which layer a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// No layer gives one.
    Default,
    /// The file, at this 1-based line.
    File(PathBuf, u32),
    /// This variable of the environment.
    Env(String),
    /// This flag or argument.
    Flag(&'static str),
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueOrigin::Default => f.write_str("default"),
            ValueOrigin::File(path, line) => write!(f, "{}:{line}", path.display()),
            ValueOrigin::Env(name) => write!(f, "env {name}"),
            ValueOrigin::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A checked configuration and where each value came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// What it means.
    pub config: Config,
    /// By key: `search.limit`, `vault.NAME.path`. Keys that are not here have their defaults.
    pub origins: BTreeMap<String, ValueOrigin>,
    /// The file that was read, if there is one.
    pub file: Option<PathBuf>,
    /// The vaults of the command line that the file does not name.
    pub beside_file: Vec<PathBuf>,
    /// The names of the file's vaults that the command line leaves out.
    pub left_out: Vec<String>,
}

/// Where a daemon is to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// Its data folder.
    pub data_dir: PathBuf,
    /// Its socket, if a layer names one.
    pub socket: Option<PathBuf>,
    /// Whether an option or a variable names the data folder.
    pub is_named: bool,
    /// What opens a note for a person: the daemon does not need it, but clients read it here too.
    pub open: Opener,
    /// What is wrong with the configuration, if anything: worth telling if no daemon is found.
    pub problems: Vec<Problem>,
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

/// A vault's folder as it is compared: two spellings of one folder are one vault. A folder that is not there, or does
/// not answer, keeps its spelling.
pub fn real_folder(path: &Path) -> PathBuf {
    look_at(path, Path::canonicalize).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_path_buf())
}

/// The name a vault has if the user gives none: that of its folder, without characters that a name may not have.
pub fn name_of_folder(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let clean: String =
        name.chars().map(|c| if c.is_control() || c == '/' || c == '\u{FFFD}' { '_' } else { c }).take(64).collect();
    let clean = clean.trim_start_matches('.').trim();
    if clean.is_empty() { "vault".to_owned() } else { clean.to_owned() }
}

/// [`name_of_folder`], with a number behind it if one of these vaults has that name already.
pub fn free_name<'a>(folder: &Path, known: impl Iterator<Item = &'a VaultConfig>) -> String {
    let plain = name_of_folder(folder);
    let taken: Vec<String> = known.map(|vault| vault.name.to_lowercase()).collect();
    let numbered = (2..).map(|n| format!("{plain} {n}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(|name| !taken.contains(&name.to_lowercase())).unwrap_or(plain)
}

/// A length of time as a user types it at a shell, in the units of the configuration: `24h`, `90s`, `7d`.
pub(crate) fn typed_duration(text: &str) -> Result<Duration, String> {
    const CENTURY: Duration = Duration::from_hours(24 * 36_500);
    units::duration(&units::Value::Typed(text.to_owned()), Duration::from_secs(1)..=CENTURY)
}
