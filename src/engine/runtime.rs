//! Who writes the contexts of a generation: its settings, its writer, and whether it is asked at present. Shared by the
//! indexers of all vaults that have this generation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::writer::Writer;
use crate::settings::Settings;
use provider::Health;

/// How often a provider that was stopped is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What writes the contexts of one generation; the plain one has the empty name.
pub(super) struct GenerationRuntime {
    /// The configuration as this generation has it.
    pub(super) config: Arc<Settings>,
    /// Asks the model, if one is configured.
    pub(super) writer: Option<Writer>,
    /// Why it could not be started.
    failure: Option<String>,
    hold: Mutex<Hold>,
}

/// Whether the model may be asked.
#[derive(Debug, Default)]
struct Hold {
    /// Nothing is asked until then, and why.
    until: Option<(Instant, String)>,
    /// Whether that was logged; forgotten when something is written.
    logged: bool,
}

impl GenerationRuntime {
    pub(super) fn new(config: Arc<Settings>, writer: Result<Option<Writer>, String>) -> Self {
        let (writer, failure) = match writer {
            Ok(writer) => (writer, None),
            Err(why) => (None, Some(why)),
        };
        GenerationRuntime { config, writer, failure, hold: Mutex::default() }
    }

    /// Other settings, the same writer, and no hold.
    pub(super) fn with_settings(&self, config: Arc<Settings>) -> Self {
        GenerationRuntime { config, writer: self.writer.clone(), failure: self.failure.clone(), hold: Mutex::default() }
    }

    /// Whether what was asked of the other is asked of this one too.
    pub(super) fn has_writer_of(&self, other: &GenerationRuntime) -> bool {
        match (&self.writer, &other.writer) {
            (Some(own), Some(other)) => own.is(other),
            (None, None) => true,
            _ => false,
        }
    }

    /// The same settings and nobody to ask.
    pub(super) fn without_writer(&self) -> Self {
        GenerationRuntime::new(self.config.clone(), Ok(None))
    }

    fn hold(&self) -> MutexGuard<'_, Hold> {
        self.hold.lock()
    }

    /// The writer, if the model may be asked now; a hold that is over is forgotten, one whose cause stands is prolonged.
    pub(super) fn free_writer(&self, now: Instant) -> Option<&Writer> {
        let writer = self.writer.as_ref()?;
        let mut hold = self.hold();
        if let Some((until, _)) = &mut hold.until {
            if *until > now {
                return None;
            }
            if let Health::Stopped(_) = writer.author.client.health() {
                *until = now + LOOK_AGAIN;
                return None;
            }
            hold.until = None;
            writer.author.outcomes.try_again();
        }
        Some(writer)
    }

    /// Nothing is asked until then.
    pub(super) fn hold_until(&self, until: Instant, why: String) {
        let mut hold = self.hold();
        if !hold.logged {
            tracing::warn!("no contexts are asked for meanwhile: {why}");
            hold.logged = true;
        }
        hold.until = Some((until, why));
    }

    /// When a provider that fails is asked again; `None` if it does not fail.
    pub(super) fn provider_returns(&self, now: Instant) -> Option<Instant> {
        match self.writer.as_ref()?.author.client.health() {
            Health::Open(wait, _) => Some(now + wait),
            Health::Stopped(_) => Some(now + LOOK_AGAIN),
            Health::Good => None,
        }
    }

    /// When a model is asked again whose answers are of no use.
    pub(super) fn useless_until(&self, now: Instant) -> Instant {
        let pause = self.writer.as_ref().map_or(Duration::ZERO, |writer| writer.author.outcomes.pause());
        now + pause
    }

    /// Until when nothing is asked.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.hold().until.as_ref().map(|(until, _)| *until)
    }

    /// Something was written: the next hold is news.
    pub(super) fn wrote(&self) {
        self.hold().logged = false;
    }

    /// The user says that it works again.
    pub(super) fn resume(&self) {
        self.hold().until = None;
        if let Some(writer) = &self.writer {
            writer.author.client.resume();
            writer.author.outcomes.resume();
        }
    }

    /// What keeps the model from being asked, with `waiting` notes to ask about.
    pub(super) fn problem(&self, waiting: usize) -> Option<String> {
        if let Some(why) = &self.failure {
            return Some(format!("contexts cannot be asked for: {why}"));
        }
        let writer = self.writer.as_ref()?;
        match writer.author.client.health() {
            Health::Stopped(why) => return Some(format!("the model is not asked any more: {why}")),
            Health::Open(wait, why) => {
                return Some(format!(
                    "the model does not answer and is asked again at {}: {why}",
                    crate::clock_in(wait)
                ));
            }
            Health::Good => {}
        }
        let hold = self.hold();
        let (until, why) = hold.until.as_ref().filter(|_| waiting > 0)?;
        let wait = until.saturating_duration_since(machine::now());
        // What waits for seconds, or goes on when a budget does, has no time that anybody could make use of.
        let again = if wait > LOOK_AGAIN && writer.author.outcomes.is_useless() {
            format!("; it is asked again at {}", crate::clock_in(wait))
        } else {
            String::new()
        };
        Some(format!("{why}{again} ({waiting} notes wait)"))
    }
}

/// The configuration as a generation has it; `None` if there is none of that name.
pub(super) fn config_of(config: &Settings, generation: &str) -> Option<Settings> {
    Some(Settings { context: config.context_of(generation)?.clone(), ..config.clone() })
}

/// A generation's name for people: the plain one is called `default`.
pub(super) fn shown(generation: &str) -> &str {
    if generation.is_empty() { protocol::generations::DEFAULT_GENERATION } else { generation }
}
