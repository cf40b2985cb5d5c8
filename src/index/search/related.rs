//! What lies near a note, a part of one, or any text: chunks of other notes that are about the same.
//!
//! Meaning decides, and words help: the lexical lane is asked for a note's name and its beginning. With words, the
//! share of linked notes that are among each other's ten nearest rises from 0.736 to 0.761 and from 0.257 to 0.355, for
//! 200 notes of two vaults of documentation. Part of that comes from names in the texts of links; with links that only
//! go out, to notes that cannot know of it, it rises from 0.663 to 0.678 and from 0.234 to 0.330. A name without the
//! beginning helped one of the two vaults and harmed the other; so did a greater weight of the words.

use std::collections::HashMap;

use super::answer::Answer;
use super::fuse::{self, Dense, Scale};
use super::hit::{Maker, Pick};
use super::lanes::{self, Candidate, depth, telling};
use super::ranking::in_order;
use super::{LinkDirection, MAX_HITS, Mode, Options};
use crate::terms::has_words;
use crate::{Cancel, Choice, Corpus, LexicalError, LexicalQuery, NoteNo, Row, Snapshot};
use note::Private;
use vector::Vector;

/// Words of a text that are asked of the lexical lane: its beginning says what it is about.
const WORDS: usize = 100;

/// Words of those that are looked up, the rarest. Common ones cost most and say least: with all of them a million chunks
/// took nine times as long, and of the linked notes of four vaults as many were among the ten nearest (.543, now .542).
const RAREST: usize = 24;

/// Weight of meaning against words.
const DENSE_WEIGHT: f32 = 0.8;

/// What related chunks are searched for.
#[derive(Clone, Debug, PartialEq)]
pub enum Seed {
    /// A note of this snapshot.
    Note(NoteNo),
    /// Chunks of one note of this snapshot.
    Chunks(Vec<Row>),
    /// A part of a note of this snapshot: its text, embedded.
    Part(NoteNo, String, Vector),
    /// Any text, with its embedding if there is one; or a seed of another vault: its words and its vector there, or one
    /// of the same words by this vault's embedder, if that is another.
    Text(String, Option<Vector>),
}

impl Seed {
    /// Its vector: the mean of the vectors of its chunks. `None` if none of them says anything.
    pub fn vector(&self, snapshot: &Snapshot) -> Option<Vector> {
        let vectors: Vec<Vector> = match self {
            Seed::Note(no) => snapshot.note(*no)?.rows.iter().flat_map(|row| snapshot.vectors(row)).collect(),
            Seed::Chunks(rows) => rows.iter().flat_map(|row| snapshot.vectors(*row)).collect(),
            Seed::Part(_, _, vector) => return telling(Some(vector)).cloned(),
            Seed::Text(_, vector) => return telling(vector.as_ref()).cloned(),
        };
        mean(&vectors)
    }

    /// Its words: of a note its names and tags, of a part the headings above it, and how it begins.
    ///
    /// # Errors
    /// A text cannot be read.
    pub fn words(&self, snapshot: &Snapshot) -> Result<String, LexicalError> {
        let mut parts: Vec<String> = Vec::new();
        let first = match self {
            Seed::Note(no) => {
                let Some(note) = snapshot.note(*no) else { return Ok(String::new()) };
                parts.extend(note.names().map(str::to_owned));
                parts.extend(note.tags().map(|tag| tag.replace('/', " ")));
                note.rows.get(0)
            }
            Seed::Chunks(rows) => {
                parts.extend(rows.first().map(|row| snapshot.heading_path(*row)).unwrap_or_default());
                rows.first().copied()
            }
            Seed::Part(_, text, _) | Seed::Text(text, _) => {
                parts.push(beginning(text));
                None
            }
        };
        if let Some(row) = first {
            parts.push(beginning(&snapshot.text(row)?.text));
        }
        Ok(parts.join(" "))
    }

    /// The note of this snapshot that it is, or is a part of.
    pub fn note(&self, snapshot: &Snapshot) -> Option<NoteNo> {
        match self {
            Seed::Note(no) | Seed::Part(no, ..) => Some(*no),
            Seed::Chunks(rows) => rows.first().and_then(|row| snapshot.chunk(*row)).map(|chunk| chunk.note),
            Seed::Text(..) => None,
        }
    }
}

fn beginning(text: &str) -> String {
    text.split_whitespace().take(WORDS).collect::<Vec<_>>().join(" ")
}

/// A vault that is asked what lies near something.
pub struct Near<'a> {
    /// What answers.
    pub snapshot: &'a Snapshot,
    /// Its name.
    pub vault: &'a str,
    /// What is asked about.
    pub seed: &'a Seed,
    /// Notes that are hidden from the asker.
    pub hidden: Option<&'a Private>,
}

/// Chunks of other notes near the seed, in all of these vaults on one scale; an answer for each. In the vault of the
/// seed's note, each hit says whether and how its note is already linked with the seed's, and `exclude_linked` leaves
/// out those that are. Hidden notes are always left out. `options` has the limits.
///
/// # Errors
/// The word index fails, or the search is cancelled.
pub fn related(vaults: &[Near<'_>], exclude_linked: bool, options: &Options) -> Result<Vec<Answer>, LexicalError> {
    let corpus = Corpus::of(vaults.iter().map(|near| near.snapshot));
    let around =
        vaults.iter().map(|near| Around::new(near, exclude_linked, &options.cancel)).collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::with_capacity(vaults.len());
    for around in &around {
        options.cancel.check()?;
        found.push(around.candidates(&corpus, options)?);
    }
    let scale = Scale::of(found.iter().flatten());
    around.into_iter().zip(found).map(|(around, candidates)| around.answer(candidates, scale, options)).collect()
}

/// A vault, and what of the seed is known there.
struct Around<'a> {
    near: &'a Near<'a>,
    exclude_linked: bool,
    words: String,
    vector: Option<Vector>,
    /// The seed's note, if it is of this vault.
    own: Option<NoteNo>,
    links: HashMap<NoteNo, LinkDirection>,
}

impl<'a> Around<'a> {
    fn new(near: &'a Near<'a>, exclude_linked: bool, cancel: &Cancel) -> Result<Self, LexicalError> {
        let Near { snapshot, seed, .. } = near;
        let own = seed.note(snapshot);
        let links = own.map(|no| links(snapshot, no, cancel)).unwrap_or_default();
        let (words, vector) = (seed.words(snapshot)?, seed.vector(snapshot));
        Ok(Around { near, exclude_linked, words, vector, own, links })
    }

    fn says_nothing(&self) -> bool {
        self.vector.is_none() && !has_words(&self.words)
    }

    fn note_of(&self, row: Row) -> Option<NoteNo> {
        self.near.snapshot.chunk(row).map(|chunk| chunk.note)
    }

    fn allows(&self, row: Row) -> bool {
        let Near { snapshot, hidden, .. } = self.near;
        let hides = |no: NoteNo| {
            let note = snapshot.note(no);
            note.is_some_and(|note| hidden.is_some_and(|hidden| hidden.covers(&note.path, note.tags())))
        };
        match (self.own, self.note_of(row)) {
            (_, Some(note)) if hides(note) => false,
            (None, _) => true,
            (_, Some(note)) if self.exclude_linked && self.links.contains_key(&note) => false,
            (own, note) => note != own,
        }
    }

    fn candidates(&self, corpus: &Corpus<'_>, options: &Options) -> Result<Vec<Candidate>, LexicalError> {
        if self.says_nothing() {
            return Ok(Vec::new());
        }
        let depth = depth(options.limit.min(MAX_HITS));
        let (contextual, cancel) = (options.contextual, options.cancel.clone());
        let (words, choice) = (self.words.clone(), Choice::Shared(RAREST));
        let query = LexicalQuery { words, contextual, choice, cancel, ..LexicalQuery::default() };
        let meant = corpus.meant(&query)?;
        let allowed = |row: Row| self.allows(row);
        lanes::both(self.near.snapshot, corpus, (&query, &meant), self.vector.as_ref(), (Some(&allowed), None), depth)
    }

    fn answer(self, candidates: Vec<Candidate>, scale: Scale, options: &Options) -> Result<Answer, LexicalError> {
        let Near { snapshot, vault, .. } = self.near;
        let mut answer = Answer { seq: snapshot.seq(), ..Answer::default() };
        if self.says_nothing() {
            answer.warnings.push("there are no words to compare with other notes".to_owned());
            return Ok(answer);
        }
        answer.mode = lanes::effective(Mode::Hybrid, self.vector.as_ref());
        let mut near = fuse::fuse(candidates, scale, Dense { weight: DENSE_WEIGHT, familiarity: 1.0 });
        fuse::sort(&mut near, |a, b| in_order(snapshot, a, b));
        let picks = near.into_iter().map(|ranked| {
            let (row, score, lanes) = (ranked.candidate.row, ranked.score, ranked.lanes());
            let link = self.note_of(row).and_then(|note| self.links.get(&note).copied());
            Pick { row, score, lanes, link: self.own.map(|_| link) }
        });
        (answer.hits, answer.truncated) =
            Maker::new(snapshot, vault, ("", Vec::new(), Vec::new()), options)?.hits(picks)?;
        Ok(answer)
    }
}

/// The notes that this one links to or that link to it.
fn links(snapshot: &Snapshot, no: NoteNo, cancel: &Cancel) -> HashMap<NoteNo, LinkDirection> {
    let mut links: HashMap<NoteNo, LinkDirection> =
        snapshot.backlinks(no, cancel).into_iter().map(|other| (other, LinkDirection::From)).collect();
    if let Some(note) = snapshot.note(no) {
        for to in note.links().filter_map(|target| snapshot.resolve(target, &note.path)) {
            let link = links.entry(to).or_insert(LinkDirection::To);
            if *link == LinkDirection::From {
                *link = LinkDirection::Both;
            }
        }
    }
    links
}

/// The normalised mean of normalised vectors, quantised as they are; `None` for none, or if they cancel out.
fn mean(vectors: &[Vector]) -> Option<Vector> {
    let mut sum = vec![0f32; vectors.iter().map(|v| v.values.len()).max()?];
    for vector in vectors {
        for (total, value) in sum.iter_mut().zip(&vector.values) {
            *total += vector.scale * f32::from(*value);
        }
    }
    let largest = sum.iter().fold(0f32, |largest, x| largest.max(x.abs()));
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    if !(length.is_finite() && largest > 0.0) {
        return None;
    }
    let values = sum.iter().map(|x| (x / largest * 127.0).round() as i8).collect();
    Some(Vector { values, scale: largest / length / 127.0 })
}

#[cfg(test)]
mod tests;
