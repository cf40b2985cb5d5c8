//! Rebuilds through the provider's batch interface, as the indexer sees them: when it hands a batch in, and how it
//! controls the batch meanwhile. While a run is `batch`, its contexts are not asked for one by one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::{At, Event, Place};
use crate::batch::{BatchJob, Control, Files, PendingByNote};
use crate::decide::NotePipeline;
use crate::writer::Writer;
use context::plan::Reason;
use provider::settings::BudgetConfig;
use store::StoreError;

/// How long nothing is asked for because a batch that is given up may bring it; a provider needs minutes to give one up.
const AWAITED: Duration = Duration::from_hours(1);

/// A batch that the writer has.
struct Handed {
    run: u64,
    control: watch::Sender<Control>,
    given_up: Option<Instant>,
}

/// The batches of one indexer.
#[derive(Default)]
pub(super) struct ProviderBatches {
    /// By ticket.
    handed: HashMap<u64, Handed>,
    /// The run whose unanswered requests were handed in once more.
    again: Option<u64>,
    /// Whether batches of former processes were looked for.
    sought: bool,
    last_ticket: u64,
}

impl ProviderBatches {
    /// Tells batches under way whether to go on, pause or cancel; `current` is the run under way.
    pub(super) fn control(&mut self, current: Option<u64>, paused: bool) {
        for handed in self.handed.values_mut() {
            let wanted = match () {
                () if current != Some(handed.run) => Control::Cancel,
                () if paused => Control::Pause,
                () => Control::Go,
            };
            if wanted == Control::Cancel {
                handed.given_up.get_or_insert_with(machine::now);
            }
            handed.control.send_if_modified(|control| std::mem::replace(control, wanted) != wanted);
        }
    }

    /// The runs, except the current one, whose batches a former process left. Returns them only once for each writer.
    pub(super) fn left_over(&mut self, place: &Place, current: Option<u64>) -> Vec<u64> {
        if std::mem::replace(&mut self.sought, true) {
            return Vec::new();
        }
        // Their rebuilds were cancelled, but their answers are paid for.
        Files::runs(&place.dir).into_iter().filter(|run| Some(*run) != current).collect()
    }

    /// Whether batches of other runs than the current one, which are given up, may soon bring answers.
    pub(super) fn are_given_up(&self, place: &Place, current: Option<u64>) -> bool {
        let soon = |handed: &&Handed| handed.given_up.is_none_or(|at| machine::since(at) < AWAITED);
        let unsought = if self.sought { Vec::new() } else { Files::runs(&place.dir) };
        self.handed.values().filter(soon).map(|handed| handed.run).chain(unsought).any(|run| Some(run) != current)
    }

    /// Whether the writer has a batch of this run.
    pub(super) fn has(&self, run: u64) -> bool {
        self.handed.values().any(|handed| handed.run == run)
    }

    /// Whether a batch of this run is on the disk.
    pub(super) fn is_under_way(place: &Place, run: u64) -> bool {
        Files::new(&place.dir, run).exist()
    }

    /// Gives a batch to the writer, with what the rebuild may take.
    pub(super) fn hand(
        &mut self,
        at: &At<'_>,
        (writer, budget): (&Writer, &BudgetConfig),
        run: u64,
        notes: PendingByNote,
        wanted: Control,
    ) {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let (control, controlled) = watch::channel(wanted);
        let inbox = at.actor.inbox.clone();
        let tell = move |event| {
            // The indexer may have ended; the answers are in the journal.
            let _ = inbox.send(Event::Batch { ticket, event });
        };
        writer.batch(BatchJob {
            dir: at.actor.place.dir.clone(),
            run,
            vault: at.actor.shared.clone(),
            pipeline: at.pipeline.clone(),
            wanted: notes,
            rebuild: (budget.rebuild, budget.rebuild_tokens),
            control: controlled,
            tell: Arc::new(tell),
        });
        self.handed.insert(ticket, Handed { run, control, given_up: None });
    }

    /// The run of a batch that the writer has.
    pub(super) fn run_of(&self, ticket: u64) -> Option<u64> {
        self.handed.get(&ticket).map(|handed| handed.run)
    }

    /// A batch has ended; returns its run, or `None` if its writer was replaced meanwhile: then it ends nothing.
    pub(super) fn ended(&mut self, ticket: u64) -> Option<u64> {
        self.handed.remove(&ticket).map(|handed| handed.run)
    }

    /// Whether what a batch of this run left unanswered is handed in once more.
    pub(super) fn may_again(&mut self, run: u64) -> bool {
        self.again.replace(run) != Some(run)
    }

    /// Forgets the batches, for their writer is gone; they are looked for again.
    pub(super) fn forget(&mut self) {
        self.handed.clear();
        self.sought = false;
    }
}

/// What a run wants and has not been asked for yet.
pub(super) fn wanted(pipeline: &NotePipeline) -> Result<PendingByNote, StoreError> {
    let mut wanted = Vec::new();
    for record in pipeline.store.notes()? {
        let (mut pending, _) = pipeline.unanswered(&record)?;
        pending.retain(|(_, due)| due.reason == Reason::Rebuild && due.tries == 0);
        if !pending.is_empty() {
            wanted.push((record.path, pending));
        }
    }
    Ok(wanted)
}
