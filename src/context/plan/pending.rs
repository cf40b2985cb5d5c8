//! A context that is still to be written.

use super::Reason;

/// A context that a model is to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PendingContext {
    /// Why.
    pub reason: Reason,
    /// Seconds since 1970 (UTC). What was written before does not count when everything is to be made anew.
    pub since: i64,
    /// Answers that were of no use so far.
    pub tries: u8,
}
