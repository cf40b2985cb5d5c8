//! The stored shapes of version 1, frozen: a change here needs a new version beside it. The program's enums are written
//! as numbers that this file defines, so that reordering them changes nothing on disk.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::damage::Damage;
use super::record::{ChunkRecord, NoteRecord};
use context::plan::{Action, PendingContext, Reason};
use context::prompt::Form;
use context::quality::Scores;
use context::{ContextRecord, Expansion, Origin, Spent};
use note::fingerprint::{ChunkId, ContextKey, InputHash, SectionKey, Sketch, StructureHash, TextHash};
use note::{FileStat, VaultPath};

/// See [`super::codec::Counters`].
#[derive(Serialize, Deserialize)]
pub(super) struct Counters {
    pub seq: u64,
    pub next_no: u32,
}

/// See [`NoteRecord`].
#[derive(Serialize, Deserialize)]
pub(super) struct Note<'a> {
    no: u32,
    seq: u64,
    /// Size, modification time, change time, device, inode.
    stat: (u64, i64, i64, u64, u64),
    hash: TextHash,
    structure: StructureHash,
    contextualizer: Cow<'a, str>,
    embedder: Cow<'a, str>,
    chunker: Cow<'a, str>,
    title: Cow<'a, str>,
    aliases: Cow<'a, [String]>,
    tags: Cow<'a, [String]>,
    kind: Option<Cow<'a, str>>,
    date: Option<Cow<'a, str>>,
    properties: Cow<'a, str>,
    links: Cow<'a, [String]>,
    conflict: bool,
    warnings: Cow<'a, [(u32, String)]>,
    decided: (u8, i64),
    chunks: Vec<Chunk<'a>>,
}

/// See [`ChunkRecord`].
#[derive(Serialize, Deserialize)]
struct Chunk<'a> {
    id: ChunkId,
    keys: Cow<'a, [SectionKey]>,
    ordinal: u32,
    span: (u32, u32),
    lines: (u32, u32),
    heading_path: Cow<'a, [String]>,
    hash: TextHash,
    context_hash: TextHash,
    wanted: bool,
    inputs: Cow<'a, [InputHash]>,
    decided: (u8, u8),
    later: Option<u8>,
    /// Reason, since when, tries.
    due: Option<(u8, i64, u8)>,
}

/// Contexts, with the generations that they share written once.
#[derive(Serialize, Deserialize)]
pub(super) struct Contexts<'a> {
    generations: Vec<Cow<'a, str>>,
    contexts: Vec<Context<'a>>,
}

/// See [`ContextRecord`].
#[derive(Serialize, Deserialize)]
struct Context<'a> {
    origin: u8,
    /// Index into the generations.
    generation: u32,
    text: Cow<'a, str>,
    sections: Cow<'a, [SectionKey]>,
    written_for: TextHash,
    sketch: Cow<'a, Sketch>,
    quality: f32,
    written_at: i64,
    /// Tokens in, out and cached, micro-dollars.
    spent: (u64, u64, u64, Option<u64>),
    making: Option<Making>,
}

/// See [`context::Making`].
#[derive(Serialize, Deserialize)]
struct Making {
    form: u8,
    cut: bool,
    weak: bool,
    tries: u8,
    took_ms: u32,
    /// Length, grounding, novelty, specificity, opening, numbers, originality, coherence.
    scores: [f32; 8],
}

/// An entry of the journal.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Entry {
    /// A context (bytes of [`super::codec::encode_contexts`]) and the keys that find it.
    Context { keys: Vec<ContextKey>, record: Vec<u8> },
    /// One more key for the context whose bytes have this hash.
    Alias { key: ContextKey, of: [u8; 16] },
    /// A note holds the contexts whose bytes have these hashes; it has these tags. Since version 2, as the next two.
    Held { path: String, tags: Vec<String>, removed: bool, of: Vec<[u8; 16]> },
    /// The note that held contexts at one path is at another.
    Moved { from: String, to: String },
    /// The note that held contexts is gone; it had these tags.
    Removed { path: String, tags: Vec<String> },
    /// Questions and terms that were written beside the context whose bytes have this hash. Since version 3.
    Expansion { of: [u8; 16], questions: Vec<String>, terms: Vec<String> },
}

impl Entry {
    /// The version of the journal's entries that first had it.
    pub(super) fn version(&self) -> u8 {
        match self {
            Entry::Context { .. } | Entry::Alias { .. } => 1,
            Entry::Held { .. } | Entry::Moved { .. } | Entry::Removed { .. } => 2,
            Entry::Expansion { .. } => 3,
        }
    }
}

impl<'a> Note<'a> {
    /// A note's shape without its chunks.
    pub(super) fn head(note: &'a NoteRecord) -> Self {
        let FileStat { size, mtime_ns, ctime_ns, dev, ino } = note.stat;
        Note {
            no: note.no,
            seq: note.seq,
            stat: (size, mtime_ns, ctime_ns, dev, ino),
            hash: note.hash,
            structure: note.structure,
            contextualizer: Cow::Borrowed(&note.contextualizer),
            embedder: Cow::Borrowed(&note.embedder),
            chunker: Cow::Borrowed(&note.chunker),
            title: Cow::Borrowed(&note.title),
            aliases: Cow::Borrowed(&note.aliases),
            tags: Cow::Borrowed(&note.tags),
            kind: note.kind.as_deref().map(Cow::Borrowed),
            date: note.date.as_deref().map(Cow::Borrowed),
            properties: Cow::Borrowed(&note.properties),
            links: Cow::Borrowed(&note.links),
            conflict: note.conflict,
            warnings: Cow::Borrowed(&note.warnings),
            decided: (reason_number(note.decided.0), note.decided.1),
            chunks: Vec::new(),
        }
    }
}

impl Note<'_> {
    /// The record of the note at `path`.
    pub(super) fn into_record(self, path: VaultPath) -> Result<NoteRecord, Damage> {
        let (size, mtime_ns, ctime_ns, dev, ino) = self.stat;
        Ok(NoteRecord {
            path,
            no: self.no,
            seq: self.seq,
            stat: FileStat { size, mtime_ns, ctime_ns, dev, ino },
            hash: self.hash,
            structure: self.structure,
            contextualizer: self.contextualizer.into_owned(),
            embedder: self.embedder.into_owned(),
            chunker: self.chunker.into_owned(),
            title: self.title.into_owned(),
            aliases: self.aliases.into_owned(),
            tags: self.tags.into_owned(),
            kind: self.kind.map(Cow::into_owned),
            date: self.date.map(Cow::into_owned),
            properties: self.properties.into_owned(),
            links: self.links.into_owned(),
            conflict: self.conflict,
            warnings: self.warnings.into_owned(),
            decided: (reason(self.decided.0)?, self.decided.1),
            chunks: self.chunks.into_iter().map(Chunk::into_record).collect::<Result<_, _>>()?,
        })
    }
}

impl Chunk<'_> {
    fn into_record(self) -> Result<ChunkRecord, Damage> {
        Ok(ChunkRecord {
            id: self.id,
            keys: self.keys.into_owned(),
            ordinal: self.ordinal,
            span: self.span,
            lines: self.lines,
            heading_path: self.heading_path.into_owned(),
            hash: self.hash,
            context_hash: self.context_hash,
            wanted: self.wanted,
            inputs: self.inputs.into_owned(),
            decided: (action(self.decided.0)?, reason(self.decided.1)?),
            later: self.later.map(reason).transpose()?,
            due: self.due.map(due).transpose()?,
        })
    }
}

impl<'a> Contexts<'a> {
    /// The stored shape of the records.
    pub(super) fn from_records(records: impl IntoIterator<Item = &'a ContextRecord>) -> Self {
        let mut out = Contexts { generations: Vec::new(), contexts: Vec::new() };
        for record in records {
            let known = out.generations.iter().position(|g| *g == record.generation);
            let generation = known.unwrap_or_else(|| {
                out.generations.push(Cow::Borrowed(&record.generation));
                out.generations.len() - 1
            });
            out.contexts.push(Context::new(record, generation as u32));
        }
        out
    }

    /// The records.
    pub(super) fn into_records(self) -> Result<Vec<ContextRecord>, Damage> {
        let generations = self.generations;
        let generation = |n: u32| generations.get(n as usize).map(|g| g.clone().into_owned());
        let record = |context: Context<'_>| {
            let (tokens_in, tokens_out, tokens_cached, micro_dollars) = context.spent;
            Ok(ContextRecord {
                text: context.text.into_owned(),
                origin: match context.origin {
                    0 => Origin::Template,
                    1 => Origin::Model,
                    n => return Err(unknown("origin", n)),
                },
                generation: generation(context.generation)
                    .ok_or_else(|| Damage::Shape("a generation is missing".into()))?,
                sections: context.sections.into_owned(),
                written_for: context.written_for,
                sketch: context.sketch.into_owned(),
                quality: context.quality,
                written_at: context.written_at,
                spent: Spent { tokens_in, tokens_out, tokens_cached, micro_dollars },
                making: context.making.map(Making::into_record).transpose()?,
                // Only the journal has it.
                expansion: Expansion::default(),
            })
        };
        self.contexts.into_iter().map(record).collect()
    }
}

impl<'a> Context<'a> {
    fn new(record: &'a ContextRecord, generation: u32) -> Self {
        let Spent { tokens_in, tokens_out, tokens_cached, micro_dollars } = record.spent;
        let (origin, text, sketch) = match record.origin {
            Origin::Template => (0, "", Cow::Owned(Sketch::default())),
            Origin::Model => (1, &*record.text, Cow::Borrowed(&record.sketch)),
        };
        Context {
            origin,
            generation,
            text: Cow::Borrowed(text),
            sections: Cow::Borrowed(&record.sections),
            written_for: record.written_for,
            sketch,
            quality: record.quality,
            written_at: record.written_at,
            spent: (tokens_in, tokens_out, tokens_cached, micro_dollars),
            making: record.making.map(Making::from),
        }
    }
}

impl From<context::Making> for Making {
    fn from(making: context::Making) -> Self {
        let context::Making { form, cut, weak, tries, took_ms, scores } = making;
        let Scores { length, grounding, novelty, specificity, opening, numbers, originality, coherence } = scores;
        let form = match form {
            Form::Note => 0,
            Form::Chunk => 1,
            Form::Simple => 2,
        };
        let scores = [length, grounding, novelty, specificity, opening, numbers, originality, coherence];
        Making { form, cut, weak, tries, took_ms, scores }
    }
}

impl Making {
    fn into_record(self) -> Result<context::Making, Damage> {
        let form = match self.form {
            0 => Form::Note,
            1 => Form::Chunk,
            2 => Form::Simple,
            n => return Err(unknown("form", n)),
        };
        let [length, grounding, novelty, specificity, opening, numbers, originality, coherence] = self.scores;
        let scores = Scores { length, grounding, novelty, specificity, opening, numbers, originality, coherence };
        let Making { cut, weak, tries, took_ms, .. } = self;
        Ok(context::Making { form, cut, weak, tries, took_ms, scores })
    }
}

fn unknown(what: &str, number: u8) -> Damage {
    Damage::Shape(format!("unknown {what} {number}"))
}

/// What a model is to be asked for, from its reason, since when, and tries.
pub(super) fn due((number, since, tries): (u8, i64, u8)) -> Result<PendingContext, Damage> {
    Ok(PendingContext { reason: reason(number)?, since, tries })
}

pub(super) fn action_number(action: Action) -> u8 {
    match action {
        Action::Keep => 0,
        Action::Reembed => 1,
        Action::Regenerate => 2,
        Action::Remove => 3,
    }
}

pub(super) fn action(number: u8) -> Result<Action, Damage> {
    Ok(match number {
        0 => Action::Keep,
        1 => Action::Reembed,
        2 => Action::Regenerate,
        3 => Action::Remove,
        n => return Err(unknown("action", n)),
    })
}

pub(super) fn reason_number(reason: Reason) -> u8 {
    match reason {
        Reason::NewNote => 0,
        Reason::NoteRemoved => 1,
        Reason::NoteMoved => 2,
        Reason::Unchanged => 3,
        Reason::BodyChanged => 4,
        Reason::StructureChanged => 5,
        Reason::SectionGrew => 6,
        Reason::SectionShrank => 7,
        Reason::FoundInArchive => 8,
        Reason::ContextualizerChanged => 9,
        Reason::EmbedderChanged => 10,
        Reason::ChunkerChanged => 11,
        Reason::Drifted => 12,
        Reason::Rebuild => 13,
        Reason::ContextWritten => 14,
        Reason::ContextFailed => 15,
    }
}

pub(super) fn reason(number: u8) -> Result<Reason, Damage> {
    Ok(match number {
        0 => Reason::NewNote,
        1 => Reason::NoteRemoved,
        2 => Reason::NoteMoved,
        3 => Reason::Unchanged,
        4 => Reason::BodyChanged,
        5 => Reason::StructureChanged,
        6 => Reason::SectionGrew,
        7 => Reason::SectionShrank,
        8 => Reason::FoundInArchive,
        9 => Reason::ContextualizerChanged,
        10 => Reason::EmbedderChanged,
        11 => Reason::ChunkerChanged,
        12 => Reason::Drifted,
        13 => Reason::Rebuild,
        14 => Reason::ContextWritten,
        15 => Reason::ContextFailed,
        n => return Err(unknown("reason", n)),
    })
}

#[cfg(test)]
mod tests;
