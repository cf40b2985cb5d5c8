//! What follows from an attempt that failed. Pure: decisions only, times are arguments.

use std::time::Duration;

use super::key::Key;
use super::wire::{Field, Refusal, RefusalKind};
use super::{Failure, FailureKind};

/// Most attempts of one call. Those that leave out a refused field or take a new key are not counted.
pub(super) const MOST_ATTEMPTS: u32 = 4;

/// Most fields that one call leaves out: a server that refuses more of them speaks another language.
pub(super) const MOST_FIELDS: usize = 4;

/// Longest pause before the second attempt; it doubles before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Longest pause before any attempt, unless the provider asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Why an attempt has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// What to do about it.
    pub(super) next: Next,
    /// The status that came, if one did.
    pub(super) status: Option<u16>,
    /// What happened, for the user, without the provider's name.
    pub(super) message: String,
    /// Whether the provider may have counted the attempt: it was sent, and what came back is no refusal.
    pub(super) maybe_billed: bool,
}

/// What to do about an attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The same again, not before `after` if the provider names a time. `busy`: also with fewer calls at once.
    Again { after: Option<Duration>, busy: bool },
    /// At once, without this field.
    Without(Field),
    /// At once, if there is another key by now.
    AnotherKey,
    /// Nothing; the call ends.
    Never(FailureKind),
}

impl Fault {
    /// The attempt failed on the way; `sent` tells whether the request, or a part of it, may have arrived.
    pub(super) fn on_the_way(message: String, sent: bool) -> Self {
        Fault { next: Next::Again { after: None, busy: false }, status: None, message, maybe_billed: sent }
    }

    /// An answer came, but it broke off or cannot be understood.
    pub(super) fn broken(status: u16, message: String) -> Self {
        Fault {
            next: Next::Again { after: None, busy: false },
            status: Some(status),
            message,
            maybe_billed: (200..300).contains(&status),
        }
    }

    /// No answer came in time. That counts as busy, because a server with its own queue has no other way to say so.
    pub(super) fn late(limit: Duration) -> Self {
        let message = format!("no answer within {:.0} s", limit.as_secs_f32());
        Fault { next: Next::Again { after: None, busy: true }, status: None, message, maybe_billed: true }
    }

    /// The attempt ended in a way that no retry mends.
    pub(super) fn never(failure: Failure) -> Self {
        Fault {
            next: Next::Never(failure.kind),
            status: None,
            message: failure.message,
            maybe_billed: failure.maybe_billed,
        }
    }

    /// The same without the key: some servers quote a key that they refuse.
    pub(super) fn without_key(self, key: Option<&Key>) -> Self {
        match key {
            Some(key) => Fault { message: key.kept_from(&self.message), ..self },
            None => self,
        }
    }

    /// The provider refused the attempt.
    pub(super) fn refused(status: u16, refusal: Refusal) -> Self {
        let Refusal { kind, retry_after: after, field, message } = refusal;
        let next = match (kind, field) {
            (RefusalKind::Transient, _) => Next::Again { after, busy: false },
            (RefusalKind::Overloaded, _) => Next::Again { after, busy: true },
            (RefusalKind::Unauthorized, _) => Next::AnotherKey,
            (RefusalKind::UnknownModel, _) => Next::Never(FailureKind::UnknownModel),
            (RefusalKind::SpendLimit, _) => Next::Never(FailureKind::SpendLimit),
            (RefusalKind::TooLong, _) => Next::Never(FailureKind::TooLong),
            (RefusalKind::UnsupportedField, Some(field)) => Next::Without(field),
            (RefusalKind::UnsupportedField, None) | (RefusalKind::Rejected, _) => Next::Never(FailureKind::Rejected),
        };
        // A gateway that timed out has passed the request on.
        let maybe_billed = matches!(status, 408 | 504 | 524);
        Fault { next, status: Some(status), message, maybe_billed }
    }
}

/// How long to pause after this many attempts, or `None` to give up: there were enough of them, or the pause would not
/// end within the time that is `left`. `random` is in `0.0..1.0`.
///
/// The jitter is full (anything from nothing to the whole pause), which spreads callers that failed together best.
pub(super) fn pause(attempts: u32, after: Option<Duration>, random: f64, left: Duration) -> Option<Duration> {
    if attempts >= MOST_ATTEMPTS {
        return None;
    }
    let whole = FIRST_PAUSE.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(LONGEST_PAUSE);
    let pause = after.unwrap_or_else(|| whole.mul_f64(random.clamp(0.0, 1.0)));
    (pause < left).then_some(pause)
}

/// A random number in `0.0..1.0`. Good enough to spread callers; the standard library's hasher is seeded by the system.
pub(super) fn random() -> f64 {
    #[cfg(feature = "simulation")]
    if let Some(machine) = machine::simulation::machine() {
        return machine.random();
    }
    use std::hash::{BuildHasher as _, Hasher as _};
    let bits = std::hash::RandomState::new().build_hasher().finish();
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests;
