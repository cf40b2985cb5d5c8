//! When an indexer sees to it that its store takes no more than it needs: disk space that edits wrote over, and pages in
//! memory, are given back only if somebody does.

use std::time::{Duration, Instant};

/// How often it is looked at: whoever saves a note in that very moment waits.
const EVERY: Duration = Duration::from_mins(1);

/// When it is time again.
pub(super) struct Upkeep {
    due: Instant,
}

impl Upkeep {
    pub(super) fn new(now: Instant) -> Self {
        Upkeep { due: now + EVERY }
    }

    /// Whether it is time; whoever asks does it.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.due;
        if is_due {
            self.due = now + EVERY;
        }
        is_due
    }
}
