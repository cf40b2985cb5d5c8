//! The migration from one embedder to another. The old one serves while the vectors of the new one are made; then the
//! vault changes over at once: one published pair of snapshot and embedder takes the place of another.
//!
//! First a dry run looks at every note for the new embedder ([`super::dry_run`]) and tells which vectors have to be
//! made and what that costs. If the user has to agree to that, the migration waits for the yes. Then it orders the
//! missing vectors, a few notes at a time, and looks at each note again when they have come; it also looks again at
//! notes that are saved meanwhile. When no note lacks anything the vault changes over. All vectors are in the cache on
//! disk, so a process that dies loses a batch at most, and switching back finds everything.
//!
//! A state machine: it takes what happened and the time, and returns what is to be done.

mod fill;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::dry_run::DryRun;
use crate::EngineError;
use crate::consent::ConsentState;
use crate::decide::NotePipeline;
use crate::embedding::Service;
use fill::Held;
pub(super) use fill::{Fill, forget_run, with_embedder};
use index::embed::settings::EmbedConfig;
use note::VaultPath;
use note::fingerprint::InputHash;
use protocol::contexts::{Estimate, Offer, OfferedWork};
use protocol::status::EmbedStatus;
use provider::settings::BudgetConfig;

/// Records that are brought up to date in one turn, after the vault has changed over.
const AMENDED: usize = 256;

/// Delay before a failed step is retried, for example when a provider did not tell its dimensions.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// The inputs of a note's chunks.
type Inputs = Vec<Vec<InputHash>>;

/// A migration under way.
pub(super) struct EmbedderMigration {
    config: EmbedConfig,
    /// Whether the user lets the embedder see notes.
    consent: ConsentState,
    stage: Stage,
    /// The job that reports the migration; 0 before it began.
    pub(super) job: u64,
    /// Tells events of this change from those of another.
    pub(super) ticket: u64,
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
    /// The vault is changing over.
    Changing,
    /// It was refused, or given up.
    Ended(String),
    /// The vault has changed over; these notes' records have yet to say so.
    Over(Vec<(VaultPath, Inputs)>),
}

/// The state of the indexer, as far as the migration depends on it.
pub(super) struct Around<'a> {
    pub(super) now: Instant,
    /// Whether the disk was looked at since the vault was opened.
    pub(super) looked: bool,
    /// Whether anything is being decided about.
    pub(super) at_work: bool,
    /// Whether the user cancelled the job.
    pub(super) cancelled: bool,
    pub(super) budget: &'a BudgetConfig,
}

/// What is to be done.
pub(super) enum Effect {
    /// A job begins.
    Begin,
    /// The embedder is to be opened, on a thread that may wait.
    Open(EmbedConfig),
    /// A dry run is to look at these notes for the new embedder.
    DryRun(Arc<NotePipeline>, Vec<VaultPath>),
    /// The work that it takes has been estimated.
    Estimated(Estimate),
    /// So many of so many notes are done.
    Progress(u64, u64),
    /// All vectors are there: the vault is to change over.
    ChangeOver(Box<Fill>),
    /// These records are to be brought up to date.
    Amend(Vec<(VaultPath, Inputs)>),
    /// The job ends without a change of embedders, for this reason.
    GiveUp(String),
    /// Nothing is left to be done.
    Over,
}

impl EmbedderMigration {
    pub(super) fn new(config: EmbedConfig, consent: ConsentState) -> Self {
        static TICKETS: AtomicU64 = AtomicU64::new(1);
        let ticket = TICKETS.fetch_add(1, Ordering::Relaxed);
        EmbedderMigration { config, consent, stage: Stage::Closed { at: machine::now(), why: None }, job: 0, ticket }
    }

    /// What is to be done now.
    pub(super) fn poll(&mut self, around: &Around<'_>) -> Vec<Effect> {
        if around.cancelled && matches!(self.stage, Stage::Filling(_)) {
            return self.give_up("it was cancelled; `situated resume` has it tried again".to_owned());
        }
        match &mut self.stage {
            Stage::Closed { at, why } if *at <= around.now && around.looked && !around.at_work => {
                let open = Effect::Open(self.config.clone());
                self.stage = Stage::Opening { why: why.take() };
                // The job begins only once the user has agreed.
                let begin = (self.job == 0 && self.consent.is_agreed()).then(|| {
                    tracing::info!(
                        provider = self.config.provider.name(),
                        model = self.config.model(),
                        "another embedder is to take over"
                    );
                    Effect::Begin
                });
                begin.into_iter().chain([open]).collect()
            }
            Stage::Filling(fill) => match fill.poll(around, self.consent.is_agreed()) {
                Ok(_) if fill.is_full() && !around.at_work && fill.is_mostly_refused() => self
                    .give_up("it refused more than half of the texts; `situated resume` has it tried again".to_owned()),
                Ok(effects) if fill.is_full() && !around.at_work => self.change_over(effects),
                Ok(effects) => effects,
                Err(Held::Refused(why)) => self.give_up(why),
                Err(Held::Unagreed(estimate)) => self.wait(estimate),
            },
            Stage::Over(rest) if rest.is_empty() => vec![Effect::Over],
            Stage::Over(rest) => vec![Effect::Amend(rest.split_off(rest.len().saturating_sub(AMENDED)))],
            Stage::Closed { .. } | Stage::Opening { .. } | Stage::Waiting(_) | Stage::Changing | Stage::Ended(_) => {
                Vec::new()
            }
        }
    }

    fn change_over(&mut self, mut effects: Vec<Effect>) -> Vec<Effect> {
        match std::mem::replace(&mut self.stage, Stage::Changing) {
            Stage::Filling(fill) => effects.push(Effect::ChangeOver(fill)),
            other => self.stage = other,
        }
        effects
    }

    /// Waits for the user's yes; until then the embedder is shown no note.
    fn wait(&mut self, estimate: Estimate) -> Vec<Effect> {
        let (provider, model) = (self.config.provider.name(), self.config.model());
        tracing::info!(provider, model, "vectors wait for your yes: `situated contexts start`");
        self.stage = Stage::Waiting(estimate);
        Vec::new()
    }

    /// The user agrees, or takes that back: the migration goes on or waits, and keeps the vectors that it has made.
    /// Returns whether its job is over.
    ///
    /// # Errors
    /// What the user said cannot be written down; then what was said before holds.
    pub(super) fn set_agreed(&mut self, dir: &Path, agreed: bool) -> std::io::Result<bool> {
        let changed = self.consent.set_agreed(dir, agreed)?;
        if changed && !matches!(self.stage, Stage::Changing | Stage::Over(_) | Stage::Ended(_)) {
            self.begin_anew();
        }
        Ok(changed && !agreed)
    }

    /// Begins again under the same job with another ticket, so that events of the previous attempt are ignored.
    fn begin_anew(&mut self) {
        *self =
            EmbedderMigration { job: self.job, ..EmbedderMigration::new(self.config.clone(), self.consent.clone()) };
    }

    /// Checks whether the user has agreed meanwhile: the yes may have gone to another generation of the vault.
    pub(super) fn look_for_yes(&mut self, dir: &Path) {
        if matches!(self.stage, Stage::Waiting(_)) && self.consent.read_again(dir) {
            self.begin_anew();
        }
    }

    /// The work that the user has to agree to, if any.
    pub(super) fn offer(&self, vault: &str) -> Option<Offer> {
        let estimate = match &self.stage {
            Stage::Waiting(estimate) => estimate,
            Stage::Filling(fill) => fill.approved()?,
            _ => return None,
        };
        self.consent.offer(vault, OfferedWork::Vectors, estimate.clone())
    }

    /// Whether there is work to do: not while it waits for the user, nor once it has ended.
    pub(super) fn is_at_work(&self) -> bool {
        !matches!(self.stage, Stage::Waiting(_) | Stage::Ended(_))
    }

    fn give_up(&mut self, why: String) -> Vec<Effect> {
        tracing::warn!("the embedder does not take over: {why}");
        self.stage = Stage::Ended(why.clone());
        vec![Effect::GiveUp(why)]
    }

    /// The embedder was opened, or could not be.
    pub(super) fn opened(&mut self, ticket: u64, begun: Result<Fill, String>, now: Instant) {
        if self.ticket == ticket && matches!(self.stage, Stage::Opening { .. }) {
            self.stage = match begun {
                Ok(fill) => Stage::Filling(Box::new(fill)),
                Err(why) => Stage::Closed { at: now + ASK_AGAIN, why: Some(why) },
            };
        }
    }

    /// A dry run has looked at notes for the new embedder.
    pub(super) fn looked_at(&mut self, ticket: u64, notes: Vec<DryRun>, vault: (u64, &str)) -> Result<(), EngineError> {
        match &mut self.stage {
            Stage::Filling(fill) if self.ticket == ticket => fill.take(notes, vault),
            _ => Ok(()),
        }
    }

    /// No thread could be started for a dry run: the notes are looked at later.
    pub(super) fn not_looked_at(&mut self, paths: Vec<VaultPath>) {
        if let Stage::Filling(fill) = &mut self.stage {
            fill.looking = 0;
            fill.todo.extend(paths);
        }
    }

    /// The vault has changed over; these records have yet to say so.
    pub(super) fn changed_over(&mut self, records: Vec<(VaultPath, Inputs)>) {
        self.stage = Stage::Over(records);
        self.job = 0;
    }

    /// A step failed: everything begins anew, from the cache.
    pub(super) fn failed(&mut self, why: String, now: Instant) {
        self.stage = Stage::Closed { at: now + ASK_AGAIN, why: Some(why) };
    }

    /// Whether it waits for vectors of this identity.
    pub(super) fn is_to(&self, identity: &str) -> bool {
        matches!(&self.stage, Stage::Filling(fill) if fill.service.embedder.identity() == identity)
    }

    /// Vectors of a note have come, or its part of the job failed.
    pub(super) fn came(&mut self, path: VaultPath, problem: Option<String>) -> Vec<Effect> {
        let Stage::Filling(fill) = &mut self.stage else { return Vec::new() };
        fill.ordered.remove(&path);
        fill.todo.insert(path);
        problem.map_or_else(Vec::new, |why| self.give_up(why))
    }

    /// A note was decided about, or removed.
    pub(super) fn note_changed(&mut self, vault: u64, path: &VaultPath) {
        if let Stage::Filling(fill) = &mut self.stage {
            fill.forget(vault, path);
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
            Stage::Closed { .. }
            | Stage::Opening { .. }
            | Stage::Filling(_)
            | Stage::Waiting(_)
            | Stage::Changing
            | Stage::Over(_) => None,
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
            Stage::Opening { .. } | Stage::Filling(_) | Stage::Waiting(_) | Stage::Changing | Stage::Ended(_) => None,
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
