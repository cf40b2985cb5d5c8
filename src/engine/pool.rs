//! Worker threads that decide about notes side by side, for all vaults. They run at low priority: a save that is waited
//! for is decided on its indexer's own thread. They never wait for a vault's file system: they get notes that have been
//! read already.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use parking_lot::Mutex;

use super::decide::{NotePipeline, Outcome, ReadNote, Task};
use super::now_s;
use crate::host;

/// Receives the outcome of a task.
pub(super) type Answer = Box<dyn FnOnce(Outcome) + Send>;

/// A note to be read and decided about.
pub(super) struct Errand {
    pub(super) pipeline: Arc<NotePipeline>,
    pub(super) task: Task,
    pub(super) answer: Answer,
}

/// The workers. They end when the last handle is dropped and their queue is empty.
#[derive(Clone)]
pub(super) struct Pool {
    errands: Sender<(Errand, ReadNote)>,
    size: usize,
}

impl Pool {
    /// Starts the workers.
    pub(super) fn start() -> std::io::Result<Self> {
        let size = std::thread::available_parallelism().map_or(1, usize::from);
        let (errands, queue) = mpsc::channel();
        if machine::is_simulated() {
            // The size is the same on every machine, and each errand runs as its own thread.
            return Ok(Pool { errands, size: 2 });
        }
        let queue = Arc::new(Mutex::new(queue));
        for i in 0..size {
            let queue = queue.clone();
            machine::spawn(&format!("decide-{i}"), move || {
                host::background_thread();
                while let Some((errand, read)) = next(&queue) {
                    errand.carry_out(read);
                }
            })?;
        }
        Ok(Pool { errands, size })
    }

    /// How many work side by side.
    pub(super) fn workers(&self) -> usize {
        self.size
    }

    /// How many errands of one vault keep all workers busy without piling results up.
    pub(super) fn room(&self) -> usize {
        self.size * 24
    }

    pub(super) fn send(&self, errand: Errand, read: ReadNote) {
        if machine::is_simulated() {
            let _ = machine::spawn("decide", move || errand.carry_out(read));
            return;
        }
        // Workers end only when the pool is dropped.
        let _ = self.errands.send((errand, read));
    }
}

impl Errand {
    fn carry_out(self, read: ReadNote) {
        let Errand { pipeline, task, answer } = self;
        answer(look(&pipeline, &task, read));
    }
}

fn next<T>(queue: &Mutex<Receiver<T>>) -> Option<T> {
    queue.lock().recv().ok()
}

/// Decides about a note, and survives a panic: a note that makes a parser panic is only skipped.
pub(super) fn look(pipeline: &NotePipeline, task: &Task, read: ReadNote) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| pipeline.look(task, read, now_s()))).unwrap_or_else(|_| {
        tracing::error!(path = %task.path, "reading this note failed inside; it is skipped. Please report it");
        Outcome::Skipped("reading it failed inside the program (a bug; please report it)".to_owned())
    })
}
