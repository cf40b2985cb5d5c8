//! A note as a model is shown it: what is said about it, its outline, and its text with the passages
//! (chunks) numbered in it. Owned, for it goes to the thread that talks to the model. Pure.

use std::ops::Range;

use crate::chunk::Chunk;
use crate::fingerprint::{ContextKey, SectionKey, TextHash};
use crate::note::Note;

/// A note ready to be shown to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Path in the vault.
    pub path: String,
    /// Title.
    pub title: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Tags without `#`.
    pub tags: Vec<String>,
    /// Kind of note.
    pub kind: Option<String>,
    /// The day it is about, ISO with the day of the week: `2026-11-20 Friday`.
    pub date: Option<String>,
    /// Front matter that helps (status, project, …), never a secret: an allow-list.
    pub properties: Vec<(String, String)>,
    /// Headings in order: level and text.
    pub outline: Vec<(u8, String)>,
    /// Titles it links to, at most 20.
    pub links: Vec<String>,
    /// The note's text without front matter, hidden parts removed as for searching.
    pub text: String,
    /// Its chunks in order; spans into `text`.
    pub passages: Vec<Passage>,
}

/// A chunk in a [`Document`].
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Its number in the prompt, from 1.
    pub n: u32,
    /// What its context is kept under.
    pub key: ContextKey,
    /// Its sections.
    pub sections: Vec<SectionKey>,
    /// Hash of its raw text.
    pub hash: TextHash,
    /// Where its text lies in [`Document::text`].
    pub span: Range<usize>,
    /// Headings above and in it, outermost first.
    pub heading_path: Vec<String>,
}

impl Document {
    /// What a model is shown of a note that was cut into `chunks`.
    pub fn new(_note: &Note, _chunks: &[Chunk]) -> Self {
        todo!()
    }

    /// The text of a passage.
    pub fn passage_text(&self, passage: &Passage) -> &str {
        self.text.get(passage.span.clone()).unwrap_or_default()
    }
}
