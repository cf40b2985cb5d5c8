//! What the configuration asks of a service: where it writes, whether it needs the network, and what of this shell
//! it will not see.

use std::path::{Path, PathBuf};

use super::host::Places;
use super::unit::Launch;
use crate::daemon::config::{Config, Loaded, ValueOrigin};
use context::settings::Provider;
use index::embed::settings::EmbedProvider;
use index::search::rerank::RerankProvider;

/// What is asked of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Options that the service's daemon gets, for they were given here.
    pub options: Vec<(&'static str, PathBuf)>,
    /// Sections of the configuration that need a network, with whom they name.
    pub network: Vec<String>,
    /// Folders that the unit's own lines do not let it write to.
    pub writable: Vec<PathBuf>,
    /// Whether something of it lies in a folder for temporary files.
    pub shared_tmp: bool,
    /// Where the indexes are.
    pub data_dir: PathBuf,
    /// The socket, if it was named.
    pub socket: Option<PathBuf>,
    /// Variables that configure this shell and not the service.
    pub unseen: Vec<String>,
    /// Whether a key is looked for in variables alone.
    pub key_in_shell: bool,
}

impl Wanted {
    /// What a configuration asks for.
    pub fn of(loaded: &Loaded, places: &Places) -> Wanted {
        let Loaded { config, origins, file } = loaded;
        let given = |key: &str| matches!(origins.get(key), Some(ValueOrigin::Env(_) | ValueOrigin::Flag(_)));
        let mut options = Vec::new();
        // The manager's environment is not this shell's: what is not at the usual place is named.
        let usual_file = places.home.join(".config/situated/config.toml");
        if let Some(file) = file.as_ref().filter(|file| **file != usual_file) {
            options.push(("--config", absolute(file)));
        }
        let usual_data = places.home.join(".local/share/situated");
        let in_file = matches!(origins.get("data_dir"), Some(ValueOrigin::File(..)));
        if config.engine.data_dir != usual_data && !in_file {
            options.push(("--data-dir", absolute(&config.engine.data_dir)));
        }
        if let Some(socket) = config.serve.socket.as_ref().filter(|_| given("serve.socket")) {
            options.push(("--socket", absolute(socket)));
        }
        let mut writable = Vec::new();
        if config.engine.data_dir != usual_data {
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

/// Who is asked over HTTP: one on this machine needs a network socket too.
pub fn network(config: &Config) -> Vec<String> {
    let mut said = Vec::new();
    if config.engine.context.costs() {
        said.push(format!("[context] {}", config.engine.context.provider.name()));
    }
    for (name, generation) in config.engine.generations.iter().filter(|(_, generation)| generation.costs()) {
        said.push(format!("[generation.{}] {}", bare(name), generation.provider.name()));
    }
    // A transformer that is no folder is downloaded at its first use.
    let downloaded = |provider: bool, model: &str| provider && !model.starts_with(['/', '~', '.']);
    let embed = &config.engine.embed;
    if embed.provider.is_remote() || downloaded(embed.provider == EmbedProvider::Transformer, embed.model()) {
        said.push(format!("[embed] {}", embed.provider.name()));
    }
    let rerank = &config.engine.rerank;
    let local = matches!(rerank.provider, RerankProvider::None | RerankProvider::Transformer);
    if !local || downloaded(rerank.provider == RerankProvider::Transformer, rerank.model()) {
        said.push(format!("[rerank] {}", rerank.provider.name()));
    }
    said
}

/// Names come into a comment of a unit.
fn bare(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).collect()
}

/// Whether a provider that needs a key has no other place for it than a variable.
fn key_in_shell(config: &Config) -> bool {
    let keyed = |context: &context::settings::ContextConfig| {
        !matches!(context.provider, Provider::Template | Provider::Ollama)
            && context.key.file.is_none()
            && context.key.command.is_none()
            && context.base_url.is_none()
    };
    keyed(&config.engine.context) || config.engine.generations.values().any(keyed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vault::settings::VaultConfig;

    fn places() -> Places {
        Places {
            home: "/home/me".into(),
            config: "/home/me/.config".into(),
            runtime: Some("/run/user/7".into()),
            search: "".into(),
            uid: 7,
        }
    }

    fn loaded() -> Loaded {
        Loaded {
            config: Config::new("/home/me/.local/share/situated", vec![VaultConfig::new("n", "/home/me/N")]),
            origins: [].into(),
            file: Some("/home/me/.config/situated/config.toml".into()),
        }
    }

    #[test]
    fn the_usual_places_need_nothing() {
        let wanted = Wanted::of(&loaded(), &places());
        assert!(wanted.options.is_empty() && wanted.writable.is_empty() && wanted.network.is_empty(), "{wanted:?}");
        assert!(!wanted.shared_tmp && wanted.unseen.is_empty() && !wanted.key_in_shell, "{wanted:?}");
    }

    #[test]
    fn what_is_elsewhere_is_named_and_opened() {
        let mut loaded = loaded();
        loaded.file = Some("/home/me/c/x.toml".into());
        loaded.config.engine.data_dir = "/mnt/in dex".into();
        loaded.config.serve.socket = Some("/home/me/sock/s".into());
        loaded.origins.insert("serve.socket".into(), Origin::Env("SITUATED_SOCKET".into()));
        loaded.origins.insert("search.limit".into(), Origin::Env("SITUATED_SEARCH_LIMIT".into()));
        let wanted = Wanted::of(&loaded, &places());
        let options: Vec<String> = wanted.options.iter().map(|(o, p)| format!("{o} {}", p.display())).collect();
        assert_eq!(options, ["--config /home/me/c/x.toml", "--data-dir /mnt/in dex", "--socket /home/me/sock/s"]);
        assert_eq!(wanted.writable, [PathBuf::from("/mnt/in dex"), "/home/me/sock".into()]);
        assert_eq!(wanted.unseen, ["SITUATED_SEARCH_LIMIT"]);
        // What the file says the daemon reads there.
        loaded.origins.insert("data_dir".into(), Origin::File("/home/me/c/x.toml".into(), 3));
        loaded.origins.insert("serve.socket".into(), Origin::File("/home/me/c/x.toml".into(), 4));
        let wanted = Wanted::of(&loaded, &places());
        assert_eq!((wanted.options.len(), wanted.writable.len()), (1, 2));
        loaded.config.serve.socket = Some("/run/user/7/situated/other".into());
        loaded.config.engine.vaults[0].path = "/tmp/notes".into();
        let wanted = Wanted::of(&loaded, &places());
        assert!(wanted.writable.len() == 1 && wanted.shared_tmp);
    }

    #[test]
    fn providers_need_the_network() {
        let mut loaded = loaded();
        loaded.config.engine.context.provider = Provider::Anthropic;
        loaded.config.engine.embed.provider = EmbedProvider::Ollama;
        loaded.config.engine.rerank.provider = RerankProvider::Cohere;
        let wanted = Wanted::of(&loaded, &places());
        assert_eq!(wanted.network, ["[context] anthropic", "[embed] ollama", "[rerank] cohere"]);
        assert!(wanted.key_in_shell);
        loaded.config.engine.context.key.command = Some("pass show x".into());
        assert!(!Wanted::of(&loaded, &places()).key_in_shell);
        loaded.config.engine.embed.provider = EmbedProvider::Transformer;
        loaded.config.engine.embed.model = Some("/models/mini".into());
        assert_eq!(network(&loaded.config), ["[context] anthropic", "[rerank] cohere"]);
    }
}
