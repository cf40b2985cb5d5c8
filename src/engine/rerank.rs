//! The second stage of a search: the best chunks go to a reranker, within a deadline and the day's budget.
//!
//! Nothing of it can make a search fail. Whoever asks waits for the deadline at most and then has the first order, with
//! a warning; an answer that comes later is kept all the same, for whoever asks the same again.
//! `situated eval` measures with the same one, beside the engine.

mod judge;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tokio::sync::mpsc as channel;
use tokio::task::JoinSet;

use super::report::{CallError, Cancel};
use crate::config::Config;
use crate::context::cost::Usage;
use crate::index::{LexicalError, Row, Snapshot};
use crate::llm::Billed;
use crate::note::Private;
use crate::plan::Reason;
use crate::search::Ranking;
use crate::search::rerank::{self, RerankConfig, RerankProvider};
use crate::store::ledger::{Ask, Ledger, Limits, Purpose, Refused, Settled};
use judge::{Judge, Unjudged};

/// Answers that are remembered: those of a day for most people, of half a kilobyte each.
const REMEMBERED: usize = 256;

/// How often it is logged that searches are not reranked.
const LOG_EVERY: Duration = Duration::from_mins(1);

/// How often a search that waits looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// Scores of what was shown, in its order.
type Scores = Arc<[Option<f32>]>;

/// Asks the reranker in force. Its thread ends when it is dropped.
pub(crate) struct Reranker {
    questions: channel::UnboundedSender<Question>,
    asker: Asker,
    config: RerankConfig,
    /// Provider, address and model: what the scores depend on besides what is shown.
    identity: String,
    logged: Mutex<Option<Instant>>,
}

/// What the thread needs to answer.
#[derive(Clone)]
struct Asker {
    judge: Judge,
    ledger: Arc<Ledger>,
    limits: Limits,
    provider: &'static str,
    model: String,
    cache: Arc<Mutex<Cache>>,
}

struct Question {
    key: [u8; 16],
    query: String,
    documents: Vec<String>,
    until: Instant,
    reply: mpsc::Sender<Result<Scores, Unjudged>>,
}

impl Reranker {
    /// Starts the thread, or says why not; `None` if no reranker is configured.
    pub(crate) fn start(config: &Config, ledger: Arc<Ledger>) -> Result<Option<Arc<Reranker>>, String> {
        let rerank = config.rerank.clone();
        if matches!(rerank.provider, RerankProvider::None) {
            return Ok(None);
        }
        let judge = Judge::new(&rerank)?;
        let (questions, inbox) = channel::unbounded_channel();
        let asker = Asker {
            judge,
            ledger,
            limits: Limits { day: config.budget.day, day_tokens: config.budget.day_tokens },
            provider: rerank.provider.name(),
            model: rerank.model().to_owned(),
            cache: Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("no runtime for asking the reranker: {error}"))?;
        let worker = asker.clone();
        std::thread::Builder::new()
            .name("rerank".to_owned())
            .spawn(move || runtime.block_on(serve(inbox, worker)))
            .map_err(|error| format!("no thread for asking the reranker: {error}"))?;
        let url = rerank.base_url.as_deref().unwrap_or_default();
        let identity = format!("{} {url} {}", asker.provider, asker.model);
        Ok(Some(Arc::new(Reranker { questions, asker, config: rerank, identity, logged: Mutex::default() })))
    }

    /// Puts rankings, each of the vault beside it, in the order that the reranker gives. Returns what kept it from
    /// that, for the user; then they are as they were.
    pub(crate) fn rerank(
        &self,
        query: &str,
        contextual: bool,
        vaults: &[(Arc<Snapshot>, Arc<Private>)],
        rankings: &mut [Ranking],
        cancel: &Cancel,
    ) -> Result<Option<String>, CallError> {
        let until = Instant::now() + self.config.deadline;
        let mut shown = rerank::best(rankings, usize::MAX);
        if self.asker.judge.leaves_to().is_some() {
            // Private notes are not shown to anybody elsewhere; they stand behind what is judged.
            shown.retain(|(of, row)| {
                !vaults.get(*of).is_some_and(|(snapshot, private)| is_private(snapshot, private, *row))
            });
        }
        shown.truncate(self.config.top);
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
        if let Some(scores) = self.asker.cache().get(key) {
            return Ok(Ok(scores));
        }
        let (reply, answer) = mpsc::channel();
        // The thread ends only with this.
        let _ = self.questions.send(Question { key, query: query.to_owned(), documents, until, reply });
        loop {
            if cancel.is_cancelled() {
                return Err(CallError::Cancelled);
            }
            let left = until.saturating_duration_since(Instant::now());
            match answer.recv_timeout(left.min(LOOK)) {
                Ok(scores) => return Ok(scores.map_err(|why| why.to_string())),
                Err(mpsc::RecvTimeoutError::Timeout) if !left.is_zero() => {}
                Err(_) => {
                    let deadline = self.config.deadline.as_millis();
                    return Ok(Err(format!("{} did not answer within {deadline} ms", self.asker.provider)));
                }
            }
        }
    }

    fn log(&self, why: &str) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
            *logged = Some(Instant::now());
            tracing::warn!(why, "searches are answered without being reranked");
        }
    }

    /// What the user has to look at.
    pub(super) fn problem(&self) -> Option<String> {
        self.asker.judge.problem()
    }

    /// Forgets what stopped it.
    pub(super) fn resume(&self) {
        self.asker.judge.resume();
    }

    /// Whether there is nothing to keep account of.
    pub(crate) fn is_free(&self) -> bool {
        self.asker.judge.is_free()
    }

    /// What one search may cost at most, in millionths of a dollar; `None` if the price is not known.
    pub(crate) fn most(&self, query: &str) -> Option<u64> {
        let documents = vec!["x".repeat(rerank::MOST_DOCUMENT); self.config.top];
        self.asker.judge.cost(&self.asker.judge.guess(query, &documents))
    }

    /// What leaves this machine, to where.
    pub(crate) fn leaves(&self) -> Option<String> {
        let host = self.asker.judge.leaves_to()?;
        Some(format!("queries and the passages found for them, to {host}, which puts them in order"))
    }
}

fn is_private(snapshot: &Snapshot, private: &Private, row: Row) -> bool {
    let note = snapshot.chunk(row).and_then(|chunk| snapshot.note(chunk.note));
    note.is_none_or(|note| private.covers(&note.path, &note.tags))
}

/// What is shown of a chunk.
fn document(snapshot: &Snapshot, row: Row, contextual: bool) -> Result<String, LexicalError> {
    let texts = snapshot.text(row)?;
    let chunk = snapshot.chunk(row);
    let title = chunk.and_then(|chunk| snapshot.note(chunk.note)).map_or("", |note| note.title.as_str());
    let context = if contextual { texts.context.as_str() } else { "" };
    Ok(rerank::document(title, chunk.map_or(&[][..], |chunk| &chunk.heading_path), context, &texts.text))
}

async fn serve(mut inbox: channel::UnboundedReceiver<Question>, asker: Asker) {
    let mut work = JoinSet::new();
    loop {
        tokio::select! {
            question = inbox.recv() => match question {
                Some(question) => drop(work.spawn(asker.clone().answer(question))),
                // What is under way stays reserved in the ledger, for it may be billed.
                None => return,
            },
            Some(_) = work.join_next(), if !work.is_empty() => {}
        }
    }
}

impl Asker {
    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(self, question: Question) {
        let Question { key, query, documents, until, reply } = question;
        let guess = self.judge.guess(&query, &documents);
        let reservation = if self.judge.is_free() {
            None
        } else {
            let asker = self.clone();
            match tokio::task::spawn_blocking(move || asker.reserve(&guess)).await {
                Ok(Ok(reservation)) => Some(reservation),
                Ok(Err(refused)) => {
                    // Whoever asked may have gone; so below.
                    let _ = reply.send(Err(refused.into()));
                    return;
                }
                // The runtime is ending.
                Err(_) => return,
            }
        };
        let within = until.saturating_duration_since(Instant::now());
        let judged = self.judge.judge(&query, &documents, within).await;
        let settled = match &judged {
            Ok(judged) => Some(self.settled(&judged.billed, false)),
            // Nobody knows whether it was counted: the guess stands.
            Err(Unjudged::Provider(failure)) if failure.maybe_billed => Some(self.settled(&guess, true)),
            Err(_) => None,
        };
        let scores = judged.map(|judged| Scores::from(judged.scores));
        if let Ok(scores) = &scores {
            self.cache().put(key, scores.clone());
        }
        let _ = reply.send(scores);
        let Some(reservation) = reservation else { return };
        let ledger = self.ledger.clone();
        let written = tokio::task::spawn_blocking(move || match settled {
            Some(settled) => ledger.settle(reservation, settled, jiff::Zoned::now()),
            None => ledger.release(reservation, jiff::Zoned::now()),
        });
        if let Ok(Err(error)) = written.await {
            // The reservation stands in the ledger and counts as spent.
            tracing::warn!(%error, "what a call to the reranker cost could not be written down");
        }
    }

    fn reserve(&self, guess: &Billed) -> Result<crate::store::ledger::Reservation, Refused> {
        let ask = Ask {
            vault: "",
            path: "",
            // Of a purpose that is about no note this is not told.
            reason: Reason::Unchanged,
            provider: self.provider,
            model: &self.model,
            purpose: Purpose::Rerank,
            micro_dollars: self.judge.cost(guess),
            tokens: guess.tokens,
        };
        self.ledger.reserve(ask, &self.limits, None, jiff::Zoned::now())
    }

    fn settled(&self, billed: &Billed, failed: bool) -> Settled {
        let usage = Usage { input: billed.tokens, estimated: billed.estimated, ..Usage::default() };
        Settled { usage, micro_dollars: self.judge.cost(billed), contexts: 0, failed }
    }
}

/// The answers that were used last.
#[derive(Default)]
struct Cache {
    known: HashMap<[u8; 16], (u64, Scores)>,
    uses: u64,
}

impl Cache {
    fn get(&mut self, key: [u8; 16]) -> Option<Scores> {
        self.uses += 1;
        let (used, scores) = self.known.get_mut(&key)?;
        *used = self.uses;
        Some(scores.clone())
    }

    fn put(&mut self, key: [u8; 16], scores: Scores) {
        self.uses += 1;
        self.known.insert(key, (self.uses, scores));
        if self.known.len() > REMEMBERED
            && let Some(oldest) = self.known.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| *key)
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_forgets_what_was_used_longest_ago() {
        let mut cache = Cache::default();
        let key = |n: usize| [(n % 256) as u8, (n / 256) as u8].repeat(8).try_into().unwrap();
        for n in 0..REMEMBERED {
            cache.put(key(n), Scores::from([Some(n as f32)]));
        }
        assert_eq!(cache.get(key(0)).as_deref(), Some(&[Some(0.0)][..]));
        cache.put(key(REMEMBERED), Scores::from([None]));
        assert_eq!(
            (cache.known.len(), cache.get(key(1)).is_none(), cache.get(key(0)).is_some()),
            (REMEMBERED, true, true)
        );
    }
}
