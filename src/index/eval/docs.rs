//! Notes cut, situated and embedded as the engine does it, with the contexts that the caller chooses.

use std::collections::HashMap;

use crate::embed::{Vector, builtin, input};
use crate::{ChunkDoc, ChunkEntry, NoteEntry, NoteNo, Said, WindowVector};
use context::Template;
use note::chunk::{Chunk, ChunkRules};
use note::fingerprint::{ChunkId, context_key};
use note::{Link, Note};

/// Which contexts an index has.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Arm {
    /// None.
    Off,
    /// The template's.
    Template,
    /// Those that a model wrote, and the template's where it wrote none.
    Model,
}

impl Arm {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A context that a model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// What it says.
    pub text: String,
    /// Whether the template stands before it.
    pub weak: bool,
}

/// One chunk with what may be said about it.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The chunk.
    pub chunk: Chunk,
    /// What the template says.
    pub template: String,
    /// What a model said.
    pub written: Option<Written>,
}

/// A note with its chunks.
#[derive(Clone, Debug)]
pub struct Page {
    /// The note.
    pub note: Note,
    /// In order.
    pub cuts: Vec<Cut>,
}

impl Page {
    /// Cuts a note. `written` finds what a model said about a chunk.
    pub fn new(note: Note, rules: &ChunkRules, written: impl Fn(&Chunk) -> Option<Written>) -> Self {
        let chunks = crate::chunk::cut(&note, rules.of(note.kind.as_deref()));
        let template = Template::new(&note);
        let cut = |chunk: Chunk| Cut { template: template.context(&chunk), written: written(&chunk), chunk };
        let cuts = chunks.into_iter().map(cut).collect();
        Page { note, cuts }
    }

    /// What the index is given of the note, as number `no`, and of its chunks.
    pub fn docs(&self, no: NoteNo, arm: Arm) -> (NoteEntry, Vec<ChunkDoc>) {
        let said = self.cuts.iter().map(|cut| (&cut.chunk, cut.context(arm)));
        let docs = said.map(|(chunk, context)| doc(&self.note, chunk, no, &context, &context));
        (entry(&self.note, no), docs.collect())
    }
}

impl Cut {
    /// What situates the chunk.
    pub fn context(&self, arm: Arm) -> String {
        match (arm, &self.written) {
            (Arm::Off, _) => String::new(),
            (Arm::Model, Some(written)) if written.weak => format!("{}\n{}", self.template, written.text),
            (Arm::Model, Some(written)) => written.text.clone(),
            (Arm::Template | Arm::Model, _) => self.template.clone(),
        }
    }
}

/// What the index is given of a chunk of note `no`, with one context in its words and another in its vectors.
pub fn doc(note: &Note, chunk: &Chunk, no: NoteNo, in_words: &str, in_vectors: &str) -> ChunkDoc {
    let shown = chunk.searchable(note);
    let inputs = input::inputs(in_vectors, &shown, &|text| builtin::model().token_starts(text));
    let vectors = inputs.iter().map(|input| builtin::model().embed_input(input)).collect();
    doc_with(note, chunk, no, in_words, vectors)
}

/// The same with vectors that were made before.
pub fn doc_with(note: &Note, chunk: &Chunk, no: NoteNo, context: &str, vectors: Vec<Vector>) -> ChunkDoc {
    let headings = note.heading_path(&note.sections[chunk.sections.start]);
    ChunkDoc {
        entry: ChunkEntry {
            id: chunk.id,
            note: no,
            position: 0,
            span: (chunk.span.start as u32, chunk.span.end as u32),
            lines: chunk.lines,
        },
        heading_path: headings.into_iter().collect(),
        text: note.text[chunk.span.clone()].to_owned(),
        searchable: chunk.with_marked_words(note),
        context: context.to_owned(),
        expansion: String::new(),
        windows: vectors.into_iter().map(WindowVector::from).collect(),
    }
}

/// A note's row of the index.
pub fn entry(note: &Note, no: NoteNo) -> NoteEntry {
    let links: Vec<String> = note.links.iter().filter_map(Link::mention).collect();
    let texts = Said {
        title: &note.title,
        kind: note.kind.as_deref(),
        properties: &serde_json::Value::Object(note.front.properties.clone()).to_string(),
        aliases: &note.front.aliases,
        tags: &note.tags,
        links: &links,
    };
    NoteEntry { texts: texts.pack(), days: note.days, ..NoteEntry::new(no, u64::from(no), note.path.clone()) }
}

/// What a model wrote about the chunks of a note, by their ids: masking a note changes the texts of its chunks, but not
/// their ids. `known` finds a context by the key that it is kept under.
pub fn written(
    note: &Note,
    rules: &ChunkRules,
    known: &dyn Fn(note::fingerprint::ContextKey) -> Option<Written>,
) -> HashMap<ChunkId, Written> {
    let chunks = crate::chunk::cut(note, rules.of(note.kind.as_deref()));
    let found = |chunk: &Chunk| Some((chunk.id, known(context_key(&chunk.keys, chunk.hash))?));
    chunks.iter().filter_map(found).collect()
}

/// Whether a context repeats one of these texts, word for word; such a context would answer by itself.
pub fn repeats(context: &str, texts: &[String]) -> bool {
    let context = format!(" {} ", super::words::key(context));
    texts.iter().any(|text| context.contains(&format!(" {} ", super::words::key(text))))
}

#[cfg(test)]
mod tests;
