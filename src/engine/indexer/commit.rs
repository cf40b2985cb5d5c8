//! The committer carries decisions out: store, then index, then snapshot. Only it writes store and index, and it knows
//! which notes are in them.

use crate::host;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::decide::{ChunkPlace, Decided, NotePipeline, facts, places};
use crate::embedding::{Service, Serving};
use crate::{EngineError, VaultShared, now_s};
use context::plan::{Action, Reason, Trigger};
use index::embed::Input;
use index::{Index, NoteNo, NoteTable, WindowVector};
use note::fingerprint::{InputHash, context_key};
use note::{FileStat, NoteRules, VaultPath};
use protocol::decision::{DecidedStep, Decision};
use protocol::status::{DecisionCount, WarnedNote};
use store::NoteWrite;
use store::record::NoteRecord;

mod load;

use super::generation;
use super::migration::{Fill, forget_run, with_embedder};
use crate::settings::Settings;

/// A bulk is first published after this time, so that searches find what is indexed so far.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

/// The longest time between two publishings, however long the bulk takes. In this time the memory of a bulk fills up
/// many times, so publishing ends hardly any segment early.
const PUBLISH_AT_LEAST_EVERY: Duration = Duration::from_secs(30);

/// Bytes of memory that restored tables take for each byte of the file.
const RESTORED: u64 = 2;

/// Whether so many more bytes of memory may be taken; [`EngineError::NoRoom`] if they may not.
pub(super) type Room<'a> = dyn Fn(u64) -> Result<(), EngineError> + Sync + 'a;

/// Notes with warnings that `status` names.
const MOST_WARNED: usize = 100;

/// Copies of sync conflicts that `status` names.
const MOST_CONFLICTS: usize = 100;

/// A decision that was carried out.
pub(crate) struct Committed {
    pub(crate) record: NoteRecord,
    pub(crate) moved_from: Option<VaultPath>,
    /// Inputs that a slow embedder has not embedded yet, by document.
    pub(crate) missing: Vec<Vec<Input>>,
    /// The decision in the terms of the protocol, if it is reported.
    pub(crate) decision: Option<Decision>,
}

/// A vault that has changed over to another embedder.
pub(crate) struct ChangedOver {
    /// Notes whose records do not name the new embedder yet.
    pub(crate) records: Vec<(VaultPath, Vec<Vec<InputHash>>)>,
    /// Notes that could not be read and have no vectors now: they get vectors when they are read next.
    pub(crate) unseen: Vec<VaultPath>,
}

/// A note that was removed.
pub(crate) struct Removed {
    pub(crate) path: VaultPath,
    pub(crate) no: Option<u32>,
    pub(crate) decision: Option<Decision>,
}

/// The writer of one vault's store and index.
pub(crate) struct Committer {
    /// Makes the decisions, and holds the store.
    pub(crate) pipeline: Arc<NotePipeline>,
    shared: Arc<VaultShared>,
    pub(super) index: Index,
    /// Notes with warnings.
    warned: HashMap<u32, WarnedNote>,
    counts: BTreeMap<(Action, Reason), u64>,
    /// When a decision last changed the index, seconds since 1970.
    changed_at: Option<i64>,
    pace: Pace,
}

/// When snapshots are published, and how the index writes.
struct Pace {
    published: Instant,
    /// Since when the index is in bulk mode.
    bulk_since: Option<Instant>,
    /// Whether segments of a bulk may still be merged without the published snapshot showing it.
    merging: bool,
    /// Segments of the lexical index when the last snapshot was published.
    segments: usize,
    dirty: bool,
}

/// What `status` reports of a note with warnings.
fn warned(record: &NoteRecord) -> Option<WarnedNote> {
    let (line, message) = record.warnings.first()?;
    Some(WarnedNote { path: record.path.to_string(), line: *line, message: message.clone() })
}

/// The inputs that a note's record will name.
fn inputs_of((_, write): &(VaultPath, NoteWrite)) -> impl Iterator<Item = InputHash> {
    write.put.iter().flat_map(|(record, _)| &record.chunks).flat_map(|chunk| chunk.inputs.iter().copied())
}

impl Committer {
    pub(crate) fn new(pipeline: Arc<NotePipeline>, index: Index, shared: Arc<VaultShared>) -> Self {
        let pace = Pace { published: machine::now(), bulk_since: None, merging: false, segments: 0, dirty: true };
        Committer { pipeline, shared, index, warned: HashMap::new(), counts: BTreeMap::new(), changed_at: None, pace }
    }

    /// Carries decisions out: vectors, one store transaction, then the index. Nothing is visible before it is
    /// published. `told` says whether each decision is reported.
    pub(crate) fn apply(
        &mut self,
        decided: Vec<(VaultPath, Decided)>,
        began: Instant,
        told: bool,
    ) -> Result<Vec<Committed>, EngineError> {
        let mut writes = Vec::with_capacity(decided.len());
        let mut rest = Vec::with_capacity(decided.len());
        let mut vectors = Vec::new();
        for (path, decided) in decided {
            let Decided { plan, write, entry, docs, vectors: fresh, missing, before } = decided;
            vectors.extend(fresh);
            rest.push((path.clone(), write.moved_from.clone(), plan, entry, docs, missing, before));
            writes.push((path, write));
        }
        // The vectors that searches read are adjacent, without the vectors of texts alone between them.
        let named: HashSet<InputHash> = writes.iter().flat_map(inputs_of).collect();
        vectors.sort_by_key(|(input, _)| !named.contains(input));
        // Vectors first: a record that names an input whose vector is missing would have to be decided again.
        self.pipeline.vectors.put(&vectors)?;
        let records = self.pipeline.store.apply_many(writes)?;
        let mut committed = Vec::with_capacity(records.len());
        for (record, (path, moved_from, plan, mut entry, mut docs, missing, before)) in records.into_iter().zip(rest) {
            for (doc, chunk) in docs.iter_mut().zip(&record.chunks) {
                self.pipeline.vectors.place(&mut doc.windows, &chunk.inputs);
            }
            (entry.no, entry.seq) = (record.no, record.seq);
            self.warned.remove(&record.no);
            self.warned.extend(warned(&record).map(|warned| (record.no, warned)));
            self.count(&plan);
            let decision = told.then(|| decision(&self.shared.name, &path, &plan, &record, &before, began));
            self.index.put(entry, docs)?;
            // The moved note keeps its number; another note that was still at the old path is removed.
            if let Some(no) = moved_from.as_ref().and_then(|old| self.number(old)) {
                self.index.remove(no)?;
            }
            self.changed(record.decided.1);
            committed.push(Committed { record, moved_from, missing, decision });
        }
        Ok(committed)
    }

    /// Removes notes from store and index.
    pub(crate) fn remove(&mut self, paths: &[VaultPath], began: Instant) -> Result<Vec<Removed>, EngineError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut writes = Vec::with_capacity(paths.len());
        let mut removed: Vec<Removed> = Vec::with_capacity(paths.len());
        for path in paths {
            let no = self.number(path);
            let Some(record) = self.pipeline.store.note(path)? else {
                removed.push(Removed { path: path.clone(), no, decision: None });
                continue;
            };
            let contexts = self.pipeline.store.contexts(path)?;
            let facts = facts(&record, &contexts, false);
            let plan = context::plan::plan(Some(&facts), None, &self.pipeline.generation, Trigger::Save, &|_| None);
            let paid = record.chunks.iter().zip(contexts).filter(|(_, c)| c.is_paid());
            let archive = paid.map(|(chunk, context)| (context_key(&chunk.keys, chunk.hash), context)).collect();
            writes.push((path.clone(), NoteWrite { put: None, moved_from: None, archive }));
            self.count(&plan);
            let decision = decision(&self.shared.name, path, &plan, &record, &places(&record), began);
            removed.push(Removed { path: path.clone(), no, decision: Some(decision) });
        }
        // The record of a removed note comes back under the sequence number of the removal.
        let gone = self.pipeline.store.apply_many(writes)?;
        for (decision, record) in removed.iter_mut().filter_map(|note| note.decision.as_mut()).zip(&gone) {
            decision.seq = record.seq;
        }
        for path in paths {
            if let Some(no) = self.number(path) {
                self.warned.remove(&no);
                self.index.remove(no)?;
                self.changed(now_s());
            }
        }
        Ok(removed)
    }

    /// Writes a note's new `stat`, where its text is the same.
    pub(crate) fn touch(&mut self, path: &VaultPath, stat: FileStat) -> Result<(), EngineError> {
        self.pipeline.store.touch(path, stat)?;
        if let Some(no) = self.number(path) {
            self.index.touch(no, stat);
            self.pace.dirty = true;
        }
        Ok(())
    }

    /// Records that a known note cannot be indexed now, so that it is read again when its `stat` changes.
    pub(crate) fn distrust(&mut self, path: &VaultPath) {
        if let Some(no) = self.number(path) {
            self.index.distrust(no);
        }
    }

    /// Records that a decision of this time (seconds since 1970) is in the index. The time is the one in the note's
    /// record, so that `status` says the same after a restart.
    fn changed(&mut self, decided: i64) {
        self.pace.dirty = true;
        self.changed_at = self.changed_at.max(Some(decided));
    }

    fn count(&mut self, plan: &context::plan::Plan) {
        for step in &plan.steps {
            *self.counts.entry((step.action, step.reason)).or_default() += 1;
        }
    }

    /// The known notes, each as it is indexed. A walk may hold a copy.
    pub(crate) fn known(&self) -> &NoteTable {
        self.index.notes()
    }

    fn number(&self, path: &VaultPath) -> Option<NoteNo> {
        self.known().at(path).map(|note| note.no)
    }

    /// Publishes if there is something new and, in a bulk, if the last publishing is long enough ago.
    pub(crate) fn publish_if_due(&mut self, bulk: bool) -> Result<(), EngineError> {
        // Every publishing ends segments of the lexical index early, and they have to be merged then. So a bulk
        // publishes when it has taken twice as long as at the last publishing, until full memory ends the segments
        // anyway.
        let half = self.pace.bulk_since.map(|since| machine::since(since) / 2);
        let pause = half.unwrap_or_default().clamp(PUBLISH_EVERY, PUBLISH_AT_LEAST_EVERY);
        if !self.pace.dirty || (bulk && machine::since(self.pace.published) < pause) {
            return Ok(());
        }
        self.publish()
    }

    /// Publishes what is indexed: searches see it from now on.
    pub(crate) fn publish(&mut self) -> Result<(), EngineError> {
        let snapshot = self.index.publish(self.pipeline.store.seq())?;
        {
            let mut status = self.shared.status.lock();
            status.notes = snapshot.note_count() as u64;
            status.chunks = snapshot.chunk_count() as u64;
            status.seq = snapshot.seq();
            status.warned = self.warned.len() as u64;
            let mut warned: Vec<&WarnedNote> = self.warned.values().collect();
            warned.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            status.warned_notes = warned.into_iter().take(MOST_WARNED).cloned().collect();
            status.conflicts =
                self.known().conflicts().take(MOST_CONFLICTS).map(|note| note.path.to_string()).collect();
            status.last_change = self.changed_at;
            let counts = self.counts.iter();
            status.decisions = counts
                .map(|((action, reason), n)| DecisionCount { action: *action, reason: *reason, count: *n })
                .collect();
        }
        self.shared.publish(snapshot, self.pipeline.clone());
        let pace = &mut self.pace;
        (pace.dirty, pace.published, pace.segments) = (false, machine::now(), self.index.segments());
        Ok(())
    }

    /// Notes whose words were lost in a failed write (a full disk, say): they have to be decided again.
    pub(crate) fn take_lost(&mut self) -> Vec<VaultPath> {
        let lost = self.index.take_lost();
        if lost.is_empty() {
            return Vec::new();
        }
        tracing::warn!(notes = lost.len(), "words were lost when writing the index; these notes are indexed again");
        lost.iter().filter_map(|no| self.known().get(*no)).map(|note| note.path.clone()).collect()
    }

    /// Whether the index writes in bulk.
    pub(crate) fn is_bulk(&self) -> bool {
        self.pace.bulk_since.is_some()
    }

    /// Chooses how the index writes: in bulk, or a note at a time.
    pub(crate) fn bulk(&mut self, bulk: bool) {
        if bulk == self.is_bulk() {
            return;
        }
        self.pace.bulk_since = bulk.then(Instant::now);
        self.pace.merging = !bulk;
        let changed = if bulk { self.index.begin_bulk(host::background_thread) } else { self.index.end_bulk() };
        warn_unchanged(changed);
    }

    /// Lets a bulk go on with as little memory as saves take.
    pub(crate) fn spare_memory(&mut self) {
        warn_unchanged(self.index.spare_memory());
    }

    /// Publishes again once segments of a bulk were merged while the loop went on: searches are faster then.
    pub(crate) fn follow_merges(&mut self) -> Result<(), EngineError> {
        if self.pace.merging && !self.pace.dirty && self.index.segments() < self.pace.segments {
            self.publish()?;
            self.pace.merging = false;
        }
        Ok(())
    }

    /// Waits until everything is on the disk, for a clean stop.
    pub(crate) fn flush(&mut self) -> Result<(), EngineError> {
        self.pipeline.store.flush(true)?;
        self.index.sync()?;
        self.save_tables()
    }

    /// Makes another embedder serve from now on. Returns the notes whose records do not name it yet.
    pub(super) fn change_embedder(&mut self, fill: Fill, dir: &Path) -> Result<ChangedOver, EngineError> {
        let Fill { service, pipeline, done, .. } = fill;
        let cache = pipeline.vectors.clone();
        cache.sync()?;
        // From here on a restart finds the new embedder in force. It decides records that do not name it yet again,
        // with vectors from the cache.
        Serving::of(&service.config(), &service.embedder).write(dir).map_err(|error| EngineError::io(dir, &error))?;
        let by_number: HashMap<u32, &Vec<Vec<InputHash>>> =
            done.iter().filter_map(|(path, inputs)| Some((self.number(path)?, inputs.as_ref()?))).collect();
        let mut vectors_of = |note: u32, position: usize| -> Vec<WindowVector> {
            let inputs = by_number.get(&note).and_then(|chunks| chunks.get(position));
            inputs.map_or_else(Vec::new, |inputs| cache.windows(inputs).into_iter().flatten().collect())
        };
        self.index.replace_vectors(service.embedder.dimensions(), cache.clone(), &mut vectors_of);
        self.pipeline.store.serve_vectors(cache);
        self.pipeline = pipeline;
        // Snapshot and embedder are published together.
        self.publish()?;
        forget_run(&self.pipeline)?;
        let (seen, unseen): (Vec<_>, Vec<_>) = done.into_iter().partition(|(_, inputs)| inputs.is_some());
        Ok(ChangedOver {
            records: seen.into_iter().filter_map(|(path, inputs)| Some((path, inputs?))).collect(),
            unseen: unseen.into_iter().map(|(path, _)| path).collect(),
        })
    }

    /// Takes another handle of the embedder that serves, which makes the same vectors.
    pub(super) fn take_service(&mut self, service: &Arc<Service>) -> Result<(), EngineError> {
        self.pipeline = with_embedder(&self.pipeline, service, self.pipeline.vectors.clone());
        self.publish()
    }

    /// Reads notes by other rules from now on.
    pub(super) fn take_rules(&mut self, rules: NoteRules, config: &Settings) -> Result<(), EngineError> {
        let generation = generation(config, &self.pipeline.service.embedder, &rules);
        self.pipeline = Arc::new(NotePipeline { rules, generation, ..(*self.pipeline).clone() });
        self.publish()
    }

    /// Makes records name the embedder that serves; what is indexed of the notes does not change.
    pub(super) fn amend_embedder(&self, records: &[(VaultPath, Vec<Vec<InputHash>>)]) -> Result<(), EngineError> {
        let embedder = &self.pipeline.generation.embedder;
        for (path, inputs) in records {
            self.pipeline.store.amend(path, |record: &mut NoteRecord| {
                if record.embedder != *embedder && record.chunks.len() == inputs.len() {
                    record.embedder.clone_from(embedder);
                    record.chunks.iter_mut().zip(inputs).for_each(|(chunk, inputs)| chunk.inputs.clone_from(inputs));
                }
            })?;
        }
        Ok(())
    }
}

/// A plan in the terms of the protocol.
pub(crate) fn decision(
    vault: &str,
    path: &VaultPath,
    plan: &context::plan::Plan,
    record: &NoteRecord,
    before: &[ChunkPlace],
    began: Instant,
) -> Decision {
    let now = places(record);
    let step = |step: &context::plan::Step| {
        let chunks = if step.action == Action::Remove { before } else { &now };
        let (heading_path, lines, chunk) = chunks.get(step.chunk).cloned().unwrap_or_default();
        DecidedStep { action: step.action, reason: step.reason, chunk, heading_path, lines, later: step.later }
    };
    Decision {
        vault: vault.to_owned(),
        path: path.to_string(),
        reason: plan.reason,
        kept: plan.count(Action::Keep),
        reembedded: plan.count(Action::Reembed),
        regenerated: plan.count(Action::Regenerate),
        removed: plan.count(Action::Remove),
        steps: plan.steps.iter().map(step).collect(),
        seq: record.seq,
        took_ms: machine::since(began).as_secs_f64() * 1e3,
        at: now_s(),
    }
}

/// Logs that the index could not change how it writes.
fn warn_unchanged(changed: Result<(), index::LexicalError>) {
    if let Err(error) = changed {
        tracing::warn!(%error, "the index goes on writing as it did");
    }
}

/// Opens the lexical index in `dir`, and reads the tables that the last stop saved, if there is room for them. It is a
/// cache of the store, so one that cannot be used is made anew.
pub(crate) fn open_index(
    dir: &Path,
    dimensions: usize,
    language: Option<index::Language>,
    room: &Room<'_>,
) -> Result<Index, EngineError> {
    let open = || -> Result<Index, index::LexicalError> {
        let mut index = Index::open_unchecked(dir, dimensions, language)?;
        match index.saved_bytes() {
            0 => index.check()?,
            bytes if room(bytes.saturating_mul(RESTORED)).is_ok() => index.read_saved(),
            _ => {}
        }
        Ok(index)
    };
    match open() {
        Ok(index) => Ok(index),
        Err(error) if dir.exists() => {
            tracing::warn!(%error, "the word index cannot be used and is made anew");
            std::fs::remove_dir_all(dir).map_err(|error| EngineError::io(dir, &error))?;
            Ok(open()?)
        }
        Err(error) => Err(error.into()),
    }
}
