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

/// Which chunks are admitted, and what they are.
struct Met {
    chunks: Vec<bool>,
    /// Whether they are those that hold a text.
    is_text: bool,
    /// Of texts OR conditions: the chunks that meet it beside others, which are all of a note that holds such a text.
    beside: Option<Vec<bool>>,
}

impl Met {
    /// The chunks that meet it beside others of an AND.
    fn beside(&self, chunks: &[Outside]) -> Vec<bool> {
        match &self.beside {
            Some(beside) => beside.clone(),
            None if self.is_text => {
                let notes = of_notes(&self.chunks, chunks);
                chunks.iter().map(|chunk| notes.contains(&chunk.note.no)).collect()
            }
            None => self.chunks.clone(),
        }
    }
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
            && !query.without.iter().any(|phrase| holds(chunk, phrase, contextual))
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
            Met { chunks: admitted(&query, chunks, contextual), is_text, beside: None }
        }
        Required::Not(part) => {
            let met = met(part, asked, chunks, contextual);
            Met { chunks: met.chunks.iter().map(|met| !met).collect(), is_text: false, beside: None }
        }
        Required::Any(parts) => {
            let parts = each(parts);
            let is_text = parts.iter().all(|part| part.is_text);
            let is_mixed = !is_text && parts.iter().any(|part| part.is_text || part.beside.is_some());
            let beside = || any(&parts.iter().map(|part| part.beside(chunks)).collect::<Vec<_>>(), chunks.len());
            let beside = is_mixed.then(beside);
            Met {
                chunks: any(&parts.into_iter().map(|part| part.chunks).collect::<Vec<_>>(), chunks.len()),
                is_text,
                beside,
            }
        }
        Required::All(parts) => {
            let parts = each(parts);
            let is_text = parts.iter().any(|part| part.is_text);
            let is_mixed = !is_text && parts.iter().any(|part| part.beside.is_some());
            let beside: Vec<Vec<bool>> = parts.iter().map(|part| part.beside(chunks)).collect();
            let met: Vec<bool> = (0..chunks.len()).map(|at| beside.iter().all(|beside| beside[at])).collect();
            let is_shown = |part: &&Met| if is_text { part.is_text } else { !is_mixed || part.beside.is_some() };
            let shown: Vec<Vec<bool>> = parts.iter().filter(is_shown).map(|part| part.chunks.clone()).collect();
            let shown = any(&shown, chunks.len()).iter().zip(&met).map(|(shown, met)| *shown && *met).collect();
            Met { chunks: shown, is_text, beside: is_mixed.then_some(met) }
        }
    }
}

/// What is in one of these.
fn any(sets: &[Vec<bool>], len: usize) -> Vec<bool> {
    (0..len).map(|at| sets.iter().any(|set| set[at])).collect()
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
