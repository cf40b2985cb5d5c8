//! What goes wrong with a call, and how the socket says it.

use index::LexicalError;
use index::search::TooMuch;
use protocol::envelope::{ErrorKind, RpcError};
use store::StoreError;

/// What went wrong with a call; `kind` of the protocol.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// The named thing does not exist.
    #[error("{what} `{name}` is not known; {hint}")]
    NotFound {
        /// `vault`, `note`, `chunk`, `job`.
        what: &'static str,
        /// As asked for.
        name: String,
        /// What to do next.
        hint: String,
    },
    /// The configuration has a generation of this name, but it is not built.
    #[error("{message}")]
    NotBuilt {
        /// As asked for.
        name: String,
        /// For which vault, and what to do.
        message: String,
    },
    /// The parameters are wrong.
    #[error("{0}")]
    Invalid(String),
    /// The query is over a limit.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    /// The daemon has not read its store yet.
    #[error("the index is still being opened; try again in a moment")]
    NotReady,
    /// What the answer is made of is still being worked out; the message says what.
    #[error("{0}")]
    NotYet(String),
    /// A job that excludes this one runs.
    #[error("{message}")]
    Conflict {
        /// Which and what to do.
        message: String,
        /// The number of that job.
        job: u64,
    },
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The call took longer than it may.
    #[error("no answer within {0} ms")]
    Timeout(u64),
    /// What is asked for needs a model, and none is configured.
    #[error("{0}")]
    NotConfigured(String),
    /// The caller is not allowed to do this; the message says who can.
    #[error("{0}")]
    Forbidden(String),
    /// The caller may not spend what this costs.
    #[error("{0}")]
    TooDear(String),
    /// A model is not asked, because the budget has no room for it; the message says what to do.
    #[error("{0}")]
    OverBudget(String),
    /// A provider gave no usable answer, or cannot be asked.
    #[error("{0}")]
    Provider(String),
    /// The user has paused work, until this second since 1970; 0: until it is resumed.
    #[error("work is paused{}, saves too; `situated resume` lets it go on", until(*.0))]
    Paused(i64),
    /// The store failed, or something else on the disk.
    #[error("{0}")]
    Storage(String),
    /// The index of words failed: it can be made anew.
    #[error("{0}")]
    Words(String),
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Stopping,
}

/// The end of a pause, for a person; empty if it has none.
fn until(at: i64) -> String {
    let end = jiff::Timestamp::from_second(at).ok().filter(|_| at > 0);
    let end = end.map(|end| end.to_zoned(jiff::tz::TimeZone::system()).strftime(" until %Y-%m-%d %H:%M").to_string());
    end.unwrap_or_default()
}

impl From<LexicalError> for CallError {
    fn from(error: LexicalError) -> Self {
        match error {
            LexicalError::Cancelled => CallError::Cancelled,
            LexicalError::Failed(_) | LexicalError::Lacks => CallError::Words(error.to_string()),
        }
    }
}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> Self {
        CallError::Storage(error.to_string())
    }
}

impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        let message = error.to_string();
        match error {
            CallError::NotFound { what, name, hint } => {
                RpcError::new(ErrorKind::NotFound, message).hint(hint).with("what", what).with("name", name)
            }
            CallError::NotBuilt { name, .. } => {
                RpcError::new(ErrorKind::NotFound, message).with("what", "generation").with("name", name)
            }
            CallError::Invalid(_) => RpcError::new(ErrorKind::InvalidParams, message),
            CallError::TooMuch(over) => {
                let (what, given, limit) = over.parts();
                RpcError::new(ErrorKind::InvalidParams, message)
                    .hint("`situated related --text -` finds what is near a longer text, of which no word has to occur")
                    .with("what", what)
                    .with("given", given)
                    .with("limit", limit)
            }
            CallError::NotReady => RpcError::new(ErrorKind::NotReady, message).retry_after_ms(200),
            CallError::NotYet(_) => RpcError::new(ErrorKind::NotReady, message).retry_after_ms(1000),
            CallError::Conflict { job, .. } => RpcError::new(ErrorKind::Conflict, message)
                .hint(format!("wait for its end, or `situated jobs --cancel {job}`"))
                .with("job", job),
            CallError::Cancelled => RpcError::new(ErrorKind::Cancelled, message),
            CallError::Timeout(_) => RpcError::new(ErrorKind::Timeout, message),
            CallError::NotConfigured(_) => RpcError::new(ErrorKind::NotConfigured, message)
                .hint("`situated config show --origin` says what is configured"),
            CallError::Forbidden(_) => RpcError::new(ErrorKind::Forbidden, message),
            CallError::TooDear(_) => RpcError::new(ErrorKind::Forbidden, message).hint(
                "the user's configuration says so: `[mcp] allow_spending` and `[budget]`, then `situated call reload`",
            ),
            CallError::OverBudget(_) => RpcError::new(ErrorKind::Provider, message),
            CallError::Provider(_) => RpcError::new(ErrorKind::Provider, message).hint(
                "`situated status` says how the provider is doing, `situated team status` how a team's server is",
            ),
            CallError::Paused(until) => RpcError::new(ErrorKind::Paused, message).with("paused_until", until),
            CallError::Storage(_) => RpcError::new(ErrorKind::Storage, message).hint("`situated status` says more"),
            CallError::Words(_) => {
                RpcError::new(ErrorKind::Storage, message).hint("`situated status` says more; `situated rebuild` mends")
            }
            // Unlike what a daemon is asked before it is ready, this may have been begun.
            CallError::Stopping => {
                RpcError::new(ErrorKind::NotReady, message).retry_after_ms(1000).with("stopping", true)
            }
        }
    }
}
