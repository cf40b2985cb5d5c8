//! The loop's work: from hints to looks, from findings to tasks, from outcomes to what is published.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::decide::{Decided, Outcome, Task};
use super::doubt::RETURN_EVERY;
use super::handle::supervisor;
use super::keeper::AT_ONCE;
use super::pool::{Errand, look};
use super::rebuild::Run;
use super::report::{Decision, Notice};
use super::scan::{Extent, Findings, Touched, scan};
use super::{EngineError, Event, Loop, NEVER, now_s};
use crate::vault::root::{VaultError, git_locked, needs_polling, root_id};
use crate::vault::watch::Watcher;
use crate::vault::{Batch as Due, RescanReason, VaultPath};

/// How long an emptied note may be the first half of a truncate-and-write.
const EMPTY_FOR: Duration = Duration::from_secs(2);

impl Loop {
    /// Begins to watch a vault, or notes that it must be polled.
    pub(super) fn watch(&mut self, vault: u64) {
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let events = self.shared.events.clone();
        let sink = move |hint| {
            // The engine may have ended; then the hint is of no use to anyone.
            let _ = events.send(Event::Hint { vault, hint });
        };
        let remote = needs_polling(&keeper.config.path);
        let poll = keeper.config.poll.unwrap_or(remote.is_some());
        keeper.polled = poll.then(|| remote.unwrap_or("as configured").to_owned());
        keeper.watcher = None;
        if poll {
            return;
        }
        match Watcher::start(&keeper.config.path, keeper.policy.clone(), keeper.config.poll, sink) {
            Ok(watcher) => keeper.watcher = Some(watcher),
            Err(error) => {
                tracing::warn!(%error, vault = keeper.config.name, "this vault is polled instead of watched");
                keeper.polled = Some(error.to_string());
            }
        }
    }

    /// Takes what has been quiet long enough and looks at it.
    pub(super) fn flush_pending(&mut self) {
        let now = Instant::now();
        for vault in self.keepers.keys().copied().collect::<Vec<_>>() {
            let Some(keeper) = self.keepers.get_mut(&vault) else { continue };
            let locked = !keeper.pending.is_empty() && git_locked(&keeper.config.path);
            let due = keeper.pending.take(now, locked);
            let due_emptied: Vec<VaultPath> =
                keeper.emptied.iter().filter(|(_, at)| **at <= now).map(|(path, _)| path.clone()).collect();
            let look_again = keeper.doubt.as_ref().is_some_and(|doubt| doubt.look_at <= now);
            let walk_due = keeper.next_walk <= now && !keeper.scanning;
            let reason = if keeper.polled.is_some() { RescanReason::Poll } else { RescanReason::Interval };
            for path in &due_emptied {
                keeper.emptied.remove(path);
            }
            if !due_emptied.is_empty() {
                keeper.enqueue(due_emptied.into_iter().map(Task::again).collect(), Vec::new(), false);
            }
            match due {
                Some(Due::Walk(reason)) => self.scan(vault, Extent::Everything, reason, Vec::new()),
                Some(Due::Paths { paths, folders }) => self.look_at(vault, paths, folders),
                None => {}
            }
            if look_again {
                self.scan(vault, Extent::Everything, RescanReason::Doubt, Vec::new());
            } else if walk_due {
                self.scan(vault, Extent::Everything, reason, Vec::new());
            }
        }
    }

    fn look_at(
        &mut self,
        vault: u64,
        paths: std::collections::BTreeSet<VaultPath>,
        folders: std::collections::BTreeSet<VaultPath>,
    ) {
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        if paths.iter().any(|path| keeper.policy.is_ignore_file(path)) {
            keeper.renew_policy();
            return self.scan(vault, Extent::Everything, RescanReason::Asked, Vec::new());
        }
        if root_id(&keeper.config.path).ok() != keeper.root_id {
            return self.scan(vault, Extent::Everything, RescanReason::RootChanged, Vec::new());
        }
        if keeper.doubt.is_some() {
            // Only a look at everything can end a doubt, and something has just come back.
            return self.scan(vault, Extent::Everything, RescanReason::Doubt, Vec::new());
        }
        let few = folders.is_empty() && paths.len() <= AT_ONCE;
        let extent = Extent::Some { paths, folders };
        if !few {
            return self.scan(vault, extent, RescanReason::Asked, Vec::new());
        }
        let found =
            scan(&keeper.config.path, &keeper.policy, &keeper.known, &extent, keeper.config.max_note_bytes, &NEVER);
        self.scanned(vault, &extent, Vec::new(), found);
    }

    /// Looks at the disk on a thread of its own; one look per vault at a time.
    pub(super) fn scan(&mut self, vault: u64, extent: Extent, reason: RescanReason, jobs: Vec<u64>) {
        let Some(keeper) = self.keepers.get_mut(&vault) else {
            return self.end_jobs(&jobs, 0, 0, "failed");
        };
        if keeper.scanning {
            keeper.waiting_jobs.extend(jobs);
            keeper.scan_again = Some(reason);
            return;
        }
        keeper.scanning = true;
        tracing::debug!(vault = keeper.config.name, ?reason, "looking at the disk");
        let (root, policy) = (keeper.config.path.clone(), keeper.policy.clone());
        let (known, max_bytes) = (keeper.known.clone(), keeper.config.max_note_bytes);
        let events = self.shared.events.clone();
        let look = move || {
            let result = scan(&root, &policy, &known, &extent, max_bytes, &AtomicBool::new(false));
            // The engine may have ended meanwhile.
            let _ = events.send(Event::Scanned { vault, extent, jobs, result });
        };
        if let Err(error) = std::thread::Builder::new().name("look".to_owned()).spawn(look) {
            tracing::error!(%error, "no thread to look at the disk with; trying again");
            keeper.scanning = false;
            keeper.next_walk = Instant::now() + RETURN_EVERY;
        }
    }

    /// Turns what was found into removals and tasks.
    pub(super) fn scanned(
        &mut self,
        vault: u64,
        extent: &Extent,
        jobs: Vec<u64>,
        result: Result<Findings, VaultError>,
    ) {
        let config = self.shared.config.load().watch.clone();
        let whole = matches!(extent, Extent::Everything);
        let walk_pause = if whole { self.walk_pause(config.walk_interval) } else { Duration::ZERO };
        let Some(keeper) = self.keepers.get_mut(&vault) else { return self.end_jobs(&jobs, 0, 0, "failed") };
        if whole {
            let blind = keeper.watcher.as_ref().is_some_and(Watcher::needs_poll);
            let polled = keeper.polled.is_some() || blind;
            let pause = if polled { config.poll_interval } else { walk_pause };
            keeper.next_walk = Instant::now() + pause;
        }
        let mut findings = match result {
            Ok(findings) => keeper.check_again(findings),
            Err(error) => {
                keeper.doubt_gone(&error);
                if keeper.is_kept_from(&error) && supervisor() != "none" {
                    // Whoever supervises starts it again, and a new process may read the folder that is there now.
                    self.shared.wants_restart.store(true, Ordering::Relaxed);
                    self.shared.stopping.send_replace(true);
                }
                return self.end_jobs(&jobs, 0, 0, "failed");
            }
        };
        let returned = keeper.doubt.as_ref().is_some_and(|d| !d.second_look) && findings.root.is_some();
        let gone = keeper.believe(&findings, config.doubt);
        let root_changed = findings.root.is_some() && findings.root != keeper.root_id;
        if keeper.doubt.is_none()
            && let Some(root) = findings.root
        {
            keeper.remember_root(root);
        }
        match extent {
            Extent::Everything => {
                keeper.note_skipped(&findings);
                if let Some(watcher) = &keeper.watcher {
                    // Watches that were lost, or could not be placed before, are placed now.
                    watcher.reconcile(std::mem::take(&mut findings.folders));
                }
            }
            Extent::Some { paths, .. } => {
                paths.iter().for_each(|path| keeper.forget_skipped(path));
                findings.skipped.iter().for_each(|(path, why)| keeper.skip(path, why.to_string()));
            }
        }
        let began = Instant::now();
        let removed = keeper.remove(&gone, began);
        if let Err(error) = &removed {
            keeper.be_troubled(error);
        }
        let tasks: Vec<Task> = findings.touched.into_iter().map(task).collect();
        if tasks.len() <= AT_ONCE && jobs.is_empty() {
            // At full priority, here and now: a save does not wait for work in bulk.
            let outcomes = tasks.into_iter().map(|mut task| {
                // What a worker is finding out about the note may be older, so it will not count; if it was
                // to be decided about in any case, that is done here.
                task.again |= keeper.in_flight.remove(&task.path).is_some_and(|(_, again)| again);
                let outcome = look(&keeper.desk, &task);
                (task, outcome)
            });
            let outcomes = outcomes.collect();
            self.carry_out(vault, outcomes, began, false);
        } else {
            let quiet = tasks.len() > 100;
            if quiet {
                keeper.bulk(true);
            }
            for job in &jobs {
                self.shared.jobs.change(*job, |job| {
                    job.total = Some(tasks.len() as u64);
                    job.phase = "indexing".to_owned();
                });
            }
            keeper.enqueue(tasks, jobs, quiet);
        }
        if !self.keepers.get(&vault).is_some_and(|keeper| keeper.beside) {
            self.tell_removed(removed);
        }
        if root_changed || returned {
            self.watch(vault);
        }
    }

    /// Looks again for whoever asked while the last look went on.
    pub(super) fn scan_if_asked_meanwhile(&mut self, vault: u64) {
        if let Some(keeper) = self.keepers.get_mut(&vault)
            && let Some(reason) = keeper.scan_again.take()
        {
            let jobs = std::mem::take(&mut keeper.waiting_jobs);
            self.scan(vault, Extent::Everything, reason, jobs);
        }
    }

    fn tell_removed(&self, removed: Result<Vec<Decision>, EngineError>) {
        match removed {
            Ok(decisions) if decisions.len() <= 100 => decisions.into_iter().for_each(|d| self.shared.remember(d)),
            // An error was told of as the keeper's trouble.
            Ok(_) | Err(_) => {}
        }
    }

    /// Everything in a scope is decided anew.
    pub(super) fn rebuild(&mut self, vault: u64, job: u64, under: Option<&VaultPath>, batch: bool) {
        let Some(keeper) = self.keepers.get_mut(&vault) else { return self.end_jobs(&[job], 0, 0, "failed") };
        if keeper.desk.generation.costs {
            let run = Run::new(job, under.map(ToString::to_string), batch);
            // One part ends with the notes, one with the contexts.
            self.shared.jobs.add_part(job);
            if let Err(error) = keeper.begin_run(run) {
                keeper.be_troubled(&error);
            }
        }
        let mut paths: Vec<VaultPath> =
            keeper.known.keys().filter(|p| under.is_none_or(|u| p.is_under(u))).cloned().collect();
        paths.sort();
        if paths.len() > 100 {
            keeper.bulk(true);
        }
        self.shared.jobs.change(job, |job| {
            job.total = Some(job.total.unwrap_or(0) + paths.len() as u64);
            job.phase = "rebuilding".to_owned();
        });
        let quiet = paths.len() > 100;
        let since = keeper.contexts.run.as_ref().map_or_else(now_s, |run| run.began);
        keeper.enqueue(paths.into_iter().map(|path| Task::rebuild(path, since)).collect(), vec![job], quiet);
    }

    /// Sends queued tasks to the workers, as many as keep them busy.
    pub(super) fn feed(&mut self) {
        let mut room = self.pool.room();
        let flying: usize = self.keepers.values().map(|k| k.in_flight.len()).sum();
        if self.keepers.values().all(|keeper| keeper.queue.is_empty()) {
            return;
        }
        room = self.room(room).saturating_sub(flying);
        let level = self.brakes.level();
        for (vault, keeper) in &mut self.keepers {
            while room > 0
                && let Some((batch, mut task)) = keeper.next_task(level)
            {
                self.tickets += 1;
                // What it overtakes does not count any more, so what that was to do is done here.
                task.again |= keeper.in_flight.get(&task.path).is_some_and(|(_, again)| *again);
                keeper.in_flight.insert(task.path.clone(), (self.tickets, task.again));
                let desk = keeper.desk.clone();
                self.pool.send(Errand { vault: *vault, batch, ticket: self.tickets, desk, task });
                room -= 1;
            }
        }
    }

    /// Carries out what the workers have decided.
    pub(super) fn land(&mut self) {
        let began = Instant::now();
        let mut by_vault: std::collections::BTreeMap<u64, Vec<(u64, u64, Task, Outcome)>> =
            std::collections::BTreeMap::new();
        for (errand, outcome) in std::mem::take(&mut self.landed) {
            by_vault.entry(errand.vault).or_default().push((errand.batch, errand.ticket, errand.task, outcome));
        }
        for (vault, landed) in by_vault {
            let Some(keeper) = self.keepers.get_mut(&vault) else { continue };
            let mut outcomes = Vec::with_capacity(landed.len());
            let mut quiet = true;
            for (number, ticket, task, outcome) in landed {
                if let Some(batch) = keeper.batches.get_mut(&number) {
                    batch.left = batch.left.saturating_sub(1);
                    batch.done += 1;
                    batch.changed += u64::from(matches!(outcome, Outcome::Decided(_)));
                    quiet &= batch.quiet;
                    if let Outcome::Skipped(why) | Outcome::Unfit(why) = &outcome {
                        for job in &batch.jobs {
                            self.shared.jobs.fail_note(*job, task.path.as_str(), why);
                        }
                    }
                }
                // A newer look at the same note has overtaken this one.
                if keeper.in_flight.get(&task.path).is_some_and(|(newest, _)| *newest == ticket) {
                    keeper.in_flight.remove(&task.path);
                    outcomes.push((task, outcome));
                }
            }
            self.carry_out(vault, outcomes, began, quiet);
        }
    }

    /// Writes decisions to store and index, and tells of them.
    fn carry_out(&mut self, vault: u64, outcomes: Vec<(Task, Outcome)>, began: Instant, quiet: bool) {
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let now = Instant::now();
        let mut decided: Vec<(Task, Decided)> = Vec::new();
        let mut gone = Vec::new();
        let mut trouble = None;
        let mut stale = Vec::new();
        let embedder = &keeper.desk.generation.embedder.clone();
        for (task, outcome) in outcomes {
            let handled = match outcome {
                // Decided with the eyes of an embedder that does not serve any more.
                Outcome::Decided(found) if found.write.put.as_ref().is_some_and(|(r, _)| r.embedder != *embedder) => {
                    stale.push(Task { again: true, ..task });
                    Ok(())
                }
                Outcome::Decided(found) => {
                    keeper.emptied.remove(&task.path);
                    decided.push((task, *found));
                    Ok(())
                }
                Outcome::Touched(stat) => keeper.touch(&task.path, stat),
                Outcome::Gone => {
                    gone.extend(keeper.known.contains_key(&task.path).then_some(task.path));
                    Ok(())
                }
                Outcome::Unsettled => {
                    keeper.pending.mark(now, task.path);
                    Ok(())
                }
                Outcome::Emptied => {
                    keeper.emptied.insert(task.path, now + EMPTY_FOR);
                    Ok(())
                }
                Outcome::Unfit(why) => {
                    keeper.skip(&task.path, why);
                    gone.extend(keeper.known.contains_key(&task.path).then_some(task.path));
                    Ok(())
                }
                Outcome::Skipped(why) => {
                    keeper.skip(&task.path, why);
                    Ok(())
                }
                Outcome::Failed(error) => Err(EngineError::Store(error)),
            };
            trouble = trouble.or(handled.err());
        }
        if !stale.is_empty() {
            keeper.enqueue(stale, Vec::new(), quiet);
        }
        let decisions = keeper.apply(decided, began).unwrap_or_else(|error| {
            trouble.get_or_insert(error);
            Vec::new()
        });
        let removed = keeper.remove(&gone, began);
        if let Some(error) = trouble.as_ref().or(removed.as_ref().err()) {
            keeper.be_troubled(error);
        }
        if !quiet {
            // What is told of can be found: the snapshot comes first.
            if let Err(error) = keeper.publish_if_due(false) {
                keeper.be_troubled(&error);
            }
            if keeper.beside {
                return;
            }
            decisions.into_iter().for_each(|d| self.shared.remember(d));
            self.tell_removed(removed);
        }
    }

    /// Ends batches that are done, and the jobs that waited for them.
    pub(super) fn finish_batches(&mut self) {
        let mut ended = Vec::new();
        for keeper in self.keepers.values_mut() {
            for batch in keeper.batches.values() {
                for job in &batch.jobs {
                    let moved_on = self.shared.jobs.get(*job).is_ok_and(|job| job.done != batch.done);
                    if moved_on && let Some(job) = self.shared.jobs.change(*job, |job| job.done = batch.done) {
                        self.shared.notify(Notice::Job(Box::new(job)));
                    }
                }
            }
            let done: Vec<u64> = keeper.batches.iter().filter(|(_, b)| b.left == 0).map(|(n, _)| *n).collect();
            if done.is_empty() {
                continue;
            }
            if let Err(error) = keeper.publish_if_due(false) {
                keeper.be_troubled(&error);
            }
            let seq = keeper.shared.status().seq;
            for number in done {
                if let Some(batch) = keeper.batches.remove(&number) {
                    ended.push((batch.jobs, seq, batch.changed));
                }
            }
            if keeper.batches.is_empty() {
                keeper.bulk(false);
                crate::sandbox::give_memory_back();
            }
        }
        for (jobs, seq, changed) in ended {
            self.end_jobs(&jobs, seq, changed, "done");
        }
    }

    pub(super) fn end_jobs(&self, jobs: &[u64], seq: u64, changed: u64, state: &str) {
        for number in jobs {
            if let Some(job) = self.shared.jobs.end_part(*number, seq, changed, state) {
                self.shared.notify(Notice::Job(Box::new(job)));
            }
        }
    }

    /// Takes the tasks of cancelled jobs out of the queues.
    pub(super) fn drop_cancelled(&mut self) {
        let mut ended = Vec::new();
        for keeper in self.keepers.values_mut() {
            let jobs = &self.shared.jobs;
            let is_cancelled = |batch: &super::keeper::Batch| {
                !batch.jobs.is_empty() && batch.jobs.iter().all(|job| jobs.is_cancelled(*job))
            };
            let cancelled: Vec<u64> = keeper.batches.iter().filter(|(_, b)| is_cancelled(b)).map(|(n, _)| *n).collect();
            for number in cancelled {
                keeper.queue.retain(|(batch, _)| *batch != number);
                if let Some(batch) = keeper.batches.remove(&number) {
                    ended.push((batch.jobs, batch.changed));
                }
            }
        }
        for (jobs, changed) in ended {
            self.end_jobs(&jobs, 0, changed, "cancelled");
        }
    }
}

fn task(touched: Touched) -> Task {
    Task { moved_from: touched.moved_from, again: false, ..Task::again(touched.path) }
}
