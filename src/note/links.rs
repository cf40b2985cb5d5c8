//! What Obsidian and its plugins add to Markdown and no parser covers: tags, block ids, comments and
//! inline fields in runs of text; and what a link says about its target.

use std::borrow::Cow;
use std::ops::Range;

use percent_encoding::percent_decode_str;

use super::ids::{self, BY_ID};
use super::outline::is_block_id;
use super::spans::{in_order, indent, next_line};
use super::{Link, LinkKind, Warning};

/// The longest key of an inline field, or tag that is a link, and the furthest its closing bracket may be, in bytes.
/// They keep the work on hostile text linear.
const LONGEST_KEY: usize = 100;
const LONGEST_FIELD: usize = 500;

/// Where a run of text stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Start of the line's content: after container markers, bullets and check boxes.
    pub(super) line: usize,
    /// Number of the innermost block.
    pub(super) block: u32,
    /// Whether that is a table's cell, where lines mean nothing.
    pub(super) cell: bool,
}

/// Where the key and the value of an inline field are.
pub(super) type Field = (Range<usize>, Range<usize>);

/// What was found in the text, in order. Comments are not taken out yet: see [`Found::hidden`].
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Links of all kinds.
    pub(super) links: Vec<Link>,
    /// Spans of tags, without `#`.
    pub(super) tags: Vec<Range<usize>>,
    /// Spans of block ids, without `^`.
    pub(super) block_ids: Vec<Range<usize>>,
    /// Inline fields.
    pub(super) fields: Vec<Field>,
    /// Spans of HTML comments, and of definitions that serve as comments.
    pub(super) comments: Vec<Range<usize>>,
    /// Spans of files that are written into the text, `data:image/png;base64,…`: nobody reads them.
    pub(super) unseen: Vec<Range<usize>>,
    /// Spans of footnote references and of inline tags, which stand between words without being any.
    pub(super) between: Vec<Range<usize>>,
    marks: Vec<Mark>,
    /// Where Logseq's record of the hours spent on a task begins, and its block, if its end has not been read.
    logbook: Option<(usize, u32)>,
    /// From the first HTML comment that is never closed to the end of its block.
    pub(super) unclosed: Option<Range<usize>>,
}

/// A `%%` that may open or close a comment.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: usize,
    block: u32,
    begins_line: bool,
}

impl Found {
    /// Reads a run of text: contiguous source without inline markup, all on one line.
    pub(super) fn run(&mut self, text: &str, run: Range<usize>, place: Place) {
        let bytes = text.as_bytes();
        let mut at = run.start;
        if at == place.line && bytes[at] == b':' {
            self.logbook(text, &run, place.block);
        }
        while let Some(step) = bytes[at..run.end].iter().position(|b| matches!(b, b'#' | b'%' | b':' | b'(')) {
            at += step;
            at = match bytes[at] {
                b'#' => self.tag(text, at, run.end),
                b'%' if bytes.get(at + 1) == Some(&b'%') && at + 1 < run.end => {
                    let begins_line = !place.cell && at == place.line;
                    self.marks.push(Mark { at, block: place.block, begins_line });
                    at + 2
                }
                b'(' => self.reference(text, at, run.end),
                b':' if bytes[at..run.end].starts_with(b"://") => self.url(text, at, &run),
                b':' if bytes[at..run.end].starts_with(b"::") => self.field(text, at, place),
                _ => at + 1,
            };
        }
        if !place.cell && bytes[run.clone()].contains(&b'^') {
            self.block_id(text, &run, place);
        }
    }

    /// Reads the first or last line of a record of hours: `:LOGBOOK:` or `:END:`. It is hidden like a comment.
    fn logbook(&mut self, text: &str, run: &Range<usize>, block: u32) {
        match text[run.clone()].trim_end() {
            ":LOGBOOK:" => self.logbook = Some((run.start - indent(&text[..run.start]), block)),
            ":END:" => {
                let open = self.logbook.take().filter(|(_, of)| *of == block);
                self.comments.extend(open.map(|(start, _)| start..next_line(text.as_bytes(), run.end)));
            }
            _ => {}
        }
    }

    /// Reads a tag whose `#` is at `at`; returns where to go on.
    fn tag(&mut self, text: &str, at: usize, end: usize) -> usize {
        let start = at + 1;
        if !may_precede_tag(text, at) || is_priority(&text[at - usize::from(text[..at].ends_with('['))..]) {
            return start;
        }
        if let Some(tag) = linked_tag(text, start) {
            self.tags.push(tag);
            return start;
        }
        let rest = &text[start..end];
        let length = rest.find(|c| !is_tag_char(c)).unwrap_or(rest.len());
        let tag = rest[..length].trim_end_matches('/');
        self.tags.extend(tag_of_words(rest).map(|length| start..start + length));
        // `#123` is an issue or a rank, `#/` a path.
        if tag.chars().any(|c| !c.is_ascii_digit() && !matches!(c, '-' | '_' | '/')) && !tag.starts_with('/') {
            self.tags.push(start..start + tag.len());
        }
        start + length
    }

    /// Reads the reference to a block whose bracket is at `at`, `((id))`, as Logseq writes it.
    fn reference(&mut self, text: &str, at: usize, end: usize) -> usize {
        let id = text[at..end].strip_prefix("((").and_then(|rest| rest.split_at_checked(ids::UUID));
        let Some((id, _)) = id.filter(|(id, rest)| ids::is_uuid(id) && rest.starts_with("))")) else {
            return at + 1;
        };
        let (target, block, span) = (format!("{BY_ID}{id}"), Some(id.to_owned()), at..at + id.len() + "(())".len());
        let end = span.end;
        self.links.push(Link { target, block, ..Link::to(LinkKind::Wiki, span) });
        end
    }

    /// Skips the bare address whose `://` is at `at`; a web address becomes a link.
    fn url(&mut self, text: &str, at: usize, run: &Range<usize>) -> usize {
        let before = &text.as_bytes()[run.start.max(at.saturating_sub(16))..at];
        let scheme = before.iter().rev().take_while(|b| b.is_ascii_alphanumeric()).count();
        let start = at - scheme;
        let rest = &text[at..run.end];
        let length =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|')).unwrap_or(rest.len());
        let web = matches!(&text[start..at], "http" | "https");
        let end = at + trimmed_address(&rest[..length]);
        if web && end > at + 3 {
            self.links.push(Link { target: text[start..end].to_owned(), ..Link::to(LinkKind::Url, start..end) });
        }
        at + length
    }

    /// Reads the dataview field whose `::` is at `at`: a whole line, or in brackets.
    fn field(&mut self, text: &str, at: usize, place: Place) -> usize {
        let next = at + 2;
        let (key, value) = if let Some(key) = line_key(text, at, place) {
            (key, next..line_end(text, next))
        } else if let Some((key, close)) = bracketed(text, at, place) {
            (key, next..close)
        } else {
            return next;
        };
        let value = trimmed(text, value);
        if !value.is_empty() {
            self.fields.push((key, value));
        }
        next
    }

    /// Reads a block id at the end of a line.
    fn block_id(&mut self, text: &str, run: &Range<usize>, place: Place) {
        let bytes = text.as_bytes();
        let id = &text[run.clone()].trim_end();
        let Some(caret) = id.rfind('^').filter(|caret| is_block_id(&id[caret + 1..])) else {
            return;
        };
        let at = run.start + caret;
        let parted = at == place.line || bytes[..at].last().is_some_and(|b| matches!(b, b' ' | b'\t'));
        let after = bytes[run.end..].iter().find(|b| !matches!(b, b' ' | b'\t'));
        if parted && matches!(after, None | Some(b'\n' | b'\r')) {
            self.block_ids.push(at + 1..run.start + id.len());
        }
    }

    /// The spans of what no reader sees, in order, not overlapping: files, and comments if they are `marked` here. `%%` pairs
    /// within a block; one that begins a line hides everything up to the next `%%` wherever that is; one without a partner
    /// hides nothing.
    pub(super) fn hidden(&mut self, marked: bool, text: &str, warnings: &mut Vec<Warning>) -> Vec<Range<usize>> {
        if !marked {
            (self.unclosed, self.marks) = (None, Vec::new());
            self.comments.clear();
        }
        let mut hidden = std::mem::take(&mut self.comments);
        hidden.append(&mut self.unseen);
        let mut marks = std::mem::take(&mut self.marks).into_iter().peekable();
        while let Some(open) = marks.next() {
            match marks.peek() {
                Some(close) if close.block == open.block || open.begins_line => {
                    hidden.push(open.at..close.at + 2);
                    marks.next();
                }
                None if open.begins_line => {
                    let message = "a comment (%%) is never closed and is read as text".to_owned();
                    warnings.push(Warning { line: super::line_at(&text.as_bytes()[..open.at]), message });
                }
                _ => {}
            }
        }
        if let Some(open) = &self.unclosed {
            let message = "an HTML comment is never closed and is read as text".to_owned();
            warnings.push(Warning { line: super::line_at(&text.as_bytes()[..open.start]), message });
        }
        in_order(hidden)
    }

    /// Collects the HTML comments of an HTML block or tag, and the files, styles and programs in it.
    pub(super) fn html(&mut self, text: &str, span: Range<usize>) {
        let block = text[span.clone()].to_ascii_lowercase();
        for (open, close) in [("<style", "</style>"), ("<script", "</script>")] {
            let end = block.rfind(close).filter(|_| block.trim_start().starts_with(open));
            self.comments.extend(end.map(|end| span.start..span.start + end + close.len()));
        }
        let mut at = span.start;
        while let Some(step) = text[at..span.end].find("data:") {
            let start = at + step + "data:".len();
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | ')');
            let end = start + text[start..span.end].find(ends).unwrap_or(span.end - start);
            self.unseen.extend(holds_file(&text[at + step..end]).then_some(start..end));
            at = end;
        }
        let mut at = span.start;
        while let Some(open) = text[at..span.end].find("<!--").map(|step| at + step) {
            // From the second character on, for `<!-->` is a whole comment.
            let Some(length) = text[open + 2..span.end].find("-->") else {
                self.unclosed.get_or_insert(open..span.end);
                return;
            };
            at = open + 2 + length + 3;
            self.comments.push(open..at);
        }
    }

    /// Collects the `[[links]]` of front matter.
    pub(super) fn properties(&mut self, text: &str, yaml: Range<usize>) {
        let mut start = yaml.start;
        for line in text[yaml].split_inclusive('\n') {
            let mut at = 0;
            while let Some(close) = line[at..].find("]]").map(|step| at + step) {
                if let Some(open) = line[at..close].rfind("[[").map(|step| at + step) {
                    let span = start + open..start + close + 2;
                    self.links.extend(wiki(text, span, false));
                }
                at = close + 2;
            }
            start += line.len();
        }
    }
}

fn may_precede_tag(text: &str, at: usize) -> bool {
    match text[..at].chars().next_back() {
        None => true,
        Some('=') => text[..at].ends_with("=="),
        Some(c) if c.is_ascii() => {
            c.is_ascii_whitespace() || matches!(c, '(' | '[' | '"' | '\'' | '*' | '_' | '~' | '|' | ',' | ';' | '>')
        }
        Some(c) => !c.is_alphanumeric() && !is_tag_char(c),
    }
}

/// Whether a text begins with the priority of a task, `[#A]`, as Logseq writes it.
fn is_priority(text: &str) -> bool {
    matches!(text.as_bytes(), [b'[', b'#', b'A'..=b'Z', b']', ..])
}

/// The tag whose `#` is followed by a link: `#[[two words]]`, as Logseq writes it.
fn linked_tag(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text[start..].strip_prefix("[[")?;
    let inner = rest[..rest.floor_char_boundary(LONGEST_KEY)].split_once("]]")?.0;
    let tag = inner.split('|').next().filter(|tag| !tag.trim().is_empty() && !tag.contains(['[', '\n', '\r']))?;
    Some(trimmed(text, start + "[[".len()..start + "[[".len() + tag.len()))
}

/// The length of a tag of several words, which ends with a mark as well: `#two words#`, as Bear writes it. `#note on C#`
/// is none.
fn tag_of_words(rest: &str) -> Option<usize> {
    let (tag, after) = rest[..rest.floor_char_boundary(LONGEST_KEY)].split_once('#')?;
    let last = tag.rsplit(' ').next().filter(|last| last.len() < tag.len())?;
    let is_closed = !after.starts_with(|c: char| is_tag_char(c) || c == '#') && last.chars().count() > 1;
    let is_tag = tag.starts_with(char::is_alphabetic) && tag.chars().all(|c| c == ' ' || is_tag_char(c));
    (is_closed && is_tag).then_some(tag.len())
}

/// Letters, digits, marks and emoji of any script, `-`, `_` and `/`.
fn is_tag_char(c: char) -> bool {
    use unicode_general_category::{GeneralCategory as Category, get_general_category};
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
    }
    c.is_alphanumeric()
        || c == '\u{200D}'
        || matches!(
            get_general_category(c),
            Category::NonspacingMark
                | Category::SpacingMark
                | Category::EnclosingMark
                | Category::OtherSymbol
                | Category::ModifierSymbol
                | Category::LetterNumber
                | Category::OtherNumber
        )
}

/// The length of an address without the punctuation of the sentence around it.
fn trimmed_address(address: &str) -> usize {
    let bytes = address.as_bytes();
    let count = |wanted: u8| bytes.iter().map(|b| usize::from(*b == wanted)).sum::<usize>();
    let mut unopened = count(b')').saturating_sub(count(b'('));
    let mut length = bytes.len();
    while let Some(last) = bytes[..length].last() {
        match last {
            b'.' | b',' | b';' | b':' | b'!' | b'?' | b'\'' | b'*' | b'_' | b'~' | b']' => {}
            b')' if unopened > 0 => unopened -= 1,
            _ => break,
        }
        length -= 1;
    }
    length
}

fn line_key(text: &str, at: usize, place: Place) -> Option<Range<usize>> {
    let close_by = !place.cell && place.line < at && at - place.line <= LONGEST_KEY;
    let after = text.as_bytes().get(at + 2);
    let parted = matches!(after, None | Some(b' ' | b'\t' | b'\n' | b'\r'));
    if !(close_by && parted) {
        return None;
    }
    field_key(text, place.line..at)
}

fn bracketed(text: &str, at: usize, place: Place) -> Option<(Range<usize>, usize)> {
    let bytes = text.as_bytes();
    let from = place.line.max(at.saturating_sub(LONGEST_KEY)).min(at);
    let open = from + bytes[from..at].iter().rposition(|b| matches!(b, b'[' | b'('))?;
    let key = field_key(text, open + 1..at)?;
    let (opener, closer) = if bytes[open] == b'[' { (b'[', b']') } else { (b'(', b')') };
    let mut depth = 1;
    for (step, byte) in bytes[at..].iter().take(LONGEST_FIELD).enumerate() {
        match *byte {
            b'\n' | b'\r' => return None,
            b if b == opener => depth += 1,
            b if b == closer => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((key, at + step));
        }
    }
    None
}

fn field_key(text: &str, span: Range<usize>) -> Option<Range<usize>> {
    let markup = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '~');
    let slice = text.get(span.clone())?;
    let start = span.end - slice.trim_start_matches(markup).len();
    let key = slice.trim_matches(markup);
    let fits = key.starts_with(|c: char| c.is_alphanumeric() || !c.is_ascii())
        && key.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '/') || is_tag_char(c));
    fits.then_some(start..start + key.len())
}

/// A span without white space at its ends.
pub(super) fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let slice = &text[span.clone()];
    let start = span.end - slice.trim_start().len();
    start..start + slice.trim().len()
}

fn line_end(text: &str, from: usize) -> usize {
    let rest = &text.as_bytes()[from..];
    from + rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len())
}

/// The wikilink or embed written at `span`; `None` if it has no target or runs over a line's end.
pub(super) fn wiki(text: &str, span: Range<usize>, embed: bool) -> Option<Link> {
    let source = &text[span.clone()];
    let inner = source.strip_prefix('!').unwrap_or(source).strip_prefix("[[")?.strip_suffix("]]")?;
    if inner.contains(['\n', '\r']) {
        return None;
    }
    let (target, shown) = match inner.split_once('|') {
        // In a table the pipe has to be escaped.
        Some((target, shown)) => (target.strip_suffix('\\').unwrap_or(target), Some(shown)),
        None => (inner, None),
    };
    let (vault, target) = in_vault(target.trim());
    let shown = shown.and_then(|shown| without_size(shown, embed));
    let mut link = if is_address(target) {
        Link { embed, target: target.to_owned(), ..Link::to(LinkKind::Url, span) }
    } else {
        let (note, heading, block) = parts(target, true);
        let vault = vault.map(str::to_owned);
        Link { embed, vault, target: note, heading, block, ..Link::to(LinkKind::Wiki, span) }
    };
    link.alias = shown.map(str::trim).filter(|shown| !shown.is_empty() && *shown != target).map(str::to_owned);
    (!target.is_empty()).then_some(link)
}

/// The Markdown link `[[1]](#sources)`, whose text has brackets of its own: citations are often written so. The parser
/// takes it for a wikilink, at `span`. `None` if no address follows that, as in `[[Smith]](2020)`, and for
/// an embed.
pub(super) fn citation(text: &str, span: Range<usize>) -> Option<Link> {
    let rest = text[span.end..].strip_prefix('(')?;
    // Up to the next bracket at most: however many wikilinks a text has, it is looked through once.
    let dest = &rest[..rest.find(|c: char| matches!(c, ')' | '[') || c.is_whitespace())?];
    let begins = ["#", "/", "./", "../"].iter().any(|begin| dest.starts_with(begin));
    let is_address = begins || has_scheme(dest) || dest.contains(".md");
    let closes = rest[dest.len()..].starts_with(')');
    let shown = text[span.clone()].strip_prefix('[').and_then(|shown| shown.strip_suffix(']'))?;
    let whole = span.start..span.end + dest.len() + "()".len();
    (is_address && closes).then(|| markdown(dest, shown, whole, false))
}

/// What a link that names its note's vault begins with: `dendron://vault/note` is a note's name with its vault's before it.
pub const IN_VAULT: &str = "dendron://";

/// What a link of Denote to a note by its id begins with.
pub(super) const DENOTE: &str = "denote:";

/// The vault that a target names, if it names one, and the rest of it.
fn in_vault(target: &str) -> (Option<&str>, &str) {
    let parted = target.strip_prefix(IN_VAULT).and_then(|place| place.split_once('/'));
    parted.map_or((None, target), |(vault, note)| (Some(vault), note))
}

impl Link {
    /// A link of this kind to nothing.
    pub(super) fn to(kind: LinkKind, span: Range<usize>) -> Link {
        let (vault, target, heading, block, alias) = (None, String::new(), None, None, None);
        Link { kind, embed: false, vault, target, heading, block, alias, span }
    }

    /// The wikilink or embed read with its text first: `[[text|target]]`, as Dendron, Gollum and TiddlyWiki write it.
    /// Only the vault can tell which way is meant: by which side names one of its notes.
    pub fn text_first(&self) -> Option<Link> {
        let target = self.alias.as_deref().filter(|_| self.kind == LinkKind::Wiki)?;
        let (vault, target) = in_vault(target);
        if is_address(target) {
            return None;
        }
        let vault = vault.map(str::to_owned);
        let (target, heading, block) = parts(target, true);
        let mut shown = self.target.clone();
        for (mark, part) in [("#", &self.heading), ("#^", &self.block)] {
            shown.extend(part.iter().flat_map(|part| [mark, part]));
        }
        let alias = Some(shown).filter(|shown| *shown != target);
        (!target.is_empty()).then_some(Link { vault, target, heading, block, alias, ..self.clone() })
    }

    /// The link's target as it is stored for lookups. If the link can be read with its text first, the target of that
    /// reading follows after a line break (which no wikilink holds). `None` for a URL and for a link within the note.
    pub fn mention(&self) -> Option<String> {
        let between_notes = self.kind != LinkKind::Url && !self.target.is_empty();
        between_notes.then(|| match self.text_first() {
            Some(other) => format!("{}\n{}", self.place(), other.place()),
            None => self.place(),
        })
    }

    /// The target with the vault's name before it if the link has one; an id alone.
    fn place(&self) -> String {
        match &self.vault {
            Some(vault) => format!("{IN_VAULT}{vault}/{}", self.target),
            None => self.target.strip_prefix(DENOTE).unwrap_or(&self.target).to_owned(),
        }
    }

    /// The file of this machine that the link names by its whole path, which may begin with `~/` for the home folder.
    pub fn file(&self) -> Option<String> {
        let path = match self.kind {
            LinkKind::Url => percent_decoded(self.target.strip_prefix("file://")?.split('#').next()?),
            LinkKind::Wiki | LinkKind::Markdown => self.target.clone(),
        };
        (path.starts_with('/') || path.starts_with("~/")).then_some(path)
    }
}

/// The Markdown link or image to `dest`, as the parser gives it: unescaped, not percent-decoded.
pub(super) fn markdown(dest: &str, shown: &str, span: Range<usize>, embed: bool) -> Link {
    let shown = super::outline::fold(without_size(shown, embed).unwrap_or_default());
    let page = dest.strip_prefix("[[").and_then(|dest| dest.strip_suffix("]]")).filter(|page| !page.is_empty());
    let block = dest.strip_prefix("((").and_then(|dest| dest.strip_suffix("))")).filter(|id| ids::is_uuid(id));
    let (kind, (target, heading, block)) = match (page, block) {
        // Logseq gives links between pages and to blocks a text of their own so.
        (Some(page), _) if has_scheme(page) => (LinkKind::Url, (page.to_owned(), None, None)),
        (Some(page), _) => (LinkKind::Markdown, parts(page, true)),
        (_, Some(id)) => (LinkKind::Markdown, (format!("{BY_ID}{id}"), None, Some(id.to_owned()))),
        _ if has_scheme(dest) => (LinkKind::Url, (dest.to_owned(), None, None)),
        _ => (LinkKind::Markdown, parts(dest, false)),
    };
    let alias = Some(shown).filter(|shown| !shown.is_empty() && *shown != target);
    Link { embed, target, heading, block, alias, ..Link::to(kind, span) }
}

/// What is shown, without the size (`100`, `100x200`) that an embed has behind it or instead of it.
fn without_size(shown: &str, embed: bool) -> Option<&str> {
    let (before, last) = shown.rsplit_once('|').map_or((None, shown), |(before, last)| (Some(before), last));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let size = last.trim();
    let is_size = size.split_once('x').map_or_else(|| digits(size), |(width, height)| digits(width) && digits(height));
    if embed && is_size { before.map(|before| before.trim_end_matches('\\')) } else { Some(shown) }
}

/// Whether an address is no address but holds a whole file.
pub(super) fn holds_file(dest: &str) -> bool {
    let of = dest.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:")).map(|scheme| &dest[scheme.len()..]);
    of.is_some_and(|of| of.find([',', '/']).is_some_and(|at| !of[..at].contains(' ')))
}

/// Splits `Note#Heading`, `Note#^block` and, in wikilinks, `Note^block`.
fn parts(dest: &str, wiki: bool) -> (String, Option<String>, Option<String>) {
    let decode = |part: &str| {
        if wiki { part.trim().to_owned() } else { percent_decoded(part) }
    };
    let told = |part: &str| Some(decode(part)).filter(|part| !part.is_empty());
    match dest.split_once('#') {
        // `[[C#]]`
        Some((note, "")) if wiki && !note.trim().is_empty() => (dest.trim().to_owned(), None, None),
        Some((note, rest)) => {
            let decoded = decode(rest);
            match decoded.split_once('^') {
                Some((heading, block)) if is_block_id(block) && (heading.is_empty() || heading.ends_with('#')) => {
                    let heading = told(heading.trim_end_matches('#'));
                    (decode(note), heading, Some(block.to_owned()))
                }
                _ => (decode(note), Some(decoded).filter(|heading| !heading.is_empty()), None),
            }
        }
        None => match dest.split_once('^').filter(|(_, block)| wiki && is_block_id(block)) {
            Some((note, block)) => (decode(note), None, Some(block.to_owned())),
            None => (decode(dest), None, None),
        },
    }
}

/// Whether a target names a scheme other than Denote's. One letter is a drive, and a space after the colon makes it a
/// title.
fn has_scheme(dest: &str) -> bool {
    let Some((scheme, rest)) = dest.split_once(':').filter(|_| !dest.starts_with(DENOTE)) else {
        return dest.starts_with("//");
    };
    let letters = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let parted = rest.is_empty() || rest.starts_with(' ') || rest.starts_with("%20") || rest.starts_with(':');
    scheme.len() > 1 && scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && letters && !parted
}

/// Whether the target of a wikilink is an address. Pages may have a colon in their names: `book:Dune`, `Help:Contents`.
fn is_address(target: &str) -> bool {
    let known = ["mailto:", "tel:", "sms:", "data:", "file:", "obsidian:", "zotero:", "javascript:"];
    let begins = |scheme: &&str| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    has_scheme(target) && (target.contains("//") || known.iter().any(begins))
}

/// Decodes `%20` and the like; what would not be UTF-8 stays as it is written.
pub fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Cow::into_owned)
}
