//! Matching lines as the searcher reports them, each with the lines around it.

use std::io::{self, Read};
use std::ops::Range;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::PIECE;

/// Most bytes of a line that are kept; of a longer one, those around its first match.
const MOST_TEXT: usize = 400;

/// How many of these come before the first match if the line is cut.
const BEFORE_MATCH: usize = 120;

/// Most matches of one line that are reported.
const MOST_HIGHLIGHTS: usize = 50;

/// How many lines are kept around a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Before it.
    pub before: usize,
    /// After it.
    pub after: usize,
}

/// A line that matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Its number, 1-based.
    pub line: u32,
    /// The character at which its first match begins, 1-based.
    pub column: u32,
    /// The line without its end; cut to 400 bytes, with `…` where something is missing.
    pub text: String,
    /// Byte ranges of `text` that match.
    pub highlights: Vec<(u32, u32)>,
    /// Lines before it, without those that an earlier match already has; cut likewise.
    pub before: Vec<String>,
    /// Lines after it, up to the next match, cut likewise.
    pub after: Vec<String>,
}

/// Makes [`Matched`] from the searcher's reports: a match is complete when the next one comes, or the end.
pub(super) struct Lines<'a> {
    matcher: &'a RegexMatcher,
    on_line: &'a mut dyn FnMut(Matched) -> bool,
    before: Vec<String>,
    open: Option<Matched>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, on_line: &'a mut dyn FnMut(Matched) -> bool) -> Self {
        Lines { matcher, on_line, before: Vec::new(), open: None }
    }

    /// Gives the open match to `on_line`; returns whether that wants more.
    pub(super) fn finish(&mut self) -> bool {
        self.open.take().is_none_or(|line| (self.on_line)(line))
    }
}

/// Byte ranges of a line that match, at most `most`, without empty matches. A match of single bytes counts as one of the
/// characters that they are parts of.
pub(super) fn matches(matcher: &RegexMatcher, line: &str, most: usize) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    // The matcher's error type has no values.
    let _ = matcher.find_iter(line.as_bytes(), |at| {
        let (start, end) = (line.floor_char_boundary(at.start()), line.ceil_char_boundary(at.end()));
        match found.last_mut() {
            _ if at.start() == at.end() => {}
            Some(last) if start < last.end => last.end = end,
            _ => found.push(start..end),
        }
        found.len() < most
    });
    found
}

/// Whether there is a line that matches.
#[derive(Default)]
pub(super) struct First {
    pub(super) is_there: bool,
}

impl Sink for First {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.is_there = true;
        Ok(false)
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if !self.finish() {
            return Ok(false);
        }
        // The searcher gives whole lines of a text, which are valid UTF-8.
        let line = String::from_utf8_lossy(found.bytes());
        let line = without_end(&line);
        let number = found.line_number().unwrap_or_default();
        let matched = Matched { line: number as u32, before: std::mem::take(&mut self.before), ..Matched::default() };
        self.open = Some(shown(line, &matches(self.matcher, line, MOST_HIGHLIGHTS), matched));
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let line = String::from_utf8_lossy(context.bytes());
        let text = shown(without_end(&line), &[], Matched::default()).text;
        match (context.kind(), &mut self.open) {
            (SinkContextKind::After, Some(line)) => line.after.push(text),
            _ => self.before.push(text),
        }
        Ok(true)
    }
}

pub(super) fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Fills in text, column and highlights of a line with these matches.
fn shown(line: &str, matches: &[Range<usize>], matched: Matched) -> Matched {
    let first = matches.first().map_or(0, |first| first.start);
    let column = line[..first].chars().count() as u32 + 1;
    let mut text = String::new();
    let mut part = 0..line.len();
    if line.len() > MOST_TEXT {
        let start = if first > BEFORE_MATCH { line.ceil_char_boundary(first - BEFORE_MATCH) } else { 0 };
        part = start..line.floor_char_boundary(start + MOST_TEXT);
    }
    text.extend((part.start > 0).then_some('…'));
    let shift = text.len();
    text.push_str(&line[part.clone()]);
    text.extend((part.end < line.len()).then_some('…'));
    let highlights = matches.iter().filter_map(|found| {
        let (start, end) = (found.start.max(part.start), found.end.min(part.end));
        (start < end).then(|| ((start - part.start + shift) as u32, (end - part.start + shift) as u32))
    });
    Matched { column, highlights: highlights.collect(), text, ..matched }
}

/// A reader of a text in pieces; it fails once `go_on` returns `false`.
pub(super) struct Pieces<'a> {
    rest: &'a [u8],
    go_on: &'a dyn Fn() -> bool,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(text: &'a str, go_on: &'a dyn Fn() -> bool) -> Self {
        Pieces { rest: text.as_bytes(), go_on }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !(self.go_on)() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let count = self.rest.len().min(into.len()).min(PIECE);
        let (piece, rest) = self.rest.split_at(count);
        into[..count].copy_from_slice(piece);
        self.rest = rest;
        Ok(count)
    }
}
