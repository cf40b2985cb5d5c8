//! Requests for contexts in the records of notes: a sync makes some, an answer of no use counts against one, and a
//! rebuild that ends early takes its own back.

use std::time::{Duration, Instant};

use super::super::rebuild::{Covered, is_stale};
use super::{PendingContexts, Rank, Renew, is_save};
use crate::context_job::MOST_TRIES;
use crate::decide::NotePipeline;
use crate::{EngineError, now_s};
use context::ContextRecord;
use context::plan::{PendingContext, Reason};
use note::VaultPath;
use note::fingerprint::{ContextKey, context_key};
use store::record::{ChunkRecord, NoteRecord};

impl PendingContexts {
    /// Asks again for contexts that serve and should be better: drifted, failed, and with `renew` those of another
    /// generation. Also asks for what saves want if that is not asked for automatically. With `since` only notes that
    /// changed since then count. Returns how many chunks.
    pub(crate) fn refresh(
        &mut self,
        pipeline: &NotePipeline,
        since: Option<i64>,
        renew: Renew,
    ) -> Result<u64, EngineError> {
        let automatic = self.runtime.config.context.automatic;
        let mut wanted = 0;
        for record in pipeline.store.notes()? {
            let recent = since.is_none_or(|since| record.stat.mtime_ns.div_euclid(1_000_000_000) >= since);
            let stale = |reason| match reason {
                Reason::Drifted | Reason::ContextFailed => true,
                Reason::ContextualizerChanged => renew != Renew::Nothing,
                _ => false,
            };
            let put_off = |chunk: &ChunkRecord| !automatic && chunk.due.is_some_and(|due| is_save(due.reason));
            let is_stale = |chunk: &ChunkRecord| chunk.due.is_none() && chunk.later.is_some_and(stale);
            if !recent || !record.chunks.iter().any(|c| is_stale(c) || put_off(c)) {
                continue;
            }
            let contexts = pipeline.store.contexts(&record.path)?;
            let stays = |i: usize, reason| {
                let paid = contexts.get(i).is_some_and(ContextRecord::is_paid);
                reason == Reason::ContextualizerChanged && paid && renew == Renew::Free
            };
            let now = now_s();
            self.amend(pipeline, &record.path, |record| {
                for (i, chunk) in record.chunks.iter_mut().enumerate() {
                    if put_off(chunk) {
                        chunk.due =
                            chunk.due.map(|due| PendingContext { reason: Reason::ContextualizerChanged, ..due });
                        wanted += 1;
                    }
                    let outdated = chunk.later.filter(|reason| stale(*reason) && !stays(i, *reason));
                    if let (None, Some(reason)) = (chunk.due, outdated) {
                        // The request must be younger than the context that it is to replace.
                        let since = now.max(contexts.get(i).map_or(0, |context| context.written_at + 1));
                        (chunk.due, chunk.later) = (Some(PendingContext { reason, since, tries: 0 }), None);
                        wanted += 1;
                    }
                }
            })?;
        }
        Ok(wanted)
    }

    /// Has a rebuild ask for those contexts that are not as they should be. What was asked for before it is put aside.
    pub(crate) fn rebuild_stale(&mut self, pipeline: &NotePipeline, covered: &Covered) -> Result<(), EngineError> {
        let is_of_it = |record: &NoteRecord| {
            covered.has(pipeline, &record.path, &record.tags) && record.chunks.iter().any(is_stale)
        };
        for record in pipeline.store.notes()?.into_iter().filter(is_of_it) {
            let contexts = pipeline.store.contexts(&record.path)?;
            self.amend(pipeline, &record.path, |record| {
                for (i, chunk) in record.chunks.iter_mut().enumerate().filter(|(_, chunk)| is_stale(chunk)) {
                    let since = now_s().max(contexts.get(i).map_or(0, |context| context.written_at + 1));
                    chunk.later = chunk.due.filter(|due| due.reason != Reason::Rebuild).map(|due| due.reason);
                    chunk.due = Some(PendingContext { reason: Reason::Rebuild, since, tries: 0 });
                }
            })?;
        }
        Ok(())
    }

    /// Takes back the requests of a rebuild: what was asked for before it is asked for again. If its budget `ran_out`,
    /// a look at what is old finds the rest; if not, only contexts that another model wrote are old.
    pub(crate) fn take_back_rebuild(&mut self, pipeline: &NotePipeline, ran_out: bool) -> Result<(), EngineError> {
        for path in rebuilt(pipeline)? {
            let contexts = pipeline.store.contexts(&path)?;
            self.amend(pipeline, &path, |record| {
                let own = pipeline.contextualizer(record.kind.as_deref());
                for (i, chunk) in record.chunks.iter_mut().enumerate() {
                    let Some(due) = chunk.due.filter(|due| due.reason == Reason::Rebuild) else { continue };
                    (chunk.due, chunk.later) = match chunk.later {
                        Some(reason) => (Some(PendingContext { reason, ..due }), None),
                        None if !ran_out && contexts.get(i).is_some_and(|context| context.generation == own) => {
                            (None, None)
                        }
                        None => (None, Some(Reason::ContextualizerChanged)),
                    };
                }
            })?;
        }
        Ok(())
    }

    /// Queues what a batch rebuild left over, to be asked for one by one.
    pub(crate) fn queue_rebuilt(&mut self, pipeline: &NotePipeline, now: Instant) -> Result<(), EngineError> {
        for path in rebuilt(pipeline)? {
            if !self.asked.contains_key(&path) {
                self.queue.put(path, Rank::Bulk, now);
            }
        }
        Ok(())
    }

    /// Changes the requests in a note's record; the index stays as it is.
    fn amend(
        &mut self,
        pipeline: &NotePipeline,
        path: &VaultPath,
        change: impl FnOnce(&mut NoteRecord),
    ) -> Result<(), EngineError> {
        let mut after = None;
        pipeline.store.amend(path, |record| {
            change(record);
            after = Some(record.clone());
        })?;
        if let Some(record) = after {
            self.amended.push(path.clone());
            self.put(&record, (Duration::ZERO, Duration::ZERO), machine::now());
        }
        Ok(())
    }

    /// An answer was of no use: counts the try, or gives up.
    pub(super) fn tried(
        &mut self,
        pipeline: &NotePipeline,
        path: &VaultPath,
        key: ContextKey,
        gave_up: bool,
    ) -> Result<(), EngineError> {
        self.amend(pipeline, path, |record| {
            for chunk in record.chunks.iter_mut().filter(|c| context_key(&c.keys, c.hash) == key) {
                let Some(due) = &mut chunk.due else { continue };
                due.tries = due.tries.saturating_add(1).min(MOST_TRIES);
                if gave_up {
                    (chunk.due, chunk.later) = (None, Some(Reason::ContextFailed));
                }
            }
        })
    }
}

/// Notes that a rebuild wants contexts for.
fn rebuilt(pipeline: &NotePipeline) -> Result<Vec<VaultPath>, EngineError> {
    let wants = |record: &NoteRecord| {
        record.chunks.iter().any(|chunk| chunk.due.is_some_and(|due| due.reason == Reason::Rebuild))
    };
    Ok(pipeline.store.notes()?.into_iter().filter(wants).map(|record| record.path).collect())
}
