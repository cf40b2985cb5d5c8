//! The one way to spend: for contexts, questions, reranking, embeddings, batches and `doctor --provider`.
//!
//! [`Spender::reserve`] takes what a call may cost out of the budget and returns a guard. [`Reserved::send`] notes that
//! the call is under way, and the answer settles it. A guard that is dropped settles itself: a reservation that was never
//! sent goes back, and a call that was given up under way counts at its estimate, because nobody knows whether it was
//! billed.
//!
//! First a place, then money: a caller reserves only when its call has a place among those under way, so everything
//! that is reserved is sent at once. [`CompletionClient`](super::CompletionClient), [`Embeddings`](super::Embeddings)
//! and [`RerankClient`](super::RerankClient) keep to this order. Each attempt is paid for: one that may have been
//! billed is booked before the next one is reserved.

mod account;
mod guard;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use parking_lot::Mutex;

use super::ledger::{BudgetLimits, Ledger, OverBudget, Purpose, Settled};

pub(super) use account::Payment;
pub use account::{Account, Owed, Purchase, Unanswered, Wanted};
pub use guard::{Reserved, StandingReservation};

/// Ledger and limits together. A process has one.
#[derive(Debug)]
pub struct Spender {
    ledger: Ledger,
    limits: Mutex<BudgetLimits>,
}

impl Spender {
    /// A spender with an open ledger, and the limits of what may be bought.
    pub fn new(ledger: Ledger, limits: BudgetLimits) -> Arc<Self> {
        Arc::new(Spender { ledger, limits: Mutex::new(limits) })
    }

    /// Other limits from now on; calls under way keep what they reserved.
    pub fn set_limits(&self, limits: BudgetLimits) {
        *self.limits.lock() = limits;
    }

    /// What was spent, and what for.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Reserves what a call may take. Blocks until that is on the disk.
    ///
    /// # Errors
    /// See [`OverBudget`]; then nothing is reserved.
    pub fn reserve(self: &Arc<Self>, purchase: &Purchase) -> Result<Reserved, OverBudget> {
        let limits = *self.limits.lock();
        let rebuild = purchase.account.rebuild;
        let reservation = self.ledger.reserve(purchase.ask(), &limits, rebuild, machine::zoned())?;
        Ok(Reserved::new(self.clone(), reservation))
    }

    /// Takes up what a former process reserved for a batch and neither settled nor gave back. The caller must make sure
    /// that nobody else holds it.
    pub fn standing(self: &Arc<Self>, vault: &str, purpose: Purpose) -> Option<StandingReservation> {
        let reservation = self.ledger.standing(vault, "", purpose)?;
        Some(StandingReservation::new(self.clone(), reservation))
    }
}
