//! What a call is going to cost, and how to read that off its answer.

use super::ledger::Settled;
use super::spender::Purchase;

/// How a call is paid for.
pub(super) struct Bill<'a, T> {
    /// What an attempt may cost; `None` if the ledger does not record it.
    pub(super) purchase: Option<Purchase>,
    /// Reads what the call cost off its answer.
    pub(super) took: Box<dyn Fn(&T) -> Settled + Send + Sync + 'a>,
}

impl<'a, T> Bill<'a, T> {
    pub(super) fn new(purchase: Purchase, took: impl Fn(&T) -> Settled + Send + Sync + 'a) -> Self {
        Bill { purchase: Some(purchase), took: Box::new(took) }
    }

    /// Of a call that costs nothing.
    pub(super) fn free() -> Self {
        Bill { purchase: None, took: Box::new(|_| Settled::default()) }
    }
}
