//! Contexts: short texts that each situate a chunk in its note. A context is put before its chunk for the embedding,
//! and is a separate field of the lexical index. Pure.

pub mod document;
mod expansion;
pub mod own_prompt;
pub mod plan;
pub mod settings;
pub mod prompt;
pub mod quality;
pub mod models;
pub mod cost;
mod template;

use serde::{Deserialize, Serialize};

use note::fingerprint::{SectionKey, Sketch, TextHash};

pub use expansion::{Expansion, MOST_TERMS, QUESTIONS};
pub use template::{NONE, TEMPLATE, Template};

/// A context and what it was written for, stored separately from the chunk's raw text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextRecord {
    /// The text; empty for [`Origin::Template`], which is computed from the note whenever it is needed.
    pub text: String,
    /// Who wrote it.
    pub origin: Origin,
    /// Which contextualizer, model and prompt: [`crate::plan::Generation::contextualizer`].
    pub generation: String,
    /// The sections of the chunk it was written for.
    pub sections: Vec<SectionKey>,
    /// The text of the chunk it was written for.
    pub written_for: TextHash,
    /// A sample of that text, to notice when it has become another.
    pub sketch: Sketch,
    /// 0..=1; 1 for templates.
    pub quality: f32,
    /// Seconds since 1970 (UTC).
    pub written_at: i64,
    /// What it took.
    pub spent: Spent,
    /// How it was asked for and judged; `None` for templates and imports.
    pub making: Option<Making>,
    /// The questions and terms that the model wrote with it.
    pub expansion: Expansion,
}

/// How a model's context came about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Making {
    /// How it was asked for.
    pub form: prompt::Form,
    /// Whether the model saw the note cut to fit.
    pub cut: bool,
    /// Whether it is weak, so that the template stands before it.
    pub weak: bool,
    /// Tries it took, this one included; none if a team had it.
    pub tries: u8,
    /// From the request to the answer, milliseconds.
    pub took_ms: u32,
    /// The parts of `quality`.
    pub scores: quality::Scores,
}

/// Who wrote a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The free template.
    Template,
    /// A language model; the record was paid for and is never thrown away.
    Model,
}

/// What a context took to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens read by the model.
    pub tokens_in: u64,
    /// Tokens written by the model.
    pub tokens_out: u64,
    /// Of `tokens_in`, those read from the provider's cache.
    pub tokens_cached: u64,
    /// Millionths of a dollar; `None` if the price is unknown.
    pub micro_dollars: Option<u64>,
}

impl ContextRecord {
    /// Whether it was paid for and so must outlive the index.
    pub fn is_paid(&self) -> bool {
        self.origin == Origin::Model
    }

    /// Whether a team had it: it counts as one of the model in force, and another may have written it.
    pub fn is_given(&self) -> bool {
        self.making.is_some_and(|making| making.tries == 0)
    }
}
