//! Builds what one note's plan asks for: its records, documents and vectors. Writes nothing.

use std::collections::HashMap;

use super::NotePipeline;
use super::archive::Claimant;
use context::plan;
use context::plan::{Action, ContextSource, PendingContext, Plan, Reason, Step};
use context::{ContextRecord, Expansion, Making, NONE, Origin, Spent, TEMPLATE};
use index::embed::{Input, Vector, builtin, input};
use index::{ChunkDoc, ChunkEntry};
use note::Note;
use note::chunk::{Chunk, searchable, visible};
use note::fingerprint::{InputHash, Sketch, context_key, text_hash};
use store::StoreError;
use store::record::{ChunkRecord, NoteRecord};

/// Everything about one note while its plan is worked out.
pub(super) struct NoteBuilder<'a> {
    pub(super) pipeline: &'a NotePipeline,
    pub(super) note: &'a Note,
    pub(super) chunks: &'a [Chunk],
    pub(super) templates: Vec<String>,
    /// Per chunk: what goes before a context that a model wrote.
    pub(super) above: Vec<String>,
    /// The note, as the archive sees it.
    pub(super) claimant: Claimant<'a>,
    /// Whether no model is to be shown this note.
    pub(super) unasked: bool,
    pub(super) now: i64,
    /// The time of requests that are made now.
    pub(super) since: i64,
    /// `None` for what the embedder has not made yet.
    pub(super) vectors: HashMap<InputHash, Option<(Vector, bool)>>,
    pub(super) missing: Vec<Vec<Input>>,
}

impl NoteBuilder<'_> {
    /// Per current chunk: the context's record, and its text.
    pub(super) fn contexts(
        &self,
        plan: &Plan,
        stored: &[ContextRecord],
    ) -> Result<(Vec<ContextRecord>, Vec<String>), StoreError> {
        let mut records = Vec::with_capacity(self.chunks.len());
        let mut texts = Vec::with_capacity(self.chunks.len());
        for step in plan.steps.iter().filter(|step| step.action != Action::Remove) {
            let found = match step.context {
                ContextSource::Stored(i) => stored.get(i).filter(|c| c.is_paid()).cloned(),
                ContextSource::Archive(key) => {
                    let contextualizer = self.pipeline.contextualizer_of(self.unasked, self.note.kind.as_deref());
                    self.pipeline.archived(self.claimant, key, &contextualizer)?
                }
                ContextSource::Fresh => None,
            };
            let context = found.unwrap_or_else(|| self.template_record(&self.chunks[step.chunk]));
            let (template, above) = (&self.templates[step.chunk], &self.above[step.chunk]);
            let text = match context.making {
                _ if self.pipeline.is_off() => String::new(),
                _ if !context.is_paid() => template.clone(),
                Some(Making { weak: true, .. }) => format!("{template}\n{}", context.text),
                _ if above.is_empty() => context.text.clone(),
                _ => format!("{above}\n{}", context.text),
            };
            records.push(context);
            texts.push(text);
        }
        Ok((records, texts))
    }

    /// A template is computed from the note whenever it is needed, so its record holds no text.
    fn template_record(&self, chunk: &Chunk) -> ContextRecord {
        ContextRecord {
            text: String::new(),
            origin: Origin::Template,
            generation: if self.pipeline.is_off() { NONE } else { TEMPLATE }.to_owned(),
            sections: chunk.keys.clone(),
            written_for: chunk.hash,
            sketch: Sketch::default(),
            quality: 1.0,
            written_at: self.now,
            spent: Spent::default(),
            making: None,
            expansion: Expansion::default(),
        }
    }

    pub(super) fn chunks(
        &mut self,
        plan: &Plan,
        old: Option<&NoteRecord>,
        contexts: &[ContextRecord],
        texts: &[String],
    ) -> (Vec<ChunkRecord>, Vec<ChunkDoc>) {
        let mut records = Vec::with_capacity(self.chunks.len());
        let mut docs = Vec::with_capacity(self.chunks.len());
        let limits = self.pipeline.service.embedder.limits();
        let mut together = if limits.together { self.together(&limits) } else { Vec::new() }.into_iter();
        for step in plan.steps.iter().filter(|step| step.action != Action::Remove) {
            let (note, chunk, context) = (self.note, &self.chunks[step.chunk], &texts[step.chunk]);
            let record = &contexts[step.chunk];
            let expansion = self.pipeline.expansion_of(record);
            let shown = chunk.searchable(note);
            let of_model = |text: &str| builtin::model().token_starts(text);
            let inputs = together.next().map_or_else(
                || {
                    let inputs = input::inputs_within(&limits, context, &shown, &of_model).into_iter();
                    inputs.map(|input| input::with_expansion(&limits, input, &expansion)).collect()
                },
                |input| vec![input],
            );
            let heading_path = note.heading_path(&note.sections[chunk.sections.start]);
            self.make(&inputs);
            let vectors = inputs.iter().filter_map(|input| self.vector(input, !limits.together));
            let windows = vectors.map(Into::into).collect();
            if !limits.together && self.pipeline.service.makes_text_vectors() {
                let alone = inputs.iter().filter_map(|input| input::without_context(input, context));
                alone.for_each(|input| self.text_alone(&input));
            }
            let unchanged = match (step.action, step.context, old) {
                (Action::Keep, ContextSource::Stored(i), Some(old)) => old.chunks.get(i).map(|c| c.decided),
                _ => None,
            };
            records.push(ChunkRecord {
                id: chunk.id,
                keys: chunk.keys.clone(),
                ordinal: chunk.ordinal,
                span: (chunk.span.start as u32, chunk.span.end as u32),
                lines: chunk.lines,
                heading_path: heading_path.iter().map(|heading| (*heading).to_owned()).collect(),
                hash: chunk.hash,
                context_hash: text_hash(context.as_bytes()),
                wanted: !self.unasked
                    && plan::wants_model(chunk.has_words, self.chunks.len(), &self.pipeline.generation),
                inputs: inputs.iter().map(|input| input.hash).collect(),
                decided: unchanged.unwrap_or((step.action, step.reason)),
                later: step.later.or_else(|| put_aside(step, old)),
                due: step.due.map(|reason| self.due(reason, step, record, old)),
            });
            docs.push(ChunkDoc {
                entry: ChunkEntry {
                    id: chunk.id,
                    note: 0,
                    position: step.chunk as u32,
                    span: (chunk.span.start as u32, chunk.span.end as u32),
                    lines: chunk.lines,
                },
                heading_path: heading_path.into_iter().collect(),
                text: visible(note, &chunk.span).into_owned(),
                searchable: chunk.with_marked_words(note),
                context: context.clone(),
                expansion,
                windows,
            });
        }
        (records, docs)
    }

    /// A request that is still open keeps its creation time, also if another model's context serves from now on: the
    /// answer may be under way. Its tries count only while the text is the same. A new one is younger than the context
    /// that it is to replace.
    fn due(&self, reason: Reason, step: &Step, context: &ContextRecord, old: Option<&NoteRecord>) -> PendingContext {
        let chunk = &self.chunks[step.chunk];
        let stood = match (step.context, old) {
            (ContextSource::Stored(i), Some(old)) => old.chunks.get(i),
            (ContextSource::Archive(key), Some(old)) => {
                old.chunks.iter().find(|old| context_key(&old.keys, old.hash) == key)
            }
            (ContextSource::Fresh, _) | (_, None) => None,
        };
        match stood.and_then(|old| Some((old.due.filter(|due| due.reason == reason)?, old.hash))) {
            Some((due, hash)) if hash == chunk.hash => due,
            Some((due, _)) => PendingContext { tries: 0, ..due },
            None if context.is_paid() => {
                PendingContext { reason, since: self.since.max(context.written_at + 1), tries: 0 }
            }
            None => PendingContext { reason, since: self.since, tries: 0 },
        }
    }

    /// The inputs of a model that sees all of a note, one for each chunk. What a chunk repeats of the one before it is
    /// left out: the model has read it.
    fn together(&mut self, limits: &input::InputLimits) -> Vec<Input> {
        let mut end = 0;
        let mut raws = Vec::with_capacity(self.chunks.len());
        for chunk in self.chunks {
            let own = searchable(self.note, &(chunk.span.start.max(end).min(chunk.span.end)..chunk.span.end));
            end = chunk.span.end;
            // No embedder takes an empty text.
            raws.push(if own.trim().is_empty() { self.note.title.clone() } else { own });
        }
        let raws: Vec<&str> = raws.iter().map(String::as_str).collect();
        let documents = input::inputs_together(limits, &raws, &|text| builtin::model().token_starts(text));
        let lacks = |document: &&Vec<Input>| document.iter().any(|input| !self.pipeline.vectors.holds(input.hash));
        self.missing = documents.iter().filter(lacks).cloned().collect();
        documents.into_iter().flatten().collect()
    }

    /// Makes the missing vectors of a chunk's inputs if that takes no time; in one call, because the inputs share
    /// texts.
    fn make(&mut self, inputs: &[Input]) {
        let holds = |hash: InputHash| self.vectors.contains_key(&hash) || self.pipeline.vectors.holds(hash);
        let lacking: Vec<&Input> = inputs.iter().filter(|input| !holds(input.hash)).collect();
        let made = self.pipeline.service.embedder.inputs_at_once(&lacking).unwrap_or_default();
        let made = lacking.into_iter().zip(made);
        self.vectors.extend(made.map(|(input, vector)| (input.hash, Some((vector, true)))));
    }

    /// The vector of an input, if it is there or can be made in no time; with `order` a missing one is added to
    /// `missing`.
    fn vector(&mut self, input: &Input, order: bool) -> Option<Vector> {
        if let Some(known) = self.vectors.get(&input.hash) {
            return known.as_ref().map(|(vector, _)| vector.clone());
        }
        let cached = self.pipeline.vectors.get(input.hash).map(|vector| (vector, false));
        let found = cached.or_else(|| Some((self.pipeline.service.embedder.input_at_once(input)?, true)));
        if found.is_none() && order {
            self.missing.push(vec![input.clone()]);
        }
        self.vectors.insert(input.hash, found.clone());
        found.map(|(vector, _)| vector)
    }

    /// Has the vector of a text without its context made, for searches without contexts. The user has asked for that
    /// although the embedder takes its time and it costs as much again.
    fn text_alone(&mut self, input: &Input) {
        if self.vectors.contains_key(&input.hash) || self.pipeline.vectors.holds(input.hash) {
            return;
        }
        // An empty text gets a zero vector: it finds nothing.
        let dimensions = self.pipeline.service.embedder.dimensions();
        let nothing = || (Vector { values: vec![0; dimensions].into(), scale: 0.0 }, true);
        let vector = input.text.is_empty().then(nothing);
        if vector.is_none() {
            self.missing.push(vec![input.clone()]);
        }
        self.vectors.insert(input.hash, vector);
    }

    pub(super) fn fresh_vectors(self) -> Vec<(InputHash, Vector)> {
        let known = self.vectors.into_iter().filter_map(|(hash, known)| Some((hash, known?)));
        let mut fresh: Vec<_> = known.filter(|(_, (_, fresh))| *fresh).map(|(hash, (v, _))| (hash, v)).collect();
        fresh.sort_by_key(|(hash, _)| *hash);
        fresh
    }
}

/// What was asked for before a rebuild asked for a context, or what the save would have asked for that the rebuild saw
/// first: that is asked for again if the rebuild ends early.
fn put_aside(step: &Step, old: Option<&NoteRecord>) -> Option<Reason> {
    if step.due != Some(Reason::Rebuild) {
        return None;
    }
    match (step.context, old) {
        (ContextSource::Stored(i), Some(old)) => {
            let chunk = old.chunks.get(i)?;
            let due = chunk.due?;
            if due.reason == Reason::Rebuild { chunk.later } else { Some(due.reason) }
        }
        (_, Some(_)) => Some(Reason::StructureChanged),
        (_, None) => Some(Reason::NewNote),
    }
}
