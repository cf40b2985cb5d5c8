//! The second stage of a search: the best chunks go to a reranker, within a deadline and the day's budget.
//!
//! A reranker that fails does not make the search fail. A search waits until the deadline at most, and then keeps the
//! first order, with a warning; an answer that comes later is still cached, for the next search with the same words.
//! `situated eval` measures with the same reranker, outside the engine.

mod judge;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use lru::LruCache;
use tokio::runtime::Handle;

use super::error::CallError;
use crate::consent::{ConsentState, Terms};
use crate::patience::wait_for;
use crate::settings::Settings;
use index::Cancel;
use index::search::Ranking;
use index::search::rerank;
use index::search::rerank::{RerankConfig, RerankProvider, RerankWhen};
use index::{LexicalError, Row, Snapshot};
use judge::Judge;
use note::Private;
use protocol::contexts::{Estimate, Offer, OfferedWork};
use provider::ledger::Purpose;
use provider::{Account, ProviderRuntime, Spender};

/// Answers that are cached, half a kilobyte each: as many as most people need in a day.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// The log says at most this often that searches are not reranked.
const LOG_EVERY: Duration = Duration::from_mins(1);

/// A query of the usual length, to estimate what one search costs.
const USUAL_QUERY: &str = "how a query of the usual length looks";

/// Scores of the documents that were shown, in their order.
type Scores = Arc<[Option<f32>]>;

/// Asks the reranker in force.
pub struct Reranker {
    judge: Judge,
    account: Account,
    runtime: Handle,
    cache: Arc<Mutex<Cache>>,
    config: RerankConfig,
    /// Provider, address and model: what the scores depend on besides what is shown.
    identity: String,
    /// Whether the user lets it judge every search.
    consent: Mutex<ConsentState>,
    logged: Mutex<Option<Instant>>,
}

impl Reranker {
    /// The reranker of a configuration, or why it cannot be used; `None` if the configuration names none.
    pub fn start(
        config: &Settings,
        runtime: &ProviderRuntime,
        spender: &Arc<Spender>,
    ) -> Result<Option<Arc<Reranker>>, String> {
        let rerank = config.rerank.clone();
        if matches!(rerank.provider, RerankProvider::None) {
            return Ok(None);
        }
        let url = rerank.base_url.as_deref().unwrap_or_default();
        let identity = format!("{} {url} {}", rerank.provider.name(), rerank.model());
        let judge = Judge::new(&rerank, &config.data_dir)?;
        let names = (rerank.provider.name(), rerank.model());
        let terms = Terms::of(rerank.consent, names, judge.leaves_to(), judge.is_free());
        Ok(Some(Arc::new(Reranker {
            consent: Mutex::new(ConsentState::read(terms, &config.data_dir)),
            judge,
            account: Account::of(spender, Purpose::Rerank),
            runtime: runtime.urgent()?,
            cache: Arc::new(Mutex::new(Cache::new(REMEMBERED))),
            config: rerank,
            identity,
            logged: Mutex::default(),
        })))
    }

    /// Puts `rankings`, one for each of `vaults`, in the order that the reranker gives. Returns what prevented that,
    /// for the user; then the rankings stay as they are.
    pub fn rerank(
        &self,
        query: &str,
        contextual: bool,
        vaults: &[(Arc<Snapshot>, Arc<Private>)],
        rankings: &mut [Ranking],
        cancel: &Cancel,
    ) -> Result<Option<String>, CallError> {
        let until = Instant::now() + self.config.deadline();
        let mut shown = rerank::best(rankings, usize::MAX);
        if self.judge.leaves_to().is_some() {
            // Private notes are not sent to another machine; they keep their places.
            shown.retain(|(of, row)| {
                !vaults.get(*of).is_some_and(|(snapshot, private)| is_private(snapshot, private, *row))
            });
        }
        shown.truncate(self.config.top());
        if shown.len() < 2 {
            return Ok(None);
        }
        let read = |(of, row): &(usize, Row)| vaults.get(*of).map(|(snapshot, _)| document(snapshot, *row, contextual));
        let documents: Result<Vec<String>, LexicalError> = shown.iter().filter_map(read).collect();
        let documents = documents.map_err(|error| CallError::Storage(error.to_string()))?;
        match self.scores(query, documents, until, cancel)? {
            Ok(scores) => {
                rerank::reorder(rankings, &shown, &scores);
                Ok(None)
            }
            Err(why) => {
                self.log(&why);
                Ok(Some(format!("not reranked: {why}")))
            }
        }
    }

    fn scores(
        &self,
        query: &str,
        documents: Vec<String>,
        until: Instant,
        cancel: &Cancel,
    ) -> Result<Result<Scores, String>, CallError> {
        let key = rerank::key(&self.identity, query, &documents);
        if let Some(scores) = self.cache.lock().get(&key) {
            return Ok(Ok(scores.clone()));
        }
        let (reply, answer) = mpsc::channel();
        let (judge, account, cache, query) =
            (self.judge.clone(), self.account.clone(), self.cache.clone(), query.to_owned());
        self.runtime.spawn(async move {
            let within = until.saturating_duration_since(Instant::now());
            let scores = judge.judge(&query, &documents, within, &account).await;
            if let Ok(scores) = &scores {
                cache.lock().put(key, scores.clone());
            }
            // The caller may have gone.
            let _ = reply.send(scores);
        });
        let Some(scores) = wait_for(&answer, until, cancel)? else {
            let deadline = self.config.deadline().as_millis();
            return Ok(Err(format!("{} did not answer within {deadline} ms", self.config.provider.name())));
        };
        Ok(scores)
    }

    fn log(&self, why: &str) {
        let mut logged = self.logged.lock();
        if logged.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
            *logged = Some(Instant::now());
            tracing::warn!(why, "searches are answered without being reranked");
        }
    }

    /// What the user has to look at.
    pub(super) fn problem(&self) -> Option<String> {
        self.judge.problem()
    }

    /// Forgets what stopped it.
    pub(super) fn resume(&self) {
        self.judge.resume();
    }

    /// Whether it also judges searches that do not say whether to rerank.
    pub(super) fn is_always_asked(&self) -> bool {
        self.config.when() == RerankWhen::Always
    }

    /// Whether it costs nothing, so that there is nothing to account for.
    pub fn is_free(&self) -> bool {
        self.judge.is_free()
    }

    /// What one search may cost at most, in millionths of a dollar; `None` if the price is not known.
    pub fn most(&self, query: &str) -> Option<u64> {
        let documents = vec!["x".repeat(rerank::MOST_DOCUMENT); self.config.top()];
        self.judge.most(query, &documents)
    }

    /// Whether the user lets it judge every search, or need not be asked.
    pub(super) fn is_agreed(&self) -> bool {
        self.consent.lock().is_agreed()
    }

    /// The user agrees, or takes it back; `dir` is the folder of all data.
    pub(super) fn set_agreed(&self, dir: &Path, agreed: bool) -> std::io::Result<()> {
        self.consent.lock().set_agreed(dir, agreed).map(drop)
    }

    /// The offer to rerank, with what one search takes at most; `None` if no consent is needed.
    pub(super) fn offer(&self) -> Option<Offer> {
        let estimate = Estimate { calls: 1, micro_dollars: self.most(USUAL_QUERY), ..Estimate::default() };
        self.consent.lock().offer("", OfferedWork::Reranking, estimate)
    }

    /// What leaves this machine, and where it goes; `None` if nothing does.
    pub fn leaves(&self) -> Option<String> {
        let host = self.judge.leaves_to()?;
        Some(format!("queries and the passages found for them, to {host}, which puts them in order"))
    }
}

fn is_private(snapshot: &Snapshot, private: &Private, row: Row) -> bool {
    let note = snapshot.chunk(row).and_then(|chunk| snapshot.note(chunk.note));
    note.is_none_or(|note| private.covers(&note.path, note.tags()))
}

/// The text of a chunk that the reranker is shown.
fn document(snapshot: &Snapshot, row: Row, contextual: bool) -> Result<String, LexicalError> {
    let texts = snapshot.text(row)?;
    let chunk = snapshot.chunk(row);
    let note = chunk.as_ref().and_then(|chunk| snapshot.note(chunk.note));
    let title = note.as_ref().map_or("", |note| note.title());
    let path = note.as_ref().filter(|_| chunk.is_some_and(|chunk| chunk.lines.0 == 1)).map(|note| &note.path);
    let text = path.map_or(texts.text.as_str(), |path| note::shown_to_models(path, &texts.text));
    let context = if contextual { texts.context.as_str() } else { "" };
    let headings = snapshot.heading_path(row);
    Ok(rerank::document(title, headings.iter().map(String::as_str), context, text))
}

/// The answers that were used most recently.
type Cache = LruCache<[u8; 16], Scores>;

#[cfg(test)]
mod tests;
