//! One pass over the Markdown of a note: headings, top-level blocks, links and the runs of plain text
//! that [`super::links`] reads on.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::links::{self, Found, Place};
use super::spans::{line_start, line_starts, next_line};
use super::{Block, BlockKind, Heading, LinkKind, outline};

/// What notes have besides CommonMark.
pub(super) const OPTIONS: Options = Options::ENABLE_WIKILINKS
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_GFM)
    .union(Options::ENABLE_MATH)
    .union(Options::ENABLE_TABLES)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_STRIKETHROUGH);

/// How far into a line, in bytes, a quote or list marker may be. For each open quote and list the parser looks at every
/// line, so without a bound deep nesting takes depth × lines of time.
const DEEPEST_MARKER: usize = 200;

/// Links nested deeper than this do not get the text they show: such a text is hostile.
const DEEPEST_LINK: usize = 8;

/// The beginning of an address that holds a file.
const HELD: &str = "data:";

/// What stands alone in a paragraph, in lower case, for a table of contents that a program puts in its place.
const CONTENTS: [&str; 7] = ["[toc]", "[[toc]]", "[_toc_]", "[[_toc_]]", "{{toc}}", "${toc}", "{:toc}"];

/// Tags whose block holds Markdown, with or without a blank line below them: Notion exports callouts as `<aside>`.
const WRAPPERS: [&str; 4] = ["aside", "details", "summary", "iframe"];

/// What one pass finds; positions are those of the whole text.
#[derive(Debug, Default)]
pub(super) struct Pass {
    /// The headings outside of lists and quotes, each with the index of its block.
    pub(super) headings: Vec<(Heading, usize)>,
    /// The top-level blocks.
    pub(super) blocks: Vec<Block>,
    /// Links and all that is in running text.
    pub(super) found: Found,
}

impl Pass {
    /// Hides what Excalidraw keeps in a note for itself: its advice to its user above the text, and the drawing below it.
    pub(super) fn hide_drawing(&mut self, text: &str) {
        let advice =
            self.blocks.first().map(|block| block.span.clone()).filter(|span| text[span.clone()].starts_with("==⚠"));
        let drawing = self.headings.iter().find(|(heading, _)| heading.text == "Drawing");
        let drawing = drawing.map(|(heading, _)| heading.span.start..text.len());
        self.found.unseen.extend(advice.into_iter().chain(drawing));
    }
}

/// Reads `text[body..]`, adding to what was found in the front matter.
pub(super) fn pass(text: &str, body: usize, found: Found) -> Pass {
    let mut reader = Reader::new(text, body, found);
    reader.read(&(body..text.len()));
    reader.pass
}

/// The text with container markers that are too deep replaced by letters, byte for byte, and what is indented below a line
/// such as `!!! note` or `=== "Linux"` made a quote, as MkDocs shows it.
pub(super) fn shallow(text: &str) -> Cow<'_, str> {
    let is_end = |b: &u8| matches!(b, b'\n' | b'\r');
    let mut masked: Option<Vec<u8>> = None;
    let mut start = 0;
    let (mut fence, mut is_below): (Option<&[u8]>, bool) = (None, false);
    for line in text.as_bytes().split(is_end) {
        let is_indented = line.starts_with(b"    ") || line.starts_with(b"\t");
        if is_below && is_indented {
            masked.get_or_insert_with(|| text.as_bytes().to_vec())[start] = b'>';
        } else if !line.is_empty() {
            fence = match (fence, fence_of(line)) {
                (Some(open), Some(close)) if close.starts_with(open) && close.len() == line.trim_ascii().len() => None,
                (open, found) => open.or(found),
            };
            is_below = fence.is_none() && begins_block(line);
        }
        if line.len() > DEEPEST_MARKER {
            let prefix = marker_prefix(line);
            for at in (DEEPEST_MARKER..prefix).filter(|&at| !matches!(line[at], b' ' | b'\t')) {
                masked.get_or_insert_with(|| text.as_bytes().to_vec())[start + at] = b'x';
            }
        }
        start += line.len() + 1;
    }
    // Only ASCII was replaced by ASCII, so that this stays UTF-8 and the fallback is never taken.
    masked.and_then(|bytes| String::from_utf8(bytes).ok()).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The three or more backticks or tildes that a line begins with.
fn fence_of(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let mark = line.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let fence = &line[..line.iter().take_while(|byte| *byte == mark).count()];
    (fence.len() >= 3).then_some(fence)
}

/// Whether a line begins an admonition or a tab of MkDocs.
fn begins_block(line: &[u8]) -> bool {
    let kind = [&b"!!! "[..], b"??? ", b"???+ "].iter().find_map(|mark| line.strip_prefix(*mark));
    kind.is_some_and(|kind| kind.first().is_some_and(u8::is_ascii_alphabetic)) || line.starts_with(b"=== \"")
}

/// The length of the blanks, quote and list markers that a line begins with.
pub(super) fn marker_prefix(line: &[u8]) -> usize {
    let mut at = 0;
    while at < line.len() {
        let parted = |next: usize| matches!(line.get(next), None | Some(b' ' | b'\t'));
        at = match line[at] {
            b' ' | b'\t' | b'>' => at + 1,
            b'-' | b'+' | b'*' if parted(at + 1) => at + 1,
            b'0'..=b'9' => {
                let digits = line[at..].iter().take(10).take_while(|b| b.is_ascii_digit()).count();
                let ends = matches!(line.get(at + digits), Some(b'.' | b')')) && parted(at + digits + 1);
                if digits > 9 || !ends {
                    break;
                }
                at + digits + 1
            }
            _ => break,
        };
    }
    at
}

/// A link whose text is being read.
struct OpenLink {
    /// Its place among the links; `None` for one that is not recorded or complete already.
    index: Option<usize>,
    /// Where its text starts in [`Reader::shown`].
    shown: usize,
    dest: String,
}

#[derive(Default)]
struct Reader<'t> {
    text: &'t str,
    body: usize,
    pass: Pass,
    /// Open block containers and leaves.
    depth: usize,
    /// The top-level block being read.
    kind: BlockKind,
    cuts: Vec<usize>,
    /// Whether the top-level block holds display math, and anything else.
    math: bool,
    plain: bool,
    /// The text of the top-level heading being read.
    heading: Option<String>,
    code: bool,
    links: Vec<OpenLink>,
    shown: String,
    /// Plain text not given to the scanner yet; empty if its ends are equal.
    run: Range<usize>,
    line: Option<usize>,
    block: u32,
    cell: bool,
    /// Whether a block was read that is neither a heading nor HTML nor meant for programs.
    begun: bool,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, body: usize, found: Found) -> Self {
        Reader { text, body, pass: Pass { found, ..Pass::default() }, ..Reader::default() }
    }

    /// Notes a definition of a link's address that no reader sees: one that holds a file, or a comment.
    fn definition(&mut self, label: &str, dest: &str, span: Range<usize>) {
        if links::holds_file(dest) {
            self.pass.found.unseen.push(span);
        } else if label.starts_with("//") || label.eq_ignore_ascii_case("comment") || matches!(dest, "" | "#") {
            self.pass.found.comments.push(span);
        }
    }

    fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
        if let Event::Text(text) = event {
            return self.plain_text(text, range);
        }
        self.flush();
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag, range),
            Event::Code(text) | Event::InlineMath(text) => self.inline(text, range.start),
            Event::DisplayMath(text) => {
                let plain = self.plain;
                self.inline(text, range.start);
                (self.math, self.plain) = (true, plain);
            }
            Event::InlineHtml(_) => {
                self.inline("", range.start);
                self.pass.found.html(self.text, range.clone());
                // A comment is no tag.
                self.pass.found.between.extend((!self.text[range.clone()].starts_with("<!")).then_some(range));
            }
            Event::FootnoteReference(_) => {
                self.inline("", range.start);
                self.pass.found.between.push(range);
            }
            Event::SoftBreak | Event::HardBreak => {
                self.show(" ");
                self.line = None;
            }
            Event::TaskListMarker(_) => self.line = None,
            Event::Rule => {
                if self.depth == 0 {
                    self.open_block(BlockKind::Paragraph);
                    self.close_block(&range);
                }
            }
            Event::Text(_) | Event::Html(_) => {}
        }
    }

    fn plain_text(&mut self, shown: &str, range: Range<usize>) {
        if self.code {
            return;
        }
        self.inline(shown, range.start);
        if !self.links.is_empty() {
            return;
        }
        if self.run.is_empty() || self.run.end != range.start {
            self.flush();
            self.run = range;
        } else {
            self.run.end = range.end;
        }
    }

    /// Records that inline content begins here and shows `shown`.
    fn inline(&mut self, shown: &str, at: usize) {
        self.line.get_or_insert(at);
        self.plain = true;
        self.show(shown);
    }

    fn show(&mut self, shown: &str) {
        if let Some(heading) = &mut self.heading {
            heading.push_str(shown);
        }
        if !self.links.is_empty() {
            self.shown.push_str(shown);
        }
    }

    fn flush(&mut self) {
        if !self.run.is_empty() {
            let run = std::mem::take(&mut self.run);
            let line = self.line.unwrap_or(run.start);
            self.pass.found.run(self.text, run, Place { line, block: self.block, cell: self.cell });
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        let kind = match tag {
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Superscript | Tag::Subscript => {
                return self.inline("", range.start);
            }
            Tag::Link { link_type, dest_url, .. } => return self.open_link(*link_type, dest_url, range, false),
            Tag::Image { link_type, dest_url, .. } => return self.open_link(*link_type, dest_url, range, true),
            Tag::Heading { .. } => BlockKind::Heading,
            Tag::BlockQuote(_) => BlockKind::Quote,
            Tag::CodeBlock(_) => BlockKind::Code,
            Tag::HtmlBlock => BlockKind::Html,
            Tag::List(_) => BlockKind::List,
            Tag::Table(_) => BlockKind::Table,
            _ => BlockKind::Paragraph,
        };
        self.block += 1;
        self.line = None;
        let wrapped = if self.depth == 0 && kind == BlockKind::Html { wrapped(self.text, &range) } else { None };
        if self.depth == 0 {
            self.open_block(kind);
        }
        match tag {
            Tag::Heading { .. } if self.depth == 0 => self.heading = Some(String::new()),
            Tag::CodeBlock(_) => self.code = true,
            Tag::HtmlBlock => self.pass.found.html(self.text, range),
            Tag::TableCell => self.cell = true,
            Tag::Item if self.kind == BlockKind::List => self.cut(range.start),
            Tag::TableRow if self.kind == BlockKind::Table => self.cut(range.start),
            _ => {}
        }
        self.depth += 1;
        if let Some(wrapped) = wrapped {
            self.read(&wrapped);
        }
    }

    /// Reads a piece of Markdown.
    fn read(&mut self, span: &Range<usize>) {
        let shallow = shallow(&self.text[span.clone()]);
        let parser = Parser::new_ext(&shallow, OPTIONS);
        for (label, definition) in parser.reference_definitions().iter() {
            self.definition(
                label,
                &definition.dest,
                definition.span.start + span.start..definition.span.end + span.start,
            );
        }
        for (event, range) in parser.into_offset_iter() {
            self.event(&event, range.start + span.start..range.end + span.start);
        }
        self.flush();
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Superscript | TagEnd::Subscript => {
                return;
            }
            TagEnd::Link | TagEnd::Image => return self.close_link(tag == TagEnd::Image),
            TagEnd::CodeBlock => self.code = false,
            TagEnd::TableCell => self.cell = false,
            _ => {}
        }
        self.block += 1;
        self.line = None;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 {
            return;
        }
        let heading = self.heading.take();
        let blocks = self.pass.blocks.len();
        self.close_block(&range);
        if let (TagEnd::Heading(level), Some(shown)) = (tag, heading)
            && let Some(block) = self.pass.blocks.get(blocks)
        {
            let heading = Heading { level: level as u8, text: outline::heading_text(&shown), span: block.span.clone() };
            self.pass.headings.push((heading, blocks));
        }
    }

    fn open_link(&mut self, kind: LinkType, dest: &str, range: Range<usize>, embed: bool) {
        self.inline("", range.start);
        let dest = if links::holds_file(dest) { self.held(kind, range.clone()) } else { dest };
        let mut open = OpenLink { index: None, shown: self.shown.len(), dest: String::new() };
        let found = &mut self.pass.found.links;
        match kind {
            LinkType::WikiLink { .. } => {
                match links::citation(self.text, range.clone()) {
                    // It is found in the text that follows.
                    Some(citation) if citation.kind == LinkKind::Url => {}
                    Some(citation) => found.push(citation),
                    // A command of Roam's: `{{[[TODO]]}}`.
                    None if self.text[..range.start].ends_with("{{") => {}
                    None => found.extend(links::wiki(self.text, range, embed)),
                }
            }
            LinkType::Email => {
                found.push(links::markdown(&format!("mailto:{dest}"), "", range, embed));
            }
            _ => {
                if self.links.len() < DEEPEST_LINK {
                    open.index = Some(found.len());
                    open.dest.push_str(dest);
                }
                found.push(links::markdown(dest, "", range, embed));
            }
        }
        self.links.push(open);
    }

    /// Notes the file that the link at `range` holds as its address; returns what counts as the address instead.
    fn held(&mut self, kind: LinkType, range: Range<usize>) -> &'static str {
        if !matches!(kind, LinkType::Inline | LinkType::Autolink) {
            return "";
        }
        let source = self.text.get(range.clone()).unwrap_or_default();
        let shows_nothing = kind == LinkType::Autolink || source.starts_with("![](");
        let address = source.rfind(HELD).filter(|_| !shows_nothing).map(|at| at + HELD.len());
        let within = match address {
            Some(at) => {
                let ends = |c: char| c.is_whitespace() || matches!(c, '>' | ')');
                at..at + source[at..].find(ends).unwrap_or(source.len() - at)
            }
            None => 0..source.len(),
        };
        self.pass.found.unseen.push(range.start + within.start..range.start + within.end);
        ""
    }

    /// Gives the link its text. The text of one within counts for those around it, too.
    fn close_link(&mut self, embed: bool) {
        let Some(open) = self.links.pop() else { return };
        if let Some(link) = open.index.and_then(|index| self.pass.found.links.get_mut(index)) {
            *link = links::markdown(&open.dest, &self.shown[open.shown..], link.span.clone(), embed);
        }
        if self.links.is_empty() {
            self.shown.clear();
        }
    }

    fn open_block(&mut self, kind: BlockKind) {
        self.kind = kind;
        self.cuts.clear();
        (self.math, self.plain) = (false, false);
    }

    fn close_block(&mut self, range: &Range<usize>) {
        let bytes = self.text.as_bytes();
        let floor = self.pass.blocks.last().map_or(self.body, |block| block.span.end);
        let start = line_start(bytes, range.start, self.body).max(floor);
        let Some(source) = bytes.get(start..range.end) else {
            return;
        };
        let Some(last) = source.iter().rposition(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r')) else {
            return;
        };
        let end = next_line(bytes, start + last + 1);
        let is_math = self.kind == BlockKind::Paragraph && self.math && !self.plain;
        let kind = if is_math { BlockKind::Code } else { self.kind };
        let text = self.text[start..end].trim();
        if kind == BlockKind::Paragraph && (is_contents(text) || (!self.begun && is_import(text))) {
            self.pass.found.unseen.push(start..end);
        } else {
            self.begun |= !matches!(kind, BlockKind::Heading | BlockKind::Html);
        }
        let cuts = match kind {
            BlockKind::Code | BlockKind::Quote => line_starts(bytes, start..end),
            _ => self.cuts.iter().copied().filter(|cut| (start + 1..end).contains(cut)).collect(),
        };
        self.pass.blocks.push(Block { kind, span: start..end, cuts });
    }

    fn cut(&mut self, at: usize) {
        let cut = line_start(self.text.as_bytes(), at, self.body);
        if self.cuts.last().is_none_or(|last| *last < cut) {
            self.cuts.push(cut);
        }
    }
}

/// The Markdown in a block of HTML that begins with a line of one of [`WRAPPERS`].
pub(super) fn wrapped(text: &str, block: &Range<usize>) -> Option<Range<usize>> {
    let is_tag = |line: &&str| {
        let tag = line.trim().strip_prefix('<').and_then(|tag| tag.strip_suffix('>'));
        let name = tag.map(|tag| tag.trim_start_matches('/').split(|c: char| !c.is_alphanumeric()).next());
        name.flatten().is_some_and(|name| WRAPPERS.iter().any(|known| name.eq_ignore_ascii_case(known)))
    };
    let tags = text[block.clone()].split_inclusive('\n').take_while(is_tag).map(str::len).sum::<usize>();
    (tags > 0).then_some(block.start + tags..block.end).filter(|inside| !inside.is_empty())
}

fn is_contents(text: &str) -> bool {
    CONTENTS.iter().any(|mark| text.eq_ignore_ascii_case(mark))
}

/// Whether a paragraph imports what its page is made with, as pages of Docusaurus and Astro do above their text:
/// `import Tabs from "@theme/Tabs";`.
fn is_import(text: &str) -> bool {
    text.lines().all(|line| {
        let line = line.trim_end().trim_end_matches(';');
        let quote = line.chars().next_back().filter(|c| matches!(c, '"' | '\''));
        let before = quote.and_then(|quote| line[..line.len() - 1].rsplit_once(quote)).map(|(before, _)| before);
        line.starts_with("import ") && before.is_some_and(|before| before.ends_with("from ") || before == "import ")
    })
}
