//! A piece of a note as its reader sees it: the words without the marks that format them.

mod markdown;
mod org;
mod rst;

use std::borrow::Cow;
use std::ops::Range;

use super::format::Format;
use super::{Heading, outline};

/// A piece of a note as plain text, line by line: line n of it comes from line n of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered<'s> {
    /// The text. Blocks that end without punctuation are parted from the next by [`PARTED`], cells of a table by
    /// [`BETWEEN_CELLS`]; both stand at the beginning of what follows them.
    pub text: Cow<'s, str>,
    /// The line, from 0, where the text begins to say something: the first with words that is no heading.
    pub first_line: usize,
    /// The headings outside of lists and quotes, in order.
    pub headings: Vec<HeadingLine>,
}

/// A heading in a piece of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadingLine {
    /// Its line, from 0.
    pub line: usize,
    /// 1..=6.
    pub level: u8,
    /// As in a note's outline.
    pub text: String,
}

/// Stands between two blocks.
pub const PARTED: &str = "·";

/// Stands between two cells of a table.
pub const BETWEEN_CELLS: &str = "|";

/// What ends a block so that the next needs no [`PARTED`] before it.
const PUNCTUATION: [char; 15] = ['.', ',', ';', ':', '!', '?', '…', '·', '|', '。', '，', '：', '！', '？', '।'];

/// Renders a piece of a note of that format. The piece may begin and end anywhere; linear in its length.
pub fn render(format: Format, source: &str) -> Rendered<'_> {
    match format {
        Format::Markdown | Format::Canvas | Format::Html | Format::Epub | Format::Docx => {
            markdown::render(source, false)
        }
        Format::Text => markdown::render(source, true),
        Format::Org => org::render(source),
        Format::Rst => rst::render(source),
        Format::Base | Format::Pdf | Format::Attachment => {
            let first_line = source.split('\n').position(has_words).unwrap_or(0);
            Rendered { text: Cow::Borrowed(source), first_line, headings: Vec::new() }
        }
    }
}

/// What comes between what was written and what is written next.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Gap {
    #[default]
    None,
    Block,
    Cell,
}

/// Writes what a piece shows, each word on the line that it has in the source.
#[derive(Default)]
struct Writer<'s> {
    source: &'s str,
    out: String,
    /// Lines written.
    line: usize,
    first_line: Option<usize>,
    /// Up to where the source's line ends have been written.
    read: usize,
    gap: Gap,
    /// Where the heading that is being read starts in `out`.
    heading: Option<usize>,
    headings: Vec<HeadingLine>,
}

impl<'s> Writer<'s> {
    fn new(source: &'s str) -> Self {
        Writer { source, out: String::with_capacity(source.len()), ..Writer::default() }
    }

    fn finish(self) -> Rendered<'s> {
        let Writer { out, first_line, headings, .. } = self;
        Rendered { text: Cow::Owned(out), first_line: first_line.unwrap_or(0), headings }
    }

    fn begin_heading(&mut self) {
        (self.heading, self.gap) = (Some(self.out.len()), Gap::Block);
    }

    /// Ends a heading, which is one of the piece's own if it has a level.
    fn end_heading(&mut self, level: Option<u8>) {
        self.gap = Gap::Block;
        let (Some(start), Some(level)) = (self.heading.take(), level) else { return };
        let written = self.out[start..].trim_start();
        let text = outline::heading_text(written.strip_prefix(PARTED).unwrap_or(written));
        let line = self.line - line_ends(written);
        self.headings.push(HeadingLine { line, level, text });
    }

    /// Writes a heading of an outline whose text stands on one line, at `at`.
    fn heading(&mut self, heading: &Heading, shown: &str, at: usize) {
        self.begin_heading();
        self.show(shown, at..at);
        (self.heading, self.gap) = (None, Gap::Block);
        let text = heading.text.clone();
        self.headings.push(HeadingLine { line: self.line, level: heading.level, text });
    }

    /// Writes what stands at a place of the source, on its line.
    fn show(&mut self, text: &str, range: Range<usize>) {
        if text.trim().is_empty() && self.gap != Gap::None {
            return;
        }
        if range.start > self.read {
            let lines = line_ends(&self.source[self.read..range.start]);
            self.out.extend(std::iter::repeat_n('\n', lines));
            self.line += lines;
        }
        let gap = std::mem::replace(&mut self.gap, Gap::None);
        let mark = match gap {
            Gap::None => None,
            Gap::Cell => Some(BETWEEN_CELLS),
            Gap::Block => self.out.trim_end().chars().next_back().filter(|c| !PUNCTUATION.contains(c)).map(|_| PARTED),
        };
        if gap != Gap::None && self.out.ends_with(|c: char| !c.is_whitespace()) {
            self.out.push(' ');
        }
        if let Some(mark) = mark {
            self.out.push_str(mark);
            self.out.push(' ');
        }
        if self.heading.is_none() && self.first_line.is_none() {
            self.first_line = text.split('\n').position(has_words).map(|before| self.line + before);
        }
        self.out.push_str(text);
        // Line ends within code between words are spaces of the text, and follow it.
        let source = self.source.get(self.read.max(range.start)..range.end).unwrap_or_default();
        let (written, lines) = (line_ends(text), line_ends(source));
        self.out.extend(std::iter::repeat_n('\n', lines.saturating_sub(written)));
        self.line += written.max(lines);
        self.read = self.read.max(range.end);
    }
}

fn has_words(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// How many lines end in a text.
fn line_ends(text: &str) -> usize {
    text.bytes().filter(|b| *b == b'\n').count()
}

#[cfg(test)]
mod tests;
