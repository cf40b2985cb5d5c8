//! Money on its way: reserved, then in flight, then settled.

use std::sync::Arc;

use super::super::ledger::{LedgerError, Reservation};
use super::{Settled, Spender};

/// The money that is reserved for a call that has not been sent. Dropped, it goes back into the budget.
#[must_use = "dropped, it is given back"]
#[derive(Debug)]
pub struct Reserved {
    money: Option<(Arc<Spender>, Reservation)>,
}

impl Reserved {
    pub(super) fn new(spender: Arc<Spender>, reservation: Reservation) -> Self {
        Reserved { money: Some((spender, reservation)) }
    }

    /// The call is sent now: from here on it may be billed.
    pub fn send(mut self) -> InFlight {
        InFlight { money: self.money.take() }
    }

    /// The purchase goes on without this process, as a batch does.
    pub fn stand(mut self) -> StandingReservation {
        StandingReservation { money: self.money.take() }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some((spender, reservation)) = self.money.take() {
            written(spender.ledger.release(reservation, machine::zoned()));
        }
    }
}

/// The money that is reserved for a call under way. Dropped, it counts as spent, because the call may have been billed.
#[must_use = "dropped, its estimate counts as spent"]
#[derive(Debug)]
pub struct InFlight {
    money: Option<(Arc<Spender>, Reservation)>,
}

impl InFlight {
    /// The call was answered and took `used`. Blocks until that is on the disk.
    pub fn settle(mut self, used: Settled) {
        if let Some((spender, reservation)) = self.money.take() {
            written(spender.ledger.settle(reservation, used, machine::zoned()));
        }
    }

    /// The call has no answer, and nobody knows whether the provider counted it: its estimate counts as spent.
    pub fn maybe_billed(mut self) {
        self.book_estimate();
    }

    /// The provider certainly charged nothing: the reserved money may pay for another attempt.
    pub fn not_billed(mut self) -> Reserved {
        Reserved { money: self.money.take() }
    }

    fn book_estimate(&mut self) {
        if let Some((spender, reservation)) = self.money.take() {
            written(spender.ledger.settle_unknown(reservation, machine::zoned()));
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some((_, reservation)) = &self.money {
            tracing::info!(
                "a call was given up while it was under way, and may be billed: {reservation} count as spent"
            );
        }
        self.book_estimate();
    }
}

/// The money that is reserved for a batch, which goes on without this process. Dropped, it stays reserved, and a later
/// process takes it up with [`Spender::standing`].
#[derive(Debug)]
pub struct StandingReservation {
    money: Option<(Arc<Spender>, Reservation)>,
}

impl StandingReservation {
    pub(super) fn new(spender: Arc<Spender>, reservation: Reservation) -> Self {
        StandingReservation { money: Some((spender, reservation)) }
    }

    /// The batch is over and took these `parts`, one for each path. Blocks until that is on the disk.
    pub fn settle_parts(mut self, parts: &[(String, Settled)]) {
        if let Some((spender, reservation)) = self.money.take() {
            written(spender.ledger.settle_parts(reservation, parts, machine::zoned()));
        }
    }

    /// Nothing was submitted, so the money goes back.
    pub fn give_back(mut self) {
        if let Some((spender, reservation)) = self.money.take() {
            written(spender.ledger.release(reservation, machine::zoned()));
        }
    }
}

/// Logs a failed write. The reservation then stands and counts as spent.
fn written(result: Result<(), LedgerError>) {
    if let Err(error) = result {
        tracing::warn!(%error, "what a call to a model cost could not be written down");
    }
}
