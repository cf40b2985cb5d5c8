//! One pass over a file of Org mode (<https://orgmode.org/worg/org-syntax.html>): headlines, blocks of text, links, tags,
//! and what is not meant to be read: comments and drawers. The text stays as it is, so its lines are those of the file.

use std::ops::Range;

use serde_json::{Map, Value};

use super::ids;
use super::markdown::Pass;
use super::marks::unmarked;
use super::plain::lines;
use super::{Block, BlockKind, Heading, outline};
use links::Places;

mod links;

/// The deepest level of a headline; deeper ones count as this level.
const DEEPEST: usize = 6;

/// What is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Text,
    /// `#+begin_…`: up to `#+end_…`.
    Environment(BlockKind),
    /// `:PROPERTIES:`, `:LOGBOOK:` or a block of comment: up to the line that is said. Holds the index of its first line
    /// in [`Found::comments`](super::links::Found::comments).
    Drawer(usize, &'static str),
}

/// Blocks of text, not of code.
const TEXTS: [&str; 3] = ["quote", "verse", "center"];

/// The end of a drawer.
const END: &str = ":end:";

/// Words before a headline's text that say how far its task is, besides those that the file declares: Org's own, and those
/// that its guide, Doom and Logseq use.
const STATES: &str = "TODO DONE NEXT WAIT WAITING HOLD STARTED CANCELLED CANCELED INPROGRESS IN-PROGRESS DOING NOW LATER SOMEDAY \
    DELEGATED DEFERRED POSTPONED PROJ LOOP STRT IDEA KILL MAYBE";

/// Keywords that declare more of these words.
const DECLARING: [&str; 3] = ["todo", "seq_todo", "typ_todo"];

/// The longest `1/2]` or `50%]`, in bytes.
const LONGEST_COOKIE: usize = 16;

/// Marks around bold, italic, underlined and struck words, verbatim text and code.
pub(super) const MARKS: [char; 6] = ['*', '/', '_', '+', '=', '~'];

/// Keywords about what stands below them, or what is put in their place: no properties of the note.
const LOCAL: [&str; 12] =
    ["caption", "name", "label", "header", "headers", "results", "plot", "tblname", "include", "call", "html", "latex"];

/// Reads the text from `start` on: its structure, and the file's keywords as properties.
pub(super) fn pass(text: &str, start: usize) -> (Pass, Map<String, Value>) {
    let (pass, keywords) = (Pass::default(), Map::new());
    let ids = Vec::new();
    let (block, inside) = (None, Inside::Text);
    let (states, places) = (states(text, start), Places::default());
    let mut reader = Reader { text, states, pass, keywords, ids, places, block, inside, commented: None };
    for span in lines(text, start) {
        reader.line(&text[span.clone()], span);
    }
    reader.leave(text.len());
    reader.find_places();
    ids::add(&mut reader.keywords, reader.ids);
    (reader.pass, reader.keywords)
}

struct Reader<'t> {
    text: &'t str,
    /// The words that the file declares as states of tasks.
    states: Vec<&'t str>,
    pass: Pass,
    keywords: Map<String, Value>,
    /// Ids of the file and of its headlines.
    ids: Vec<&'t str>,
    /// What its own links may name.
    places: Places<'t>,
    /// The block that is open: what it is, and where it begins.
    block: Option<(BlockKind, usize)>,
    inside: Inside,
    /// The level of the headline whose subtree is commented out.
    commented: Option<usize>,
}

impl<'t> Reader<'t> {
    fn line(&mut self, line: &'t str, span: Range<usize>) {
        let trimmed = line.trim();
        let lower = trimmed[..trimmed.floor_char_boundary(16)].to_ascii_lowercase();
        // A headline ends everything: an environment or a drawer without an end does not count as one.
        let level = headline(line);
        if level.is_some() {
            self.leave(span.start);
        }
        if let Some(level) = level.filter(|level| self.commented.is_none_or(|above| *level <= above)) {
            let is_comment = line[level..].split_whitespace().next() == Some("COMMENT");
            self.commented = is_comment.then_some(level);
        }
        // The file's tags count wherever they stand: they may make it private, and what is above may lack its end.
        if (self.commented.is_some() || self.inside != Inside::Text)
            && let Some((name, tags)) = trimmed.strip_prefix("#+").and_then(|keyword| keyword.split_once(':'))
            && ["filetags", "tags"].iter().any(|own| name.eq_ignore_ascii_case(own))
        {
            self.keyword(name, tags);
        }
        if self.commented.is_some() {
            return self.pass.found.comments.push(span);
        }
        match self.inside {
            Inside::Environment(kind) => {
                if lower.starts_with("#+end") {
                    self.close(span.end);
                    self.inside = Inside::Text;
                } else if kind == BlockKind::Quote {
                    self.links(span);
                }
                return;
            }
            Inside::Drawer(_, end) => {
                self.pass.found.comments.push(span.clone());
                if lower == end {
                    self.inside = Inside::Text;
                } else if end == END {
                    self.property(trimmed);
                }
                return;
            }
            Inside::Text => {}
        }
        if let Some(level) = level {
            return self.heading(&line[level..], level, span);
        }
        if trimmed.is_empty() {
            return self.close(span.start);
        }
        let hidden_to = if lower.starts_with("#+begin_comment") { Some("#+end_comment") } else { None };
        if let Some(end) = hidden_to.or_else(|| is_drawer(trimmed).then_some(END)) {
            self.close(span.start);
            self.inside = Inside::Drawer(self.pass.found.comments.len(), end);
            return self.pass.found.comments.push(span);
        }
        if let Some(name) = lower.strip_prefix("#+begin") {
            self.close(span.start);
            let is_text = TEXTS.iter().any(|text| name.trim_start_matches('_').starts_with(text));
            let kind = if is_text { BlockKind::Quote } else { BlockKind::Code };
            (self.block, self.inside) = (Some((kind, span.start)), Inside::Environment(kind));
            return;
        }
        if let Some(keyword) = trimmed.strip_prefix("#+") {
            self.close(span.start);
            self.pass.found.comments.push(span);
            if let Some((name, value)) = keyword.split_once(':') {
                if name.eq_ignore_ascii_case("name") {
                    self.name(value);
                }
                self.keyword(name, value);
            }
            return;
        }
        if trimmed == "#" || trimmed.starts_with("# ") {
            self.close(span.start);
            return self.pass.found.comments.push(span);
        }
        let kind = kind(trimmed);
        if self.block.is_none_or(|(open, _)| open != kind && kind != BlockKind::Paragraph) {
            self.close(span.start);
            self.block = Some((kind, span.start));
        }
        if kind != BlockKind::Code {
            self.links(span);
        }
    }

    fn heading(&mut self, rest: &str, level: usize, span: Range<usize>) {
        let (shown, tags) = told(rest);
        let at = span.start + self.text[span.clone()].rfind(tags).unwrap_or_default();
        let mut from = at;
        for tag in tags.split(':') {
            self.pass.found.tags.extend((!tag.is_empty()).then(|| from..from + tag.len()));
            from += tag.len() + 1;
        }
        let text = outline::heading_text(&unmarked(&without_links(&self.without_progress(shown)), &MARKS));
        let heading = Heading { level: level.min(DEEPEST) as u8, text, span: span.clone() };
        self.pass.headings.push((heading, self.pass.blocks.len()));
        self.pass.blocks.push(Block { kind: BlockKind::Heading, span: span.clone(), cuts: Vec::new() });
        self.links(span);
    }

    /// A headline's text without what an editor changes in it while its task goes on: the word for its state, its priority,
    /// and how much of it is done. A context that was written for it stays true.
    fn without_progress(&self, shown: &str) -> String {
        let is_state = |word: &str| STATES.split(' ').any(|state| state == word) || self.states.contains(&word);
        let told = match shown.split_once(char::is_whitespace) {
            Some((first, rest)) if is_state(first) => rest.trim_start(),
            _ => shown,
        };
        let priority = told.strip_prefix("[#").and_then(|rest| rest.split_once(']'));
        let is_priority = |name: &str| name.len() <= 2 && name.bytes().all(|b| b.is_ascii_alphanumeric());
        let told = priority.filter(|(name, _)| is_priority(name)).map_or(told, |(_, rest)| rest.trim_start());
        let left = without_cookies(told);
        if left.trim().is_empty() { shown.to_owned() } else { left }
    }

    /// `:name: value` in a drawer: an id, or above all headlines a property of the file.
    fn property(&mut self, line: &'t str) {
        let Some((name, value)) = line.strip_prefix(':').and_then(|rest| rest.split_once(':')) else { return };
        if name.eq_ignore_ascii_case("id") {
            self.ids.push(value.trim());
        } else if self.pass.headings.is_empty() {
            self.keyword(name, value);
        }
    }

    fn keyword(&mut self, name: &str, value: &str) {
        let (name, value) = (name.trim().to_lowercase(), value.trim());
        if value.is_empty() || LOCAL.contains(&name.as_str()) || name.starts_with("attr_") {
            return;
        }
        let (name, value) = match name.as_str() {
            "filetags" | "tags" => return self.tags(name == "tags", value),
            "title" => (name, Value::from(unmarked(value, &MARKS))),
            "roam_aliases" => ("aliases".to_owned(), quoted(value).collect()),
            _ => (name, Value::from(value)),
        };
        self.keywords.entry(name).or_insert(value);
    }

    /// Adds the file's tags: those of all lines count. A line `tags` may also say which tags there are to choose from, with
    /// the keys that choose them or in groups; such tags are not the file's own.
    fn tags(&mut self, may_be_choice: bool, value: &str) {
        let words = value.split(|c: char| c.is_whitespace() || matches!(c, ':' | ','));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let is_group =
            |word: &&str| matches!(*word, "{" | "}" | "[" | "]") || word.contains('(') && word.ends_with(')');
        if may_be_choice && words.iter().any(is_group) {
            return;
        }
        let tags = words.iter().map(|word| Value::from(word.trim_matches(['[', ']'])));
        let own = self.keywords.entry("tags").or_insert_with(|| Value::Array(Vec::new()));
        if let Some(own) = own.as_array_mut() {
            own.extend(tags);
        }
    }

    /// Ends what is open at `end` without having been closed.
    fn leave(&mut self, end: usize) {
        if let Inside::Drawer(first, _) = self.inside {
            let text = self.pass.found.comments.split_off(first);
            self.block = text.first().map(|line| (BlockKind::Paragraph, line.start));
        }
        self.inside = Inside::Text;
        self.close(end);
    }

    fn close(&mut self, end: usize) {
        let Some((kind, start)) = self.block.take() else { return };
        let lines = self.text[start..end].match_indices('\n').map(|(at, _)| start + at + 1);
        let cuts = match kind {
            BlockKind::Paragraph | BlockKind::Heading => Vec::new(),
            BlockKind::List => lines.filter(|at| self.text.get(*at..).is_some_and(is_item)).collect(),
            _ => lines.collect(),
        };
        let cuts = cuts.into_iter().filter(|cut| *cut < end).collect();
        self.pass.blocks.push(Block { kind, span: start..end, cuts });
    }
}

/// The stars of a headline.
fn headline(line: &str) -> Option<usize> {
    let stars = line.bytes().take_while(|b| *b == b'*').count();
    (stars > 0 && line[stars..].starts_with([' ', '\t'])).then_some(stars)
}

/// The text of a headline, given behind its stars, and its tags.
fn told(rest: &str) -> (&str, &str) {
    let rest = rest.trim();
    match rest.rsplit_once(char::is_whitespace) {
        Some((shown, last)) if is_tags(last) => (shown.trim_end(), last),
        None if is_tags(rest) => ("", rest),
        _ => (rest, ""),
    }
}

/// A headline as it is shown, with the state of its task.
pub(super) fn shown(line: &str) -> String {
    unmarked(&without_links(told(line.trim_start_matches('*')).0), &MARKS)
}

/// The words that the file declares as states of tasks: `#+TODO: NEXT(n) | DONE(d!)`.
fn states(text: &str, start: usize) -> Vec<&str> {
    let declared = |span: Range<usize>| {
        let (name, words) = text[span].trim().strip_prefix("#+")?.split_once(':')?;
        DECLARING.iter().any(|declaring| name.eq_ignore_ascii_case(declaring)).then_some(words)
    };
    let words = lines(text, start).filter_map(declared).flat_map(str::split_whitespace);
    words.map(|word| word.split('(').next().unwrap_or(word)).filter(|word| !word.is_empty() && *word != "|").collect()
}

/// The text without what says how much of a task is done: `[1/2]`, `[50%]`.
fn without_cookies(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let near = &after[..after.floor_char_boundary(LONGEST_COOKIE)];
        let inner = near.split_once(']').map(|(inner, _)| inner).filter(|inner| match inner.strip_suffix('%') {
            Some(share) => is_number(share),
            None => inner.split_once('/').is_some_and(|(done, all)| is_number(done) && is_number(all)),
        });
        rest = inner.map_or(after, |inner| &after[inner.len() + "]".len()..]);
        if inner.is_none() {
            out.push('[');
        }
    }
    out + rest
}

/// `:word:` alone on its line.
fn is_drawer(line: &str) -> bool {
    let name = line.strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_')))
}

/// The words of a list, of which those in quotation marks may be several.
fn quoted(list: &str) -> impl Iterator<Item = &str> {
    let words = |(n, part): (usize, _)| if n % 2 == 1 { vec![part] } else { str::split_whitespace(part).collect() };
    list.split('"').enumerate().flat_map(words)
}

/// `:tag:` or `:tag:tag:`.
fn is_tags(word: &str) -> bool {
    let inner = word.strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
    let is_tag =
        |tag: &str| !tag.is_empty() && tag.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '%'));
    inner.is_some_and(|inner| inner.split(':').all(is_tag))
}

fn kind(line: &str) -> BlockKind {
    match line.as_bytes() {
        [b'|', ..] => BlockKind::Table,
        [b':', b' ', ..] => BlockKind::Code,
        _ if is_item(line) => BlockKind::List,
        _ => BlockKind::Paragraph,
    }
}

pub(super) fn is_item(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t']);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let number = (1..10).contains(&digits) && (line[digits..].starts_with(". ") || line[digits..].starts_with(") "));
    number || ["- ", "+ "].iter().any(|bullet| line.starts_with(bullet))
}

/// A headline's text with links as what they show.
fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[[")
        && let Some((inner, behind)) = after.split_once("]]")
    {
        out.push_str(before);
        out.push_str(inner.split_once("][").map_or(inner, |(_, shown)| shown));
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests;
