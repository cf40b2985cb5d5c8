//! What makes work wait: the user's pause, the battery, the memory. Saves go on under the latter two, and queries under
//! all three. All indexers share one throttle, and ask it before they work.
//!
//! Memory holds work back in three steps ([`MemoryLimits`]): bulk work goes on in small steps, then it waits, and then
//! no vault is opened. So the process stays within what the kernel or the user allows, however large a vault is: notes
//! that do not fit are not found yet, and `status` says so.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::EngineError;
use crate::host::power;
use crate::host::power::{ALL_WAITS, BULK_WAITS, Brake, Supply};
use crate::host::{MemoryLimits, give_memory_back, unbacked_bytes};
use crate::settings::HostConfig;

/// How often the throttle looks at the battery while work waits for it, or goes on.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// The same for the memory, which is quick to measure.
const MEASURE_EVERY: Duration = Duration::from_secs(5);

/// On battery the regular walk pauses this many times as long.
const SELDOM: u32 = 2;

/// The file in the data folder that remembers a pause.
const PAUSED: &str = "paused";

/// Until when work is paused, in milliseconds since 1970 (UTC): wall-clock time, since the pause also runs while the
/// machine sleeps. `None`: until it is resumed.
pub(super) type Until = Option<i64>;

/// The battery, the memory and the user's pause, as they were last looked at.
pub(super) struct Throttle {
    state: Mutex<State>,
    pause_file: PathBuf,
}

/// How far the memory in use is from its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Memory {
    /// Far.
    #[default]
    Ample,
    /// Work in bulk goes on in small steps.
    Tight,
    /// Work in bulk waits.
    Short,
}

#[derive(Debug)]
struct State {
    /// Where the system reports the battery.
    supplies: Option<PathBuf>,
    supply: Supply,
    looked_at: Option<Instant>,
    /// The user has said that work is to go on despite the battery. Mains resets this.
    insisted: bool,
    memory: Memory,
    measured_at: Option<Instant>,
    limits: MemoryLimits,
    paused: Option<Until>,
}

impl State {
    fn new(host: &HostConfig) -> Self {
        State {
            supplies: host.battery.clone(),
            supply: Supply::default(),
            looked_at: None,
            insisted: false,
            memory: Memory::default(),
            measured_at: None,
            limits: MemoryLimits::of(host),
            paused: None,
        }
    }

    /// What has to wait for the battery.
    fn battery_level(&self) -> Brake {
        if self.insisted { Brake::Off } else { self.supply.brake() }
    }

    /// What has to wait for the battery or for memory. The user cannot override the latter.
    fn level(&self) -> Brake {
        let memory = if self.memory == Memory::Short { Brake::All } else { Brake::Off };
        self.battery_level().max(memory)
    }

    /// The state of the memory if `taken` bytes are in use. A state that has begun ends a tenth below its limit.
    fn memory_at(&self, taken: u64) -> Memory {
        let above = |limit: u64, began: Memory| taken > if self.memory >= began { limit / 10 * 9 } else { limit };
        match () {
            () if above(self.limits.bulk_waits, Memory::Short) => Memory::Short,
            () if above(self.limits.small_steps, Memory::Tight) => Memory::Tight,
            () => Memory::Ample,
        }
    }

    /// Measures how much memory is in use; returns its state.
    fn measure(&mut self) -> Memory {
        // Only memory that no file backs counts: the system reclaims the rest by itself when others need it.
        let mut taken = unbacked_bytes();
        let before = self.memory;
        if self.memory_at(taken) > before {
            give_memory_back();
            taken = unbacked_bytes();
        }
        self.memory = self.memory_at(taken);
        self.measured_at = Some(machine::now());
        match self.memory {
            Memory::Tight if before < Memory::Tight => {
                let limit = self.limits.small_steps;
                tracing::info!(taken, limit, "memory is tight: work in bulk goes on in small steps");
            }
            Memory::Short if before < Memory::Short => {
                let limit = self.limits.bulk_waits;
                tracing::warn!(taken, limit, "memory is short: work in bulk waits, saves are indexed");
            }
            _ => {}
        }
        self.memory
    }

    fn look(&mut self, now: Instant) {
        let before = self.battery_level();
        self.supply = self.supplies.as_deref().map(power::supply).unwrap_or_default();
        self.looked_at = Some(now);
        self.insisted &= self.supply.on_battery;
        if self.battery_level() != before {
            tracing::info!(percent = self.supply.percent, "the battery decides what waits: {:?}", self.battery_level());
        }
    }
}

impl Throttle {
    /// With the limits of a configuration; a pause that an earlier process began goes on if it is not over.
    pub(super) fn new(host: &HostConfig, data_dir: &Path) -> Self {
        let throttle = Throttle { state: Mutex::new(State::new(host)), pause_file: data_dir.join(PAUSED) };
        throttle.recall_pause();
        throttle
    }

    /// Puts other limits in force.
    pub(super) fn configure(&self, host: &HostConfig) {
        let mut state = self.state.lock();
        *state = State { paused: state.paused, insisted: state.insisted, ..State::new(host) };
        // On mains the user's word is over.
        state.look(machine::now());
    }

    /// What has to wait.
    pub(super) fn level(&self) -> Brake {
        self.state.lock().level()
    }

    /// Whether everything but saves waits.
    pub(super) fn all_waits(&self) -> bool {
        let state = self.state.lock();
        state.paused.is_some() || state.level() == Brake::All
    }

    /// The user says that work is to go on.
    pub(super) fn insist(&self) {
        let mut state = self.state.lock();
        state.insisted = state.supply.on_battery;
    }

    /// Looks at the battery, and at the memory if it was short. Callers have work that could wait for them. A recent
    /// look is repeated only if the work has just begun.
    pub(super) fn look(&self, work_begins: bool) {
        let now = machine::now();
        let mut state = self.state.lock();
        let lately = |at: Option<Instant>, every| at.is_some_and(|at| now.saturating_duration_since(at) < every);
        if work_begins || !lately(state.looked_at, LOOK_EVERY) {
            state.look(now);
        }
        // If it is not short, the work itself measures it as it goes on; while it is short that work waits.
        if state.memory == Memory::Short && (work_begins || !lately(state.measured_at, MEASURE_EVERY)) {
            state.measure();
        }
    }

    /// When to look again at the battery, and at the memory if work waits for it.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let state = self.state.lock();
        let memory = state.measured_at.filter(|_| state.memory == Memory::Short).map(|at| at + MEASURE_EVERY);
        state.looked_at.map(|at| at + LOOK_EVERY).into_iter().chain(memory).min()
    }

    /// The regular walk's pause, which is longer on battery.
    pub(super) fn walk_pause(&self, plugged: Duration) -> Duration {
        let mut state = self.state.lock();
        state.look(machine::now());
        if state.supply.on_battery { plugged * SELDOM } else { plugged }
    }

    /// The state of the memory now. Callers ask before they begin work.
    pub(super) fn measure(&self) -> Memory {
        self.state.lock().measure()
    }

    /// Whether memory that was short no longer is. Work measures it, but perhaps there is none any more.
    pub(super) fn is_relieved(&self) -> bool {
        let mut state = self.state.lock();
        state.memory == Memory::Short && state.measure() != Memory::Short
    }

    /// Whether there is memory to open a vault with, so many bytes of it at once.
    ///
    /// # Errors
    /// [`EngineError::NoRoom`].
    pub(super) fn find_room(&self, bytes: u64) -> Result<(), EngineError> {
        let limit = self.state.lock().limits.opens;
        if unbacked_bytes().saturating_add(bytes) > limit { Err(self.no_room()) } else { Ok(()) }
    }

    /// The error if there is none.
    pub(super) fn no_room(&self) -> EngineError {
        EngineError::NoRoom(self.state.lock().limits.opens)
    }

    /// Why work waits; empty if none does. `kept` tells whether the battery or the memory keeps any waiting, `bulk`
    /// whether bulk work is queued.
    pub(super) fn waits(&self, kept: bool, bulk: bool) -> Vec<String> {
        let state = self.state.lock();
        let percent = state.supply.percent.unwrap_or(0);
        let battery = match state.battery_level() {
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
        let memory = match state.memory {
            Memory::Ample => None,
            Memory::Tight => Some(format!(
                "memory: above {} MiB (`host.memory`, or the unit's MemoryHigh or MemoryMax) work in bulk goes on in \
                 small steps",
                state.limits.small_steps >> 20
            )),
            Memory::Short => Some(format!(
                "paused: memory: above {} MiB (three quarters of `host.memory_max`, or of the unit's MemoryMax) saves are \
                 indexed and all other work waits, so notes may be missing: allow more, or `exclude` some of the vault",
                state.limits.bulk_waits >> 20
            )),
        };
        let by_memory = bulk || (kept && state.memory == Memory::Short);
        battery.filter(|_| kept).into_iter().chain(memory.filter(|_| by_memory)).collect()
    }

    /// Whether the user has paused all work.
    pub(super) fn is_paused(&self) -> bool {
        self.state.lock().paused.is_some()
    }

    /// When the pause ends, in seconds since 1970; 0 for a pause without an end.
    pub(super) fn paused_until(&self) -> Option<i64> {
        self.state.lock().paused.map(|until| until.map_or(0, |until| until / 1000))
    }

    /// How long the pause goes on; `None` if there is none, or it has no end.
    pub(super) fn pause_left(&self) -> Option<Duration> {
        let left = self.state.lock().paused??.saturating_sub(now_ms());
        Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    /// Pauses, or goes on, and remembers it: a pause outlives the daemon.
    pub(super) fn pause(&self, until: Option<Until>) {
        self.state.lock().paused = until;
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

#[cfg(test)]
mod tests;
