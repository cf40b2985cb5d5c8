//! Who writes the contexts of a generation: its settings, its writer, and whether it is asked at present.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::report;
use super::writer::Writer;
use crate::config::Config;
use crate::llm::Health;

/// One generation's place; the plain one has the empty name.
pub(super) struct Seat {
    /// The configuration as this generation has it.
    pub(super) config: Arc<Config>,
    /// Asks the model, if one is configured.
    pub(super) writer: Option<Writer>,
    /// Why it could not be started.
    pub(super) no_writer: Option<String>,
    /// Nothing is asked for a while.
    pub(super) hold: Option<Hold>,
    /// Whether that was logged; forgotten when something is written.
    pub(super) hold_told: bool,
}

/// Nothing is asked until then.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) until: Instant,
    pub(super) why: String,
}

impl Seat {
    /// Whether the model may be asked now; a hold that is over is forgotten, one whose cause stands is prolonged.
    pub(super) fn is_free(&mut self, now: Instant, look_again: Duration) -> bool {
        let (Some(writer), Some(hold)) = (&self.writer, &mut self.hold) else { return true };
        if hold.until > now {
            return false;
        }
        if let Health::Stopped(_) = writer.asker.client.health() {
            hold.until = now + look_again;
            return false;
        }
        writer.asker.outcomes.try_again();
        self.hold = None;
        true
    }

    /// What keeps the model from being asked, with `waiting` notes to ask about.
    pub(super) fn problem(&self, waiting: usize) -> Option<String> {
        if let Some(why) = &self.no_writer {
            return Some(format!("contexts cannot be asked for: {why}"));
        }
        let writer = self.writer.as_ref()?;
        match writer.asker.client.health() {
            Health::Stopped(why) => return Some(format!("the model is not asked any more: {why}")),
            Health::Open(_, why) => return Some(format!("the model does not answer and is asked again soon: {why}")),
            Health::Good => {}
        }
        let hold = self.hold.as_ref().filter(|_| waiting > 0)?;
        Some(format!("{} ({waiting} notes wait)", hold.why))
    }
}

/// The configuration as a generation has it; `None` if there is none of that name.
pub(super) fn config_of(config: &Config, generation: &str) -> Option<Config> {
    Some(Config { context: config.context_of(generation)?.clone(), ..config.clone() })
}

/// A generation's name for people: the plain one is called `default`.
pub(super) fn shown(generation: &str) -> &str {
    if generation.is_empty() { report::DEFAULT_GENERATION } else { generation }
}
