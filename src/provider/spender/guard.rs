//! Money on its way: reserved, then under way, then settled.

use std::sync::Arc;

use super::super::ledger::{LedgerError, Reservation};
use super::{Settled, Spender};

/// The money that is reserved for a call. Dropped before the call is sent, it goes back into the budget; dropped while
/// the call is under way, it counts as spent, because the call may have been billed.
#[must_use = "dropped, it is given back, or counts as spent"]
#[derive(Debug)]
pub struct Reserved {
    money: Option<(Arc<Spender>, Reservation)>,
    under_way: bool,
}

impl Reserved {
    pub(super) fn new(spender: Arc<Spender>, reservation: Reservation) -> Self {
        Reserved { money: Some((spender, reservation)), under_way: false }
    }

    /// The call is sent now: from here on it may be billed.
    pub fn send(&mut self) {
        self.under_way = true;
    }

    /// The provider certainly charged nothing: the money may pay for another attempt.
    pub fn not_billed(&mut self) {
        self.under_way = false;
    }

    /// The call has no answer, and nobody knows whether the provider counted it: its estimate counts as spent.
    pub fn maybe_billed(mut self) {
        if let Some((spender, reservation)) = self.money.take() {
            written(spender.ledger.settle_unknown(reservation, machine::zoned()));
        }
    }

    /// The call was answered and took `used`. Blocks until that is on the disk.
    pub fn settle(mut self, used: Settled) {
        if let Some((spender, reservation)) = self.money.take() {
            written(spender.ledger.settle(reservation, used, machine::zoned()));
        }
    }

    /// The purchase goes on without this process, as a batch does.
    pub fn stand(mut self) -> StandingReservation {
        StandingReservation { money: self.money.take() }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let Some((spender, reservation)) = self.money.take() else { return };
        written(if self.under_way {
            tracing::info!(
                "a call was given up while it was under way, and may be billed: {reservation} count as spent"
            );
            spender.ledger.settle_unknown(reservation, machine::zoned())
        } else {
            spender.ledger.release(reservation, machine::zoned())
        });
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
