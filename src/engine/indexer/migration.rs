//! The migration from one embedder to another. The old one serves while the vectors of the new one are made; then the
//! vault changes over at once: one published pair of snapshot and embedder takes the place of another.
//!
//! First a dry run looks at every note for the new embedder ([`super::dry_run`]) and tells which vectors have to be
//! made and what that costs. If the user has to agree to that, the migration waits for the yes. Then it orders the
//! missing vectors, a few notes at a time, and looks at each note again when they have come; it also looks again at
//! notes that are saved meanwhile. When no note lacks anything the vault changes over. All vectors are in the cache on
//! disk, so a process that dies loses a batch at most, and switching back finds everything.
//!
//! It opens embedders, begins dry runs and tells of its job by itself; what changes the index it returns.

mod fill;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::disk::Disk;
use super::dry_run::DryRun;
use super::{ActorContext, Event};
use crate::EngineError;
use crate::consent::ConsentState;
use crate::decide::NotePipeline;
use crate::embedding::{Service, has_dimensions};
use crate::jobs::Ended;
use fill::Held;
pub(super) use fill::{Fill, forget_run, with_embedder};
use index::embed::settings::EmbedConfig;
use note::VaultPath;
use note::fingerprint::InputHash;
use protocol::contexts::{Estimate, Offer, OfferedWork};
use protocol::jobs::JobKind;
use protocol::status::EmbedStatus;
use provider::EmbedError;

/// Records that are brought up to date in one turn, after the vault has changed over.
const AMENDED: usize = 256;

/// Delay before a failed step is retried, for example when a provider did not tell its dimensions.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// The inputs of a note's chunks.
type Inputs = Vec<Vec<InputHash>>;

/// A migration under way.
pub(super) struct EmbedderMigration {
    actor: Arc<ActorContext>,
    config: EmbedConfig,
    /// Whether the user lets the embedder see notes.
    consent: ConsentState,
    stage: Stage,
    /// The job that reports the migration; 0 before it began.
    job: u64,
    /// Tells events of this change from those of another.
    ticket: u64,
}

enum Stage {
    /// The embedder is not open; tried at `at`.
    Closed { at: Instant, why: Option<String> },
    /// It is being opened on a thread of its own.
    Opening { why: Option<String> },
    /// Its vectors are being made.
    Filling(Box<Fill>),
    /// The user is to agree to what it takes.
    Waiting(Estimate),
    /// It was refused, or given up.
    Ended(String),
    /// The vault has changed over; these notes' records have yet to say so.
    Over(Vec<(VaultPath, Inputs)>),
}

/// The state of the indexer, as far as the migration depends on it.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) pipeline: &'a NotePipeline,
    pub(super) disk: &'a Arc<dyn Disk>,
    /// Whether the disk was looked at since the vault was opened.
    pub(super) looked: bool,
    /// Whether anything is being decided about.
    pub(super) at_work: bool,
}

/// What the indexer is to do.
pub(super) enum Effect {
    /// All vectors are there: the vault is to change over.
    ChangeOver(Box<Fill>),
    /// These records are to be brought up to date.
    Amend(Vec<(VaultPath, Inputs)>),
    /// Nothing is left to be done.
    Over,
}

impl EmbedderMigration {
    pub(super) fn new(actor: &Arc<ActorContext>, config: EmbedConfig, consent: ConsentState) -> Self {
        static TICKETS: AtomicU64 = AtomicU64::new(1);
        let (stage, ticket) =
            (Stage::Closed { at: machine::now(), why: None }, TICKETS.fetch_add(1, Ordering::Relaxed));
        EmbedderMigration { actor: actor.clone(), config, consent, stage, job: 0, ticket }
    }

    /// Goes on. Returns what the indexer is to do now.
    pub(super) fn poll(&mut self, around: Around<'_>) -> Option<Effect> {
        let job = (self.job, self.ticket);
        match &mut self.stage {
            Stage::Closed { .. } | Stage::Opening { .. } | Stage::Filling(_)
                if self.job > 0 && self.actor.is_cancelled(self.job) =>
            {
                self.give_up("it was cancelled; `situated resume` has it tried again".to_owned());
            }
            Stage::Closed { at, why } if *at <= machine::now() && around.looked && !around.at_work => {
                self.stage = Stage::Opening { why: why.take() };
                self.open(around.pipeline);
            }
            Stage::Filling(fill) => match fill.poll(&self.actor, around, job, self.consent.is_agreed()) {
                Ok(()) if !fill.is_full() || around.at_work => {}
                Ok(()) if fill.is_mostly_refused() => {
                    self.give_up(
                        "it refused more than half of the texts; `situated resume` has it tried again".to_owned(),
                    );
                }
                Ok(()) => return self.change_over(),
                Err(Held::Refused(why)) => self.give_up(why),
                Err(Held::Unagreed(estimate)) => self.wait(estimate),
            },
            Stage::Over(rest) if rest.is_empty() => return Some(Effect::Over),
            Stage::Over(rest) => return Some(Effect::Amend(rest.split_off(rest.len().saturating_sub(AMENDED)))),
            Stage::Closed { .. } | Stage::Opening { .. } | Stage::Waiting(_) | Stage::Ended(_) => {}
        }
        None
    }

    /// Opens the embedder, on a thread that may wait. The job begins only once the user has agreed.
    fn open(&mut self, pipeline: &NotePipeline) {
        if self.job == 0 && self.consent.is_agreed() {
            let (provider, model) = (self.config.provider.name(), self.config.model());
            tracing::info!(provider, model, "another embedder is to take over");
            self.job = self.actor.begin_job(JobKind::Embed, None);
        }
        let (actor, wanted, ticket) = (self.actor.clone(), self.config.clone(), self.ticket);
        // If it is the one that served, after a yes was taken back or at another address, nobody has to be asked.
        let (served, asked) = (&pipeline.service.embedder, pipeline.service.config().dimensions);
        let dimensions = served.dimensions();
        let is_it = has_dimensions(&wanted, dimensions, asked) && wanted.identity(dimensions) == served.identity();
        let known = is_it.then_some(dimensions);
        let open = move || {
            let result = Service::open(&actor.engine, &wanted, known);
            // The indexer may have ended meanwhile.
            let _ = actor.inbox.send(Event::Opened { ticket, result });
        };
        if let Err(error) = machine::spawn("open-embedder", open) {
            self.failed(error.to_string());
        }
    }

    /// Hands out the vectors; whether the vault could change over is said by [`EmbedderMigration::changed_over`] or
    /// [`EmbedderMigration::failed`].
    fn change_over(&mut self) -> Option<Effect> {
        match std::mem::replace(&mut self.stage, Stage::Over(Vec::new())) {
            Stage::Filling(fill) => return Some(Effect::ChangeOver(fill)),
            other => self.stage = other,
        }
        None
    }

    /// Waits for the user's yes; until then the embedder is shown no note.
    fn wait(&mut self, estimate: Estimate) {
        let (provider, model) = (self.config.provider.name(), self.config.model());
        tracing::info!(provider, model, "vectors wait for your yes: `situated contexts start`");
        self.stage = Stage::Waiting(estimate);
    }

    /// The user agrees, or takes that back: the migration goes on or waits, and keeps the vectors that it has made. Nobody
    /// agrees to what was not offered.
    ///
    /// # Errors
    /// What the user said cannot be written down; then what was said before holds.
    pub(super) fn set_agreed(&mut self, agreed: bool) -> std::io::Result<()> {
        if agreed && self.offer().is_none() {
            return Ok(());
        }
        let changed = self.consent.set_agreed(&self.actor.place.vault_dir, agreed)?;
        if changed && !matches!(self.stage, Stage::Over(_) | Stage::Ended(_)) {
            self.begin_anew();
        }
        if changed && !agreed {
            self.end_job(Ended::Cancelled, "the user took the yes back");
        }
        Ok(())
    }

    /// Begins again under the same job with another ticket, so that events of the previous attempt are ignored.
    fn begin_anew(&mut self) {
        let anew = EmbedderMigration::new(&self.actor, self.config.clone(), self.consent.clone());
        *self = EmbedderMigration { job: self.job, ..anew };
    }

    /// Checks whether the user has agreed meanwhile: the yes may have gone to another generation of the vault.
    pub(super) fn look_for_yes(&mut self) {
        if matches!(self.stage, Stage::Waiting(_)) && self.consent.read_again(&self.actor.place.vault_dir) {
            self.begin_anew();
        }
    }

    /// The work that the user has to agree to, if any.
    pub(super) fn offer(&self) -> Option<Offer> {
        let estimate = match &self.stage {
            Stage::Waiting(estimate) => estimate,
            Stage::Filling(fill) => fill.approved.as_ref()?,
            _ => return None,
        };
        self.consent.offer(&self.actor.place.vault.name, OfferedWork::Vectors, estimate.clone())
    }

    /// Whether the user has to agree to it, and what it takes is not known yet.
    pub(super) fn is_reckoning(&self) -> bool {
        let known = match &self.stage {
            Stage::Closed { why, .. } | Stage::Opening { why } => why.is_some(),
            Stage::Filling(fill) => fill.approved.is_some(),
            Stage::Waiting(_) | Stage::Ended(_) | Stage::Over(_) => true,
        };
        self.consent.terms().is_some() && !known
    }

    /// Whether there is work to do: not while it waits for the user, nor once it has ended.
    pub(super) fn is_at_work(&self) -> bool {
        !matches!(self.stage, Stage::Waiting(_) | Stage::Ended(_))
    }

    fn give_up(&mut self, why: String) {
        tracing::warn!("the embedder does not take over: {why}");
        self.end_job(self.actor.ended_early(self.job), &why);
        self.stage = Stage::Ended(why);
    }

    /// Ends the job, if one has begun.
    pub(super) fn end_job(&mut self, ended: Ended, why: &str) {
        if self.job > 0 {
            self.actor.end_part(std::mem::take(&mut self.job), ended, why.to_owned());
        }
    }

    /// The embedder was opened, or could not be; its vectors are made of the `known` notes.
    pub(super) fn opened<'a>(
        &mut self,
        ticket: u64,
        result: Result<Arc<Service>, EmbedError>,
        pipeline: &NotePipeline,
        known: impl Iterator<Item = &'a VaultPath>,
    ) {
        if self.ticket != ticket || !matches!(self.stage, Stage::Opening { .. }) {
            return;
        }
        let budget = &self.actor.engine.config.load().budget;
        let begin = |service| Fill::begin(pipeline, known, service, budget).map_err(|error| error.to_string());
        match result.map_err(|error| error.to_string()).and_then(begin) {
            Ok(fill) => self.stage = Stage::Filling(Box::new(fill)),
            Err(why) => self.failed(why),
        }
    }

    /// A dry run has looked at notes for the new embedder.
    pub(super) fn looked_at(&mut self, ticket: u64, notes: Vec<DryRun>) -> Result<(), EngineError> {
        match &mut self.stage {
            Stage::Filling(fill) if self.ticket == ticket => fill.take(notes, &self.actor),
            _ => Ok(()),
        }
    }

    /// The vault has changed over; these records have yet to say so. Returns the job, which is over.
    pub(super) fn changed_over(&mut self, records: Vec<(VaultPath, Inputs)>) -> u64 {
        self.stage = Stage::Over(records);
        std::mem::take(&mut self.job)
    }

    /// A step failed: everything begins anew, from the cache.
    pub(super) fn failed(&mut self, why: String) {
        self.stage = Stage::Closed { at: machine::now() + ASK_AGAIN, why: Some(why) };
    }

    /// Whether it waits for vectors of this identity.
    pub(super) fn is_to(&self, identity: &str) -> bool {
        matches!(&self.stage, Stage::Filling(fill) if fill.service.embedder.identity() == identity)
    }

    /// Vectors of a note have come, or its part of the job failed.
    pub(super) fn came(&mut self, path: VaultPath, problem: Option<String>) {
        let Stage::Filling(fill) = &mut self.stage else { return };
        fill.ordered.remove(&path);
        fill.todo.insert(path);
        if let Some(why) = problem {
            self.give_up(why);
        }
    }

    /// A note was decided about, or removed.
    pub(super) fn note_changed(&mut self, path: &VaultPath) {
        if let Stage::Filling(fill) = &mut self.stage {
            fill.forget(self.actor.shared.id, path);
            fill.done.remove(path);
            fill.lacking.remove(path);
            fill.todo.insert(path.clone());
        }
    }

    /// What keeps it from going on; `serves` says whether the present embedder can be used.
    pub(super) fn problem(&self, serves: bool) -> Option<String> {
        let name = self.config.model();
        let other = if serves { ", and another goes on serving" } else { "" };
        match &self.stage {
            Stage::Closed { why: Some(why), .. } | Stage::Opening { why: Some(why) } => {
                Some(format!("the embedder {name} cannot be asked{other}: {why}"))
            }
            Stage::Ended(why) => Some(format!("the embedder {name} does not take over: {why}")),
            // The embedder itself reports why it does not answer.
            Stage::Closed { .. } | Stage::Opening { .. } | Stage::Filling(_) | Stage::Waiting(_) | Stage::Over(_) => {
                None
            }
        }
    }

    /// The user says that it works again.
    pub(super) fn resume(&mut self) {
        if let Stage::Filling(fill) = &self.stage {
            fill.service.resume();
        }
        self.try_again();
    }

    /// Tries again: the reason for the end may be gone.
    pub(super) fn try_again(&mut self) {
        if matches!(self.stage, Stage::Closed { .. } | Stage::Waiting(_) | Stage::Ended(_)) {
            self.stage = Stage::Closed { at: machine::now(), why: None };
        }
    }

    /// When it must be polled even without an event; `ready` says that the vault has nothing else to do.
    pub(super) fn next_wake(&self, ready: bool) -> Option<Instant> {
        match &self.stage {
            Stage::Closed { at, .. } => ready.then_some(*at),
            Stage::Over(_) => Some(machine::now()),
            Stage::Opening { .. } | Stage::Filling(_) | Stage::Waiting(_) | Stage::Ended(_) => None,
        }
    }

    /// The embedder that is being made ready.
    pub(super) fn service(&self) -> Option<&Arc<Service>> {
        match &self.stage {
            Stage::Filling(fill) => Some(&fill.service),
            _ => None,
        }
    }

    /// For `status`.
    pub(super) fn status(&self, status: &mut EmbedStatus) {
        status.next = Some(match &self.stage {
            Stage::Filling(fill) => fill.service.embedder.identity().to_owned(),
            Stage::Over(_) => return,
            _ => format!("{} {}", self.config.provider.name(), self.config.model()),
        });
        if let Stage::Filling(fill) = &self.stage {
            (status.done, status.total) = (status.done + fill.finished(), status.total + fill.total());
        }
    }
}

#[cfg(test)]
mod tests;
