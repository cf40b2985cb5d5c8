//! Why the lexical index gave no answer.

/// The lexical index gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LexicalError {
    /// It failed.
    #[error("the word index failed: {0}")]
    Failed(String),
    /// It does not hold a chunk: the words of a note that could not be written, say by a full disk, are lacking until it is
    /// indexed again.
    #[error("the word index does not hold this chunk")]
    Lacks,
    /// The caller raised its [`Cancel`](super::Cancel).
    #[error("the search was cancelled")]
    Cancelled,
}
