//! How many requests are under way at once: as many as the provider bears.
//!
//! Slow start, additive increase, multiplicative decrease, as in congestion control: one more place for every answer
//! until the provider first says that it is busy, which halves the places; from then on one more place for every
//! [`SUCCESSES_PER_PLACE`] answers. Calls get places in the order in which they came.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Places at the start, unless the configuration allows fewer: enough to be quick, too few to hit the rate limit of a
/// new account at once.
const FIRST_PLACES: usize = 4;

/// Answers without a "busy" in between that earn one more place, once the provider was busy.
const SUCCESSES_PER_PLACE: u32 = 20;

/// The places, and who has them.
#[derive(Debug)]
pub(super) struct AdaptiveLimiter {
    places: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Places there are, given out or not.
    limit: usize,
    /// Places there may be.
    most: usize,
    /// Answers since the number of places changed.
    successes: u32,
    /// Places that were cut while calls held them: this many of the returned places are not given out again.
    owed: usize,
    /// How often places were taken away.
    cuts: u64,
    /// The provider asked to be left alone until then.
    quiet_until: Option<Instant>,
}

impl AdaptiveLimiter {
    /// With `most` places at most, and at least one.
    pub(super) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let limit = most.min(FIRST_PLACES);
        AdaptiveLimiter {
            places: Arc::new(Semaphore::new(limit)),
            state: Mutex::new(State { limit, most, successes: 0, owed: 0, cuts: 0, quiet_until: None }),
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        // No code that can panic runs under this lock.
        act(&mut self.state.lock())
    }

    /// Waits for a place. Dropping the future gives up the place in the queue, and nothing else.
    pub(super) async fn place(&self) -> Place<'_> {
        // The semaphore is never closed; if it were, a call without a place would be better than none.
        let permit = self.places.clone().acquire_owned().await.ok();
        Place { pace: self, permit, cuts: 0 }
    }

    /// Makes all calls send nothing for this long.
    pub(super) fn be_quiet(&self, wait: Duration) {
        let until = Instant::now() + wait;
        self.with(|state| state.quiet_until = state.quiet_until.max(Some(until)));
    }

    /// How much longer nothing may be sent.
    pub(super) fn quiet(&self) -> Option<Duration> {
        let until = self.with(|state| state.quiet_until)?;
        Some(until.saturating_duration_since(Instant::now())).filter(|wait| !wait.is_zero())
    }

    /// Forgets that the provider asked to be left alone.
    pub(super) fn resume(&self) {
        self.with(|state| state.quiet_until = None);
    }

    /// Places there are now.
    #[cfg(test)]
    pub(super) fn limit(&self) -> usize {
        self.with(|state| state.limit)
    }
}

/// A place among the calls under way; dropping it gives it to the next.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pace: &'a AdaptiveLimiter,
    permit: Option<OwnedSemaphorePermit>,
    /// [`State::cuts`] when the present attempt began.
    cuts: u64,
}

impl Place<'_> {
    /// An attempt begins.
    pub(super) fn begin(&mut self) {
        self.cuts = self.pace.with(|state| state.cuts);
    }

    /// The attempt was answered.
    pub(super) fn answered(&self) {
        self.pace.with(|state| {
            state.successes += 1;
            let needed = if state.cuts == 0 { 1 } else { SUCCESSES_PER_PLACE };
            if state.successes < needed {
                return;
            }
            state.successes = 0;
            if state.limit < state.most {
                state.limit += 1;
                match state.owed.checked_sub(1) {
                    Some(owed) => state.owed = owed,
                    None => self.pace.places.add_permits(1),
                }
            }
        });
    }

    /// The provider was too busy for the attempt. Refusals of attempts that began before the last cut say nothing
    /// new: ten calls that are refused together halve the places once, not four times.
    pub(super) fn refused(&self) {
        self.pace.with(|state| {
            state.successes = 0;
            if state.cuts != self.cuts || state.limit == 1 {
                return;
            }
            let limit = (state.limit / 2).max(1);
            let surplus = state.limit - limit;
            state.limit = limit;
            state.cuts += 1;
            state.owed += surplus - self.pace.places.forget_permits(surplus);
        });
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.pace.with(|state| {
            // Under the lock, so that no cut comes between the check and the return.
            match (self.permit.take(), state.owed.checked_sub(1)) {
                (Some(permit), Some(owed)) => {
                    permit.forget();
                    state.owed = owed;
                }
                (permit, _) => drop(permit),
            }
        });
    }
}

#[cfg(test)]
mod tests;
