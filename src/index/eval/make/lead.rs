//! What notes and sections begin with.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::eval::words::{key, words};
use note::{Block, BlockKind, Note};

/// A paragraph of fewer words is no text yet: a date, a label, a line that introduces a list.
const PARAGRAPH_WORDS: usize = 6;
/// A sentence of fewer words says too little; in one of more words the end was missed.
const WORDS: Range<usize> = 5..41;
/// A query has at most this many words of a sentence.
const ASKED: usize = 30;
/// What ends a sentence.
const ENDS: [char; 7] = ['.', '!', '?', '…', '。', '！', '？'];
/// A sentence with any of these is code, a placeholder or a table rather than prose.
const MARKUP: [char; 7] = ['<', '>', '{', '}', '|', '=', '\\'];

/// The first sentence of a note or section.
pub(super) struct Lead {
    /// Whether it is the note's, not that of a further section.
    pub(super) first: bool,
    /// The sentence as one would ask for it: without marks around its words.
    pub(super) text: String,
    /// The whole sentence in the note's text.
    pub(super) span: Range<usize>,
}

/// The first sentence of a note's first paragraph, and of the first paragraph of each further section. A sentence with
/// a link is left out, for it tells of another note too; so is one that makes up most of its note or section, for then
/// little is left to answer.
pub(super) fn leads(note: &Note) -> Vec<Lead> {
    let said = key(&note.text);
    let mut leads = Vec::new();
    let mut first = true;
    for section in &note.sections {
        let within =
            |block: &&Block| section.content.start <= block.span.start && block.span.end <= section.content.end;
        let text = |block: &&Block| words(&note.text[block.span.clone()]).len() >= PARAGRAPH_WORDS;
        let paragraphs = note.blocks.iter().filter(|block| block.kind == BlockKind::Paragraph);
        let Some(paragraph) = paragraphs.filter(within).find(text) else { continue };
        // A sentence that the note repeats would be found by the repetition, word for word.
        let once = |lead: &Lead| said.matches(&key(&lead.text)).count() == 1;
        let of = if first { note.body..note.text.len() } else { section.content.clone() };
        let half = |lead: &Lead| 2 * words(&note.text[lead.span.clone()]).len() <= words(&note.text[of.clone()]).len();
        leads.extend(lead(note, paragraph, first).filter(once).filter(half));
        first = false;
    }
    leads
}

fn lead(note: &Note, paragraph: &Block, first: bool) -> Option<Lead> {
    let start = paragraph.span.start;
    let span = start..start + sentence(&note.text[paragraph.span.clone()]);
    let touches = |other: &Range<usize>| other.start < span.end && span.start < other.end;
    if note.links.iter().any(|link| touches(&link.span)) || note.hidden.iter().any(touches) {
        return None;
    }
    let source = &note.text[span.clone()];
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let asked: Vec<String> = source.split_whitespace().map(bare).filter(|word| !word.is_empty()).take(ASKED).collect();
    let fits = WORDS.contains(&words(source).len()) && !source.contains(MARKUP);
    fits.then(|| Lead { first, text: asked.join(" "), span })
}

/// The length of the first sentence with the blanks behind it. A line break does not end a sentence.
fn sentence(text: &str) -> usize {
    let bounds = text.split_sentence_bound_indices().map(|(at, sentence)| at + sentence.len());
    let ends = |at: &usize| {
        text[..*at].trim_end_matches(|c: char| c.is_whitespace() || "*_`\"')]”’".contains(c)).ends_with(ENDS)
    };
    bounds.into_iter().find(ends).unwrap_or(text.len())
}

#[cfg(test)]
mod tests;
