//! A [`Document`] as bytes for a model. Everything that stands in a note is escaped, so that no note can close
//! its own wrapper, open another's passage or pass for the task.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use crate::cost::estimate_tokens;
use crate::document::{Document, Passage, is_unseen};

/// Our tags, and those of [`PRESETS`](crate::own_prompt::PRESETS): escaping keeps them out of a note's own text.
const TAGS: [&str; 8] = ["note", "outline", "links_out", "passage", "before", "after", "document", "chunk"];

/// Stands where text was left out.
const GAP: &str = "\n[…]\n";

/// Tokens of the outline of a document that is cut, at most.
const OUTLINE_TOKENS: u32 = 1_500;

/// Tokens of the beginning of a document that is cut, at most.
const LEAD_TOKENS: u32 = 1_000;

/// Tokens of the marks around a passage and the gap beside it, at most.
pub(super) const MARKS_TOKENS: u32 = 16;

/// Estimates the tokens that a text has for the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    /// [`crate::models::Model::token_factor`].
    pub(super) factor: f32,
}

/// Which end of a text is kept when it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Head,
    Tail,
    /// Two thirds of what is kept are from the beginning.
    Ends,
}

/// How much is shown of a document that is cut, in tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) meter: Meter,
    /// Of the outline.
    pub(super) outline: u32,
    /// Of the beginning.
    pub(super) lead: u32,
    /// Of any run of text between two marks.
    pub(super) run: u32,
}

impl Limits {
    /// Limits for a document that has `room` tokens: most of them are for the passages.
    pub(super) fn within(room: u32, meter: Meter) -> Self {
        Limits { meter, outline: OUTLINE_TOKENS.min(room / 6), lead: LEAD_TOKENS.min(room / 6), run: u32::MAX }
    }
}

impl Meter {
    pub(super) fn tokens(self, text: &str) -> u32 {
        estimate_tokens(text, self.factor)
    }

    /// The text if it has at most so many tokens, else one or both ends of it, and whether it was cut.
    pub(super) fn fit(self, text: &str, most: u32, keep: Keep) -> (Cow<'_, str>, bool) {
        let tokens = self.tokens(text);
        if tokens <= most {
            return (Cow::Borrowed(text), false);
        }
        let mut bytes = (text.len() as u64 * u64::from(most) / u64::from(tokens.max(1))) as usize;
        while bytes > 0 {
            let cut = ends(text, bytes, keep);
            if self.tokens(&cut) <= most {
                return (Cow::Owned(cut), true);
            }
            // Scripts are not spread evenly: what is left may have more tokens than its share.
            bytes = bytes * 9 / 10;
        }
        (Cow::Borrowed(""), true)
    }
}

/// About `bytes` bytes of the ends of a text.
fn ends(text: &str, bytes: usize, keep: Keep) -> String {
    let (head, tail) = match keep {
        Keep::Head => (bytes, 0),
        Keep::Tail => (0, bytes),
        Keep::Ends => (bytes - bytes / 3, bytes / 3),
    };
    let head = &text[..text.floor_char_boundary(head)];
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(tail))..];
    format!("{head}{GAP}{tail}")
}

/// Text of a note without our marks and tags. `<note` becomes `&lt;note`, `⟦` becomes `[[`; all else stays as
/// it is, for code and mathematics should read as they were written.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '⟦', '⟧']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        match c {
            '⟦' => out.push_str("[["),
            '⟧' => out.push_str("]]"),
            '<' if is_tag(&text[at + 1..]) => out.push_str("&lt;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether one of our tags follows a `<`, after however many blanks: a model may overlook them.
fn is_tag(rest: &str) -> bool {
    let name = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/').as_bytes();
    TAGS.iter().any(|tag| name.get(..tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag.as_bytes())))
}

/// Escaped text in one line, of at most `most` characters.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for c in text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !is_unseen(*c)) {
        if c == ' ' && (line.is_empty() || line.ends_with(' ')) {
            continue;
        }
        if count == most {
            line.push('…');
            break;
        }
        line.push(c);
        count += 1;
    }
    line.truncate(line.trim_end().len());
    escaped(&line).into_owned()
}

fn attribute(out: &mut String, name: &str, value: &str, most: usize) {
    let value = one_line(value, most).replace('"', "&quot;");
    if !value.is_empty() {
        let _ = write!(out, " {name}=\"{value}\"");
    }
}

fn joined(values: &[String], most: usize) -> String {
    values.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The text before the body: the note's properties, its outline and its links. `cut` shortens the outline, keeping its
/// highest levels.
pub(super) fn head(document: &Document, cut: Option<Limits>) -> String {
    let mut out = "<note".to_owned();
    attribute(&mut out, "path", &document.path, 300);
    attribute(&mut out, "title", &document.title, 200);
    attribute(&mut out, "date", document.date.as_deref().unwrap_or_default(), 40);
    attribute(&mut out, "kind", document.kind.as_deref().unwrap_or_default(), 60);
    attribute(&mut out, "tags", &joined(&document.tags, 20), 300);
    attribute(&mut out, "aliases", &joined(&document.aliases, 8), 300);
    for (name, value) in &document.properties {
        attribute(&mut out, name, value, 120);
    }
    out.push_str(">\n");
    let outline = (1..=6).rev().map(|deepest| outline(document, deepest));
    let outline = match cut {
        None => outline.into_iter().next().unwrap_or_default(),
        Some(limits) => {
            let mut shortest = String::new();
            for outline in outline {
                shortest = outline;
                if limits.meter.tokens(&shortest) <= limits.outline {
                    break;
                }
            }
            limits.meter.fit(&shortest, limits.outline, Keep::Head).0.into_owned()
        }
    };
    if !outline.is_empty() {
        let _ = write!(out, "<outline>\n{outline}</outline>\n");
    }
    let links: Vec<String> = document.links.iter().map(|link| one_line(link, 100)).filter(|l| !l.is_empty()).collect();
    if !links.is_empty() {
        let _ = writeln!(out, "<links_out>{}</links_out>", links.join(", "));
    }
    out
}

fn outline(document: &Document, deepest: u8) -> String {
    let mut out = String::new();
    for (level, text) in document.outline.iter().filter(|(level, _)| *level <= deepest) {
        let text = one_line(text, 200);
        if !text.is_empty() {
            let _ = writeln!(out, "{} {text}", "#".repeat(usize::from((*level).clamp(1, 6))));
        }
    }
    out
}

/// How much of a passage is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Show {
    /// Nothing.
    No,
    /// Its beginning: it is the note's lead.
    Lead,
    /// All of it.
    All,
}

/// The whole note.
pub(super) fn whole(document: &Document) -> String {
    let shown = vec![Show::All; document.passages.len()];
    close(head(document, None), &body(document, &shown, None))
}

/// The note with only some of its passages.
pub(super) fn parts(document: &Document, shown: &[Show], limits: Limits) -> String {
    close(head(document, Some(limits)), &body(document, shown, Some(limits)))
}

fn close(mut head: String, body: &str) -> String {
    head.push_str(body);
    head.push_str("\n</note>");
    head
}

/// The text with the passages in their marks. Where passages overlap the marks do too, for text that is shown
/// twice is paid for twice: passage 1 is what stands between `⟦1⟧` and `⟦/1⟧`, whatever other marks are there.
fn body(document: &Document, shown: &[Show], limits: Option<Limits>) -> String {
    /// The order of marks at one position: passages that end there close before others open, but an empty passage
    /// closes after it opens.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Mark {
        Close,
        Open,
        CloseEmpty,
    }
    let show = |index: usize| shown.get(index).copied().unwrap_or(Show::No);
    let mut marks = Vec::with_capacity(2 * document.passages.len());
    for (index, passage) in document.passages.iter().enumerate().filter(|(index, _)| show(*index) != Show::No) {
        let Range { start, end } = passage.span.clone();
        marks.push((start, Mark::Open, index));
        marks.push((end, if start == end { Mark::CloseEmpty } else { Mark::Close }, index));
    }
    marks.sort_unstable();

    let mut out = String::new();
    // Few are open at once: passages overlap only with their neighbours.
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    // The passage that comes next if none is left out.
    let mut next = 0;
    let end = (document.text.len(), Mark::CloseEmpty, document.passages.len());
    for (place, mark, index) in marks.into_iter().chain([end]) {
        let run = document.text.get(at..place).unwrap_or_default();
        // What lies between two passages (blank lines, mostly) is shown if both are.
        let between = if index <= next { Show::All } else { Show::No };
        push_run(&mut out, run, open.iter().map(|index| show(*index)).max().unwrap_or(between), limits);
        at = place.max(at);
        let Some(passage) = document.passages.get(index) else { continue };
        let _ = if mark == Mark::Open {
            open.push(index);
            write!(out, "⟦{}⟧ ", passage.n)
        } else {
            open.retain(|other| *other != index);
            next = next.max(index + 1);
            write!(out, " ⟦/{}⟧", passage.n)
        };
    }
    out
}

fn push_run(out: &mut String, run: &str, seen: Show, limits: Option<Limits>) {
    if run.is_empty() {
        return;
    }
    let run = escaped(run);
    match (seen, limits) {
        (Show::No, _) => out.push_str(GAP),
        (Show::Lead, Some(Limits { meter, lead, run: most, .. })) => {
            out.push_str(&meter.fit(&run, lead.min(most), Keep::Head).0);
        }
        (Show::All, Some(Limits { meter, run: most, .. })) => out.push_str(&meter.fit(&run, most, Keep::Ends).0),
        (Show::Lead | Show::All, None) => out.push_str(&run),
    }
}

/// The section of a passage in one line: `Atlas rollout > Risks | Budget`.
pub(super) fn label(document: &Document, passage: &Passage) -> String {
    let mut label = String::new();
    let mut outline = document.outline.iter();
    let mut above = 0;
    for heading in passage.heading_path.iter().take(12) {
        // The path keeps the outline's order, so each heading is looked for after the one before.
        let level = outline.by_ref().find(|(_, text)| text == heading).map_or(above, |(level, _)| *level);
        if !label.is_empty() {
            label.push_str(if level > above { " > " } else { " | " });
        }
        label.push_str(heading);
        above = level;
    }
    one_line(&label, 300).replace('"', "&quot;")
}

/// The text before and after a passage, in tags, together at most `tokens` tokens: its own section down to the second
/// level, and one passage more on either side.
pub(super) fn around(document: &Document, passage: &Passage, tokens: u32, meter: Meter) -> (String, String) {
    if tokens == 0 {
        return (String::new(), String::new());
    }
    let passages = &document.passages;
    let at = passages.partition_point(|other| other.n < passage.n);
    let section = |path: &[String]| path.iter().take(2).cloned().collect::<Vec<_>>();
    let own = section(&passage.heading_path);
    let same = |other: &&Passage| section(&other.heading_path) == own;
    let first = at - passages[..at].iter().rev().take_while(same).count();
    let last = at + passages[at..].iter().take_while(same).count();
    let start = passages.get(first.saturating_sub(1)).map_or(passage.span.start, |first| first.span.start);
    let end = passages.get(last.min(passages.len().saturating_sub(1))).map_or(passage.span.end, |last| last.span.end);

    // A token has few bytes: text further away than this is not read, for sections can be long.
    let near = tokens as usize * 8;
    let start = document.text.floor_char_boundary(start.max(passage.span.start.saturating_sub(near)));
    let end = document.text.floor_char_boundary(end.min(passage.span.end.saturating_add(near)));
    let wrap = |tag: &str, range: Range<usize>, keep: Keep| {
        let text = escaped(document.text.get(range).unwrap_or_default().trim());
        let text = meter.fit(&text, tokens / 2, keep).0;
        if text.is_empty() { String::new() } else { format!("<{tag}>\n{text}\n</{tag}>\n") }
    };
    (wrap("before", start..passage.span.start, Keep::Tail), wrap("after", passage.span.end..end, Keep::Head))
}
