//! Anthropic's Message Batches: many requests at once, at half the price, answered within a day.
//!
//! The provider holds the batch. The caller keeps its id and can ask for the outcome after any number of restarts.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use reqwest::Method;

use super::client::{CompletionClient, Rules, Shared, With};
use super::patience::timeout;
use super::reply::Reply;
use super::retry::{Fault, Next};
use super::transport::Lines;
use super::wire::Anthropic;
use super::wire::batch::{self, BatchStatus, Call, Item, Message, Outcome};
use super::{Completion, Failure, FailureKind};
use context::prompt::{Form, Prompt};

/// Longest time to send a batch or to read its results: 250 MB over a slow line.
const MOST_TIME: Duration = Duration::from_hours(1);

/// Most pages of the list of batches that are read, so that a server that repeats itself is not read forever.
const MOST_PAGES: usize = 50;

/// The batch interface of a provider. It shares limiter, circuit breaker and key with its [`CompletionClient`].
#[derive(Clone, Debug)]
pub struct Batches {
    client: CompletionClient,
    wire: Anthropic,
}

/// How far a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchState {
    /// Not all of its requests have ended.
    InProgress,
    /// There are results: an answer or a failure for each request.
    Ended,
    /// The provider does not know it, or has deleted its results: there is nothing left to fetch.
    Gone,
    /// Something answers 404, but not in the provider's words: a portal, a proxy or a wrong address. The batch may
    /// still exist.
    OutOfReach,
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

/// What came of each request of a batch, by the caller's ids.
type Results = Vec<(String, Result<Completion, Failure>)>;

impl CompletionClient {
    /// The provider's batch interface, if it has one.
    pub fn batches(&self) -> Option<Batches> {
        let wire = self.shared.wire.batches()?.clone();
        Some(Batches { client: self.clone(), wire })
    }
}

impl Batches {
    /// Most bytes of a batch, as [`Batches::bytes`] counts them.
    pub const MOST_BYTES: usize = batch::MOST_BYTES;

    /// Most requests of a batch.
    pub fn most_requests(&self) -> usize {
        #[cfg(feature = "simulation")]
        if let Some(most) = crate::simulation::most_requests() {
            return most;
        }
        batch::MOST_REQUESTS
    }

    /// Host that batches are handed in to, and port if it is not the scheme's own.
    pub fn host(&self) -> &str {
        self.client.shared.transport.host()
    }

    /// What tells the key in use from others and does not give it away; `None` if there is none.
    pub async fn key_mark(&self) -> Option<String> {
        self.client.shared.keys.get().await.ok().flatten().map(|key| key.mark())
    }

    /// Bytes that a request takes up in a batch.
    pub fn bytes(&self, id: &str, prompt: &Prompt) -> usize {
        let comma = 1;
        self.wire.batch_item(&Item { id, prompt }, &[]).len() + comma
    }

    /// Submits requests under the caller's ids (1 to 64 of `[A-Za-z0-9_-]`) and returns the id of the batch.
    ///
    /// If the failure says `maybe_billed`, the batch may be under way nevertheless. It is not submitted a second time
    /// automatically; [`Batches::recent`] shows whether it exists. Before each attempt `wanted` says whether the requests
    /// may be sent.
    ///
    /// # Errors
    /// [`FailureKind::Rejected`] if there are none, too many, or two with the same id; [`FailureKind::Cancelled`] if it
    /// is not wanted; otherwise as [`CompletionClient::complete`].
    pub async fn submit<W>(&self, requests: &[(String, Prompt)], wanted: impl Fn() -> W) -> Result<String, Failure>
    where
        W: Future<Output = bool>,
    {
        let (shared, wire) = (&*self.client.shared, &self.wire);
        let items: Vec<Item<'_>> = requests.iter().map(|(id, prompt)| Item { id, prompt }).collect();
        let rules = Rules { each: MOST_TIME, whole: MOST_TIME, unsure: false, urgent: false };
        let attempt = async |with: With| {
            if !wanted().await {
                return Err(Fault::never(Failure::new(
                    FailureKind::Cancelled,
                    "its notes have changed, or it was paused",
                )));
            }
            let call = wire.batch_submit(&items, with.key.as_deref(), &with.without).map_err(Fault::never)?;
            let reply = shared.about_batches(call).await?;
            batch::status(&reply.body).map_err(|message| shared.unread(&reply, message))
        };
        shared.call(rules, attempt).await.map(|status| status.id).map_err(|end| end.failure)
    }

    /// How far a batch is.
    ///
    /// # Errors
    /// As [`CompletionClient::complete`].
    pub async fn poll(&self, id: &str) -> Result<BatchState, Failure> {
        let (shared, wire) = (&*self.client.shared, &self.wire);
        let attempt = async |with: With| {
            let call = wire.batch_poll(id, with.key.as_deref()).map_err(Fault::never)?;
            let reply = shared.about_batch(call).await?;
            batch::status(&reply.body).map_err(|message| shared.unread(&reply, message))
        };
        match shared.call(shared.rules(), attempt).await {
            Ok(status) => Ok(match status {
                BatchStatus { ended: false, .. } => BatchState::InProgress,
                BatchStatus { has_results: true, .. } => BatchState::Ended,
                BatchStatus { .. } => BatchState::Gone,
            }),
            Err(end) if end.status == Some(404) && end.failure.kind == FailureKind::Rejected => Ok(BatchState::Gone),
            Err(end) if end.status == Some(404) => Ok(BatchState::OutOfReach),
            Err(end) => Err(end.failure),
        }
    }

    /// The outcome of each request of a batch that has [ended](BatchState::Ended), in no particular order. A result
    /// that cannot be read is left out. If none can be read, the answer is no list of results, and the call fails.
    ///
    /// `requests` are the submitted requests; answers are checked against them. An answer to a request that is not
    /// among them (a restart may have lost it) is accepted unchecked.
    ///
    /// # Errors
    /// [`FailureKind::Rejected`] if the provider has no results (any more); else as [`CompletionClient::complete`], also
    /// if some results are missing and cannot be fetched a second time.
    pub async fn results(&self, id: &str, requests: &[(String, Prompt)]) -> Result<Results, Failure> {
        let (shared, wire) = (&*self.client.shared, &self.wire);
        let prompts: HashMap<&str, &Prompt> = requests.iter().map(|(id, prompt)| (id.as_str(), prompt)).collect();
        let unknown = unknown_prompt();
        let read = |id: &str, message: &Message| {
            let prompt = prompts.get(id).copied().unwrap_or(&unknown);
            wire.batch_answer(message, prompt)
        };
        let attempt = async |with: With| {
            let call = wire.batch_results(id, with.key.as_deref()).map_err(Fault::never)?;
            shared.read_results(wire, call, &read).await
        };
        let rules = Rules { each: MOST_TIME, whole: MOST_TIME, unsure: true, urgent: false };
        let mut best = shared.call(rules, &attempt).await.map_err(|end| end.failure)?;
        if best.lacking(&prompts) > 0 {
            // The answers are paid for, so they are fetched a second time in case they were damaged on the way. If that
            // fails, the provider still has them.
            match shared.call(rules, &attempt).await {
                Ok(second) if second.lacking(&prompts) < best.lacking(&prompts) => best = second,
                Err(end) if end.failure.kind != FailureKind::Rejected => return Err(end.failure),
                Ok(_) | Err(_) => {}
            }
            let lines = best.lacking(&prompts);
            if lines > 0 {
                tracing::warn!(host = shared.transport.host(), lines, "results that are missing, or cannot be read");
            }
        }
        Ok(best.results)
    }

    /// The batches submitted since then (seconds since 1970, UTC), newest first: finds one whose id was lost.
    ///
    /// # Errors
    /// As [`CompletionClient::complete`].
    pub async fn recent(&self, since: i64) -> Result<Vec<SubmittedBatch>, Failure> {
        let (shared, wire) = (&*self.client.shared, &self.wire);
        let mut found: Vec<SubmittedBatch> = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let attempt = async |with: With| {
                let call = wire.batch_list(after.as_deref(), with.key.as_deref()).map_err(Fault::never)?;
                let reply = shared.about_batches(call).await?;
                batch::list(&reply.body).map_err(|message| shared.unread(&reply, message))
            };
            let (page, next) = shared.call(shared.rules(), attempt).await.map_err(|end| end.failure)?;
            let page: Vec<SubmittedBatch> = page.into_iter().map(submitted).collect();
            let older = page.iter().any(|batch| batch.created_at < since);
            found.extend(page.into_iter().filter(|batch| batch.created_at >= since));
            if next.is_none() || next == after || older {
                break;
            }
            after = next;
        }
        Ok(found)
    }

    /// Asks the provider to cancel a batch. What was answered before stays among the results.
    ///
    /// # Errors
    /// [`FailureKind::Rejected`] if it has ended or is gone; else as [`CompletionClient::complete`].
    pub async fn cancel(&self, id: &str) -> Result<(), Failure> {
        let (shared, wire) = (&*self.client.shared, &self.wire);
        let attempt = async |with: With| {
            let call = wire.batch_cancel(id, with.key.as_deref()).map_err(Fault::never)?;
            shared.about_batches(call).await.map(drop)
        };
        shared.call(shared.rules(), attempt).await.map_err(|end| end.failure)
    }
}

/// What one attempt to read the results gave.
struct Read {
    results: Results,
    /// Lines that could not be read as a result.
    unread: usize,
}

impl Read {
    /// Requests without a result or lines that could not be read, whichever is more. If no result belongs to `prompts`
    /// (the batch is somebody else's), only the lines count.
    fn lacking(&self, prompts: &HashMap<&str, &Prompt>) -> usize {
        match self.results.iter().filter(|(id, _)| prompts.contains_key(id.as_str())).count() {
            0 => self.unread,
            found => self.unread.max(prompts.len().saturating_sub(found)),
        }
    }
}

impl Shared {
    fn rules(&self) -> Rules {
        Rules { each: self.timeout, whole: self.deadline, unsure: true, urgent: false }
    }

    /// Sends a request about batches. A 404, whoever sends it, means that there are none at this address.
    async fn about_batches(&self, call: Call) -> Result<Reply, Fault> {
        self.send(call.method, call.request).await.map_err(|fault| match fault.status {
            Some(404) => {
                let message = "the batch is gone, or there are no batches at this address (404)".to_owned();
                Fault { next: Next::Never(FailureKind::Rejected), message, ..fault }
            }
            _ => fault,
        })
    }

    /// Sends a request about a batch that the provider had. Only a 404 in the provider's own words means that it is
    /// gone.
    async fn about_batch(&self, call: Call) -> Result<Reply, Fault> {
        let sent = self.transport.send(call.method, call.request).await;
        let reply = sent.map_err(|broken| self.named(broken.into()))?;
        if reply.status == 404 { Err(self.missing(&reply)) } else { self.whole(reply) }
    }

    fn missing(&self, reply: &Reply) -> Fault {
        let (kind, message) = if batch::is_missing(&reply.body) {
            (FailureKind::Rejected, "the batch is gone (404)")
        } else {
            (FailureKind::Unavailable, "a 404 that is not the provider's: does something stand in between?")
        };
        Fault { next: Next::Never(kind), message: message.to_owned(), ..self.refused(404, reply) }
    }

    async fn read_results(
        &self,
        wire: &Anthropic,
        call: Call,
        read: &impl Fn(&str, &Message) -> Result<super::wire::Answer, String>,
    ) -> Result<Read, Fault> {
        let late = |_| self.named(Fault::late(self.timeout));
        let broken = |broken| self.named(Fault::from(broken));
        let begun = timeout(self.timeout, self.transport.begin(Method::GET, call.request)).await;
        let begun = begun.map_err(late)?.map_err(broken)?;
        if !begun.is_good() {
            let reply = timeout(self.timeout, self.transport.finish(begun)).await;
            let reply = reply.map_err(late)?.map_err(broken)?;
            return Err(if reply.status == 404 { self.missing(&reply) } else { self.refused(reply.status, &reply) });
        }
        let status = begun.status;
        let mut lines = Lines::new(begun);
        let mut found = Read { results: Vec::new(), unread: 0 };
        // Each line must come in time; the whole is limited by `MOST_TIME` alone.
        while let Some(line) = timeout(self.timeout, lines.next()).await.map_err(late)?.map_err(broken)? {
            let result = wire.batch_line(&line, SystemTime::now()).and_then(|line| {
                let outcome = match line.outcome {
                    Outcome::Succeeded(message) => Ok(Completion::of(read(&line.id, &message)?, Duration::ZERO, 1)),
                    Outcome::Errored(refusal) => Err(self.refused_in_batch(Fault::refused(0, refusal))),
                    Outcome::Canceled => Err(Failure::new(FailureKind::Cancelled, "the batch was stopped before it")),
                    Outcome::Expired => {
                        Err(Failure::new(FailureKind::Unavailable, "a day was not enough for the batch"))
                    }
                };
                Ok((line.id, outcome))
            });
            match result {
                Ok(result) => found.results.push(result),
                Err(_) => found.unread += 1,
            }
        }
        if found.results.is_empty() {
            // A batch holds at least one request, so this is a page or an error of a proxy on the way. If it passed for
            // the end of the batch, everything that was paid for would be lost.
            let message = "what came holds no result of the batch".to_owned();
            return Err(self.named(Fault::broken(status, message)));
        }
        Ok(found)
    }

    /// What the refusal of one request of a batch means for it.
    fn refused_in_batch(&self, fault: Fault) -> Failure {
        let kind = match fault.next {
            // The field is left out from now on, so a later try may succeed.
            Next::Without(field) => {
                self.leave_out(field);
                FailureKind::Unavailable
            }
            Next::Again { .. } => FailureKind::Unavailable,
            Next::AnotherKey => FailureKind::Unauthorized,
            Next::Never(kind) => kind,
        };
        Failure::new(kind, fault.message)
    }
}

fn submitted(status: BatchStatus) -> SubmittedBatch {
    let created = status.created_at.and_then(|at| at.parse::<jiff::Timestamp>().ok());
    SubmittedBatch {
        id: status.id,
        count: status.count,
        // A batch without a date might be the one that is looked for.
        created_at: created.map_or(i64::MAX, jiff::Timestamp::as_second),
    }
}

/// Stands in for a prompt that is no longer known: no answer contradicts it.
fn unknown_prompt() -> Prompt {
    Prompt { form: Form::Chunk, max_tokens: u32::MAX, ..Prompt::default() }
}
