//! What a call is going to cost, how to read that off its answer, and whether it is still wanted.

use super::ledger::Settled;
use super::spender::{Purchase, Wanted};

/// How a call is paid for, and for how long it is wanted.
pub(super) struct Bill<'a, T> {
    /// What an attempt may cost; `None` if the ledger does not record it.
    pub(super) purchase: Option<Purchase>,
    /// Reads what the call cost off its answer.
    pub(super) took: Box<dyn Fn(&T) -> Settled + Send + Sync + 'a>,
    /// See [`Account::wanted`](super::Account::wanted).
    pub(super) wanted: Option<Wanted>,
}

impl<'a, T> Bill<'a, T> {
    pub(super) fn new(purchase: Purchase, took: impl Fn(&T) -> Settled + Send + Sync + 'a) -> Self {
        Bill { wanted: purchase.account.wanted.clone(), purchase: Some(purchase), took: Box::new(took) }
    }

    /// Of a call that costs nothing.
    pub(super) fn free() -> Self {
        Bill { purchase: None, took: Box::new(|_| Settled::default()), wanted: None }
    }

    /// Whether another attempt may be made.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.as_ref().is_none_or(Wanted::is_so)
    }
}
