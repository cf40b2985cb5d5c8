//! The free context: what a note says about itself, in one or two lines. A pure function of the note.

use std::ops::Range;

use super::settings::Levels;
use note::chunk::{Chunk, searchable, visible};
use note::{BlockKind, Note};

/// Name and version of the template: part of the generation, so that a change recomputes the contexts it made.
pub const TEMPLATE: &str = "template/2";

/// The name of the contextualizer while contexts are off.
pub const NONE: &str = "none/1";

/// Characters of the lead sentence at most: more would drown the chunk's own words.
const LEAD_CHARS: usize = 160;

/// The parts of the template that are the same for all chunks of a note.
pub struct Template<'a> {
    note: &'a Note,
    head: String,
    tail: String,
    lead: Option<(Range<usize>, String)>,
}

impl<'a> Template<'a> {
    /// Prepares the template of a note.
    pub fn new(note: &'a Note) -> Self {
        let mut head = note.title.clone();
        for alias in note.front.aliases.iter().filter(|alias| **alias != note.title).take(3) {
            head.push_str(", ");
            head.push_str(alias);
        }
        Template { note, head, tail: tail(note), lead: lead(note) }
    }

    /// What goes before a context that a model wrote for a chunk.
    pub fn above(&self, chunk: &Chunk, levels: Levels) -> String {
        let headings = || headings_above(self.note, chunk).collect::<Vec<_>>().join(" › ");
        match levels {
            Levels::Chunk => String::new(),
            Levels::SectionChunk => headings(),
            Levels::DocumentChunk => self.with(chunk, std::iter::empty()),
            Levels::DocumentSectionChunk => self.context(chunk),
        }
    }

    /// The context of one chunk: title and aliases, the headings above it, kind and date, folder and file name,
    /// tags, and the note's lead sentence unless the chunk holds it.
    pub fn context(&self, chunk: &Chunk) -> String {
        self.with(chunk, headings_above(self.note, chunk))
    }

    fn with<'h>(&self, chunk: &Chunk, headings: impl Iterator<Item = &'h str>) -> String {
        let mut out = self.head.clone();
        for heading in headings {
            out.push_str(" › ");
            out.push_str(heading);
        }
        out.push('.');
        if !self.tail.is_empty() {
            out.push(' ');
            out.push_str(&self.tail);
        }
        if let Some((span, text)) = &self.lead
            && !(chunk.span.start <= span.start && span.end <= chunk.span.end)
        {
            out.push(' ');
            out.push_str(text);
        }
        out
    }
}

/// The headings above a chunk that neither stand in it nor repeat the title.
fn headings_above<'a>(note: &'a Note, chunk: &Chunk) -> impl Iterator<Item = &'a str> {
    let span = chunk.span.clone();
    let path = note.sections[chunk.sections.start].path.iter().map(|h| &note.outline[*h]);
    path.filter(move |h| h.span.end <= span.start || h.span.start >= span.end)
        .map(|h| h.text.as_str())
        .filter(|text| *text != note.title && !text.is_empty())
}

fn tail(note: &Note) -> String {
    let mut parts = Vec::new();
    match (&note.kind, note.days.day()) {
        (Some(kind), Some(date)) => parts.push(format!("{kind}, {}.", in_words(date))),
        (Some(kind), None) => parts.push(format!("{kind}.")),
        (None, Some(date)) => parts.push(format!("{}.", in_words(date))),
        (None, None) => {}
    }
    let folders = note.path.folder().split('/').map(|folder| without_ids(folder.split(' ')).join(" "));
    let place: Vec<String> = folders.filter(|folder| !folder.is_empty()).chain(telling_name(note)).collect();
    if !place.is_empty() {
        parts.push(format!("{}.", place.join(" › ")));
    }
    if !note.tags.is_empty() {
        let tags: Vec<&str> = note.tags.iter().take(8).map(String::as_str).collect();
        parts.push(format!("{}.", tags.join(", ")));
    }
    parts.join(" ")
}

/// The words of the file's name, if they say what neither title nor aliases do: `pod-v2.quickstart.md` of a note with
/// the title "Quickstart". A name of digits is a date or a number: it is given elsewhere or means nothing.
fn telling_name(note: &Note) -> Option<String> {
    let file = note.path.file_name();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let words = without_ids(stem.split(['-', '_', '.', ' ']).filter(|word| !word.is_empty()));
    let names = std::iter::once(&note.title).chain(&note.front.aliases).map(|name| name.to_lowercase());
    let known: Vec<String> = names.collect();
    let is_new = |word: &&str| {
        let word = word.to_lowercase();
        word.contains(char::is_alphabetic) && !known.iter().any(|name| name.contains(&word))
    };
    words.iter().any(is_new).then(|| words.join(" "))
}

/// The words of a name but for the ids that Notion puts behind the names of pages, which say nothing.
fn without_ids<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let is_id = |word: &&str| word.len() == 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
    words.filter(|word| !is_id(word)).collect()
}

/// `Friday, 20 November 2026`.
fn in_words(date: jiff::civil::Date) -> String {
    date.strftime("%A, %-d %B %Y").to_string()
}

/// The note's description, else the first sentence of the first paragraph that says something, with the span it was taken from.
fn lead(note: &Note) -> Option<(Range<usize>, String)> {
    if let Some(description) = &note.front.description {
        return Some((0..0, shorten(description))).filter(|(_, text)| !text.is_empty());
    }
    let paragraphs = note.blocks.iter().filter(|block| block.kind == BlockKind::Paragraph).map(|block| &block.span);
    let mut beginnings = paragraphs.map(|span| {
        // A paragraph can be megabytes long; its first sentence is near its start.
        let end = note.text.floor_char_boundary(span.end.min(span.start + 4 * LEAD_CHARS));
        // A block ends after its line's end, a chunk before it.
        span.start..span.start + note.text[span.start..end].trim_end().len()
    });
    let span = beginnings.find(|span| says_something(note, span))?;
    let text = searchable(note, &span);
    let text = shorten(&without(&text, "{%", "%}"));
    let worth_it = text.chars().filter(|c| c.is_alphanumeric()).count() >= 12;
    worth_it.then_some((span, text))
}

/// Whether a paragraph has words beside links, pictures, code and commands for programs. Without any it is a bar of links, a
/// field to fill in, a picture.
fn says_something(note: &Note, span: &Range<usize>) -> bool {
    let (mut beside, mut at) = (String::new(), span.start);
    let links = &note.links[note.links.partition_point(|link| link.span.start < span.start)..];
    for link in links.iter().take_while(|link| link.span.end <= span.end) {
        beside.push_str(&visible(note, &(at..link.span.start.max(at))));
        at = at.max(link.span.end);
    }
    beside.push_str(&visible(note, &(at..span.end)));
    let commands = [("`", "`"), ("{%", "%}"), ("{{", "}}")];
    commands.iter().fold(beside, |text, (open, close)| without(&text, open, close)).contains(char::is_alphanumeric)
}

/// A text without what stands between two marks, and without these.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open)
        && let Some((_, behind)) = after.split_once(close)
    {
        out.push_str(before);
        rest = behind;
    }
    out + rest
}

/// The first sentence, in one line, at most [`LEAD_CHARS`] characters, cut between words.
fn shorten(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if out.chars().count() + word.chars().count() + 1 > LEAD_CHARS {
            // A run of text without spaces (Chinese, Japanese, Thai) is cut anywhere.
            if out.is_empty() {
                out.extend(word.chars().take(LEAD_CHARS));
            }
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if word.ends_with(['.', '?', '!', '。', '？', '！']) && out.chars().count() > 24 {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests;
