//! What a process is given by its machine: the time, threads, and a disk that keeps what was synced.
//!
//! Who asks here, and not the system, can be played. With the feature `simulation`, which tests alone switch on, a thread
//! may put a `simulation::Machine` in the place of the real one: its time is virtual, and work that is for other
//! threads is queued and run on this one, in an order that a seed chooses. Without the feature nothing of that is
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

/// How long ago that was, by the monotonic clock.
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

/// The clock on the wall, where the user is.
#[inline]
#[must_use]
pub fn zoned() -> Zoned {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        return machine.timestamp().to_zoned(jiff::tz::TimeZone::UTC);
    }
    Zoned::now()
}

/// Has work done on a thread of its own.
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

/// Has work done later, in a simulation. Elsewhere there is nobody to do it: whoever asks has a thread of his own.
pub fn later(name: &str, after: Duration, work: impl FnOnce() + Send + 'static) {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        machine.run_later(name, after, Box::new(work));
        return;
    }
    debug_assert!(false, "`{name}` in {after:?} is for simulations");
    drop(work);
}

/// For how long a runtime keeps a thread that may block and has nothing to do. Each task wakes the one that has rested
/// longest, so that with tokio's ten seconds a request now and then keeps as many as a burst once started; to start one takes
/// some 50 µs.
pub const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Has work that blocks done where it keeps no task of the runtime waiting. It goes on if the future is dropped.
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

/// Bytes went into this file, or a folder has other files: the next moment may be the process's last.
#[inline]
pub fn wrote(path: &Path) {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        machine.wrote(path);
    }
    let _ = path;
}

/// All that this file or folder holds is on the disk.
#[inline]
pub fn synced(path: &Path) {
    #[cfg(feature = "simulation")]
    if let Some(machine) = simulation::machine() {
        machine.synced(path);
    }
    let _ = path;
}
