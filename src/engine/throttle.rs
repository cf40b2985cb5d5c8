//! What keeps work waiting although there is some: the user's pause, the battery, the memory. Saves go on under the
//! latter two, and queries under all. One throttle for all indexers, which ask it before they work.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::host::power;
use crate::host::power::{ALL_WAITS, BULK_WAITS, Brake, Supply};
use crate::host::{give_memory_back, memory_limit, unbacked_bytes};
use crate::settings::HostConfig;

/// How often the battery is looked at while work waits for it, or goes on.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// On battery the regular walk comes so much more seldom.
const SELDOM: u32 = 2;

/// The file in the data folder that remembers a pause.
const PAUSED: &str = "paused";

/// Until when work is paused, in milliseconds since 1970 (UTC): by the clock on the wall, for a machine that sleeps
/// meanwhile sleeps in the pause. `None`: until it is resumed.
pub(super) type Until = Option<i64>;

/// The battery, the memory and the user's pause, as they were last looked at.
pub(super) struct Throttle {
    state: Mutex<State>,
    pause_file: PathBuf,
}

#[derive(Debug, Default)]
struct State {
    /// Where the system tells of the battery.
    supplies: Option<PathBuf>,
    supply: Supply,
    looked_at: Option<Instant>,
    /// The user has said that work is to go on; until there is mains.
    insisted: bool,
    /// Whether more memory is taken than may be.
    tight: bool,
    limit: u64,
    paused: Option<Until>,
}

impl State {
    fn level(&self) -> Brake {
        if self.insisted { Brake::Off } else { self.supply.brake() }
    }

    fn look(&mut self, now: Instant) {
        let before = self.level();
        self.supply = self.supplies.as_deref().map(power::supply).unwrap_or_default();
        self.looked_at = Some(now);
        self.insisted &= self.supply.on_battery;
        if self.level() != before {
            tracing::info!(percent = self.supply.percent, "the battery decides what waits: {:?}", self.level());
        }
    }
}

impl Throttle {
    /// With the limits of a configuration; a pause that an earlier process began goes on if it is not over.
    pub(super) fn new(host: &HostConfig, data_dir: &Path) -> Self {
        let throttle = Throttle { state: Mutex::default(), pause_file: data_dir.join(PAUSED) };
        throttle.configure(host);
        throttle.recall_pause();
        throttle
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Other limits are in force.
    pub(super) fn configure(&self, host: &HostConfig) {
        let mut state = self.state();
        let limit = memory_limit(host.memory);
        *state = State { supplies: host.battery.clone(), limit, paused: state.paused, ..State::default() };
    }

    /// What has to wait.
    pub(super) fn level(&self) -> Brake {
        self.state().level()
    }

    /// Whether everything but saves waits.
    pub(super) fn all_waits(&self) -> bool {
        let state = self.state();
        state.paused.is_some() || state.level() == Brake::All
    }

    /// The user says that work is to go on.
    pub(super) fn insist(&self) {
        let mut state = self.state();
        state.insisted = state.supply.on_battery;
    }

    /// Looks at the battery: there is work that could wait for it. One that was looked at a moment ago is looked at
    /// again only if the work has just begun.
    pub(super) fn look(&self, work_begins: bool) {
        let now = machine::now();
        let mut state = self.state();
        let lately = state.looked_at.is_some_and(|at| now.saturating_duration_since(at) < LOOK_EVERY);
        if work_begins || !lately {
            state.look(now);
        }
    }

    /// When what waits for the battery is looked at again.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.state().looked_at.map(|at| at + LOOK_EVERY)
    }

    /// The regular walk's pause, which is longer on battery.
    pub(super) fn walk_pause(&self, plugged: Duration) -> Duration {
        let mut state = self.state();
        state.look(machine::now());
        if state.supply.on_battery { plugged * SELDOM } else { plugged }
    }

    /// Of `room` tasks those that fit into the memory: one at a time per worker when it is tight, which it returns too.
    pub(super) fn fitting(&self, room: usize, workers: usize) -> (usize, bool) {
        let mut state = self.state();
        // What a file backs the system takes away by itself when others need the memory.
        let taken = unbacked_bytes();
        let above = if state.tight { taken > state.limit / 10 * 9 } else { taken > state.limit };
        let begins = above && !state.tight;
        if begins {
            give_memory_back();
        }
        state.tight = above && (!begins || unbacked_bytes() > state.limit);
        if begins && state.tight {
            tracing::info!(taken, limit = state.limit, "memory is tight: work in bulk goes on in small steps");
        }
        (if state.tight { room.min(workers) } else { room }, state.tight)
    }

    /// Why work waits; empty if none does. `kept` tells whether the battery keeps any waiting, `bulk` whether there is
    /// any in bulk.
    pub(super) fn waits(&self, kept: bool, bulk: bool) -> Vec<String> {
        let state = self.state();
        let percent = state.supply.percent.unwrap_or(0);
        let battery = match state.level() {
            Brake::Bulk => Some(format!(
                "paused: battery at {percent} %; saves are indexed, work in bulk waits for mains or {BULK_WAITS} % \
                 (`situated resume` does not wait)"
            )),
            Brake::All => Some(format!(
                "paused: battery at {percent} %; saves are indexed, all other work waits for mains or {ALL_WAITS} % \
                 (`situated resume` does not wait)"
            )),
            Brake::Off => None,
        };
        let memory = format!(
            "memory: above {} MiB (`host.memory`, or the unit's MemoryHigh or MemoryMax) work in bulk goes on in small steps",
            state.limit >> 20
        );
        battery.filter(|_| kept).into_iter().chain((state.tight && bulk).then_some(memory)).collect()
    }

    /// Whether the user has paused all work.
    pub(super) fn is_paused(&self) -> bool {
        self.state().paused.is_some()
    }

    /// Until when, in seconds since 1970; 0 for a pause without an end.
    pub(super) fn paused_until(&self) -> Option<i64> {
        self.state().paused.map(|until| until.map_or(0, |until| until / 1000))
    }

    /// How long the pause goes on; `None` if there is none, or it has no end.
    pub(super) fn pause_left(&self) -> Option<Duration> {
        let left = self.state().paused??.saturating_sub(now_ms());
        Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    /// Pauses, or goes on, and remembers it: a pause outlives the daemon.
    pub(super) fn pause(&self, until: Option<Until>) {
        self.state().paused = until;
        let done = match until {
            Some(until) => std::fs::write(&self.pause_file, format!("{}\n", until.unwrap_or(0))),
            None => std::fs::remove_file(&self.pause_file),
        };
        match done {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, "a restart will not know of this pause");
            }
            _ => {}
        }
    }

    fn recall_pause(&self) {
        let Ok(text) = std::fs::read_to_string(&self.pause_file) else { return };
        let until = text.trim().parse::<i64>().ok().map(|until| (until > 0).then_some(until));
        self.pause(until.filter(|until| until.is_none_or(|until| until > now_ms())));
    }
}

/// Milliseconds since 1970 (UTC).
pub(super) fn now_ms() -> i64 {
    machine::timestamp().as_millisecond()
}
