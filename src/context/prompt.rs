//! What a model is asked, and what is taken from its answer. Pure, and stable to the byte: a provider's cache
//! lives on equal prefixes.

use super::document::Document;
use super::models::Model;
use super::settings::ContextConfig;

/// Version of the fixed prompts: part of the generation.
pub const PROMPT: &str = "p1";

/// Passages asked for in one call at most.
pub const MOST_PASSAGES: usize = 24;

/// How a context was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// The whole note, JSON for all passages that need a context.
    Note,
    /// The note as a cacheable prefix, one passage.
    Chunk,
    /// The passage with title, path and lead, without the note.
    Simple,
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// How it asks.
    pub form: Form,
    /// Instructions, the same for all notes of a kind.
    pub system: String,
    /// The note: the same bytes in every request about it. Empty in [`Form::Simple`].
    pub document: String,
    /// The question.
    pub task: String,
    /// Passages asked for, by number.
    pub wanted: Vec<u32>,
    /// Whether the answer is JSON after [`schema`]; plain text otherwise.
    pub json: bool,
    /// Tokens of the answer at most.
    pub max_tokens: u32,
    /// Whether more requests with this document follow, so that caching it pays.
    pub cache: bool,
    /// Whether the document was cut to fit.
    pub cut: bool,
    /// Tokens of the whole prompt, estimated for the model.
    pub tokens: u32,
}

/// Asks about notes in the way that a configuration says.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompter {
    _config: ContextConfig,
    _model: Model,
}

impl Prompter {
    /// For a configuration and what is known about its model.
    pub fn new(_config: &ContextConfig, _model: &Model) -> Self {
        todo!()
    }

    /// The generation of contexts of notes of a kind: provider, model, prompt version and what the user's
    /// instructions for the kind add, e.g. `anthropic/claude-haiku-5-5/p1` or `…/p1+3f2a91c0`.
    pub fn generation(&self, _kind: Option<&str>) -> String {
        todo!()
    }

    /// Requests for these passages of a note in the form that suits it: whole note by default, per passage
    /// for long notes (over about 6k tokens) or where the configuration says so.
    pub fn ask(&self, _document: &Document, _wanted: &[u32]) -> Vec<Prompt> {
        todo!()
    }

    /// The request for one passage with the note before it.
    pub fn ask_one(&self, _document: &Document, _n: u32) -> Prompt {
        todo!()
    }

    /// The request that small models can follow, and the last try of all.
    pub fn ask_simply(&self, _document: &Document, _n: u32) -> Prompt {
        todo!()
    }
}

/// The JSON schema of an answer to [`Form::Note`].
pub fn schema() -> serde_json::Value {
    todo!()
}

/// What an answer says for each wanted passage: its caption, cleaned, or why there is none (missing, doubled,
/// empty). Numbers that were not asked for are ignored. Never fails: an answer that is no JSON has none.
pub fn captions(_prompt: &Prompt, _answer: &str) -> Vec<(u32, Result<String, Unread>)> {
    todo!()
}

/// Why an answer holds no caption for a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The answer has none.
    Missing,
    /// The answer has several.
    Doubled,
    /// The answer is not what was asked for at all.
    NotJson,
    /// Nothing is left of it.
    Empty,
}
