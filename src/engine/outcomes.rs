//! What came of asking the model, counted since the daemon started.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use context::prompt::Form;
use context::quality::Flaw;
use provider::FailureKind;

/// Answers without a single usable context, in a row, after which a model is left alone for a while.
pub(super) const MOST_USELESS: u32 = 30;

/// As many of them after that leave it alone once more.
const USELESS_AGAIN: u32 = 6;

/// The counter of contexts that are shorter or longer than asked for.
const OTHER_LENGTH: &str = "other_length";

/// Counters by name, as `stats` shows them, and how the last answers were.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    counts: Mutex<BTreeMap<String, u64>>,
    /// Answers in a row of which nothing could be used.
    useless: AtomicU32,
}

impl Outcomes {
    /// An answer was judged: whether anything in it could be used.
    pub(super) fn answered(&self, useful: bool) {
        if useful {
            self.useless.store(0, Ordering::Relaxed);
        } else {
            self.useless.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the model has given nothing usable for so long that it is better left alone.
    pub(super) fn is_useless(&self) -> bool {
        self.useless.load(Ordering::Relaxed) >= MOST_USELESS
    }

    /// A model that was left alone is asked again, for a few answers.
    pub(super) fn try_again(&self) {
        self.useless.fetch_min(MOST_USELESS - USELESS_AGAIN, Ordering::Relaxed);
    }

    fn count(&self, name: String) {
        *self.counts().entry(name).or_default() += 1;
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.counts.lock()
    }

    /// A context was taken.
    pub(super) fn taken(&self, form: Form, weak: bool) {
        let form = match form {
            Form::Note => "note",
            Form::Chunk => "chunk",
            Form::Simple => "simple",
        };
        self.count(format!("taken_{form}"));
        if weak {
            self.count("weak".to_owned());
        }
    }

    /// A context that was taken has fewer or more words than were asked for: told once in the log of a process.
    pub(super) fn other_length(&self) {
        if !self.counts().contains_key(OTHER_LENGTH) {
            tracing::warn!(
                "a context is shorter or longer than asked for, and counts as poorer; `situated stats` counts them"
            );
        }
        self.count(OTHER_LENGTH.to_owned());
    }

    /// A context was rejected.
    pub(super) fn rejected(&self, flaw: Flaw) {
        // The names of the wire, as serde has them.
        let name = serde_json::to_value(flaw).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
        self.count(format!("rejected_{name}"));
    }

    /// A call failed.
    pub(super) fn failed(&self, kind: FailureKind) {
        let name = match kind {
            FailureKind::Unauthorized => "unauthorized",
            FailureKind::UnknownModel => "unknown_model",
            FailureKind::SpendLimit => "spend_limit",
            FailureKind::TooLong => "too_long",
            FailureKind::Rejected => "refused",
            FailureKind::Unavailable => "unavailable",
            FailureKind::Cancelled => "cancelled",
        };
        self.count(format!("failed_{name}"));
    }

    /// The template stays, after all tries.
    pub(super) fn gave_up(&self) {
        self.count("fell_back_to_template".to_owned());
    }

    /// All counters.
    pub(super) fn all(&self) -> BTreeMap<String, u64> {
        self.counts().clone()
    }
}

#[cfg(test)]
mod tests;
