//! Links of Org mode (<https://orgmode.org/manual/Hyperlinks.html>): `[[target][text]]`, `<file:target>`, `file:target`; and
//! the places of a file that its own links name.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::{Reader, headline};
use crate::ids::{self, BY_ID};
use crate::plain::lines;
use crate::{Link, LinkKind, links, outline};

/// How far the end of a link may be from its beginning, in bytes: an editor fills its text over several lines.
const LONGEST_LINK: usize = 2_000;

/// The longest verbatim text in which no link is read, in bytes: it keeps the work on hostile text linear.
const LONGEST_VERBATIM: usize = 500;

/// What links to files begin with, in any case: Emacs itself opens them, or another program.
const FILES: [&str; 3] = ["file:", "file+sys:", "file+emacs:"];

/// Places of a file that its links name, and the links that may.
#[derive(Default)]
pub(super) struct Places<'t> {
    /// `<<target>>`, `#+name: target`.
    targets: Vec<&'t str>,
    /// Which of the links need not name a file.
    doubtful: Vec<usize>,
}

impl<'t> Reader<'t> {
    /// Reads the links of a line of text.
    pub(super) fn links(&mut self, span: Range<usize>) {
        let last = self.pass.found.links.last().map_or(0, |link| link.span.end);
        let mut at = span.start.max(last);
        let text = self.text;
        self.targets(text.get(at..span.end).unwrap_or_default());
        let mut closes = true;
        while let Some(step) = text.get(at..span.end).and_then(|rest| rest.find(['[', '=', '~', '<', ':'])) {
            let start = at + step;
            let rest = &text[start..span.end];
            let end = match rest.as_bytes()[0] {
                b'[' if closes && rest.starts_with("[[") => {
                    let end = self.bracketed(start, &span);
                    // If nothing closes this one, nothing closes those behind it.
                    closes = end.is_some();
                    end
                }
                b'=' | b'~' => verbatim(text, start, span.end),
                b'<' => self.angled(start, span.end),
                b':' => self.plain(at, start, span.end),
                _ => None,
            };
            at = end.unwrap_or(start + 1);
        }
    }

    /// `[[target]]` or `[[target][text]]`; the target may be `file:note.org::*Heading`, or `*Heading` of this note. Returns
    /// its end.
    fn bracketed(&mut self, start: usize, line: &Range<usize>) -> Option<usize> {
        let end = start + self.text[start..self.link_within(start, line)].find("]]")? + 2;
        let inner = &self.text[start + 2..end - 2];
        let (target, shown) = inner.split_once("][").unwrap_or((inner, ""));
        self.add(&unescaped(target), shown, start..end);
        Some(end)
    }

    /// `<file:target>`, whose target may have spaces.
    fn angled(&mut self, start: usize, line_end: usize) -> Option<usize> {
        let limit = self.text.floor_char_boundary(line_end.min(start + LONGEST_LINK));
        let inner = &self.text[start + 1..start + self.text[start..limit].find('>')?];
        let end = start + inner.len() + 2;
        (path_in(inner).is_some() || is_id(inner)).then(|| self.add(inner, &self.text[start..end], start..end))?;
        Some(end)
    }

    /// `file:target`, whose colon is at `colon` behind `from`.
    fn plain(&mut self, from: usize, colon: usize, line_end: usize) -> Option<usize> {
        let before = &self.text[from..colon];
        let scheme = before.len() - before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '+').len();
        let start = colon - scheme;
        let scheme = &self.text[start..=colon];
        if path_in(scheme).is_none() && ![BY_ID, links::DENOTE].contains(&scheme) {
            return None;
        }
        let limit = self.text.floor_char_boundary(line_end.min(start + LONGEST_LINK));
        let rest = &self.text[start..limit];
        let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '<' | '>' | '[' | ']');
        let link = rest[..rest.find(ends).unwrap_or(rest.len())].trim_end_matches(|c: char| c.is_ascii_punctuation());
        // A word before a colon is mostly no scheme: what follows must look like a path.
        let names_file = path_in(link).is_some_and(|path| path.contains(['.', '/']));
        (names_file || is_id(link)).then(|| self.add(link, link, start..start + link.len()))?;
        Some(start + link.len())
    }

    fn add(&mut self, written: &str, shown: &str, span: Range<usize>) {
        let path = path_in(written);
        let target = path.unwrap_or(written);
        let place = if target.starts_with('*') { Some(("", target)) } else { target.split_once("::") };
        let (target, place) = place.filter(|_| !target.contains("://")).unwrap_or((target, ""));
        let mut link = links::markdown(target, shown, span, false);
        if target.starts_with(BY_ID) {
            link.kind = LinkKind::Markdown;
        }
        link.heading = place.strip_prefix(['*', '#']).map(str::to_owned).or(link.heading);
        if link.kind != LinkKind::Url && shown.is_empty() {
            link.alias = None;
        }
        let Link { kind, heading, block, target, .. } = &link;
        let is_name = *kind == LinkKind::Markdown && heading.is_none() && block.is_none() && !target.contains('/');
        if path.is_none() && is_name && !is_id(target) {
            self.places.doubtful.push(self.pass.found.links.len());
        }
        self.pass.found.links.push(link);
    }

    /// Where a link that begins at `start` ends at the latest: with its paragraph, of which `line` is a line.
    fn link_within(&self, start: usize, line: &Range<usize>) -> usize {
        if headline(&self.text[line.clone()]).is_some() {
            return line.end;
        }
        let ends =
            |line: &str| line.trim().is_empty() || headline(line).is_some() || line.trim_start().starts_with("#+");
        let limit = self.text.floor_char_boundary(start + LONGEST_LINK).max(line.end);
        let rest = lines(&self.text[..limit], line.end);
        rest.take_while(|line| !ends(&self.text[line.clone()])).last().map_or(line.end, |line| line.end)
    }

    /// Takes note of `<<targets>>`.
    fn targets(&mut self, line: &'t str) {
        let targets = line.split("<<").skip(1).filter_map(|rest| rest.split_once(">>"));
        self.places.targets.extend(targets.map(|(target, _)| target.trim_start_matches('<')));
    }

    /// Takes note of what a keyword calls the block below it.
    pub(super) fn name(&mut self, name: &'t str) {
        self.places.targets.push(name);
    }

    /// Makes links within the file of the doubtful ones that name a place of it: a target, a headline, or a line of code
    /// in brackets.
    pub(super) fn find_places(&mut self) {
        if self.places.doubtful.is_empty() {
            return;
        }
        let key = |name: &str| outline::fold(name).to_lowercase();
        // A headline that is itself a link, as Logseq's blocks may be, is no place that the link names.
        let is_text = |span: &Range<usize>| !self.text[span.clone()].contains("[[");
        let headlines = self.pass.headings.iter().map(|(heading, _)| heading).filter(|heading| is_text(&heading.span));
        let headlines = headlines.map(|heading| heading.text.as_str());
        let places: HashSet<String> = self.places.targets.iter().copied().chain(headlines).map(key).collect();
        let is_code = |name: &str| name.starts_with('(') && name.ends_with(')');
        let is_place = |link: &&mut Link| is_code(&link.target) || places.contains(&key(&link.target));
        for link in std::mem::take(&mut self.places.doubtful) {
            let Some(link) = self.pass.found.links.get_mut(link).filter(is_place) else { continue };
            let name = std::mem::take(&mut link.target);
            link.alias.get_or_insert_with(|| name.clone());
            link.heading = Some(name);
        }
    }
}

/// The path that a link to a file names behind its scheme.
fn path_in(link: &str) -> Option<&str> {
    let is = |scheme: &&str| link.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let path = &link[FILES.iter().find(|scheme| is(scheme))?.len()..];
    // `file:///path` is the same as `file:/path`.
    Some(path.strip_prefix("//").filter(|path| path.starts_with('/')).unwrap_or(path))
}

/// Whether a target names a note by an id of Org or Denote.
fn is_id(target: &str) -> bool {
    let digits = |id: &str| id.starts_with(|c: char| c.is_ascii_digit());
    target.strip_prefix(BY_ID).is_some_and(ids::is_uuid) || target.strip_prefix(links::DENOTE).is_some_and(digits)
}

/// A target without the backslashes before its brackets.
fn unescaped(target: &str) -> Cow<'_, str> {
    if !target.contains('\\') {
        return Cow::Borrowed(target);
    }
    Cow::Owned(target.replace("\\[", "[").replace("\\]", "]"))
}

/// Where verbatim text or code ends whose mark is at `start`: `=this=` or `~this~`, within a line.
fn verbatim(text: &str, start: usize, line_end: usize) -> Option<usize> {
    let mark = text.get(start..=start)?;
    let before = text[..start].chars().next_back();
    let inner = &text[start + 1..text.floor_char_boundary(line_end.min(start + LONGEST_VERBATIM))];
    let opens = before.is_none_or(|c| c.is_whitespace() || matches!(c, '-' | '(' | '{' | '\'' | '"' | '|'));
    if !opens || inner.starts_with(char::is_whitespace) {
        return None;
    }
    let ends_text = |c: char| c.is_whitespace() || "-.,;:!?'\")}[\\|".contains(c);
    let closes = |at: &usize| {
        *at > 0
            && !inner[..*at].ends_with(char::is_whitespace)
            && text[start + at + 2..].chars().next().is_none_or(ends_text)
    };
    let close = inner.match_indices(mark).map(|(at, _)| at).find(closes)?;
    Some(start + close + 2)
}
