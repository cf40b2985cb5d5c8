//! Text → vectors: the texts to embed, the model compiled in, tables that the user supplies, and what is known of other
//! models. The crate `provider` makes vectors over HTTP or from files.

pub mod apart;
pub mod base64;
pub mod builtin;
pub mod input;
pub mod model_tokenizer;
pub mod models;
mod provider;
pub mod safetensors;
pub mod settings;
pub mod table;
mod tokenizer;

use note::fingerprint::InputHash;
pub use vector::Vector;

/// One text to embed, with its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Hash of `text`, and of the texts that are embedded with it where the model sees them together.
    pub hash: InputHash,
    /// Context and a window of the chunk.
    pub text: String,
    /// Bytes of `text` that are the context, without the blank line after it; 0 if there is none.
    pub context: usize,
    /// Questions and terms that a model wrote beside the context, for an embedder that gives them a separate weight
    /// ([`input::InputLimits::expansion`]); empty for other embedders, and if there are none.
    pub expansion: String,
}

/// The kind of a text, for models that embed queries and documents differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// A question.
    Query,
    /// A text to be found.
    Document,
}

#[cfg(test)]
mod tests;
