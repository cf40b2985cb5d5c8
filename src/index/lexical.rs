//! (being written)

/// What the lexical lane is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LexicalQuery {
    /// Free words, in the order typed.
    pub words: String,
    /// Phrases that must occur.
    pub phrases: Vec<String>,
    /// Words that must not occur.
    pub without: Vec<String>,
    /// Whether the context field takes part.
    pub contextual: bool,
}

/// The lexical index failed.
#[derive(Debug, thiserror::Error)]
#[error("the word index failed: {0}")]
pub struct LexicalError(pub String);
