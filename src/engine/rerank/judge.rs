//! Who judges: a provider behind HTTP, or a cross-encoder in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::Scores;
use index::search::rerank::{RerankConfig, RerankProvider};
use provider::models::{ModelKind, Shelf};
use provider::transformer::CrossEncoder;
use provider::{Account, Health, RerankClient};

/// One search at a time has all cores.
const BUSY: &str = "the cross-encoder is busy with another search";

/// Cheap to clone; clones share everything.
#[derive(Clone)]
pub(super) enum Judge {
    /// Asked over HTTP.
    Remote(RerankClient),
    /// Computed here.
    Local(Arc<Local>),
}

/// A model that is read when it is first needed, for that takes a second or more.
pub(super) struct Local {
    /// As the configuration names it.
    name: String,
    shelf: Shelf,
    /// `Some` once it was needed and its folder was there.
    model: Mutex<Option<Result<Arc<CrossEncoder>, String>>>,
    turn: tokio::sync::Semaphore,
}

impl Judge {
    /// The judge that the configuration names; models are looked for in `data_dir`. Opens no connection and reads no
    /// file yet.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub(super) fn new(config: &RerankConfig, data_dir: &Path) -> Result<Self, String> {
        if config.provider == RerankProvider::Transformer {
            let (name, shelf) = (config.model().to_owned(), Shelf::of(data_dir));
            let turn = tokio::sync::Semaphore::new(1);
            return Ok(Judge::Local(Arc::new(Local { name, shelf, model: Mutex::default(), turn })));
        }
        RerankClient::new(config).map(Judge::Remote)
    }

    /// See [`RerankClient::judge`]. A local model always computes to the end: the next search then has its scores.
    ///
    /// # Errors
    /// Why there are none, for the user.
    pub(super) async fn judge(
        &self,
        query: &str,
        documents: &[String],
        within: Duration,
        account: &Account,
    ) -> Result<Scores, String> {
        match self {
            Judge::Remote(client) => {
                let judged = client.judge(query, documents, within, account).await;
                judged.map(Scores::from).map_err(|why| why.to_string())
            }
            Judge::Local(local) => local.clone().judge(query.to_owned(), documents.to_vec()).await,
        }
    }

    /// The client, if a provider is asked.
    fn remote(&self) -> Option<&RerankClient> {
        match self {
            Judge::Remote(client) => Some(client),
            Judge::Local(_) => None,
        }
    }

    /// What a question may cost at most, in millionths of a dollar; `None` if the price is not known.
    pub(super) fn most(&self, query: &str, documents: &[String]) -> Option<u64> {
        self.remote().map_or(Some(0), |client| client.most(query, documents))
    }

    /// Whether it costs nothing, so that there is nothing to account for.
    pub(super) fn is_free(&self) -> bool {
        self.remote().is_none_or(RerankClient::is_free)
    }

    /// Host (and port) that queries and passages go to; `None` if they stay on this machine.
    pub(super) fn leaves_to(&self) -> Option<String> {
        self.remote()?.leaves_to()
    }

    /// What the user has to look at.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Judge::Remote(client) => match client.health() {
                Health::Stopped(why) => Some(format!("the reranker is not asked any more: {why}")),
                Health::Good | Health::Open(..) => None,
            },
            Judge::Local(local) => {
                // Reading the model takes a second or more and holds the lock; until it ends no problem is known.
                let model = local.model.try_lock()?;
                let why = match &*model {
                    Some(opened) => opened.as_ref().err()?.clone(),
                    None => local.folder().err()?,
                };
                Some(format!("searches are not reranked: {why}"))
            }
        }
    }

    /// Forgets what stopped it.
    pub(super) fn resume(&self) {
        match self {
            Judge::Remote(client) => client.resume(),
            Judge::Local(local) => {
                // The model may have been repaired meanwhile. One that is being read right now needs no reset.
                if let Some(mut model) = local.model.try_lock() {
                    model.take_if(|opened| opened.is_err());
                }
            }
        }
    }
}

impl Local {
    /// The model's folder, or what to do about a model that is not on this machine.
    fn folder(&self) -> Result<PathBuf, String> {
        self.shelf.locate(&self.name).ok_or_else(|| ModelKind::CrossEncoder.absent(&self.name))
    }

    /// The model, read when it is first needed. A model that is missing now may come later.
    fn open(&self) -> Result<Arc<CrossEncoder>, String> {
        let mut model = self.model.lock();
        if let Some(opened) = &*model {
            return opened.clone();
        }
        let opened = CrossEncoder::open(&self.folder()?).map(Arc::new).map_err(|error| error.to_string());
        model.insert(opened).clone()
    }

    async fn judge(self: Arc<Self>, query: String, documents: Vec<String>) -> Result<Scores, String> {
        let _turn = self.turn.try_acquire().map_err(|_| BUSY)?;
        let local = self.clone();
        let scored = tokio::task::spawn_blocking(move || {
            let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
            local.open()?.scores(&query, &documents).map_err(|error| error.to_string())
        });
        // An error means that the runtime ended, or that the model's own code failed.
        let scores = scored.await.map_err(|_| BUSY)??;
        Ok(scores.into_iter().map(Some).collect())
    }
}
