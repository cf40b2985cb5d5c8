//! Embedders that are slow or far away: who serves a vault, and which of them this process has open.
//!
//! No save waits for them. What is decided takes the vectors that are cached; what is missing is ordered from the
//! [`worker`], and when it has come the note is decided about again. Nothing of that is stored: after a restart what
//! is missing is found missing again. Another embedder takes over when all its vectors are there: see [`switch`].

pub(super) mod queries;
pub(super) mod survey;
pub(super) mod switch;
pub(super) mod worker;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde::{Deserialize, Serialize};

use super::decide::Task;
use super::keeper::Keeper;
use super::report::EmbedStatus;
use super::{EngineError, Event, Loop, Shared};
use crate::config::Config;
use crate::context::settings::KeyConfig;
use crate::embed::settings::{EmbedConfig, EmbedProvider};
use crate::embed::{EmbedError, Embedder, Input};
use crate::llm::Health;
use crate::llm::ledger::Purpose;
use crate::plan::Reason;
use crate::sandbox::power::Brake;
use crate::store::record::NoteRecord;
use crate::vault::VaultPath;
use worker::{Order, Tell, Told, Worker};

/// Says in a store's folder who made the vectors that serve.
const SERVING: &str = "embedder.json";

/// An embedder that this process has open, with what it takes to use it.
pub(super) struct Service {
    pub(super) embedder: Embedder,
    /// Whom it was opened for; `None` for the built-in model.
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
        let models = shared.config.load().data_dir.join("models");
        let embedder = Embedder::open(config, dimensions, &models, &shared.provider, &shared.spender)?;
        if embedder.is_local_and_fast() {
            return Ok(Service::builtin());
        }
        let price = embedder.price();
        let worker = Worker::start(shared, config, &embedder, tell(shared)).map_err(EmbedError::Local)?;
        let service = Arc::new(Service { embedder, config: Some(config.clone()), worker: Some(worker), price });
        shared.services.add(config.clone(), &service);
        Ok(service)
    }

    /// One that cannot be opened any more. What it made serves what was indexed, and queries are answered by words.
    fn gone(serving: &Serving, why: String) -> Arc<Service> {
        let embedder = Embedder::gone(serving.identity.clone(), serving.dimensions, why);
        Arc::new(Service { embedder, config: None, worker: None, price: Some(0) })
    }

    /// Why it makes no vectors at present.
    fn problem(&self) -> Option<String> {
        let name = self.embedder.identity();
        match self.embedder.health() {
            Health::Stopped(why) => Some(format!("the embedder {name} is not asked any more: {why}")),
            Health::Open(_, why) => Some(format!("the embedder {name} does not answer and is asked again soon: {why}")),
            Health::Good => self.worker.as_ref().and_then(Worker::held),
        }
    }
}

fn tell(shared: &Arc<Shared>) -> Tell {
    let events = shared.events.clone();
    Arc::new(move |told| {
        // The engine may have ended; what was made is in the cache.
        let _ = events.send(Event::Embedded(told));
    })
}

/// The embedders that are open, so that several vaults share connections, limits and budget of one.
#[derive(Default)]
pub(super) struct Services(Mutex<Vec<(EmbedConfig, Weak<Service>)>>);

impl Services {
    fn open(&self) -> MutexGuard<'_, Vec<(EmbedConfig, Weak<Service>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, config: &EmbedConfig, dimensions: Option<usize>) -> Option<Arc<Service>> {
        let open = self.open();
        let same = open.iter().filter(|(of, _)| of == config).filter_map(|(_, service)| service.upgrade());
        same.into_iter().find(|service| dimensions.is_none_or(|wanted| wanted == service.embedder.dimensions()))
    }

    fn add(&self, config: EmbedConfig, service: &Arc<Service>) {
        let mut open = self.open();
        open.retain(|(_, service)| service.strong_count() > 0);
        open.push((config, Arc::downgrade(service)));
    }
}

/// Who made the vectors that serve a vault. Holds no key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Serving {
    schema: u32,
    identity: String,
    dimensions: usize,
    /// What the model was asked for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked_dimensions: Option<u32>,
    provider: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
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
    fn of(config: &EmbedConfig, embedder: &Embedder) -> Self {
        Serving {
            schema: 1,
            identity: embedder.identity().to_owned(),
            dimensions: embedder.dimensions(),
            asked_dimensions: config.dimensions,
            provider: config.provider.name().to_owned(),
            model: config.model.clone(),
            base_url: config.base_url.clone(),
            query_prefix: config.query_prefix.clone(),
            document_prefix: config.document_prefix.clone(),
            max_tokens: config.max_tokens,
            key_file: config.key.file.clone(),
            key_credential: config.key.credential.clone(),
        }
    }

    /// What a store's folder says; the built-in model if it says nothing that makes sense.
    fn read(dir: &Path) -> Option<Serving> {
        let bytes = std::fs::read(dir.join(SERVING)).ok()?;
        let read: Option<Serving> = serde_json::from_slice(&bytes).ok();
        if read.is_none() {
            tracing::warn!(file = SERVING, "what it says cannot be read: the built-in model serves for now");
        }
        read.filter(|serving| serving.provider != EmbedProvider::Builtin.name())
    }

    fn write(&self, dir: &Path) -> std::io::Result<()> {
        let (path, fresh) = (dir.join(SERVING), dir.join("embedder.json.new"));
        let file = std::fs::File::create(&fresh)?;
        serde_json::to_writer_pretty(&file, self).map_err(std::io::Error::other)?;
        file.sync_all()?;
        std::fs::rename(fresh, path)
    }

    /// The configuration that it was, with what a newer one knows of the same provider.
    fn config(&self, now: &EmbedConfig) -> EmbedConfig {
        let provider = EmbedProvider::ALL.into_iter().find(|p| p.name() == self.provider).unwrap_or_default();
        let here = provider == now.provider && self.base_url == now.base_url;
        let key = if here {
            now.key.clone()
        } else {
            KeyConfig { file: self.key_file.clone(), command: None, credential: self.key_credential.clone() }
        };
        EmbedConfig {
            provider,
            model: self.model.clone(),
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

/// Whether a configuration asks for the vectors of this identity.
fn is_asked_for(config: &EmbedConfig, identity: &str, dimensions: usize) -> bool {
    match config.provider {
        EmbedProvider::Builtin => identity == Embedder::Builtin.identity(),
        // Only the model itself says who it is: whoever opens it compares.
        EmbedProvider::Transformer => identity.starts_with("transformer "),
        _ => {
            config.dimensions.is_none_or(|wanted| wanted as usize == dimensions)
                && config.identity(dimensions) == identity
        }
    }
}

/// The embedder that serves the store in `dir`, and whether it is the one that the configuration asks for.
pub(super) fn serving(shared: &Arc<Shared>, config: &Config, dir: &Path) -> (Arc<Service>, bool) {
    let wanted = &config.embed;
    let Some(serving) = Serving::read(dir) else {
        return (Service::builtin(), wanted.provider == EmbedProvider::Builtin);
    };
    let asked_for = is_asked_for(wanted, &serving.identity, serving.dimensions)
        && (wanted.provider != EmbedProvider::Transformer || wanted.model == serving.model);
    let settings = if asked_for { wanted.clone() } else { serving.config(wanted) };
    let service = Service::open(shared, &settings, Some(serving.dimensions))
        .unwrap_or_else(|error| Service::gone(&serving, error.to_string()));
    if service.embedder.identity() != serving.identity {
        // The files of a model are other ones by now.
        return (Service::gone(&serving, "its model has changed".to_owned()), false);
    }
    let usable = service.embedder.gone_because().is_none();
    (service, asked_for && usable)
}

/// What a vault's keeper knows of vectors that have not come yet.
#[derive(Default)]
pub(super) struct Awaited {
    /// Notes whose vectors were ordered from the embedder that serves.
    ordered: BTreeSet<VaultPath>,
    /// Notes whose vectors came, and that are to be decided about again.
    arrived: BTreeSet<VaultPath>,
}

impl Keeper {
    /// A note was decided about and lacks these vectors: they are ordered.
    pub(super) fn order_vectors(&mut self, record: &NoteRecord, missing: Vec<Vec<Input>>, bulk: bool) {
        let Some(worker) = &self.desk.service.worker else { return };
        let path = &record.path;
        if self.desk.withholds_vectors(record) {
            // What was ordered before it became private is not sent any more.
            worker.forget(self.shared.id, path.clone());
            self.awaited.ordered.remove(path);
            return;
        }
        let documents: Vec<Vec<Input>> = missing.into_iter().filter(|document| !worker.refused(document)).collect();
        if documents.is_empty() {
            return;
        }
        self.awaited.ordered.insert(path.clone());
        worker.order(Order {
            vault: self.shared.id,
            vault_name: self.config.name.clone(),
            path: path.clone(),
            cache: Arc::downgrade(&self.desk.vectors),
            documents,
            bulk,
            reason: Reason::BodyChanged,
            purpose: Purpose::Change,
            rebuild: None,
        });
    }

    /// Another `[embed]` is in force. Who serves goes on serving; if it is another that is asked for, that begins to be
    /// made ready.
    pub(super) fn take_embedder(&mut self, config: &Config, engine: &Arc<Shared>) -> Result<(), EngineError> {
        let (service, asked_for) = serving(engine, config, &self.dir);
        self.desk = self.desk_with(&service, self.desk.vectors.clone());
        self.switch = (!asked_for).then(|| switch::Switch::new(config.embed.clone()));
        // What the old handle had under way is asked for again by the new one.
        let Awaited { ordered, mut arrived } = std::mem::take(&mut self.awaited);
        arrived.extend(ordered);
        self.awaited.arrived = arrived;
        self.publish()
    }

    /// Decides again about notes whose vectors have come.
    fn land_vectors(&mut self) {
        let arrived = std::mem::take(&mut self.awaited.arrived);
        let known = arrived.into_iter().filter(|path| self.known.contains_key(path));
        let tasks: Vec<Task> = known.map(Task::again).collect();
        if !tasks.is_empty() {
            // Nothing new was decided, so nobody is told of it.
            self.enqueue(tasks, Vec::new(), true);
        }
    }

    /// Notes that wait for vectors of the embedder that serves.
    pub(super) fn waiting_for_vectors(&self) -> u64 {
        self.awaited.ordered.len() as u64
    }

    /// For `status`.
    pub(super) fn embed_status(&self) -> EmbedStatus {
        let mut status = EmbedStatus { waiting: self.waiting_for_vectors(), ..EmbedStatus::default() };
        if let Some(switch) = &self.switch {
            switch.status(&mut status);
        }
        status
    }
}

impl Loop {
    /// A worker says what came of an order.
    pub(super) fn embedded(&mut self, told: Told) {
        let Told { vault, identity, path, problem } = told;
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        if let Some(switch) = keeper.switch.as_mut().filter(|switch| switch.is_to(&identity)) {
            switch.came(path, problem);
        } else if keeper.desk.service.embedder.identity() == identity {
            keeper.awaited.ordered.remove(&path);
            keeper.awaited.arrived.insert(path);
        }
    }

    /// Takes what has come to the notes, and goes on with what another embedder lacks.
    pub(super) fn tend_vectors(&mut self) {
        for keeper in self.keepers.values_mut() {
            keeper.land_vectors();
        }
        // Vectors of another embedder are work in bulk.
        if self.brakes.level() == Brake::Off {
            for vault in self.keepers.keys().copied().collect::<Vec<_>>() {
                self.tend_switch(vault);
            }
        }
    }

    /// Says where embedders send texts, and tells them whether the daemon is paused.
    pub(super) fn show_embedders(&self) {
        for keeper in self.keepers.values() {
            let next = keeper.switch.as_ref().and_then(switch::Switch::service);
            for service in [Some(&keeper.desk.service), next].into_iter().flatten() {
                service.worker.iter().for_each(|worker| worker.pause(self.all_waits()));
            }
        }
        let serving = self.keepers.values().filter_map(|keeper| keeper.desk.service.embedder.leaves_to());
        let next = self.keepers.values().filter_map(|keeper| keeper.switch.as_ref()?.service()?.embedder.leaves_to());
        let mut to: Vec<String> = serving.chain(next).collect();
        to.sort();
        to.dedup();
        *self.shared.embedders.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }

    /// Why vectors are not made at present.
    pub(super) fn vector_problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = Vec::new();
        for keeper in self.keepers.values() {
            let waits = keeper.waiting_for_vectors() > 0;
            problems.extend(keeper.desk.service.problem().filter(|_| waits));
            problems.extend(keeper.desk.service.embedder.gone_because().map(|why| {
                format!(
                    "the embedder {} that made the vectors of vault `{}` cannot be used any more, so words alone \
                     answer until another is ready: {why}",
                    keeper.desk.service.embedder.identity(),
                    keeper.config.name
                )
            }));
            problems.extend(keeper.switch.as_ref().and_then(switch::Switch::problem));
        }
        problems.sort();
        problems.dedup();
        problems
    }

    /// The user says that it works again.
    pub(super) fn resume_embedders(&mut self) {
        for keeper in self.keepers.values_mut() {
            keeper.desk.service.resume();
            if let Some(switch) = &mut keeper.switch {
                switch.resume();
            }
        }
    }
}

impl Service {
    pub(super) fn resume(&self) {
        self.embedder.resume();
        if let Some(worker) = &self.worker {
            worker.resume();
        }
    }

    /// What it was opened for.
    fn config(&self) -> EmbedConfig {
        self.config.clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::ledger::{BudgetLimits, Ledger};
    use crate::llm::{ProviderRuntime, Spender};

    fn spender(dir: &Path) -> Arc<Spender> {
        Spender::new(Ledger::open(dir).unwrap(), BudgetLimits::default())
    }

    #[test]
    fn who_serves_is_remembered_without_a_key() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Serving::read(dir.path()), None);
        let config = EmbedConfig {
            provider: EmbedProvider::OpenAi,
            model: Some("m".to_owned()),
            base_url: Some("http://127.0.0.1:1".to_owned()),
            key: KeyConfig { command: Some("echo sk-secret".to_owned()), ..KeyConfig::default() },
            ..EmbedConfig::default()
        };
        let (runtime, spender) = (ProviderRuntime::new(|| {}), spender(dir.path()));
        let embedder = Embedder::open(&config, Some(7), Path::new(""), &runtime, &spender).unwrap();
        let serving = Serving::of(&config, &embedder);
        serving.write(dir.path()).unwrap();
        assert_eq!(Serving::read(dir.path()), Some(serving.clone()));
        assert!(!std::fs::read_to_string(dir.path().join(SERVING)).unwrap().contains("secret"));
        assert!(is_asked_for(&config, &serving.identity, 7));
        assert!(!is_asked_for(&EmbedConfig { dimensions: Some(8), ..config.clone() }, &serving.identity, 7));
        assert!(!is_asked_for(&EmbedConfig::default(), &serving.identity, 7));
        let again = serving.config(&EmbedConfig::default());
        assert_eq!((again.identity(7), again.key.command), (serving.identity, None));
        std::fs::write(dir.path().join(SERVING), "nonsense").unwrap();
        assert_eq!(Serving::read(dir.path()), None);
    }
}
