//! What the daemon says unasked while it answers a request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A string, or an integer within ±(2^53 - 1).
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
pub enum Token {
    /// An integer.
    Number(i64),
    /// Any string.
    Text(String),
}

/// Parameters of the notification `progress`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// The request's `progress`.
    #[schemars(with = "Token")]
    pub token: Value,
    /// Notes done; grows from one notification to the next.
    pub done: u64,
    /// Notes in all, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// What is being done.
    pub phase: String,
    /// Anything else a person would like to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Parameters of the notification `text`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Text {
    /// The id of the request that is being answered.
    #[schemars(with = "Token")]
    pub id: Value,
    /// What comes next of the answer; all pieces together are its `answer`.
    pub text: String,
}
