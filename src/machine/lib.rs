//! What a process gets from its machine: the time, threads, and a disk that keeps what was synced.
//!
//! Code that asks this crate instead of the system can run in a simulation. With the feature `simulation`, which only
//! tests switch on, a thread may replace the real machine by a `simulation::Machine`: its time is virtual, and work for
//! other threads is queued and run on this one, in an order that a seed chooses. Without the feature nothing of that is
//! compiled in.

#[cfg(feature = "simulation")]
pub mod simulation;

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::{Timestamp, Zoned};
use tokio::task::JoinError;

/// Whether this thread is part of a simulation.
#[inline]
#[must_use]
pub fn is_simulated() -> bool {
    #[cfg(feature = "simulation")]
    return simulation::machine().is_some();
    #[cfg(not(feature = "simulation"))]
    false
}

/// The monotonic clock.
#[inline]
#[must_use]
pub fn now() -> Instant {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        return machine.now();
    }
    Instant::now()
}

/// The time since `earlier`, by the monotonic clock.
#[inline]
#[must_use]
pub fn since(earlier: Instant) -> Duration {
    now().saturating_duration_since(earlier)
}

/// The clock on the wall.
#[inline]
#[must_use]
pub fn timestamp() -> Timestamp {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        return machine.timestamp();
    }
    Timestamp::now()
}

/// The clock on the wall, in the user's time zone.
#[inline]
#[must_use]
pub fn zoned() -> Zoned {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        return machine.timestamp().to_zoned(jiff::tz::TimeZone::UTC);
    }
    Zoned::now()
}

/// Runs work on its own thread.
///
/// # Errors
/// The system has no thread to give.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        machine.run_later(name, Duration::ZERO, Box::new(work));
        return Ok(());
    }
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Runs work later, in a simulation. Outside of one nobody would run it: there the caller has its own thread.
pub fn later(name: &str, after: Duration, work: impl FnOnce() + Send + 'static) {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        machine.run_later(name, after, Box::new(work));
        return;
    }
    debug_assert!(false, "`{name}` in {after:?} is for simulations");
    drop(work);
}

/// How long a runtime keeps an idle thread that may block. Each task wakes the thread that has been idle longest, so
/// that with tokio's ten seconds an occasional request keeps as many threads as a burst once started; starting one
/// takes some 50 µs.
pub const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Runs blocking work on a thread where it keeps no task of the runtime waiting. It goes on if the future is dropped.
///
/// # Errors
/// The work panicked, or the runtime ends.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    #[cfg(feature = "simulation")]
    if is_simulated() {
        return simulation::blocking(work).await;
    }
    tokio::task::spawn_blocking(work).await
}

/// Tells a simulation that bytes went into this file, or that a folder has other files: it may kill the process here.
#[inline]
pub fn wrote(path: &Path) {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        machine.wrote(path);
    }
    let _ = path;
}

/// Tells a simulation that all that this file or folder holds is on the disk.
#[inline]
pub fn synced(path: &Path) {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        machine.synced(path);
    }
    let _ = path;
}
