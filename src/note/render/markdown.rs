//! Markdown as its reader sees it.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{BrokenLink, Event, LinkType, Parser, Tag, TagEnd};

use super::{Gap, Rendered, Writer};
use crate::format::Format;
use crate::{links, markdown, outline, plain};

/// Renders a piece of Markdown. In plain text tags are words.
pub(super) fn render(source: &str, is_plain: bool) -> Rendered<'_> {
    let mut reader = Reader { source, is_plain, writer: Writer::new(source), ..Reader::default() };
    reader.all();
    reader.writer.finish()
}

#[derive(Default)]
struct Reader<'s> {
    source: &'s str,
    is_plain: bool,
    writer: Writer<'s>,
    /// What begins before this place is shown from there on, if it reaches so far.
    skip: usize,
    /// Where the title of a callout ends.
    title_end: Option<usize>,
    /// Open lists and quotes.
    depth: usize,
    code: bool,
    /// Cells of the row so far.
    cells: usize,
    /// What ends the HTML tag or comment that is being read.
    html: Option<&'static str>,
    /// The Markdown in the block of HTML that is being read.
    wrapped: Option<Range<usize>>,
}

impl Reader<'_> {
    fn all(&mut self) {
        let source = self.source;
        let body = code_before(source);
        if let Some((code, after)) = &body {
            self.show(&source[..*code], 0..*code);
            self.writer.gap = Gap::Block;
            self.skip = *after;
        }
        self.read(&(body.map_or(0, |(_, after)| after)..source.len()));
    }

    fn read(&mut self, span: &Range<usize>) {
        let shallow = markdown::shallow(&self.source[span.clone()]);
        let elsewhere = |link: BrokenLink<'_>| defined_elsewhere(&shallow, &link).then(|| ("".into(), "".into()));
        let parser = Parser::new_with_broken_link_callback(&shallow, markdown::OPTIONS, Some(elsewhere));
        for (event, range) in parser.into_offset_iter() {
            self.event(&event, range.start + span.start..range.end + span.start);
        }
    }

    fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Text(text) if range.start >= self.skip && self.code => self.show(text, range),
            Event::Text(text) if range.start >= self.skip => self.words(text, range),
            Event::Text(_) if range.end > self.skip => {
                let range = self.skip..range.end;
                self.words(&self.source[range.clone()], range);
            }
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) if range.start >= self.skip => {
                self.show(text, range);
            }
            Event::Html(_) if self.wrapped.as_ref().is_some_and(|inside| inside.contains(&range.start)) => {}
            Event::Html(text) | Event::InlineHtml(text) if self.is_plain => self.show(text, range),
            Event::Html(text) | Event::InlineHtml(text) => {
                self.html(text, &range, matches!(event, Event::Html(_)));
            }
            Event::TaskListMarker(_) => {
                self.show(&self.source[range.clone()], range);
                self.writer.out.push(' ');
            }
            Event::Start(tag) => self.start(tag, range),
            Event::End(TagEnd::Heading(level)) => {
                self.writer.end_heading((self.depth == 0).then_some(*level as u8));
            }
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_)) => self.depth = self.depth.saturating_sub(1),
            Event::End(TagEnd::CodeBlock) => (self.code, self.writer.gap) = (false, Gap::Block),
            Event::End(TagEnd::HtmlBlock) => {
                (self.html, self.writer.gap) = (None, Gap::Block);
                if let Some(inside) = self.wrapped.take() {
                    self.depth += 1;
                    self.read(&inside);
                    self.depth -= 1;
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Link { link_type: LinkType::WikiLink { .. }, .. } => self.wiki(range, false),
            Tag::Image { link_type: LinkType::WikiLink { .. }, .. } => self.wiki(range, true),
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Superscript | Tag::Subscript => {}
            Tag::Link { .. } | Tag::Image { .. } => {}
            Tag::TableCell => {
                if self.cells > 0 {
                    self.writer.gap = Gap::Cell;
                }
                self.cells += 1;
            }
            _ => {
                self.writer.gap = Gap::Block;
                self.depth += usize::from(matches!(tag, Tag::BlockQuote(_) | Tag::List(_)));
                match tag {
                    Tag::Heading { .. } => self.writer.begin_heading(),
                    Tag::CodeBlock(_) => self.code = true,
                    Tag::HtmlBlock if self.depth == 0 && !self.is_plain => {
                        self.wrapped = markdown::wrapped(self.source, &range);
                    }
                    Tag::TableHead | Tag::TableRow => self.cells = 0,
                    Tag::BlockQuote(_) => self.callout(range.start),
                    Tag::Item => self.number(range.start),
                    _ => {}
                }
            }
        }
    }

    /// Passes over `[!note]-`, which makes a quote a callout; the rest of its line is the title.
    fn callout(&mut self, at: usize) {
        let line = self.source[at..].split('\n').next().unwrap_or_default();
        let told = line.trim_start_matches(['>', ' ', '\t']);
        let Some((kind, title)) = told.strip_prefix("[!").and_then(|told| told.split_once(']')) else { return };
        if !kind.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '|' | ' ')) {
            self.skip = at + line.len() - title.trim_start_matches(['-', '+', ' ']).len();
            self.title_end = Some(at + line.len());
        }
    }

    /// Shows the number of an item of an ordered list.
    fn number(&mut self, at: usize) {
        let item = &self.source[at..];
        let digits = item.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            self.show(&format!("{}. ", &item[..digits]), at..at + digits);
        }
    }

    /// Shows a link between notes as its text, and of an embedded file nothing.
    fn wiki(&mut self, range: Range<usize>, embed: bool) {
        if let Some(link) = links::citation(self.source, range.clone()) {
            self.skip = link.span.end;
            return self.show(&link.alias.unwrap_or_default(), link.span);
        }
        let Some(link) = links::wiki(self.source, range.clone(), embed) else { return };
        let is_file = embed && Format::of(&link.target) == Some(Format::Attachment);
        let text = link.alias.filter(|alias| !is_address(alias) || is_address(&link.target));
        let text = text.unwrap_or_else(|| named(&link.target, link.heading.as_deref()));
        self.skip = range.end;
        if !is_file {
            self.show(&text, range);
        }
    }

    /// Shows running text, without what Obsidian and Logseq hide in it.
    fn words(&mut self, text: &str, range: Range<usize>) {
        let ends_line = self.source[range.end..].trim_start_matches([' ', '\t', '\r']);
        let ends_line = ends_line.is_empty() || ends_line.starts_with('\n');
        let text = if ends_line { outline::without_block_id(text.trim_end()) } else { text };
        let around = |at: Option<char>| at.filter(|_| text.contains("=="));
        let before = around(self.source[..range.start].chars().next_back());
        let after = around(self.source[range.end..].chars().next());
        self.show(&without_highlights(text, before, after), range);
    }

    /// Shows HTML without its tags and comments. Tags of a `block` part words.
    fn html(&mut self, html: &str, range: &Range<usize>, block: bool) {
        let mut at = 0;
        while at < html.len() {
            if let Some(close) = self.html {
                let Some(end) = html[at..].find(close) else { return };
                self.html = None;
                at += end + close.len();
                continue;
            }
            let text = &html[at..][..tag_in(&html[at..]).unwrap_or(html.len() - at)];
            let start = range.start + at;
            self.show(text, start..start + text.len());
            at += text.len();
            let tag = &html[at..];
            if tag.is_empty() {
                return;
            }
            self.html = Some(if tag.starts_with("<!--") { "-->" } else { ">" });
            let breaks = block || tag.get(..3).is_some_and(|name| name.eq_ignore_ascii_case("<br"));
            if breaks && self.writer.out.ends_with(|c: char| !c.is_whitespace()) {
                self.writer.out.push(' ');
            }
        }
    }

    fn show(&mut self, text: &str, range: Range<usize>) {
        if self.title_end.take_if(|end| range.start >= *end).is_some() {
            self.writer.gap = Gap::Block;
        }
        self.writer.show(text, range);
    }
}

/// If the piece seems to begin within fenced code: where that ends, and where the line of its fence ends. The first fence
/// closes the code if nothing stands behind it, and if otherwise one were left open or held another with a language.
fn code_before(source: &str) -> Option<(usize, usize)> {
    let mut first = None;
    let (mut open, mut holds_another): (Option<&str>, bool) = (None, false);
    for line in plain::lines(source, 0) {
        let text = source[line.clone()].trim_ascii();
        // Code that begins on the line of a list's item.
        let item = markdown::marker_prefix(text.as_bytes());
        let text = &text[item..];
        let Some(fence) = fence(text).filter(|_| item == 0 || open.is_none()) else { continue };
        let is_bare = item == 0 && fence.len() == text.len();
        if first.is_none() && !is_bare {
            return None;
        }
        first = first.or(Some((line.start, line.end)));
        open = match open {
            // It is as long, of the same kind, and ends the code.
            Some(opened) if fence.starts_with(opened) && is_bare => None,
            Some(opened) => {
                holds_another |= fence.starts_with(opened);
                Some(opened)
            }
            None => Some(fence),
        };
    }
    first.filter(|_| open.is_some() || holds_another)
}

/// The fence that a line begins with: three backticks or tildes, or more.
fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let fence = &line[..line.len() - line.trim_start_matches(mark).len()];
    (fence.len() >= 3).then_some(fence)
}

/// Whether a part of a link says where it leads and is no text for readers, as the second part is in Dendron's links:
/// `birds.heron` or `dendron://vault/birds.heron`.
fn is_address(part: &str) -> bool {
    let mut names = part.split(['.', '/']).filter(|name| !name.is_empty());
    names.clone().count() > 1
        && names.all(|name| name.starts_with(char::is_alphabetic) && !name.contains(char::is_whitespace))
}

/// The text of a link that has none of its own.
fn named(target: &str, heading: Option<&str>) -> String {
    match heading {
        Some(heading) if target.is_empty() => heading.to_owned(),
        Some(heading) => format!("{target} > {heading}"),
        None => target.to_owned(),
    }
}

/// Without Obsidian's `==highlights==`. Marks that stand alone, as in `a == b`, or within a word, stay. The characters
/// around the text are given: a mark may stand at its end, beside bold words.
fn without_highlights(text: &str, before: Option<char>, after: Option<char>) -> Cow<'_, str> {
    if !text.contains("==") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("==") {
        let (between, behind) = (&rest[..at], &rest[at + 2..]);
        out.push_str(between);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_text = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace() && c != '=');
        let (left, right) = (out.chars().next_back().or(before), behind.chars().next().or(after));
        let opens = !is_word(left) && is_text(right);
        let closes = is_text(left) && !is_word(right);
        if !(opens || closes) {
            out.push_str("==");
        }
        rest = behind;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Where a tag or comment begins.
fn tag_in(html: &str) -> Option<usize> {
    let is_tag =
        |at: &usize| html[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
    html.match_indices('<').map(|(at, _)| at).find(is_tag)
}

/// Whether a link without an address, as in `[text][label]`, has it in another piece of its note. `[text]` alone mostly is
/// no link; `table[i][j]` and Org's `[[address][text]]` never are.
fn defined_elsewhere(source: &str, link: &BrokenLink<'_>) -> bool {
    let within = source[..link.span.start].ends_with(|c: char| c.is_alphanumeric() || c == '[');
    matches!(link.link_type, LinkType::Reference | LinkType::Collapsed) && !within
}
