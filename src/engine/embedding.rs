//! Embedders that are slow or remote: which one serves a vault, and which ones this process has open.
//!
//! No save waits for them. A decision takes the vectors that are cached; missing ones are ordered from the [`worker`],
//! and when they have come the note is decided about again. Orders are not stored: after a restart the vectors are
//! found missing again. Another embedder takes over when all its vectors are there: see `indexer::migration`.

pub(super) mod queries;
pub(super) mod worker;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::Shared;
use crate::consent::{ConsentState, Terms};
use crate::settings::Settings;
use context::settings::KeyConfig;
use index::embed::models;
use index::embed::settings::{EmbedConfig, EmbedProvider};
use protocol::contexts::Estimate;
use provider::models::Shelf;
use provider::{EmbedError, Embedder};
use worker::{OnEvent, Worker};

/// About how many seconds a call takes, for an estimate.
const CALL_SECONDS: f64 = 1.5;

/// The file in a store's folder that says which embedder made the vectors that serve.
const SERVING: &str = "embedder.json";

/// An embedder that this process has open, with what it takes to use it.
pub(super) struct Service {
    pub(super) embedder: Embedder,
    /// The configuration it was opened for; `None` for the built-in model and for an embedder that is gone.
    config: Option<EmbedConfig>,
    /// For embedders that no save waits for.
    pub(super) worker: Option<Worker>,
    /// Micro-dollars per million tokens; `None` if nobody knows, 0 if it is free.
    pub(super) price: Option<u64>,
}

impl Service {
    /// The model compiled in.
    pub(super) fn builtin() -> Arc<Service> {
        Arc::new(Service { embedder: Embedder::Builtin, config: None, worker: None, price: Some(0) })
    }

    /// Opens an embedder. Without `dimensions` the provider may be asked, which takes its time.
    pub(super) fn open(
        shared: &Arc<Shared>,
        config: &EmbedConfig,
        dimensions: Option<usize>,
    ) -> Result<Arc<Service>, EmbedError> {
        if let Some(open) = shared.services.find(config, dimensions) {
            return Ok(open);
        }
        let models = Shelf::of(&shared.config.load().data_dir);
        let known = dimensions.or_else(|| shared.services.dimensions(config));
        let embedder = Embedder::open(config, known, &models, &shared.provider, &shared.spender)?;
        if matches!(embedder, Embedder::Builtin) {
            return Ok(Service::builtin());
        }
        let worker = if embedder.is_local_and_fast() {
            None
        } else {
            Some(Worker::start(shared, config, &embedder, on_event(shared)).map_err(EmbedError::Local)?)
        };
        let price = embedder.price();
        Ok(shared.services.share(config, Service { embedder, config: Some(config.clone()), worker, price }))
    }

    /// Stands for an embedder that cannot be opened any more. Its vectors stay with the notes that were indexed, and
    /// words answer queries.
    fn gone(serving: &Serving, why: String) -> Arc<Service> {
        let embedder = Embedder::gone(serving.identity.clone(), serving.dimensions, why);
        Arc::new(Service { embedder, config: None, worker: None, price: Some(0) })
    }

    /// Whether it is also to make vectors of texts without their contexts, though that takes time and money. If it
    /// takes neither, the first search that needs them makes them.
    pub(super) fn makes_text_vectors(&self) -> bool {
        let wanted = self.config.as_ref().is_some_and(|config| config.text_vectors);
        wanted && !self.embedder.is_local_and_fast()
    }

    /// Why it makes no vectors at present.
    pub(super) fn problem(&self) -> Option<String> {
        let who = format!("the embedder {}", self.embedder.identity());
        let unasked = crate::unasked(&who, "", self.embedder.health());
        let held = || Some(format!("{who} makes no vectors at present: {}", self.worker.as_ref()?.held()?));
        unasked.or_else(held)
    }
}

fn on_event(shared: &Arc<Shared>) -> OnEvent {
    let engine = Arc::downgrade(shared);
    Arc::new(move |event| {
        if let Some(engine) = engine.upgrade() {
            crate::embedded(&engine, event);
        }
    })
}

/// The embedders that are open, so that several vaults share connections, limits and budget of one.
#[derive(Default)]
pub(super) struct Services {
    open: Mutex<Vec<(EmbedConfig, Weak<Service>)>>,
    /// How many dimensions the vectors have of those that were asked.
    dimensions: Mutex<Vec<(EmbedConfig, usize)>>,
    /// Vectors of queries.
    pub(super) queries: queries::Queries,
}

impl Services {
    fn find(&self, config: &EmbedConfig, dimensions: Option<usize>) -> Option<Arc<Service>> {
        let open = self.open.lock();
        let same = open.iter().filter(|(of, _)| of == config).filter_map(|(_, service)| service.upgrade());
        same.into_iter().find(|service| dimensions.is_none_or(|wanted| wanted == service.embedder.dimensions()))
    }

    /// How many dimensions an embedder on a server has, if it was asked before: it charges for being asked.
    fn dimensions(&self, config: &EmbedConfig) -> Option<usize> {
        let known = self.dimensions.lock();
        known.iter().find(|(of, _)| of == config).map(|(_, dimensions)| *dimensions)
    }

    /// Shares an embedder that was opened. Returns the same one if another vault has opened it meanwhile, because
    /// tables are large.
    fn share(&self, config: &EmbedConfig, service: Service) -> Arc<Service> {
        let mut open = self.open.lock();
        open.retain(|(_, service)| service.strong_count() > 0);
        let same = |other: &Arc<Service>| other.embedder.identity() == service.embedder.identity();
        let others = open.iter().filter(|(of, _)| of == config).filter_map(|(_, other)| other.upgrade());
        if let Some(other) = others.into_iter().find(same) {
            return other;
        }
        let service = Arc::new(service);
        open.push((config.clone(), Arc::downgrade(&service)));
        if service.price != Some(0) {
            let mut known = self.dimensions.lock();
            known.retain(|(of, _)| of != config);
            known.push((config.clone(), service.embedder.dimensions()));
        }
        service
    }
}

/// Who made the vectors that serve a vault. Holds no key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Serving {
    schema: u32,
    identity: String,
    dimensions: usize,
    /// The number of dimensions that the model was asked for, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked_dimensions: Option<u32>,
    provider: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query_prefix: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document_prefix: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    /// Where the key is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_credential: Option<String>,
}

impl Serving {
    pub(super) fn of(config: &EmbedConfig, embedder: &Embedder) -> Self {
        Serving {
            schema: 1,
            identity: embedder.identity().to_owned(),
            dimensions: embedder.dimensions(),
            asked_dimensions: config.dimensions,
            provider: config.provider.name().to_owned(),
            model: config.model.clone(),
            path: config.path.clone(),
            base_url: config.base_url.clone(),
            query_prefix: config.query_prefix.clone(),
            document_prefix: config.document_prefix.clone(),
            max_tokens: config.max_tokens,
            key_file: config.key.file.clone(),
            key_credential: config.key.credential.clone(),
        }
    }

    /// What a store's folder says; `None`, which means the built-in model, if it says nothing that makes sense.
    fn read(dir: &Path) -> Option<Serving> {
        let bytes = std::fs::read(dir.join(SERVING)).ok()?;
        let read: Option<Serving> = serde_json::from_slice(&bytes).ok();
        if read.is_none() {
            tracing::warn!(file = SERVING, "what it says cannot be read: the built-in model serves for now");
        }
        read.filter(|serving| serving.provider != EmbedProvider::Builtin.name())
    }

    pub(super) fn write(&self, dir: &Path) -> std::io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other)?;
        platform::files::replace(&dir.join(SERVING), &text, 0o600)
    }

    /// Whether a configuration asks for these vectors.
    fn is_asked_for(&self, config: &EmbedConfig) -> bool {
        match config.provider {
            EmbedProvider::Builtin => self.identity == Embedder::Builtin.identity(),
            // Only the model itself says what it is: its identity is compared when it is opened.
            EmbedProvider::Static => self.identity.starts_with("static ") && self.path == config.path,
            EmbedProvider::Transformer => self.identity.starts_with("transformer ") && self.model == config.model,
            _ => {
                has_dimensions(config, self.dimensions, self.asked_dimensions)
                    && config.identity(self.dimensions) == self.identity
            }
        }
    }

    /// Whether a configuration sends texts to the same place as before.
    fn is_at(&self, config: &EmbedConfig) -> bool {
        self.provider == config.provider.name() && self.base_url == config.base_url
    }

    /// The configuration as it was then, completed with the present one, whose key it takes if provider and address are
    /// the same.
    fn config(&self, now: &EmbedConfig) -> EmbedConfig {
        let provider = self.provider.parse().unwrap_or_default();
        let here = provider == now.provider && self.base_url == now.base_url;
        let key = if here {
            now.key.clone()
        } else {
            KeyConfig { file: self.key_file.clone(), command: None, credential: self.key_credential.clone() }
        };
        EmbedConfig {
            provider,
            model: self.model.clone(),
            path: self.path.clone(),
            base_url: self.base_url.clone(),
            key,
            dimensions: self.asked_dimensions,
            query_prefix: self.query_prefix.clone(),
            document_prefix: self.document_prefix.clone(),
            max_tokens: self.max_tokens,
            ..now.clone()
        }
    }
}

/// Whether an embedder has the dimensions that a configuration asks for; it was `asked` for as many, or for none. How
/// many one has that is asked for none only its provider knows.
pub(super) fn has_dimensions(config: &EmbedConfig, dimensions: usize, asked: Option<u32>) -> bool {
    config.dimensions.map_or(asked.is_none(), |wanted| wanted as usize == dimensions)
}

/// The folder of the static table that serves the store in `dir`.
pub(super) fn served_table(dir: &Path) -> Option<PathBuf> {
    Serving::read(dir).filter(|serving| serving.provider == EmbedProvider::Static.name())?.path
}

/// Whether the user lets an embedder see a vault's notes. `vault_dir` is the folder of the vault's plain generation:
/// all have the same embedder. An embedder that serves there counts as agreed to until the user takes that back: the user
/// said yes to it, or it served before anybody was asked.
pub(super) fn consent(config: &EmbedConfig, vault_dir: &Path) -> ConsentState {
    ConsentState::read_or(Terms::of_embedder(config), vault_dir, |terms, dir| {
        let serves =
            |serving: Serving| serving.is_at(config) && serving.identity == config.identity(serving.dimensions);
        terms.stand_in(dir) || (!terms.are_refused_in(dir) && Serving::read(dir).is_some_and(serves))
    })
}

/// Whether the user has taken back the yes to an embedder; for `vault_dir` see [`consent`].
pub(super) fn is_refused(config: &EmbedConfig, vault_dir: &Path) -> bool {
    Terms::of_embedder(config).is_some_and(|terms| terms.are_refused_in(vault_dir))
}

/// The embedder that serves the store in `dir`, and whether it is the one that the configuration asks for; for
/// `vault_dir` see [`consent`].
pub(super) fn serving(
    shared: &Arc<Shared>,
    config: &Settings,
    (dir, vault_dir): (&Path, &Path),
) -> (Arc<Service>, bool) {
    let wanted = &config.embed;
    let Some(serving) = Serving::read(dir) else {
        return (Service::builtin(), wanted.provider == EmbedProvider::Builtin);
    };
    let asked_for = serving.is_asked_for(wanted)
        && !is_refused(wanted, vault_dir)
        // The same vectors from another address need a yes: texts would go there.
        && (serving.is_at(wanted) || consent(wanted, vault_dir).is_agreed());
    let settings = if asked_for { wanted.clone() } else { serving.config(wanted) };
    if is_refused(&settings, vault_dir) {
        let why = "you took back your yes to it (`situated contexts start` gives it again)";
        return (Service::gone(&serving, why.to_owned()), false);
    }
    let service = Service::open(shared, &settings, Some(serving.dimensions))
        .unwrap_or_else(|error| Service::gone(&serving, error.to_string()));
    if service.embedder.identity() != serving.identity {
        // The files of the model have changed since.
        return (Service::gone(&serving, "its model has changed".to_owned()), false);
    }
    let usable = service.embedder.gone_because().is_none();
    (service, asked_for && usable)
}

impl Service {
    pub(super) fn resume(&self) {
        self.embedder.resume();
        if let Some(worker) = &self.worker {
            worker.resume();
        }
    }

    /// Sends nothing but queries while it is paused.
    pub(super) fn pause(&self, paused: bool) {
        self.worker.iter().for_each(|worker| worker.pause(paused));
    }

    /// What it takes to make the vectors of so many notes.
    pub(super) fn estimate(&self, notes: u64, tokens: u64) -> Estimate {
        let most = self.embedder.per_call().tokens.max(1);
        let calls = tokens.div_ceil(most.min(50_000)).max(u64::from(tokens > 0));
        let at_once = self.config().concurrency.max(1) as f64;
        Estimate {
            notes,
            calls,
            tokens_in: tokens,
            micro_dollars: provider::cost_of(self.price, tokens),
            price_as_of: self.price.filter(|price| *price > 0).map(|_| models::AS_OF.to_owned()),
            minutes: calls as f64 * CALL_SECONDS / 60.0 / at_once.min(calls.max(1) as f64),
            ..Estimate::default()
        }
    }

    /// The configuration it was opened for.
    pub(super) fn config(&self) -> EmbedConfig {
        self.config.clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
