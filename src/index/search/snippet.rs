//! Snippets: the passage of a chunk that answers the query best, cleaned for a terminal, with highlights.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use note::{BETWEEN_CELLS, Format, HeadingLine, PARTED};
use unicode_segmentation::UnicodeSegmentation;

use super::printable::printable_lines;

/// Stands for what a regular expression or a phrase matches; no word has this form.
pub(super) const MATCHED: &str = "\0";

/// Calls a function with the words of a text: byte range and normal form, as the lexical index sees them.
pub(super) type Analyze<'a> = &'a dyn Fn(&str, &mut dyn FnMut(Range<usize>, &str));

/// A passage, on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snippet {
    /// At most [`LENGTH`] characters and an ellipsis on either side.
    pub(super) text: String,
    /// Byte ranges of `text` that match the query; in order, apart from each other.
    pub(super) highlights: Vec<(u32, u32)>,
    /// Lines of the chunk before the one that the passage is chosen for: the first line of a phrase or a regular
    /// expression, else one with most of the words, or the one where the text begins to say something.
    pub(super) lines_before: u32,
    /// The chunk's headings up to that line.
    pub(super) headings: Vec<HeadingLine>,
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
/// Only this much of a chunk is read at once: a longer chunk is a single long line.
const LOOKED_AT: usize = 32 << 10;
/// What a piece of so long a chunk has in common with the next one: a passage, and room for a sentence before it.
const OVERLAP: usize = 1 << 10;
/// Pieces that are read until one has a match.
const MOST_PIECES: usize = 32;

/// The best passage of `raw`, a piece of a note of that format, for the query's `terms`, as a reader sees it; without a
/// match, the first line that is no heading. Words that only its marks have are shown among them, and a piece of nothing
/// else as it is.
pub(super) fn snippet(raw: &str, format: Format, terms: &HashSet<&str>, analyze: Analyze) -> Snippet {
    let starts = (0..MOST_PIECES).map(|piece| raw.floor_char_boundary(piece * (LOOKED_AT - OVERLAP)));
    let starts = starts.take_while(|start| *start == 0 || start + OVERLAP < raw.len());
    let mut passages = starts.map(|start| {
        let passage = of_piece(&raw[start..raw.floor_char_boundary(start + LOOKED_AT)], format, terms, analyze);
        Snippet { lines_before: passage.lines_before + raw[..start].matches('\n').count() as u32, ..passage }
    });
    let first = passages.next().unwrap_or_default();
    if !first.highlights.is_empty() || terms.is_empty() {
        return first;
    }
    passages.find(|passage| !passage.highlights.is_empty()).unwrap_or(first)
}

fn of_piece(head: &str, format: Format, terms: &HashSet<&str>, analyze: Analyze) -> Snippet {
    let rendered = note::render(format, head);
    let shown = printable_lines(&rendered.text);
    let found = matches(&shown, terms, analyze);
    let mut passage = None;
    let blank = shown.trim().is_empty();
    if (blank || (found.is_empty() && !terms.is_empty())) && *shown != *head {
        let written = printable_lines(head);
        let found = matches(&written, terms, analyze);
        passage = (blank || !found.is_empty()).then(|| around(&written, &found, 0, &[]));
    }
    let passage = passage.unwrap_or_else(|| around(&shown, &found, rendered.first_line, &rendered.headings));
    let mut headings = rendered.headings;
    headings.retain(|heading| heading.line <= passage.lines_before as usize);
    Snippet { headings, ..passage }
}

/// The best passage of `shown`, or the one that begins with a line of it if nothing was found.
fn around(shown: &str, found: &[(Range<usize>, &str)], first_line: usize, headings: &[HeadingLine]) -> Snippet {
    let core = densest(shown, found).unwrap_or_else(|| {
        let start = start_of(shown, first_line);
        start..start
    });
    let lines_before = shown[..opened(shown, found, &core)].matches('\n').count() as u32;
    let whole = !found.is_empty() && forward(shown, 0, LENGTH) == shown.len();
    let passage = Passage::of(shown, if whole { 0..shown.len() } else { core });
    let (text, highlights) = passage.after_heading(shown, found, headings).on_one_line(shown, found);
    Snippet { text, highlights, lines_before, headings: Vec::new() }
}

/// Where in `core` a reader begins: at the first phrase or regular expression, or else on the first of the lines that have
/// most of the query's words.
fn opened(shown: &str, found: &[(Range<usize>, &str)], core: &Range<usize>) -> usize {
    let inside = || found.iter().filter(|(range, _)| core.contains(&range.start));
    if let Some((range, _)) = inside().find(|(_, term)| *term == MATCHED) {
        return range.start;
    }
    let lines: Vec<usize> = std::iter::once(core.start)
        .chain(shown[core.clone()].match_indices('\n').map(|(step, _)| core.start + step + 1))
        .collect();
    let mut words: Vec<HashSet<&str>> = vec![HashSet::new(); lines.len()];
    for (range, term) in inside() {
        words[lines.partition_point(|line| *line <= range.start).saturating_sub(1)].insert(term);
    }
    let most = words.iter().map(HashSet::len).max().unwrap_or(0);
    words.iter().position(|words| words.len() == most).map_or(core.start, |at| lines[at])
}

/// The words of `text` that the query has too, in order.
fn matches<'a>(text: &str, terms: &HashSet<&'a str>, analyze: Analyze) -> Vec<(Range<usize>, &'a str)> {
    if terms.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    analyze(text, &mut |range, form| {
        if let Some(&term) = terms.get(form)
            && range.start < range.end
            && text.get(range.clone()).is_some()
        {
            found.push((range, term));
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

/// What is shown of a text, and whether it begins and ends within a sentence.
struct Passage {
    range: Range<usize>,
    cut_before: bool,
    cut_after: bool,
}

impl Passage {
    /// What is shown around `core`: whole sentences or lines where they fit, else whole words and an ellipsis.
    fn of(text: &str, core: Range<usize>) -> Passage {
        let room = LENGTH.saturating_sub(text[core.clone()].chars().count());
        let (start, cut_before) = begin(text, core.start, room);
        let (end, cut_after) = finish(text, start, core.end);
        Passage { range: start..end, cut_before, cut_after }
    }

    /// Without the heading that it begins with, for it is shown above; but with it if nothing else in the passage matches.
    fn after_heading(self, text: &str, found: &[(Range<usize>, &str)], headings: &[HeadingLine]) -> Passage {
        let blank = text[self.range.clone()].len() - text[self.range.clone()].trim_start().len();
        let line = text[..self.range.start + blank].matches('\n').count();
        if headings.iter().all(|heading| heading.line != line) {
            return self;
        }
        let below = start_of(text, line + 1);
        let matches = found.iter().any(|(range, _)| range.start >= below && range.end <= self.range.end);
        if matches { Passage { range: below..self.range.end, ..self } } else { self }
    }

    /// The passage with single spaces between its words, and where that has what was found.
    fn on_one_line(&self, text: &str, found: &[(Range<usize>, &str)]) -> (String, Vec<(u32, u32)>) {
        let start = self.range.end - without_separators(&text[self.range.clone()]).len();
        let shown = start..self.range.end;
        let inside =
            found.iter().map(|(range, _)| range).filter(|range| shown.start <= range.start && range.end <= shown.end);
        let mut marks = merged(inside.cloned()).into_iter().peekable();
        let (mut out, mut highlights) = (String::new(), Vec::new());
        if self.cut_before {
            out.push('…');
        }
        let (mut blank, mut marked) = (false, None);
        for (step, c) in text[shown.clone()].char_indices() {
            let at = (start + step) as u32;
            while marks.next_if(|mark| mark.1 <= at).is_some() {
                highlights.extend(marked.take().map(|begin| (begin, out.len() as u32)));
            }
            if c.is_whitespace() {
                blank = true;
                continue;
            }
            if std::mem::take(&mut blank) && step > 0 {
                out.push(' ');
            }
            if marked.is_none() && marks.peek().is_some_and(|mark| mark.0 <= at) {
                marked = Some(out.len() as u32);
            }
            out.push(c);
        }
        highlights.extend(marked.map(|begin| (begin, out.len() as u32)));
        if self.cut_after {
            out.push('…');
        }
        (out, highlights)
    }
}

/// Without what parts a passage from what was before it.
fn without_separators(text: &str) -> &str {
    let text = text.trim_start();
    let rest = text.strip_prefix(PARTED).or_else(|| text.strip_prefix(BETWEEN_CELLS));
    rest.filter(|rest| rest.starts_with(char::is_whitespace)).map_or(text, without_separators)
}

/// Where a line, from 0, of a text starts.
fn start_of(text: &str, line: usize) -> usize {
    text.split_inclusive('\n').take(line).map(str::len).sum()
}

/// Where to begin so that `at` is in it, and whether that is within a sentence.
fn begin(text: &str, at: usize, room: usize) -> (usize, bool) {
    let back = backward(text, at, room.min(LOOK_BACK));
    let line = last_end(text, back..at).map(|end| end + 1);
    let from = line.unwrap_or(back);
    if let Some(start) = last_sentence(&text[from..at]).map(|step| from + step).or(line) {
        return (start, false);
    }
    if back == 0 {
        return (0, false);
    }
    let back = backward(text, at, room.min(LEAD_IN));
    let word = text[back..at].find(char::is_whitespace).map_or(back, |blank| back + blank);
    (word, true)
}

/// What ends a sentence besides a full stop.
const ENDS: [char; 8] = ['!', '?', '…', '。', '！', '？', '।', ':'];

/// Where the last sentence of `text` begins, unless that is at its start: what stands before is unknown. A mark of
/// ASCII ends one only before a blank: `.NET` and `find?q=x` begin none.
fn last_sentence(text: &str) -> Option<usize> {
    // Looking for bounds takes long.
    if !text.trim_end().contains(|c| c == '.' || ENDS.contains(&c)) {
        return None;
    }
    let parted = |before: &str| before.ends_with(|c: char| !c.is_ascii() || c.is_whitespace());
    let starts = text.split_sentence_bound_indices().map(|(at, _)| at);
    starts.filter(|at| parted(&text[..*at]) && ends_sentence(&text[..*at])).last()
}

/// Whether a text ends with a sentence, and not with an initial, as in `e.g.`, or the number of an item.
fn ends_sentence(text: &str) -> bool {
    let Some(before) = text.trim_end().strip_suffix('.') else {
        return text.trim_end().ends_with(ENDS);
    };
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_initial = word.chars().nth(1).is_none() && word.starts_with(char::is_alphabetic);
    let stands_first = || {
        matches!(before[..before.len() - word.len()].trim_end_matches(' ').chars().next_back(), None | Some('\n' | '·'))
    };
    let is_number = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) && stands_first();
    !(is_initial || is_number)
}

/// The last line feed within `range` that ends something: a block or a sentence. Any other is a space that was wrapped.
fn last_end(text: &str, range: Range<usize>) -> Option<usize> {
    let ends = |at: &usize| {
        let next = text[at + 1..].trim_start_matches([' ', '\t']);
        let begins = next.is_empty() || next.starts_with('\n') || next.starts_with(PARTED);
        begins || ends_sentence(&text[..*at]) || text[..*at].ends_with('\n')
    };
    text[range.clone()].rmatch_indices('\n').map(|(step, _)| range.start + step).find(ends)
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
        if let Some(end) = last_end(text, least..limit) {
            return (end, false);
        }
        if let Some(sentence) = last_sentence(&text[least..limit]) {
            return (least + sentence, false);
        }
    }
    let from = core_end.clamp(start, limit);
    let word = text[from..limit].rfind(char::is_whitespace).map_or(limit, |blank| from + blank);
    (word, true)
}

/// The end of as many whole graphemes from `from` on as have at most `chars` characters.
fn forward(text: &str, from: usize, chars: usize) -> usize {
    let rest = &text[from..];
    from + plain(rest.chars(), chars).unwrap_or_else(|| reach(rest.graphemes(true), chars))
}

/// The start of as many whole graphemes before `to` as have at most `chars` characters.
fn backward(text: &str, to: usize, chars: usize) -> usize {
    let rest = &text[..to];
    to - plain(rest.chars().rev(), chars).unwrap_or_else(|| reach(rest.graphemes(true).rev(), chars))
}

/// Bytes of the first so many characters, if each of them is a grapheme: letters of ASCII and [`PARTED`] are if the
/// character after them is one too; there are no `\r\n` left.
fn plain(text: impl Iterator<Item = char>, chars: usize) -> Option<usize> {
    let mut bytes = 0;
    for (i, c) in text.take(chars + 1).enumerate() {
        if !(c.is_ascii() || PARTED.starts_with(c)) {
            return None;
        }
        bytes += if i < chars { c.len_utf8() } else { 0 };
    }
    Some(bytes)
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
