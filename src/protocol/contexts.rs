//! Contexts that a model writes: `generate_context`, `contexts.review` and `stats`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audience::Audience;
use crate::is_default;

/// Parameters of `generate_context`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GenerateRequest {
    /// The chunk, as it stands in the document.
    pub chunk: String,
    /// The document, Markdown.
    pub document: String,
    /// Its title, if its own text does not say.
    #[serde(default, skip_serializing_if = "is_default")]
    pub title: Option<String>,
    /// Its kind, if its own front matter does not say.
    #[serde(default, rename = "type", skip_serializing_if = "is_default")]
    pub note_type: Option<String>,
    /// Tags beside its own, without `#`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tags: Vec<String>,
    /// Words of the context at most.
    #[serde(default, skip_serializing_if = "is_default")]
    pub max_words: Option<u32>,
    /// Who hears the answer: assistants pay only with leave.
    #[serde(default, skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// Answer of `generate_context`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratedContext {
    /// What situates the chunk.
    pub context: String,
    /// The chunk with its context before it, as it is embedded.
    pub contextualized: String,
    /// 0..=1; 1 for the template.
    pub quality: f32,
    /// Tokens read and written.
    pub tokens: u64,
    /// Millionths of a dollar; absent if the price is not known.
    pub micro_dollars: Option<u64>,
    /// Who wrote it.
    pub generation: String,
}

/// Parameters of `contexts.start`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StartContextsRequest {
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// Only tell what it would take.
    #[serde(skip_serializing_if = "is_default")]
    pub dry_run: bool,
    /// Also have contexts written anew that are older than the model, the prompt or the last rebuild; they serve otherwise.
    #[serde(skip_serializing_if = "is_default")]
    pub replace: bool,
    /// Who asks: an assistant cannot agree for the user.
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// Parameters of `contexts.stop`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StopContextsRequest {
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
}

/// Answer of `contexts.start` and `contexts.stop`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Offers {
    /// One for each vault and kind of work that a model is asked for.
    pub vaults: Vec<Offer>,
}

/// What a model is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OfferedWork {
    /// Contexts of chunks.
    #[default]
    Contexts,
    /// The vectors that an embedder needs to take over.
    Vectors,
    /// The order of what a search finds, of every search.
    Reranking,
}

/// A model that is to work for a vault, what that takes, and whether the user has agreed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Offer {
    /// The vault's name; empty if it is for all of them.
    pub vault: String,
    /// What the model is asked for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub what: OfferedWork,
    /// Who is asked.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The host that text of notes goes to; absent if it stays on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves_to: Option<String>,
    /// Whether the model is asked: the user has agreed, or need not.
    pub agreed: bool,
    /// What is asked for once the user has agreed; of reranking one search.
    pub estimate: Estimate,
    /// Days that it takes within the day's budget; absent if that does not bind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u64>,
    /// Contexts that are older than the model, the prompt or the last rebuild: they serve on.
    #[serde(default)]
    pub kept: u64,
    /// What writing these anew takes, as `replace` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacing: Option<Estimate>,
}

/// Parameters of `contexts.review`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReviewRequest {
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// How many, 1..=1000; 50 if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub sample: Option<usize>,
}

/// Result of `contexts.review`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reviews {
    /// An even sample of the contexts that a model wrote.
    pub contexts: Vec<Reviewed>,
}

/// A context beside its chunk, for a person to judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reviewed {
    /// Vault.
    pub vault: String,
    /// Path in the vault.
    pub path: String,
    /// Headings above the chunk.
    pub heading_path: Vec<String>,
    /// First and last line.
    pub lines: (u32, u32),
    /// The chunk's text.
    pub chunk: String,
    /// The context's text.
    pub context: String,
    /// Questions that the same model wrote beside it, which the chunk answers; they are searched, and are no text of the note.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// Key terms, of the same kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<String>,
    /// Who wrote it.
    pub generation: String,
    /// 0..=1.
    pub quality: f32,
    /// The parts of `quality`.
    pub scores: Option<Scores>,
    /// Whether the text has become another since.
    pub drifted: bool,
}

/// The parts of a score, each 0..=1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scores {
    /// Neither too short nor too long.
    pub length: f32,
    /// Its content words stand in the note.
    pub grounding: f32,
    /// It says what the chunk itself does not.
    pub novelty: f32,
    /// It names the note or the section.
    pub specificity: f32,
    /// It begins with the matter and not with "This chunk".
    pub opening: f32,
    /// It invents no numbers.
    pub numbers: f32,
    /// It is not a copy of the chunk.
    pub originality: f32,
    /// It reads as whole sentences in the note's language.
    pub coherence: f32,
}

/// Parameters of `stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StatsRequest {
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// Who asks: private notes are not counted for an assistant.
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// Answer of `stats`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Chunks in all.
    pub total: u64,
    /// Chunks whose context is as it should be.
    pub processed: u64,
    /// Chunks for which the model gave nothing usable.
    pub failed: u64,
    /// `processed` of `total`.
    pub percentage: f32,
    /// Seconds since the running rebuild began.
    pub elapsed_s: Option<f64>,
    /// Seconds that its rest will take.
    pub remaining_s: Option<f64>,
    /// `idle`, `running`, `paused`, `held`.
    pub status: String,
    /// Chunks with a model's context.
    pub contextualized: u64,
    /// Characters of a model's context, on average.
    pub average_context_length: f32,
    /// Words of a model's context, on average.
    #[serde(default)]
    pub average_context_words: f32,
    /// Quality of a model's context, on average.
    pub average_quality: f32,
    /// Who writes contexts.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// Tokens read and written for the contexts that are held.
    pub tokens: u64,
    /// Millionths of a dollar spent on the contexts that are held, those of known price.
    pub micro_dollars: u64,
    /// Contexts that are held and whose price is not known.
    pub unpriced: u64,
    /// What came of asking, counted since the daemon started.
    pub outcomes: BTreeMap<String, u64>,
}

/// What a piece of work would take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Notes that are asked about.
    pub notes: u64,
    /// Chunks that get a context.
    pub chunks: u64,
    /// Requests.
    pub calls: u64,
    /// Tokens read, from the provider's cache or not.
    pub tokens_in: u64,
    /// Of `tokens_in`, those read from the cache.
    pub tokens_cached: u64,
    /// Tokens written.
    pub tokens_out: u64,
    /// Millionths of a dollar; `None` if the price is unknown.
    pub micro_dollars: Option<u64>,
    /// When the price was looked up; `None` if there is none.
    pub price_as_of: Option<String>,
    /// Minutes, if the provider is neither slow nor busy.
    pub minutes: f64,
}
