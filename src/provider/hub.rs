//! Models from a Hugging Face hub: the few files that are needed, whole and as the hub says they are, or none.
//! An edge: network and files.
//!
//! What other programs have downloaded already is used where it lies. Otherwise the files go to a folder of ours that
//! gets its name when all of them are there; an interrupted download goes on where it stopped. Files are written from
//! within the async functions: run them apart from what must answer soon.

mod download;
#[cfg(test)]
mod tests;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use reqwest::Url;
use reqwest::redirect::Policy;
use secrecy::SecretString;
use serde::Deserialize;

use super::transformer::{MUST_HAVE, SENTENCE_CONFIGS};
use download::Source;
use protocol::folders::{self, Folders};

/// Where models are, unless `HF_ENDPOINT` says otherwise.
const ENDPOINT: &str = "https://huggingface.co";

/// Longest wait for a connection, and for the next bytes of a file.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Before the second attempt at a file.
const PAUSE: Duration = Duration::from_millis(500);

/// A model cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// What was given is neither a name nor a folder.
    #[error("`{0}` names no model: write org/name, org/name@revision, or the path of a folder (/…, ./… or ~/…)")]
    Name(String),
    /// The address of the hub cannot be used.
    #[error("the hub's address (HF_ENDPOINT) cannot be used: {0}")]
    Endpoint(String),
    /// The folder is not there.
    #[error("{} is no folder: name one with the files of a model, or a model of the hub (org/name)", .0.display())]
    NoFolder(PathBuf),
    /// The hub answered, and gives nothing.
    #[error("{host} gives no {file} of {model} ({status}): {hint}")]
    Refused {
        /// As it was given.
        model: String,
        /// Of the model.
        file: String,
        /// Of the hub.
        host: String,
        /// Of HTTP.
        status: u16,
        /// What to do.
        hint: &'static str,
    },
    /// The network failed, also when it was tried again.
    #[error("{file} of {model} cannot be downloaded from {host}: {problem}; what is here is kept, so try again later")]
    Network {
        /// As it was given.
        model: String,
        /// Of the model.
        file: String,
        /// Of the hub.
        host: String,
        /// In the words of the system.
        problem: String,
    },
    /// A file is not what the hub says it is. It has been removed.
    #[error("{file} of {model} came damaged from {host}: {problem}; try again, or ask who runs that server")]
    Wrong {
        /// As it was given.
        model: String,
        /// Of the model.
        file: String,
        /// Of the hub.
        host: String,
        /// What was expected, and what came.
        problem: String,
    },
    /// A file cannot be written or read.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Another process is at it.
    #[error("{0} is being downloaded by another process: wait until it is done")]
    Busy(String),
}

fn at<T>(path: &Path, result: std::io::Result<T>) -> Result<T, HubError> {
    result.map_err(|error| HubError::File { path: path.to_owned(), error })
}

/// Hears of bytes that are here and, if the hub says it, bytes in all, of the file that is named.
pub type OnProgress<'a> = &'a (dyn Fn(&str, u64, Option<u64>) + Send + Sync);

/// Where models come from.
pub struct Hub {
    endpoint: Url,
    token: Option<SecretString>,
    /// The cache that the programs of the hub's makers share.
    shared: Option<PathBuf>,
    client: reqwest::Client,
    /// Before the second of several attempts; then twice that, and so on.
    pause: Duration,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What is left out may hold a key.
        f.debug_struct("Hub").field("host", &self.host()).field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Hub {
    /// The hub at `HF_ENDPOINT`, with the token `HF_TOKEN`, and the cache at `HF_HUB_CACHE`, `HF_HOME/hub` or below the
    /// user's folder for caches.
    pub fn from_env() -> Result<Self, HubError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let token = variable("HF_TOKEN").map(|token| SecretString::from(token.trim()));
        Hub::new(&endpoint, token, Some(Folders::here().hub_cache))
    }

    /// A hub at an address. `shared` is the cache of other programs, which is only read.
    pub fn new(endpoint: &str, token: Option<SecretString>, shared: Option<PathBuf>) -> Result<Self, HubError> {
        static PROVIDER: Once = Once::new();
        // Whoever installed another one before us had reasons.
        PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let url = Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        // The address itself is not repeated: some have a password in them.
        let no_url = || HubError::Endpoint(format!("it must be like {ENDPOINT}"));
        let endpoint = url.ok_or_else(no_url)?;
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("situated/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .referer(false);
        if endpoint.scheme() == "http" {
            // Nothing to verify, unless a redirect leads to a server with a certificate.
            let local = matches!(endpoint.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
            builder = if local { builder.no_proxy().tls_certs_only([]) } else { builder };
        } else {
            builder = builder.https_only(true);
        }
        let client = builder.build().map_err(|error| HubError::Endpoint(download::why(&error)))?;
        Ok(Hub { endpoint, token, shared, client, pause: PAUSE })
    }

    /// The folder of a model. `model` is the path of a folder (absolute, or beginning with `./`, `../` or `~/`), or
    /// `org/name`, or `org/name@revision`; a model of the hub is taken from the shared cache or from `cache` if it is
    /// there, and else downloaded to `cache`. Once it is there the hub is not asked again, whatever becomes of it.
    pub async fn fetch(&self, model: &str, cache: &Path, progress: OnProgress<'_>) -> Result<PathBuf, HubError> {
        if let Some(folder) = local(model) {
            return if folder.is_dir() { Ok(folder) } else { Err(HubError::NoFolder(folder)) };
        }
        let id = Id::parse(model).ok_or_else(|| HubError::Name(model.to_owned()))?;
        let folder = cache.join(id.folder());
        if folder.is_dir() {
            return Ok(folder);
        }
        if let Some(snapshot) = self.shared.as_deref().and_then(|shared| id.snapshot(shared)) {
            return Ok(snapshot);
        }
        at(cache, std::fs::create_dir_all(cache))?;
        let lock = cache.join(format!("{}.lock", id.folder()));
        let held = at(&lock, File::options().create(true).write(true).truncate(false).open(&lock))?;
        match held.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(HubError::Busy(model.to_owned())),
            Err(TryLockError::Error(error)) => return Err(HubError::File { path: lock, error }),
        }
        // Another process may have been at it until now.
        if !folder.is_dir() {
            let partial = cache.join(format!("{}.partial", id.folder()));
            self.download(model, &id, &partial, progress).await?;
            at(&folder, std::fs::rename(&partial, &folder))?;
        }
        // Left behind it does no harm, but says nothing either.
        let _ = std::fs::remove_file(&lock);
        Ok(folder)
    }

    /// All files of a model into `folder`.
    async fn download(&self, model: &str, id: &Id, folder: &Path, progress: OnProgress<'_>) -> Result<(), HubError> {
        at(folder, std::fs::create_dir_all(folder))?;
        let mut source = Source { hub: self, model, id, revision: id.revision.clone(), folder, progress };
        let [config, tokenizer, weights] = MUST_HAVE;
        source.must_fetch(config).await?;
        source.must_fetch(tokenizer).await?;
        for name in ["tokenizer_config.json", "config_sentence_transformers.json"] {
            source.fetch(name).await?;
        }
        for name in SENTENCE_CONFIGS {
            if source.fetch(name).await? {
                break;
            }
        }
        if source.fetch("modules.json").await? {
            for path in modules(&folder.join("modules.json"))? {
                source.fetch(&format!("{path}/config.json")).await?;
            }
        }
        source.must_fetch(weights).await
    }

    /// Host, and port if it is not the scheme's own.
    fn host(&self) -> String {
        let name = self.endpoint.host_str().unwrap_or_default();
        self.endpoint.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
    }
}

/// Folders of the steps that `modules.json` lists. What cannot be understood is left to whoever opens the model.
fn modules(file: &Path) -> Result<Vec<String>, HubError> {
    #[derive(Deserialize)]
    struct Module {
        path: String,
    }
    let bytes = at(file, std::fs::read(file))?;
    let modules: Vec<Module> = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(modules.into_iter().map(|module| module.path).filter(|path| is_word(path)).collect())
}

/// The folder that `model` is, if it is written as one.
fn local(model: &str) -> Option<PathBuf> {
    if let Some(rest) = model.strip_prefix("~/") {
        return Some(folders::home()?.join(rest));
    }
    let path = Path::new(model);
    let relative = model == "." || model == ".." || model.starts_with("./") || model.starts_with("../");
    (path.is_absolute() || relative).then(|| path.to_owned())
}

/// Part of a name of the hub: no more than that is ever put into a path or an address.
fn is_word(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !text.is_empty() && text.len() <= 96 && !text.starts_with('.') && text.chars().all(fine)
}

/// A model of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Id {
    org: String,
    name: String,
    revision: String,
}

impl Id {
    fn parse(model: &str) -> Option<Self> {
        let (path, revision) = model.split_once('@').unwrap_or((model, "main"));
        let (org, name) = path.split_once('/')?;
        let fine = [org, name, revision].into_iter().all(is_word);
        fine.then(|| Id { org: org.to_owned(), name: name.to_owned(), revision: revision.to_owned() })
    }

    /// The name of its folder.
    fn folder(&self) -> String {
        let Id { org, name, revision } = self;
        let at = if revision == "main" { String::new() } else { format!("@{revision}") };
        format!("{org}--{name}{at}")
    }

    /// What another program has downloaded to the shared cache: `models--org--name/refs/<revision>` has the commit,
    /// and `snapshots/<commit>` its files.
    fn snapshot(&self, shared: &Path) -> Option<PathBuf> {
        let home = shared.join(format!("models--{}--{}", self.org, self.name));
        let commit = std::fs::read_to_string(home.join("refs").join(&self.revision));
        let commit = commit.unwrap_or_else(|_| self.revision.clone());
        let snapshot = home.join("snapshots").join(Some(commit.trim()).filter(|commit| is_word(commit))?);
        MUST_HAVE.iter().all(|file| snapshot.join(file).is_file()).then_some(snapshot)
    }
}
