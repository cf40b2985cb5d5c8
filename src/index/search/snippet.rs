//! Snippets: the passage of a chunk that answers the query best, cleaned for a terminal, with highlights.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::printable::printable_lines;
use super::window::floor;

/// Calls a function with the words of a text: byte range and normal form, as the lexical index sees them.
pub(super) type Analyze<'a> = &'a dyn Fn(&str, &mut dyn FnMut(Range<usize>, &str));

/// A passage, on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snippet {
    /// At most [`LENGTH`] characters and an ellipsis on either side.
    pub(super) text: String,
    /// Byte ranges of `text` that match the query; in order, apart from each other.
    pub(super) highlights: Vec<(u32, u32)>,
    /// Lines of the chunk before the one that the passage is chosen for: the line of its first match, or the one where
    /// the text begins to say something.
    pub(super) lines_before: u32,
}

/// Characters of a snippet: two to three lines of a terminal.
const LENGTH: usize = 200;
/// Characters within which matches are gathered; the rest is left for the sentence around them.
const CORE: usize = 150;
/// How far back the start of the sentence or line is looked for.
const LOOK_BACK: usize = 80;
/// Without a start of a sentence or line, this many characters of words before the first match are shown.
const LEAD_IN: usize = 30;
/// A sentence or line may end a snippet that has reached this.
const SHORTEST: usize = 100;
/// Only this much of a chunk is read: a longer chunk is a single long line.
const LOOKED_AT: usize = 32 << 10;

/// The best passage of `raw` for the query's `terms`; without a match, the first line that is no heading.
pub(super) fn snippet(raw: &str, terms: &HashSet<String>, analyze: Analyze) -> Snippet {
    let head = &raw[..floor(raw, LOOKED_AT)];
    let shown = without_comments(head);
    let shown = printable_lines(&shown);
    let found = matches(&shown, terms, analyze);
    let core = densest(&shown, &found).unwrap_or_else(|| lead(&shown));
    let lines_before = shown[..core.start].matches('\n').count() as u32;
    let whole = !found.is_empty() && forward(&shown, 0, LENGTH) == shown.len();
    let text = passage(&shown, if whole { 0..shown.len() } else { core });
    let highlights = merged(matches(&text, terms, analyze).into_iter().map(|(range, _)| range));
    Snippet { text, highlights, lines_before }
}

/// Without `<!-- comments -->`, but with their line breaks; one that does not end stays.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        let Some(end) = rest[start + 4..].find("-->") else {
            break;
        };
        out.push_str(&rest[..start]);
        let after = start + 4 + end + 3;
        out.extend(rest[start..after].matches('\n'));
        rest = &rest[after..];
    }
    out.push_str(rest);
    out
}

/// The words of `text` that the query has too, in order.
fn matches<'a>(text: &str, terms: &'a HashSet<String>, analyze: Analyze) -> Vec<(Range<usize>, &'a str)> {
    if terms.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    analyze(text, &mut |range, form| {
        if let Some(term) = terms.get(form)
            && range.start < range.end
            && text.get(range.clone()).is_some()
        {
            found.push((range, term.as_str()));
        }
    });
    found.sort_by_key(|(range, _)| (range.start, range.end));
    found
}

/// The range within [`CORE`] characters that holds the most different words of the query. A word that is
/// rare in the chunk counts for more: that is where the chunk is about it. The first of equals wins.
fn densest(text: &str, found: &[(Range<usize>, &str)]) -> Option<Range<usize>> {
    let mut frequency: HashMap<&str, u32> = HashMap::new();
    for (_, term) in found {
        *frequency.entry(term).or_default() += 1;
    }
    let weight = |term: &str| 1000 / frequency.get(term).copied().unwrap_or(1).max(1) + 1;

    let mut inside: HashMap<&str, u32> = HashMap::new();
    let (mut score, mut left) = (0, 0);
    let mut best: Option<(u32, Range<usize>)> = None;
    let positions = character_positions(text, found);
    for (right, (range, term)) in found.iter().enumerate() {
        let count = inside.entry(term).or_default();
        *count += 1;
        score += if *count == 1 { weight(term) } else { 1 };
        while left < right && positions[right].end > positions[left].start + CORE {
            let leaving = found[left].1;
            let count = inside.entry(leaving).or_insert(1);
            *count -= 1;
            score -= if *count == 0 { weight(leaving) } else { 1 };
            left += 1;
        }
        if best.as_ref().is_none_or(|(most, _)| score > *most) {
            best = Some((score, found[left].0.start..range.end));
        }
    }
    best.map(|(_, range)| range)
}

/// The ranges of `found` counted in characters.
fn character_positions(text: &str, found: &[(Range<usize>, &str)]) -> Vec<Range<usize>> {
    let (mut bytes, mut chars) = (0, 0);
    let position = |(range, _): &(Range<usize>, &str)| {
        chars += text[bytes..range.start].chars().count();
        bytes = range.start;
        chars..chars + text[range.clone()].chars().count()
    };
    found.iter().map(position).collect()
}

/// Where a text begins to say something: its first line with words that is no heading.
fn lead(text: &str) -> Range<usize> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim_start().starts_with('#') && line.chars().any(char::is_alphanumeric) {
            return start..start;
        }
        start += line.len();
    }
    0..0
}

/// What is shown around `core`: whole sentences or lines where they fit, else whole words and an ellipsis.
fn passage(text: &str, core: Range<usize>) -> String {
    let room = LENGTH.saturating_sub(text[core.clone()].chars().count());
    let (start, cut_before) = begin(text, core.start, room);
    let (end, cut_after) = finish(text, start, core.end);
    let mut out = String::new();
    if cut_before {
        out.push('…');
    }
    for (i, word) in text[start..end].split_whitespace().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(word);
    }
    if cut_after {
        out.push('…');
    }
    out
}

/// Where to begin so that `at` is in it, and whether that is within a sentence.
fn begin(text: &str, at: usize, room: usize) -> (usize, bool) {
    let back = backward(text, at, room.min(LOOK_BACK));
    let before = &text[back..at];
    if let Some(newline) = before.rfind('\n') {
        let line = newline + 1;
        let sentence = last_sentence(&before[line..]).unwrap_or(0);
        return (back + line + sentence, false);
    }
    if let Some(sentence) = last_sentence(before) {
        return (back + sentence, false);
    }
    if back == 0 {
        return (0, false);
    }
    let back = backward(text, at, room.min(LEAD_IN));
    let word = text[back..at].find(char::is_whitespace).map_or(back, |blank| back + blank);
    (word, true)
}

/// Where the last sentence of `text` begins, unless that is at its start: what stands before is unknown.
fn last_sentence(text: &str) -> Option<usize> {
    let ends = |at: usize| text[..at].trim_end().ends_with(['.', '!', '?', '…', '。', '！', '？', '।', ':']);
    text.split_sentence_bound_indices().map(|(at, _)| at).filter(|at| *at > 0 && ends(*at)).last()
}

/// Where a passage from `start` ends that should hold everything up to `core_end`, and whether that is
/// within a sentence.
fn finish(text: &str, start: usize, core_end: usize) -> (usize, bool) {
    let limit = forward(text, start, LENGTH);
    if limit == text.len() {
        return (limit, false);
    }
    let least = core_end.max(forward(text, start, SHORTEST));
    if least < limit {
        let after = &text[least..limit];
        if let Some(newline) = after.rfind('\n') {
            return (least + newline, false);
        }
        if let Some(sentence) = last_sentence(after) {
            return (least + sentence, false);
        }
    }
    let from = core_end.clamp(start, limit);
    let word = text[from..limit].rfind(char::is_whitespace).map_or(limit, |blank| from + blank);
    (word, true)
}

/// The end of as many whole graphemes from `from` on as have at most `chars` characters.
fn forward(text: &str, from: usize, chars: usize) -> usize {
    // A letter of ASCII is a grapheme if the next character is one too; there are no `\r\n` left.
    if text.as_bytes()[from..].iter().take(chars + 1).all(u8::is_ascii) {
        return text.len().min(from + chars);
    }
    from + reach(text[from..].graphemes(true), chars)
}

/// The start of as many whole graphemes before `to` as have at most `chars` characters.
fn backward(text: &str, to: usize, chars: usize) -> usize {
    if text.as_bytes()[..to].iter().rev().take(chars + 1).all(u8::is_ascii) {
        return to.saturating_sub(chars);
    }
    to - reach(text[..to].graphemes(true).rev(), chars)
}

/// Bytes of the first graphemes that together have at most `chars` characters.
fn reach<'a>(graphemes: impl Iterator<Item = &'a str>, chars: usize) -> usize {
    let (mut bytes, mut left) = (0, chars);
    for grapheme in graphemes {
        let Some(rest) = left.checked_sub(grapheme.chars().count()) else {
            break;
        };
        left = rest;
        bytes += grapheme.len();
    }
    bytes
}

/// Ranges, sorted by start, with those that touch made one: bigrams of CJK text overlap.
fn merged(ranges: impl Iterator<Item = Range<usize>>) -> Vec<(u32, u32)> {
    let mut out: Vec<(u32, u32)> = Vec::new();
    for range in ranges {
        let (start, end) = (range.start as u32, range.end as u32);
        match out.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

#[cfg(test)]
mod tests;
