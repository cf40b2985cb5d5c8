//! The decision: what has to be done about a note, and why. Pure: no I/O, no clock, no randomness.
//!
//! [`plan`] compares what is stored about a note with what is on disk now, under the [`Generation`] in
//! force, and returns one [`Step`] per chunk. The rules are the decision table of `ARCHITECTURE.md`;
//! the examples under `tests/spec/` are its tests.

mod moves;
mod pending;
mod reuse;
mod shift;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::LazyLock;

use note::VaultPath;
use note::fingerprint::{ChunkId, ContextKey, SectionKey, Sketch, StructureHash, TextHash, context_key, text_hash};
use note::format::Reading;

pub use moves::{MissingNote, NewNote, NoteTraits, match_moves};
pub use pending::PendingContext;
/// Actions and reasons are types of the protocol.
pub use protocol::decision::{Action, Reason};
pub use reuse::{Source, Unknown, may_adopt, may_reuse};

/// Everything besides the notes that decides what is in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Who writes contexts, with model and prompt version, e.g. `template/1`.
    pub contextualizer: String,
    /// Whether a context costs money or time, so that the table governs it. Templates are free.
    pub costs: bool,
    /// Which model makes vectors, e.g. `builtin static-v1`.
    pub embedder: String,
    /// How notes are cut: [`note::chunk::ChunkConfig::identity`].
    pub chunker: String,
    /// Notes with fewer chunks get the template: there is no surrounding document to situate them in.
    pub llm_min_chunks: u32,
}

/// What is stored about a note.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredNote {
    /// Where it was.
    pub path: VaultPath,
    /// Hash of its bytes.
    pub hash: TextHash,
    /// Hash of its outline.
    pub structure: StructureHash,
    /// Embedder and chunker of its time (contexts carry their own generation).
    pub embedder: String,
    /// See [`Generation::chunker`].
    pub chunker: String,
    /// Its chunks in order.
    pub chunks: Vec<StoredChunk>,
}

/// What is stored about a chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredChunk {
    /// Its id.
    pub id: ChunkId,
    /// The sections it held, in order.
    pub keys: Vec<SectionKey>,
    /// See [`note::chunk::Chunk::ordinal`].
    pub ordinal: u32,
    /// The headings above its first section, that one's own included, outermost first.
    pub heading_path: Vec<String>,
    /// Hash of its raw text.
    pub hash: TextHash,
    /// Hash of its context's text as it was embedded.
    pub context_hash: TextHash,
    /// Whether the context was paid for.
    pub paid: bool,
    /// Whether a model's context would have made sense for it then (words of its own, enough chunks).
    pub wanted: bool,
    /// The generation that wrote the context.
    pub contextualizer: String,
    /// The text the context was written for; empty for templates.
    pub sketch: Sketch,
    /// Whether a model is still to be asked for its context.
    pub due: Option<PendingContext>,
    /// Why its context was to be refreshed later, if it was.
    pub later: Option<Reason>,
}

/// What a note is now.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentNote<'a> {
    /// Where it is.
    pub path: VaultPath,
    /// Hash of its bytes.
    pub hash: TextHash,
    /// Hash of its outline.
    pub structure: StructureHash,
    /// Its chunks in order.
    pub chunks: Vec<CurrentChunk<'a>>,
}

/// What a chunk is now.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentChunk<'a> {
    /// Its id.
    pub id: ChunkId,
    /// The sections it holds, in order; never empty.
    pub keys: Vec<SectionKey>,
    /// See [`note::chunk::Chunk::ordinal`].
    pub ordinal: u32,
    /// See [`StoredChunk::heading_path`].
    pub heading_path: Vec<&'a str>,
    /// Hash of its raw text.
    pub hash: TextHash,
    /// Its text, to measure drift: see [`note::chunk::compared`].
    pub text: Cow<'a, str>,
    /// Hash of the template context it would get now.
    pub template_hash: TextHash,
    /// Whether it has words besides headings.
    pub has_words: bool,
}

/// Why the plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The note may have changed. Never buys anything for chunks whose sections still exist.
    Save,
    /// A rebuild was asked for: everything is made anew.
    Rebuild,
}

/// Where a chunk's context comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextSource {
    /// From the stored chunk with this index.
    Stored(usize),
    /// From the archive.
    Archive(ContextKey),
    /// Written anew: by the template at once, by a model later if one is in force.
    Fresh,
}

/// One decision about one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// Index into the current chunks; for [`Action::Remove`] into the stored ones.
    pub chunk: usize,
    /// Where its context comes from; meaningless for [`Action::Remove`].
    pub context: ContextSource,
    /// Why a rebuild or the daily sync should refresh the context, which serves until then.
    pub later: Option<Reason>,
    /// Why a model is to be asked for a context now; `context` serves until it answers.
    pub due: Option<Reason>,
}

/// The decision about a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What happened to the note as a whole.
    pub reason: Reason,
    /// One step per current chunk, in order, then one per stored chunk that is removed.
    pub steps: Vec<Step>,
}

/// A context in the archive, as far as the decision needs to know it.
#[derive(Clone, Debug, PartialEq)]
pub struct Archived {
    /// The generation that wrote it.
    pub contextualizer: String,
    /// The text it was written for.
    pub sketch: Sketch,
    /// When it was written, seconds since 1970 (UTC).
    pub written_at: i64,
}

/// If less than this share of the shingles that a context was written for is left, the text counts as another.
pub const DRIFT_BELOW: f32 = 0.5;

/// The hash of no context: what a chunk has while contexts are off.
static UNUSED: LazyLock<TextHash> = LazyLock::new(|| text_hash(b""));

/// Decides what is to be done about one note.
///
/// `stored` is what is known of it (under its old path if it moved), `now` what is on disk. `archived` looks up a
/// context that no chunk holds any more and that may serve this note ([`may_reuse`]). Deterministic; total.
pub fn plan(
    stored: Option<&StoredNote>,
    now: Option<&CurrentNote<'_>>,
    generation: &Generation,
    trigger: Trigger,
    archived: &dyn Fn(ContextKey) -> Option<Archived>,
) -> Plan {
    match (stored, now) {
        (None, None) => Plan { reason: Reason::Unchanged, steps: Vec::new() },
        (Some(stored), None) => {
            let gone = |chunk| Step::removal(chunk, Reason::NoteRemoved);
            Plan { reason: Reason::NoteRemoved, steps: (0..stored.chunks.len()).map(gone).collect() }
        }
        (stored, Some(now)) => {
            let comparison = stored.map(|stored| Comparison::new(stored, now, generation));
            let decision = Decision { comparison: comparison.as_ref(), now, generation, trigger, archived };
            let mut steps: Vec<Step> = (0..now.chunks.len()).map(|i| decision.step(i)).collect();
            steps.extend(comparison.iter().flat_map(Comparison::removals));
            let reason = comparison.map_or(Reason::NewNote, |comparison| comparison.note_reason(trigger, &steps));
            Plan { reason, steps }
        }
    }
}

impl Step {
    fn new(action: Action, reason: Reason, chunk: usize, context: ContextSource) -> Self {
        Step { action, reason, chunk, context, later: None, due: None }
    }

    fn removal(chunk: usize, reason: Reason) -> Self {
        Step::new(Action::Remove, reason, chunk, ContextSource::Fresh)
    }
}

impl Plan {
    /// How many steps have this action.
    pub fn count(&self, action: Action) -> u32 {
        self.steps.iter().filter(|step| step.action == action).count() as u32
    }
}

/// A stored note compared with the current one: all differences that the rules use.
struct Comparison<'a> {
    stored: &'a StoredNote,
    now: &'a CurrentNote<'a>,
    /// Where in the stored note a chunk begins: (first section, ordinal) → index.
    places: HashMap<(SectionKey, u32), usize>,
    /// Which stored chunks hold a section, in order.
    holders: HashMap<SectionKey, Vec<usize>>,
    current_keys: HashSet<SectionKey>,
    moved: bool,
    same_text: bool,
    same_structure: bool,
    same_chunker: bool,
    same_embedder: bool,
    /// If the text is the same and only read otherwise: for each current chunk the stored one that it was, whose context it
    /// takes even if it has a new section.
    counterparts: Vec<usize>,
    /// See [`shift::shifted`].
    shifted: HashMap<usize, Option<usize>>,
}

impl<'a> Comparison<'a> {
    fn new(stored: &'a StoredNote, now: &'a CurrentNote<'a>, generation: &Generation) -> Self {
        let mut places = HashMap::new();
        let mut holders: HashMap<SectionKey, Vec<usize>> = HashMap::new();
        for (i, chunk) in stored.chunks.iter().enumerate() {
            if let Some(first) = chunk.keys.first() {
                places.entry((*first, chunk.ordinal)).or_insert(i);
            }
            for key in &chunk.keys {
                holders.entry(*key).or_default().push(i);
            }
        }
        let (same_text, same_chunker) = (stored.hash == now.hash, stored.chunker == generation.chunker);
        // What a document is converted to changes when the program does, without a change of the document.
        let same_source = same_text || now.path.format().reading() == Reading::Converted;
        let read_otherwise = same_source && !same_chunker && stored.structure != now.structure;
        Comparison {
            counterparts: if read_otherwise { counterparts(stored, now) } else { Vec::new() },
            shifted: if same_text || !same_chunker { HashMap::new() } else { shift::shifted(stored, now) },
            stored,
            now,
            places,
            holders,
            current_keys: now.chunks.iter().flat_map(|c| c.keys.iter().copied()).collect(),
            moved: stored.path != now.path,
            same_text,
            same_structure: stored.structure == now.structure,
            same_chunker,
            same_embedder: stored.embedder == generation.embedder,
        }
    }

    fn note_reason(&self, trigger: Trigger, steps: &[Step]) -> Reason {
        let all_kept = steps.iter().all(|s| s.action == Action::Keep);
        match () {
            () if trigger == Trigger::Rebuild => Reason::Rebuild,
            () if !self.same_structure => Reason::StructureChanged,
            () if self.moved => Reason::NoteMoved,
            () if !self.same_text => Reason::BodyChanged,
            () if !self.same_chunker => Reason::ChunkerChanged,
            () if !self.same_embedder => Reason::EmbedderChanged,
            () if all_kept => Reason::Unchanged,
            () if steps.iter().any(|step| step.reason == Reason::ContextWritten) => Reason::ContextWritten,
            () => Reason::ContextualizerChanged,
        }
    }

    /// The stored chunk at the same place: same first section, same ordinal in it.
    fn at_place(&self, first: SectionKey, ordinal: u32) -> Option<usize> {
        self.places.get(&(first, ordinal)).copied()
    }

    /// The stored chunk whose context a current chunk takes, if it takes one.
    fn donor(&self, index: usize) -> Option<Donor<'a>> {
        let chunk = &self.now.chunks[index];
        let by_place = || self.by_place(chunk).filter(|_| !self.holds_new_section(chunk));
        let index = match self.shifted.get(&index) {
            Some(was) => *was,
            None => by_place().or_else(|| self.counterparts.get(index).copied()),
        }?;
        Some(Donor { index, chunk: &self.stored.chunks[index] })
    }

    /// The stored chunk at a chunk's place, else the last one before it that held its first section, else (text that
    /// appeared before the first heading) the first chunk.
    fn by_place(&self, chunk: &CurrentChunk<'_>) -> Option<usize> {
        let first = *chunk.keys.first()?;
        if let Some(same) = self.at_place(first, chunk.ordinal) {
            return Some(same);
        }
        let holders = self.holders.get(&first).map_or(&[][..], Vec::as_slice);
        let begins_by = |i: &&usize| {
            let holder = &self.stored.chunks[**i];
            holder.keys.first() != Some(&first) || holder.ordinal <= chunk.ordinal
        };
        let before = holders.iter().rev().find(begins_by).or_else(|| holders.first()).copied();
        before.or((self.same_structure && !self.stored.chunks.is_empty()).then_some(0))
    }

    fn holds_new_section(&self, chunk: &CurrentChunk<'_>) -> bool {
        !self.same_structure && chunk.keys.iter().any(|key| !self.holders.contains_key(key))
    }

    /// One removal per stored chunk whose place is empty now.
    fn removals(&self) -> Vec<Step> {
        let places: HashSet<_> = self.now.chunks.iter().filter_map(|c| Some((*c.keys.first()?, c.ordinal))).collect();
        let gone = self.stored.chunks.iter().enumerate().filter_map(|(i, c)| {
            let first = c.keys.first()?;
            let reason = match () {
                () if places.contains(&(*first, c.ordinal)) => return None,
                () if !self.same_chunker => Reason::ChunkerChanged,
                () if self.current_keys.contains(first) || self.same_structure => Reason::SectionShrank,
                () => Reason::StructureChanged,
            };
            Some(Step::removal(i, reason))
        });
        gone.collect()
    }
}

/// For each current chunk the stored one that it was: the one with its text, else the one after that of the chunk before
/// it. Empty if nothing is stored.
fn counterparts(stored: &StoredNote, now: &CurrentNote<'_>) -> Vec<usize> {
    let Some(last) = stored.chunks.len().checked_sub(1) else { return Vec::new() };
    let mut with_text: HashMap<TextHash, VecDeque<usize>> = HashMap::new();
    for (i, chunk) in stored.chunks.iter().enumerate() {
        with_text.entry(chunk.hash).or_default().push_back(i);
    }
    let mut next = 0;
    let mut of = |chunk: &CurrentChunk<'_>| {
        let found = with_text.get_mut(&chunk.hash).and_then(VecDeque::pop_front).unwrap_or(next);
        next = (found + 1).min(last);
        found
    };
    now.chunks.iter().map(&mut of).collect()
}

/// A stored chunk whose context a current chunk takes.
#[derive(Clone, Copy)]
struct Donor<'a> {
    index: usize,
    chunk: &'a StoredChunk,
}

struct Decision<'a> {
    /// With what is stored, if the note is known.
    comparison: Option<&'a Comparison<'a>>,
    now: &'a CurrentNote<'a>,
    generation: &'a Generation,
    trigger: Trigger,
    archived: &'a dyn Fn(ContextKey) -> Option<Archived>,
}

impl Decision<'_> {
    fn step(&self, index: usize) -> Step {
        let notes = self.comparison.and_then(|notes| Some((notes, notes.donor(index)?)));
        match (self.trigger, notes) {
            (Trigger::Rebuild, _) => self.rebuilt(index, notes.map(|(_, donor)| donor)),
            (Trigger::Save, Some((notes, donor))) => {
                self.found(index, Some(donor)).unwrap_or_else(|| self.kept(notes, index, donor))
            }
            (Trigger::Save, None) => self.found(index, None).unwrap_or_else(|| self.fresh(index)),
        }
    }

    /// The step of a save for a chunk that has a stored context, and for which no better one was found.
    fn kept(&self, notes: &Comparison<'_>, index: usize, donor: Donor<'_>) -> Step {
        let chunk = &self.now.chunks[index];
        let old = donor.chunk;
        let same_text = chunk.hash == old.hash;
        // A paid context stays as it is, unless contexts were off at the last decision; a template is computed from the
        // current note.
        let same_context = if old.paid { old.context_hash != *UNUSED } else { chunk.template_hash == old.context_hash };
        let due = old.due.filter(|_| self.wants_model(chunk)).map(|due| due.reason);
        let later = if due.is_some() { None } else { self.later(chunk, old) };
        // Whether a request waits already or not: only a rebuild replaces a context that this text had before.
        let outlived = matches!(
            due.or(later),
            Some(Reason::Drifted | Reason::ContextualizerChanged | Reason::NewNote | Reason::StructureChanged)
        );
        // A text that is only further down in its section than before goes with its context.
        let moved = || !same_text && due.is_none() && self.twin(chunk, Some(donor)).is_some();
        // Without this, the daily sync would buy a context again that was bought for a text to which the chunk returned.
        if old.paid
            && (outlived || moved())
            && let Some((context, found)) = self.bought(chunk, Some(donor))
            && found.contextualizer == self.generation.contextualizer
            && found.sketch.left_in(&chunk.text) >= DRIFT_BELOW
        {
            return Step::new(Action::Reembed, Reason::FoundInArchive, index, context);
        }
        let context = ContextSource::Stored(donor.index);
        if same_text && same_context && notes.same_embedder {
            let reason = if notes.moved { Reason::NoteMoved } else { Reason::Unchanged };
            return Step { later, due, ..Step::new(Action::Keep, reason, index, context) };
        }
        let at_place = notes.at_place(chunk.keys[0], chunk.ordinal) == Some(donor.index);
        let reason = match () {
            () if same_text && same_context => Reason::EmbedderChanged,
            () if !notes.same_chunker => Reason::ChunkerChanged,
            () if !at_place && notes.same_structure => Reason::SectionGrew,
            () if !same_text => Reason::BodyChanged,
            () if !notes.same_structure => Reason::StructureChanged,
            () if notes.moved => Reason::NoteMoved,
            () if self.outdates(old) || (old.paid && !same_context) => Reason::ContextualizerChanged,
            () => Reason::BodyChanged,
        };
        Step { later, due, ..Step::new(Action::Reembed, reason, index, context) }
    }

    /// The step of a save for a chunk without a stored context.
    fn fresh(&self, index: usize) -> Step {
        let reason = if self.comparison.is_some() { Reason::StructureChanged } else { Reason::NewNote };
        let due = self.wants_model(&self.now.chunks[index]).then_some(reason);
        Step { due, ..Step::new(Action::Regenerate, reason, index, ContextSource::Fresh) }
    }

    /// The step of a rebuild.
    fn rebuilt(&self, index: usize, donor: Option<Donor<'_>>) -> Step {
        let chunk = &self.now.chunks[index];
        let due = self.wants_model(chunk).then_some(Reason::Rebuild);
        let reason = match donor {
            _ if self.comparison.is_none() => Reason::NewNote,
            Some(donor) if self.outdates(donor.chunk) => Reason::ContextualizerChanged,
            _ => Reason::Rebuild,
        };
        // What a model wrote serves until the model has written again. If none is asked about the chunk, it takes what was
        // bought for its text when its note was larger, as on every save: the next save would find it.
        let stays = |donor: &Donor<'_>| due.is_some() || (donor.chunk.paid && self.generation.costs);
        let unasked = self.generation.costs && due.is_none();
        let bought = || unasked.then(|| self.bought(chunk, None)).flatten().map(|(context, _)| context);
        let stored = donor.filter(stays).map(|donor| ContextSource::Stored(donor.index));
        let context = stored.or_else(bought).unwrap_or(ContextSource::Fresh);
        Step { due, ..Step::new(Action::Regenerate, reason, index, context) }
    }

    /// A context that was bought for a chunk's sections and text: from the archive, or from a stored chunk of the note
    /// other than `donor`. This very plan may remove that chunk, and so move its context to the archive.
    fn bought(&self, chunk: &CurrentChunk<'_>, donor: Option<Donor<'_>>) -> Option<(ContextSource, Archived)> {
        let key = context_key(&chunk.keys, chunk.hash);
        if let Some(found) = (self.archived)(key) {
            return Some((ContextSource::Archive(key), found));
        }
        self.twin(chunk, donor)
    }

    /// The context of a stored chunk of the note, other than `donor`, with a chunk's sections and text.
    fn twin(&self, chunk: &CurrentChunk<'_>, donor: Option<Donor<'_>>) -> Option<(ContextSource, Archived)> {
        let stored = self.comparison?.stored.chunks.iter().enumerate();
        let own = donor.map(|donor| donor.index);
        let mut twins = stored.filter(|(i, old)| old.paid && old.hash == chunk.hash && Some(*i) != own);
        let (twin, old) = twins.find(|(_, old)| old.keys == chunk.keys)?;
        // `i64::MIN`: it was not written for a waiting request.
        let (contextualizer, sketch, written_at) = (old.contextualizer.clone(), old.sketch.clone(), i64::MIN);
        Some((ContextSource::Stored(twin), Archived { contextualizer, sketch, written_at }))
    }

    /// The step of a save for a chunk whose context was bought before, at another time or for a note that came and went: it is
    /// better than a template, and must not be bought again. If a paid context waits for its replacement, a bought one
    /// counts only if it is newer than the request.
    fn found(&self, index: usize, donor: Option<Donor<'_>>) -> Option<Step> {
        let old = donor.map(|donor| donor.chunk);
        let (paid, due) = old.map_or((false, None), |old| (old.paid, old.due));
        if paid && due.is_none() {
            return None;
        }
        let chunk = &self.now.chunks[index];
        let taken = |(context, found): (ContextSource, Archived)| {
            let outdated = self.generation.costs && found.contextualizer != self.generation.contextualizer;
            let answers = due.is_some_and(|due| found.written_at >= due.since) && !outdated;
            if paid && !answers {
                return None;
            }
            // A context of another model serves, but does not answer the request.
            let due = due.filter(|_| !answers && outdated && self.wants_model(chunk)).map(|due| due.reason);
            let drifted = answers && found.sketch.left_in(&chunk.text) < DRIFT_BELOW;
            let later = if drifted { Some(Reason::Drifted) } else { outdated.then_some(Reason::ContextualizerChanged) };
            let reason = if answers { Reason::ContextWritten } else { Reason::FoundInArchive };
            let later = later.filter(|_| due.is_none());
            Some(Step { later, due, ..Step::new(Action::Reembed, reason, index, context) })
        };
        let own = self.bought(chunk, donor).and_then(taken);
        if own.as_ref().is_some_and(|own| own.due.is_none()) {
            return own;
        }
        // The text has changed while the model wrote: as a context that was there before the edit, the answer serves on.
        let key = old.filter(|old| old.due.is_some()).map(|old| context_key(&old.keys, old.hash));
        let answer = key.and_then(|key| taken((ContextSource::Archive(key), (self.archived)(key)?)));
        answer.filter(|answer| answer.reason == Reason::ContextWritten).or(own)
    }

    /// Why a rebuild or the daily sync should write a context anew that serves for now, if it should.
    fn later(&self, chunk: &CurrentChunk<'_>, old: &StoredChunk) -> Option<Reason> {
        if !self.wants_model(chunk) {
            return None;
        }
        match () {
            // The model was asked for this text, in vain.
            () if !old.paid && old.later == Some(Reason::ContextFailed) && chunk.hash == old.hash => old.later,
            // When its context was due, it was an empty section, or its note was private or had too few chunks: it never
            // had a model's.
            () if !old.paid && (!old.wanted || old.later == Some(Reason::Drifted)) => Some(Reason::Drifted),
            () if old.contextualizer != self.generation.contextualizer => Some(Reason::ContextualizerChanged),
            () if old.sketch.left_in(&chunk.text) < DRIFT_BELOW => Some(Reason::Drifted),
            () => None,
        }
    }

    /// Whether the generation is another one than that of a stored context. A model does not outdate a template where no
    /// model's context was due.
    fn outdates(&self, old: &StoredChunk) -> bool {
        let governed = old.paid || old.wanted || !self.generation.costs;
        governed && old.contextualizer != self.generation.contextualizer
    }

    /// Whether a model is to write the context of a chunk.
    fn wants_model(&self, chunk: &CurrentChunk<'_>) -> bool {
        self.generation.costs && wants_model(chunk.has_words, self.now.chunks.len(), self.generation)
    }
}

/// Whether a model's context makes sense for a chunk of a note with `chunks` chunks: the chunk needs words besides
/// headings, and a surrounding document.
pub fn wants_model(has_words: bool, chunks: usize, generation: &Generation) -> bool {
    has_words && chunks >= generation.llm_min_chunks as usize
}
