//! The simulated machine: its time is that of a runtime whose clock is paused, the work of other threads is a list of
//! jobs, and any write may be the last thing that the process does.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use machine::simulation::{Machine, PlayedWork};
use tokio::runtime::Handle;

use super::dice::Dice;
use super::disk::{Disk, Loss};

/// Work that is for another thread.
pub(super) struct Queued {
    pub(super) name: String,
    due: Instant,
    work: PlayedWork,
}

/// The machine. It outlives the processes that run on it.
pub(super) struct Played {
    runtime: RefCell<Option<(Handle, tokio::time::Instant)>>,
    /// Milliseconds since 1970 when the runtime began.
    wall: Cell<i64>,
    dice: RefCell<Dice>,
    jobs: RefCell<Vec<Queued>>,
    pub(super) disk: RefCell<Disk>,
    /// After how many more effects something dies, and what is lost then.
    death: Cell<Option<(u32, Loss)>>,
    /// The data folder that a process left when it died.
    corpse: RefCell<Option<PathBuf>>,
    /// Called at the moment of a death.
    died: RefCell<Option<Rc<dyn Fn()>>>,
    effects: Cell<u64>,
}

impl Played {
    pub(super) fn new(disk: Disk, dice: Dice, wall: i64) -> Rc<Self> {
        Rc::new(Played {
            runtime: RefCell::default(),
            wall: Cell::new(wall),
            dice: RefCell::new(dice),
            jobs: RefCell::default(),
            disk: RefCell::new(disk),
            death: Cell::default(),
            corpse: RefCell::default(),
            died: RefCell::default(),
            effects: Cell::default(),
        })
    }

    /// A process begins, with a runtime of its own.
    pub(super) fn begin(&self, handle: &Handle) {
        let _entered = handle.enter();
        *self.runtime.borrow_mut() = Some((handle.clone(), tokio::time::Instant::now()));
    }

    /// The process has ended: its threads are gone with all they had to do.
    pub(super) fn end(&self) {
        self.wall.set(self.wall_ms());
        self.runtime.borrow_mut().take();
        let jobs = std::mem::take(&mut *self.jobs.borrow_mut());
        drop(jobs);
        self.corpse.borrow_mut().take();
        self.death.set(None);
    }

    fn passed(&self) -> Option<(Instant, Duration)> {
        let runtime = self.runtime.borrow();
        let (handle, began) = runtime.as_ref()?;
        let _entered = handle.enter();
        let now = tokio::time::Instant::now();
        Some((now.into_std(), now.duration_since(*began)))
    }

    pub(super) fn wall_ms(&self) -> i64 {
        self.wall.get() + self.passed().map_or(0, |(_, passed)| passed.as_millis() as i64)
    }

    /// The clock on the wall is set.
    pub(super) fn jump(&self, by_ms: i64) {
        self.wall.set(self.wall.get() + by_ms);
    }

    /// Jobs whose time has come.
    pub(super) fn ready(&self) -> usize {
        let now = self.now();
        self.jobs.borrow().iter().filter(|job| job.due <= now).count()
    }

    /// When the next job is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.jobs.borrow().iter().map(|job| job.due).min()
    }

    /// Runs one of the jobs whose time has come; returns its name.
    pub(super) fn run(&self, which: usize) -> Option<String> {
        let now = self.now();
        let job = {
            let mut jobs = self.jobs.borrow_mut();
            let at = jobs.iter().enumerate().filter(|(_, job)| job.due <= now).map(|(at, _)| at).nth(which)?;
            jobs.remove(at)
        };
        (job.work)();
        Some(job.name)
    }

    /// After so many effects more everything ends: a process, or the whole machine.
    pub(super) fn die_after(&self, effects: u32, loss: Loss, died: Rc<dyn Fn()>) {
        *self.died.borrow_mut() = Some(died);
        self.death.set(Some((effects, loss)));
        if effects == 0 {
            self.effect();
        }
    }

    /// Cancels a death that was to come.
    pub(super) fn no_death(&self) {
        self.death.set(None);
    }

    /// The data folder that a process left when it died.
    pub(super) fn corpse(&self) -> Option<PathBuf> {
        self.corpse.borrow().clone()
    }

    pub(super) fn effects(&self) -> u64 {
        self.effects.get()
    }

    fn effect(&self) {
        self.effects.set(self.effects.get() + 1);
        if self.corpse.borrow().is_some() {
            return;
        }
        match self.death.get() {
            Some((0 | 1, loss)) => {
                self.death.set(None);
                let left = self.disk.borrow_mut().lose(loss, &mut self.dice.borrow_mut());
                *self.corpse.borrow_mut() = Some(left);
                if let Some(died) = self.died.borrow_mut().take() {
                    died();
                }
            }
            Some((after, loss)) => self.death.set(Some((after - 1, loss))),
            None => {}
        }
    }
}

impl Machine for Played {
    fn now(&self) -> Instant {
        self.passed().map_or_else(Instant::now, |(now, _)| now)
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp::from_millisecond(self.wall_ms()).unwrap()
    }

    fn run_later(&self, name: &str, after: Duration, work: PlayedWork) {
        let due = self.now() + after;
        self.jobs.borrow_mut().push(Queued { name: name.to_owned(), due, work });
    }

    fn random(&self) -> f64 {
        self.dice.borrow_mut().unit()
    }

    fn wrote(&self, path: &Path) {
        if self.disk.borrow().is_ours(path) {
            self.effect();
        }
    }

    fn synced(&self, path: &Path) {
        if self.disk.borrow().is_ours(path) {
            // What a dead process does no longer counts.
            if self.corpse.borrow().is_none() {
                self.disk.borrow_mut().synced(path);
            }
            self.effect();
        }
    }
}

/// Removes everything that a process left.
pub(super) fn remove(path: &Path) {
    // Threads of a dead process may still write there.
    let _ = fs::remove_dir_all(path);
}
