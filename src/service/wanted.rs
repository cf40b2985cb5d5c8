//! What the configuration asks of a service: where it writes, whether it needs the network, and which settings of this
//! shell it will not see.

use std::path::{Path, PathBuf};

use super::host::Places;
use super::unit::Launch;
use crate::daemon::config::{Config, Loaded, ValueOrigin};
use context::settings::Provider;
use index::embed::settings::EmbedProvider;
use protocol::folders::Folders;

/// What is asked of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Options that the service's daemon gets, since they were given here.
    pub options: Vec<(&'static str, PathBuf)>,
    /// Sections of the configuration that need a network, with the providers that they name.
    pub network: Vec<String>,
    /// Folders that it writes to and that the unit's own lines do not allow.
    pub writable: Vec<PathBuf>,
    /// Whether something that the daemon uses is in a folder for temporary files.
    pub shared_tmp: bool,
    /// Where the indexes are.
    pub data_dir: PathBuf,
    /// The socket, if it was named.
    pub socket: Option<PathBuf>,
    /// Variables that configure this shell but not the service.
    pub unseen: Vec<String>,
    /// Whether a key is looked for only in variables.
    pub key_in_shell: bool,
    /// Whether a command prints a key.
    pub key_command: bool,
}

impl Wanted {
    /// What a configuration asks for.
    pub fn of(loaded: &Loaded, places: &Places) -> Wanted {
        let Loaded { config, origins, file, .. } = loaded;
        let given = |key: &str| matches!(origins.get(key), Some(ValueOrigin::Env(_) | ValueOrigin::Flag(_)));
        let mut options = Vec::new();
        // The manager's environment is not this shell's, so what is not at the usual place is given as an option.
        let usual = Folders::without_variables(&places.home);
        if let Some(file) = file.as_ref().filter(|file| !usual.config_file.is_usual(file)) {
            options.push(("--config", absolute(file)));
        }
        let usual_data = usual.data_dir.is_usual(&config.engine.data_dir);
        let in_file = matches!(origins.get("data_dir"), Some(ValueOrigin::File(..)));
        if !usual_data && !in_file {
            options.push(("--data-dir", absolute(&config.engine.data_dir)));
        }
        if let Some(socket) = config.serve.socket.as_ref().filter(|_| given("serve.socket")) {
            options.push(("--socket", absolute(socket)));
        }
        let mut writable = Vec::new();
        if !usual_data {
            writable.push(absolute(&config.engine.data_dir));
        }
        let own_runtime = places.runtime.as_ref().map(|runtime| runtime.join("situated"));
        let socket = config.serve.socket.as_deref().map(absolute);
        let folder = socket.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        writable.extend(folder.filter(|folder| Some(folder) != own_runtime.as_ref() && !writable.contains(folder)));
        let mut used: Vec<&Path> = config.engine.vaults.iter().map(|vault| vault.path.as_path()).collect();
        used.extend(writable.iter().map(PathBuf::as_path));
        used.extend(file.as_deref());
        let unseen = origins.iter().filter(|(key, _)| !["data_dir", "serve.socket"].contains(&key.as_str()));
        let unseen = unseen.filter_map(|(_, origin)| match origin {
            ValueOrigin::Env(name) => Some(name.clone()),
            _ => None,
        });
        Wanted {
            shared_tmp: used.iter().any(|path| path.starts_with("/tmp") || path.starts_with("/var/tmp")),
            network: network(config),
            key_in_shell: key_in_shell(config),
            key_command: config.keys().any(|key| key.command.is_some()),
            data_dir: absolute(&config.engine.data_dir),
            unseen: unseen.collect(),
            options,
            writable,
            socket,
        }
    }

    /// What the service runs.
    pub fn launch(&self, program: PathBuf) -> Launch {
        Launch { program, options: self.options.clone() }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What needs a network socket, as a provider on this machine does, too.
pub fn network(config: &Config) -> Vec<String> {
    let mut said = config.over_http();
    let embed = &config.engine.embed;
    // A transformer that is no folder is downloaded at its first use.
    if embed.provider == EmbedProvider::Transformer && !embed.model().starts_with(['/', '~', '.']) {
        said.push(format!("[embed] {}", embed.provider.name()));
    }
    // A name goes into a comment of a unit.
    said.iter_mut().for_each(|name| name.retain(|c| !c.is_control()));
    said
}

/// Whether a provider that needs a key can get it only from a variable.
fn key_in_shell(config: &Config) -> bool {
    let keyed = |context: &context::settings::ContextConfig| {
        context.costs()
            && context.provider != Provider::Ollama
            && context.key.file.is_none()
            && context.key.command.is_none()
            && context.base_url.is_none()
    };
    keyed(&config.engine.context) || config.engine.generations.values().any(keyed)
}

#[cfg(all(test, unix))]
mod tests;
