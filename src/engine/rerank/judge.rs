//! Who judges: a provider behind HTTP, or a cross-encoder in this process.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use index::search::rerank::{RerankConfig, RerankProvider};
use provider as llm;
use provider::transformer::{CrossEncoder, TransformerError};
use provider::{Account, Billed, Health, RerankScores, Unanswered};

/// Why there are no scores.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Unjudged {
    #[error("{0}")]
    Unanswered(#[from] Unanswered),
    #[error("{0}")]
    Model(#[from] TransformerError),
    /// One search at a time has all cores.
    #[error("the cross-encoder is busy with another search")]
    Busy,
}

/// Cheap to clone; clones share everything.
#[derive(Clone)]
pub(super) enum Judge {
    /// Asked over HTTP.
    Remote(llm::RerankClient),
    /// Computed here.
    Local(Arc<Local>),
}

/// A model that is read when it is first needed, for that takes a second or more.
pub(super) struct Local {
    folder: PathBuf,
    model: OnceLock<Result<CrossEncoder, TransformerError>>,
    turn: tokio::sync::Semaphore,
}

impl Judge {
    /// The judge that the configuration names. Opens no connection and reads no file yet.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub(super) fn new(config: &RerankConfig) -> Result<Self, String> {
        if config.provider == RerankProvider::Transformer {
            let (folder, turn) = (PathBuf::from(config.model()), tokio::sync::Semaphore::new(1));
            return Ok(Judge::Local(Arc::new(Local { folder, model: OnceLock::new(), turn })));
        }
        llm::RerankClient::new(config).map(Judge::Remote)
    }

    /// See [`llm::RerankClient::judge`]. What is computed here goes on to its end: the next search has it then.
    pub(super) async fn judge(
        &self,
        query: &str,
        documents: &[String],
        within: Duration,
        account: &Account,
    ) -> Result<RerankScores, Unjudged> {
        match self {
            Judge::Remote(client) => Ok(client.judge(query, documents, within, account).await?),
            Judge::Local(local) => local.clone().judge(query.to_owned(), documents.to_vec()).await,
        }
    }

    /// See [`llm::RerankClient::guess`].
    pub(super) fn guess(&self, query: &str, documents: &[String]) -> Billed {
        match self {
            Judge::Remote(client) => client.guess(query, documents),
            Judge::Local(_) => Billed::default(),
        }
    }

    /// Millionths of a dollar; `None` if the price is not known.
    pub(super) fn cost(&self, billed: &Billed) -> Option<u64> {
        match self {
            Judge::Remote(client) => client.cost(billed),
            Judge::Local(_) => Some(0),
        }
    }

    /// Whether there is nothing to keep account of.
    pub(super) fn is_free(&self) -> bool {
        match self {
            Judge::Remote(client) => client.is_free(),
            Judge::Local(_) => true,
        }
    }

    /// What the user has to look at.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Judge::Remote(client) => match client.health() {
                Health::Stopped(why) => Some(format!("the reranker is not asked any more: {why}")),
                Health::Good | Health::Open(..) => None,
            },
            Judge::Local(local) => {
                let error = local.model.get()?.as_ref().err()?;
                Some(format!("searches are not reranked: {error}"))
            }
        }
    }

    /// Forgets what stopped it.
    pub(super) fn resume(&self) {
        match self {
            Judge::Remote(client) => client.resume(),
            Judge::Local(_) => {}
        }
    }

    /// Host (and port) that queries and passages go to; `None` if they stay on this machine.
    pub(super) fn leaves_to(&self) -> Option<String> {
        match self {
            Judge::Remote(client) => client.leaves_to(),
            Judge::Local(_) => None,
        }
    }
}

impl Local {
    async fn judge(self: Arc<Self>, query: String, documents: Vec<String>) -> Result<RerankScores, Unjudged> {
        let _turn = self.turn.try_acquire().map_err(|_| Unjudged::Busy)?;
        let local = self.clone();
        let scored = tokio::task::spawn_blocking(move || {
            let model = local.model.get_or_init(|| CrossEncoder::open(&local.folder)).as_ref().map_err(Clone::clone)?;
            let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
            model.scores(&query, &documents)
        });
        // An error is the end of the runtime, or a fault that the model's own code met.
        let scores = scored.await.map_err(|_| Unjudged::Busy)??;
        Ok(RerankScores { scores: scores.into_iter().map(Some).collect() })
    }
}
