//! Anthropic's Message Batches: many requests handed in at once, answered within a day, at half the price.
//!
//! Pure: bodies, and what answers mean. A batch outlives the daemon, so everything is found again by the batch's id
//! and by the ids that the requests were given. Results come in any order. Amazon's Bedrock has no such interface.

use std::collections::HashSet;
use std::time::SystemTime;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::anthropic::{self, Keep};
use super::refusal::{self, Who};
use super::{Answer, Anthropic, Field, Refusal, Request};
use crate::key::Key;
use crate::{Failure, FailureKind};
use context::prompt::Prompt;

/// Requests in a batch at most.
pub(crate) const MOST_REQUESTS: usize = 100_000;

/// Bytes of a batch at most; the interface takes 256 MB.
pub(crate) const MOST_BYTES: usize = 250_000_000;

const PATH: &str = "/v1/messages/batches";

/// Whether the body of a 404 is the provider's own word that it does not have what was asked for
/// (<https://docs.claude.com/en/api/errors>).
pub(crate) fn is_missing(body: &[u8]) -> bool {
    let told = serde_json::from_slice::<Value>(body).unwrap_or_default();
    told["error"]["type"] == "not_found_error"
}

/// A request with its method.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// How.
    pub(crate) method: Method,
    /// What; no body with GET.
    pub(crate) request: Request,
}

/// A request of a batch, and the id by which its answer is known: 1 to 64 of `[A-Za-z0-9_-]`.
#[derive(Clone, Debug)]
pub(crate) struct Item<'a> {
    /// Unique in the batch.
    pub(crate) id: &'a str,
    /// What is asked.
    pub(crate) prompt: &'a Prompt,
}

/// How a batch is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BatchStatus {
    /// Its id.
    pub(crate) id: String,
    /// Whether it is over: not being worked on, not being stopped, and in no stage that is not known here.
    pub(crate) ended: bool,
    /// Its requests, however they are doing.
    pub(crate) count: u64,
    /// RFC 3339, as the provider says it.
    pub(crate) created_at: Option<String>,
    /// Whether its results can still be fetched: they are kept for 29 days.
    pub(crate) has_results: bool,
}

/// A line of a batch's results.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// Which request: as given by [`Item::id`].
    pub(crate) id: String,
    /// What became of it.
    pub(crate) outcome: Outcome,
}

/// What became of a request of a batch. Only answers are billed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It is answered.
    Succeeded(Message),
    /// It is refused.
    Errored(Refusal),
    /// The batch was stopped before.
    Canceled,
    /// A day was not enough.
    Expired,
}

/// An answer that is not read yet, because that needs its prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message(Value);

impl Anthropic {
    /// Submits a batch. If the connection breaks, [`Anthropic::batch_list`] shows whether it arrived.
    ///
    /// # Errors
    /// [`FailureKind::Unauthorized`] without a key; [`FailureKind::Rejected`] for an empty, too long or ambiguous
    /// batch.
    pub(crate) fn batch_submit(&self, items: &[Item], key: Option<&Key>, without: &[Field]) -> Result<Call, Failure> {
        if items.is_empty() || items.len() > MOST_REQUESTS {
            return Err(rejected(format!("a batch holds 1 to {MOST_REQUESTS} requests, not {}", items.len())));
        }
        let mut seen = HashSet::with_capacity(items.len());
        if items.iter().any(|item| !is_id(item.id) || !seen.insert(item.id)) {
            return Err(rejected("an id of a request in a batch is malformed, or there twice"));
        }
        // Written piece by piece: as one tree of values a large batch would be in memory several times.
        let mut body = b"{\"requests\":[".to_vec();
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                body.push(b',');
            }
            body.extend(self.batch_item(item, without));
            if body.len() > MOST_BYTES {
                return Err(rejected(format!("a batch holds {MOST_BYTES} bytes at most")));
            }
        }
        body.extend(b"]}");
        Ok(Call { method: Method::POST, request: self.call(PATH, key, body)? })
    }

    /// One request as a batch holds it. Its length tells how many fit into [`MOST_BYTES`].
    pub(crate) fn batch_item(&self, item: &Item, without: &[Field]) -> Vec<u8> {
        // Requests of a batch may be an hour apart, so a cache of five minutes would be paid for in vain.
        let params = self.params(item.prompt, without, Keep::Hour);
        super::bytes(&json!({"custom_id": item.id, "params": params}))
    }

    /// Asks how a batch is doing.
    ///
    /// # Errors
    /// There is no key, or the id is malformed.
    pub(crate) fn batch_poll(&self, id: &str, key: Option<&Key>) -> Result<Call, Failure> {
        self.batch_get(id, "", key)
    }

    /// Fetches the results, JSON Lines. The address in the batch's status is not followed: the key would go wherever
    /// it leads.
    ///
    /// # Errors
    /// As [`Anthropic::batch_poll`].
    pub(crate) fn batch_results(&self, id: &str, key: Option<&Key>) -> Result<Call, Failure> {
        self.batch_get(id, "/results", key)
    }

    /// Stops a batch; what was answered by then is billed and has results.
    ///
    /// # Errors
    /// As [`Anthropic::batch_poll`].
    pub(crate) fn batch_cancel(&self, id: &str, key: Option<&Key>) -> Result<Call, Failure> {
        let call = self.batch_get(id, "/cancel", key)?;
        Ok(Call { method: Method::POST, ..call })
    }

    /// Lists batches, the newest first, after the one with an id.
    ///
    /// # Errors
    /// As [`Anthropic::batch_poll`].
    pub(crate) fn batch_list(&self, after: Option<&str>, key: Option<&Key>) -> Result<Call, Failure> {
        let path = match after {
            Some(id) if is_id(id) => format!("{PATH}?limit=100&after_id={id}"),
            Some(_) => return Err(rejected("that is no id of a batch")),
            None => format!("{PATH}?limit=100"),
        };
        Ok(Call { method: Method::GET, request: self.call(&path, key, Vec::new())? })
    }

    fn batch_get(&self, id: &str, what: &str, key: Option<&Key>) -> Result<Call, Failure> {
        if !is_id(id) {
            return Err(rejected("that is no id of a batch"));
        }
        Ok(Call { method: Method::GET, request: self.call(&format!("{PATH}/{id}{what}"), key, Vec::new())? })
    }

    /// Reads a line of the results.
    ///
    /// # Errors
    /// Why the line is not a result: the request that it belongs to counts as not answered.
    pub(crate) fn batch_line(&self, line: &[u8], now: SystemTime) -> Result<Line, String> {
        let line: Value = serde_json::from_slice(line).map_err(|_| "a line of the results is not JSON")?;
        let id = line.get("custom_id").and_then(Value::as_str).filter(|id| is_id(id));
        let id = id.ok_or("a line of the results has no `custom_id`")?.to_owned();
        let result = line.get("result").ok_or("a line of the results has no `result`")?;
        let outcome = match result.get("type").and_then(Value::as_str) {
            Some("succeeded") => Outcome::Succeeded(Message(result.get("message").cloned().unwrap_or_default())),
            Some("errored") => Outcome::Errored(self.batch_refusal(result.get("error").unwrap_or(&Value::Null), now)),
            Some("canceled") => Outcome::Canceled,
            Some("expired") => Outcome::Expired,
            _ => return Err("a line of the results is of an unknown type".to_owned()),
        };
        Ok(Line { id, outcome })
    }

    /// The error of a single request comes in the usual envelope, but without a status: its type implies one.
    fn batch_refusal(&self, error: &Value, now: SystemTime) -> Refusal {
        let status = match error.pointer("/error/type").or_else(|| error.get("type")).and_then(Value::as_str) {
            Some("authentication_error") => 401,
            Some("billing_error") => 402,
            Some("permission_error") => 403,
            Some("not_found_error") => 404,
            Some("request_too_large") => 413,
            Some("rate_limit_error") => 429,
            Some("api_error") => 500,
            Some("timeout_error") => 504,
            Some("overloaded_error") => 529,
            _ => 400,
        };
        let who = Who::new(self.address.origin(), &self.asking.model, anthropic::FIELDS);
        refusal::read(&who, status, &HeaderMap::new(), &super::bytes(error), now)
    }

    /// Reads the answer of a batch's request.
    ///
    /// # Errors
    /// Why it is not an answer.
    pub(crate) fn batch_answer(&self, message: &Message, prompt: &Prompt) -> Result<Answer, String> {
        anthropic::read(&message.0, prompt, self.asking.model.token_factor)
    }
}

/// Reads how a batch is doing: from the answer to submitting it, asking about it, or stopping it.
///
/// # Errors
/// Why it is not a status.
pub(crate) fn status(body: &[u8]) -> Result<BatchStatus, String> {
    one(&super::parsed(body)?)
}

/// Reads a list of batches, and the id to go on after if there are more.
///
/// # Errors
/// Why it is not a list.
pub(crate) fn list(body: &[u8]) -> Result<(Vec<BatchStatus>, Option<String>), String> {
    let body = super::parsed(body)?;
    let batches = body.get("data").and_then(Value::as_array).ok_or("the list of batches has no `data`")?;
    let more = body.get("has_more").and_then(Value::as_bool) == Some(true);
    let last = body.get("last_id").and_then(Value::as_str).filter(|id| more && is_id(id));
    Ok((batches.iter().map(one).collect::<Result<_, _>>()?, last.map(str::to_owned)))
}

fn one(batch: &Value) -> Result<BatchStatus, String> {
    let text = |key: &str| batch.get(key).and_then(Value::as_str).map(str::to_owned);
    let count = |key: &str| batch.pointer(&format!("/request_counts/{key}")).and_then(Value::as_u64).unwrap_or(0);
    Ok(BatchStatus {
        id: text("id").filter(|id| is_id(id)).ok_or("the answer is no batch: it has no `id`")?,
        ended: text("processing_status").ok_or("the answer is no batch: it has no `processing_status`")? == "ended",
        count: ["processing", "succeeded", "errored", "canceled", "expired"].into_iter().map(count).sum(),
        created_at: text("created_at"),
        has_results: text("results_url").is_some(),
    })
}

/// Whether a text is an id. Ids go into paths, so only these characters are allowed.
fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn rejected(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Rejected, message)
}

#[cfg(test)]
mod tests;
