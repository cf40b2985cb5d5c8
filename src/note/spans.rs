//! Pieces of a text, and where its lines begin.

use std::ops::Range;

/// Spans in order and not overlapping.
pub(super) fn in_order(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_unstable_by_key(|span| span.start);
    spans.dedup_by(|next, span| {
        let overlaps = next.start < span.end;
        if overlaps {
            span.end = span.end.max(next.end);
        }
        overlaps
    });
    spans
}

/// The length of the blanks that a text ends with.
pub(super) fn indent(text: &str) -> usize {
    text.len() - text.trim_end_matches([' ', '\t']).len()
}

/// The start of the line that `at` is on, not before `floor`.
pub(super) fn line_start(bytes: &[u8], at: usize, floor: usize) -> usize {
    let before = bytes[floor..at].iter().rposition(|b| matches!(b, b'\n' | b'\r'));
    before.map_or(floor, |end| floor + end + 1)
}

/// The start of the line after the one that `at` is on.
pub(super) fn next_line(bytes: &[u8], at: usize) -> usize {
    match bytes[at..].iter().position(|b| matches!(b, b'\n' | b'\r')) {
        Some(end) if bytes[at + end..].starts_with(b"\r\n") => at + end + 2,
        Some(end) => at + end + 1,
        None => bytes.len(),
    }
}

/// The line starts inside of `span`.
pub(super) fn line_starts(bytes: &[u8], span: Range<usize>) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = next_line(bytes, span.start);
    while at < span.end {
        starts.push(at);
        at = next_line(bytes, at);
    }
    starts
}
