//! Chunks as points, and points as hits. Pure.

use context::Expansion;
use index::embed::Vector;
use index::terms::{Counted, MeanLengths};
use index::{ChunkDoc, Language, NoteEntry, PackedIter};
use jiff::civil::Date;
use note::Private;
use note::fingerprint::Fields;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::collection::{DENSE, LAYOUT, WHAT, WORDS};
use crate::ids;

/// Who may be shown what is published: everybody who may read the collection, and their assistants.
const AUDIENCE: &str = "all";

/// The most links of a note that are published: they are repeated in each of its chunks.
const LINKS: usize = 100;

/// A note as it is published.
#[derive(Clone, Debug)]
pub struct Document {
    /// The note; its links are paths of published notes.
    pub note: NoteEntry,
    /// Its chunks in order, and what is published of each besides its texts.
    pub chunks: Vec<(ChunkDoc, About)>,
    /// The language that its words are stemmed in.
    pub language: Language,
    /// What tells this state of the note from any other.
    pub state: String,
}

/// What is published of a chunk besides its texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The key under which its context is found for the same sections and text.
    pub key: String,
    /// Who wrote its context, if that was paid for, and for this very text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The questions and terms that the model wrote with it.
    #[serde(default, skip_serializing_if = "Expansion::is_empty")]
    pub expansion: Expansion,
}

/// What is published of a chunk: all that a hit needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// Always `chunk`.
    #[serde(rename = "situated")]
    pub what: String,
    /// Vault.
    pub vault: String,
    /// Path of the note in it.
    pub path: String,
    /// The folders above it, outermost first, and the note itself, in lower case: what a condition on paths asks for.
    pub folders: Vec<String>,
    /// Title of the note.
    pub title: String,
    /// Its other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Headings above the chunk, outermost first.
    pub headings: Vec<String>,
    /// Tags of the note without `#`, as written.
    pub own_tags: Vec<String>,
    /// The same and those above them, in lower case: what a condition asks for.
    pub tags: Vec<String>,
    /// Paths of the notes that the note links to and that were published when this was written; boosts use them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Kind of note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The same in lower case: what a condition asks for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind_key: String,
    /// The note's day, as in the local index, as a number: 20261031.
    pub day: i32,
    /// The day it is about, as `2026-10-31`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// When it was made, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// When it was changed, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
    /// When its file was changed, seconds since 1970.
    pub mtime: i64,
    /// Id of the chunk.
    pub chunk: String,
    /// Its position in the note, from 0.
    pub position: u32,
    /// Chunks of the note.
    pub chunks: u32,
    /// First and last line.
    pub lines: (u32, u32),
    /// Bytes of the note that `text` is of; what no reader sees of them (comments) is left out there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(u32, u32)>,
    /// Raw text.
    pub text: String,
    /// Context.
    pub context: String,
    /// Code of the language that its words are stemmed in.
    pub language: String,
    /// Who may be shown it.
    pub audience: String,
    /// Number of the revision.
    pub revision: u64,
    /// What tells this state of the note from any other.
    pub state: String,
    /// The key of its context, and who wrote it.
    #[serde(flatten)]
    pub about: About,
    /// Fingerprint of all of this.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sum: String,
}

impl Payload {
    /// The fingerprint that it should have.
    pub fn reckoned(&self) -> String {
        let bare = Payload { sum: String::new(), ..self.clone() };
        ids::hex(Fields::new("team-payload/1").bytes(json!(bare).to_string().as_bytes()).finish())
    }
}

/// The points of a note in a revision; none if it is private, whoever asks.
pub fn points(document: &Document, vault: &str, revision: u64, mean: MeanLengths, private: &Private) -> Vec<Value> {
    let Document { note, chunks, .. } = document;
    if private.covers(&note.path, note.tags()) {
        return Vec::new();
    }
    let point = |(position, (chunk, about)): (usize, &(ChunkDoc, About))| {
        let payload = payload(document, (chunk, about), position, vault, revision);
        let (indices, values) = Counted::of(note, chunk, position, document.language).weighed(mean);
        let mut vector = json!({});
        if !indices.is_empty() {
            vector[WORDS] = json!({"indices": indices, "values": values});
        }
        let dense: Vec<Vec<f32>> =
            chunk.windows.iter().map(|window| &window.vector).filter(|vector| vector.scale > 0.0).map(plain).collect();
        if !dense.is_empty() {
            vector[DENSE] = json!(dense);
        }
        let id = ids::of_chunk(vault, note.path.as_str(), &payload.chunk, revision);
        json!({"id": id, "vector": vector, "payload": payload})
    };
    chunks.iter().enumerate().map(point).collect()
}

/// A vector's components.
pub(crate) fn plain(vector: &Vector) -> Vec<f32> {
    vector.values.iter().map(|value| vector.scale * f32::from(*value)).collect()
}

fn payload(
    document: &Document,
    (chunk, about): (&ChunkDoc, &About),
    position: usize,
    vault: &str,
    revision: u64,
) -> Payload {
    let Document { note, chunks, language, state } = document;
    let mut payload = Payload {
        what: "chunk".to_owned(),
        vault: vault.to_owned(),
        path: note.path.as_str().to_owned(),
        folders: above(&note.path.as_str().to_lowercase()).map(str::to_owned).collect(),
        title: note.title().to_owned(),
        aliases: note.aliases().to_vec(),
        headings: chunk.heading_path.to_vec(),
        own_tags: note.tags().to_vec(),
        tags: nested(note.tags()),
        links: note.links().take(LINKS).map(str::to_owned).collect(),
        kind_key: note.kind().unwrap_or_default().to_lowercase(),
        kind: note.kind().map(str::to_owned),
        day: number(index::search::filter::day_of(note, &jiff::tz::TimeZone::UTC)),
        date: note.days.about.map(|day| day.to_string()),
        created: note.days.created.map(|day| day.to_string()),
        modified: note.days.modified.map(|day| day.to_string()),
        mtime: note.stat.mtime_ns.div_euclid(1_000_000_000),
        chunk: chunk.entry.id.to_string(),
        position: position as u32,
        chunks: chunks.len() as u32,
        lines: chunk.entry.lines,
        span: Some(chunk.entry.span),
        text: chunk.text.clone(),
        context: chunk.context.clone(),
        language: language.code().to_owned(),
        audience: AUDIENCE.to_owned(),
        revision,
        state: state.clone(),
        about: about.clone(),
        sum: String::new(),
    };
    payload.sum = payload.reckoned();
    payload
}

/// A day as a number that is ordered as days are.
pub fn number(day: Date) -> i32 {
    i32::from(day.year()) * 10_000 + i32::from(day.month()) * 100 + i32::from(day.day())
}

/// The folders above a path, outermost first, and the path.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at]).chain(std::iter::once(path))
}

/// Tags and those that they are nested under, in lower case, each once.
fn nested(tags: PackedIter<'_>) -> Vec<String> {
    let lower: Vec<String> = tags.map(str::to_lowercase).collect();
    let mut all: Vec<String> = lower.iter().flat_map(|tag| above(tag)).map(str::to_owned).collect();
    all.sort();
    all.dedup();
    all
}

/// Adds the layout to a note's state, so that notes written in another layout have another state.
pub fn state(parts: Fields) -> String {
    ids::hex(parts.number(LAYOUT.into()).bytes(WHAT.as_bytes()).finish())
}

#[cfg(test)]
mod tests;
