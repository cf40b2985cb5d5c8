//! Why the lexical index gave no answer.

/// The lexical index gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LexicalError {
    /// It failed.
    #[error("the word index failed: {0}")]
    Failed(String),
    /// The caller raised its [`Cancel`](super::Cancel).
    #[error("the search was cancelled")]
    Cancelled,
}
