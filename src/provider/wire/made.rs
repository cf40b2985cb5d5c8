//! A model and a prompt, made for tests and for fuzzing.

use context::models::{Model, Price, Thinking};
use context::prompt::{Form, Prompt};
use context::settings::Provider;

/// A model that takes anything, and whose price is not known.
pub(crate) fn model(provider: Provider, id: &str) -> Model {
    Model {
        provider,
        id: id.to_owned(),
        known: true,
        sampling: false,
        thinking: Thinking::Omit,
        output_cap: None,
        json_schema: false,
        min_cache_tokens: None,
        context_size: 100_000,
        token_factor: 1.0,
        price: Price::Unknown,
    }
}

/// A prompt about the first of a note's chunks.
pub(crate) fn prompt(system: &str, document: &str, task: &str, max_tokens: u32) -> Prompt {
    Prompt {
        form: Form::Chunk,
        system: system.to_owned(),
        document: document.to_owned(),
        task: task.to_owned(),
        wanted: vec![1],
        max_tokens,
        tokens: 100,
        ..Prompt::default()
    }
}
