//! When the indexer looks at the disk: hints wait for quiet, walks follow each other, and what could not be read is
//! looked at again. Pure: the time is an argument, and what is to be done is returned.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use note::VaultPath;
use vault::pending::{Pending, Timing};
use vault::{Batch, Hint, RescanReason};

#[cfg(test)]
mod tests;

/// How long an emptied note may be the first half of a truncate-and-write.
const EMPTY_FOR: Duration = Duration::from_secs(2);

/// Most paths that are remembered as hinted at.
const MOST_SEEN: usize = 50_000;

/// Delay before a note that could not be read is read again; each failure doubles it, up to [`UNREAD_LONGEST`].
const UNREAD_FIRST: Duration = Duration::from_secs(2);

/// The longest such pause.
const UNREAD_LONGEST: Duration = Duration::from_mins(1);

/// A walk of the whole vault that is to begin now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) reason: RescanReason,
    /// Jobs that wait for what it finds.
    pub(crate) jobs: Vec<u64>,
}

/// What is to be looked at now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// What was hinted at and has been quiet.
    pub(crate) hinted: Option<Batch>,
    /// Notes to read again; `true` if their text is believed whatever it is.
    pub(crate) again: Vec<(VaultPath, bool)>,
    /// Whether the regular walk is due.
    pub(crate) walk: bool,
}

/// A note that is looked at again without a hint.
#[derive(Debug)]
struct Recheck {
    at: Instant,
    /// How often it could not be read; 0 for one that was found empty.
    failures: u32,
}

/// The state of the looks at one vault.
#[derive(Debug)]
pub(crate) struct Freshness {
    pending: Pending,
    /// Whether a walk is under way.
    walking: bool,
    /// Whether one has ended since the vault was opened.
    looked: bool,
    /// The walk that was asked for while another was under way.
    next: Option<Walk>,
    next_walk: Instant,
    recheck: HashMap<VaultPath, Recheck>,
    /// Paths and folders that were hinted at since nothing was left to look at: what is gone there was seen to go, whoever
    /// looks. A storm does not forget them.
    hinted: HashSet<VaultPath>,
}

impl Freshness {
    pub(crate) fn new(timing: Timing, now: Instant) -> Self {
        Freshness {
            pending: Pending::new(timing),
            walking: false,
            looked: false,
            next: None,
            next_walk: now,
            recheck: HashMap::new(),
            hinted: HashSet::new(),
        }
    }

    pub(crate) fn set_timing(&mut self, timing: Timing) {
        self.pending.set_timing(timing);
    }

    /// Something may have changed.
    pub(crate) fn hint(&mut self, now: Instant, hint: Hint) {
        if let Hint::Path(path) | Hint::Saved(path) | Hint::Folder(path) = &hint
            && self.hinted.len() < MOST_SEEN
        {
            self.hinted.insert(path.clone());
        }
        self.pending.hint(now, hint);
    }

    /// Whether a note that is gone was seen to go: it was hinted at, or a folder above it that is gone too.
    pub(crate) fn has_seen_go(&self, path: &VaultPath, is_there: impl Fn(&VaultPath) -> bool) -> bool {
        let is_gone = |folder: &str| {
            VaultPath::parse(folder).is_some_and(|folder| self.hinted.contains(&folder) && !is_there(&folder))
        };
        self.hinted.contains(path) || (!self.hinted.is_empty() && path.ancestors().any(is_gone))
    }

    /// What was hinted at has been looked at, or the vault is another one now.
    pub(crate) fn forget_hinted(&mut self, whatever_waits: bool) {
        if whatever_waits || self.pending.is_empty() {
            self.hinted = HashSet::new();
        }
    }

    /// Asks for a walk, or for a look at some folders in its place. A walk under way may already have passed what changed
    /// since it began, so another one follows it.
    pub(crate) fn request(&mut self, reason: RescanReason, jobs: Vec<u64>) -> Option<Walk> {
        if !self.walking {
            self.walking = true;
            return Some(Walk { reason, jobs });
        }
        let next = self.next.get_or_insert(Walk { reason, jobs: Vec::new() });
        next.reason = reason;
        next.jobs.extend(jobs);
        None
    }

    /// A walk has ended, well or not.
    pub(crate) fn ended(&mut self) {
        self.walking = false;
        self.looked = true;
    }

    /// The walk that was asked for while another was under way: it begins now.
    pub(crate) fn following(&mut self) -> Option<Walk> {
        let walk = if self.walking { None } else { self.next.take() };
        self.walking |= walk.is_some();
        walk
    }

    /// A walk could not begin.
    pub(crate) fn failed_to_begin(&mut self, again_at: Instant) {
        self.walking = false;
        self.next_walk = again_at;
    }

    /// A walk of everything is done: the next regular one is due after `pause`.
    pub(crate) fn walked(&mut self, now: Instant, pause: Duration) {
        self.next_walk = now + pause;
    }

    /// A note was found empty that was not empty before. Finding it so again does not put off when that is believed.
    pub(crate) fn emptied(&mut self, now: Instant, path: VaultPath) {
        if self.recheck.get(&path).is_none_or(|recheck| recheck.failures > 0) {
            self.recheck.insert(path, Recheck { at: now + EMPTY_FOR, failures: 0 });
        }
    }

    /// A note could not be read, for a reason that may pass.
    pub(crate) fn unread(&mut self, now: Instant, path: VaultPath) {
        let failures = self.recheck.get(&path).map_or(0, |recheck| recheck.failures).saturating_add(1);
        let pause = (UNREAD_FIRST * 2_u32.saturating_pow(failures.min(16) - 1)).min(UNREAD_LONGEST);
        self.recheck.insert(path, Recheck { at: now + pause, failures });
    }

    /// A note was read.
    pub(crate) fn read(&mut self, path: &VaultPath) {
        self.recheck.remove(path);
    }

    /// What is to be looked at now.
    pub(crate) fn due(&mut self, now: Instant, git_locked: bool) -> Due {
        let mut due = Due { hinted: self.pending.take(now, git_locked), ..Due::default() };
        for (path, recheck) in self.recheck.iter_mut().filter(|(_, recheck)| recheck.at <= now) {
            due.again.push((path.clone(), recheck.failures == 0));
            // The result of the look says whether the entry stays. Until then a lost look must not be asked for in
            // every turn.
            recheck.at = now + UNREAD_LONGEST;
        }
        // This time the text of an emptied note is believed, so it is not looked at a third time.
        self.recheck.retain(|path, _| !due.again.contains(&(path.clone(), true)));
        due.again.sort();
        due.walk = !self.walking && self.next_walk <= now;
        due
    }

    /// When something becomes due by itself.
    pub(crate) fn next_wake(&self, git_locked: bool) -> Option<Instant> {
        let walk = (!self.walking).then_some(self.next_walk);
        let recheck = self.recheck.values().map(|recheck| recheck.at).min();
        [self.pending.deadline(git_locked), walk, recheck].into_iter().flatten().min()
    }

    /// Whether hints wait for quiet.
    pub(crate) fn has_hints(&self) -> bool {
        !self.pending.is_empty()
    }

    /// How many paths and folders wait; 1 for a walk.
    pub(crate) fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Whether a walk is under way.
    pub(crate) fn is_walking(&self) -> bool {
        self.walking
    }

    /// Whether the disk was looked at since the vault was opened.
    pub(crate) fn has_looked(&self) -> bool {
        self.looked
    }
}
