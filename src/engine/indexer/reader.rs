//! Reads the notes of one vault that are decided about in bulk, on a thread of its own: a file system that hangs keeps
//! this thread, and no worker that other vaults need.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use super::disk::Disk;
use crate::engine::decide::{Desk, Task, read_note};
use crate::engine::pool::{Answer, Errand, Pool};
use crate::sandbox;

/// A note to be read and decided about.
pub(in crate::engine) struct Assignment {
    pub(in crate::engine) desk: Arc<Desk>,
    pub(in crate::engine) task: Task,
    pub(in crate::engine) answer: Answer,
}

/// Access to the thread, which ends when this is dropped.
pub(in crate::engine) struct Reader {
    assignments: Sender<Assignment>,
}

impl Reader {
    pub(in crate::engine) fn start(disk: Arc<dyn Disk>, pool: Pool) -> std::io::Result<Self> {
        let (assignments, inbox) = mpsc::channel::<Assignment>();
        std::thread::Builder::new().name("read".to_owned()).spawn(move || {
            sandbox::background_thread();
            // Its length is bounded by the room that the pool gives each vault.
            while let Ok(Assignment { desk, task, answer }) = inbox.recv() {
                match read_note(&*disk, &desk, &task) {
                    Ok(read) => pool.send(Errand { desk, task, read, answer }),
                    Err(outcome) => answer(outcome),
                }
            }
        })?;
        Ok(Reader { assignments })
    }

    pub(in crate::engine) fn send(&self, assignment: Assignment) {
        // The thread ends only with this handle.
        let _ = self.assignments.send(assignment);
    }
}
