//! The facts for `situated doctor`: from the daemon if one answers, from the disk and the kernel in any case. Nothing
//! is changed, and nothing here judges.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use platform::files;

use super::super::session::Session;
use super::daemon::Daemon;
use super::{host, vaults};
use crate::daemon::config::{AskedProvider, Config, ConfigErrors, default_data_dir};
use ::provider::hub::located;
use ::provider::models::{ModelKind, Shelf};
use ::provider::{KeyPlace, StaticModel, Whose, key_place};
use index::embed::builtin;
use index::embed::settings::EmbedProvider;
use index::search::rerank::RerankProvider;
use protocol::client::Discovery;
use protocol::daemon::Problem;
use protocol::folders::Folders;

/// Everything that `doctor` judges.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) version: String,
    pub(super) uid: u32,
    /// Names that must not be shown.
    pub(super) home: Option<PathBuf>,
    pub(super) user: Option<String>,
    pub(super) hostname: Option<String>,
    /// What is wrong with the configuration.
    pub(super) config_problems: Vec<Problem>,
    /// The configuration file, if there is one.
    pub(super) config_file: Option<PathBuf>,
    pub(super) daemon: Daemon,
    /// What is still in the place of an earlier version.
    pub(super) former: Vec<FormerFacts>,
    pub(super) data_dir: PathBuf,
    /// The data folder, or its nearest existing ancestor, and whether we may write there.
    pub(super) data: Option<Place>,
    pub(super) writable: Option<Result<(), String>>,
    pub(super) socket: Option<Place>,
    pub(super) socket_dir: Option<Place>,
    pub(super) host: host::Host,
    pub(super) vaults: Vec<vaults::VaultFacts>,
    /// Indexes with what was paid for, of no vault that is configured or served.
    pub(super) orphans: Vec<engine::Orphan>,
    /// Free bytes of the disk that holds the data folder.
    pub(super) free: Option<u64>,
    /// How far the built-in model's vector is off the known one.
    pub(super) model_error: f32,
    /// The static table that the configuration names: what it is, or why it cannot be used.
    pub(super) table: Option<Result<String, String>>,
    /// Where the cross-encoder that the configuration names is, or why it is not here.
    pub(super) cross_encoder: Option<Result<PathBuf, String>>,
    pub(super) providers: Vec<ProviderFacts>,
    pub(super) now: i64,
    /// The newest modification time among our files.
    pub(super) newest: Option<i64>,
}

/// A file or folder that only this user may access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) uid: u32,
    pub(super) mode: u32,
    pub(super) is_socket: bool,
}

/// Something that is still in the place of an earlier version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FormerFacts {
    /// The former place.
    pub(super) at: PathBuf,
    /// The present one.
    pub(super) present: PathBuf,
    /// Whether the present place is used, and the former one still has something too.
    pub(super) left_behind: bool,
}

/// A provider that the configuration names: one behind HTTP, or a model in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProviderFacts {
    /// `context`, `embed`, `rerank`.
    pub(super) section: String,
    pub(super) name: &'static str,
    pub(super) key: Option<KeyPlace>,
    /// Whether the configuration gives the address that is asked.
    pub(super) elsewhere: bool,
    /// The file that holds the key.
    pub(super) file: Option<Result<Place, String>>,
}

impl Place {
    pub(super) fn look(path: &Path) -> Result<Place, String> {
        std::fs::symlink_metadata(path).map(|meta| Place::of(path, &meta)).map_err(|error| error.to_string())
    }

    /// A file with a key, as the daemon reads it. What others may do with it is a finding of its own.
    fn of_key(path: &Path, whose: Whose) -> Result<Place, String> {
        let meta = std::fs::metadata(path).map_err(|error| error.to_string())?;
        let place = Place::of(path, &meta);
        if place.uid == platform::user::id() && !files::is_open_to_others(&meta) {
            ::provider::check_key_file(path, whose)?;
        }
        Ok(place)
    }

    fn of(path: &Path, meta: &std::fs::Metadata) -> Place {
        Place {
            path: path.to_owned(),
            uid: files::owner(meta),
            mode: files::mode(meta),
            is_socket: files::is_socket(meta),
        }
    }
}

/// Gathers all facts.
pub(super) fn gather(session: &Session) -> Facts {
    let found = Config::whereabouts(&session.overrides());
    let (config, config_file, config_problems) = match Config::load(&session.overrides()) {
        Ok(loaded) => (Some(loaded.config), loaded.file, Vec::new()),
        Err(ConfigErrors { problems }) => (None, None, problems),
    };
    let folders = Folders::here();
    let data_dir = if found.data_dir.as_os_str().is_empty() { default_data_dir() } else { found.data_dir.clone() };
    let discovery = Discovery { socket: found.socket, data_dir: data_dir.clone(), is_named: false };
    let daemon = Daemon::ask(session, &data_dir);
    let socket = match &daemon {
        Daemon::Answers(status, _) => status.socket.clone(),
        _ => discovery.socket(),
    };
    let look = |path: &Path| Place::look(path).ok();
    let host = host::look(match &daemon {
        Daemon::Answers(status, _) => Some(status.pid),
        _ => None,
    });
    let vaults = vaults::look(config.as_ref(), &data_dir, &daemon);
    let existing = data_dir.ancestors().find(|dir| dir.exists()).map(Path::to_owned);
    Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uid: platform::user::id(),
        home: folders.home.clone(),
        former: former(&folders, &data_dir, config_file.as_deref()),
        user: ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()),
        hostname: std::fs::read_to_string("/etc/hostname").ok().map(|name| name.trim().to_owned()),
        config_problems,
        config_file,
        data: existing.as_deref().and_then(look),
        // Modes do not tell that a file system is mounted read-only.
        writable: existing.as_deref().map(|dir| files::is_writable(dir).map_err(|error| error.to_string())),
        socket_dir: socket.parent().and_then(look),
        socket: look(&socket),
        host,
        orphans: if config.is_some() { vaults::orphans(&vaults, &data_dir) } else { Vec::new() },
        vaults,
        free: existing.as_deref().and_then(|dir| files::Room::at(dir).ok()).map(|room| room.free),
        model_error: model_error(),
        table: config.as_ref().and_then(table),
        cross_encoder: config.as_ref().and_then(cross_encoder),
        providers: config.as_ref().map(providers).unwrap_or_default(),
        now: seconds(SystemTime::now()),
        newest: newest(&data_dir),
        daemon,
        data_dir,
    }
}

/// Data and configuration that are still in the place of an earlier version, except what the user gave a place.
fn former(folders: &Folders, data_dir: &Path, config_file: Option<&Path>) -> Vec<FormerFacts> {
    let used = [(&folders.data_dir, Some(data_dir)), (&folders.config_file, config_file)];
    let found = used.into_iter().filter_map(|(location, used)| {
        let former = location.former.as_ref()?;
        let (at, present) = (former.path.clone(), location.path.clone());
        if used == Some(&present) {
            location.left_behind().map(|_| FormerFacts { at, present, left_behind: true })
        } else {
            (used == Some(&at) && !former.named).then_some(FormerFacts { at, present, left_behind: false })
        }
    });
    found.collect()
}

/// Compares the first numbers of this build's vector with known ones: the largest difference.
fn model_error() -> f32 {
    const TEXT: &str = "hello world";
    const KNOWN: [f32; 6] = [-0.05118, -0.026_269, 0.027_208, -0.068_691, 0.008_929, 0.022_739];
    let made = builtin::model().embed_f32(TEXT);
    KNOWN.iter().zip(made).map(|(known, made)| (known - made).abs()).fold(0.0, f32::max)
}

/// The static table, read as the daemon would read it.
fn table(config: &Config) -> Option<Result<String, String>> {
    let embed = &config.engine.embed;
    let folder = embed.path.as_deref().filter(|_| embed.provider == EmbedProvider::Static)?;
    let found = StaticModel::open(folder).map_err(|error| error.to_string());
    Some(found.map(|table| {
        format!("{} has vectors of {} numbers for {} tokens", folder.display(), table.dimensions(), table.tokens())
    }))
}

fn cross_encoder(config: &Config) -> Option<Result<PathBuf, String>> {
    let rerank = &config.engine.rerank;
    if rerank.provider != RerankProvider::Transformer {
        return None;
    }
    let found = located(rerank.model(), Shelf::of(&config.engine.data_dir).folder(), &Folders::here().hub_cache);
    Some(found.ok_or_else(|| ModelKind::CrossEncoder.absent(rerank.model())))
}

fn providers(config: &Config) -> Vec<ProviderFacts> {
    // What is built beside the contexts that answer has no finding of its own.
    let answering = config.providers().filter(|asked| !asked.section.starts_with("generation."));
    let facts = |AskedProvider { section, name, key, whose, elsewhere }: AskedProvider<'_>| ProviderFacts {
        section,
        name,
        elsewhere,
        key: key_place(whose, key),
        file: key.file.as_deref().map(|path| Place::of_key(path, whose)),
    };
    answering.map(facts).collect()
}

/// The newest modification time of the files that a daemon writes often.
fn newest(data_dir: &Path) -> Option<i64> {
    let files = [data_dir.join("lock"), data_dir.join("daemon.json"), data_dir.join("ledger"), data_dir.join("vaults")];
    files.iter().filter_map(|file| Some(seconds(std::fs::metadata(file).ok()?.modified().ok()?))).max()
}

fn seconds(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
