//! Why the lexical index gave no answer.

/// The lexical index gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LexicalError {
    /// It failed.
    #[error("the word index failed: {0}")]
    Failed(String),
    /// It does not hold a chunk. If a note's words could not be written, say because the disk is full, they are missing
    /// until the note is indexed again.
    #[error("the word index does not hold this chunk")]
    Lacks,
    /// The caller raised its [`Cancel`](super::Cancel).
    #[error("the search was cancelled")]
    Cancelled,
}
