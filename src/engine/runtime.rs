//! What writes the contexts of a generation: its settings, its writer, and whether the model may be asked now. The
//! indexers of all vaults that have this generation share it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::consent::Terms;
use super::writer::Writer;
use crate::settings::Settings;
use provider::Health;

/// How often the health of a stopped provider is checked.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What writes the contexts of one generation; the plain one has the empty name.
pub(super) struct GenerationRuntime {
    /// The configuration with this generation's context settings.
    pub(super) config: Arc<Settings>,
    /// Asks the model, if one is configured.
    pub(super) writer: Option<Writer>,
    /// Why the writer could not be started.
    failure: Option<String>,
    hold: Mutex<Hold>,
}

/// Whether the model may be asked.
#[derive(Debug, Default)]
struct Hold {
    /// Until when nothing is asked, and why.
    until: Option<(Instant, String)>,
    /// Until when nothing is asked that the day's budget pays for, and why.
    day: Option<(Instant, String)>,
    /// Whether the hold was logged; reset when something is written.
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

    /// The terms that the user must agree to before the model is asked; `None` if no consent is needed.
    pub(super) fn terms(&self) -> Option<Terms> {
        let author = &self.writer.as_ref()?.author;
        Terms::of_contexts(&self.config.context, &author.model, author.client.leaves_to())
    }

    /// Whether both share one writer, so that requests to the other are requests to this one too.
    pub(super) fn has_writer_of(&self, other: &GenerationRuntime) -> bool {
        match (&self.writer, &other.writer) {
            (Some(own), Some(other)) => own.is(other),
            (None, None) => true,
            _ => false,
        }
    }

    /// The same settings without a writer.
    pub(super) fn without_writer(&self) -> Self {
        GenerationRuntime::new(self.config.clone(), Ok(None))
    }

    /// The writer, if the model may be asked now, whatever the day's budget allows. Clears a hold that is over, and
    /// extends it while the provider is stopped.
    pub(super) fn free_writer(&self, now: Instant) -> Option<&Writer> {
        let writer = self.writer.as_ref()?;
        let mut hold = self.hold.lock();
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
        hold.day.take_if(|(until, _)| *until <= now);
        Some(writer)
    }

    /// Holds all requests until then, or with `day` those that the day's budget pays for.
    pub(super) fn hold_until(&self, until: Instant, why: String, day: bool) {
        let mut hold = self.hold.lock();
        if !hold.logged {
            tracing::warn!("no contexts are asked for meanwhile: {why}");
            hold.logged = true;
        }
        *(if day { &mut hold.day } else { &mut hold.until }) = Some((until, why));
    }

    /// When a failing provider is asked again; `None` if it does not fail.
    pub(super) fn provider_returns(&self, now: Instant) -> Option<Instant> {
        match self.writer.as_ref()?.author.client.health() {
            Health::Open(wait, _) => Some(now + wait),
            Health::Stopped(_) => Some(now + LOOK_AGAIN),
            Health::Good => None,
        }
    }

    /// When a model whose answers are useless is asked again; `None` if it is being tried again already: a question may
    /// end after the user's word, or after the wait, with what it saw before.
    pub(super) fn useless_until(&self, now: Instant) -> Option<Instant> {
        let outcomes = &self.writer.as_ref()?.author.outcomes;
        outcomes.is_useless().then(|| now + outcomes.pause())
    }

    /// Until when nothing is asked; with `day` nothing that the day's budget pays for.
    pub(super) fn held_until(&self, day: bool) -> Option<Instant> {
        let hold = self.hold.lock();
        let holds = hold.until.iter().chain(hold.day.iter().filter(|_| day));
        holds.map(|(until, _)| *until).max()
    }

    /// Something was written, so the next hold is logged again.
    pub(super) fn wrote(&self) {
        self.hold.lock().logged = false;
    }

    /// Ends the hold: the user says that the model works again.
    pub(super) fn resume(&self) {
        self.hold.lock().until = None;
        self.hold.lock().day = None;
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
        if let Some(unasked) = crate::unasked("the model", "", writer.author.client.health()) {
            return Some(unasked);
        }
        let hold = self.hold.lock();
        let (until, why) = hold.until.as_ref().or(hold.day.as_ref()).filter(|_| waiting > 0)?;
        let wait = until.saturating_duration_since(machine::now());
        // A time is of no use to the user when the wait is seconds, or ends when a budget allows more.
        let again = if wait > LOOK_AGAIN && writer.author.outcomes.is_useless() {
            format!("; it is asked again at {}", crate::clock_in(wait))
        } else {
            String::new()
        };
        let waiting = if waiting == 1 { "1 note waits".to_owned() } else { format!("{waiting} notes wait") };
        Some(format!("{why}{again} ({waiting})"))
    }
}

/// The configuration with a generation's context settings; `None` if there is no generation of that name.
pub(super) fn config_of(config: &Settings, generation: &str) -> Option<Settings> {
    Some(Settings { context: config.context_of(generation)?.clone(), ..config.clone() })
}

/// A generation's name for people: the plain one is called `default`.
pub(super) fn shown(generation: &str) -> &str {
    if generation.is_empty() { protocol::generations::DEFAULT_GENERATION } else { generation }
}
