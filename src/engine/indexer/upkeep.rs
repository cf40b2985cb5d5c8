//! When an indexer sees to it that its store takes no more than it needs: disk space that edits wrote over, and pages in
//! memory, are given back only if somebody does.

use std::time::{Duration, Instant};

/// It is done after a change, once nothing has changed for this time: to copy the database takes a second where it is
/// large, and whoever saves a note meanwhile waits.
const QUIET: Duration = Duration::from_secs(20);

/// It is not done more often.
const EVERY: Duration = Duration::from_mins(1);

/// Where it is never quiet, it is done after this time all the same.
const AT_LEAST_EVERY: Duration = Duration::from_mins(5);

/// When it is time again.
pub(super) struct Upkeep {
    /// When it was done last, or the vault was opened.
    last: Instant,
    /// When something last changed since then.
    changed: Option<Instant>,
    /// What was begun is to go on as soon as nobody waits for anything else.
    under_way: bool,
}

impl Upkeep {
    /// Of a vault that has just been opened: what its store takes is not known.
    pub(super) fn new(now: Instant) -> Self {
        Upkeep { last: now, changed: Some(now), under_way: false }
    }

    /// Something was written.
    pub(super) fn changed(&mut self, now: Instant) {
        self.changed = Some(now);
    }

    /// There is more to do.
    pub(super) fn go_on(&mut self) {
        self.under_way = true;
    }

    /// When it is time; never, if nothing has changed.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.under_way {
            return Some(self.last);
        }
        let quiet = self.changed? + QUIET;
        Some(quiet.min(self.last + AT_LEAST_EVERY).max(self.last + EVERY))
    }

    /// Whether it is time; whoever asks does it.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let is_due = self.due().is_some_and(|due| due <= now);
        if is_due {
            *self = Upkeep { last: now, changed: None, under_way: false };
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(begin: Instant, seconds: u64) -> Instant {
        begin + Duration::from_secs(seconds)
    }

    #[test]
    fn it_waits_for_quiet_and_not_for_ever() {
        let begin = Instant::now();
        let mut upkeep = Upkeep::new(begin);
        assert!(!upkeep.take_due(at(begin, 59)) && upkeep.take_due(at(begin, 60)), "not at once");
        assert_eq!(upkeep.due(), None, "nothing has changed since");
        upkeep.changed(at(begin, 61));
        assert_eq!(upkeep.due(), Some(at(begin, 120)), "not so soon again");
        upkeep.changed(at(begin, 119));
        assert_eq!(upkeep.due(), Some(at(begin, 139)));
        (120..400).step_by(5).for_each(|seconds| upkeep.changed(at(begin, seconds)));
        assert_eq!(upkeep.due(), Some(at(begin, 360)), "five minutes after the last time");
    }

    #[test]
    fn what_has_begun_goes_on_at_once() {
        let begin = Instant::now();
        let mut upkeep = Upkeep::new(begin);
        assert!(upkeep.take_due(at(begin, 60)));
        upkeep.go_on();
        assert!(upkeep.take_due(at(begin, 60)) && !upkeep.take_due(at(begin, 60)));
        upkeep.changed(at(begin, 61));
        assert_eq!(upkeep.due(), Some(at(begin, 120)));
    }
}
