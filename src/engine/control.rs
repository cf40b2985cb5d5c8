//! The process as a whole: how its supervisor is reached, and how it begins and ends.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

use tokio::sync::watch;

use super::Reload;
use super::supervisor::Event;

/// Access to the supervisor, and what it says of itself.
pub(super) struct Control {
    supervisor: Sender<Event>,
    pub(super) reload: Reload,
    pub(super) socket: PathBuf,
    pub(super) started: Instant,
    /// Grows while the supervisor's loop turns.
    pub(super) beat: AtomicU64,
    pub(super) stopping: watch::Sender<bool>,
    pub(super) wants_restart: AtomicBool,
    /// Whether the supervisor died.
    pub(super) failed: AtomicBool,
    /// Whether the stored indexes answer, except those of vaults that are slow to open.
    has_started: AtomicBool,
    /// Whether the supervisor has already been sent an event about news.
    changed: AtomicBool,
}

impl Control {
    pub(super) fn new(supervisor: Sender<Event>, socket: PathBuf, reload: Reload) -> Self {
        Control {
            supervisor,
            reload,
            socket,
            started: machine::now(),
            beat: AtomicU64::new(0),
            stopping: watch::Sender::new(false),
            wants_restart: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            has_started: AtomicBool::new(false),
            changed: AtomicBool::new(false),
        }
    }

    /// Sends an event to the supervisor; `false` if it has ended.
    pub(super) fn send(&self, event: Event) -> bool {
        self.supervisor.send(event).is_ok()
    }

    /// Tells the supervisor that an indexer has something new to say; until it looks, many such calls are one event.
    pub(super) fn tell_changed(&self) {
        if !self.changed.swap(true, Ordering::AcqRel) {
            self.send(Event::Changed);
        }
    }

    /// The supervisor is about to look at what is new.
    pub(super) fn take_changed(&self) {
        self.changed.store(false, Ordering::Release);
    }

    pub(super) fn set_started(&self) {
        self.has_started.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_started(&self) -> bool {
        self.has_started.load(Ordering::Relaxed)
    }

    /// Ends this process so that it is started again: only a new process can go on. Not if that one would find no room
    /// for its files in `data_dir`: this one answers searches, and can be asked again.
    pub(super) fn ask_for_restart(&self, data_dir: &Path) -> std::io::Result<()> {
        store::has_room(data_dir)?;
        self.wants_restart.store(true, Ordering::Relaxed);
        self.stopping.send_replace(true);
        Ok(())
    }

    /// The supervisor died: the process ends.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
        self.stopping.send_replace(true);
    }
}
