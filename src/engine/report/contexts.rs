//! What the engine tells of contexts that a model writes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Audience;
use context::cost::Estimate;
use context::quality::Scores;

/// How far a model is with the contexts of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextProgress {
    /// Chunks in all; 0 until every note has been decided about.
    pub total: u64,
    /// Chunks done, the failed ones included.
    pub processed: u64,
    /// Chunks for which the model gave nothing usable: the template serves them.
    pub failed: u64,
    /// `processed` of `total`.
    pub percentage: f32,
    /// Seconds since it began, or since it was taken up after a restart.
    pub elapsed_s: f64,
    /// Seconds that the rest will take, once that can be told.
    pub remaining_s: Option<f64>,
    /// Millionths of a dollar spent on it; calls of unknown price are not in it.
    pub micro_dollars: u64,
}

impl ContextProgress {
    /// Of two vaults together.
    pub(crate) fn plus(self, other: ContextProgress) -> ContextProgress {
        let (total, processed) = (self.total + other.total, self.processed + other.processed);
        let longest = |a: Option<f64>, b: Option<f64>| Some(a?.max(b?));
        ContextProgress {
            total,
            processed,
            failed: self.failed + other.failed,
            percentage: if total == 0 { 0.0 } else { processed as f32 / total as f32 * 100.0 },
            elapsed_s: self.elapsed_s.max(other.elapsed_s),
            remaining_s: longest(self.remaining_s, other.remaining_s),
            micro_dollars: self.micro_dollars + other.micro_dollars,
        }
    }
}

/// Parameters of `generate_context`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GenerateRequest {
    /// The chunk, as it stands in the document.
    pub chunk: String,
    /// The document, Markdown.
    pub document: String,
    /// Its title, if its own text does not say.
    #[serde(default)]
    pub title: Option<String>,
    /// Words of the context at most.
    #[serde(default)]
    pub max_words: Option<u32>,
    /// Who hears the answer: assistants pay only with leave.
    #[serde(default)]
    pub audience: Audience,
}

/// Parameters of `contexts.review`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReviewRequest {
    /// The vault by name; all if absent.
    pub vault: Option<String>,
    /// How many, 1..=1000; 50 if absent.
    pub sample: Option<usize>,
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

/// State of contexts that a model writes, in `status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextStatus {
    /// `template`, `anthropic`, `bedrock`, `openai`, `ollama`.
    pub provider: String,
    /// The model asked.
    pub model: String,
    /// Chunks for which a model's context makes sense.
    pub wanted: u64,
    /// Chunks for which the model is to be asked.
    pub waiting: u64,
    /// Chunks whose context another generation wrote; it serves meanwhile.
    pub old_generation: u64,
    /// Chunks whose text has become another than the one their context was written for.
    pub drifted: u64,
    /// Chunks for which the model gave nothing usable.
    pub failed: u64,
    /// Why nothing is asked at present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// What making the old ones anew would take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal: Option<Estimate>,
    /// When the last sync was, seconds since 1970 (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_at: Option<i64>,
}

/// A generation of contexts, in the answer of `generations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GenerationInfo {
    /// Vault.
    pub vault: String,
    /// Its name; `default` is that of `[context]`.
    pub name: String,
    /// Who writes its contexts.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// Whether searches are answered from it.
    pub active: bool,
    /// Whether it has an index.
    pub built: bool,
    /// Notes in it.
    pub notes: u64,
    /// Chunks in it.
    pub chunks: u64,
    /// Chunks for which its model is still to be asked.
    pub waiting: u64,
    /// Chunks for which its model gave nothing usable.
    pub failed: u64,
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
    /// Who wrote it.
    pub generation: String,
    /// 0..=1.
    pub quality: f32,
    /// The parts of `quality`.
    pub scores: Option<Scores>,
    /// Whether the text has become another since.
    pub drifted: bool,
}
