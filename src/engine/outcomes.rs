//! What came of asking the model, counted since the daemon started.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::interrupted::Interrupted;
use context::prompt::Form;
use context::quality::Flaw;
use provider::FailureKind;

/// Answers without a single usable context, in a row, after which a model is left alone for a while: three about each
/// of four notes of one chunk.
const MOST_USELESS: u32 = 12;

/// At least this many of them must be about single passages: a model that cannot answer about a whole note at once may
/// still be of use.
const LEAST_OF_PASSAGES: u32 = 4;

/// After this many more such answers the model is left alone again: one note with all its forms.
const USELESS_AGAIN: u32 = 6;

/// How long it is left alone at first; each time that it is of no use again doubles the pause.
const FIRST_PAUSE: Duration = Duration::from_mins(5);

/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// The counter of contexts that are shorter or longer than asked for.
const OTHER_LENGTH: &str = "other_length";

/// Counters by name, as `stats` shows them, and how the last answers were.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    counts: Mutex<BTreeMap<String, u64>>,
    useless: Mutex<Useless>,
}

/// Answers in a row of which nothing could be used.
#[derive(Debug, Default)]
struct Useless {
    answers: u32,
    /// Of them, those about single passages.
    of_passages: u32,
    /// How often the model was tried again after a pause, so far in vain.
    trials: u32,
    /// What the provider said last, if it refused the question.
    refusal: Option<String>,
}

impl Useless {
    fn is_enough(&self) -> bool {
        self.answers >= MOST_USELESS && self.of_passages >= LEAST_OF_PASSAGES
    }
}

impl Outcomes {
    /// An answer was judged: whether anything in it could be used.
    pub(super) fn answered(&self, form: Form, useful: bool) {
        let mut useless = self.useless.lock();
        if useful {
            *useless = Useless::default();
        } else {
            useless.answers = useless.answers.saturating_add(1);
            useless.of_passages = useless.of_passages.saturating_add(u32::from(form != Form::Note));
            useless.refusal = None;
        }
    }

    /// The provider refused a question for what it is, and said why: nothing in that could be used either.
    pub(super) fn refused(&self, form: Form, why: String) {
        self.answered(form, false);
        let mut useless = self.useless.lock();
        if useless.answers == 1 {
            tracing::warn!("the provider refuses a question: {why}");
        }
        useless.refusal = Some(why);
    }

    /// Why the model is better left alone, if it has given nothing usable for long.
    pub(super) fn useless(&self) -> Option<Interrupted> {
        let useless = self.useless.lock();
        useless.is_enough().then(|| Interrupted::Useless(useless.refusal.clone()))
    }

    /// Whether the model has given nothing usable for so long that it is better left alone.
    pub(super) fn is_useless(&self) -> bool {
        self.useless().is_some()
    }

    /// How long a model that is of no use is left alone.
    pub(super) fn pause(&self) -> Duration {
        let doublings = self.useless.lock().trials.min(16);
        FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE)
    }

    /// A model that was left alone is asked again, for a few answers about one note.
    pub(super) fn try_again(&self) {
        let mut useless = self.useless.lock();
        if useless.is_enough() {
            useless.answers = MOST_USELESS - USELESS_AGAIN;
            useless.trials = useless.trials.saturating_add(1);
        }
    }

    /// Whether a model that was of no use is being tried, and has not been of use yet.
    pub(super) fn is_on_trial(&self) -> bool {
        self.useless.lock().trials > 0
    }

    /// The user says that it is worth asking again.
    pub(super) fn resume(&self) {
        self.try_again();
        // Longer pauses are for trials that the user did not ask for.
        let mut useless = self.useless.lock();
        useless.trials = useless.trials.min(1);
    }

    fn count(&self, name: String) {
        *self.counts.lock().entry(name).or_default() += 1;
    }

    /// A context was taken.
    pub(super) fn taken(&self, form: Form, weak: bool) {
        self.count(format!("taken_{}", <&str>::from(form)));
        if weak {
            self.count("weak".to_owned());
        }
    }

    /// Counts a context that was taken and has fewer or more words than were asked for; a process logs this only once.
    pub(super) fn other_length(&self) {
        if !self.counts.lock().contains_key(OTHER_LENGTH) {
            tracing::warn!(
                "a context is shorter or longer than asked for, and counts as poorer; `situated stats` counts them"
            );
        }
        self.count(OTHER_LENGTH.to_owned());
    }

    /// A context was rejected.
    pub(super) fn rejected(&self, flaw: Flaw) {
        self.count(format!("rejected_{}", <&str>::from(flaw)));
    }

    /// A call failed.
    pub(super) fn failed(&self, kind: FailureKind) {
        self.count(format!("failed_{}", <&str>::from(kind)));
    }

    /// The template stays, after all tries.
    pub(super) fn gave_up(&self) {
        self.count("fell_back_to_template".to_owned());
    }

    /// All counters.
    pub(super) fn all(&self) -> BTreeMap<String, u64> {
        self.counts.lock().clone()
    }
}

#[cfg(test)]
mod tests;
