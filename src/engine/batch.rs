//! Rebuilds through the provider's batch interface: all wishes of a run handed in at once, at half the price, and
//! answered within a day. Here is the loop's part: when a batch begins, what it waits for, and what follows.
//!
//! While a run is `batch`, its wishes are not asked for one by one. A batch ends by making the run an ordinary one:
//! what it left is asked for in the normal way.

mod draft;
mod file;
mod judge;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::decide::Desk;
use super::due::Rank;
use super::keeper::Keeper;
use super::rebuild::Run;
use super::report::Notice;
use super::writer::{Told, Writer};
use super::{EngineError, Event, Loop};
use crate::config::Config;
use crate::fingerprint::{ContextKey, context_key};
use crate::plan::{Due, Reason};
use crate::store::{StoreError, record::NoteRecord};
use crate::vault::VaultPath;
use file::Files;
pub(super) use work::carry_out;

/// A batch to be handed in, or to be gone on with.
pub(super) struct BatchOrder {
    /// The vault's folder among the daemon's data.
    dir: PathBuf,
    run: u64,
    vault: u64,
    vault_name: String,
    desk: Arc<Desk>,
    /// What is wanted of which notes; of no account if the batch is under way.
    wishes: Vec<(VaultPath, Vec<(ContextKey, Due)>)>,
    /// Micro-dollars and tokens that the rebuild may take.
    rebuild: (u64, u64),
    /// Closed when nobody waits for it any more.
    control: watch::Receiver<Control>,
    tell: Arc<Tell>,
}

/// Tells the engine.
pub(super) type Tell = dyn Fn(BatchTold) + Send + Sync;

/// What is wanted of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// That it is handed in and waited for.
    Go,
    /// That nothing is handed in for a while.
    Pause,
    /// That it is given up; what is answered is taken all the same.
    Cancel,
}

/// What comes of a batch; the last is [`BatchTold::End`].
#[derive(Debug)]
pub(super) enum BatchTold {
    /// What it is at, for whoever looks at the job.
    Phase(String),
    /// Of a note.
    Note(VaultPath, Told),
    /// It is over.
    End(End),
}

/// How a batch ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Everything that was answered is in the journal.
    Done,
    /// It was not handed in, or cannot be gone on with, and why.
    OneByOne(String),
    /// The budget does not allow it.
    Stopped(String),
    /// Something cannot be written or read: it is gone on with when the vault is opened again.
    Failed(String),
}

/// A batch that the writer has.
pub(super) struct Handed {
    run: u64,
    control: watch::Sender<Control>,
    phase: String,
}

impl Keeper {
    /// What a run's job is at.
    pub(super) fn run_phase(&self, run: &Run) -> &str {
        let handed = self.contexts.handed.values().find(|handed| handed.run == run.id && !handed.phase.is_empty());
        handed.map_or("writing contexts", |handed| &handed.phase)
    }

    /// Whether a wish is not to be asked for alone.
    pub(super) fn waits_for_batch(&self, due: Due) -> bool {
        due.reason == Reason::Rebuild && self.contexts.run.as_ref().is_some_and(|run| run.batch)
    }

    /// The writer that had orders is gone: what it had is asked for again.
    pub(super) fn forget_writer(&mut self) {
        self.contexts.handed.clear();
        self.contexts.batches_sought = false;
        for path in std::mem::take(&mut self.contexts.ordered) {
            self.contexts.queue.put(path, Rank::Bulk, std::time::Instant::now());
        }
    }

    /// What a run wants and has not been asked for yet.
    fn batch_wishes(&self) -> Result<Vec<(VaultPath, Vec<(ContextKey, Due)>)>, StoreError> {
        let mut wishes = Vec::new();
        for record in self.desk.store.notes()? {
            let generation = self.desk.contextualizer(record.kind.as_deref());
            let mut dues = Vec::new();
            for chunk in &record.chunks {
                let Some(due) = chunk.due.filter(|due| due.reason == Reason::Rebuild && due.tries == 0) else {
                    continue;
                };
                let key = context_key(&chunk.keys, chunk.hash);
                let written = self.desk.written_by(self.desk.claimant(&record), key, &generation)?;
                if written.is_none_or(|context| context.written_at < due.since) {
                    dues.push((key, due));
                }
            }
            if !dues.is_empty() {
                wishes.push((record.path, dues));
            }
        }
        Ok(wishes)
    }

    /// A run goes on one by one.
    fn end_batch(&mut self, run: u64) -> Result<(), EngineError> {
        if let Some(run) = self.contexts.run.as_mut().filter(|ours| ours.id == run) {
            run.batch = false;
            self.remember_run()?;
        }
        let wants = |record: &NoteRecord| {
            record.chunks.iter().any(|chunk| chunk.due.is_some_and(|due| due.reason == Reason::Rebuild))
        };
        for record in self.desk.store.notes()?.into_iter().filter(wants) {
            if !self.contexts.ordered.contains(&record.path) {
                self.contexts.queue.put(record.path, Rank::Bulk, std::time::Instant::now());
            }
        }
        Ok(())
    }
}

impl Loop {
    /// Hands in the runs that want a batch, and tells batches that are under way what is wanted of them.
    pub(super) fn tend_batches(&mut self) {
        let paused = self.paused.is_some();
        for vault in self.keepers.keys().copied().collect::<Vec<_>>() {
            let Some(keeper) = self.keepers.get_mut(&vault) else { continue };
            let Some(seat) = self.seats.get(&keeper.generation) else { continue };
            let (Some(writer), config) = (seat.writer.clone(), seat.config.clone()) else { continue };
            let current = keeper.contexts.run.as_ref().map(|run| run.id);
            for handed in keeper.contexts.handed.values() {
                let wanted = match () {
                    () if current != Some(handed.run) => Control::Cancel,
                    () if paused => Control::Pause,
                    () => Control::Go,
                };
                handed.control.send_if_modified(|control| std::mem::replace(control, wanted) != wanted);
            }
            if paused || keeper.trouble.is_some() || keeper.doubt.is_some() {
                continue;
            }
            if !keeper.contexts.batches_sought {
                keeper.contexts.batches_sought = true;
                // Of rebuilds that were cancelled: what was answered of them is paid for.
                let left_over = Files::runs(&keeper.dir);
                for run in left_over.into_iter().filter(|run| Some(*run) != current) {
                    self.hand(&writer, &config, vault, run, Vec::new(), Control::Cancel);
                }
            }
            if let Err(error) = self.hand_in_run(&writer, &config, vault)
                && let Some(keeper) = self.keepers.get_mut(&vault)
            {
                keeper.be_troubled(&error);
            }
        }
    }

    /// Hands in what a run wants, once every note has been decided about.
    fn hand_in_run(&mut self, writer: &Writer, config: &Config, vault: u64) -> Result<(), EngineError> {
        let Some(keeper) = self.keepers.get_mut(&vault) else { return Ok(()) };
        let Some(run) = keeper.contexts.run.as_ref().filter(|run| run.batch) else { return Ok(()) };
        let (id, job) = (run.id, run.job);
        let deciding = keeper.batches.values().any(|batch| batch.jobs.contains(&job));
        if deciding || keeper.contexts.handed.values().any(|handed| handed.run == id) {
            return Ok(());
        }
        if writer.asker.client.batches().is_none() {
            let provider = writer.asker.model.provider.name();
            self.one_by_one(job, &format!("{provider} has no batch interface"));
            return self.keepers.get_mut(&vault).map_or(Ok(()), |keeper| keeper.end_batch(id));
        }
        let under_way = Files::new(&keeper.dir, id).exist();
        let wishes = if under_way { Vec::new() } else { keeper.batch_wishes()? };
        if wishes.is_empty() && !under_way {
            return keeper.end_batch(id);
        }
        self.hand(writer, config, vault, id, wishes, Control::Go);
        Ok(())
    }

    /// Gives a batch to the writer.
    fn hand(
        &mut self,
        writer: &Writer,
        config: &Config,
        vault: u64,
        run: u64,
        wishes: Vec<(VaultPath, Vec<(ContextKey, Due)>)>,
        wanted: Control,
    ) {
        self.tickets += 1;
        let ticket = self.tickets;
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let (control, inbox) = watch::channel(wanted);
        let events = self.shared.events.clone();
        let tell = move |told| {
            // The engine may have ended; what was told is in the journal.
            let _ = events.send(Event::Batch { vault, ticket, told });
        };
        writer.batch(BatchOrder {
            dir: keeper.dir.clone(),
            run,
            vault,
            vault_name: keeper.config.name.clone(),
            desk: keeper.desk.clone(),
            wishes,
            rebuild: (config.budget.rebuild, config.budget.rebuild_tokens),
            control: inbox,
            tell: Arc::new(tell),
        });
        keeper.contexts.handed.insert(ticket, Handed { run, control, phase: String::new() });
    }

    /// The writer says what came of a batch.
    pub(super) fn batch_told(&mut self, vault: u64, ticket: u64, told: BatchTold) {
        let told = match told {
            BatchTold::Note(path, told) => return self.told(vault, path, told),
            told => told,
        };
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let current = keeper.contexts.run.as_ref().map(|run| (run.id, run.job));
        match told {
            BatchTold::Note(..) => {}
            BatchTold::Phase(phase) => {
                let Some(handed) = keeper.contexts.handed.get_mut(&ticket) else { return };
                handed.phase.clone_from(&phase);
                if let Some((_, job)) = current.filter(|(run, _)| *run == handed.run) {
                    let changed = self.shared.jobs.change(job, |job| job.phase = phase);
                    changed.into_iter().for_each(|job| self.shared.notify(Notice::Job(Box::new(job))));
                }
            }
            BatchTold::End(end) => {
                // One of a writer that was replaced meanwhile ends nothing.
                let Some(Handed { run, .. }) = keeper.contexts.handed.remove(&ticket) else { return };
                let job = current.filter(|(current, _)| *current == run).map(|(_, job)| job);
                let ended = match &end {
                    End::Done | End::OneByOne(_) => keeper.end_batch(run),
                    End::Stopped(_) => Ok(()),
                    End::Failed(why) => Err(EngineError::Io { path: keeper.dir.join("batch"), message: why.clone() }),
                };
                if let Err(error) = ended {
                    keeper.be_troubled(&error);
                }
                match (end, job) {
                    (End::OneByOne(why), Some(job)) => self.one_by_one(job, &why),
                    (End::Stopped(why), Some(_)) => self.stop_run(vault, &why),
                    _ => {}
                }
            }
        }
    }

    /// A job does without a batch, and says so.
    fn one_by_one(&self, job: u64, why: &str) {
        tracing::warn!("no batch: {why}");
        let problem = format!("{why}; contexts are asked for one by one, at the full price");
        let changed = self.shared.jobs.change(job, |job| job.problem = Some(problem));
        changed.into_iter().for_each(|job| self.shared.notify(Notice::Job(Box::new(job))));
    }
}
