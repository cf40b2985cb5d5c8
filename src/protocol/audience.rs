//! Who a request is for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who hears the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// Whoever the notes belong to.
    #[default]
    Owner,
    /// A language model that helps them, or somebody else's program: private notes do not exist for it, and what costs
    /// money needs `mcp.allow_spending`.
    Assistant,
}

impl Audience {
    /// Whether private notes are to stay hidden.
    pub fn is_assistant(self) -> bool {
        self == Audience::Assistant
    }
}
