//! Access to a vault's file system for queries, and for worker threads that serve all vaults. It runs on a thread of
//! the vault, and callers wait for a short time only. A file system that hangs blocks that thread; the callers go on
//! without its answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::indexer::disk::Disk;

/// How long a query waits for the states of its hits. A remote folder takes some ten milliseconds for each.
pub(super) const STATES_WITHIN: Duration = Duration::from_millis(500);

/// How long a request waits for the text of a note.
pub(super) const TEXT_WITHIN: Duration = Duration::from_secs(2);

/// Requests that wait for the thread at most; the next one gets [`Hangs`] at once.
const MOST_WAITING: usize = 64;

type Work = Box<dyn FnOnce(&dyn Disk) + Send>;

/// The file system did not answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hangs;

/// The result of a request to the vault's thread, once it comes.
pub(super) struct Pending<T>(Receiver<T>);

impl<T> Pending<T> {
    /// Waits for the result, but not longer than `within`.
    pub(super) fn wait(self, within: Duration) -> Result<T, Hangs> {
        // Also if the work panicked, and there will be none.
        self.0.recv_timeout(within).map_err(|_| Hangs)
    }
}

/// Access to a vault's file system for queries.
pub(super) struct DiskAccess {
    disk: Arc<dyn Disk>,
    /// Started by the first request.
    work: Mutex<Option<SyncSender<Work>>>,
    /// When the work under way began, milliseconds since `epoch`, plus one; 0 while there is none.
    began: Arc<AtomicU64>,
    epoch: Instant,
}

impl DiskAccess {
    pub(super) fn new(disk: Arc<dyn Disk>) -> Self {
        DiskAccess { disk, work: Mutex::new(None), began: Arc::default(), epoch: Instant::now() }
    }

    /// Runs `work` on the vault's thread and waits for its result, but not longer than `within`; not at all if the
    /// thread has been busy with one request for that long.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        within: Duration,
        work: impl FnOnce(&dyn Disk) -> T + Send + 'static,
    ) -> Result<T, Hangs> {
        self.begin(within, work)?.wait(within)
    }

    /// Queues `work` for the vault's thread; not if the thread has been busy with one request for `within`.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        within: Duration,
        work: impl FnOnce(&dyn Disk) -> T + Send + 'static,
    ) -> Result<Pending<T>, Hangs> {
        let (answer, answered) = mpsc::sync_channel(1);
        let work = move |disk: &dyn Disk| {
            // The caller may have given up.
            let _ = answer.send(work(disk));
        };
        if machine::is_simulated() {
            work(&*self.disk);
            return Ok(Pending(answered));
        }
        if self.busy_for().is_some_and(|busy| busy >= within) {
            return Err(Hangs);
        }
        self.send(Box::new(work))?;
        Ok(Pending(answered))
    }

    /// For how long the thread has been busy with its present request.
    pub(super) fn busy_for(&self) -> Option<Duration> {
        let began = self.began.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.epoch.elapsed().saturating_sub(Duration::from_millis(began)))
    }

    fn send(&self, work: Work) -> Result<(), Hangs> {
        let mut sender = self.work.lock();
        if sender.is_none() {
            *sender = Some(self.start()?);
        }
        // The thread ends only with this handle, so if sending fails the queue is full.
        sender.as_ref().map_or(Err(Hangs), |sender| sender.try_send(work).map_err(|_| Hangs))
    }

    fn start(&self) -> Result<SyncSender<Work>, Hangs> {
        let (work, inbox) = mpsc::sync_channel(MOST_WAITING);
        let (disk, began, epoch) = (self.disk.clone(), self.began.clone(), self.epoch);
        let run = move || run(&inbox, &*disk, &began, epoch);
        let thread = std::thread::Builder::new().name("look".to_owned()).spawn(run);
        thread.map(|_| work).map_err(|_| Hangs)
    }
}

fn run(inbox: &Receiver<Work>, disk: &dyn Disk, began: &AtomicU64, epoch: Instant) {
    while let Ok(work) = inbox.recv() {
        began.store(epoch.elapsed().as_millis() as u64 + 1, Ordering::Relaxed);
        if catch_unwind(AssertUnwindSafe(|| work(disk))).is_err() {
            tracing::error!("a look at the disk failed inside; please report it");
        }
        began.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
