//! What keeps work waiting although there is some: the user's pause, the battery, the memory. Saves go on under the
//! latter two, and queries under all.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::keeper::{AT_ONCE, Keeper};
use super::{Loop, Shared, Task};
use crate::config::HostConfig;
use crate::plan::Trigger;
use crate::sandbox::power::{self, ALL_WAITS, BULK_WAITS, Brake, Supply};
use crate::sandbox::{give_memory_back, memory_limit, resident_bytes};

/// How often the battery is looked at while work waits for it, or goes on.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// On battery the regular walk comes so much more seldom.
const SELDOM: u32 = 2;

/// The file in the data folder that remembers a pause.
const PAUSED: &str = "paused";

/// Until when work is paused, in milliseconds since 1970 (UTC): by the clock on the wall, for a machine that sleeps
/// meanwhile sleeps in the pause. `None`: until it is resumed.
pub(super) type Until = Option<i64>;

/// The battery and the memory, as they were last looked at.
#[derive(Debug, Default)]
pub(super) struct Brakes {
    supply: Supply,
    looked_at: Option<Instant>,
    /// The user has said that work is to go on; until there is mains.
    insisted: bool,
    /// Whether there was work that could wait when it was last asked.
    busy: bool,
    /// Whether more memory is taken than may be.
    tight: bool,
    limit: u64,
}

impl Brakes {
    /// With the limits of a configuration.
    pub(super) fn new(host: &HostConfig) -> Self {
        Brakes { limit: memory_limit(host.memory), ..Brakes::default() }
    }

    /// What has to wait.
    pub(super) fn level(&self) -> Brake {
        if self.insisted { Brake::Off } else { self.supply.brake() }
    }

    /// The user says that work is to go on.
    pub(super) fn insist(&mut self) {
        self.insisted = self.supply.on_battery;
    }

    /// Looks at the battery, unless that was done a moment ago.
    fn look(&mut self, host: &HostConfig, now: Instant) {
        if self.looked_at.is_some_and(|at| now.saturating_duration_since(at) < LOOK_EVERY) {
            return;
        }
        self.look_now(host, now);
    }

    fn look_now(&mut self, host: &HostConfig, now: Instant) {
        let before = self.level();
        self.supply = host.battery.as_deref().map(power::supply).unwrap_or_default();
        self.looked_at = Some(now);
        self.insisted &= self.supply.on_battery;
        if self.level() != before {
            tracing::info!(percent = self.supply.percent, "the battery decides what waits: {:?}", self.level());
        }
    }

    /// Of `room` tasks those that fit into the memory; one at a time per worker when it is tight.
    fn fitting(&mut self, room: usize, workers: usize) -> (usize, bool) {
        let resident = resident_bytes();
        let above = if self.tight { resident > self.limit / 10 * 9 } else { resident > self.limit };
        let begins = above && !self.tight;
        if begins {
            give_memory_back();
        }
        self.tight = above && (!begins || resident_bytes() > self.limit);
        if begins && self.tight {
            tracing::info!(resident, limit = self.limit, "memory is tight: work in bulk goes on in small steps");
        }
        (if self.tight { room.min(workers) } else { room }, begins && self.tight)
    }
}

impl Loop {
    /// Looks at the battery if there is work that could wait for it: while the daemon rests nobody reads anything.
    pub(super) fn look_at_battery(&mut self) {
        let busy = self.keepers.values().any(Keeper::has_work);
        let before = std::mem::replace(&mut self.brakes.busy, busy);
        let config = self.shared.config.load();
        match (before, busy) {
            (false, true) => self.brakes.look_now(&config.host, Instant::now()),
            (true, true) => self.brakes.look(&config.host, Instant::now()),
            (_, false) => {}
        }
    }

    /// How many tasks may be handed out, with a look at the memory. Called when there are some.
    pub(super) fn room(&mut self, room: usize) -> usize {
        let (room, tight) = self.brakes.fitting(room, self.pool.workers());
        if tight {
            // The words of a bulk are gathered in memory; a note at a time they are not.
            self.keepers.values_mut().for_each(|keeper| keeper.bulk(false));
            give_memory_back();
        }
        room
    }

    /// The regular walk's pause, which is longer on battery.
    pub(super) fn walk_pause(&mut self, plugged: Duration) -> Duration {
        let config = self.shared.config.load();
        self.brakes.look_now(&config.host, Instant::now());
        if self.brakes.supply.on_battery { plugged * SELDOM } else { plugged }
    }

    /// Whether everything but saves waits.
    pub(super) fn all_waits(&self) -> bool {
        self.paused.is_some() || self.brakes.level() == Brake::All
    }

    /// When what waits for the battery is looked at again.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let level = self.brakes.level();
        let waits = self.keepers.values().any(|keeper| keeper.is_kept(level));
        self.brakes.looked_at.filter(|_| waits).map(|at| at + LOOK_EVERY)
    }

    /// Why work waits; empty if none does.
    pub(super) fn waits(&self) -> Vec<String> {
        let Brakes { supply, limit, tight, .. } = &self.brakes;
        let level = self.brakes.level();
        let kept = self.keepers.values().any(|keeper| keeper.is_kept(level));
        let bulk = self.keepers.values().any(|keeper| !keeper.queue.is_empty());
        let percent = supply.percent.unwrap_or(0);
        let battery = match level {
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
            "memory: above {} MiB (`host.memory`, or the unit's MemoryHigh) work in bulk goes on in small steps",
            limit >> 20
        );
        battery.filter(|_| kept).into_iter().chain((*tight && bulk).then_some(memory)).collect()
    }

    /// Pauses, or goes on, and remembers it: a pause outlives the daemon.
    pub(super) fn pause(&mut self, until: Option<Until>) {
        self.paused = until;
        *self.shared.paused.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = until;
        let path = paused_file(&self.shared);
        let done = match until {
            Some(until) => std::fs::write(&path, format!("{}\n", until.unwrap_or(0))),
            None => std::fs::remove_file(&path),
        };
        match done {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, "a restart will not know of this pause");
            }
            _ => {}
        }
    }

    /// A pause that an earlier process was told of, if it is not over.
    pub(super) fn recall_pause(&mut self) {
        let Ok(text) = std::fs::read_to_string(paused_file(&self.shared)) else { return };
        let until = text.trim().parse::<i64>().ok().map(|until| (until > 0).then_some(until));
        self.pause(until.filter(|until| until.is_none_or(|until| until > now_ms())));
    }

    /// How long the pause goes on; `None` if there is none, or it has no end.
    pub(super) fn pause_left(&self) -> Option<Duration> {
        let left = self.paused??.saturating_sub(now_ms());
        Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }
}

impl Shared {
    /// Seconds since 1970; 0 for a pause without an end.
    pub(super) fn paused_until(&self) -> Option<i64> {
        let until = *self.paused.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        until.map(|until| until.map_or(0, |until| until / 1000))
    }

    /// Why work waits.
    pub(super) fn waits(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.waits.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Keeper {
    /// Whether there is work that no save waits for.
    pub(super) fn has_work(&self) -> bool {
        let idle = self.queue.is_empty() && self.in_flight.is_empty() && self.contexts.queue.len() == 0;
        !idle || self.switch.is_some() || self.waiting_for_vectors() > 0
    }

    /// Whether the battery keeps any of it waiting.
    fn is_kept(&self, level: Brake) -> bool {
        match level {
            Brake::Off => false,
            Brake::Bulk => self.switch.is_some() || self.queue.iter().any(|task| !self.may(task, level)),
            Brake::All => self.has_work(),
        }
    }

    /// Whether a task need not wait.
    fn may(&self, (batch, task): &(u64, Task), level: Brake) -> bool {
        let small = || self.batches.get(batch).is_none_or(|batch| batch.size <= AT_ONCE);
        match level {
            Brake::Off => true,
            // What is new on the disk is indexed; what is made anew waits.
            Brake::Bulk => (task.trigger == Trigger::Save && !task.again) || small(),
            Brake::All => small(),
        }
    }

    /// Takes the next task out of the queue that does not have to wait.
    pub(super) fn next_task(&mut self, level: Brake) -> Option<(u64, Task)> {
        let at = self.queue.iter().position(|task| self.may(task, level))?;
        self.queue.remove(at)
    }
}

fn paused_file(shared: &Shared) -> PathBuf {
    Path::new(&shared.config.load().data_dir).join(PAUSED)
}

/// Milliseconds since 1970 (UTC).
pub(super) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
