//! Text → vectors: what is embedded, the model compiled in, tables that the user brings, and what is known of other
//! models. Who makes vectors over HTTP or from files is the crate `provider`.

pub mod apart;
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
    /// Bytes of `text` that are the context, the blank line behind it left out; 0 if there is none.
    pub context: usize,
    /// Questions and terms that a model wrote beside the context, for an embedder that gives them a weight of their own
    /// ([`input::InputLimits::expansion`]); empty for any other, and where there are none.
    pub expansion: String,
}

/// What a text is to a model that tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// A question.
    Query,
    /// What is to be found.
    Document,
}

#[cfg(test)]
mod tests;
