//! A machine that is played.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::oneshot;
use tokio::task::JoinError;

/// Work that is for another thread.
pub type PlayedWork = Box<dyn FnOnce() + Send>;

/// What a thread is given instead of the real machine.
pub trait Machine {
    /// The monotonic clock.
    fn now(&self) -> Instant;

    /// The clock on the wall.
    fn timestamp(&self) -> Timestamp;

    /// Keeps work that is to be run once so much time has passed.
    fn run_later(&self, name: &str, after: Duration, work: PlayedWork);

    /// Any number in `0.0..1.0`.
    fn random(&self) -> f64;

    /// Bytes went into a file.
    fn wrote(&self, path: &Path);

    /// All that a file or folder holds is on the disk.
    fn synced(&self, path: &Path);
}

thread_local! {
    static MACHINE: RefCell<Option<Rc<dyn Machine>>> = const { RefCell::new(None) };
}

/// What this thread is given instead of the real machine.
#[must_use]
pub fn machine() -> Option<Rc<dyn Machine>> {
    // While the thread ends there is nothing to play any more.
    MACHINE.try_with(|machine| machine.borrow().clone()).ok().flatten()
}

/// Plays a machine on this thread, or with `None` no more.
pub fn play(machine: Option<Rc<dyn Machine>>) {
    MACHINE.with(|place| *place.borrow_mut() = machine);
}

/// Queues work and waits until it was run.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    let (done, result) = oneshot::channel();
    if let Some(machine) = machine() {
        // Whoever waits may be gone: the work is done all the same.
        let work = move || drop(done.send(work()));
        machine.run_later("blocking", Duration::ZERO, Box::new(work));
    }
    match result.await {
        Ok(value) => Ok(value),
        // The process was killed.
        Err(_) => std::future::pending().await,
    }
}
