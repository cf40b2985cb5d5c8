//! What the daemon says unasked while it answers a request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::envelope::Id;

/// Parameters of the notification `progress`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// The request's `progress`.
    pub token: Id,
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
    pub id: Id,
    /// What comes next of the answer; all pieces together are its `answer`.
    pub text: String,
}
