//! Decides whether a provider is asked at all. One that is down is left alone for a while; one that refuses us is left
//! alone until somebody does something about it, or for an hour if its reason is money.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Failure, FailureKind, Health};

/// Failed calls in a row after which the provider is left alone.
const PATIENCE: u32 = 5;

/// The first pause; it doubles after each failed probe.
const FIRST_PAUSE: Duration = Duration::from_mins(1);

/// The longest pause: a probe is one call, which costs nothing if it fails, and a provider that is well again is
/// noticed within this time.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// The pause after a provider refused for money: such limits end with the hour, the day or the month, and a refused
/// call costs nothing.
const SPEND_PAUSE: Duration = Duration::from_hours(1);

/// The known state of a provider. It logs changes of this state, never a single call.
#[derive(Debug)]
pub(super) struct CircuitBreaker {
    provider: &'static str,
    host: String,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: State,
    /// Whether a probe is under way: the call that finds out whether the provider is back.
    probing: bool,
}

#[derive(Debug)]
enum State {
    /// Asked as usual; counts the calls in a row that have failed.
    Closed(u32),
    /// Left alone.
    Open { until: Instant, pause: Duration, why: String },
    /// The provider refuses us; it is tried again at `until`, if ever.
    Stopped { failure: Failure, until: Option<Instant> },
}

/// What a call has shown about the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// It answers, even if it refuses this request.
    Reached,
    /// It does not answer, after all attempts; the last status, if there was one, and why.
    Failed(Option<u16>, String),
    /// It refuses us.
    Stopped(Option<u16>, Failure),
    /// Nothing new: no request was sent, or the call was cancelled.
    Nothing,
}

impl CircuitBreaker {
    pub(super) fn new(provider: &'static str, host: String) -> Self {
        CircuitBreaker { provider, host, inner: Mutex::new(Inner { state: State::Closed(0), probing: false }) }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        // No code that can panic runs under this lock.
        act(&mut self.inner.lock())
    }

    /// Whether a call may begin or go on; `Err` is the failure that it ends with.
    pub(super) fn look(&self) -> Result<(), Failure> {
        self.with(|inner| inner.bar(Instant::now()).map_or(Ok(()), Err))
    }

    /// Lets a call pass. Once the pause of a provider that is left alone is over, this is a single call: the probe.
    pub(super) fn pass(&self) -> Result<Pass<'_>, Failure> {
        self.with(|inner| {
            if let Some(failure) = inner.bar(Instant::now()) {
                return Err(failure);
            }
            let probe = !matches!(inner.state, State::Closed(_));
            inner.probing |= probe;
            Ok(Pass { circuit: self, probe, shown: Shown::Nothing })
        })
    }

    pub(super) fn health(&self) -> Health {
        let now = Instant::now();
        self.with(|inner| match &inner.state {
            State::Closed(_) => Health::Good,
            State::Open { until, why, .. } => Health::Open(until.saturating_duration_since(now), why.clone()),
            // The next call is the probe: somebody must make it.
            State::Stopped { .. } if inner.bar(now).is_none() => Health::Good,
            State::Stopped { failure, .. } => Health::Stopped(failure.message.clone()),
        })
    }

    /// Forgets all that is held against the provider.
    pub(super) fn resume(&self) {
        self.with(|inner| {
            if !matches!(inner.state, State::Closed(_)) {
                tracing::info!(provider = self.provider, host = self.host, "the provider is asked again, as told");
            }
            *inner = Inner { state: State::Closed(0), probing: false };
        });
    }

    fn settle(&self, probe: bool, shown: Shown) {
        let now = Instant::now();
        self.with(|inner| {
            if probe {
                inner.probing = false;
            }
            let next = match (&inner.state, shown) {
                (_, Shown::Nothing) => None,
                // An answer to a call that began earlier neither restores a key nor pays a bill.
                (State::Stopped { .. }, Shown::Reached | Shown::Failed(..)) if !probe => None,
                (State::Closed(0), Shown::Reached) => None,
                (State::Closed(_), Shown::Reached) => Some(State::Closed(0)),
                (State::Open { .. } | State::Stopped { .. }, Shown::Reached) => {
                    tracing::info!(provider = self.provider, host = self.host, "the provider answers again");
                    Some(State::Closed(0))
                }
                (State::Closed(failures), Shown::Failed(status, why)) => Some(if failures + 1 < PATIENCE {
                    State::Closed(failures + 1)
                } else {
                    self.open(status, FIRST_PAUSE, why, now)
                }),
                // Calls that began before the pause and fail late say nothing new.
                (State::Open { .. }, Shown::Failed(..)) if !probe => None,
                (State::Open { pause, .. }, Shown::Failed(status, why)) => {
                    Some(self.open(status, (*pause * 2).min(LONGEST_PAUSE), why, now))
                }
                (State::Stopped { .. }, Shown::Failed(status, why)) => Some(self.open(status, FIRST_PAUSE, why, now)),
                (before, Shown::Stopped(status, failure)) => {
                    if !matches!(before, State::Stopped { failure: known, .. } if known.kind == failure.kind) {
                        let (provider, host) = (self.provider, self.host.as_str());
                        tracing::warn!(
                            provider,
                            host,
                            status,
                            "the provider refuses us and is not asked: see `status`"
                        );
                    }
                    let until = (failure.kind == FailureKind::SpendLimit).then(|| now + SPEND_PAUSE);
                    Some(State::Stopped { failure: Failure { maybe_billed: false, ..failure }, until })
                }
            };
            if let Some(next) = next {
                inner.state = next;
            }
        });
    }

    fn open(&self, status: Option<u16>, pause: Duration, why: String, now: Instant) -> State {
        let (provider, host, seconds) = (self.provider, self.host.as_str(), pause.as_secs());
        tracing::warn!(provider, host, status, seconds, "the provider fails and is left alone");
        State::Open { until: now + pause, pause, why }
    }
}

impl Inner {
    /// The failure of a call that must not be made now; `None` if it may be.
    fn bar(&self, now: Instant) -> Option<Failure> {
        match &self.state {
            State::Closed(_) => None,
            State::Open { until, .. } if *until <= now && !self.probing => None,
            State::Open { until, why, .. } => {
                let seconds = until.saturating_duration_since(now).as_secs_f32().ceil();
                let message = format!("{why}; it is left alone and asked again in {seconds} s");
                Some(Failure::new(FailureKind::Unavailable, message))
            }
            State::Stopped { until: Some(until), .. } if *until <= now && !self.probing => None,
            State::Stopped { failure, .. } => Some(failure.clone()),
        }
    }
}

/// A call under way. If it is dropped without [`Pass::settle`], as a cancelled call is, it has shown nothing.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    circuit: &'a CircuitBreaker,
    probe: bool,
    shown: Shown,
}

impl Pass<'_> {
    /// Whether this call is the probe. A probe tries once, because more attempts would help nobody.
    pub(super) fn is_probe(&self) -> bool {
        self.probe
    }

    /// Ends the call with what it has shown.
    pub(super) fn settle(mut self, shown: Shown) {
        self.shown = shown;
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.circuit.settle(self.probe, std::mem::replace(&mut self.shown, Shown::Nothing));
    }
}

#[cfg(test)]
mod tests;
