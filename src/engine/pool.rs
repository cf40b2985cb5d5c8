//! Worker threads that decide about notes side by side. They run at low priority: a save that is waited for
//! is decided on the engine's own thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use super::decide::{Desk, Outcome, Task};
use super::now_s;
use crate::sandbox;

/// A task on its way to a worker and back.
pub(super) struct Errand {
    pub(super) vault: u64,
    pub(super) batch: u64,
    /// Tells a result that was overtaken by a newer look at the same note.
    pub(super) ticket: u64,
    pub(super) desk: Arc<Desk>,
    pub(super) task: Task,
}

/// The workers. Dropping it lets them finish what they hold.
pub(super) struct Pool {
    errands: Sender<Errand>,
    size: usize,
}

impl Pool {
    /// Starts the workers; each result is handed to `done`.
    pub(super) fn start(done: impl Fn(Errand, Outcome) + Send + Clone + 'static) -> std::io::Result<Self> {
        let size = std::thread::available_parallelism().map_or(1, usize::from);
        let (errands, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        for i in 0..size {
            let (queue, done) = (queue.clone(), done.clone());
            std::thread::Builder::new().name(format!("decide-{i}")).spawn(move || {
                sandbox::background_thread();
                while let Some(errand) = next(&queue) {
                    let outcome = look(&errand.desk, &errand.task);
                    done(errand, outcome);
                }
            })?;
        }
        Ok(Pool { errands, size })
    }

    /// How many work side by side.
    pub(super) fn workers(&self) -> usize {
        self.size
    }

    /// How many errands keep all workers busy without piling results up.
    pub(super) fn room(&self) -> usize {
        self.size * 24
    }

    pub(super) fn send(&self, errand: Errand) {
        // Workers end only when the pool is dropped.
        let _ = self.errands.send(errand);
    }
}

fn next(queue: &Mutex<Receiver<Errand>>) -> Option<Errand> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Decides, and survives what should not happen: a note that makes a parser panic is skipped, no more.
pub(super) fn look(desk: &Desk, task: &Task) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| desk.look(task, now_s()))).unwrap_or_else(|_| {
        tracing::error!(path = %task.path, "reading this note failed inside; it is skipped. Please report it");
        Outcome::Skipped("reading it failed inside the program (a bug; please report it)".to_owned())
    })
}
