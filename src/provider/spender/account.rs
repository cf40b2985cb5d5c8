//! On whose account a call is made, and the money of its attempts.

use std::fmt;
use std::sync::Arc;

use super::super::Failure;
use super::super::ledger::{CallEstimate, OverBudget, Purpose, Settled};
use super::{Reserved, Spender};
use context::plan::Reason;

/// Who pays for calls, and what they are for. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Account {
    /// Who keeps the books.
    pub spender: Arc<Spender>,
    /// The vault's name; empty if it is about none.
    pub vault: Arc<str>,
    /// The note's path in it; empty if it is about none.
    pub path: Arc<str>,
    /// Why a context is made; reports do not say it for a purpose that is not about contexts.
    pub reason: Reason,
    /// On whose behalf.
    pub purpose: Purpose,
    /// Micro-dollars and tokens that the rebuild may take, if it has a budget of its own.
    pub rebuild: Option<(u64, u64)>,
    /// For how long further attempts are made; `None`: until there is an answer.
    pub wanted: Option<Wanted>,
}

/// Says whether a call is still wanted, and may still be made; it is asked before each attempt.
#[derive(Clone)]
pub struct Wanted(Arc<dyn Fn() -> bool + Send + Sync>);

impl Wanted {
    /// As long as `is_wanted` says so.
    pub fn so_long(is_wanted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Wanted(Arc::new(is_wanted))
    }
}

impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wanted").field(&(self.0)()).finish()
    }
}

impl Account {
    /// The account of a call that is about no note.
    pub fn of(spender: &Arc<Spender>, purpose: Purpose) -> Self {
        let none: Arc<str> = Arc::from("");
        Account {
            spender: spender.clone(),
            vault: none.clone(),
            path: none,
            reason: Reason::Rebuild,
            purpose,
            rebuild: None,
            wanted: None,
        }
    }
}

/// A call, and what one attempt at it may take.
#[derive(Clone, Debug)]
pub struct Purchase {
    /// Who pays.
    pub account: Account,
    /// Name of the provider.
    pub provider: &'static str,
    /// The model's id.
    pub model: Arc<str>,
    /// Millionths of a dollar at most; `None` if the price is not known, 0 if it is free.
    pub micro_dollars: Option<u64>,
    /// Tokens at most, read and written.
    pub tokens: u64,
}

impl Purchase {
    pub(super) fn ask(&self) -> CallEstimate<'_> {
        let Account { vault, path, reason, purpose, .. } = &self.account;
        CallEstimate {
            vault,
            path,
            reason: *reason,
            provider: self.provider,
            model: &self.model,
            purpose: *purpose,
            micro_dollars: self.micro_dollars,
            tokens: self.tokens,
        }
    }
}

/// Why a call that was to be paid for has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The budget did not allow the call, or another attempt at it.
    #[error(transparent)]
    Budget(#[from] OverBudget),
    /// The provider.
    #[error(transparent)]
    Provider(#[from] Failure),
}

/// The money of one call: reserved before each attempt that may be billed, booked after it. Writing the ledger waits
/// for the disk, so it runs on threads that may block.
#[must_use = "dropped, the estimate of a call under way counts as spent"]
#[derive(Debug)]
pub(crate) struct Payment {
    /// `None` if the ledger does not record the call.
    purchase: Option<Purchase>,
    /// What the attempt under way may take, or what one that was not billed has left.
    reserved: Option<Reserved>,
    wanted: Option<Wanted>,
}

impl Payment {
    pub(crate) fn of(purchase: Purchase) -> Self {
        Payment { wanted: purchase.account.wanted.clone(), purchase: Some(purchase), reserved: None }
    }

    /// Of a call that costs nothing, and is made as long as it is `wanted`.
    pub(crate) fn free(wanted: Option<Wanted>) -> Self {
        Payment { purchase: None, reserved: None, wanted }
    }

    /// Whether another attempt may be made.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| (wanted.0)())
    }

    /// Begins an attempt: reserves what it may cost, or takes what an earlier attempt that was not billed has left.
    pub(crate) async fn send(&mut self) -> Result<(), OverBudget> {
        if let (None, Some(purchase)) = (&self.reserved, self.purchase.clone()) {
            let reserved = machine::blocking(move || purchase.account.spender.reserve(&purchase)).await;
            let stopping = || Err(OverBudget::Io("the daemon is stopping".to_owned()));
            self.reserved = Some(reserved.unwrap_or_else(|_| stopping())?);
        }
        self.reserved.iter_mut().for_each(Reserved::send);
        Ok(())
    }

    /// Ends a failed attempt: books its estimate if the provider may have counted it, otherwise keeps the money for the
    /// next one.
    pub(crate) async fn failed(&mut self, maybe_billed: bool) {
        if !maybe_billed {
            self.reserved.iter_mut().for_each(Reserved::not_billed);
        } else if let Some(reserved) = self.reserved.take() {
            let _ = machine::blocking(move || reserved.maybe_billed()).await;
        }
    }

    /// The call has failed for good: what is left goes back.
    pub(crate) async fn end(self) {
        if let Some(left) = self.reserved {
            let _ = machine::blocking(move || drop(left)).await;
        }
    }

    /// The call was answered and took `used`.
    pub(crate) async fn settle(self, used: Settled) {
        if let Some(reserved) = self.reserved {
            // If the runtime ends, the money is dropped, and its estimate counts.
            let _ = machine::blocking(move || reserved.settle(used)).await;
        }
    }
}

/// What an answer has cost, which is still to be booked: an answer that is kept is put on the disk first, so that no call
/// is booked whose answer a kill has lost. Until then its reservation counts; dropped, its estimate counts as spent.
#[must_use = "dropped, its estimate counts as spent"]
#[derive(Debug)]
pub struct Owed {
    pub(crate) payment: Payment,
    pub(crate) used: Settled,
}

impl Owed {
    /// Books it, with the number of contexts that the answer gave.
    pub async fn settle(self, contexts: u32) {
        self.payment.settle(Settled { contexts, ..self.used }).await;
    }
}
