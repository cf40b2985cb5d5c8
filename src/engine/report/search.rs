//! What finds: parameters and answers of `search` and `related`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Contextual;
use crate::search::{Hit, Mode};

/// Which notes a search looks at; everything given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchFilter {
    /// Glob or prefix of the path in the vault.
    pub path: Option<String>,
    /// Tag, with the tags nested under it.
    pub tag: Option<String>,
    /// Date of the note at the earliest, as in a query.
    pub after: Option<String>,
    /// Date of the note at the latest, as in a query.
    pub before: Option<String>,
    /// Type of the note.
    #[serde(rename = "type")]
    pub note_type: Option<String>,
}

/// Parameters of `search`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchRequest {
    /// What is sought, in the query language.
    pub query: String,
    /// The vault by name; all if absent.
    #[serde(default)]
    pub vault: Option<String>,
    /// Hits at most, 1..=200.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Hits of one note at most.
    #[serde(default)]
    pub per_note: Option<usize>,
    /// Which lanes answer.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// Whether contexts take part.
    #[serde(default)]
    pub contextual: Option<Contextual>,
    /// Which notes are looked at.
    #[serde(default)]
    pub filter: Option<SearchFilter>,
    /// Wait until everything saved before the request is in the snapshot.
    #[serde(default)]
    pub fresh: bool,
    /// Whether hits carry their lanes.
    #[serde(default)]
    pub explain: bool,
    /// Whether the last word is still being typed: words that begin with it are found too.
    #[serde(default)]
    pub prefix: bool,
    /// Characters of a hit with its neighbours.
    #[serde(default)]
    pub window_chars: Option<usize>,
}

/// Parameters of `related`: exactly one of `path`, `chunk` and `text`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RelatedRequest {
    /// A note in the vault.
    pub path: Option<String>,
    /// A chunk by id.
    pub chunk: Option<String>,
    /// Any text.
    pub text: Option<String>,
    /// The vault by name; all if absent.
    pub vault: Option<String>,
    /// Hits at most, 1..=200.
    pub limit: Option<usize>,
    /// Hits of one note at most.
    pub per_note: Option<usize>,
    /// Whether hits carry their lanes.
    pub explain: bool,
    /// Characters of a hit with its neighbours.
    pub window_chars: Option<usize>,
}

/// Answer of `search` and `related`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchAnswer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Sequence number of the snapshot that answered; the highest of several.
    pub seq: u64,
    /// Milliseconds from request to answer, the wait for freshness included.
    pub took_ms: f64,
    /// Whether more would have been found than was asked for.
    pub truncated: bool,
    /// What was odd about the query.
    pub warnings: Vec<String>,
}
