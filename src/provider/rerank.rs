//! Rerankers behind HTTP: one question about many documents, answered within a deadline or not at all.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use tokio::task::JoinSet;

use super::client::{Rules, Shared, With};
use super::keyring::Keyring;
use super::ledger::Settled;
use super::retry::Fault;
use super::spender::{Account, Payment, Purchase, Unanswered};
use super::transport::Transport;
use super::wire::{Judgement, Rerank};
use super::{ADDED, Failure, FailureKind, Health, passes_on, possible};
use context::cost::{Usage, estimate_tokens};
use index::search::rerank::{RerankConfig, RerankProvider};

/// Requests at once: as many as the parts of one search.
const CONCURRENCY: usize = 8;

/// Documents that are billed as one search (Cohere).
const DOCUMENTS_PER_SEARCH: u64 = 100;

/// Longer documents count as several (Cohere), the query included.
const TOKENS_PER_DOCUMENT: u64 = 500;

/// Micro-dollars per million tokens, as of November 2026.
const PER_MTOK: [(&str, u64); 2] = [("rerank-v5.0-fast", 20_000), ("rerank-v5.0-pro", 50_000)];

/// Micro-dollars per thousand searches, as of November 2026.
const PER_1K: [(&str, u64); 1] = [("rerank-v3.5", 2_000_000)];

/// A reranker with its limits, retries and circuit. Cheap to clone; clones share all of that.
#[derive(Clone)]
pub struct RerankClient {
    shared: Arc<Shared<Rerank>>,
    model: Arc<str>,
    price: Price,
}

impl fmt::Debug for RerankClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reranker").field("host", &self.shared.transport.host()).finish_non_exhaustive()
    }
}

/// What a reranker costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Price {
    /// Nobody knows: never 0.
    Unknown,
    /// It runs on the user's own machine.
    Free,
    /// Micro-dollars per million tokens.
    Tokens(u64),
    /// Micro-dollars per thousand searches.
    Searches(u64),
}

/// What is billed for a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Billed {
    /// Of the documents, and of the query once for each of them.
    tokens: u64,
    /// Of a hundred documents each.
    searches: u64,
    /// Whether the provider did not say, so that these are estimates.
    estimated: bool,
}

impl RerankClient {
    /// A reranker for a configuration. Reads no key and opens no connection yet.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub fn new(config: &RerankConfig) -> Result<Self, String> {
        let wire = Rerank::new(config)?;
        let passes_on = passes_on(config.passes_on, config.model());
        let price = Price::of(config, wire.address.is_loopback() && !passes_on);
        let transport = Transport::new(&wire.address)?.passing_on(passes_on);
        let keys = Keyring::new(config.provider, config.key.clone());
        let times = (config.deadline(), config.deadline());
        let shared = Shared::new(config.provider.name(), wire, transport, keys, CONCURRENCY, times);
        Ok(RerankClient { shared: Arc::new(shared), model: config.model().into(), price })
    }

    /// How well each document answers the query, on a scale of the model's own; `None` for those it passes over. Once
    /// `within` is over, there is no answer. Before that, what may succeed on a second try is tried again, unless the
    /// provider may have counted the first.
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub async fn judge(
        &self,
        query: &str,
        documents: &[String],
        within: Duration,
        account: &Account,
    ) -> Result<Vec<Option<f32>>, Unanswered> {
        let parts: Vec<&[String]> = documents.chunks(self.shared.wire.batch()).collect();
        let query: Arc<str> = query.into();
        let mut asked = JoinSet::new();
        for (n, part) in parts.iter().enumerate() {
            let (client, account, query, part) = (self.clone(), account.clone(), query.clone(), part.to_vec());
            asked.spawn(async move { (n, client.ask(&query, &part, within, &account).await) });
        }
        let mut judgements: Vec<Option<Judgement>> = vec![None; parts.len()];
        while let Some(part) = asked.join_next().await {
            // If one fails, the others are dropped with the set; those that were sent count at their estimate.
            let (n, judgement) = part.map_err(|_| Failure {
                kind: FailureKind::Cancelled,
                message: "the question to the reranker was given up".to_owned(),
                maybe_billed: true,
            })?;
            if let Some(place) = judgements.get_mut(n) {
                *place = Some(judgement?);
            }
        }
        let judgements: Vec<Judgement> = judgements.into_iter().flatten().collect();
        Ok(judgements.into_iter().flat_map(|j| j.scores).collect())
    }

    /// One request.
    async fn ask(
        &self,
        query: &str,
        documents: &[String],
        within: Duration,
        account: &Account,
    ) -> Result<Judgement, Unanswered> {
        let shared = &*self.shared;
        let rules = Rules { each: within, whole: within, unsure: false, urgent: false };
        let attempt = async |with: With| {
            let request = shared.wire.request(query, documents, with.key.as_deref()).map_err(Fault::never)?;
            let reply = shared.send(Method::POST, request).await?;
            Rerank::read(&reply.body, documents.len()).map_err(|message| shared.unread(&reply, message))
        };
        let guess = Self::guess(query, documents);
        let payment = if self.is_free() {
            Payment::free(account.wanted.clone())
        } else {
            let (account, micro_dollars) = (account.clone(), self.cost(&guess));
            let (provider, model, tokens) = (shared.provider, self.model.clone(), guess.tokens);
            Payment::of(Purchase { account, provider, model, micro_dollars, tokens })
        };
        let (done, payment) = shared.paid_call(rules, payment, attempt).await?;
        let billed = self.billed(&done.value, guess);
        let usage = Usage { input: billed.tokens, estimated: billed.estimated, ..Usage::default() };
        payment.settle(Settled { usage, micro_dollars: self.cost(&billed), contexts: 0, failed: false }).await;
        Ok(done.value)
    }

    /// What an answer took, as far as the provider says.
    fn billed(&self, judgement: &Judgement, guess: Billed) -> Billed {
        let told = if matches!(self.price, Price::Searches(_)) { judgement.searches } else { judgement.tokens };
        // A token has a byte at least, and the guess five or more for each.
        let most = guess.tokens.saturating_mul(8).saturating_add(ADDED);
        Billed {
            tokens: judgement.tokens.map_or(guess.tokens, |told| possible(told, most)),
            searches: judgement.searches.map_or(guess.searches, |told| possible(told, guess.searches + ADDED)),
            estimated: told.is_none(),
        }
    }

    /// What a question may cost at most, in millionths of a dollar; `None` if the price is not known.
    pub fn most(&self, query: &str, documents: &[String]) -> Option<u64> {
        self.cost(&Self::guess(query, documents))
    }

    /// Estimates what a question is going to take; errs upwards.
    fn guess(query: &str, documents: &[String]) -> Billed {
        let query = u64::from(estimate_tokens(query, 1.0));
        let tokens = documents.iter().map(|document| query + u64::from(estimate_tokens(document, 1.0)));
        let pieces: u64 = tokens.clone().map(|tokens| tokens.div_ceil(TOKENS_PER_DOCUMENT).max(1)).sum();
        Billed { tokens: tokens.sum(), searches: pieces.div_ceil(DOCUMENTS_PER_SEARCH), estimated: true }
    }

    /// Millionths of a dollar, rounded up; `None` if the price is not known.
    fn cost(&self, billed: &Billed) -> Option<u64> {
        let (amount, rate, unit) = match self.price {
            Price::Unknown => return None,
            Price::Free => return Some(0),
            Price::Tokens(rate) => (billed.tokens, rate, 1_000_000),
            Price::Searches(rate) => (billed.searches, rate, 1000),
        };
        let micro = (u128::from(amount) * u128::from(rate)).div_ceil(unit);
        Some(u64::try_from(micro).unwrap_or(u64::MAX))
    }

    /// Whether it costs nothing, so that there is nothing to keep account of.
    pub fn is_free(&self) -> bool {
        self.price == Price::Free
    }

    /// How the provider is doing.
    pub fn health(&self) -> Health {
        self.shared.health()
    }

    /// Forgets what stopped it; as [`super::CompletionClient::resume`].
    pub fn resume(&self) {
        self.shared.resume();
    }

    /// Host (and port) that requests go to, for `status`; `None` for an address of this machine.
    pub fn leaves_to(&self) -> Option<String> {
        self.shared.transport.leaves_to()
    }
}

impl Price {
    /// The user's price, then the table. What runs on this machine is free, unless it is a vendor's model: then a proxy
    /// answers there and passes the question on.
    fn of(config: &RerankConfig, local: bool) -> Self {
        let known = |table: &[(&str, u64)]| table.iter().find(|(id, _)| *id == config.model()).map(|(_, rate)| *rate);
        match (config.price_per_mtok, config.price_per_1k) {
            (Some(rate), _) => return Price::Tokens(rate),
            (None, Some(rate)) => return Price::Searches(rate),
            (None, None) => {}
        }
        if let (RerankProvider::Cohere, Some(rate)) = (config.provider, known(&PER_MTOK)) {
            return Price::Tokens(rate);
        }
        if let (RerankProvider::Cohere, Some(rate)) = (config.provider, known(&PER_1K)) {
            return Price::Searches(rate);
        }
        if local { Price::Free } else { Price::Unknown }
    }
}
