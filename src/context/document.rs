//! A note as a model sees it: its metadata, its outline, and its text with numbered passages (chunks). Owned, since it
//! goes to the thread that talks to the model. Pure.

#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use note::chunk::Chunk;
use note::fingerprint::{ContextKey, SectionKey, TextHash, context_key};
use note::{BlockKind, Heading, Link, LinkKind, Note};

/// Front matter that a model sees besides title, aliases, tags, kind and date. Whatever else a note carries there,
/// tokens and passwords above all, never leaves the machine.
const PROPERTIES: [&str; 5] = ["status", "project", "author", "authors", "source"];

/// Titles in [`Document::links`] at most.
const MOST_LINKS: usize = 20;

/// Of a code block with more lines than this in one passage, a model sees only [`CODE_ENDS`] lines at each end.
const MOST_CODE_LINES: usize = 30;

/// Lines shown of each end of a long code block.
const CODE_ENDS: usize = 10;

/// A note ready to be shown to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// The note's text without front matter, even such as cannot be read, hidden parts removed as for searching. Links
    /// are written as words, embeds as `[image: name]`, long code as its first and last lines; control characters are
    /// removed.
    pub text: String,
    /// Its chunks in order; spans into `text`.
    pub passages: Vec<Passage>,
}

/// A chunk in a [`Document`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// Its number in the prompt, from 1.
    pub n: u32,
    /// The key that its context is stored under.
    pub key: ContextKey,
    /// Its sections.
    pub sections: Vec<SectionKey>,
    /// Hash of its raw text.
    pub hash: TextHash,
    /// Its span in [`Document::text`].
    pub span: Range<usize>,
    /// Headings above and in it, outermost first: the path of its first section, then the headings of the
    /// other sections it holds.
    pub heading_path: Vec<String>,
}

impl Document {
    /// Builds what a model sees of a note that was cut into `chunks`. The same note and chunks give the same bytes.
    pub fn new(note: &Note, chunks: &[Chunk]) -> Self {
        let (text, spans) = shown(note, chunks);
        let passage = |((index, chunk), span): ((usize, &Chunk), Range<usize>)| Passage {
            n: index as u32 + 1,
            key: context_key(&chunk.keys, chunk.hash),
            sections: chunk.keys.clone(),
            hash: chunk.hash,
            span,
            heading_path: heading_path(note, chunk),
        };
        Document {
            path: note.path.as_str().to_owned(),
            title: note.title.clone(),
            aliases: note.front.aliases.iter().filter(|alias| **alias != note.title).cloned().collect(),
            tags: note.tags.clone(),
            kind: note.kind.clone(),
            date: note.days.day().map(|date| date.strftime("%Y-%m-%d %A").to_string()),
            properties: properties(note),
            outline: note.outline.iter().filter(|h| is_shown(note, h)).map(|h| (h.level, h.text.clone())).collect(),
            links: links(note),
            passages: chunks.iter().enumerate().zip(spans).map(passage).collect(),
            text,
        }
    }

    /// The text of a passage.
    pub fn passage_text(&self, passage: &Passage) -> &str {
        self.text.get(passage.span.clone()).unwrap_or_default()
    }

    /// The passage with the number `n`.
    pub fn passage(&self, n: u32) -> Option<&Passage> {
        self.passages.iter().find(|passage| passage.n == n)
    }
}

/// Whether a character is invisible and not needed for reading: control characters except line feed and tab, marks that
/// change the direction of writing, and the tags and marks that can carry a hidden message.
pub(super) fn is_unseen(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

fn heading_path(note: &Note, chunk: &Chunk) -> Vec<String> {
    let sections = note.sections.get(chunk.sections.clone()).unwrap_or_default();
    let (above, within) = match sections.split_first() {
        Some((first, others)) => (first.path.as_slice(), others),
        None => return Vec::new(),
    };
    let indices = above.iter().copied().chain(within.iter().filter_map(|section| section.heading));
    let headings = indices.filter_map(|index| note.outline.get(index)).filter(|heading| is_shown(note, heading));
    headings.map(|heading| heading.text.clone()).filter(|text| !text.is_empty()).collect()
}

/// Whether a heading is one, and no line of front matter that cannot be read.
fn is_shown(note: &Note, heading: &Heading) -> bool {
    note.unread.as_ref().is_none_or(|unread| !unread.contains(&heading.span.start))
}

fn properties(note: &Note) -> Vec<(String, String)> {
    let told = |name: &&str| {
        let value = in_words(note.front.property(name)?, 0);
        (!value.is_empty()).then(|| ((*name).to_owned(), value))
    };
    PROPERTIES.iter().filter_map(told).collect()
}

/// A property's value as text; nothing for nested ones.
fn in_words(value: &Value, depth: u8) -> String {
    match value {
        Value::String(text) => {
            let text = text.trim().replace("[[", "").replace("]]", "");
            match text.split_once("://") {
                Some((scheme, rest)) => format!("{scheme}://{}", without_access(rest)),
                None => text,
            }
        }
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Array(values) if depth == 0 => {
            let parts = values.iter().map(|value| in_words(value, 1)).filter(|text| !text.is_empty());
            parts.take(10).collect::<Vec<_>>().join(", ")
        }
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}

/// The rest of an address without credentials: no password before the host, no token after the path.
fn without_access(address: &str) -> &str {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let host = address.find('/').unwrap_or(end).min(end);
    let start = address[..host].rfind('@').map_or(0, |at| at + 1);
    &address[start..end]
}

/// The titles of the notes that the body links to, each once, in order.
fn links(note: &Note) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    let start = note.unread.as_ref().map_or(note.body, |unread| unread.end.max(note.body));
    for link in note.links.iter().filter(|link| link.span.start >= start && !link.embed) {
        if titles.len() == MOST_LINKS {
            break;
        }
        let title = file_name(&link.target);
        let title = title.strip_suffix(".md").unwrap_or(title).trim();
        if link.kind != LinkKind::Url && !title.is_empty() && titles.iter().all(|known| known != title) {
            titles.push(title.to_owned());
        }
    }
    titles
}

fn file_name(target: &str) -> &str {
    target.rsplit('/').next().unwrap_or(target)
}

/// The note's text as a model sees it, and the span of each chunk in it.
fn shown(note: &Note, chunks: &[Chunk]) -> (String, Vec<Range<usize>>) {
    let source = note.text.as_str();
    let inside = |at: usize| source.floor_char_boundary(at.clamp(note.body.min(source.len()), source.len()));
    let mut bounds: Vec<usize> = chunks.iter().flat_map(|c| [inside(c.span.start), inside(c.span.end)]).collect();
    bounds.sort_unstable();
    bounds.dedup();

    let mut writer = Writer { source, out: String::with_capacity(source.len()), placed: Vec::new(), bounds: &bounds };
    let mut at = inside(note.body);
    for (span, with) in replaced(note, &bounds) {
        if span.start >= at {
            writer.keep(at..span.start);
            writer.replace(&span, &with);
            at = span.end;
        }
    }
    writer.keep(at..source.len());

    let place = |at: usize| bounds.binary_search(&inside(at)).ok().and_then(|index| writer.placed.get(index));
    let spans = chunks.iter().map(|chunk| {
        let start = place(chunk.span.start).map_or(0, |placed| placed.start);
        let end = place(chunk.span.end).map_or(0, |placed| placed.end);
        start..end.max(start)
    });
    let spans = spans.collect();
    (writer.out, spans)
}

/// The spans that are not shown as written, in order, each with the text that stands for it. Where spans overlap, the
/// first one counts.
fn replaced(note: &Note, bounds: &[usize]) -> Vec<(Range<usize>, String)> {
    let mut replaced: Vec<(Range<usize>, String)> =
        note.hidden.iter().chain(&note.unread).map(|span| (span.clone(), String::new())).collect();
    // A link with a comment in it is left as written, without the comment. One without an address held a file there.
    let holds_hidden = |span: &Range<usize>| {
        let next = note.hidden.partition_point(|hidden| hidden.end <= span.start);
        note.hidden.get(next).is_some_and(|hidden| hidden.start < span.end)
    };
    let is_shown = |link: &&Link| link.target.is_empty() || !holds_hidden(&link.span);
    let links = note.links.iter().filter(|link| link.span.start >= note.body).filter(is_shown);
    replaced.extend(links.map(|link| (link.span.clone(), words_of(link))));
    for block in note.blocks.iter().filter(|block| block.kind == BlockKind::Code) {
        let within = |at: &usize| block.span.start < *at && *at < block.span.end;
        let first = bounds.partition_point(|at| *at <= block.span.start);
        let inner = bounds[first..].iter().copied().take_while(within);
        let mut start = block.span.start;
        for end in inner.chain([block.span.end]) {
            replaced.extend(middle_of_code(&note.text, start..end));
            start = end;
        }
    }
    replaced.retain(|(span, _)| span.end <= note.text.len());
    replaced.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
    replaced
}

/// The span between the two ends of a long piece of code, and the line that stands for it.
fn middle_of_code(text: &str, span: Range<usize>) -> Option<(Range<usize>, String)> {
    let code = text.get(span.clone())?;
    let starts: Vec<usize> = std::iter::once(0).chain(code.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let starts = starts.strip_suffix(&[code.len()]).unwrap_or(&starts);
    if starts.len() <= MOST_CODE_LINES {
        return None;
    }
    let left_out = starts.len() - 2 * CODE_ENDS;
    let middle = span.start + starts[CODE_ENDS]..span.start + starts[CODE_ENDS + left_out];
    Some((middle, format!("[… {left_out} lines …]\n")))
}

/// The words that stand for a link. A wikilink's target is named even where the link shows another name: that tells the
/// model that "she" is somebody who has her own note.
fn words_of(link: &Link) -> String {
    let name = file_name(&link.target);
    if link.embed {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        let image = ["png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "bmp", "tif", "tiff", "heic"];
        let is_image = link.kind != LinkKind::Wiki || extension.is_some_and(|e| image.contains(&e.as_str()));
        // `![[photo.png|300]]` gives a size, not a name.
        let is_size = |alias: &&str| alias.chars().all(|c| c.is_ascii_digit() || c == 'x');
        let data = link.target.starts_with("data:");
        let alias = link.alias.as_deref().filter(|alias| !is_size(alias));
        let shown = alias.unwrap_or(if data { "" } else { name });
        return match (is_image, shown) {
            (true, "") => "[image]".to_owned(),
            (true, shown) => format!("[image: {shown}]"),
            (false, shown) => format!("[embed: {shown}]"),
        };
    }
    match &link.alias {
        Some(alias) if link.kind == LinkKind::Wiki && !link.target.is_empty() => format!("{alias} ({name})"),
        Some(alias) => alias.clone(),
        None if link.target.is_empty() => link.heading.clone().unwrap_or_default(),
        None => link.target.clone(),
    }
}

/// Writes the text and records where the bounds of the chunks end up in it.
struct Writer<'a> {
    source: &'a str,
    out: String,
    /// Positions in `source`, ascending.
    bounds: &'a [usize],
    /// For each of the first `bounds`: its positions in `out`, for a chunk that starts there and one that ends there.
    /// They differ only within a replaced span, which belongs as a whole to both chunks.
    placed: Vec<Range<usize>>,
}

impl Writer<'_> {
    fn keep(&mut self, span: Range<usize>) {
        let mut at = span.start;
        while let Some(bound) = self.bounds.get(self.placed.len()).copied().filter(|bound| *bound <= span.end) {
            self.push(at..bound.max(at));
            at = bound.max(at);
            self.placed.push(self.out.len()..self.out.len());
        }
        self.push(at..span.end);
    }

    fn replace(&mut self, span: &Range<usize>, with: &str) {
        let start = self.out.len();
        push_seen(&mut self.out, with);
        while self.bounds.get(self.placed.len()).is_some_and(|bound| *bound < span.end) {
            self.placed.push(start..self.out.len());
        }
    }

    fn push(&mut self, span: Range<usize>) {
        push_seen(&mut self.out, self.source.get(span).unwrap_or_default());
    }
}

/// Appends the visible characters of `text`, with Unix line ends.
fn push_seen(out: &mut String, text: &str) {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() != Some(&'\n') => out.push('\n'),
            '\u{b}' | '\u{c}' | '\u{85}' => out.push(' '),
            c if is_unseen(c) => {}
            c => out.push(c),
        }
    }
}
