//! A note cut into chunks: the units that are situated, embedded and found. Pure.
//!
//! Every chunk is one contiguous span of the note and knows the sections it holds. Its id depends on its place, not on
//! its text, so that editing a body leaves ids alone. Tables, lists, code and quotes are kept whole where they fit; a
//! part of one that does not fit is searched and embedded with its [lead](Chunk::lead) before it.

mod config;
mod cut;
mod fixed;
mod lead;
mod pack;
mod semantic;
mod sentence;
mod split;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::fingerprint::{ChunkId, SectionKey, TextHash, chunk_id, text_hash};
use crate::{Format, LinkKind, Note, render};

pub use config::{ChunkConfig, ChunkRules, Strategy};

/// A chunk of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Stable through content edits; see [`crate::fingerprint::chunk_id`].
    pub id: ChunkId,
    /// The sections it holds, in order, as indices into [`Note::sections`]; never empty.
    pub sections: Range<usize>,
    /// The keys of these sections.
    pub keys: Vec<SectionKey>,
    /// Bytes of [`Note::text`]; chunks are in order and may overlap only where a section was split.
    pub span: Range<usize>,
    /// Bytes of [`Note::text`] before `span` without which it is hard to understand, if it begins in the middle of a
    /// block: the header of its table, its fence's opening line, its callout's title, the line that leads to its list.
    pub lead: Option<Range<usize>>,
    /// First and last line, 1-based.
    pub lines: (u32, u32),
    /// Position among the chunks that begin in the same section, from 0.
    pub ordinal: u32,
    /// Hash of the bytes of `span`, and of those of `lead` before them: a part of a table reads differently under
    /// another header.
    pub hash: TextHash,
    /// Length in tokens of the built-in tokenizer.
    pub tokens: u32,
    /// Whether there is any word besides headings; without one, it is not worth a model's context.
    pub has_words: bool,
}

/// What cutting needs of a model. The caller passes it in, since this module comes before `embed`.
pub struct Tools<'a> {
    /// The byte positions in [`Note::text`] where the built-in tokenizer's pieces begin, in order.
    pub token_starts: &'a [u32],
    /// Embeds a text; all vectors have the same length. Only [`Strategy::Semantic`] uses it.
    pub embed: &'a dyn Fn(&str) -> Vec<f32>,
}

/// Cuts a note. There is always at least one chunk, so that a note without text is found by its title.
/// `index::chunk::cut` supplies the tools.
pub fn chunk(note: &Note, config: &ChunkConfig, tools: &Tools<'_>) -> Vec<Chunk> {
    let seen = seen_tokens(note, tools.token_starts);
    let ruler = Ruler { token_starts: &seen };
    let pieces = match config.strategy {
        Strategy::Obsidian | Strategy::Markdown | Strategy::Semantic => pack::pack(note, config, &ruler, tools),
        Strategy::Sentence => sentence::pack(note, config, &ruler),
        Strategy::Fixed => fixed::windows(note, config, &ruler),
    };
    finish(note, pieces, &ruler)
}

/// The longest word that is read for marks within it, in bytes.
const LONGEST_MARKED: usize = 200;

impl Chunk {
    /// The text of the chunk as words are found in it: as a reader sees it, so that a sentence is found as it is read; then
    /// what the source has between its words, as in `[[target|shown]]`, `[^footnote]` and `<tag>`; then the words that are
    /// written with entities or marks within them, as they are seen: `K&ouml;ln`, `un**believ**able`.
    pub fn with_marked_words(&self, note: &Note) -> String {
        let mut between = String::new();
        let mut text = self.after_lead(|span| read(note, span, Some(&mut between)));
        text.push_str(&between);
        if !note.path.format().is_markdown() {
            return text;
        }
        // Underscores within a word are no marks.
        let is_mark = |byte: u8| matches!(byte, b'&' | b'*' | b'~' | b'\\');
        let marked = |word: &&str| {
            word.len() <= LONGEST_MARKED
                && word.bytes().any(is_mark)
                && word.trim_matches(|c: char| !c.is_alphanumeric() && c != '&').bytes().any(is_mark)
        };
        let shown = |word: &str| {
            let shown = render(Format::Markdown, word).text.into_owned();
            (!word.contains(&shown)).then_some(shown)
        };
        let words: Vec<String> = text.split_whitespace().filter(marked).filter_map(shown).collect();
        if !words.is_empty() {
            text = format!("{text}\n{}", words.join(" "));
        }
        text
    }

    /// The text of the chunk as it is embedded, after its lead if it has one. See [`searchable`].
    pub fn searchable(&self, note: &Note) -> String {
        self.after_lead(|span| searchable(note, span))
    }

    fn after_lead(&self, mut text_of: impl FnMut(&Range<usize>) -> String) -> String {
        let lead = self.lead.as_ref().map(&mut text_of).filter(|lead| !lead.trim().is_empty());
        let own = text_of(&self.span);
        lead.map_or_else(|| own.clone(), |lead| format!("{}\n{own}", lead.trim_end()))
    }
}

/// The text of a span without comments, but with their line ends, so that its lines keep their numbers.
pub fn visible<'a>(note: &'a Note, span: &Range<usize>) -> Cow<'a, str> {
    let hidden = &note.hidden[note.hidden.partition_point(|h| h.end <= span.start)..];
    let mut hidden = hidden.iter().take_while(|h| h.start < span.end).peekable();
    if hidden.peek().is_none() {
        return Cow::Borrowed(&note.text[span.clone()]);
    }
    let (mut out, mut at) = (String::with_capacity(span.len()), span.start);
    for comment in hidden {
        out.push_str(&note.text[at..comment.start.max(at)]);
        let (start, end) = (comment.start.max(at), comment.end.min(span.end));
        out.push_str(&line_ends(note.text.get(start..end).unwrap_or_default()));
        at = at.max(end);
    }
    out.push_str(&note.text[at..span.end]);
    Cow::Owned(out)
}

/// The text of a span in which a sketch is looked for: what is seen of it, and all of it where something is hidden, for
/// once the whole text was sketched.
pub fn compared<'a>(note: &'a Note, span: &Range<usize>) -> Cow<'a, str> {
    match visible(note, span) {
        Cow::Owned(seen) => Cow::Owned(format!("{seen}\n{}", &note.text[span.clone()])),
        Cow::Borrowed(all) => Cow::Borrowed(all),
    }
}

/// The ends of the lines of a text that is left out: those that follow keep their numbers.
pub fn line_ends(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\r' | '\n')).collect()
}

/// The text of a note as a person sees it who reads it rendered: without comments, and without what an HTML comment that
/// is never closed hides. Its lines keep their numbers.
pub fn seen(note: &Note) -> Cow<'_, str> {
    let whole = 0..note.text.len();
    let Some(open) = &note.unclosed else { return visible(note, &whole) };
    let ends = line_ends(&note.text[open.clone()]);
    let (before, after) = (visible(note, &(0..open.start)), visible(note, &(open.end..whole.end)));
    Cow::Owned(format!("{before}{ends}{after}"))
}

/// The text of a span as it is embedded: without comments, and without front matter that cannot be read, which an
/// embedder elsewhere must not see; links as what they show.
pub fn searchable(note: &Note, span: &Range<usize>) -> String {
    let start = note.unread.as_ref().map_or(0, |unread| unread.end).clamp(span.start, span.end);
    read(note, &(start..span.end), None)
}

/// The same; `aside` gets what stands between the words without being seen, if it is given.
fn read(note: &Note, span: &Range<usize>, mut aside: Option<&mut String>) -> String {
    let mut out = String::with_capacity(span.len());
    let mut at = span.start;
    let is_in = |range: &Range<usize>| range.start < span.end && range.end <= span.end;
    let mut links = note.links[note.links.partition_point(|l| l.span.start < span.start)..].iter().peekable();
    let mut hidden = note.hidden[note.hidden.partition_point(|h| h.end <= span.start)..].iter().peekable();
    let between = if aside.is_some() { note.between.as_slice() } else { &[] };
    let mut between = between[between.partition_point(|mark| mark.start < span.start)..].iter().peekable();
    loop {
        let link = links.peek().filter(|link| is_in(&link.span)).map_or(usize::MAX, |link| link.span.start);
        let mark = between.peek().filter(|mark| is_in(mark)).map_or(usize::MAX, |mark| mark.start);
        let comment = hidden.peek().filter(|h| h.start < span.end).map_or(usize::MAX, |h| h.start.max(span.start));
        let next = link.min(mark).min(comment);
        if next == usize::MAX {
            break;
        }
        // What lies in something that was passed already is passed over.
        let is_new = next >= at;
        if is_new {
            out.push_str(&note.text[at..next]);
        }
        if next == comment {
            at = at.max(hidden.next().map_or(at, |hidden| hidden.end.min(span.end)));
        } else if next == link {
            let Some(link) = links.next().filter(|_| is_new) else { continue };
            // Two links side by side are two words.
            if next == at && !out.is_empty() {
                out.push(' ');
            }
            push_link(&mut out, link, aside.as_deref_mut());
            at = link.span.end;
        } else {
            let Some(mark) = between.next().filter(|_| is_new) else { continue };
            let written = visible(note, mark);
            if written.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("<br")) {
                out.push(' ');
            }
            put_aside(aside.as_deref_mut(), &written);
            at = mark.end;
        }
    }
    out.push_str(&note.text[at.min(span.end)..span.end]);
    out
}

fn push_link(out: &mut String, link: &crate::Link, aside: Option<&mut String>) {
    let shown = link.alias.as_deref().unwrap_or(&link.target);
    out.push_str(shown);
    // A wikilink's target is a name in the vault, worth finding even where the link shows another text.
    if link.kind == LinkKind::Wiki && link.alias.is_some() && !link.target.is_empty() {
        match aside {
            Some(_) => put_aside(aside, &link.target),
            None => out.extend([" (", &link.target, ")"]),
        }
    }
}

fn put_aside(aside: Option<&mut String>, text: &str) {
    aside.into_iter().for_each(|aside| aside.extend(["\n", text]));
}

/// A span with the sections it holds, before ids are given.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    sections: Range<usize>,
    span: Range<usize>,
}

/// The sections that `start..stop` touches; at least one.
fn sections_of(note: &Note, start: usize, stop: usize) -> Range<usize> {
    let last = note.sections.len().saturating_sub(1);
    let first = note.sections.partition_point(|s| s.span.end <= start).min(last);
    let end = note.sections.partition_point(|s| s.span.start < stop).max(first + 1);
    first..end.min(note.sections.len())
}

/// The tokens without those of what is hidden, which takes no room in a chunk.
fn seen_tokens<'a>(note: &Note, starts: &'a [u32]) -> Cow<'a, [u32]> {
    if note.hidden.is_empty() {
        return Cow::Borrowed(starts);
    }
    let mut hidden = note.hidden.iter().peekable();
    let is_seen = |start: &u32| {
        let start = *start as usize;
        while hidden.next_if(|span| span.end <= start).is_some() {}
        hidden.peek().is_none_or(|span| start < span.start)
    };
    Cow::Owned(starts.iter().copied().filter(is_seen).collect())
}

/// Measures spans in tokens.
struct Ruler<'a> {
    token_starts: &'a [u32],
}

impl Ruler<'_> {
    fn first_at(&self, position: usize) -> usize {
        self.token_starts.partition_point(|start| (*start as usize) < position)
    }

    fn tokens(&self, span: &Range<usize>) -> u32 {
        (self.first_at(span.end) - self.first_at(span.start)) as u32
    }

    /// The byte position of the `n`-th token from `position` on, if there are as many.
    fn position_after(&self, position: usize, n: u32) -> Option<usize> {
        self.token_starts.get(self.first_at(position) + n as usize).map(|start| *start as usize)
    }
}

fn finish(note: &Note, pieces: Vec<Piece>, ruler: &Ruler<'_>) -> Vec<Chunk> {
    let newlines: Vec<u32> =
        note.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32).collect();
    let line = |position: usize| 1 + newlines.partition_point(|newline| (*newline as usize) < position) as u32;
    let mut begun: HashMap<usize, u32> = HashMap::new();
    let mut chunks = Vec::with_capacity(pieces.len().max(1));
    for piece in pieces {
        let span = trim(&note.text, piece.span);
        let ordinal = begun.entry(piece.sections.start).or_default();
        let keys: Vec<SectionKey> = note.sections[piece.sections.clone()].iter().map(|s| s.key).collect();
        let Some(first) = keys.first() else { continue };
        let lead = lead::lead(note, span.start, ruler);
        let text = &note.text[span.clone()];
        let hash = match &lead {
            Some(lead) => text_hash([&note.text[lead.clone()], "\n", text].concat().as_bytes()),
            None => text_hash(text.as_bytes()),
        };
        chunks.push(Chunk {
            id: chunk_id(note.path.as_str(), *first, *ordinal),
            lines: (line(span.start), line(span.end.saturating_sub(1).max(span.start))),
            ordinal: *ordinal,
            hash,
            tokens: ruler.tokens(&span),
            has_words: has_words(note, &piece.sections, &span),
            sections: piece.sections,
            keys,
            lead,
            span,
        });
        *ordinal += 1;
    }
    chunks
}

/// The span without blank lines before and white space after it.
fn trim(text: &str, span: Range<usize>) -> Range<usize> {
    let inner = &text[span.clone()];
    let end = span.start + inner.trim_end().len();
    let blank = inner.len() - inner.trim_start().len();
    // An indent belongs to its line: it has a meaning in code and nested lists.
    let start = inner[..blank].rfind('\n').map_or(span.start, |newline| span.start + newline + 1);
    start.min(end)..end
}

fn has_words(note: &Note, sections: &Range<usize>, span: &Range<usize>) -> bool {
    note.sections[sections.clone()].iter().any(|section| {
        let start = section.content.start.max(span.start);
        let end = section.content.end.min(span.end);
        start < end && note.text[start..end].chars().any(char::is_alphanumeric)
    })
}
