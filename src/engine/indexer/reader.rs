//! Reads the notes of one vault that are decided about in bulk, on a thread of its own: a file system that hangs keeps
//! this thread, and no worker that other vaults need.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use super::disk::Disk;
use crate::decide::{Desk, Task, read_note};
use crate::host;
use crate::pool::{Answer, Errand, Pool};

/// A note to be read and decided about.
pub(crate) struct Assignment {
    pub(crate) desk: Arc<Desk>,
    pub(crate) task: Task,
    pub(crate) answer: Answer,
}

/// Access to the thread, which ends when this is dropped.
pub(crate) struct Reader {
    assignments: Sender<Assignment>,
}

impl Reader {
    pub(crate) fn start(disk: Arc<dyn Disk>, pool: Pool) -> std::io::Result<Self> {
        let (assignments, inbox) = mpsc::channel::<Assignment>();
        std::thread::Builder::new().name("read".to_owned()).spawn(move || {
            host::background_thread();
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

    pub(crate) fn send(&self, assignment: Assignment) {
        // The thread ends only with this handle.
        let _ = self.assignments.send(assignment);
    }
}
