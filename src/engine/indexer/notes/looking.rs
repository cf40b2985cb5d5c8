//! Looks at the disk and turns what a look found into removals and tasks.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::super::deletion_guard::{RETURN_EVERY, Seen};
use super::super::freshness::Walk;
use super::super::scan::{Beside, Extent, Findings, Look, Touched};
use super::super::work_queue::{AT_ONCE, Settled, Waiting};
use super::super::{Event, Place, rules, write_root_id};
use super::NoteIndexer;
use crate::decide::Task;
use crate::host::sandbox;
use crate::runtime::config_of;
use note::{Format, VaultPath};
use protocol::jobs::SkippedFile;
use vault::policy::EntryKind;
use vault::root;
use vault::root::VaultError;
use vault::{Batch as Hinted, Hint, RescanReason};

/// A look that finds more changes than this does not announce each decision.
pub(super) const TOLD_AT_ONCE: usize = 100;

/// Skipped files that `status` names.
pub(super) const MOST_SKIPPED: usize = 100;

impl NoteIndexer {
    /// Looks at what was hinted at and has been quiet, and at what is due by itself.
    pub(in crate::indexer) fn look_at_what_is_due(&mut self) {
        let now = machine::now();
        let locked = self.freshness.has_hints() && self.watch.disk.git_locked(&self.actor.place.vault.path);
        let due = self.freshness.due(now, locked);
        for (path, believed) in due.again {
            self.work.enqueue(vec![Task { again: believed, ..Task::again(path) }], false);
        }
        match due.hinted {
            Some(Hinted::Walk(reason)) => self.walk(reason, Vec::new()),
            Some(Hinted::Paths { paths, folders }) => self.look_at(paths, folders),
            None => {}
        }
        let reason = if self.watch.is_polled() { RescanReason::Poll } else { RescanReason::Interval };
        if self.guard.look_at().is_some_and(|at| at <= now) && !self.freshness.is_walking() {
            self.walk(RescanReason::Doubt, Vec::new());
        } else if due.walk {
            self.walk(reason, Vec::new());
        }
    }

    fn look_at(&mut self, paths: BTreeSet<VaultPath>, folders: BTreeSet<VaultPath>) {
        if paths.iter().any(|path| self.watch.policy.is_ignore_file(path)) {
            if let Some(policy) = self.watch.renew_policy(&self.actor.place.vault) {
                self.actor.shared.policy.store(Some(policy));
            }
            return self.walk(RescanReason::Asked, Vec::new());
        }
        if self.watch.disk.root_id(&self.actor.place.vault.path).ok() != self.guard.root() {
            return self.walk(RescanReason::RootChanged, Vec::new());
        }
        if self.guard.doubt().is_some() {
            // Only a look at everything can end a doubt, and something has just come back.
            return self.walk(RescanReason::Doubt, Vec::new());
        }
        let few = folders.is_empty() && paths.len() <= AT_ONCE;
        let extent = Extent::Some { paths, folders };
        if few {
            let found = self.watch.disk.scan(&Look {
                root: &self.actor.place.vault.path,
                policy: &self.watch.policy,
                known: self.commit.known(),
                extent: &extent,
                max_bytes: self.actor.place.vault.max_note_bytes,
            });
            self.scanned(&extent, Vec::new(), found);
        } else if self.freshness.request(RescanReason::Asked, Vec::new()).is_some() {
            self.spawn_look(extent, RescanReason::Asked, Vec::new());
        }
    }

    /// Looks at everything; one look at a time.
    pub(in crate::indexer) fn walk(&mut self, reason: RescanReason, jobs: Vec<u64>) {
        if let Some(walk) = self.freshness.request(reason, jobs) {
            self.begin_walk(walk);
        }
    }

    pub(in crate::indexer) fn begin_walk(&mut self, walk: Walk) {
        self.spawn_look(Extent::Everything, walk.reason, walk.jobs);
    }

    fn spawn_look(&mut self, extent: Extent, reason: RescanReason, jobs: Vec<u64>) {
        tracing::debug!(vault = self.actor.place.vault.name, ?reason, "looking at the disk");
        let (disk, policy) = (self.watch.disk.clone(), self.watch.policy.clone());
        let (root, max_bytes) = (self.actor.place.vault.path.clone(), self.actor.place.vault.max_note_bytes);
        let (known, inbox) = (self.commit.known().clone(), self.actor.inbox.clone());
        let waiting = jobs.clone();
        let look = move || {
            let look = Look { root: &root, policy: &policy, known: &known, extent: &extent, max_bytes };
            let result = disk.scan(&look);
            drop(known);
            // The indexer may have ended meanwhile.
            let _ = inbox.send(Event::Scanned { extent, jobs, result });
        };
        if let Err(error) = machine::spawn("look", look) {
            tracing::error!(%error, "no thread to look at the disk with; trying again");
            self.freshness.failed_to_begin(machine::now() + RETURN_EVERY);
            self.fail_parts(&waiting, &format!("no thread to look at the disk with: {error}"));
        }
    }

    /// Turns what a look found into removals and tasks.
    pub(in crate::indexer) fn scanned(
        &mut self,
        extent: &Extent,
        jobs: Vec<u64>,
        result: Result<Findings, VaultError>,
    ) {
        let (began, watch) = (machine::now(), self.actor.engine.config.load().watch.clone());
        let whole = matches!(extent, Extent::Everything);
        if whole {
            let regular = self.actor.engine.throttle.walk_pause(watch.walk_interval);
            let pause = if self.watch.needs_poll() { watch.poll_interval } else { regular };
            self.freshness.walked(began, pause);
        }
        let findings = match result {
            Ok(findings) => findings,
            Err(error) => return self.unreadable(&error, &jobs),
        };
        if whole && self.work.is_idle() {
            self.take_rules();
        }
        self.was_read |= findings.root.is_some();
        let (mut findings, waiting) = self.check_again(findings);
        let returned = self.guard.waits_for_return() && findings.root.is_some();
        let root_changed = findings.root.is_some() && findings.root != self.guard.root();
        // In another folder nothing was seen to go.
        if root_changed {
            self.freshness.forget_hinted(true);
        }
        let lost = if whole { self.lost(&findings) } else { HashSet::new() };
        let seen = |notes| Seen { gone: lost.len(), notes, known: self.commit.known().len(), root: findings.root };
        let believed = match findings.seen.map(seen) {
            Some(seen) => self.guard.believes(seen, began, watch.doubt),
            None => true,
        };
        if let Some(doubt) = self.guard.doubt().filter(|_| !believed) {
            self.fail_parts(&self.work.jobs_of(&waiting), doubt);
        }
        if let Some(root) = findings.root.filter(|root| self.guard.adopt(*root)) {
            let Place { dir, vault_dir, vault, .. } = &self.actor.place;
            write_root_id((dir, vault_dir), root, &vault.path);
        }
        self.note_skipped(extent, &mut findings);
        for path in std::mem::take(&mut findings.unread) {
            self.freshness.unread(began, path);
        }
        let mut gone = std::mem::take(&mut findings.gone);
        gone.retain(|path| believed || !lost.contains(path));
        self.freshness.forget_hinted(false);
        let removed = self.remove(&gone, began);
        self.work.settle(&waiting, Settled::Changed);
        let touched: BTreeSet<&VaultPath> = findings.touched.iter().map(|touched| &touched.path).collect();
        self.work.settle_put_off(|path| extent.covers(path) && !touched.contains(path));
        let over = removed + findings.seen.unwrap_or(0).saturating_sub(findings.touched.len()) as u64;
        let mut tasks: Vec<Task> = findings.touched.into_iter().map(task).collect();
        // Converting documents takes time: notes do not wait for them.
        tasks.sort_by_key(is_converted);
        if tasks.len() <= AT_ONCE && jobs.is_empty() {
            let documents = tasks.split_off(tasks.partition_point(|task| !is_converted(task)));
            self.decide_here(tasks, began);
            if !documents.is_empty() {
                self.work.enqueue(documents, false);
            }
        } else {
            let quiet = tasks.len() > TOLD_AT_ONCE;
            if quiet {
                self.commit.bulk(true);
            }
            let doubt = self.guard.doubt().map(str::to_owned);
            for job in &jobs {
                let total = tasks.len() as u64 + over;
                self.actor.change_part(*job, |part| {
                    (part.total, part.done) = (Some(total), over);
                    part.changed += removed;
                    part.phase = "indexing".to_owned();
                });
            }
            if let Some(doubt) = doubt.filter(|_| !believed) {
                self.fail_parts(&jobs, &doubt);
            }
            self.work.enqueue_for(jobs, tasks, over, quiet);
        }
        if root_changed || returned {
            self.watch.begin(&self.actor.place, &self.actor.inbox);
        }
    }

    /// The notes that a look at everything found gone without a reason. What the user leaves out is not lost, nor what is
    /// there and no note any more, nor what the watcher has seen go.
    fn lost(&self, findings: &Findings) -> HashSet<VaultPath> {
        let is_there = |folder: &VaultPath| findings.folders.binary_search(folder).is_ok();
        let is_skipped = |path: &VaultPath| findings.skipped.binary_search_by(|(skipped, _)| skipped.cmp(path)).is_ok();
        let is_lost = |path: &&VaultPath| {
            self.watch.policy.verdict(path, false) == EntryKind::Note
                && !is_skipped(path)
                && !self.freshness.has_seen_go(path, is_there)
        };
        findings.gone.iter().filter(is_lost).cloned().collect()
    }

    /// Reads the notes again if an application's settings, which are not watched, say now that they are read otherwise.
    fn take_rules(&mut self) {
        let before = &self.commit.pipeline.rules;
        let rules = rules(&self.actor.place.vault, self.watch.disk.as_ref(), Some(before));
        if rules == *before {
            return;
        }
        let (engine, name) = (&self.actor.engine, &self.actor.shared.generation);
        let Some(config) = config_of(&engine.config.load(), name) else { return };
        let taken = self.commit.take_rules(rules, &config);
        self.attempt(taken);
        let again = self.commit.known().iter().map(|note| Task::again(note.path.clone())).collect();
        self.work.enqueue(again, true);
    }

    /// The root cannot be read: a doubt, not an empty vault.
    fn unreadable(&mut self, error: &VaultError, jobs: &[u64]) {
        // Whatever went with the vault may come back with it.
        self.freshness.forget_hinted(true);
        let vault = &self.actor.place.vault.name;
        // The sandbox's rules do not allow a folder that comes later, or again; a new process may read it.
        self.was_read |= !is_refused(error);
        let engine = &self.actor.engine;
        // A new process may read the folder that is there now. Without room for one, the next look asks again.
        let anew = self.is_kept_from(error).then(|| engine.control.ask_for_restart(&engine.config.load().data_dir));
        let why = match anew {
            Some(asked) => {
                let anew = asked.map_or_else(
                    |error| format!("has to start itself anew, and cannot now: {error}"),
                    |()| "starts itself anew".to_owned(),
                );
                format!(
                    "vault `{vault}` was mounted anew, or another folder is in its place, and the kernel lets this process \
                     read only what was there when it started: the daemon {anew}"
                )
            }
            None => format!(
                "vault `{vault}` cannot be read ({error}); its index is kept as it was and goes on when the vault is back"
            ),
        };
        self.fail_parts(jobs, &why);
        self.fail_parts(&self.work.jobs_put_off(), &why);
        self.work.settle_put_off(|_| true);
        self.guard.unreadable(why, machine::now());
    }

    /// Whether the [`sandbox`] keeps this process from reading the vault: its rules allow the folder that was there at
    /// the start. The same folder, mounted anew, is another one to the kernel.
    fn is_kept_from(&self, error: &VaultError) -> bool {
        is_refused(error)
            && sandbox::is_held()
            // Otherwise a new process might read it no better, and would be started for ever.
            && self.was_read
            && root::is_readable_by_mode(&self.actor.place.vault.path)
    }

    /// Checks findings again, for a look takes a while and saves are decided about meanwhile: a note found gone may be
    /// back, and a note found moved may be known at its new path. Also returns the batches that waited for notes that
    /// are gone.
    fn check_again(&mut self, mut findings: Findings) -> (Findings, Waiting) {
        let mut waiting = Waiting::default();
        let (now, max_bytes) = (machine::now(), self.actor.place.vault.max_note_bytes);
        for touched in &mut findings.touched {
            if self.commit.known().at(&touched.path).is_some() {
                findings.gone.extend(touched.moved_from.take());
            }
            let mut others = self.work.found(&touched.path, None);
            if let Some(old) = &touched.moved_from {
                others.extend(self.work.moved(old, &touched.path));
            }
            others.into_iter().for_each(|other| self.freshness.hint(now, Hint::Path(other)));
        }
        let NoteIndexer { actor, watch, freshness, work, .. } = self;
        findings.gone.retain(|path| {
            let is_back = watch.policy.verdict(path, false) == EntryKind::Note
                && match watch.disk.stat(&actor.place.vault.path, path) {
                    Ok(stat) => stat.size <= max_bytes,
                    // The state could not be read: that does not make the note gone.
                    Err(error) => !error.is_final(),
                };
            if is_back {
                work.doubt(path);
                freshness.hint(now, Hint::Path(path.clone()));
            } else {
                waiting.join(work.forget(path));
            }
            !is_back
        });
        (findings, waiting)
    }

    fn note_skipped(&mut self, extent: &Extent, findings: &mut Findings) {
        let beside = findings.beside.take().map(|beside| *beside);
        if let Some(Beside { attachments, .. }) = &beside {
            self.keep_attachments(extent, attachments);
        }
        match extent {
            Extent::Everything => {
                let file = |(path, why): &(VaultPath, _)| SkippedFile { path: path.to_string(), why: format!("{why}") };
                let mut status = self.actor.shared.status.lock();
                status.left_out = beside.unwrap_or_default().left_out;
                status.skipped_total = findings.skipped.len() as u64;
                status.skipped =
                    findings.skipped.iter().take(MOST_SKIPPED).map(|(p, why)| file(&(p.clone(), why))).collect();
                drop(status);
                self.watch.reconcile(std::mem::take(&mut findings.folders));
            }
            Extent::Some { .. } => {
                self.forget_skipped(|path| extent.covers(path));
                for (path, why) in std::mem::take(&mut findings.skipped) {
                    self.skip(&path, why.to_string(), &Waiting::default());
                }
            }
        }
    }

    /// These attachments are there in what was looked at, and no others.
    fn keep_attachments(&self, extent: &Extent, there: &[VaultPath]) {
        let known = self.actor.shared.attachments.load();
        let mut all: Vec<VaultPath> = known.iter().filter(|path| !extent.covers(path)).chain(there).cloned().collect();
        all.sort_unstable();
        all.dedup();
        self.actor.shared.attachments.store(Arc::new(all));
    }

    /// Paths that were skipped are looked at again: what still has to be skipped, `status` says again.
    pub(super) fn forget_skipped(&self, is_looked_at: impl Fn(&VaultPath) -> bool) {
        let mut status = self.actor.shared.status.lock();
        let before = status.skipped.len();
        status.skipped.retain(|file| !VaultPath::parse(&file.path).is_some_and(|path| is_looked_at(&path)));
        status.skipped_total -= (before - status.skipped.len()) as u64;
    }
}

fn is_converted(task: &Task) -> bool {
    Format::is_converted(task.path.as_str())
}

fn task(touched: Touched) -> Task {
    Task { moved_from: touched.moved_from, again: false, ..Task::again(touched.path) }
}

/// Whether the system says that this process may not read the vault.
fn is_refused(error: &VaultError) -> bool {
    matches!(error, VaultError::Unreadable { error, .. } if error.kind() == std::io::ErrorKind::PermissionDenied)
}
