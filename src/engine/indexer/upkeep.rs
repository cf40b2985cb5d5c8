//! When an indexer has its store give back what it does not need: disk space that edits have left unused, and pages in
//! memory. The store does not do that by itself.

use std::time::{Duration, Instant};

/// Upkeep is done after a change, once nothing has changed for this time: copying a large database takes a second, and
/// a save has to wait meanwhile.
const QUIET: Duration = Duration::from_secs(20);

/// Upkeep is not done more often.
const EVERY: Duration = Duration::from_mins(1);

/// If the vault is never quiet, upkeep is done after this time all the same.
const AT_LEAST_EVERY: Duration = Duration::from_mins(5);

/// When upkeep is due.
pub(super) struct Upkeep {
    /// When it was done last, or the vault was opened.
    last: Instant,
    /// When something last changed since then.
    changed: Option<Instant>,
    /// Whether upkeep has begun and goes on as soon as the indexer is idle.
    under_way: bool,
}

impl Upkeep {
    /// For a vault that has just been opened: how much its store takes is unknown.
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

    /// Whether it is time; then the caller does it.
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
