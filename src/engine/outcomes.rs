//! What came of asking the model, counted since the daemon started.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::context::prompt::Form;
use crate::context::quality::Flaw;
use crate::llm::FailureKind;

/// Counters by name, as `stats` shows them.
#[derive(Debug, Default)]
pub(super) struct Outcomes(Mutex<BTreeMap<String, u64>>);

impl Outcomes {
    fn count(&self, name: String) {
        *self.counts().entry(name).or_default() += 1;
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
