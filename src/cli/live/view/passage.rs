//! The text of a hit: a line or two of it for the list, all of its window for the preview.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::cli::print::{columns, pieces, printable, printable_lines, wrap};
use protocol::hit::Hit;

/// The passage in at most `rows` lines of `width` columns, starting so that a match is in sight.
pub(super) fn excerpt(hit: &Hit, width: usize, rows: usize, mark: Style) -> Vec<Line<'static>> {
    let text = printable(&hit.snippet);
    // Cleaning turns line ends into spaces, which leaves every byte where it was. If it changed more, the ranges do not
    // fit the text.
    let marks = if text.len() == hit.snippet.len() { ranges(&text, &hit.highlights) } else { Vec::new() };
    let room = width * rows;
    let begin = marks.first().map_or(0, |first| {
        let until = columns(&text[..first.end]);
        if until <= room { 0 } else { start_near(&text, first.start, width / 3) }
    });
    let lead = if begin > 0 { "…" } else { "" };
    let mut lines = Vec::new();
    for range in wrap(&text[begin..], width.saturating_sub(columns(lead)).max(1)).into_iter().take(rows) {
        let range = begin + range.start..begin + range.end;
        let mut spans = painted(&text, range, &marks, mark);
        if lines.is_empty() && !lead.is_empty() {
            spans.insert(0, Span::raw(lead));
        }
        lines.push(Line::from(spans));
    }
    lines
}

/// A word's beginning, about `columns_before` columns before a position.
fn start_near(text: &str, position: usize, columns_before: usize) -> usize {
    let mut used = 0;
    let mut begin = position;
    for (at, c) in text[..position].char_indices().rev() {
        used += columns(c.encode_utf8(&mut [0; 4]));
        if used > columns_before {
            break;
        }
        if c.is_whitespace() {
            begin = at + c.len_utf8();
        }
    }
    begin
}

/// A whole window, wrapped into lines.
pub(super) struct Preview {
    /// The lines; a mark precedes those of the hit's own chunk.
    pub lines: Vec<Line<'static>>,
    /// The first line in which something was found.
    pub found: usize,
}

/// The window of a hit at a width.
pub(super) fn preview(hit: &Hit, width: usize, mark: Style, bar: Style) -> Preview {
    let text = tabs_spaced(&printable_lines(&hit.window)).into_owned();
    let own = tabs_spaced(&printable_lines(&hit.text)).into_owned();
    let own = text.find(own.trim()).map(|at| at..at + own.trim().len());
    let words = found_words(hit);
    let marks = occurrences(&text, &words);
    let mut lines = Vec::new();
    let mut found = None;
    for range in wrap(&text, width.saturating_sub(2).max(1)) {
        let of_hit = own.as_ref().is_some_and(|own| range.start < own.end && own.start < range.end);
        let marked = marks.iter().any(|mark| range.start < mark.end && mark.start < range.end);
        if of_hit && marked && found.is_none() {
            found = Some(lines.len());
        }
        let gutter = if of_hit && marked {
            Span::styled("▌ ", bar)
        } else if of_hit {
            Span::styled("│ ", bar)
        } else {
            Span::raw("  ")
        };
        let mut spans = painted(&text, range, &marks, mark);
        spans.insert(0, gutter);
        lines.push(Line::from(spans));
    }
    let first_of_hit = || lines.iter().position(|line| line.spans.first().is_some_and(|gutter| gutter.content != "  "));
    let found = found.or_else(first_of_hit).unwrap_or(0);
    Preview { lines, found }
}

/// Replaces tabs by spaces, because a tab takes no columns in a cell of the screen.
fn tabs_spaced(text: &str) -> Cow<'_, str> {
    if text.contains('\t') { Cow::Owned(text.replace('\t', "    ")) } else { Cow::Borrowed(text) }
}

/// The words that the daemon marked in the snippet, in lower case.
fn found_words(hit: &Hit) -> BTreeSet<String> {
    let marked = ranges(&hit.snippet, &hit.highlights).into_iter();
    let words = marked.map(|range| printable(&hit.snippet[range]).to_lowercase());
    words.filter(|word| !word.trim().is_empty()).collect()
}

/// Where any of the words occurs as a whole word, in order; of those that begin together, the longest first.
fn occurrences(text: &str, words: &BTreeSet<String>) -> Vec<Range<usize>> {
    // One capital may have several characters in lower case: of each byte it is known where its capital begins.
    let (mut lower, mut origin) = (String::new(), Vec::new());
    for (at, c) in text.char_indices() {
        lower.extend(c.to_lowercase());
        origin.resize(lower.len(), at);
    }
    origin.push(text.len());
    let is_whole = |range: &Range<usize>| {
        let (before, found, after) = (&text[..range.start], &text[range.clone()], &text[range.end..]);
        let begins = found.starts_with(is_wide) || !before.ends_with(|c: char| c.is_alphanumeric() && !is_wide(c));
        let ends = found.ends_with(is_wide) || !after.starts_with(char::is_alphanumeric);
        !found.is_empty() && begins && ends
    };
    let mut all = Vec::new();
    for word in words {
        let found = lower.match_indices(word.as_str()).map(|(at, word)| origin[at]..origin[at + word.len()]);
        all.extend(found.filter(is_whole));
    }
    all.sort_by_key(|range| (range.start, Reverse(range.end)));
    all
}

/// Whether a character is of a script that is written without spaces.
fn is_wide(c: char) -> bool {
    unicode_width::UnicodeWidthChar::width(c).is_some_and(|width| width > 1)
}

/// The ranges that fit this text, in order.
fn ranges(text: &str, marks: &[(u32, u32)]) -> Vec<Range<usize>> {
    let mut end = 0;
    let mut ranges = Vec::new();
    for (from, to) in marks {
        let (from, to) = (*from as usize, *to as usize);
        if end <= from && from < to && text.is_char_boundary(from) && text.is_char_boundary(to) {
            ranges.push(from..to);
            end = to;
        }
    }
    ranges
}

/// `text[line]` with the marks in it painted.
fn painted(text: &str, line: Range<usize>, marks: &[Range<usize>], mark: Style) -> Vec<Span<'static>> {
    let span = |(piece, marked): (&str, bool)| {
        let piece = piece.to_owned();
        if marked { Span::styled(piece, mark) } else { Span::raw(piece) }
    };
    pieces(text, line, marks.iter().cloned()).map(span).collect()
}

#[cfg(test)]
mod tests;
