//! A context that is still to be written.

use super::Reason;

/// A context that a model is to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PendingContext {
    /// Why.
    pub reason: Reason,
    /// Since when, in seconds since 1970 (UTC). Where everything is to be made anew, older contexts do not count.
    pub since: i64,
    /// Unusable answers so far.
    pub tries: u8,
}
