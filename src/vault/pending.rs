//! When to look at what was hinted at: after a quiet time, but never too late.
//!
//! Pure: instants are arguments. A save in an editor is one path and should be found at once; a sync
//! client or a script touches many and should be looked at when it is done; a checkout of thousands is
//! cheaper to answer with one walk than path by path.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Batch, Hint, RescanReason};
use note::VaultPath;

#[cfg(test)]
mod tests;

/// How long to wait for quiet, and for how long at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Quiet after a lone path.
    pub lone: Duration,
    /// Quiet after a lone path that was [`Hint::Saved`]: long enough to see that it is alone.
    pub saved: Duration,
    /// Quiet after several paths, a folder or a reason to walk.
    pub burst: Duration,
    /// Quiet after a storm, or while git holds its index lock.
    pub storm: Duration,
    /// The longest wait after the first hint, except in a storm or behind a lock.
    pub burst_longest: Duration,
    /// The longest wait of a storm or behind a lock.
    pub storm_longest: Duration,
    /// More distinct paths than this are a storm.
    pub storm_paths: usize,
}

/// What has been hinted at and not yet been looked at.
#[derive(Clone, Debug)]
pub struct Pending {
    timing: Timing,
    paths: BTreeSet<VaultPath>,
    folders: BTreeSet<VaultPath>,
    rescan: Option<RescanReason>,
    /// The last path that was hinted at is complete.
    saved: bool,
    /// There were too many paths; they are no longer kept.
    storm: bool,
    /// The first and the last hint's instant.
    span: Option<(Instant, Instant)>,
}

impl Pending {
    /// Nothing pending.
    pub fn new(timing: Timing) -> Self {
        Pending {
            timing,
            paths: BTreeSet::new(),
            folders: BTreeSet::new(),
            rescan: None,
            saved: false,
            storm: false,
            span: None,
        }
    }

    /// Puts other times in force.
    pub fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// Takes in a hint that came at `now`.
    pub fn hint(&mut self, now: Instant, hint: Hint) {
        self.saved = matches!(hint, Hint::Saved(_));
        match hint {
            Hint::Path(path) | Hint::Saved(path) if !self.storm => {
                self.paths.insert(path);
            }
            Hint::Folder(folder) if !self.storm => {
                self.folders.insert(folder);
            }
            Hint::Path(_) | Hint::Saved(_) | Hint::Folder(_) => {}
            Hint::Rescan(reason) => self.rescan = self.rescan.max(Some(reason)),
        }
        // Paths are kept even if a walk is due: enough of them still delay the walk as a storm.
        if self.paths.len() + self.folders.len() > self.timing.storm_paths {
            self.storm = true;
            self.paths.clear();
            self.folders.clear();
        }
        let (first, last) = self.span.unwrap_or((now, now));
        self.span = Some((first.min(now), last.max(now)));
    }

    /// How many distinct paths and folders wait; 1 for a walk.
    pub fn len(&self) -> usize {
        if self.rescan.is_some() || self.storm { 1 } else { self.paths.len() + self.folders.len() }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.span.is_none()
    }

    /// When [`Pending::take`] will give a batch unless more hints come; `None` if nothing is pending.
    pub fn deadline(&self, git_locked: bool) -> Option<Instant> {
        let (first, last) = self.span?;
        let timing = &self.timing;
        let (quiet, longest) = match self.rescan {
            Some(reason) if at_once(reason) => (Duration::ZERO, Duration::ZERO),
            _ if self.storm || git_locked => (timing.storm, timing.storm_longest),
            None if self.folders.is_empty() && self.paths.len() == 1 => {
                (if self.saved { timing.saved } else { timing.lone }, timing.burst_longest)
            }
            _ => (timing.burst, timing.burst_longest),
        };
        Some(after(last, quiet).min(after(first, longest)))
    }

    /// What to look at, if it is time.
    pub fn take(&mut self, now: Instant, git_locked: bool) -> Option<Batch> {
        if self.deadline(git_locked)? > now {
            return None;
        }
        let taken = std::mem::replace(self, Pending::new(self.timing));
        Some(match taken.rescan {
            Some(reason) => Batch::Walk(reason),
            None if taken.storm => Batch::Walk(RescanReason::Storm),
            None => Batch::Paths { paths: taken.paths, folders: outermost(&taken.folders) },
        })
    }
}

/// Whether a walk for this reason starts at once: somebody decided on it, or there is nothing to wait for.
fn at_once(reason: RescanReason) -> bool {
    use RescanReason as R;
    match reason {
        R::Start | R::Asked | R::RootChanged => true,
        R::Overflow | R::WatchLost | R::Storm | R::Resume | R::Interval | R::Doubt | R::Poll => false,
    }
}

/// Folders that are in no other folder of the set: walking one walks all below it.
fn outermost(folders: &BTreeSet<VaultPath>) -> BTreeSet<VaultPath> {
    let texts: BTreeSet<&str> = folders.iter().map(VaultPath::as_str).collect();
    folders.iter().filter(|folder| !folder.ancestors().any(|above| texts.contains(above))).cloned().collect()
}

/// An instant after a wait. A configured wait so long that it would overflow the clock counts as none.
fn after(instant: Instant, wait: Duration) -> Instant {
    instant.checked_add(wait).unwrap_or(instant)
}
