//! Tests what was found elsewhere against all that a query asks for besides its free words: the engine there applies
//! the conditions that it knows, and the rest is tested here, on what it tells. Of a note's chunks only those that were
//! found are known.

use std::collections::HashSet;
use std::convert::Infallible;

use super::Outside;
use crate::search::Parsed;
use crate::search::required::Chunks;
use crate::search::rows::RowSet;
use crate::{NoteNo, Row};

/// The chunks that may answer a query, by their index; with `contextual` contexts take part.
pub(super) fn admitted(query: &Parsed, chunks: &[Outside], contextual: bool) -> RowSet {
    let passing = query.filter.pass(chunks.iter().map(|chunk| &chunk.note));
    let all: Chunks<'_, Infallible> = Chunks {
        rows: chunks.len(),
        meeting: &|query| Ok(admitted(query, chunks, contextual)),
        of_notes: &|rows| {
            let notes: HashSet<NoteNo> =
                numbered(chunks).filter(|(row, _)| rows.contains(*row)).map(|(_, chunk)| chunk.note.no).collect();
            of(chunks, |_, chunk| notes.contains(&chunk.note.no))
        },
    };
    let required = query.required.as_ref().map(|required| {
        let Ok(rows) = all.having(required, query);
        rows
    });
    let mut patterns: Vec<_> = query.patterns.iter().map(|(holds, line)| (*holds, line.pattern().finder())).collect();
    of(chunks, |row, chunk| {
        passing.contains(&chunk.note.no)
            && query.filter.admits_vault(&chunk.vault)
            && required.as_ref().is_none_or(|required| required.contains(row))
            && query.phrases.iter().all(|phrase| holds(chunk, phrase, contextual))
            && !query.without.iter().any(|phrase| holds(chunk, phrase, contextual))
            && patterns.iter_mut().all(|(wanted, finder)| finder.is_in(&chunk.text) == *wanted)
    })
}

fn numbered(chunks: &[Outside]) -> impl Iterator<Item = (Row, &Outside)> {
    (0..).zip(chunks)
}

/// The rows of the chunks that `is_in` admits.
fn of(chunks: &[Outside], mut is_in: impl FnMut(Row, &Outside) -> bool) -> RowSet {
    RowSet::of(chunks.len(), numbered(chunks).filter(|(row, chunk)| is_in(*row, chunk)).map(|(row, _)| row))
}

/// Whether a chunk has a phrase in one of the texts that it is found by.
fn holds(chunk: &Outside, phrase: &str, contextual: bool) -> bool {
    let Outside { note, heading_path, text, context, language, .. } = chunk;
    let names = note.names().chain(note.tags());
    let names = names.chain(heading_path.iter().map(String::as_str));
    let context = Some(context.as_str()).filter(|_| contextual);
    [text.as_str()].into_iter().chain(names).chain(context).any(|text| crate::terms::holds(text, phrase, *language))
}
