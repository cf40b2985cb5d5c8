//! Who a request is for, and what of the vault's notes were changed last: `recent`.

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

/// Parameters of `recent`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecentRequest {
    /// The vault by name; all if absent.
    pub vault: Option<String>,
    /// Notes at most, 1..=200; 20 if absent.
    pub limit: Option<usize>,
    /// `next` of the answer before.
    pub after: Option<String>,
    /// Who hears the answer.
    pub audience: Audience,
}

/// Answer of `recent`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecentAnswer {
    /// The note that was changed last comes first.
    pub notes: Vec<RecentNote>,
    /// Notes in all.
    pub total: u64,
    /// Give this as `after` to go on; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A note, in the answer of `recent`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecentNote {
    /// Vault.
    pub vault: String,
    /// Path in the vault.
    pub path: String,
    /// Title.
    pub title: String,
    /// Tags without `#`.
    pub tags: Vec<String>,
    /// Kind of note.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub note_type: Option<String>,
    /// Modification time when it was indexed, seconds since 1970 (UTC).
    pub mtime: i64,
    /// Bytes of its file.
    pub bytes: u64,
}
