//! The loop's part in contexts that a model writes: who is asked for when, what is done with what comes back,
//! and when nothing is asked at all.
//!
//! A wish for a context stands in the note's record ([`crate::plan::Due`]), written in the transaction that
//! decided it. An answer goes to the journal and the archive; then the note is decided about again, and the
//! plan finds it there. So nothing is lost when either side dies, and an answer to a text that has changed
//! meanwhile stays in the archive.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use super::batch::Handed;
use super::decide::Task;
use super::due::{DueQueue, Rank};
use super::keeper::Keeper;
use super::rebuild::Run;
use super::seat::{Hold, Seat};
use super::tally::Tally;
use super::writer::{Held, MOST_TRIES, Order, Told, budget_message};
use super::{EngineError, Loop, now_s};
use crate::context::settings::ContextConfig;
use crate::fingerprint::{ContextKey, context_key};
use crate::llm::Health;
use crate::llm::ledger::{Purpose, Refused};
use crate::note::PRIVATE_TAG;
use crate::plan::{Due, Reason};
use crate::store::record::{ChunkRecord, NoteRecord};
use crate::vault::VaultPath;

/// After how long a note is asked for again when the provider failed it.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// When the last sync was, among the store's values.
const SYNCED: &str = "synced_at";

/// How long a model is left alone whose answers are of no use.
const LEAVE_ALONE: Duration = Duration::from_mins(30);

/// How often a day's budget that is used up is looked at.
const BUDGET_AGAIN: Duration = Duration::from_mins(1);

/// How often a provider that was stopped is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What a vault's keeper knows of contexts.
#[derive(Default)]
pub(super) struct Contexts {
    pub(super) queue: DueQueue,
    /// Notes that the writer has.
    pub(super) ordered: HashSet<VaultPath>,
    /// Notes for which contexts came and that are to be decided about again.
    arrived: BTreeSet<VaultPath>,
    pub(super) tally: Tally,
    /// The rebuild that goes on.
    pub(super) run: Option<Run>,
    /// Batches that the writer has, by ticket.
    pub(super) handed: HashMap<u64, Handed>,
    /// Whether batches of former processes were looked for.
    pub(super) batches_sought: bool,
}

impl Keeper {
    /// A record was written: its wishes take their place in the queue, those of a save `quiet` after now.
    pub(super) fn wishes(&mut self, record: &NoteRecord, quiet: Duration) {
        self.wishes_after(record, quiet, Duration::ZERO);
    }

    /// As [`Keeper::wishes`], with the wait of what no save wished.
    fn wishes_after(&mut self, record: &NoteRecord, saved: Duration, bulk: Duration) {
        let contexts = &mut self.contexts;
        contexts.tally.put(record);
        let mut dues = record.chunks.iter().filter_map(|chunk| chunk.due).peekable();
        if dues.peek().is_none() {
            contexts.queue.remove(&record.path);
            return;
        }
        let (rank, wait) = if dues.any(|due| is_save(due.reason)) { (Rank::Save, saved) } else { (Rank::Bulk, bulk) };
        contexts.queue.put(record.path.clone(), rank, Instant::now() + wait);
    }

    /// What a note still wants a model to write, and what is in the archive already and only has to be taken.
    fn open_wishes(&self, record: &NoteRecord, automatic: bool) -> Result<(Vec<(ContextKey, Due)>, bool), EngineError> {
        let generation = self.desk.contextualizer(record.kind.as_deref());
        let mut open = Vec::new();
        let mut found = false;
        for chunk in &record.chunks {
            let Some(due) = chunk.due.filter(|due| automatic || !is_save(due.reason)) else { continue };
            let key = context_key(&chunk.keys, chunk.hash);
            let written = self.desk.written_by(self.desk.claimant(record), key, &generation)?;
            if written.is_some_and(|context| context.written_at >= due.since) {
                found = true;
            } else if !self.waits_for_batch(due) {
                open.push((key, due));
            }
        }
        Ok((open, found))
    }

    /// Makes wishes of what serves and should be better: drifted, failed, and with `renew` what another
    /// generation wrote; and of what saves wished, where that is not asked for by itself. Only notes that changed
    /// since `since`, if given. Returns how many chunks.
    pub(super) fn refresh(&mut self, since: Option<i64>, context: &ContextConfig) -> Result<u64, EngineError> {
        let (renew, automatic) = (context.renew, context.automatic);
        let mut wished = 0;
        for record in self.desk.store.notes()? {
            let recent = since.is_none_or(|since| record.stat.mtime_ns.div_euclid(1_000_000_000) >= since);
            let stale = |reason| match reason {
                Reason::Drifted | Reason::ContextFailed => true,
                Reason::ContextualizerChanged => renew,
                _ => false,
            };
            let put_off = |chunk: &ChunkRecord| !automatic && chunk.due.is_some_and(|due| is_save(due.reason));
            let is_stale = |chunk: &ChunkRecord| chunk.due.is_none() && chunk.later.is_some_and(stale);
            if !recent || !record.chunks.iter().any(|c| is_stale(c) || put_off(c)) {
                continue;
            }
            let written: Vec<i64> = self.desk.store.contexts(&record.path)?.iter().map(|c| c.written_at).collect();
            let now = now_s();
            self.amend(&record.path, |record| {
                for (i, chunk) in record.chunks.iter_mut().enumerate() {
                    if put_off(chunk) {
                        chunk.due = chunk.due.map(|due| Due { reason: Reason::ContextualizerChanged, ..due });
                        wished += 1;
                    }
                    if let (None, Some(reason)) = (chunk.due, chunk.later.filter(|reason| stale(*reason))) {
                        // Younger than what it is to replace.
                        let since = now.max(written.get(i).map_or(0, |at| at + 1));
                        (chunk.due, chunk.later) = (Some(Due { reason, since, tries: 0 }), None);
                        wished += 1;
                    }
                }
            })?;
        }
        Ok(wished)
    }

    /// When the last sync was, seconds since 1970 (UTC).
    pub(super) fn synced_at(&self) -> Option<i64> {
        self.desk.store.value(SYNCED).ok().flatten()?.parse().ok()
    }

    /// Takes back the wishes of a rebuild.
    pub(super) fn take_back_rebuild(&mut self) -> Result<(), EngineError> {
        let wants =
            |record: &NoteRecord| record.chunks.iter().any(|c| c.due.is_some_and(|due| due.reason == Reason::Rebuild));
        let paths = self.desk.store.notes()?.into_iter().filter(wants).map(|record| record.path);
        for path in paths.collect::<Vec<_>>() {
            self.amend(&path, |record| {
                for chunk in &mut record.chunks {
                    if chunk.due.is_some_and(|due| due.reason == Reason::Rebuild) {
                        (chunk.due, chunk.later) = (None, chunk.later.or(Some(Reason::ContextualizerChanged)));
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Changes wishes in a note's record; nothing that is indexed changes.
    fn amend(&mut self, path: &VaultPath, change: impl FnOnce(&mut NoteRecord)) -> Result<(), EngineError> {
        let mut after = None;
        self.desk.store.amend(path, |record| {
            change(record);
            after = Some(record.clone());
        })?;
        if let Some(record) = after {
            self.wishes(&record, Duration::ZERO);
        }
        Ok(())
    }

    /// An answer was of no use: counted, or given up.
    fn tried(&mut self, path: &VaultPath, key: ContextKey, gave_up: bool) -> Result<(), EngineError> {
        self.amend(path, |record| {
            for chunk in record.chunks.iter_mut().filter(|c| context_key(&c.keys, c.hash) == key) {
                let Some(due) = &mut chunk.due else { continue };
                due.tries = due.tries.saturating_add(1).min(MOST_TRIES);
                if gave_up {
                    (chunk.due, chunk.later) = (None, Some(Reason::ContextFailed));
                }
            }
        })
    }

    /// Decides again about notes whose contexts have come.
    pub(super) fn land_contexts(&mut self) {
        let arrived = std::mem::take(&mut self.contexts.arrived);
        if arrived.is_empty() {
            return;
        }
        self.enqueue(arrived.into_iter().map(Task::again).collect(), Vec::new(), false);
    }
}

impl Loop {
    /// The writer says what came of an order.
    pub(super) fn told(&mut self, vault: u64, path: VaultPath, told: Told) {
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let settle = keeper.settle;
        let done = match told {
            Told::Written(_, None) => {
                if let Some(seat) = self.seats.get_mut(&keeper.generation) {
                    seat.hold_told = false;
                }
                keeper.contexts.arrived.insert(path);
                Ok(())
            }
            Told::Written(key, Some(record)) => {
                // Of a note that is not known any more nobody can say here that it was not private.
                let tags = [PRIVATE_TAG.to_owned()];
                let kept = keeper.desk.store.keep_context_of(&path, &tags, key, &record).map_err(EngineError::from);
                keeper.contexts.arrived.insert(path);
                kept
            }
            Told::Tried(key) => keeper.tried(&path, key, false),
            Told::GaveUp(key, flaw) => {
                tracing::debug!(?flaw, "the model gave no usable context for a chunk; the template stays");
                if let Some(run) = &mut keeper.contexts.run {
                    run.failed(&path, flaw);
                }
                keeper.tried(&path, key, true)
            }
            Told::End(result) => {
                keeper.contexts.ordered.remove(&path);
                let again = match &result {
                    Ok(()) => None,
                    Err(Held::Changed) => Some(settle),
                    Err(Held::Budget(_) | Held::Draining) => Some(Duration::ZERO),
                    Err(Held::Provider(_) | Held::Useless) => Some(ASK_AGAIN),
                };
                let still = keeper.desk.store.note(&path);
                if let (Some(again), Ok(Some(record))) = (again, &still) {
                    keeper.wishes_after(record, again, again);
                }
                if let Err(held) = result {
                    self.hold(vault, &held);
                }
                Ok(())
            }
        };
        if let (Err(error), Some(keeper)) = (done, self.keepers.get_mut(&vault)) {
            keeper.be_troubled(&error);
        }
    }

    /// Something keeps orders from being carried out.
    fn hold(&mut self, vault: u64, held: &Held) {
        let now = Instant::now();
        let Some(generation) = self.keepers.get(&vault).map(|keeper| keeper.generation.clone()) else { return };
        let until = match held {
            Held::Changed | Held::Draining => return,
            Held::Budget(Refused::Rebuild { .. } | Refused::RebuildTokens { .. }) => {
                return self.stop_run(vault, &held.to_string());
            }
            Held::Budget(Refused::Io(_)) => now + super::keeper::TRY_AGAIN,
            // What is reserved and then not used comes back, so it is tried again before the day is over.
            Held::Budget(_) => now + until_midnight().min(BUDGET_AGAIN),
            Held::Useless => now + LEAVE_ALONE,
            Held::Provider(_) => {
                match self.seats.get(&generation).and_then(|seat| Some(seat.writer.as_ref()?.asker.client.health())) {
                    Some(Health::Open(wait, _)) => now + wait,
                    Some(Health::Stopped(_)) => now + LOOK_AGAIN,
                    _ => return,
                }
            }
        };
        let why = match held {
            Held::Budget(refused) => budget_message(refused),
            other => other.to_string(),
        };
        let Some(seat) = self.seats.get_mut(&generation) else { return };
        if !seat.hold_told {
            tracing::warn!("no contexts are asked for meanwhile: {why}");
            seat.hold_told = true;
        }
        seat.hold = Some(Hold { until, why });
    }

    /// The user says that it works again.
    pub(super) fn let_go(&mut self) {
        for seat in self.seats.values_mut() {
            seat.hold = None;
            if let Some(writer) = &seat.writer {
                writer.asker.client.resume();
                writer.asker.outcomes.try_again();
            }
        }
        if let Some(reranker) = &*self.shared.reranker.load() {
            reranker.resume();
        }
        for keeper in self.keepers.values_mut() {
            keeper.contexts.queue.hurry(Instant::now());
        }
        self.resume_embedders();
    }

    /// Sends to the writer what has been quiet for long enough, as much as keeps it busy.
    pub(super) fn ask_models(&mut self) {
        let now = Instant::now();
        for keeper in self.keepers.values_mut() {
            keeper.land_contexts();
        }
        for generation in self.seats.keys().cloned().collect::<Vec<_>>() {
            self.ask_model(&generation, now);
        }
    }

    /// The same, of one generation.
    fn ask_model(&mut self, generation: &str, now: Instant) {
        let Some(seat) = self.seats.get_mut(generation).filter(|seat| seat.writer.is_some()) else { return };
        if !seat.is_free(now, LOOK_AGAIN) {
            return;
        }
        let (Some(writer), config) = (seat.writer.clone(), seat.config.clone()) else { return };
        let busy: usize = self.keepers.values().filter(|k| k.generation == generation).map(Keeper::ordered).sum();
        let mut room = writer.room.saturating_sub(busy);
        let mut troubled = Vec::new();
        for (vault, keeper) in self.keepers.iter_mut().filter(|(_, keeper)| keeper.generation == generation) {
            if keeper.trouble.is_some() || keeper.doubt.is_some() {
                continue;
            }
            // One that stands beside the one in force buys nothing by itself.
            let automatic = if keeper.beside { keeper.contexts.run.is_some() } else { config.context.automatic };
            // Until all of a rebuild is decided nobody could say how far it is.
            let deciding = keeper.contexts.run.as_ref().is_some_and(|run| run.total == 0) && !keeper.beside;
            while room > 0
                && let Some(path) = keeper.contexts.queue.pop(now, deciding)
            {
                // Being decided about, or being asked for: what comes of that puts it back.
                if keeper.in_flight.contains_key(&path) || keeper.contexts.ordered.contains(&path) {
                    keeper.contexts.queue.put(path, Rank::Save, now + Duration::from_secs(1));
                    continue;
                }
                let wishes = keeper.desk.store.note(&path).map_err(EngineError::from).and_then(|record| match record {
                    Some(record) => keeper.open_wishes(&record, automatic),
                    None => Ok((Vec::new(), false)),
                });
                match wishes {
                    Ok((dues, found)) => {
                        if found {
                            keeper.contexts.arrived.insert(path.clone());
                        }
                        if dues.is_empty() {
                            continue;
                        }
                        keeper.contexts.ordered.insert(path.clone());
                        room -= 1;
                        writer.order(keeper.order(*vault, path, dues, &config));
                    }
                    Err(error) => troubled.push((*vault, error)),
                }
            }
            keeper.land_contexts();
        }
        for (vault, error) in troubled {
            if let Some(keeper) = self.keepers.get_mut(&vault) {
                keeper.be_troubled(&error);
            }
        }
    }

    /// Looks after contexts that serve and should be better, when the time has come.
    pub(super) fn sync_if_due(&mut self) {
        let config = self.shared.config.load_full();
        if !config.sync.background || self.next_sync.is_some_and(|at| at > now_s()) {
            return;
        }
        let interval = i64::try_from(config.sync.interval.as_secs()).unwrap_or(i64::MAX);
        let mut next = now_s().saturating_add(interval);
        for vault in self.keepers.keys().copied().collect::<Vec<_>>() {
            let Some(keeper) = self.keepers.get_mut(&vault).filter(|keeper| !keeper.beside) else { continue };
            let last = keeper.synced_at();
            *keeper.shared.synced_at() = last;
            let due = last.map_or(0, |last| last.saturating_add(interval));
            // A clock that was set back must not put it off for ever.
            if due > now_s() && last.is_some_and(|last| last <= now_s()) {
                next = next.min(due);
            } else {
                self.refresh(vault, None);
            }
        }
        self.next_sync = Some(next);
    }

    /// Makes wishes of contexts of a vault that serve and should be better.
    pub(super) fn refresh(&mut self, vault: u64, since: Option<i64>) {
        let Some(keeper) = self.keepers.get_mut(&vault) else { return };
        let Some(config) = self.seats.get(&keeper.generation).map(|seat| seat.config.clone()) else { return };
        if !keeper.desk.generation.costs {
            return;
        }
        let refreshed = keeper.refresh(since, &config.context).and_then(|wished| {
            keeper.desk.store.set_value(SYNCED, Some(&now_s().to_string()))?;
            *keeper.shared.synced_at() = Some(now_s());
            Ok(wished)
        });
        match refreshed {
            Ok(wished) if wished > 0 => {
                tracing::info!(vault = keeper.config.name, chunks = wished, "contexts are made anew by the sync");
            }
            Ok(_) => {}
            Err(error) => keeper.be_troubled(&error),
        }
    }

    /// When something may be asked next.
    pub(super) fn next_question(&self) -> Option<Instant> {
        let next = |(name, seat): (&String, &Seat)| {
            let writer = seat.writer.as_ref()?;
            let keepers = || self.keepers.values().filter(|keeper| keeper.generation == *name);
            if keepers().map(Keeper::ordered).sum::<usize>() >= writer.room {
                return None;
            }
            let next = keepers().filter_map(|keeper| keeper.contexts.queue.next_ready()).min()?;
            Some(seat.hold.as_ref().map_or(next, |hold| hold.until.max(next)))
        };
        self.seats.iter().filter_map(next).min()
    }

    /// What status says about asking models.
    pub(super) fn model_problem(&self) -> Option<String> {
        // What nobody uses may be as it likes.
        let problem = |(name, seat): (&String, &Seat)| {
            let mut of_it = self.keepers.values().filter(|keeper| keeper.generation == *name);
            of_it.find_map(|keeper| seat.problem(keeper.contexts.queue.len()))
        };
        self.seats.iter().find_map(problem)
    }
}

impl Keeper {
    /// Notes that the writer has.
    fn ordered(&self) -> usize {
        self.contexts.ordered.len()
    }

    fn order(
        &self,
        vault: u64,
        path: VaultPath,
        dues: Vec<(ContextKey, Due)>,
        config: &crate::config::Config,
    ) -> Order {
        let reason = dues.first().map_or(Reason::NewNote, |(_, due)| due.reason);
        let run = self.contexts.run.as_ref().filter(|_| reason == Reason::Rebuild || self.beside);
        let purpose = match (reason, run) {
            (_, Some(run)) => Purpose::Rebuild(run.id),
            (reason, None) if is_save(reason) => Purpose::Change,
            (_, None) => Purpose::Sync,
        };
        Order {
            vault,
            vault_name: self.config.name.clone(),
            desk: self.desk.clone(),
            path,
            dues,
            purpose,
            rebuild: run.map(|_| (config.budget.rebuild, config.budget.rebuild_tokens)),
        }
    }
}

/// Whether a save made the wish, rather than a rebuild or a sync.
fn is_save(reason: Reason) -> bool {
    !matches!(reason, Reason::Rebuild | Reason::Drifted | Reason::ContextFailed | Reason::ContextualizerChanged)
}

/// Until the user's next day begins.
fn until_midnight() -> Duration {
    let now = jiff::Zoned::now();
    let next = now.tomorrow().and_then(|day| day.start_of_day());
    let left = next.ok().and_then(|next| Duration::try_from(next.duration_since(&now)).ok());
    left.unwrap_or(Duration::from_secs(3600))
}
