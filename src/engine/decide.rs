//! One note from its bytes to everything that has to be written: read, parse, cut, plan, situate, embed.
//! Reads the vault and the store, changes neither: workers run it side by side, and `situated plan` runs it
//! for its answer alone.

mod archive;
mod builder;
mod mentions;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::disk_access::DiskAccess;
use super::embedding::Service;
use super::indexer::disk::Disk;
use archive::Claimant;
use builder::NoteBuilder;
use context::plan;
use context::plan::{
    Action, Archived, ContextSource, CurrentChunk, CurrentNote, Generation, Plan, Reason, StoredChunk, StoredNote,
    Trigger,
};
use context::prompt::Prompter;
use context::settings::Levels;
use context::{ContextRecord, NONE, TEMPLATE, Template};
use index::embed::{Input, Vector};
use index::{ChunkDoc, ChunkRows, HeadingPaths, NoteEntry, Said};
use mentions::mentions;
use note::chunk::{Chunk, ChunkRules, compared};
use note::fingerprint::{ContextKey, InputHash, Sketch, context_key, text_hash};
use note::{FileStat, Format, VaultPath};
use note::{Note, NoteRules, OwnDays, Private};
use store::record::{ChunkRecord, NoteRecord};
use store::{NoteWrite, Store, StoreError, VectorCache};
use vault::documents::FileText;
use vault::policy::is_conflict;
use vault::read::ReadError;

/// What deciding needs to know of a vault.
#[derive(Clone)]
pub(super) struct NotePipeline {
    pub(super) root: PathBuf,
    /// Access to the file system for workers while they decide.
    pub(super) disk: Arc<DiskAccess>,
    pub(super) max_note_bytes: u64,
    pub(super) rules: NoteRules,
    /// Which notes are private.
    pub(super) private: Arc<Private>,
    /// What goes before contexts that a model wrote.
    pub(super) levels: Levels,
    /// Whether questions and terms beside contexts take part in searches.
    pub(super) expansion: bool,
    /// Whether notes leave this machine when the model of contexts is shown them.
    pub(super) writer_leaves: bool,
    pub(super) chunk: ChunkRules,
    /// What makes vectors.
    pub(super) service: Arc<Service>,
    /// What it has made.
    pub(super) vectors: Arc<VectorCache>,
    pub(super) generation: Generation,
    /// How a model is asked, if one writes the contexts.
    pub(super) prompter: Option<Arc<Prompter>>,
    pub(super) store: Arc<Store>,
}

/// A note to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) path: VaultPath,
    pub(super) moved_from: Option<VaultPath>,
    pub(super) trigger: Trigger,
    /// Decide even if the text is the one that is stored (the index has lost it, or other rules are in force).
    pub(super) again: bool,
    /// When a rebuild began (seconds since 1970): contexts that a model has written since then satisfy it.
    pub(super) since: Option<i64>,
}

impl Task {
    /// A task that decides whatever the text is.
    pub(super) fn again(path: VaultPath) -> Self {
        Task { path, moved_from: None, trigger: Trigger::Save, again: true, since: None }
    }

    /// A task that makes everything anew.
    pub(super) fn rebuild(path: VaultPath, since: i64) -> Self {
        Task { trigger: Trigger::Rebuild, since: Some(since), ..Task::again(path) }
    }
}

/// What came of it.
pub(super) enum Outcome {
    /// The text is as it was; only `stat` differs.
    Touched(FileStat),
    /// There is something to write.
    Decided(Box<Decided>),
    /// The note is not there.
    Gone,
    /// It changed while it was read; the next look will tell.
    Unsettled,
    /// It is empty and was not: perhaps the first half of a truncate-and-write.
    Emptied,
    /// It cannot be read now, and why: what was indexed of it stays.
    Skipped(String),
    /// The same, for a reason that may pass by itself: it is read again soon.
    Unreadable(String),
    /// It is no note any more, and why.
    Unfit(String),
    /// The store failed.
    Failed(StoreError),
}

/// Heading path, lines and id of a chunk, as decisions are announced.
pub(super) type ChunkPlace = (Vec<String>, (u32, u32), String);

/// Where the chunks of a note are.
pub(super) fn places(record: &NoteRecord) -> Vec<ChunkPlace> {
    record.chunks.iter().map(|chunk| (chunk.heading_path.clone(), chunk.lines, chunk.id.to_string())).collect()
}

/// A decision with all that carrying it out needs.
pub(super) struct Decided {
    pub(super) plan: Plan,
    pub(super) write: NoteWrite,
    pub(super) entry: NoteEntry,
    pub(super) docs: Vec<ChunkDoc>,
    pub(super) vectors: Vec<(InputHash, Vector)>,
    /// What a slow embedder has not made vectors of yet, by document.
    pub(super) missing: Vec<Vec<Input>>,
    /// Where the stored chunks were, to announce which of them go.
    pub(super) before: Vec<ChunkPlace>,
}

/// A note as it was read.
pub(super) struct ReadNote {
    text: FileText,
    /// Whether the name that it had before is in use again.
    came_back: bool,
}

/// Reads a note for a task; waits for the file system.
pub(super) fn read_note(disk: &dyn Disk, pipeline: &NotePipeline, task: &Task) -> Result<ReadNote, Outcome> {
    if task.trigger == Trigger::Rebuild {
        disk.forget(&pipeline.root, &task.path);
    }
    let text = disk.read(&pipeline.root, &task.path, pipeline.max_note_bytes).map_err(|error| match error {
        ReadError::Gone => Outcome::Gone,
        ReadError::ChangedWhileRead => Outcome::Unsettled,
        // As a walk would have it: what is no note any more (too large, a link, a device) leaves the index.
        ReadError::TooLarge(_) | ReadError::NotAFile | ReadError::Outside => Outcome::Unfit(error.to_string()),
        ReadError::Denied => Outcome::Skipped(error.to_string()),
        ReadError::Io(_) => Outcome::Unreadable(error.to_string()),
    })?;
    let came_back = task.moved_from.as_ref().is_some_and(|old| disk.stat(&pipeline.root, old).is_ok());
    Ok(ReadNote { text, came_back })
}

impl NotePipeline {
    /// Decides about a note as it was read.
    pub(super) fn look(&self, task: &Task, read: ReadNote, now: i64) -> Outcome {
        let ReadNote { text, came_back } = read;
        // If the old name is in use again, this was no move: the note there is another one, and stays.
        let task = &if came_back { Task { moved_from: None, ..task.clone() } } else { task.clone() };
        let stored = match self.stored(task) {
            Ok(stored) => stored,
            Err(error) => return Outcome::Failed(error),
        };
        // A document may have had no text, whatever its size.
        let was_empty = stored.as_ref().is_none_or(|(record, _)| record.hash == text_hash(&[]));
        if text.bytes.is_empty() && !was_empty && !task.again {
            return Outcome::Emptied;
        }
        let hash = text_hash(&text.bytes);
        if let Some((record, _)) = &stored
            && !task.again
            && task.trigger == Trigger::Save
            && record.path == task.path
            && record.hash == hash
            && self.is_current(record)
        {
            return Outcome::Touched(text.stat);
        }
        match self.decide(task, text, stored, now) {
            Ok(decided) => Outcome::Decided(Box::new(decided)),
            Err(error) => Outcome::Failed(error),
        }
    }

    /// Whether a record was made by the generation in force.
    pub(super) fn is_current(&self, record: &NoteRecord) -> bool {
        let Generation { embedder, chunker, llm_min_chunks: _, contextualizer: _, costs: _ } = &self.generation;
        let private = self.private.covers(&record.path, &record.tags);
        record.contextualizer == self.contextualizer_of(self.leaves_out(&record.path, private), record.kind.as_deref())
            && record.embedder == *embedder
            && record.chunker == *chunker
    }

    /// Who writes the contexts of notes of a kind: instructions may differ between kinds.
    pub(super) fn contextualizer(&self, kind: Option<&str>) -> String {
        match &self.prompter {
            Some(prompter) => prompter.generation(kind),
            None => self.generation.contextualizer.clone(),
        }
    }

    /// The same, except that a note about which the model may not be asked keeps the template.
    fn contextualizer_of(&self, left_out: bool, kind: Option<&str>) -> String {
        if left_out { TEMPLATE.to_owned() } else { self.contextualizer(kind) }
    }

    /// Whether the model is not asked about a note: because the note is private and the model is on another machine, or
    /// because it is a document. A book in the vault would cost more than all notes, and nobody asked for that.
    fn leaves_out(&self, path: &VaultPath, private: bool) -> bool {
        (private && self.writer_leaves) || Format::is_converted(path.as_str())
    }

    /// The same of the model of another generation.
    pub(super) fn leaves_out_for(&self, record: &NoteRecord, writer_leaves: bool) -> bool {
        (writer_leaves && self.private.covers(&record.path, &record.tags)) || Format::is_converted(record.path.as_str())
    }

    /// Whether there are to be no contexts; those that were paid for are kept for another time.
    fn is_off(&self) -> bool {
        self.generation.contextualizer == NONE
    }

    /// The questions and terms beside a context that take part in searches: none while they, or contexts altogether,
    /// are off.
    fn expansion_of(&self, record: &ContextRecord) -> String {
        if self.expansion && !self.is_off() { record.expansion.text() } else { String::new() }
    }

    /// Whether the embedder is on another machine, so that it must not be asked for a private note's vectors.
    fn embedder_leaves(&self) -> bool {
        self.service.embedder.leaves_to().is_some()
    }

    /// Whether a note gets no vectors because it is private and the embedder is on another machine.
    pub(super) fn withholds_vectors(&self, record: &NoteRecord) -> bool {
        self.embedder_leaves() && self.private.covers(&record.path, &record.tags)
    }

    fn stored(&self, task: &Task) -> Result<Option<(NoteRecord, Vec<ContextRecord>)>, StoreError> {
        for path in [Some(&task.path), task.moved_from.as_ref()].into_iter().flatten() {
            if let Some(record) = self.store.note(path)? {
                let contexts = self.store.contexts(path)?;
                return Ok(Some((record, contexts)));
            }
        }
        Ok(None)
    }

    /// What is to be done about a note that reads as `text`.
    pub(super) fn decide(
        &self,
        task: &Task,
        text: FileText,
        stored: Option<(NoteRecord, Vec<ContextRecord>)>,
        now: i64,
    ) -> Result<Decided, StoreError> {
        let FileText { bytes, stat, remark } = text;
        let mut note = note::parse(&task.path, &bytes, &self.rules);
        note.warnings.extend(remark.map(|message| note::Warning { line: 1, message }));
        let last = stored.as_ref().map(|(record, _)| record.tags.as_slice());
        if self.private.covers_now(&note, last) && !self.private.covers_note(&note) {
            // It counts as private until its front matter can be read again.
            note.tags.push(note::PRIVATE_TAG.to_owned());
            note.warnings.push(note::Warning { line: 1, message: STILL_PRIVATE.to_owned() });
        }
        let chunks = index::chunk::cut(&note, self.chunk.of(note.kind.as_deref()));
        let template = Template::new(&note);
        let off = self.is_off();
        let templates = chunks.iter().map(|c| if off { String::new() } else { template.context(c) });
        let templates: Vec<String> = templates.collect();
        let above = chunks.iter().map(|c| template.above(c, self.levels)).collect();
        let current = current(&note, &chunks, &templates);
        let facts = stored.as_ref().map(|(record, contexts)| facts(record, contexts, off));
        let private = self.private.covers_note(&note);
        let unasked = self.leaves_out(&task.path, private);
        let contextualizer = self.contextualizer_of(unasked, note.kind.as_deref());
        let moved_from = task.moved_from.as_ref();
        let claimant = Claimant { path: &task.path, moved_from, stat, private };
        let costs = self.generation.costs && !unasked;
        let generation = Generation { contextualizer: contextualizer.clone(), costs, ..self.generation.clone() };
        // The plan itself cannot fail.
        let failure = RefCell::new(None);
        let plan = plan::plan(facts.as_ref(), Some(&current), &generation, task.trigger, &|key| {
            let found = self.archived(claimant, key, &contextualizer).unwrap_or_else(|error| {
                failure.borrow_mut().get_or_insert(error);
                None
            });
            let ContextRecord { generation, sketch, written_at, .. } = found.filter(|_| !off)?;
            Some(Archived { contextualizer: generation, sketch, written_at })
        });
        failure.into_inner().map_or(Ok(()), Err)?;

        let mut builder = NoteBuilder {
            pipeline: self,
            note: &note,
            chunks: &chunks,
            templates,
            above,
            claimant,
            unasked,
            now,
            since: task.since.unwrap_or(now),
            vectors: HashMap::new(),
            missing: Vec::new(),
        };
        let old = stored.as_ref().map(|(record, _)| record);
        let (new_contexts, texts) = builder.contexts(&plan, stored.as_ref().map_or(&[], |(_, contexts)| contexts))?;
        let (chunk_records, docs) = builder.chunks(&plan, old, &new_contexts, &texts);
        let mut missing = std::mem::take(&mut builder.missing);
        if private && self.embedder_leaves() {
            // The note is found by its words, and by vectors that were made before.
            missing.clear();
        }
        let vectors = builder.fresh_vectors();
        let record = NoteRecord { contextualizer, ..self.record(&note, stat, old, &plan, chunk_records, now) };
        let entry = note_entry(&record, &self.rules);
        let moved_from = task.moved_from.clone().filter(|path| old.is_some_and(|old| old.path == *path));
        Ok(Decided {
            before: old.map(places).unwrap_or_default(),
            write: NoteWrite {
                archive: left_over(&plan, &chunks, stored.as_ref()),
                put: Some((record, new_contexts)),
                moved_from,
            },
            plan,
            entry,
            docs,
            vectors,
            missing,
        })
    }

    fn record(
        &self,
        note: &Note,
        stat: FileStat,
        old: Option<&NoteRecord>,
        plan: &Plan,
        chunks: Vec<ChunkRecord>,
        now: i64,
    ) -> NoteRecord {
        // If only vectors came, or the index had lost the note, nothing was decided about it: the former decision
        // stays.
        let unchanged = plan.reason == Reason::Unchanged;
        NoteRecord {
            path: note.path.clone(),
            no: old.map_or(0, |old| old.no),
            seq: 0,
            stat,
            hash: note.hash,
            structure: note.structure(),
            contextualizer: self.contextualizer(note.kind.as_deref()),
            embedder: self.generation.embedder.clone(),
            chunker: self.generation.chunker.clone(),
            title: note.title.clone(),
            aliases: note.front.aliases.clone(),
            tags: note.tags.clone(),
            kind: note.kind.clone(),
            date: note.days.day().map(|date| date.to_string()),
            properties: serde_json::Value::Object(note.front.properties.clone()).to_string(),
            links: mentions(note, self.rules.logseq, &self.root),
            conflict: is_conflict(note.path.file_name()),
            warnings: note.warnings.iter().take(20).map(|w| (w.line, w.message.clone())).collect(),
            decided: old.map(|old| old.decided).filter(|_| unchanged).unwrap_or((plan.reason, now)),
            chunks,
        }
    }
}

fn current<'a>(note: &'a Note, chunks: &[Chunk], templates: &[String]) -> CurrentNote<'a> {
    let chunk = |(c, template): (&Chunk, &String)| CurrentChunk {
        id: c.id,
        keys: c.keys.clone(),
        ordinal: c.ordinal,
        heading_path: note.heading_path(&note.sections[c.sections.start]),
        hash: c.hash,
        text: compared(note, &c.span),
        template_hash: text_hash(template.as_bytes()),
        has_words: c.has_words,
    };
    CurrentNote {
        path: note.path.clone(),
        hash: note.hash,
        structure: note.structure(),
        chunks: chunks.iter().zip(templates).map(chunk).collect(),
    }
}

/// What the plan needs to know of a record; with contexts `off` none counts as paid for, because none is used.
pub(super) fn facts(record: &NoteRecord, contexts: &[ContextRecord], off: bool) -> StoredNote {
    let chunk = |(i, c): (usize, &ChunkRecord)| {
        let context = contexts.get(i);
        StoredChunk {
            id: c.id,
            keys: c.keys.clone(),
            ordinal: c.ordinal,
            heading_path: c.heading_path.clone(),
            hash: c.hash,
            context_hash: c.context_hash,
            paid: !off && context.is_some_and(ContextRecord::is_paid),
            wanted: c.wanted,
            contextualizer: context.map_or_else(String::new, |c| c.generation.clone()),
            sketch: context.map_or_else(Sketch::default, |c| c.sketch.clone()),
            due: c.due,
            later: c.later,
        }
    };
    StoredNote {
        path: record.path.clone(),
        hash: record.hash,
        structure: record.structure,
        embedder: record.embedder.clone(),
        chunker: record.chunker.clone(),
        chunks: record.chunks.iter().enumerate().map(chunk).collect(),
    }
}

/// Paid contexts that no chunk with the same sections holds any more: they go to the archive, under the text
/// they stood with last, so that undoing the change finds them.
pub(super) fn left_over(
    plan: &Plan,
    chunks: &[Chunk],
    stored: Option<&(NoteRecord, Vec<ContextRecord>)>,
) -> Vec<(ContextKey, ContextRecord)> {
    let Some((record, contexts)) = stored else { return Vec::new() };
    let mut taken = vec![false; contexts.len()];
    for step in plan.steps.iter().filter(|s| s.action != Action::Remove) {
        if let ContextSource::Stored(i) = step.context
            && record.chunks.get(i).is_some_and(|old| old.keys == chunks[step.chunk].keys)
            && let Some(taken) = taken.get_mut(i)
        {
            *taken = true;
        }
    }
    let paid = record.chunks.iter().zip(contexts).enumerate().filter(|(i, (_, c))| c.is_paid() && !taken[*i]);
    paid.map(|(_, (chunk, context))| (context_key(&chunk.keys, chunk.hash), context.clone())).collect()
}

/// The snapshot's view of a record.
pub(super) fn note_entry(record: &NoteRecord, rules: &NoteRules) -> NoteEntry {
    let texts = Said {
        title: &record.title,
        kind: record.kind.as_deref(),
        properties: &record.properties,
        aliases: &record.aliases,
        tags: &record.tags,
        links: &record.links,
    };
    NoteEntry {
        no: record.no,
        seq: record.seq,
        path: record.path.clone(),
        stat: record.stat,
        hash: record.hash,
        texts: texts.pack(),
        days: OwnDays::read(&record.path, &record.properties, rules),
        conflict: record.conflict,
        rows: ChunkRows::default(),
        headings: HeadingPaths::default(),
    }
}

/// What is said of a note that stays private.
const STILL_PRIVATE: &str = "the note was private before, and is until front matter can be read that says otherwise";
