//! Text → vectors. The built-in model is compiled in; other embedders join this enum.

pub mod builtin;
#[cfg(feature = "transformer")]
pub mod hub;
pub mod input;
mod safetensors;
mod tokenizer;
#[cfg(feature = "transformer")]
pub mod transformer;

use crate::fingerprint::InputHash;

/// A normalised vector, quantised to int8: component `i` is `scale * values[i]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// One value per dimension, -127..=127.
    pub values: Box<[i8]>,
    /// Factor of every component; 0 for the zero vector.
    pub scale: f32,
}

/// One text to embed, with its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Hash of `text`.
    pub hash: InputHash,
    /// Context and a window of the chunk.
    pub text: String,
}

/// What makes vectors.
#[derive(Clone, Copy, Debug)]
pub enum Embedder {
    /// [`builtin`].
    Builtin,
}

impl Embedder {
    /// Names model and version: vectors of different identities are never compared.
    pub fn identity(self) -> &'static str {
        match self {
            Embedder::Builtin => builtin::IDENTITY,
        }
    }

    /// Components of a vector.
    pub fn dimensions(self) -> usize {
        match self {
            Embedder::Builtin => builtin::DIMENSIONS,
        }
    }

    /// The vector of a text (a query or an input).
    pub fn embed(self, text: &str) -> Vector {
        match self {
            Embedder::Builtin => builtin::model().embed(text),
        }
    }
}
