//! A simulated machine.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::oneshot;
use tokio::task::JoinError;

/// Work for another thread.
pub type PlayedWork = Box<dyn FnOnce() + Send>;

/// What replaces the real machine for a thread.
pub trait Machine {
    /// The monotonic clock.
    fn now(&self) -> Instant;

    /// The clock on the wall.
    fn timestamp(&self) -> Timestamp;

    /// Queues work that is to be run once so much time has passed.
    fn run_later(&self, name: &str, after: Duration, work: PlayedWork);

    /// Any number in `0.0..1.0`.
    fn random(&self) -> f64;

    /// Called when bytes went into a file.
    fn wrote(&self, path: &Path);

    /// Called when all that a file or folder holds is on the disk.
    fn synced(&self, path: &Path);
}

thread_local! {
    static MACHINE: RefCell<Option<Rc<dyn Machine>>> = const { RefCell::new(None) };
}

/// The simulated machine of this thread, if there is one.
#[must_use]
pub fn machine() -> Option<Rc<dyn Machine>> {
    // While the thread ends, nothing is simulated any more.
    MACHINE.try_with(|machine| machine.borrow().clone()).ok().flatten()
}

/// Simulates a machine on this thread; `None` ends that.
pub fn play(machine: Option<Rc<dyn Machine>>) {
    MACHINE.with(|place| *place.borrow_mut() = machine);
}

/// Queues work and waits for its result.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    let (done, result) = oneshot::channel();
    if let Some(machine) = machine() {
        // The future that waits may be dropped: the work is done all the same.
        let work = move || drop(done.send(work()));
        machine.run_later("blocking", Duration::ZERO, Box::new(work));
    }
    match result.await {
        Ok(value) => Ok(value),
        // The simulated process was killed, and the work dropped.
        Err(_) => std::future::pending().await,
    }
}
