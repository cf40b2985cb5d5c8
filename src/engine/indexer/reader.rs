//! Reads the notes of one vault that are decided about in bulk, on a separate thread: a file system that hangs blocks
//! only this thread, and no worker that other vaults need.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use super::disk::Disk;
use crate::decide::read_note;
use crate::host;
use crate::pool::{Errand, Pool};

/// Access to the thread, which ends when this is dropped.
pub(crate) struct Reader {
    errands: Sender<Errand>,
    work: Arc<Work>,
}

/// What the thread works with.
struct Work {
    disk: Arc<dyn Disk>,
    pool: Pool,
}

impl Reader {
    pub(crate) fn start(disk: Arc<dyn Disk>, pool: Pool) -> std::io::Result<Self> {
        let (errands, inbox) = mpsc::channel::<Errand>();
        let work = Arc::new(Work { disk, pool });
        if !machine::is_simulated() {
            let work = work.clone();
            machine::spawn("read", move || {
                host::background_thread();
                // The room that the pool gives each vault bounds the length of this queue.
                inbox.iter().for_each(|errand| work.carry_out(errand));
            })?;
        }
        Ok(Reader { errands, work })
    }

    pub(crate) fn send(&self, errand: Errand) {
        if machine::is_simulated() {
            let work = self.work.clone();
            // A simulation has threads enough.
            let _ = machine::spawn("read", move || work.carry_out(errand));
            return;
        }
        // The thread ends only with this handle.
        let _ = self.errands.send(errand);
    }
}

impl Work {
    fn carry_out(&self, errand: Errand) {
        match read_note(&*self.disk, &errand.pipeline, &errand.task) {
            Ok(read) => self.pool.send(errand, read),
            Err(outcome) => (errand.answer)(outcome),
        }
    }
}
