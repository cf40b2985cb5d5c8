//! Models from a Hugging Face hub: the few files that are needed, complete and checked against what the hub says, or
//! none. An edge: network and files.
//!
//! Models that other programs have downloaded already are used in place ([`located`]). Others go to the shelf
//! ([`models`](super::models)); an interrupted download resumes where it stopped. The async functions write files, so
//! run them separately from what must answer soon.

mod download;
mod id;
mod info;
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
use super::transport::why;
use download::Source;
use id::is_word;
pub(crate) use id::local;
pub use id::{ModelId, OWN_ORG, located};
pub use info::ModelInfo;
use platform::files::FileId;

/// Where models are, unless `HF_ENDPOINT` says otherwise.
const ENDPOINT: &str = "https://huggingface.co";

/// Longest wait for a connection, and for the next bytes of a file.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Suffix of a model's folder while the model is incomplete.
pub const PARTIAL: &str = ".partial";

/// Optional text files of a network, beside those that it must have.
const TEXTS: [&str; 2] = ["tokenizer_config.json", "config_sentence_transformers.json"];

/// The file that lists the steps of a model, some of which have a folder each.
const MODULES: &str = "modules.json";

/// Pause before the second attempt at a file.
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
    /// Another process works on the model.
    #[error("{0} is being downloaded by another process: wait until it is done")]
    Busy(String),
    /// It was a folder of this user's, so no hub has it.
    #[error("{0} is not here, and no hub has it: `situated models add` copies it from its folder")]
    Own(String),
}

/// Which files a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A neural network, as sentence-transformers writes it.
    Transformer,
    /// A static table, as model2vec writes it.
    Table,
}

/// Which part of a model is downloaded: the small files say whether the weights are worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Everything except the weights.
    Texts,
    /// The weights.
    Weights,
}

/// A lock that keeps other processes from a model's folder until it is dropped.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    _file: File,
}

impl Held {
    /// Locks the model whose folder in `cache` is `folder`; messages call it `name`.
    ///
    /// # Errors
    /// Another process has it, or `cache` cannot be written to.
    pub fn take(cache: &Path, folder: &str, name: &str) -> Result<Self, HubError> {
        at(cache, std::fs::create_dir_all(cache))?;
        let path = cache.join(format!("{folder}.lock"));
        loop {
            let file = at(&path, File::options().create(true).write(true).truncate(false).open(&path))?;
            match file.try_lock() {
                // If the one before has removed the file since it was opened here, others lock the next one.
                Ok(()) if FileId::of(&file).ok() != FileId::at(&path).ok() => {}
                Ok(()) => return Ok(Held { path, _file: file }),
                Err(TryLockError::WouldBlock) => return Err(HubError::Busy(name.to_owned())),
                Err(TryLockError::Error(error)) => return Err(HubError::File { path, error }),
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // While it is locked, so that nobody else holds it. One that is left behind does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}

pub(crate) fn at<T>(path: &Path, result: std::io::Result<T>) -> Result<T, HubError> {
    result.map_err(|error| HubError::File { path: path.to_owned(), error })
}

/// Called with the name of a file, its bytes that are here and, if the hub says it, its bytes in all.
pub type OnProgress<'a> = &'a (dyn Fn(&str, u64, Option<u64>) + Send + Sync);

/// Where models come from.
pub struct Hub {
    endpoint: Url,
    token: Option<SecretString>,
    client: reqwest::Client,
    /// Before the second of several attempts; then twice that, and so on.
    pause: Duration,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What is left out may hold a key.
        f.debug_struct("Hub").field("host", &self.host()).finish_non_exhaustive()
    }
}

impl Hub {
    /// The hub at `HF_ENDPOINT`, with the token `HF_TOKEN`.
    pub fn from_env() -> Result<Self, HubError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let token = variable("HF_TOKEN").map(|token| SecretString::from(token.trim()));
        Hub::new(&endpoint, token)
    }

    /// A hub at an address.
    pub fn new(endpoint: &str, token: Option<SecretString>) -> Result<Self, HubError> {
        static PROVIDER: Once = Once::new();
        // If another provider was installed before, it stays.
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
        let client = builder.build().map_err(|error| HubError::Endpoint(why(&error)))?;
        Ok(Hub { endpoint, token, client, pause: PAUSE })
    }

    /// Downloads a part of a model's files into `folder`; files that are there already stay. `commit` is the commit to
    /// take them from, by default the newest of the id's revision. Returns the commit of the files, if the hub names
    /// it.
    ///
    /// # Errors
    /// The hub has no such model, the model lacks those files, or the network or the disk fails. Files that have come
    /// are kept.
    pub async fn pull(
        &self,
        id: &ModelId,
        commit: Option<&str>,
        layout: Layout,
        part: Part,
        folder: &Path,
        progress: OnProgress<'_>,
    ) -> Result<Option<String>, HubError> {
        at(folder, std::fs::create_dir_all(folder))?;
        let (name, revision) = (id.to_string(), commit.unwrap_or(id.revision()).to_owned());
        let mut source = Source { hub: self, model: &name, id, revision, folder, progress };
        let [config, tokenizer, weights] = MUST_HAVE;
        match (part, layout) {
            (Part::Weights, _) => source.must_fetch(weights).await?,
            (Part::Texts, Layout::Table) => source.must_fetch(tokenizer).await?,
            (Part::Texts, Layout::Transformer) => {
                source.must_fetch(config).await?;
                source.must_fetch(tokenizer).await?;
                for name in TEXTS {
                    source.fetch(name).await?;
                }
                for name in SENTENCE_CONFIGS {
                    if source.fetch(name).await? {
                        break;
                    }
                }
                if source.fetch(MODULES).await? {
                    for path in at(&folder.join(MODULES), modules(folder))? {
                        source.fetch(&format!("{path}/config.json")).await?;
                    }
                }
            }
        }
        Ok(Some(source.revision).filter(|known| commit.is_some() || known != id.revision()))
    }

    /// Host, and port if it is not the scheme's own.
    pub fn host(&self) -> String {
        let name = self.endpoint.host_str().unwrap_or_default();
        self.endpoint.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
    }
}

/// Folders of the steps that `modules.json` in `folder` lists. Errors in that file are left to whoever opens the model.
fn modules(folder: &Path) -> std::io::Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Module {
        path: String,
    }
    let bytes = std::fs::read(folder.join(MODULES))?;
    let modules: Vec<Module> = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(modules.into_iter().map(|module| module.path).filter(|path| is_word(path)).collect())
}

/// The files in a model's folder that may be read when the model is opened, as far as they exist: relative, and in the
/// order in which [`Hub::pull`] asks for them.
///
/// # Errors
/// The folder cannot be read.
pub fn files_of(layout: Layout, folder: &Path) -> Result<Vec<String>, HubError> {
    let [config, tokenizer, weights] = MUST_HAVE;
    let mut names: Vec<String> = match layout {
        Layout::Table => vec![tokenizer.to_owned()],
        Layout::Transformer => {
            let plain = [config, tokenizer].into_iter().chain(TEXTS).chain(SENTENCE_CONFIGS);
            let mut names: Vec<String> = plain.map(str::to_owned).collect();
            let list = folder.join(MODULES);
            if list.is_file() {
                names.push(MODULES.to_owned());
                names.extend(at(&list, modules(folder))?.into_iter().map(|path| format!("{path}/config.json")));
            }
            names
        }
    };
    names.push(weights.to_owned());
    names.retain(|name| folder.join(name).is_file());
    Ok(names)
}
