//! A rebuild whose contexts a model writes. It takes long, so the store remembers it and it goes on after a restart.
//! The old context serves until the new one is there.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::consent::Terms;
use crate::decide::{NotePipeline, Task};
use crate::{EngineError, now_s};
use context::plan::Reason;
use context::quality::Flaw;
use index::Snapshot;
use note::VaultPath;
use protocol::audience::Audience;
use protocol::jobs::{ContextProgress, SkippedFile};
use store::record::{ChunkRecord, NoteRecord};

/// Its key among the store's values.
const NAME: &str = "rebuild";

/// Notes with failures that are remembered.
const MOST_FAILED: usize = 100;

/// Which notes a rebuild is of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Covered {
    /// A folder or note; everything if absent.
    #[serde(rename = "path")]
    pub(crate) under: Option<VaultPath>,
    /// Who asked: private notes are left out of what an assistant asks for, so that no total tells of them.
    #[serde(default)]
    pub(crate) audience: Audience,
    /// Whether only contexts are written that are not as they should be.
    #[serde(default)]
    pub(crate) stale: bool,
}

/// Whether a chunk has not the context that it should have from a model.
pub(crate) fn is_stale(chunk: &ChunkRecord) -> bool {
    chunk.wanted && (chunk.due.is_some() || chunk.later.is_some())
}

impl Covered {
    /// Whether a note with these tags belongs to it.
    pub(crate) fn has(
        &self,
        pipeline: &NotePipeline,
        path: &VaultPath,
        tags: impl IntoIterator<Item: AsRef<str>>,
    ) -> bool {
        self.under.as_ref().is_none_or(|under| path.is_under(under))
            && !(self.audience.is_assistant() && pipeline.private.covers(path, tags))
    }

    /// How many notes of a vault belong to it.
    pub(crate) fn count(&self, snapshot: &Snapshot, pipeline: &NotePipeline) -> u64 {
        snapshot.notes().filter(|note| self.has(pipeline, &note.path, note.tags())).count() as u64
    }
}

/// A rebuild that goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    /// The job's number, of this process.
    #[serde(skip)]
    pub(crate) job: u64,
    /// What the ledger knows it by: milliseconds since 1970 when it began.
    pub(crate) id: u64,
    /// When it began, seconds since 1970: notes decided about before then are still to do.
    pub(crate) began: i64,
    #[serde(flatten)]
    pub(crate) covered: Covered,
    /// The model that the user confirmed it for; absent if that needs no consent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) terms: Option<Terms>,
    /// Whether the provider's batch interface is used.
    pub(crate) batch: bool,
    /// Chunks in all, once every note has been decided about; 0 before.
    pub(crate) total: u64,
    /// Chunks for which the model gave nothing usable.
    pub(crate) failed: u64,
    /// The notes of those chunks.
    pub(crate) failures: Vec<SkippedFile>,
    #[serde(skip, default = "machine::now")]
    pub(crate) since: Instant,
    /// Chunks that were done when this process took it up.
    #[serde(skip)]
    pub(crate) done_before: u64,
    /// Chunks processed and failed, as last announced.
    #[serde(skip)]
    pub(crate) announced: Option<(u64, u64)>,
    /// Whether its budget refused a call while others were under way, which may yet give back what they reserved.
    #[serde(skip)]
    pub(crate) is_short: bool,
    /// Notes with which the writer came further for it.
    #[serde(skip)]
    pub(crate) answered: u64,
    /// Why it asks for nothing more: it ends once the calls under way are answered.
    #[serde(skip)]
    pub(crate) over: Option<String>,
}

impl Run {
    pub(crate) fn new(job: u64, covered: Covered, batch: bool) -> Self {
        Run {
            job,
            id: u64::try_from(machine::timestamp().as_millisecond()).unwrap_or(0),
            began: now_s(),
            covered,
            terms: None,
            batch,
            total: 0,
            failed: 0,
            failures: Vec::new(),
            since: machine::now(),
            done_before: 0,
            announced: None,
            is_short: false,
            answered: 0,
            over: None,
        }
    }

    /// A chunk got no context.
    pub(crate) fn failed(&mut self, path: &VaultPath, flaw: Flaw) {
        self.failed += 1;
        if self.failures.len() < MOST_FAILED {
            self.failures.push(SkippedFile { path: path.to_string(), why: <&str>::from(flaw).to_owned() });
        }
    }

    /// How far it is, with `left` chunks to go.
    pub(crate) fn progress(&self, left: u64, micro_dollars: u64) -> ContextProgress {
        let processed = self.total.saturating_sub(left);
        let elapsed = machine::since(self.since).as_secs_f64();
        let here = processed.saturating_sub(self.done_before);
        let remaining = (here > 0).then(|| elapsed / here as f64 * left as f64);
        ContextProgress {
            total: self.total,
            processed,
            failed: self.failed,
            percentage: if self.total == 0 { 0.0 } else { processed as f32 / self.total as f32 * 100.0 },
            elapsed_s: elapsed,
            remaining_s: remaining,
            micro_dollars,
        }
    }

    /// Writes it down, so that a restart goes on with it.
    pub(crate) fn remember(&self, pipeline: &NotePipeline) -> Result<(), EngineError> {
        let text = serde_json::to_string(self).ok();
        Ok(pipeline.store.set_value(NAME, text.as_deref())?)
    }

    /// Forgets a rebuild that is over.
    pub(crate) fn forget(pipeline: &NotePipeline) -> Result<(), EngineError> {
        Ok(pipeline.store.set_value(NAME, None)?)
    }

    /// The rebuild that a former process did not finish.
    pub(crate) fn unfinished(pipeline: &NotePipeline) -> Result<Option<Run>, EngineError> {
        let text = pipeline.store.value(NAME)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).filter(|_| pipeline.generation.costs))
    }

    /// Whether a note is one of its notes and has not been decided about since it began.
    pub(crate) fn is_to_decide(&self, pipeline: &NotePipeline, record: &NoteRecord) -> bool {
        let (reason, at) = record.decided;
        let of_the_run =
            at > self.began || at == self.began && matches!(reason, Reason::Rebuild | Reason::ContextWritten);
        !of_the_run && !self.covered.stale && self.covered.has(pipeline, &record.path, &record.tags)
    }

    /// Its notes that have not been decided about since it began.
    pub(crate) fn rest(&self, pipeline: &NotePipeline) -> Result<Vec<Task>, EngineError> {
        let rest = pipeline.store.notes()?.into_iter().filter(|record| self.is_to_decide(pipeline, record));
        Ok(rest.map(|record| Task::rebuild(record.path, self.began)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebuild_that_a_former_version_wrote_down_goes_on() {
        let text = r#"{"id":5,"began":4,"path":"a/b.md","batch":true,"total":3,"failed":0,"failures":[]}"#;
        let run: Run = serde_json::from_str(text).unwrap();
        assert_eq!((run.covered.under.as_ref(), run.total), (VaultPath::parse("a/b.md").as_ref(), 3));
        assert!(serde_json::to_string(&run).unwrap().contains(r#""path":"a/b.md""#));
    }
}
