//! Puts on the disk what was committed, a moment after, on a thread that rests while nothing is. sled has a thread
//! for that too, which looks twice a second whether there is something, and syncs whether there is or not.

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

/// How long closing the store waits for a write that is under way; sled may wait for threads that are gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// The thread's other end.
pub(super) struct Flusher {
    /// Holds one message: that there is something is all there is to say.
    committed: Option<SyncSender<()>>,
    /// Closed when the thread has let go of the database.
    ended: Mutex<Receiver<()>>,
    /// In a simulation, which has no such thread.
    played: Option<Played>,
}

/// A flush that is one of a simulation's jobs.
struct Played {
    /// Nothing once the database is closed.
    trees: Arc<Mutex<Option<Trees>>>,
    /// Whether it is queued.
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

    /// Something was committed.
    pub(super) fn committed(&self) {
        self.played.iter().for_each(Played::committed);
        // Full: it knows already. Closed: it ends, and the database writes the rest when it is closed.
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
    // The next commit fails of the same, and reports it.
    if let Err(fault) = trees.flush(true) {
        tracing::debug!(?fault, "what was committed is not on the disk yet");
    }
}
