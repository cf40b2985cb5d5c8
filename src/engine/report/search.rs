//! What finds: parameters and answers of `search` and `related`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Audience, Contextual};
use index::search::question::Expand;
use index::search::{Expected, Hit, Mode};

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
    /// Properties of the front matter and their values, as in a query (`">3"`, `"*"` for any); of a list, one is enough.
    pub properties: BTreeMap<String, serde_json::Value>,
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
    /// A note, by path: the answer says why it was not found, or stands where it stands.
    #[serde(default)]
    pub expect: Option<String>,
    /// What the model of `[context]` adds to the query.
    #[serde(default)]
    pub expand: Option<Expand>,
    /// Whether hits whose windows overlap or touch become one; they do if absent.
    #[serde(default)]
    pub merge: Option<bool>,
    /// Whether the reranker judges what is found; if one is configured, if absent.
    #[serde(default)]
    pub rerank: Option<bool>,
    /// Who hears the answer: assistants are not told of private notes.
    #[serde(default)]
    pub audience: Audience,
}

/// What the hits of `related` are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// The best chunks, several of a note.
    #[default]
    Chunk,
    /// The best notes, each with its best chunk.
    Note,
}

/// Parameters of `related`: exactly one of `path`, `chunk` and `text`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RelatedRequest {
    /// A note in the vault.
    pub path: Option<String>,
    /// With `path`: only this line of it, 1-based.
    pub line: Option<u32>,
    /// With `line`: the lines up to this one.
    pub end_line: Option<u32>,
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
    /// What the hits are.
    pub group: Group,
    /// Whether notes that are linked with the one asked about stay out.
    pub exclude_linked: bool,
    /// Whether hits carry their lanes.
    pub explain: bool,
    /// Characters of a hit with its neighbours.
    pub window_chars: Option<usize>,
    /// Whether hits whose windows overlap or touch become one; they do if absent.
    pub merge: Option<bool>,
    /// Who hears the answer: assistants are not told of private notes.
    pub audience: Audience,
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
    /// How the note that was expected stands to this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
}
