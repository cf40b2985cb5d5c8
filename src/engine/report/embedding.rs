//! What is told of embedders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far vectors are, in all vaults together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmbedStatus {
    /// Notes that are found by words alone until the embedder that serves has made their vectors.
    pub waiting: u64,
    /// The embedder that is to take over when its vectors are all there; until then the other one serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Notes whose vectors of the next one are there.
    pub done: u64,
    /// Notes in all that it has to do with, as far as is known.
    pub total: u64,
}
