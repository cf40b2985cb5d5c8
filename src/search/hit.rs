//! From a picked chunk to a [`Hit`]: the only step of a search that reads text.

use std::collections::HashSet;

use super::filter::mtime_seconds;
use super::snippet::snippet;
use super::window::{Place, Window, grow};
use super::{Hit, Lanes, Options};
use crate::index::{ChunkEntry, LexicalError, NoteEntry, Row, Snapshot};

/// Makes the hits of one answer.
pub(super) struct Maker<'a> {
    snapshot: &'a Snapshot,
    vault: &'a str,
    options: &'a Options,
    /// Normal forms of the query's words.
    terms: HashSet<String>,
}

impl<'a> Maker<'a> {
    /// `text` is what highlights and snippets are chosen for; may be empty.
    pub(super) fn new(
        snapshot: &'a Snapshot,
        vault: &'a str,
        text: &str,
        options: &'a Options,
    ) -> Result<Self, LexicalError> {
        Ok(Maker { snapshot, vault, options, terms: snapshot.forms(text)? })
    }

    /// The hit for a row; `None` if the snapshot has no such chunk.
    pub(super) fn hit(
        &self,
        row: Row,
        score: f32,
        lanes: Option<Lanes>,
        linked: Option<bool>,
    ) -> Result<Option<Hit>, LexicalError> {
        let Some((chunk, note)) = placed(self.snapshot, row) else {
            return Ok(None);
        };
        let texts = self.snapshot.text(row)?;
        let window = self.window(note, row, &texts.text)?;
        let passage =
            snippet(&texts.text, &self.terms, &|text, each| self.snapshot.analyze(text, texts.language, each));
        Ok(Some(Hit {
            vault: self.vault.to_owned(),
            path: note.path.as_str().to_owned(),
            line: chunk.lines.0,
            end_line: chunk.lines.1,
            title: note.title.clone(),
            heading_path: chunk.heading_path.to_vec(),
            score: score.clamp(0.0, 1.0),
            snippet: passage.text,
            highlights: passage.highlights,
            text: texts.text,
            context: if self.options.contextual { texts.context } else { String::new() },
            window: window.text,
            window_lines: window.lines,
            chunk: chunk.id.to_string(),
            mtime: mtime_seconds(note),
            stale: false,
            linked,
            lanes: lanes.filter(|_| self.options.explain),
        }))
    }

    fn window(&self, note: &NoteEntry, row: Row, own: &str) -> Result<Window, LexicalError> {
        // A row without an entry would be a fault of the index; the window then has a gap.
        let chunks: Vec<(Row, Place)> = note
            .rows
            .iter()
            .filter_map(|row| self.snapshot.chunk(*row).map(|c| (*row, Place { span: c.span, lines: c.lines })))
            .collect();
        let places: Vec<Place> = chunks.iter().map(|(_, place)| *place).collect();
        let at = chunks.iter().position(|(other, _)| *other == row).unwrap_or(chunks.len());
        grow(&places, at, self.options.window_chars, |index| match chunks.get(index) {
            Some((neighbour, _)) if index != at => self.snapshot.text(*neighbour).map(|texts| texts.text),
            _ => Ok(own.to_owned()),
        })
    }
}

/// A row's chunk and its note.
pub(super) fn placed(snapshot: &Snapshot, row: Row) -> Option<(&ChunkEntry, &NoteEntry)> {
    let chunk = snapshot.chunk(row)?;
    Some((chunk, snapshot.note(chunk.note)?))
}
