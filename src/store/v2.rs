//! The stored shapes of version 2, frozen as those of [`super::v1`] are. They have what version 1 has, except what can
//! be derived: a chunk's id follows from its place, most headings above it are those of the chunk before, and a
//! template's context says nothing that its chunk does not. Hashes lie side by side, for they are read at every start.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::damage::Damage;
use super::record::{ChunkRecord, NoteRecord};
use super::v1;
use context::{ContextRecord, Expansion, Origin, Spent};
use note::VaultPath;
use note::fingerprint::{ChunkId, InputHash, SectionKey, Sketch, TextHash, chunk_id};

/// See [`NoteRecord`].
#[derive(Serialize, Deserialize)]
pub(super) struct Note<'a> {
    /// Without its chunks.
    head: v1::Note<'a>,
    #[serde(borrow)]
    chunks: Vec<Chunk<'a>>,
}

/// See [`ChunkRecord`].
#[derive(Serialize, Deserialize)]
struct Chunk<'a> {
    /// Its id, if it does not follow from path, first section and ordinal.
    id: Option<ChunkId>,
    /// 16 bytes each: the hashes of its text and of its context's text, then its sections, then its inputs.
    #[serde(borrow)]
    hashes: Cow<'a, [u8]>,
    /// How many of the hashes are sections.
    sections: u32,
    ordinal: u32,
    /// Bytes from the end of the chunk before to the start of this one, and its length, both modulo 2^32.
    span: (u32, u32),
    /// Lines from the last line of the chunk before to the first of this one, and from there to its last, modulo 2^32
    /// too.
    lines: (u32, u32),
    /// How many of its headings, from the outermost, are those of the chunk before; the others follow.
    shared: u32,
    headings: Cow<'a, [String]>,
    wanted: bool,
    decided: (u8, u8),
    later: Option<u8>,
    /// Reason, since when, tries.
    due: Option<(u8, i64, u8)>,
}

/// The contexts of a note's chunks.
#[derive(Serialize, Deserialize)]
pub(super) struct Contexts<'a> {
    /// Generation and time of the plain contexts, which say nothing else.
    plain: Vec<(Cow<'a, str>, i64)>,
    /// For each chunk its number in `plain`, counted from 1, or 0 for the next of `others`.
    of_chunks: Vec<u32>,
    others: v1::Contexts<'a>,
}

/// The chunk before, relative to which a chunk is encoded.
struct Before<'a> {
    end: u32,
    line: u32,
    headings: &'a [String],
}

impl<'a> Before<'a> {
    const NONE: Before<'static> = Before { end: 0, line: 0, headings: &[] };

    fn of(chunk: Option<&'a ChunkRecord>) -> Self {
        chunk.map_or(Before::NONE, |chunk| Before {
            end: chunk.span.1,
            line: chunk.lines.1,
            headings: &chunk.heading_path,
        })
    }
}

fn shape(what: &str) -> Damage {
    Damage::Shape(what.to_owned())
}

impl<'a> From<&'a NoteRecord> for Note<'a> {
    fn from(note: &'a NoteRecord) -> Self {
        let before = std::iter::once(None).chain(note.chunks.iter().map(Some));
        let chunks = before.zip(&note.chunks);
        let chunks = chunks.map(|(before, chunk)| Chunk::new(&note.path, &Before::of(before), chunk)).collect();
        Note { head: v1::Note::head(note), chunks }
    }
}

impl Note<'_> {
    /// The record of the note at `path`.
    pub(super) fn into_record(self, path: VaultPath) -> Result<NoteRecord, Damage> {
        let mut note = self.head.into_record(path)?;
        note.chunks.reserve(self.chunks.len());
        for chunk in self.chunks {
            let record = chunk.into_record(&note.path, &Before::of(note.chunks.last()))?;
            note.chunks.push(record);
        }
        Ok(note)
    }
}

/// The id that follows from a chunk's place; `None` for a chunk without sections, which stores its own.
fn id_at(path: &VaultPath, sections: &[SectionKey], ordinal: u32) -> Option<ChunkId> {
    sections.first().map(|first| chunk_id(path.as_str(), *first, ordinal))
}

impl<'a> Chunk<'a> {
    fn new(path: &VaultPath, before: &Before<'_>, chunk: &'a ChunkRecord) -> Self {
        let shared = chunk.heading_path.iter().zip(before.headings).take_while(|(a, b)| a == b).count();
        let mut hashes = [chunk.hash.0, chunk.context_hash.0].concat();
        chunk.keys.iter().for_each(|key| hashes.extend_from_slice(&key.0));
        chunk.inputs.iter().for_each(|input| hashes.extend_from_slice(&input.0));
        Chunk {
            id: Some(chunk.id).filter(|id| id_at(path, &chunk.keys, chunk.ordinal) != Some(*id)),
            hashes: Cow::Owned(hashes),
            sections: chunk.keys.len() as u32,
            ordinal: chunk.ordinal,
            span: (chunk.span.0.wrapping_sub(before.end), chunk.span.1.wrapping_sub(chunk.span.0)),
            lines: (chunk.lines.0.wrapping_sub(before.line), chunk.lines.1.wrapping_sub(chunk.lines.0)),
            shared: shared as u32,
            headings: Cow::Borrowed(&chunk.heading_path[shared..]),
            wanted: chunk.wanted,
            decided: (v1::action_number(chunk.decided.0), v1::reason_number(chunk.decided.1)),
            later: chunk.later.map(v1::reason_number),
            due: chunk.due.map(|due| (v1::reason_number(due.reason), due.since, due.tries)),
        }
    }

    fn into_record(self, path: &VaultPath, before: &Before<'_>) -> Result<ChunkRecord, Damage> {
        let (hashes, rest) = self.hashes.as_chunks::<16>();
        let (Some((own, others)), []) = (hashes.split_first_chunk::<2>(), rest) else {
            return Err(shape("a chunk has no hashes"));
        };
        let keys = others.get(..self.sections as usize).ok_or_else(|| shape("a chunk's sections are missing"))?;
        let inputs = others[keys.len()..].iter().map(|hash| InputHash(*hash)).collect();
        let keys: Vec<_> = keys.iter().map(|hash| SectionKey(*hash)).collect();
        let id = self.id.or_else(|| id_at(path, &keys, self.ordinal)).ok_or_else(|| shape("a chunk has no id"))?;
        let shared = before.headings.get(..self.shared as usize).ok_or_else(|| shape("headings are missing"))?;
        let start = before.end.wrapping_add(self.span.0);
        let line = before.line.wrapping_add(self.lines.0);
        Ok(ChunkRecord {
            id,
            keys,
            ordinal: self.ordinal,
            span: (start, start.wrapping_add(self.span.1)),
            lines: (line, line.wrapping_add(self.lines.1)),
            heading_path: shared.iter().cloned().chain(self.headings.into_owned()).collect(),
            hash: TextHash(own[0]),
            context_hash: TextHash(own[1]),
            wanted: self.wanted,
            inputs,
            decided: (v1::action(self.decided.0)?, v1::reason(self.decided.1)?),
            later: self.later.map(v1::reason).transpose()?,
            due: self.due.map(v1::due).transpose()?,
        })
    }
}

/// A template's context that says only its generation and when it was decided on.
fn plain(chunk: &ChunkRecord, generation: &str, written_at: i64) -> ContextRecord {
    ContextRecord {
        text: String::new(),
        origin: Origin::Template,
        generation: generation.to_owned(),
        sections: chunk.keys.clone(),
        written_for: chunk.hash,
        sketch: Sketch::default(),
        quality: 1.0,
        written_at,
        spent: Spent::default(),
        making: None,
        expansion: Expansion::default(),
    }
}

/// Whether a record says no more than [`plain`] does. Text and sketch of a template's context are not kept.
fn is_plain(context: &ContextRecord, chunk: &ChunkRecord) -> bool {
    context.origin == Origin::Template
        && context.sections == chunk.keys
        && context.written_for == chunk.hash
        && context.quality.to_bits() == 1f32.to_bits()
        && context.spent == Spent::default()
        && context.making.is_none()
}

impl<'a> Contexts<'a> {
    /// The stored shape of the contexts of these chunks, in order.
    pub(super) fn from_records(chunks: &[ChunkRecord], contexts: &'a [ContextRecord]) -> Self {
        let (mut plain, mut others) = (Vec::new(), Vec::new());
        let mut number = |context: &'a ContextRecord| {
            let known =
                |(generation, at): &(Cow<'_, str>, i64)| *generation == context.generation && *at == context.written_at;
            let found = plain.iter().position(known).unwrap_or_else(|| {
                plain.push((Cow::Borrowed(context.generation.as_str()), context.written_at));
                plain.len() - 1
            });
            found as u32 + 1
        };
        let of_chunks = contexts.iter().enumerate().map(|(at, context)| {
            if chunks.get(at).is_some_and(|chunk| is_plain(context, chunk)) {
                return number(context);
            }
            others.push(context);
            0
        });
        let of_chunks = of_chunks.collect();
        Contexts { plain, of_chunks, others: v1::Contexts::from_records(others) }
    }

    /// The records of these chunks' contexts.
    pub(super) fn into_records(self, chunks: &[ChunkRecord]) -> Result<Vec<ContextRecord>, Damage> {
        let missing = || shape("a context is missing");
        let Contexts { plain: kinds, of_chunks, others } = self;
        let mut others = others.into_records()?.into_iter();
        let context = |(at, number): (usize, u32)| match (number.checked_sub(1), chunks.get(at)) {
            (None, _) => others.next().ok_or_else(missing),
            (Some(kind), Some(chunk)) => {
                let (generation, at) = kinds.get(kind as usize).ok_or_else(missing)?;
                Ok(plain(chunk, generation, *at))
            }
            (Some(_), None) => Err(missing()),
        };
        let records: Vec<_> = of_chunks.into_iter().enumerate().map(context).collect::<Result<_, _>>()?;
        if others.next().is_some() { Err(shape("a context is left over")) } else { Ok(records) }
    }

    /// How many contexts there are, and those that are not plain, each with the position of its chunk.
    pub(super) fn into_others(self) -> Result<(usize, Vec<(usize, ContextRecord)>), Damage> {
        let places = self.of_chunks.iter().enumerate().filter(|(_, number)| **number == 0).map(|(at, _)| at);
        Ok((self.of_chunks.len(), places.zip(self.others.into_records()?).collect()))
    }
}
