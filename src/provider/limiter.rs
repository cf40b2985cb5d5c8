//! How many requests are under way at once: as many as the provider bears.
//!
//! Slow start, additive increase, multiplicative decrease, as congestion control does it: a place more for every
//! answer until the provider says for the first time that it is busy, which halves them; from then on a place more
//! for every [`SUCCESSES_PER_PLACE`] answers. Calls wait for a place in the order in which they came.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Places at the start, unless the configuration allows fewer: enough to be quick, too few to trip the limit of a new
/// account at the first breath.
const FIRST_PLACES: usize = 4;

/// Answers, with no "busy" in between, that earn one place more once the provider was busy.
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
    /// Places taken away while calls had them: so many of those that come back are not given out again.
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

    /// Waits for a place. Whoever drops the future gives up their place in the queue, and nothing else.
    pub(super) async fn place(&self) -> Place<'_> {
        // The semaphore is never closed; if it were, a call without a place would be better than none.
        let permit = self.places.clone().acquire_owned().await.ok();
        Place { pace: self, permit, cuts: 0 }
    }

    /// Asks everybody to send nothing for so long.
    pub(super) fn be_quiet(&self, wait: Duration) {
        let until = Instant::now() + wait;
        self.with(|state| state.quiet_until = state.quiet_until.max(Some(until)));
    }

    /// How long nothing may be sent yet.
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
            // Under the lock, so that no cut comes between looking and giving back.
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether somebody would get a place right now.
    fn free(pace: &AdaptiveLimiter) -> usize {
        pace.places.available_permits()
    }

    async fn answer(pace: &AdaptiveLimiter, times: u32) {
        for _ in 0..times {
            let mut place = pace.place().await;
            place.begin();
            place.answered();
        }
    }

    #[tokio::test]
    async fn starts_low_and_grows_with_every_answer_until_the_first_refusal() {
        let pace = AdaptiveLimiter::new(6);
        assert_eq!((pace.limit(), free(&pace)), (4, 4));
        answer(&pace, 1).await;
        assert_eq!((pace.limit(), free(&pace)), (5, 5));
        answer(&pace, 20).await;
        assert_eq!((pace.limit(), free(&pace)), (6, 6));
    }

    #[tokio::test]
    async fn fewer_places_than_the_first_ones_may_be_configured() {
        assert_eq!(AdaptiveLimiter::new(2).limit(), 2);
        assert_eq!(AdaptiveLimiter::new(0).limit(), 1);
        assert_eq!(AdaptiveLimiter::new(usize::MAX).limit(), 4);
    }

    #[tokio::test]
    async fn calls_refused_together_halve_once() {
        let pace = AdaptiveLimiter::new(4);
        let mut places = Vec::new();
        for _ in 0..4 {
            let mut place = pace.place().await;
            place.begin();
            places.push(place);
        }
        places.iter().for_each(Place::refused);
        assert_eq!((pace.limit(), free(&pace)), (2, 0));
        // Two of the four that come back are not given out again.
        places.truncate(2);
        assert_eq!(free(&pace), 0);
        places.clear();
        assert_eq!(free(&pace), 2);
        // The next attempt is news again, and the last place is never taken.
        for expected in [1, 1] {
            let mut place = pace.place().await;
            place.begin();
            place.refused();
            assert_eq!(pace.limit(), expected);
        }
        assert_eq!(free(&pace), 1);
    }

    #[tokio::test]
    async fn a_refusal_begins_the_count_of_answers_anew() {
        let pace = AdaptiveLimiter::new(8);
        answer(&pace, 19).await;
        let mut place = pace.place().await;
        place.begin();
        place.refused();
        drop(place);
        answer(&pace, 19).await;
        assert_eq!(pace.limit(), 4);
        answer(&pace, 1).await;
        assert_eq!(pace.limit(), 5);
    }

    #[tokio::test]
    async fn places_are_given_in_the_order_of_asking() {
        let pace = Arc::new(AdaptiveLimiter::new(1));
        let first = pace.place().await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for n in 0..5 {
            let (pace, order) = (pace.clone(), order.clone());
            waiting.push(tokio::spawn(async move {
                let _place = pace.place().await;
                order.lock().push(n);
            }));
            tokio::task::yield_now().await;
        }
        // One that gives up waiting does not hold up those behind it.
        waiting.remove(2).abort();
        drop(first);
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(*order.lock(), [0, 1, 3, 4]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_quiet_that_was_asked_for_holds() {
        let pace = AdaptiveLimiter::new(4);
        assert_eq!(pace.quiet(), None);
        pace.be_quiet(Duration::from_secs(20));
        pace.be_quiet(Duration::from_secs(5));
        assert_eq!(pace.quiet(), Some(Duration::from_secs(20)));
        tokio::time::advance(Duration::from_secs(21)).await;
        assert_eq!(pace.quiet(), None);
    }

    proptest! {
        /// Whatever happens in whatever order, no place is lost or doubled.
        #[test]
        fn places_add_up(most in 1..20_usize, acts in prop::collection::vec(0..4_u8, 0..300)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let pace = AdaptiveLimiter::new(most);
                let mut places: Vec<Place<'_>> = Vec::new();
                for act in acts {
                    match act {
                        0 if free(&pace) > 0 => {
                            let mut place = pace.place().await;
                            place.begin();
                            places.push(place);
                        }
                        1 => if let Some(place) = places.first() { (0..20).for_each(|_| place.answered()) },
                        2 => if let Some(place) = places.last_mut() { place.refused(); place.begin() },
                        _ => if !places.is_empty() { places.remove(0); },
                    }
                    assert!((1..=most).contains(&pace.limit()));
                    let owed = pace.with(|state| state.owed);
                    assert_eq!(free(&pace) + places.len(), pace.limit() + owed);
                }
                places.clear();
                assert_eq!(free(&pace), pace.limit());
            });
        }
    }
}
