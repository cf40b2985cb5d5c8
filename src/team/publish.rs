//! The keeper's plan: from what happened to what is to be done next. No I/O, no clock.
//!
//! One thing is done at a time. After any failure the plan begins anew with a look at the collection, so that there is
//! one way to go on, whether after a kill, a day without a server, or another keeper.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::failure::Failure;

/// The most notes in one revision.
const NOTES: usize = 64;
/// How long a keeper waits after a failure, at first and at most.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The store's notes are these: path and state of each that may be published.
    Wanted(BTreeMap<String, String>),
    /// The vault is ours; its points are visible up to this number.
    Claimed(u64),
    /// Points that are not visible yet are deleted.
    Cleaned,
    /// The notes in the collection: path, number, and state of each; some occur twice.
    Listed(Vec<(String, u64, String)>),
    /// Notes were written under the number asked for; those missing here had no text to write at present.
    Written(BTreeMap<String, String>),
    /// The number is raised.
    Raised,
    /// Older points are deleted.
    Swept,
    /// A comparison found that these notes are not in the collection as they should be.
    Amiss(Vec<String>),
    /// Something failed.
    Failed(Failure),
    /// It is time to try again.
    Again,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Take the vault, unless somebody else keeps it.
    Claim,
    /// Delete points above this number.
    Clean(u64),
    /// List the notes in the collection.
    List,
    /// Write these notes under this number.
    Write(u64, Vec<String>),
    /// Make points up to this number visible, one more than before.
    Raise(u64),
    /// Delete points of these notes that are below their number.
    Sweep(Vec<(String, u64)>),
    /// Wait until the store changes.
    Rest,
    /// Wait this long, or for the user, because of this failure.
    Wait(Duration, Failure),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Claiming,
    Cleaning,
    Listing,
    Working,
    Writing,
    Raising,
    Sweeping,
    Waiting,
}

/// The plan of one vault's keeper. What is to be done first is to claim the vault.
#[derive(Clone, Debug, Default)]
pub struct Publisher {
    stage: Stage,
    /// What the store has; until that is known, nothing is written or deleted.
    wanted: Option<BTreeMap<String, String>>,
    /// What readers see.
    there: BTreeMap<String, String>,
    /// Notes whose text could not be read in the state that the store knows: the store is about to change.
    held: BTreeSet<String>,
    /// Notes that are to be written, as follows from these three. Kept up to date, since looking through all notes for
    /// each revision would take a time that grows with their square.
    to_write: BTreeSet<String>,
    /// Notes that are to be deleted, in the same way.
    to_remove: BTreeSet<String>,
    /// Notes that are being written or made visible.
    writing: BTreeMap<String, String>,
    /// Points that are to be deleted: of these notes, below these numbers.
    old: Vec<(String, u64)>,
    /// The number up to which points are visible.
    revision: u64,
    failures: u32,
}

impl Publisher {
    /// Notes that are still to be written or taken away.
    pub fn left(&self) -> usize {
        self.to_write.len() + self.to_remove.len()
    }

    /// Notes that readers see.
    pub fn notes(&self) -> usize {
        self.there.len()
    }

    /// Those of these notes that the store does not have any more; none until it is known what it has.
    pub fn unwanted(&self, there: impl Iterator<Item = String>) -> Vec<String> {
        let Some(wanted) = &self.wanted else { return Vec::new() };
        there.filter(|path| !wanted.contains_key(path)).collect()
    }

    /// What is to be done after this event; `None` if something is being done already.
    pub fn on(&mut self, event: Event) -> Option<Effect> {
        match (self.stage, event) {
            (stage, Event::Wanted(wanted)) => {
                self.held.clear();
                self.wanted = Some(wanted);
                self.compare_all();
                (stage == Stage::Working).then(|| self.next())
            }
            (Stage::Working, Event::Amiss(paths)) => {
                // No note has this state, so it is written anew, which replaces what is there.
                self.there.extend(paths.iter().map(|path| (path.clone(), String::new())));
                paths.iter().for_each(|path| self.compare(path));
                Some(self.next())
            }
            (_, Event::Failed(failure)) => Some(self.fail(failure)),
            (Stage::Waiting | Stage::Working, Event::Again) => {
                self.stage = Stage::Claiming;
                Some(Effect::Claim)
            }
            (Stage::Claiming, Event::Claimed(revision)) => {
                self.revision = revision;
                self.stage = Stage::Cleaning;
                Some(Effect::Clean(revision))
            }
            (Stage::Cleaning, Event::Cleaned) => {
                self.stage = Stage::Listing;
                Some(Effect::List)
            }
            (Stage::Listing, Event::Listed(listed)) => {
                self.take(listed);
                Some(self.next())
            }
            (Stage::Writing, Event::Written(written)) => {
                let asked = std::mem::take(&mut self.writing);
                for path in asked.into_keys().filter(|path| !written.contains_key(path)) {
                    self.to_write.remove(&path);
                    self.held.insert(path);
                }
                self.writing = written;
                if self.writing.is_empty() {
                    return Some(self.next());
                }
                self.stage = Stage::Raising;
                Some(Effect::Raise(self.revision + 1))
            }
            (Stage::Raising, Event::Raised) => {
                self.revision += 1;
                self.failures = 0;
                let written = std::mem::take(&mut self.writing);
                let replaced = written.keys().filter(|path| self.there.contains_key(*path));
                self.old = replaced.map(|path| (path.clone(), self.revision)).collect();
                for (path, state) in written {
                    self.there.insert(path.clone(), state);
                    self.compare(&path);
                }
                Some(self.next())
            }
            (Stage::Sweeping, Event::Swept) => Some(self.next()),
            _ => None,
        }
    }

    /// Takes the highest number of each note in the collection; what is below it is left over.
    fn take(&mut self, listed: Vec<(String, u64, String)>) {
        let mut best: BTreeMap<String, (u64, String)> = BTreeMap::new();
        let mut twice = BTreeSet::new();
        for (path, revision, state) in listed {
            if let Some((known, _)) = best.get(&path) {
                twice.insert(path.clone());
                if *known >= revision {
                    continue;
                }
            }
            best.insert(path, (revision, state));
        }
        self.old = twice.into_iter().filter_map(|path| best.get(&path).map(|(at, _)| (path.clone(), *at))).collect();
        self.there = best.into_iter().map(|(path, (_, state))| (path, state)).collect();
        self.compare_all();
    }

    /// Recomputes what is to be done about every note.
    fn compare_all(&mut self) {
        let Some(wanted) = &self.wanted else { return };
        let differs = |(path, state): &(&String, &String)| self.there.get(*path) != Some(*state);
        let open = |(path, _): &(&String, &String)| !self.held.contains(*path);
        self.to_write = wanted.iter().filter(differs).filter(open).map(|(path, _)| path.clone()).collect();
        self.to_remove = self.there.keys().filter(|path| !wanted.contains_key(*path)).cloned().collect();
    }

    /// Recomputes what is to be done about one note.
    fn compare(&mut self, path: &str) {
        let Some(wanted) = &self.wanted else { return };
        let (wanted, there) = (wanted.get(path), self.there.get(path));
        let put = |set: &mut BTreeSet<String>, belongs: bool| {
            if belongs {
                set.insert(path.to_owned());
            } else {
                set.remove(path);
            }
        };
        put(&mut self.to_write, wanted.is_some() && wanted != there && !self.held.contains(path));
        put(&mut self.to_remove, wanted.is_none() && there.is_some());
    }

    fn next(&mut self) -> Effect {
        if !self.old.is_empty() {
            self.stage = Stage::Sweeping;
            return Effect::Sweep(std::mem::take(&mut self.old));
        }
        // A note that has moved is there anew before it is gone. But if nothing can be written, as on a full disk, what
        // became private must not wait for it.
        if self.failures > 0
            && let Some(sweep) = self.remove()
        {
            return sweep;
        }
        let wanted = self.wanted.as_ref();
        let state = |path: &String| Some((path.clone(), wanted?.get(path)?.clone()));
        let writing: BTreeMap<String, String> = self.to_write.iter().take(NOTES).filter_map(state).collect();
        if !writing.is_empty() {
            self.stage = Stage::Writing;
            let paths = writing.keys().cloned().collect();
            self.writing = writing;
            return Effect::Write(self.revision + 1, paths);
        }
        if let Some(sweep) = self.remove() {
            return sweep;
        }
        self.stage = Stage::Working;
        Effect::Rest
    }

    /// Begins to delete some of the notes that are to be deleted; `None` if there are none.
    fn remove(&mut self) -> Option<Effect> {
        let gone: Vec<String> = self.to_remove.iter().take(NOTES).cloned().collect();
        if gone.is_empty() {
            return None;
        }
        for path in &gone {
            self.there.remove(path);
            self.to_remove.remove(path);
        }
        self.stage = Stage::Sweeping;
        Some(Effect::Sweep(gone.into_iter().map(|path| (path, self.revision + 1)).collect()))
    }

    fn fail(&mut self, failure: Failure) -> Effect {
        self.stage = Stage::Waiting;
        (self.writing, self.old) = (BTreeMap::new(), Vec::new());
        let wait = FIRST * 2_u32.saturating_pow(self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        let wait = if failure.kind.may_pass() { wait.min(LONGEST) } else { LONGEST };
        Effect::Wait(wait, failure)
    }
}

#[cfg(test)]
mod tests;
