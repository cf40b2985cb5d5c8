//! Anthropic's Message Batches: many requests at once, at half the price, answered within a day.
//!
//! A batch lives at the provider. The caller keeps its id, and asks what became of it after however many restarts.

use reqwest::Method;
use tokio::time::timeout;

use std::time::Duration;

use super::client::{Client, Rules, Shared, With};
use super::retry::{Fault, Next};
use super::transport::{Lines, Reply};
use super::wire::{Answer, Anthropic, Request, Wire, batch};
use super::{Completion, Failure, FailureKind};
use crate::context::prompt::Prompt;

/// Sending a batch, or reading what came of it, takes at most: 256 MB over a slow line.
const MOST_TIME: Duration = Duration::from_hours(1);

/// Pages of the list of batches that are read at most, lest a server that repeats itself is read for ever.
const MOST_PAGES: usize = 50;

/// The batch interface of a provider.
#[derive(Clone, Debug)]
pub struct Batches {
    client: Client,
}

/// How far a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchState {
    /// Not all of its requests have ended.
    InProgress,
    /// There are results: an answer or a failure for each request.
    Ended,
    /// The provider does not know it (any more): nothing is to be had from it.
    Gone,
}

/// A batch that the provider has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmittedBatch {
    /// Its id.
    pub id: String,
    /// Its requests.
    pub count: u64,
    /// Seconds since 1970 (UTC), by the provider's clock.
    pub created_at: i64,
}

impl Client {
    /// The provider's batch interface, if it has one that we speak.
    pub fn batches(&self) -> Option<Batches> {
        matches!(self.shared.wire, Wire::Anthropic(_)).then(|| Batches { client: self.clone() })
    }
}

impl Batches {
    /// Requests of a batch at most.
    pub const MOST_REQUESTS: usize = 100_000;

    /// Bytes of a batch at most, as it is sent.
    pub const MOST_BYTES: usize = 256_000_000;

    /// Hands in requests under ids of the caller's, and returns the id of the batch.
    ///
    /// If the failure says `maybe_billed`, the batch may be under way all the same: it is not handed in a second time
    /// by itself, and [`Batches::recent`] tells.
    ///
    /// # Errors
    /// [`FailureKind::TooLong`] if there are too many; else as [`Client::complete`].
    pub async fn submit(&self, requests: &[(String, Prompt)]) -> Result<String, Failure> {
        let (shared, wire) = self.parts()?;
        if requests.len() > Self::MOST_REQUESTS {
            return Err(shared.failure(FailureKind::TooLong, "the batch has too many requests; split it"));
        }
        let rules = Rules { each: MOST_TIME, whole: MOST_TIME, unsure: false };
        let attempt = async |with: With| {
            let body = batch::submit_body(wire, requests, &with.without);
            if body.len() > Self::MOST_BYTES {
                let failure = shared.failure(FailureKind::TooLong, "the batch is too large; split it");
                return Err(Fault::never(failure));
            }
            let reply = shared.about_batches(wire, Method::POST, "", body, with).await?;
            batch::read_submitted(&reply.body).map_err(|message| Fault::broken(reply.status, message))
        };
        shared.call(rules, attempt).await.map(|done| done.value).map_err(|end| end.failure)
    }

    /// How far a batch is.
    ///
    /// # Errors
    /// As [`Client::complete`].
    pub async fn poll(&self, id: &str) -> Result<BatchState, Failure> {
        let (shared, wire) = self.parts()?;
        let below = shared.below(id, "")?;
        let attempt = async |with: With| {
            let reply = shared.about_batches(wire, Method::GET, &below, Vec::new(), with).await?;
            batch::read_state(&reply.body).map_err(|message| Fault::broken(reply.status, message))
        };
        match shared.call(shared.rules(), attempt).await {
            Ok(done) => Ok(done.value),
            Err(end) if end.status == Some(404) => Ok(BatchState::Gone),
            Err(end) => Err(end.failure),
        }
    }

    /// What came of the requests of a batch that has [ended](BatchState::Ended), by their ids, in no order.
    /// A result that cannot be read is left out.
    ///
    /// # Errors
    /// [`FailureKind::Rejected`] if there are no results (any more); else as [`Client::complete`].
    pub async fn results(&self, id: &str) -> Result<Vec<(String, Result<Completion, Failure>)>, Failure> {
        let (shared, wire) = self.parts()?;
        let below = shared.below(id, "/results")?;
        let rules = Rules { each: MOST_TIME, whole: MOST_TIME, unsure: true };
        let attempt = async |with: With| shared.read_results(wire, &below, with).await;
        let mut best = shared.call(rules, attempt).await.map_err(|end| end.failure)?.value;
        if best.unread > 0 {
            // The answers are paid for: worth a second look, in case it was the way that spoiled them.
            if let Ok(second) = shared.call(rules, attempt).await
                && second.value.unread < best.unread
            {
                best = second.value;
            }
            if best.unread > 0 {
                tracing::warn!(host = shared.transport.host(), lines = best.unread, "results that cannot be read");
            }
        }
        Ok(best.results)
    }

    /// The batches handed in since (seconds since 1970, UTC), newest first: to find one whose id got lost.
    ///
    /// # Errors
    /// As [`Client::complete`].
    pub async fn recent(&self, since: i64) -> Result<Vec<SubmittedBatch>, Failure> {
        let (shared, wire) = self.parts()?;
        let mut found: Vec<SubmittedBatch> = Vec::new();
        let mut below = "?limit=100".to_owned();
        for _ in 0..MOST_PAGES {
            let attempt = async |with: With| {
                let reply = shared.about_batches(wire, Method::GET, &below, Vec::new(), with).await?;
                batch::read_list(&reply.body).map_err(|message| Fault::broken(reply.status, message))
            };
            let done = shared.call(shared.rules(), attempt).await.map_err(|end| end.failure)?;
            let (page, next) = done.value;
            let older = page.iter().any(|batch| batch.created_at < since);
            found.extend(page.into_iter().filter(|batch| batch.created_at >= since));
            match next.filter(|next| !older && is_id(next)) {
                Some(next) => below = format!("?limit=100&after_id={next}"),
                None => break,
            }
        }
        Ok(found)
    }

    /// Asks the provider to give a batch up. What was answered before stays, and is among the results.
    ///
    /// # Errors
    /// [`FailureKind::Rejected`] if it has ended or is gone; else as [`Client::complete`].
    pub async fn cancel(&self, id: &str) -> Result<(), Failure> {
        let (shared, wire) = self.parts()?;
        let below = shared.below(id, "/cancel")?;
        let attempt =
            async |with: With| shared.about_batches(wire, Method::POST, &below, Vec::new(), with).await.map(drop);
        shared.call(shared.rules(), attempt).await.map(|done| done.value).map_err(|end| end.failure)
    }

    fn parts(&self) -> Result<(&Shared, &Anthropic), Failure> {
        let shared = &*self.client.shared;
        match &shared.wire {
            Wire::Anthropic(wire) => Ok((shared, wire)),
            _ => Err(shared.failure(FailureKind::Rejected, "it has no batches")),
        }
    }
}

/// What a reading of results gave.
struct Read {
    results: Vec<(String, Result<Completion, Failure>)>,
    /// Lines that are no result.
    unread: usize,
}

impl Shared {
    fn rules(&self) -> Rules {
        Rules { each: self.timeout, whole: self.deadline, unsure: true }
    }

    /// The end of the address of a batch.
    fn below(&self, id: &str, what: &str) -> Result<String, Failure> {
        if is_id(id) {
            Ok(format!("/{id}{what}"))
        } else {
            Err(self.failure(FailureKind::Rejected, "that is no id of a batch"))
        }
    }

    async fn about_batches(
        &self,
        wire: &Anthropic,
        method: Method,
        below: &str,
        body: Vec<u8>,
        with: With,
    ) -> Result<Reply, Fault> {
        let headers = batch::headers(wire, with.key.as_deref());
        self.send(method, Request { url: batch::url(wire, below), headers, body }).await.map_err(missing)
    }

    async fn read_results(&self, wire: &Anthropic, below: &str, with: With) -> Result<Read, Fault> {
        let headers = batch::headers(wire, with.key.as_deref());
        let request = Request { url: batch::url(wire, below), headers, body: Vec::new() };
        let late = |_| Fault::late(self.timeout);
        let begun = timeout(self.timeout, self.transport.begin(Method::GET, request)).await.map_err(late)?;
        let response = begun.map_err(Fault::from)?;
        if !response.status().is_success() {
            let reading = timeout(self.timeout, self.transport.finish(response)).await.map_err(late)?;
            let reply = reading.map_err(Fault::from)?;
            return Err(missing(self.refused(reply.status, &reply)));
        }
        let mut lines = Lines::new(response);
        let mut read = Read { results: Vec::new(), unread: 0 };
        // The whole takes as long as it takes; each line must come in time.
        while let Some(line) = timeout(self.timeout, lines.next()).await.map_err(late)?.map_err(Fault::from)? {
            match batch::read_result_line(&line) {
                Ok((id, outcome)) => read.results.push((id, outcome.map(completion))),
                Err(_) => read.unread += 1,
            }
        }
        Ok(read)
    }
}

fn completion(answer: Answer) -> Completion {
    let Answer { text, finish, usage } = answer;
    Completion { text, finish, usage, took: Duration::ZERO, attempts: 1 }
}

/// That a batch is not there says nothing about the model.
fn missing(fault: Fault) -> Fault {
    match fault.status {
        Some(404) => Fault {
            next: Next::Never(FailureKind::Rejected),
            message: "the batch is gone, or there are no batches here (status 404)".to_owned(),
            ..fault
        },
        _ => fault,
    }
}

/// Whether it can be part of an address as it is.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 128 && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}
