//! When an indexer sees to it that its store takes no more than it needs: disk space that edits wrote over, and pages in
//! memory, are given back only if somebody does.

use std::time::{Duration, Instant};

/// How often it is looked at: whoever saves a note in that very moment waits for some milliseconds.
const EVERY: Duration = Duration::from_mins(1);

/// When it is time again.
pub(super) struct Upkeep {
    due: Instant,
    /// What was begun is to go on as soon as nobody waits for anything else.
    under_way: bool,
}

impl Upkeep {
    pub(super) fn new(now: Instant) -> Self {
        Upkeep { due: now + EVERY, under_way: false }
    }

    /// There is more to do.
    pub(super) fn go_on(&mut self) {
        self.under_way = true;
    }

    /// Whether there is.
    pub(super) fn is_under_way(&self) -> bool {
        self.under_way
    }

    /// Whether it is time; whoever asks does it.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.due;
        if is_due {
            self.due = now + EVERY;
        }
        std::mem::take(&mut self.under_way) || is_due
    }
}
