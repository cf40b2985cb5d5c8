//! Flushes commits to the disk a moment later, on a thread that sleeps while there are none. sled has a thread for that
//! too, but it wakes twice a second and syncs whether there is something to write or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::StoreError;
use super::tree::Trees;

/// A crash of the machine loses at most what was committed within this time, and all of it is made again from the
/// vault.
const AFTER: Duration = Duration::from_millis(500);

/// How long closing the store waits for a write that is under way; sled may wait for threads that no longer exist.
const PATIENCE: Duration = Duration::from_secs(5);

/// The handle of the flush thread.
pub(super) struct Flusher {
    /// Holds one message: the thread needs to know only that there is something to flush.
    committed: Option<SyncSender<()>>,
    /// Disconnected when the thread has dropped the database.
    ended: Mutex<Receiver<()>>,
    /// Takes the thread's place in a simulation.
    played: Option<Played>,
}

/// A flush that is one of a simulation's jobs.
struct Played {
    /// `None` once the database is closed.
    trees: Arc<Mutex<Option<Trees>>>,
    /// Whether a flush is queued.
    queued: Arc<AtomicBool>,
}

impl Played {
    fn committed(&self) {
        if self.queued.swap(true, Ordering::Relaxed) {
            return;
        }
        let (trees, queued) = (self.trees.clone(), self.queued.clone());
        machine::later("store-flush", AFTER, move || {
            queued.store(false, Ordering::Relaxed);
            trees.lock().iter().for_each(flush);
        });
    }
}

impl Flusher {
    /// Starts the thread.
    pub(super) fn start(trees: Trees) -> Result<Self, StoreError> {
        let (committed, inbox) = mpsc::sync_channel(1);
        let (end, ended) = mpsc::channel();
        if machine::is_simulated() {
            let played = Some(Played { trees: Arc::new(Mutex::new(Some(trees))), queued: Arc::default() });
            return Ok(Flusher { committed: None, ended: Mutex::new(ended), played });
        }
        let run = move || {
            run(&inbox, &trees);
            drop((trees, end));
        };
        match thread::Builder::new().name("store-flush".to_owned()).spawn(run) {
            Ok(_) => Ok(Flusher { committed: Some(committed), ended: Mutex::new(ended), played: None }),
            Err(error) => Err(StoreError::io(std::path::Path::new("its thread"), &error)),
        }
    }

    /// Tells the thread that something was committed.
    pub(super) fn committed(&self) {
        self.played.iter().for_each(Played::committed);
        // Full: the thread knows already. Disconnected: it is ending, and the database writes the rest when it is
        // closed.
        let _ = self.committed.as_ref().map(|committed| committed.try_send(()));
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.committed = None;
        self.played.take().into_iter().for_each(|played| *played.trees.lock() = None);
        let _ = self.ended.get_mut().recv_timeout(PATIENCE);
    }
}

fn run(inbox: &Receiver<()>, trees: &Trees) {
    while inbox.recv().is_ok() {
        let until = Instant::now() + AFTER;
        loop {
            match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        flush(trees);
    }
}

fn flush(trees: &Trees) {
    // The next commit fails for the same reason, and reports it.
    if let Err(fault) = trees.flush(true) {
        tracing::debug!(?fault, "what was committed is not on the disk yet");
    }
}
