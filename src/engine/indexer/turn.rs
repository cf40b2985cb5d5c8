//! The turns of an indexer's loop: they pass events to the sub-machines and do what these ask for.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use super::commit::{Committed, Removed};
use super::migration::{Around, Effect, EmbedderMigration, Fill};
use super::notes::{Change, NoteIndexer};
use super::rebuild::Run;
use super::{At, Event, Indexer, Place, migration_to};
use crate::decide::Task;
use crate::embedding;
use crate::embedding::serving;
use crate::error::CallError;
use crate::host::power::Brake;
use crate::jobs::Ended;
use crate::settings::Settings;
use crate::shared::{IndexerReport, Stage};
use crate::{EngineError, VaultShared};
use context::ContextRecord;
use note::VaultPath;
use protocol::jobs::JobKind;
use protocol::status::EmbedStatus;
use store::{CompactReport, Reclaimed};
use vault::RescanReason;

impl Indexer {
    /// Before the first turn: watches, goes on with what a former process left, and looks at everything.
    pub(super) fn begin(&mut self) {
        self.actor.engine.grapher.changed(&self.actor.shared);
        self.notes.watch.begin(&self.actor.place, &self.actor.inbox);
        self.resume_run();
        let job = (!self.actor.shared.is_inactive()).then(|| self.actor.begin_job(JobKind::Index, None));
        self.notes.walk(RescanReason::Start, job.into_iter().collect());
    }

    /// Takes the contexts of this generation's model that the archives of the vault's other generations have: it may
    /// have been built and dropped before.
    fn take_bought(&self) -> Result<(), String> {
        let (own, actor) = (&self.notes.commit.pipeline, &self.actor);
        if !own.generation.costs {
            return Ok(());
        }
        let is_other = |vault: &&Arc<VaultShared>| vault.id != actor.shared.id && vault.name == actor.shared.name;
        for other in actor.engine.all_indexers().iter().filter(is_other).filter_map(|vault| vault.pipeline()) {
            let notes = other.store.notes().map_err(|error| error.to_string())?;
            let by: HashSet<String> = notes.iter().map(|note| own.contextualizer(note.kind.as_deref())).collect();
            let is_own = |context: &ContextRecord| context.is_paid() && by.contains(&context.generation);
            own.take_from(&other.store, &actor.place.dir, &is_own)?;
        }
        Ok(())
    }

    pub(crate) fn take(&mut self, event: Event) {
        let now = machine::now();
        match event {
            Event::Hint(hint) => self.notes.freshness.hint(now, hint),
            Event::Looked { path, ticket, outcome } => self.notes.workers.landed.push((path, ticket, outcome)),
            Event::Scanned { extent, jobs, result } => {
                self.notes.freshness.ended();
                self.notes.scanned(&extent, jobs, result);
                if let Some(walk) = self.notes.freshness.following() {
                    self.notes.begin_walk(walk);
                }
            }
            Event::Sync { job, accept_deletes } => {
                if accept_deletes {
                    self.notes.guard.accept();
                }
                self.notes.walk(RescanReason::Asked, vec![job]);
            }
            Event::Refresh { since } => self.buy(|buyer, at, _| buyer.refresh(at, since)),
            Event::Consent { agreed, replace, reply } => {
                let mut said = Ok(());
                self.buy(|buyer, at, _| {
                    let done = buyer.set_agreed(at, agreed);
                    said = done.and_then(|()| if agreed { buyer.ask_at_first(at, replace) } else { Ok(()) });
                    Ok(())
                });
                self.notes.drop_over();
                let said = said.and_then(|()| self.set_agreed_to_embedder(agreed));
                // The status first, so that the caller finds it up to date. The caller may have gone.
                self.refresh_status();
                let _ = reply.send(said.map_err(|error| CallError::Storage(error.to_string())));
            }
            Event::Rebuild { job, covered, batch, agreed } => {
                let run = Run::new(job, covered.clone(), batch);
                let since = run.began;
                if self.notes.commit.pipeline.generation.costs {
                    // The job has two steps: one ends with the notes, one with the contexts.
                    self.actor.open_step(job);
                    self.buy(|buyer, at, _| {
                        if agreed && !buyer.is_refused(at) {
                            buyer.set_agreed(at, true)?;
                        }
                        buyer.begin_run(at, run)?;
                        if covered.stale { buyer.pending.rebuild_stale(at.pipeline, &covered) } else { Ok(()) }
                    });
                    self.notes.drop_over();
                }
                self.notes.rebuild(job, &covered, since);
            }
            Event::Build { job, reply } => {
                let taken = self.take_bought();
                match &taken {
                    Ok(()) => self.buy(|buyer, at, _| buyer.begin_build(at, job)),
                    Err(why) => self.actor.engine.fail_jobs(self.actor.shared.id, why),
                }
                let taken = taken.map_err(CallError::Storage);
                // The caller may have gone.
                let _ = reply.send(taken);
            }
            Event::Context { path, event } => self.buy(|buyer, at, _| buyer.take(at, path, event)),
            Event::Batch { ticket, event } => self.buy(|buyer, at, _| buyer.take_batch(at, ticket, event)),
            Event::Embedded(event) => self.embedded(event),
            Event::Opened { ticket, result } => {
                let Indexer { notes, migration, .. } = self;
                let known = notes.commit.known().iter().map(|note| &note.path);
                if let Some(migration) = migration {
                    migration.opened(ticket, result, &notes.commit.pipeline, known);
                }
            }
            Event::DryRun { ticket, notes } => {
                let taken = self.migration.as_mut().map_or(Ok(()), |migration| migration.looked_at(ticket, notes));
                self.notes.attempt(taken);
            }
            Event::Wake => {
                self.notes.drop_over();
                self.buy(|buyer, at, _| buyer.stop_cancelled_run(at));
                self.migration.iter_mut().for_each(EmbedderMigration::look_for_yes);
                let serving = self.notes.commit.pipeline.service.config();
                if embedding::is_refused(&serving, &self.actor.place.vault_dir) {
                    self.withdraw_embedder();
                }
            }
            Event::Resume => {
                self.buyer.resume();
                self.notes.commit.pipeline.service.resume();
                self.vectors.resume();
                self.migration.iter_mut().for_each(EmbedderMigration::resume);
            }
            Event::Reloaded(before) => self.reload(&before),
            Event::Stop { .. } => {}
        }
        self.take_changes();
    }

    /// Passes written and removed notes on to the parts that provide contexts and vectors.
    fn take_changes(&mut self) {
        let now = machine::now();
        if !self.notes.changes.is_empty() {
            self.upkeep.changed(now);
        }
        for change in std::mem::take(&mut self.notes.changes) {
            match change {
                Change::Written(committed, bulk) => {
                    let Committed { record, moved_from, missing, .. } = *committed;
                    let vault = (self.actor.shared.id, self.actor.place.vault.name.as_str());
                    self.vectors.ask(&self.notes.commit.pipeline, vault, &record, missing, bulk);
                    self.migration.iter_mut().for_each(|migration| migration.note_changed(&record.path));
                    if let Some(old) = &moved_from {
                        self.forget_vectors(old);
                        self.buyer.pending.moved(old, &record.path);
                    }
                    self.buyer.pending.written(&record, now);
                }
                Change::Removed(Removed { path, no, .. }) => {
                    self.forget_vectors(&path);
                    self.buyer.pending.removed(&path, no);
                }
            }
        }
    }

    /// A note is gone from a path: no embedder is shown it from there any more.
    fn forget_vectors(&mut self, path: &VaultPath) {
        self.vectors.forget(&self.notes.commit.pipeline, self.actor.shared.id, path);
        self.migration.iter_mut().for_each(|migration| migration.note_changed(path));
    }

    fn resume_run(&mut self) {
        let mut resumed = None;
        self.buy(|buyer, at, _| {
            resumed = buyer.resume_run(at)?;
            Ok(())
        });
        if let Some((job, tasks)) = resumed.filter(|(_, tasks)| !tasks.is_empty()) {
            self.notes.enqueue_rebuild(job, tasks);
        }
    }

    /// When this indexer has to act again without any event.
    pub(crate) fn next_wake(&self) -> Option<Instant> {
        let throttle = &self.actor.engine.throttle;
        if throttle.is_paused() {
            return None;
        }
        let level = throttle.level();
        if self.notes.work.under_way() == 0 && self.notes.work.can_go_on(level) {
            return Some(machine::now());
        }
        let kept = self.is_kept(level);
        let look = throttle.next_look().filter(|_| kept);
        let ready = self.notes.freshness.has_looked() && !self.notes.is_at_work();
        let migration = self.migration.as_ref().and_then(|migration| migration.next_wake(ready));
        let question = self.buyer.pending.next_question(self.actor.shared.is_inactive(), self.buyer.is_agreed());
        let sync = self.buyer.sync_left(&self.actor).map(|left| machine::now() + left);
        let asked = [question, sync].map(|at| at.filter(|_| !throttle.all_waits() && !self.notes.is_troubled()));
        let migration = migration.filter(|_| level == Brake::Off && self.notes.failure.is_none());
        let upkeep = self.upkeep.due().filter(|_| self.rests());
        [upkeep, look, self.notes.next_wake(), migration].into_iter().chain(asked).flatten().min()
    }

    fn poll_contexts(&mut self) {
        self.decide_again_with_contexts();
        let work = self.buyer_work();
        let Indexer { actor, notes, buyer, .. } = self;
        let at = At { actor, pipeline: &notes.commit.pipeline };
        let asked = buyer.ask(&at, work, |path| notes.work.is_looked_at(path));
        self.notes.attempt(asked);
        self.decide_again_with_contexts();
    }

    /// Brings what is shared up to date after a turn.
    pub(super) fn end_of_tick(&mut self) {
        self.take_changes();
        // The status first: a client that sees the new snapshot also sees what is still pending.
        self.refresh_status();
        self.notes.publish();
        self.notes.finish_batches();
        if !self.notes.is_troubled() {
            self.buy(|buyer, at, _| buyer.write_unkept(at));
        }
        self.decide_again_with_contexts();
        self.buy(|buyer, at, work| buyer.poll_batches(at, work));
        self.buy(|buyer, at, work| buyer.poll_run(at, work));
        self.refresh_status();
        self.keep_store_small();
    }

    /// Whether the indexer is idle: it looks at no note and is not about to, and the store has no vectors that no note
    /// names yet. Contexts may be under way.
    fn rests(&self) -> bool {
        let (throttle, notes) = (&self.actor.engine.throttle, &self.notes);
        let at_work = notes.is_at_work() || notes.freshness.waiting() > 0 || self.is_migrating();
        let held = throttle.is_paused() || throttle.level() != Brake::Off || notes.failure.is_some();
        !at_work && !held && self.vectors.waiting() == 0
    }

    /// Gives back space and memory that the store does not need, once in a while and only when the indexer is idle.
    fn keep_store_small(&mut self) {
        if !self.rests() || !self.upkeep.take_due(machine::now()) {
            return;
        }
        let began = machine::now();
        let reclaimed = self.notes.commit.pipeline.store.reclaim();
        if matches!(reclaimed, Ok(Reclaimed::More)) {
            self.upkeep.go_on();
        }
        if let Ok(Reclaimed::Space(CompactReport { before, after })) = reclaimed {
            let took = machine::since(began);
            tracing::info!(vault = self.actor.place.vault.name, before, after, ?took, "the database was made smaller");
        }
        if matches!(reclaimed, Ok(Reclaimed::Space(_) | Reclaimed::Pages)) {
            crate::host::give_memory_back();
        }
        self.notes.attempt(reclaimed.map(drop).map_err(Into::into));
    }

    /// Does what there is to do, unless the user has paused all work.
    pub(super) fn turn(&mut self) {
        if self.actor.engine.throttle.is_paused() {
            return;
        }
        self.notes.land();
        self.notes.look_at_what_is_due();
        self.take_changes();
        let has_work = self.has_work();
        let begins = !std::mem::replace(&mut self.notes.workers.had_work, has_work);
        if has_work {
            self.actor.engine.throttle.look(begins);
        }
        if !self.actor.engine.throttle.all_waits() {
            self.buy(|buyer, at, _| buyer.sync_if_due(at));
            self.poll_contexts();
        }
        self.poll_vectors();
        if self.actor.engine.throttle.level() == Brake::Off && self.notes.failure.is_none() {
            self.poll_migration();
        }
        self.notes.feed();
    }

    fn decide_again_with_contexts(&mut self) {
        let arrived = self.buyer.pending.take_arrived();
        if !arrived.is_empty() {
            self.notes.work.enqueue(arrived.into_iter().map(Task::again).collect(), false);
        }
    }

    /// Decides again about notes whose vectors have come.
    fn poll_vectors(&mut self) {
        let rests = self.notes.work.queued() + self.notes.work.under_way() == 0;
        let arrived = self.vectors.take_arrived(rests).into_iter();
        let known = arrived.filter(|path| self.notes.commit.known().at(path).is_some());
        let tasks: Vec<Task> = known.map(Task::again).collect();
        if !tasks.is_empty() {
            // Nothing new was decided, so there is nothing to announce.
            self.notes.work.enqueue(tasks, true);
        }
    }

    /// An embedder's worker says what came of a job.
    fn embedded(&mut self, event: embedding::worker::EmbedEvent) {
        let embedding::worker::EmbedEvent { identity, path, problem, .. } = event;
        if let Some(migration) = self.migration.as_mut().filter(|migration| migration.is_to(&identity)) {
            migration.came(path, problem);
        } else if self.notes.commit.pipeline.service.embedder.identity() == identity {
            self.vectors.came(path);
        }
    }

    /// Goes on with the change of embedders.
    fn poll_migration(&mut self) {
        let (looked, at_work) = (self.notes.freshness.has_looked(), self.notes.is_at_work());
        let Some(migration) = &mut self.migration else { return };
        let NoteIndexer { commit, watch, .. } = &self.notes;
        let around = Around { pipeline: &commit.pipeline, disk: &watch.disk, looked, at_work };
        match migration.poll(around) {
            Some(Effect::ChangeOver(fill)) => self.change_over(*fill),
            Some(Effect::Amend(records)) => {
                let amended = self.notes.commit.amend_embedder(&records);
                self.notes.attempt(amended);
            }
            Some(Effect::Over) => self.migration = None,
            None => {}
        }
    }

    /// The new embedder serves from here on.
    fn change_over(&mut self, fill: Fill) {
        let notes = fill.done.len() as u64;
        let changed = self.notes.commit.change_embedder(fill, &self.actor.place.dir);
        let Some(migration) = &mut self.migration else { return };
        match changed {
            Ok(over) => {
                tracing::info!(vault = self.actor.place.vault.name, notes, "another embedder has taken over");
                let job = migration.changed_over(over.records);
                self.vectors = super::PendingVectors::default();
                if !over.unseen.is_empty() {
                    self.notes.work.enqueue(over.unseen.into_iter().map(Task::again).collect(), true);
                }
                self.actor.change_part(job, |part| (part.done, part.total) = (notes, Some(notes)));
                self.actor.end_step(job, Ended::Done);
            }
            Err(error) => {
                // The store is opened again, and the migration begins anew from the cache.
                migration.failed(error.to_string());
                self.notes.fail(&error);
            }
        }
    }

    /// Another configuration is in force.
    fn reload(&mut self, before: &Settings) {
        let config = self.actor.engine.config.load_full();
        self.notes.freshness.set_timing((&config.watch).into());
        self.migration.iter_mut().for_each(EmbedderMigration::try_again);
        let serving = &self.notes.commit.pipeline.service;
        if serving.problem().is_some() {
            serving.resume();
        }
        let runtime = self.actor.engine.runtime(&self.actor.shared.generation);
        if !Arc::ptr_eq(&runtime, &self.buyer.pending.runtime) {
            // Answers that the old writer still owes arrive until then; the new writer asks again for the rest.
            self.buyer.replace_runtime(runtime, machine::now() + crate::DRAIN);
            self.buy(|buyer, at, _| {
                buyer.read_consent(at);
                buyer.take_up_batch(at);
                buyer.stop_run_of_others(at)
            });
            self.notes.drop_over();
        }
        if config.embed != before.embed {
            let taken = self.take_embedder(&config);
            self.notes.attempt(taken);
        }
    }

    /// Another `[embed]` is in force. The present embedder goes on serving; if the configuration asks for another one,
    /// the migration to it begins.
    fn take_embedder(&mut self, config: &Settings) -> Result<(), EngineError> {
        let Place { dir, vault_dir, .. } = &self.actor.place;
        let (service, asked_for) = serving(&self.actor.engine, config, (dir, vault_dir));
        self.vectors.ask_again(&self.notes.commit.pipeline, self.actor.shared.id);
        let taken = self.notes.commit.take_service(&service);
        self.migration.iter_mut().for_each(|m| m.end_job(Ended::Cancelled, "another embedder was asked for"));
        self.migration = (!asked_for).then(|| migration_to(&config.embed, &self.actor));
        taken
    }

    /// The user has taken back the yes to the embedder that serves: it is shown nothing more, and words alone answer.
    fn withdraw_embedder(&mut self) {
        tracing::info!(
            vault = self.actor.place.vault.name,
            "the embedder is shown no more notes: you took back your yes"
        );
        let taken = self.take_embedder(&self.actor.engine.config.load_full());
        self.notes.attempt(taken);
    }

    /// The user agrees to the embedder that is to take over, or takes that back, and also a yes to the one that serves.
    fn set_agreed_to_embedder(&mut self, agreed: bool) -> Result<(), EngineError> {
        let dir = self.actor.place.vault_dir.clone();
        let failed = |error| EngineError::io(&dir, &error);
        if let Some(migration) = &mut self.migration {
            migration.set_agreed(agreed).map_err(failed)?;
        }
        let mut serving = embedding::consent(&self.notes.commit.pipeline.service.config(), &dir);
        if !agreed && serving.set_agreed(&dir, false).map_err(failed)? {
            self.withdraw_embedder();
        }
        Ok(())
    }

    /// The state that `status` shows.
    fn refresh_status(&self) {
        // A vault that is gone cannot be watched either: that is said once, by the doubt.
        let watch_problem = self.notes.watch.problem().filter(|_| !self.notes.guard.waits_for_return());
        {
            let mut status = self.actor.shared.status.lock();
            let pending = self.notes.freshness.waiting() + self.notes.work.queued() + self.notes.work.under_way();
            status.pending = pending as u64;
            status.watch = self.notes.watch.mode().to_owned();
            status.watch_problem.clone_from(&watch_problem);
            status.doubt = self.notes.guard.doubt().map(str::to_owned);
        }
        self.actor.shared.set_incomplete(self.incomplete());
        let next = self.migration.as_ref().and_then(EmbedderMigration::service);
        let services = || [Some(&self.notes.commit.pipeline.service), next].into_iter().flatten();
        services().for_each(|service| service.pause(self.actor.engine.throttle.all_waits()));
        let serving = Some(&self.notes.commit.pipeline.service).filter(|_| self.vectors.waiting() > 0);
        *self.actor.shared.waited_for() = [serving, next].into_iter().flatten().cloned().collect();
        let waiting = self.buyer.pending.queue.len();
        let doubt = self.notes.guard.doubt().map(str::to_owned);
        let report = IndexerReport {
            stage: Stage::Open,
            notes: self.opened.clone(),
            problems: [doubt, watch_problem]
                .into_iter()
                .chain([self.notes.failure.as_ref().map(|failure| failure.why.clone())])
                .chain([self.buyer.pending.too_dear(), self.buyer.pending.problem()])
                .flatten()
                .collect(),
            model: self.buyer.pending.runtime.problem(waiting),
            vectors: self.vector_problems(),
            busy: !self.notes.work.is_idle() || !self.notes.freshness.has_looked(),
            flying: self.notes.work.under_way() > 0 || !self.notes.freshness.has_looked(),
            kept: self.is_kept(self.actor.engine.throttle.level()),
            bulk: self.notes.work.queued() > 0,
            unagreed: !self.buyer.is_agreed(),
            unreckoned: self.is_unreckoned(),
            waiting,
            asked: self.buyer.pending.asked(),
            vectors_offer: self.migration.as_ref().and_then(EmbedderMigration::offer),
            embedders: services().filter_map(|service| service.embedder.leaves_to()).collect(),
        };
        // The report of work is written before the counts, which may say that nothing waits: a reader that takes the
        // counts first and then the report misses no work.
        let changed = std::mem::replace(&mut *self.actor.shared.report(), report.clone()) != report;
        *self.actor.shared.counts.lock() = self.buyer.pending.counters.sum();
        let mut embedding = EmbedStatus { waiting: self.vectors.waiting(), ..EmbedStatus::default() };
        self.migration.iter().for_each(|migration| migration.status(&mut embedding));
        *self.actor.shared.embedding.lock() = embedding;
        if changed {
            self.actor.engine.control.tell_changed();
        }
    }

    /// Why notes that were saved may be missing from the answers, if so.
    fn incomplete(&self) -> Option<String> {
        let (notes, vault) = (&self.notes, &self.actor.place.vault.name);
        if let Some(failure) = &notes.failure {
            return Some(failure.why.clone());
        }
        if let Some(doubt) = notes.guard.doubt() {
            return Some(doubt.to_owned());
        }
        let paused = self.actor.engine.throttle.paused_until();
        if let Some(until) = paused.filter(|_| notes.freshness.waiting() + notes.work.queued() > 0) {
            return Some(format!(
                "vault `{vault}` has changed, and the answer may be older: {}",
                CallError::Paused(until)
            ));
        }
        if let Some((done, total)) = notes.work.bulk_of_saves() {
            return Some(format!(
                "vault `{vault}` is being indexed, {done} of {total} notes so far: the others may be missing here"
            ));
        }
        let is_first = !notes.freshness.has_looked() && notes.commit.known().is_empty();
        is_first.then(|| self.actor.shared.first_look())
    }

    /// Whether it is not known yet what the models are to do. What keeps that from going on may last, as a pause does, and
    /// is said elsewhere: then the records tell as much as is known.
    fn is_unreckoned(&self) -> bool {
        let throttle = &self.actor.engine.throttle;
        let reads = !self.notes.freshness.has_looked() || self.notes.work.has_saves();
        let reckons = self.migration.as_ref().is_some_and(EmbedderMigration::is_reckoning);
        let goes_on = !self.notes.is_troubled() && !throttle.all_waits();
        goes_on && (reads || (reckons && throttle.level() == Brake::Off))
    }

    /// Why vectors are not made at present.
    fn vector_problems(&self) -> Vec<String> {
        let service = &self.notes.commit.pipeline.service;
        let gone = service.embedder.gone_because().map(|why| {
            format!(
                "the embedder {} that made the vectors of vault `{}` cannot be used any more, so words alone answer \
                 until another is ready: {why}",
                service.embedder.identity(),
                self.actor.place.vault.name
            )
        });
        let next = self.migration.as_ref().and_then(|migration| migration.problem(gone.is_none()));
        [gone, next].into_iter().flatten().collect()
    }

    fn is_migrating(&self) -> bool {
        self.migration.as_ref().is_some_and(EmbedderMigration::is_at_work)
    }

    /// Whether there is work that no save waits for.
    fn has_work(&self) -> bool {
        let idle =
            self.notes.work.queued() == 0 && self.notes.work.under_way() == 0 && self.buyer.pending.queue.len() == 0;
        !idle || self.is_migrating() || self.vectors.waiting() > 0
    }

    /// Whether the battery keeps any work waiting.
    fn is_kept(&self, level: Brake) -> bool {
        match level {
            Brake::Off => false,
            Brake::Bulk => self.is_migrating() || self.notes.work.is_kept(level),
            Brake::All => self.has_work(),
        }
    }
}
