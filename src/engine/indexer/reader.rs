//! Reads the notes of one vault that are decided about in bulk, on a separate thread: a file system that hangs blocks
//! only this thread, and no worker that other vaults need.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use super::disk::Disk;
use crate::decide::{NotePipeline, Task, read_note};
use crate::host;
use crate::pool::{Answer, Errand, Pool};

/// A note to be read and decided about.
pub(crate) struct Assignment {
    pub(crate) pipeline: Arc<NotePipeline>,
    pub(crate) task: Task,
    pub(crate) answer: Answer,
}

/// Access to the thread, which ends when this is dropped.
pub(crate) struct Reader {
    assignments: Sender<Assignment>,
    work: Arc<Work>,
}

/// What the thread works with.
struct Work {
    disk: Arc<dyn Disk>,
    pool: Pool,
}

impl Reader {
    pub(crate) fn start(disk: Arc<dyn Disk>, pool: Pool) -> std::io::Result<Self> {
        let (assignments, inbox) = mpsc::channel::<Assignment>();
        let work = Arc::new(Work { disk, pool });
        if !machine::is_simulated() {
            let work = work.clone();
            machine::spawn("read", move || {
                host::background_thread();
                // The room that the pool gives each vault bounds the length of this queue.
                inbox.iter().for_each(|assignment| work.carry_out(assignment));
            })?;
        }
        Ok(Reader { assignments, work })
    }

    pub(crate) fn send(&self, assignment: Assignment) {
        if machine::is_simulated() {
            let work = self.work.clone();
            // A simulation has threads enough.
            let _ = machine::spawn("read", move || work.carry_out(assignment));
            return;
        }
        // The thread ends only with this handle.
        let _ = self.assignments.send(assignment);
    }
}

impl Work {
    fn carry_out(&self, Assignment { pipeline, task, answer }: Assignment) {
        match read_note(&*self.disk, &pipeline, &task) {
            Ok(read) => self.pool.send(Errand { pipeline, task, read, answer }),
            Err(outcome) => answer(outcome),
        }
    }
}
