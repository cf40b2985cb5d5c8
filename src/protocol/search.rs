//! What finds: parameters and answers of `search` and `related`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audience::Audience;
use crate::hit::{Expected, Hit};
use crate::is_default;

/// Hits of one answer at most, whatever was asked for.
pub const MAX_HITS: usize = 200;

/// Which lanes answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Both lanes, fused.
    #[default]
    Hybrid,
    /// Words only.
    Lexical,
    /// Vectors only.
    Dense,
}

/// What a model adds to a query.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Expand {
    /// Nothing; no model is asked.
    #[default]
    Off,
    /// Up to three other phrasings, each searched in all lanes.
    Queries,
    /// A passage as a note might have it, searched by meaning alone (HyDE: Gao, Ma, Lin, Callan, "Precise Zero-Shot
    /// Dense Retrieval without Relevance Labels", ACL 2023).
    Hyde,
}

impl Expand {
    /// Its name in the configuration and in requests.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Which contexts a search goes by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Contextual {
    /// Whether contexts take part in the words.
    Flag(bool),
    /// `gen:NAME`: those of another generation, from its own index.
    Generation(String),
}

/// What hits carry if a request asks for it: it takes time to find out, or much room.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::EnumString, strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Include {
    /// `links` and `backlinks`: the notes that the hit's note is linked with.
    Links,
    /// `context_quality`, `context_by`, `context_at`, `context_tokens`: how good the chunk's context is, who wrote it and
    /// when, and what it took.
    Quality,
    /// `contextualized`: the chunk with its context before it.
    Contextualized,
    /// `text`: the chunk as it stands in the note.
    Text,
    /// `window`: the chunk with its neighbours.
    Window,
}

impl Include {
    /// What the hits of an answer say in words, all of it: most of their bytes.
    pub const TEXTS: [Include; 2] = [Include::Text, Include::Window];
}

/// Which notes a search looks at; everything given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchFilter {
    /// Glob or prefix of the path in the vault.
    #[serde(skip_serializing_if = "is_default")]
    pub path: Option<String>,
    /// Tag, with the tags nested under it.
    #[serde(skip_serializing_if = "is_default")]
    pub tag: Option<String>,
    /// Date of the note at the earliest, as in a query.
    #[serde(skip_serializing_if = "is_default")]
    pub after: Option<String>,
    /// Date of the note at the latest, as in a query.
    #[serde(skip_serializing_if = "is_default")]
    pub before: Option<String>,
    /// Type of the note.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub note_type: Option<String>,
    /// Properties of the note and their values, as in a query (`">3"`, `"*"` for any); of a list, one is enough.
    #[serde(skip_serializing_if = "is_default")]
    pub properties: BTreeMap<String, serde_json::Value>,
}

/// What a search weighs beside the text, each 0 to 1, instead of what the configuration says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BoostWeights {
    /// Of the place among the links: `search.graph_weight`.
    #[serde(skip_serializing_if = "is_default")]
    pub graph: Option<f32>,
    /// Of being named by the query or linked with what it names: `search.link_weight`.
    #[serde(skip_serializing_if = "is_default")]
    pub links: Option<f32>,
    /// Of being new: `search.recency_weight`.
    #[serde(skip_serializing_if = "is_default")]
    pub recency: Option<f32>,
    /// Of being of the time that the query asks about: `search.date_weight`. With 0 no time is read in the query.
    #[serde(skip_serializing_if = "is_default")]
    pub date: Option<f32>,
    /// Of kinds of notes: added to `search.type_weights`.
    #[serde(skip_serializing_if = "is_default")]
    pub types: BTreeMap<String, f32>,
}

/// The time that words of a query were read as. Notes of that time rank higher; none is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeAsked {
    /// The words.
    pub words: String,
    /// The first day, as `2026-10-01`; absent if it has no beginning, or if the newest is meant.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from: Option<String>,
    /// The last day; absent if it reaches up to today.
    #[serde(default, skip_serializing_if = "is_default")]
    pub to: Option<String>,
    /// Whether the newest notes are meant.
    #[serde(default, skip_serializing_if = "is_default")]
    pub newest: bool,
    /// In words, as `October 2026`.
    pub read_as: String,
}

/// Parameters of `search`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchRequest {
    /// What is sought, in the query language.
    pub query: String,
    /// The vault by name; all if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// Hits at most, 1..=200.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limit: Option<usize>,
    /// Hits of one note at most.
    #[serde(default, skip_serializing_if = "is_default")]
    pub per_note: Option<usize>,
    /// Only hits with this score, 0..=1, or more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub min_score: Option<f32>,
    /// Which lanes answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: Option<Mode>,
    /// Whether contexts take part.
    #[serde(default, skip_serializing_if = "is_default")]
    pub contextual: Option<Contextual>,
    /// Which notes are looked at.
    #[serde(default, skip_serializing_if = "is_default")]
    pub filter: Option<SearchFilter>,
    /// Wait until everything saved before the request is in the snapshot.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fresh: bool,
    /// Whether hits carry their lanes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub explain: bool,
    /// Whether the last word is still being typed: words that begin with it are found too, and nothing is paid for each
    /// letter: a reranker that costs judges, and a model adds other words, only if the request says so.
    #[serde(default, skip_serializing_if = "is_default")]
    pub prefix: bool,
    /// Characters of a hit with its neighbours.
    #[serde(default, skip_serializing_if = "is_default")]
    pub window_chars: Option<usize>,
    /// A note, by path: the answer says why it was not found, or stands where it stands.
    #[serde(default, skip_serializing_if = "is_default")]
    pub expect: Option<String>,
    /// What the model of `[context]` adds to the query.
    #[serde(default, skip_serializing_if = "is_default")]
    pub expand: Option<Expand>,
    /// Whether what is found in the window of a better hit goes into that; it does if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub merge: Option<bool>,
    /// Whether the reranker judges what is found; if absent, if one is configured that judges every search.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rerank: Option<bool>,
    /// What hits carry beside what they always do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub include: Vec<Include>,
    /// What is weighed beside the text; as configured, if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub boosts: Option<BoostWeights>,
    /// Who hears the answer: assistants are not told of private notes.
    #[serde(default, skip_serializing_if = "is_default")]
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
    #[serde(skip_serializing_if = "is_default")]
    pub path: Option<String>,
    /// With `path`: only this line of it, 1-based.
    #[serde(skip_serializing_if = "is_default")]
    pub line: Option<u32>,
    /// With `line`: the lines up to this one.
    #[serde(skip_serializing_if = "is_default")]
    pub end_line: Option<u32>,
    /// A chunk by id.
    #[serde(skip_serializing_if = "is_default")]
    pub chunk: Option<String>,
    /// Any text.
    #[serde(skip_serializing_if = "is_default")]
    pub text: Option<String>,
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// Hits at most, 1..=200.
    #[serde(skip_serializing_if = "is_default")]
    pub limit: Option<usize>,
    /// Hits of one note at most.
    #[serde(skip_serializing_if = "is_default")]
    pub per_note: Option<usize>,
    /// What the hits are.
    #[serde(skip_serializing_if = "is_default")]
    pub group: Group,
    /// Whether notes that are linked with the one asked about stay out.
    #[serde(skip_serializing_if = "is_default")]
    pub exclude_linked: bool,
    /// Whether hits carry their lanes.
    #[serde(skip_serializing_if = "is_default")]
    pub explain: bool,
    /// Characters of a hit with its neighbours.
    #[serde(skip_serializing_if = "is_default")]
    pub window_chars: Option<usize>,
    /// Whether what is found in the window of a better hit goes into that; it does if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub merge: Option<bool>,
    /// What hits carry beside what they always do.
    #[serde(skip_serializing_if = "is_default")]
    pub include: Vec<Include>,
    /// Who hears the answer: assistants are not told of private notes.
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// A file without text, by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// The vault it is in.
    pub vault: String,
    /// Its path in the vault.
    pub path: String,
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
    /// Files without text (pictures, recordings, spreadsheets) whose names have all words of the query; at most 5.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// How the note that was expected stands to this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// The time that the query was read to ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeAsked>,
}
