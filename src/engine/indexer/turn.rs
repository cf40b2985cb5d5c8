//! The turns of an indexer's loop: what events say goes to the sub-machines, and what these want done is done.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use super::commit::{Committed, Committer, Removed};
use super::deletion_guard::{RETURN_EVERY, Seen};
use super::disk::Look;
use super::dry_run::dry_run;
use super::freshness::Walk;
use super::migration::{Around, Effect, EmbedderMigration, Fill};
use super::reader::Assignment;
use super::rebuild::Run;
use super::scan::{Extent, Findings, Touched};
use super::work_queue::{AT_ONCE, Progress, Settled, Waiting};
use super::{Event, Indexer, write_root_id};
use crate::config::Config;
use crate::engine::decide::{Decided, Outcome, Task, read_note};
use crate::engine::embedding::{self, Service, serving};
use crate::engine::handle::supervisor;
use crate::engine::jobs::Ended;
use crate::engine::pool::look;
use crate::engine::report::{EmbedStatus, Notice, Scope, SkippedFile};
use crate::engine::shared::{IndexerReport, Stage};
use crate::engine::{EngineError, now_s, timing};
use crate::sandbox::landlock;
use crate::sandbox::power::Brake;
use crate::vault::policy::Verdict;
use crate::vault::root::VaultError;
use crate::vault::{Batch as Hinted, RescanReason, VaultPath};

/// Decisions that are told one by one when a look finds so many.
const TOLD_AT_ONCE: usize = 100;

/// Skipped files that `status` names.
const MOST_SKIPPED: usize = 100;

/// A look at a note that is over: what it was to do, what came of it, who waits for it.
type Looked = (Task, Outcome, Waiting);

impl Indexer {
    /// Before the first turn: watches, goes on with what a former process left, and looks at everything.
    pub(super) fn begin(&mut self) {
        self.engine.grapher.changed(&self.shared);
        self.watch.begin(&self.place, &self.inbox);
        self.resume_run();
        let scope = Scope { vault: Some(self.place.vault.name.clone()), path: None };
        let vault = (self.shared.id, self.place.vault.name.clone());
        let jobs = (!self.shared.is_inactive()).then(|| self.engine.jobs.begin("index", scope, [vault]));
        self.walk(RescanReason::Start, jobs.into_iter().collect());
    }

    pub(super) fn take(&mut self, event: Event) {
        let now = Instant::now();
        match event {
            Event::Hint(hint) => self.freshness.hint(now, hint),
            Event::Looked { path, ticket, outcome } => self.workers.landed.push((path, ticket, outcome)),
            Event::Scanned { extent, jobs, result } => {
                self.freshness.ended();
                self.scanned(&extent, jobs, result);
                if let Some(walk) = self.freshness.following() {
                    self.begin_walk(walk);
                }
            }
            Event::Sync { job, accept_deletes } => {
                if accept_deletes {
                    self.guard.accept();
                }
                self.walk(RescanReason::Asked, vec![job]);
            }
            Event::Refresh { since } => self.buy(|buyer, at, _| buyer.refresh(at, since)),
            Event::Rebuild { job, under, batch } => self.rebuild(job, under.as_ref(), batch),
            Event::Build { job, reply } => {
                self.buy(|buyer, at, _| buyer.begin_run(at, Run::new(job, None, false)));
                // Whoever asked may have gone.
                let _ = reply.send(Ok(()));
            }
            Event::Told { path, told } => self.buy(|buyer, at, _| buyer.take(at, path, told)),
            Event::Batch { ticket, told } => self.buy(|buyer, at, _| buyer.batch_told(at, ticket, told)),
            Event::Embedded(told) => self.embedded(told),
            Event::Opened { ticket, result } => {
                let begun = result.map_err(|error| error.to_string()).and_then(|service| self.begin_fill(service));
                if let Some(migration) = &mut self.migration {
                    migration.opened(ticket, begun, now);
                }
            }
            Event::DryRun { ticket, notes } => {
                let vault = (self.shared.id, self.place.vault.name.as_str());
                let taken = self.migration.as_mut().map_or(Ok(()), |m| m.looked_at(ticket, notes, vault));
                self.attempt(taken);
            }
            Event::Wake => {
                let jobs = &self.engine.jobs;
                let cancelled = self.work.take_cancelled(|job| jobs.is_cancelled(job));
                self.end_batches(cancelled, Ended::Cancelled);
                self.buy(|buyer, at, _| buyer.stop_cancelled_run(at));
            }
            Event::Resume => {
                self.buyer.resume();
                self.commit.desk.service.resume();
                self.migration.iter_mut().for_each(EmbedderMigration::resume);
            }
            Event::Reloaded(before) => self.reload(&before),
            Event::Stop { .. } => {}
        }
    }

    /// What there is to do, unless the user has paused it.
    pub(super) fn turn(&mut self) {
        if self.engine.throttle.is_paused() {
            return;
        }
        self.land();
        self.look_at_what_is_due();
        let has_work = self.has_work();
        let begins = has_work && !std::mem::replace(&mut self.workers.had_work, has_work);
        if has_work {
            self.engine.throttle.look(begins);
        }
        if !self.engine.throttle.all_waits() {
            self.buy(|buyer, at, _| buyer.sync_if_due(at));
            self.poll_contexts();
        }
        self.poll_vectors();
        if self.engine.throttle.level() == Brake::Off && self.failure.is_none() {
            self.poll_migration();
        }
        self.feed();
    }

    /// When this indexer has to act again without any event.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        let throttle = &self.engine.throttle;
        let kept = self.is_kept(throttle.level());
        let look = throttle.next_look().filter(|_| kept);
        if throttle.is_paused() {
            return look;
        }
        let locked = self.freshness.has_hints() && self.watch.disk.git_locked(&self.place.vault.path);
        let at_work = self.is_at_work();
        let at = self.engine.clone();
        let sync_left = self.buyer.sync_left(&super::At {
            engine: &at,
            shared: &self.shared,
            place: &self.place,
            desk: &self.commit.desk,
            inbox: &self.inbox,
        });
        let deadlines = [
            look,
            self.freshness.next_wake(locked),
            self.guard.look_at().filter(|_| !self.freshness.is_walking()),
            self.failure.as_ref().filter(|_| !at_work).map(|failure| failure.reopen_at),
            self.migration.as_ref().and_then(|m| m.next_wake(self.freshness.has_looked() && !at_work)),
            self.buyer.pending.next_question().filter(|_| !throttle.all_waits()),
            sync_left.filter(|_| !throttle.all_waits()).map(|left| Instant::now() + left),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Looks at what was hinted at and has been quiet, and at what is due by itself.
    fn look_at_what_is_due(&mut self) {
        let now = Instant::now();
        let locked = self.freshness.has_hints() && self.watch.disk.git_locked(&self.place.vault.path);
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
            if let Some(policy) = self.watch.renew_policy(&self.place.vault) {
                self.shared.policy.store(Some(policy));
            }
            return self.walk(RescanReason::Asked, Vec::new());
        }
        if self.watch.disk.root_id(&self.place.vault.path).ok() != self.guard.root() {
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
                root: &self.place.vault.path,
                policy: &self.watch.policy,
                known: self.commit.known(),
                extent: &extent,
                max_bytes: self.place.vault.max_note_bytes,
            });
            self.scanned(&extent, Vec::new(), found);
        } else if self.freshness.request_part() {
            self.spawn_look(extent, RescanReason::Asked, Vec::new());
        }
    }

    /// Looks at everything; one look at a time.
    fn walk(&mut self, reason: RescanReason, jobs: Vec<u64>) {
        if let Some(walk) = self.freshness.request(reason, jobs) {
            self.begin_walk(walk);
        }
    }

    fn begin_walk(&mut self, walk: Walk) {
        self.spawn_look(Extent::Everything, walk.reason, walk.jobs);
    }

    fn spawn_look(&mut self, extent: Extent, reason: RescanReason, jobs: Vec<u64>) {
        tracing::debug!(vault = self.place.vault.name, ?reason, "looking at the disk");
        let (disk, policy) = (self.watch.disk.clone(), self.watch.policy.clone());
        let (root, max_bytes) = (self.place.vault.path.clone(), self.place.vault.max_note_bytes);
        let (known, inbox) = (self.commit.known().clone(), self.inbox.clone());
        let waiting = jobs.clone();
        let look = move || {
            let look = Look { root: &root, policy: &policy, known: &known, extent: &extent, max_bytes };
            let result = disk.scan(&look);
            drop(known);
            // The indexer may have ended meanwhile.
            let _ = inbox.send(Event::Scanned { extent, jobs, result });
        };
        if let Err(error) = std::thread::Builder::new().name("look".to_owned()).spawn(look) {
            tracing::error!(%error, "no thread to look at the disk with; trying again");
            self.freshness.failed_to_begin(Instant::now() + RETURN_EVERY);
            self.fail_parts(&waiting, &format!("no thread to look at the disk with: {error}"));
        }
    }

    /// Turns what a look found into removals and tasks.
    fn scanned(&mut self, extent: &Extent, jobs: Vec<u64>, result: Result<Findings, VaultError>) {
        let (began, watch) = (Instant::now(), self.engine.config.load().watch.clone());
        let whole = matches!(extent, Extent::Everything);
        if whole {
            let regular = self.engine.throttle.walk_pause(watch.walk_interval);
            let pause = if self.watch.needs_poll() { watch.poll_interval } else { regular };
            self.freshness.walked(began, pause);
        }
        let findings = match result {
            Ok(findings) => findings,
            Err(error) => return self.unreadable(&error, &jobs),
        };
        let (mut findings, waiting) = self.check_again(findings);
        let returned = self.guard.waits_for_return() && findings.root.is_some();
        let root_changed = findings.root.is_some() && findings.root != self.guard.root();
        let seen =
            |notes| Seen { gone: findings.gone.len(), notes, known: self.commit.known().len(), root: findings.root };
        let believed = match findings.seen.map(seen) {
            Some(seen) => self.guard.believes(seen, began, watch.doubt),
            None => true,
        };
        if let Some(root) = findings.root.filter(|root| self.guard.adopt(*root)) {
            write_root_id(&self.place.dir, root);
        }
        self.note_skipped(extent, &mut findings);
        for path in std::mem::take(&mut findings.unread) {
            self.freshness.unread(began, path);
        }
        let gone = if believed { std::mem::take(&mut findings.gone) } else { Vec::new() };
        self.remove(&gone, began);
        self.work.settle(&waiting, Settled::Changed);
        let touched: BTreeSet<&VaultPath> = findings.touched.iter().map(|touched| &touched.path).collect();
        self.work.settle_put_off(|path| extent.covers(path) && !touched.contains(path));
        let unchanged = findings.seen.unwrap_or(0).saturating_sub(findings.touched.len()) as u64;
        let tasks: Vec<Task> = findings.touched.into_iter().map(task).collect();
        if tasks.len() <= AT_ONCE && jobs.is_empty() {
            self.decide_here(tasks, began);
        } else {
            let quiet = tasks.len() > TOLD_AT_ONCE;
            if quiet {
                self.commit.bulk(true);
            }
            let doubt = self.guard.doubt().map(str::to_owned);
            for job in &jobs {
                let total = tasks.len() as u64 + unchanged;
                self.engine.jobs.change(*job, self.shared.id, |part| {
                    (part.total, part.done) = (Some(total), unchanged);
                    part.phase = "indexing".to_owned();
                });
            }
            if let Some(doubt) = doubt.filter(|_| !believed) {
                self.fail_parts(&jobs, &doubt);
            }
            self.work.enqueue_for(jobs, tasks, unchanged, quiet);
        }
        if root_changed || returned {
            self.watch.begin(&self.place, &self.inbox);
        }
    }

    /// The root cannot be read: a doubt, not an empty vault.
    fn unreadable(&mut self, error: &VaultError, jobs: &[u64]) {
        let vault = &self.place.vault.name;
        let kept_from = self.is_kept_from(error);
        let why = if kept_from {
            format!(
                "another folder is in the place of vault `{vault}`, and the kernel lets this process read only the one \
                 that was there when it started; its index is kept as it was: start the daemon again, `situated \
                 service restart`, or `situated stop` and `situated run`"
            )
        } else {
            format!(
                "vault `{vault}` cannot be read ({error}); its index is kept as it was and goes on when the vault is back"
            )
        };
        self.fail_parts(jobs, &why);
        self.guard.unreadable(why, Instant::now());
        if kept_from && supervisor() != "none" {
            // Whoever supervises starts it again, and a new process may read the folder that is there now.
            self.engine.control.ask_for_restart();
        }
    }

    /// Whether it is what holds this process ([`crate::sandbox`]) that keeps it from reading the vault: its rules are
    /// about the folder that was there at the start.
    fn is_kept_from(&self, error: &VaultError) -> bool {
        let VaultError::Unreadable { error, .. } = error else { return false };
        error.kind() == std::io::ErrorKind::PermissionDenied
            && landlock::is_held()
            && self.watch.disk.root_id(&self.place.vault.path).is_ok_and(|root| Some(root) != self.guard.root())
    }

    /// A look takes a while, and saves are decided about meanwhile: what it says to be gone may be back, and what it
    /// says to have moved may be known where it is now. Returns, too, who waited for notes that are gone.
    fn check_again(&mut self, mut findings: Findings) -> (Findings, Waiting) {
        let mut waiting = Waiting::default();
        for touched in &mut findings.touched {
            if self.commit.known().contains_key(&touched.path) {
                findings.gone.extend(touched.moved_from.take());
            }
            if let Some(old) = &touched.moved_from {
                waiting.join(self.work.forget(old));
            }
        }
        let (now, max_bytes) = (Instant::now(), self.place.vault.max_note_bytes);
        let Indexer { watch, place, freshness, work, .. } = self;
        findings.gone.retain(|path| {
            let is_back = watch.policy.verdict(path, false) == Verdict::Note
                && match watch.disk.stat(&place.vault.path, path) {
                    Ok(stat) => stat.size <= max_bytes,
                    // Nobody could look: that does not make it gone.
                    Err(error) => !error.is_final(),
                };
            if is_back {
                work.doubt(path);
                freshness.hint(now, crate::vault::Hint::Path(path.clone()));
            } else {
                waiting.join(work.forget(path));
            }
            !is_back
        });
        (findings, waiting)
    }

    /// Decides at full priority, here and now: a save does not wait for work in bulk.
    fn decide_here(&mut self, tasks: Vec<Task>, began: Instant) {
        let mut looked = Vec::with_capacity(tasks.len());
        for mut task in tasks {
            // What a worker is finding out about the note may be older, so it will not count; what it was to do is done
            // here.
            let waiting = self.work.overtake(&mut task);
            let desk = &self.commit.desk;
            let outcome = match read_note(&*self.watch.disk, desk, &task) {
                Ok(read) => look(desk, &task, read),
                Err(outcome) => outcome,
            };
            looked.push((task, outcome, waiting));
        }
        self.carry_out(looked, began, false);
    }

    /// Everything in a scope is decided anew.
    fn rebuild(&mut self, job: u64, under: Option<&VaultPath>, batch: bool) {
        if self.commit.desk.generation.costs {
            let run = Run::new(job, under.map(ToString::to_string), batch);
            // One step ends with the notes, one with the contexts.
            self.engine.jobs.open_step(job, self.shared.id);
            self.buy(|buyer, at, _| buyer.begin_run(at, run));
        }
        let known = self.commit.known().keys();
        let mut paths: Vec<VaultPath> = known.filter(|p| under.is_none_or(|u| p.is_under(u))).cloned().collect();
        paths.sort();
        let quiet = paths.len() > TOLD_AT_ONCE;
        if quiet {
            self.commit.bulk(true);
        }
        let since = self.buyer.pending.run.as_ref().map_or_else(now_s, |run| run.began);
        let tasks: Vec<Task> = paths.into_iter().map(|path| Task::rebuild(path, since)).collect();
        self.enqueue_rebuild(job, tasks, quiet);
    }

    fn resume_run(&mut self) {
        let mut resumed = None;
        self.buy(|buyer, at, _| {
            resumed = buyer.resume_run(at)?;
            Ok(())
        });
        if let Some((job, tasks)) = resumed.filter(|(_, tasks)| !tasks.is_empty()) {
            let quiet = tasks.len() > TOLD_AT_ONCE;
            self.enqueue_rebuild(job, tasks, quiet);
        }
    }

    fn enqueue_rebuild(&mut self, job: u64, tasks: Vec<Task>, quiet: bool) {
        self.engine.jobs.change(job, self.shared.id, |part| {
            part.total = Some(tasks.len() as u64);
            part.phase = "rebuilding".to_owned();
        });
        self.work.enqueue_for(vec![job], tasks, 0, quiet);
    }

    /// Sends queued tasks to be read and decided about, as many as keep the workers busy.
    fn feed(&mut self) {
        if self.work.queued() == 0 {
            return;
        }
        let pool = &self.workers.pool;
        let (room, tight) = self.engine.throttle.fitting(pool.room(), pool.workers());
        if tight {
            // The words of a bulk are gathered in memory; a note at a time they are not.
            self.commit.bulk(false);
        }
        let level = self.engine.throttle.level();
        let mut room = room.saturating_sub(self.work.under_way());
        while room > 0
            && let Some((ticket, task)) = self.work.next(level)
        {
            let (inbox, path) = (self.inbox.clone(), task.path.clone());
            let answer = Box::new(move |outcome| {
                // The indexer may have ended; then nobody needs the outcome.
                let _ = inbox.send(Event::Looked { path, ticket, outcome });
            });
            self.workers.reader.send(Assignment { desk: self.commit.desk.clone(), task, answer });
            room -= 1;
        }
    }

    /// Carries out what the workers have decided.
    fn land(&mut self) {
        let began = Instant::now();
        let mut looked = Vec::new();
        let mut quiet = true;
        for (path, ticket, outcome) in std::mem::take(&mut self.workers.landed) {
            if let Some((task, waiting)) = self.work.landed(&path, ticket) {
                quiet &= self.work.is_quiet(&waiting);
                looked.push((task, outcome, waiting));
            }
        }
        if !looked.is_empty() {
            self.carry_out(looked, began, quiet);
        }
    }

    /// Writes decisions to store and index, and tells of them unless `quiet`.
    fn carry_out(&mut self, looked: Vec<Looked>, began: Instant, quiet: bool) {
        let now = Instant::now();
        let mut decided: Vec<(VaultPath, Decided)> = Vec::new();
        let (mut gone, mut stale) = (Vec::new(), Vec::new());
        let (mut changed, mut unchanged) = (Waiting::default(), Waiting::default());
        let embedder = self.commit.desk.generation.embedder.clone();
        for (task, outcome, waiting) in looked {
            let path = task.path.clone();
            match outcome {
                // Decided with the eyes of an embedder that does not serve any more.
                Outcome::Decided(found) if found.write.put.as_ref().is_some_and(|(r, _)| r.embedder != embedder) => {
                    stale.push(Task { again: true, ..task.clone() });
                    self.work.put_off(task, waiting);
                }
                Outcome::Decided(found) => {
                    self.freshness.read(&path);
                    decided.push((path, *found));
                    changed.join(waiting);
                }
                Outcome::Touched(stat) => {
                    self.freshness.read(&path);
                    let touched = self.commit.touch(&path, stat);
                    self.attempt(touched);
                    unchanged.join(waiting);
                }
                Outcome::Gone => {
                    self.freshness.read(&path);
                    gone.push(path);
                    unchanged.join(waiting);
                }
                Outcome::Unsettled => {
                    self.freshness.hint(now, crate::vault::Hint::Path(path));
                    self.work.put_off(task, waiting);
                }
                Outcome::Emptied => {
                    self.freshness.emptied(now, path);
                    unchanged.join(waiting);
                }
                Outcome::Unfit(why) => {
                    self.skip(&path, why, &waiting);
                    gone.push(path);
                    unchanged.join(waiting);
                }
                Outcome::Skipped(why) => {
                    self.skip(&path, why, &waiting);
                    unchanged.join(waiting);
                }
                Outcome::Unreadable(why) => {
                    self.freshness.unread(now, path.clone());
                    self.skip(&path, why, &waiting);
                    unchanged.join(waiting);
                }
                Outcome::Failed(error) => {
                    self.fail_waiting(&path, &error.to_string(), &waiting);
                    self.fail(&EngineError::Store(error));
                    unchanged.join(waiting);
                }
            }
        }
        if !stale.is_empty() {
            self.work.enqueue(stale, quiet);
        }
        gone.retain(|path| self.commit.known().contains_key(path));
        self.apply(decided, &changed, began, quiet);
        self.remove(&gone, began);
        self.work.settle(&changed, Settled::Changed);
        self.work.settle(&unchanged, Settled::Unchanged);
    }

    fn apply(&mut self, decided: Vec<(VaultPath, Decided)>, waiting: &Waiting, began: Instant, quiet: bool) {
        if decided.is_empty() {
            return;
        }
        let (bulk, now) = (Committer::is_bulk(decided.len()), Instant::now());
        let first = decided[0].0.clone();
        let committed = self.commit.apply(decided, began).unwrap_or_else(|error| {
            self.fail_waiting(&first, &error.to_string(), waiting);
            self.fail(&error);
            Vec::new()
        });
        let mut decisions = Vec::with_capacity(committed.len());
        let vault = (self.shared.id, self.place.vault.name.as_str());
        for Committed { record, moved_from, missing, decision } in committed {
            self.vectors.order(&self.commit.desk, vault, &record, missing, bulk);
            if let Some(migration) = &mut self.migration {
                [Some(&record.path), moved_from.as_ref()].into_iter().flatten().for_each(|p| migration.note_changed(p));
            }
            if let Some(old) = &moved_from {
                self.buyer.pending.queue.remove(old);
            }
            self.buyer.pending.written(&record, now);
            decisions.push(decision);
        }
        if quiet {
            return;
        }
        // What is told of can be found: the snapshot comes first.
        let published = self.commit.publish_if_due(false);
        self.attempt(published);
        if !self.shared.is_inactive() {
            decisions.into_iter().for_each(|decision| self.engine.feed.remember(decision));
        }
    }

    /// Takes notes out of store and index, and tells of them if they are few.
    fn remove(&mut self, paths: &[VaultPath], began: Instant) {
        let removed = self.commit.remove(paths, began).unwrap_or_else(|error| {
            self.fail(&error);
            Vec::new()
        });
        let told = removed.len() <= TOLD_AT_ONCE && !self.shared.is_inactive();
        let mut decisions = Vec::new();
        for Removed { path, no, decision } in removed {
            self.migration.iter_mut().for_each(|migration| migration.note_changed(&path));
            self.buyer.pending.removed(&path, no);
            decisions.extend(decision.filter(|_| told));
        }
        if !decisions.is_empty() {
            let published = self.commit.publish_if_due(false);
            self.attempt(published);
            decisions.into_iter().for_each(|decision| self.engine.feed.remember(decision));
        }
    }

    /// A note cannot be indexed now: `status` and the jobs that wait for it say why.
    fn skip(&mut self, path: &VaultPath, why: String, waiting: &Waiting) {
        self.fail_waiting(path, &why, waiting);
        self.commit.distrust(path);
        self.forget_skipped(path);
        let mut status = self.shared.status();
        status.skipped_total += 1;
        if status.skipped.len() < MOST_SKIPPED {
            status.skipped.push(SkippedFile { path: path.to_string(), why });
        }
    }

    fn fail_waiting(&self, path: &VaultPath, why: &str, waiting: &Waiting) {
        for job in self.work.jobs_of(waiting) {
            self.engine.jobs.change(job, self.shared.id, |part| part.fail_note(path.as_str(), why));
        }
    }

    /// Somebody looks at a path that was skipped: if it still has to be, that is told again.
    fn forget_skipped(&self, path: &VaultPath) {
        let mut status = self.shared.status();
        let before = status.skipped.len();
        status.skipped.retain(|file| file.path != path.as_str());
        status.skipped_total -= (before - status.skipped.len()) as u64;
    }

    fn note_skipped(&mut self, extent: &Extent, findings: &mut Findings) {
        match extent {
            Extent::Everything => {
                let file = |(path, why): &(VaultPath, _)| SkippedFile { path: path.to_string(), why: format!("{why}") };
                let mut status = self.shared.status();
                status.skipped_total = findings.skipped.len() as u64;
                status.skipped =
                    findings.skipped.iter().take(MOST_SKIPPED).map(|(p, why)| file(&(p.clone(), why))).collect();
                drop(status);
                self.watch.reconcile(std::mem::take(&mut findings.folders));
            }
            Extent::Some { paths, .. } => {
                paths.iter().for_each(|path| self.forget_skipped(path));
                for (path, why) in std::mem::take(&mut findings.skipped) {
                    self.skip(&path, why.to_string(), &Waiting::default());
                }
            }
        }
    }

    fn poll_contexts(&mut self) {
        self.decide_again_with_contexts();
        let Indexer { engine, shared, place, commit, inbox, buyer, work, .. } = self;
        let at = super::At { engine, shared, place, desk: &commit.desk, inbox };
        let troubled = self.failure.is_some() || self.guard.doubt().is_some();
        let working = super::Work { deciding: false, landing: false, troubled };
        let asked = buyer.ask(&at, working, |path| work.is_looked_at(path));
        self.attempt(asked);
        self.decide_again_with_contexts();
    }

    fn decide_again_with_contexts(&mut self) {
        let arrived = self.buyer.pending.take_arrived();
        if !arrived.is_empty() {
            self.work.enqueue(arrived.into_iter().map(Task::again).collect(), false);
        }
    }

    /// Decides again about notes whose vectors have come.
    fn poll_vectors(&mut self) {
        let arrived = self.vectors.take_arrived().into_iter();
        let known = arrived.filter(|path| self.commit.known().contains_key(path));
        let tasks: Vec<Task> = known.map(Task::again).collect();
        if !tasks.is_empty() {
            // Nothing new was decided, so nobody is told of it.
            self.work.enqueue(tasks, true);
        }
    }

    /// An embedder's worker says what came of an order.
    fn embedded(&mut self, told: embedding::worker::Told) {
        let embedding::worker::Told { identity, path, problem, .. } = told;
        if let Some(migration) = self.migration.as_mut().filter(|migration| migration.is_to(&identity)) {
            let effects = migration.came(path, problem);
            self.carry_out_migration(effects);
        } else if self.commit.desk.service.embedder.identity() == identity {
            self.vectors.came(path);
        }
    }

    /// Goes on with the change of embedders.
    fn poll_migration(&mut self) {
        let config = self.engine.config.load_full();
        let (looked, at_work) = (self.freshness.has_looked(), self.is_at_work());
        let Some(migration) = &mut self.migration else { return };
        let cancelled = migration.job > 0 && self.engine.jobs.is_cancelled(migration.job);
        let around = Around { now: Instant::now(), looked, at_work, cancelled, budget: &config.budget };
        let effects = migration.poll(&around);
        self.carry_out_migration(effects);
    }

    fn begin_fill(&self, service: Arc<Service>) -> Result<Fill, String> {
        let budget = self.engine.config.load().budget.clone();
        let known = self.commit.known().keys();
        Fill::begin(&self.commit.desk, known, service, &budget).map_err(|error| error.to_string())
    }

    fn carry_out_migration(&mut self, effects: Vec<Effect>) {
        let (vault, now) = (self.shared.id, Instant::now());
        for effect in effects {
            let Some(migration) = &mut self.migration else { return };
            let (job, ticket) = (migration.job, migration.ticket());
            let jobs = &self.engine.jobs;
            match effect {
                Effect::Begin => {
                    let name = self.place.vault.name.clone();
                    let scope = Scope { vault: Some(name.clone()), path: None };
                    migration.job = jobs.begin("embed", scope, [(vault, name)]);
                }
                Effect::Open(wanted) => {
                    let (engine, inbox) = (self.engine.clone(), self.inbox.clone());
                    let open = move || {
                        let result = Service::open(&engine, &wanted, None);
                        // The indexer may have ended meanwhile.
                        let _ = inbox.send(Event::Opened { ticket, result });
                    };
                    if let Err(error) = std::thread::Builder::new().name("open-embedder".to_owned()).spawn(open) {
                        migration.failed(error.to_string(), now);
                    }
                }
                Effect::DryRun(desk, paths) => {
                    let (disk, inbox, notes) = (self.watch.disk.clone(), self.inbox.clone(), paths.clone());
                    let look = move || {
                        crate::sandbox::background_thread();
                        let notes = dry_run(&*disk, &desk, notes);
                        drop(desk);
                        let _ = inbox.send(Event::DryRun { ticket, notes });
                    };
                    if let Err(error) = std::thread::Builder::new().name("dry-run".to_owned()).spawn(look) {
                        tracing::error!(%error, "no thread to look at notes with");
                        migration.not_looked_at(paths);
                    }
                }
                Effect::Estimated(estimate) => self.engine.tell_job(jobs.change(job, vault, |part| {
                    part.phase = "embedding".to_owned();
                    part.estimate = Some(estimate);
                })),
                Effect::Progress(done, total) => {
                    jobs.change(job, vault, |part| part.total = Some(total));
                    self.engine.tell_job(jobs.progress(job, vault, done));
                }
                Effect::ChangeOver(fill) => self.change_over(*fill, job),
                Effect::Amend(records) => {
                    let amended = self.commit.amend_embedder(&records);
                    self.attempt(amended);
                }
                Effect::GiveUp(why) => {
                    let ended = if jobs.is_cancelled(job) { Ended::Cancelled } else { Ended::Failed };
                    migration.job = 0;
                    self.engine.tell_job(jobs.end_part(job, vault, ended, Some(why)));
                }
                Effect::Over => self.migration = None,
            }
        }
    }

    /// The new embedder serves from here on.
    fn change_over(&mut self, fill: Fill, job: u64) {
        let (notes, vault) = (fill.done.len() as u64, self.shared.id);
        let changed = self.commit.change_embedder(fill, &self.place.dir);
        let Some(migration) = &mut self.migration else { return };
        match changed {
            Ok(over) => {
                tracing::info!(vault = self.place.vault.name, notes, "another embedder has taken over");
                migration.changed_over(over.records);
                self.vectors = super::EmbedQueue::default();
                if !over.unseen.is_empty() {
                    self.work.enqueue(over.unseen.into_iter().map(Task::again).collect(), true);
                }
                let seq = self.shared.status().seq;
                let jobs = &self.engine.jobs;
                jobs.change(job, vault, |part| (part.done, part.total) = (notes, Some(notes)));
                self.engine.tell_job(jobs.end_step(job, vault, Ended::Done, seq));
            }
            Err(error) => {
                // The store is opened again, and everything begun anew from the cache.
                migration.failed(error.to_string(), Instant::now());
                self.fail(&error);
            }
        }
    }

    /// Another configuration is in force.
    fn reload(&mut self, before: &Config) {
        let config = self.engine.config.load_full();
        self.freshness.set_timing(timing(&config.watch));
        self.migration.iter_mut().for_each(EmbedderMigration::try_again);
        let runtime = self.engine.runtime(&self.place.generation);
        if !Arc::ptr_eq(&runtime, &self.buyer.pending.runtime) {
            // What the old writer still has comes, or is asked for again by the new one.
            self.buyer.replace_runtime(runtime, Instant::now() + crate::engine::DRAIN);
        }
        if config.embed != before.embed {
            let taken = self.take_embedder(&config);
            self.attempt(taken);
        }
    }

    /// Another `[embed]` is in force. Who serves goes on serving; if it is another that is asked for, that begins to be
    /// made ready.
    fn take_embedder(&mut self, config: &Config) -> Result<(), EngineError> {
        let (service, asked_for) = serving(&self.engine, config, &self.place.dir);
        let taken = self.commit.take_service(&service);
        if let Some(job) = self.migration.as_ref().map(|migration| migration.job).filter(|job| *job > 0) {
            let why = "another embedder was asked for".to_owned();
            let ended = self.engine.jobs.end_part(job, self.shared.id, Ended::Cancelled, Some(why));
            self.engine.tell_job(ended);
        }
        self.migration = (!asked_for).then(|| EmbedderMigration::new(config.embed.clone()));
        self.vectors.ask_again();
        taken
    }

    /// Ends batches that are over, and the parts of the jobs that waited for them.
    fn end_batches(&self, batches: Vec<Progress>, ended: Ended) {
        let (vault, seq) = (self.shared.id, self.shared.status().seq);
        for Progress { jobs, done, changed } in batches {
            for job in jobs {
                self.engine.jobs.change(job, vault, |part| {
                    part.done = done;
                    part.changed += changed;
                });
                self.engine.tell_job(self.engine.jobs.end_step(job, vault, ended, seq));
            }
        }
    }

    /// What these jobs asked of this vault cannot be had.
    fn fail_parts(&self, jobs: &[u64], why: &str) {
        for job in jobs {
            let failed = self.engine.jobs.end_part(*job, self.shared.id, Ended::Failed, Some(why.to_owned()));
            self.engine.tell_job(failed);
        }
    }

    /// Brings what is shared up to date after a turn.
    pub(super) fn end_of_tick(&mut self) {
        let bulk = self.work.queued() > 0 || self.work.under_way() > 0;
        let published = self.commit.publish_if_due(bulk);
        self.attempt(published);
        self.announce();
        // The same notes in fewer segments: nobody's answers change.
        let merged = self.commit.follow_merges();
        self.attempt(merged);
        self.shared.take_unannounced();
        let lost = self.commit.take_lost();
        if !lost.is_empty() {
            self.work.enqueue(lost.into_iter().map(Task::again).collect(), true);
        }
        self.finish_batches();
        self.buy(|buyer, at, work| buyer.poll_batches(at, work));
        self.buy(|buyer, at, work| buyer.poll_run(at, work));
        self.refresh_status();
    }

    /// Tells that other answers are given from now on.
    fn announce(&self) {
        if !self.shared.take_unannounced() || self.shared.is_inactive() {
            return;
        }
        self.engine.grapher.changed(&self.shared);
        let status = self.shared.status();
        let (vault, seq) = (status.name.clone(), status.seq);
        let (notes, chunks) = (status.notes, status.chunks);
        drop(status);
        self.engine.feed.notify(Notice::Index { vault, seq, notes, chunks });
    }

    fn finish_batches(&mut self) {
        for Progress { jobs, done, .. } in self.work.progress() {
            for job in jobs {
                self.engine.tell_job(self.engine.jobs.progress(job, self.shared.id, done));
            }
        }
        let finished = self.work.take_finished();
        if finished.is_empty() {
            return;
        }
        let published = self.commit.publish_if_due(false);
        self.attempt(published);
        self.announce();
        if self.work.has_no_batch() {
            self.commit.bulk(false);
            crate::sandbox::give_memory_back();
        }
        self.end_batches(finished, Ended::Done);
    }

    /// The state that `status` shows.
    fn refresh_status(&self) {
        *self.shared.counts() = self.buyer.pending.tally.sum();
        let mut embedding = EmbedStatus { waiting: self.vectors.waiting(), ..EmbedStatus::default() };
        self.migration.iter().for_each(|migration| migration.status(&mut embedding));
        *self.shared.embedding() = embedding;
        let watch_problem = self.watch.problem();
        {
            let mut status = self.shared.status();
            let pending = self.freshness.waiting() + self.work.queued() + self.work.under_way();
            status.pending = pending as u64;
            status.watch = self.watch.mode().to_owned();
            status.watch_problem.clone_from(&watch_problem);
            status.doubt = self.guard.doubt().map(str::to_owned);
        }
        let next = self.migration.as_ref().and_then(EmbedderMigration::service);
        let services = || [Some(&self.commit.desk.service), next].into_iter().flatten();
        services().for_each(|service| service.pause(self.engine.throttle.all_waits()));
        let waiting = self.buyer.pending.queue.len();
        let report = IndexerReport {
            stage: Stage::Open,
            notes: self.notes.clone(),
            problems: [self.guard.doubt().map(str::to_owned), watch_problem]
                .into_iter()
                .chain([self.failure.as_ref().map(|failure| failure.why.clone())])
                .flatten()
                .collect(),
            model: self.buyer.pending.runtime.problem(waiting),
            vectors: self.vector_problems(),
            busy: !self.work.is_idle() || !self.freshness.has_looked(),
            flying: self.work.under_way() > 0 || !self.freshness.has_looked(),
            kept: self.is_kept(self.engine.throttle.level()),
            bulk: self.work.queued() > 0,
            waiting,
            asked: self.buyer.pending.asked(),
            rebuilding: self.buyer.run_job().is_some(),
            embedders: services().filter_map(|service| service.embedder.leaves_to()).collect(),
        };
        if std::mem::replace(&mut *self.shared.report(), report.clone()) != report {
            self.engine.changed();
        }
    }

    /// Why vectors are not made at present.
    fn vector_problems(&self) -> Vec<String> {
        let service = &self.commit.desk.service;
        let waits = self.vectors.waiting() > 0;
        let gone = service.embedder.gone_because().map(|why| {
            format!(
                "the embedder {} that made the vectors of vault `{}` cannot be used any more, so words alone answer \
                 until another is ready: {why}",
                service.embedder.identity(),
                self.place.vault.name
            )
        });
        let next = self.migration.as_ref().and_then(EmbedderMigration::problem);
        [service.problem().filter(|_| waits), gone, next].into_iter().flatten().collect()
    }

    /// Whether there is work that no save waits for.
    fn has_work(&self) -> bool {
        let idle = self.work.queued() == 0 && self.work.under_way() == 0 && self.buyer.pending.queue.len() == 0;
        !idle || self.migration.is_some() || self.vectors.waiting() > 0
    }

    /// Whether the battery keeps any of it waiting.
    fn is_kept(&self, level: Brake) -> bool {
        match level {
            Brake::Off => false,
            Brake::Bulk => self.migration.is_some() || self.work.is_kept(level),
            Brake::All => self.has_work(),
        }
    }
}

fn task(touched: Touched) -> Task {
    Task { moved_from: touched.moved_from, again: false, ..Task::again(touched.path) }
}
