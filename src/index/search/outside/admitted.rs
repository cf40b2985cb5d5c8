//! Tests what was found elsewhere against all that a query asks for besides its free words: the engine there applies
//! the conditions that it knows, and the rest is tested here, on what it tells.
//!
//! As in the index here, a condition admits notes, a word or phrase admits the chunks that hold it, and AND tests words
//! on the note. Of a note's chunks only those that were found are known.

use std::collections::HashSet;

use super::Outside;
use crate::NoteNo;
use crate::search::Parsed;
use crate::search::query::Required;

/// Which chunks are admitted, and whether those are chunks that hold a text.
struct Met {
    chunks: Vec<bool>,
    is_text: bool,
}

/// Whether each of the chunks may answer a query; with `contextual` contexts take part.
pub(super) fn admitted(query: &Parsed, chunks: &[Outside], contextual: bool) -> Vec<bool> {
    let passing = query.filter.pass(chunks.iter().map(|chunk| &chunk.note));
    let required = query.required.as_ref().map(|required| met(required, query, chunks, contextual).chunks);
    let mut patterns: Vec<_> = query.patterns.iter().map(|(holds, line)| (*holds, line.pattern().finder())).collect();
    let mut admits = |(at, chunk): (usize, &Outside)| {
        passing.contains(&chunk.note.no)
            && query.filter.admits_vault(&chunk.vault)
            && required.as_ref().is_none_or(|required| required[at])
            && query.phrases.iter().all(|phrase| holds(chunk, phrase, contextual))
            && !query.without.iter().any(|phrase| crate::terms::has_words(phrase) && holds(chunk, phrase, contextual))
            && patterns.iter_mut().all(|(wanted, finder)| finder.is_in(&chunk.text) == *wanted)
    };
    chunks.iter().enumerate().map(&mut admits).collect()
}

fn met(required: &Required, asked: &Parsed, chunks: &[Outside], contextual: bool) -> Met {
    let each =
        |parts: &[Required]| -> Vec<Met> { parts.iter().map(|part| met(part, asked, chunks, contextual)).collect() };
    match required {
        Required::One { query, .. } => {
            let mut query = (**query).clone();
            query.filter = query.filter.asked_as(&asked.filter);
            let is_text = query.holds_text();
            Met { chunks: admitted(&query, chunks, contextual), is_text }
        }
        Required::Not(part) => {
            let met = met(part, asked, chunks, contextual);
            Met { chunks: met.chunks.iter().map(|met| !met).collect(), is_text: false }
        }
        Required::Any(parts) => {
            let parts = each(parts);
            let any = |at: usize| parts.iter().any(|part| part.chunks[at]);
            Met { chunks: (0..chunks.len()).map(any).collect(), is_text: parts.iter().all(|part| part.is_text) }
        }
        Required::All(parts) => {
            let (texts, conditions): (Vec<Met>, Vec<Met>) = each(parts).into_iter().partition(|part| part.is_text);
            let of_notes: Vec<HashSet<NoteNo>> = texts.iter().map(|text| of_notes(&text.chunks, chunks)).collect();
            let admits = |(at, chunk): (usize, &Outside)| {
                (texts.is_empty() || texts.iter().any(|text| text.chunks[at]))
                    && of_notes.iter().all(|notes| notes.contains(&chunk.note.no))
                    && conditions.iter().all(|condition| condition.chunks[at])
            };
            Met { chunks: chunks.iter().enumerate().map(admits).collect(), is_text: !texts.is_empty() }
        }
    }
}

/// The notes that have one of these chunks.
fn of_notes(met: &[bool], chunks: &[Outside]) -> HashSet<NoteNo> {
    chunks.iter().zip(met).filter(|(_, met)| **met).map(|(chunk, _)| chunk.note.no).collect()
}

/// Whether a chunk has a phrase in one of the texts that it is found by.
fn holds(chunk: &Outside, phrase: &str, contextual: bool) -> bool {
    let Outside { note, heading_path, text, context, language, .. } = chunk;
    let names = note.names().chain(note.tags());
    let names = names.chain(heading_path.iter().map(String::as_str));
    let context = Some(context.as_str()).filter(|_| contextual);
    [text.as_str()].into_iter().chain(names).chain(context).any(|text| crate::terms::holds(text, phrase, *language))
}
