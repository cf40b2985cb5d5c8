//! Whole sentences, and chunks made of them.
//!
//! The ends of sentences are found in one pass: a mark that ends sentences in some script, closing quotes and brackets,
//! then a blank. This is a small part of Unicode's rules (UAX #29): the full rules do not know abbreviations, end a
//! sentence at each line of a paragraph, and look ahead without a bound.

use std::ops::Range;

use super::cut::cut_block;
use super::{ChunkConfig, Piece, Ruler, sections_of};
use crate::{BlockKind, Note};

/// Marks after which a sentence has ended if a blank follows.
const ENDS: [char; 13] = ['.', '!', '?', '…', '‼', '⁇', '⁉', '؟', '۔', '।', '॥', '։', '።'];
/// Marks of scripts that write without blanks.
const WIDE_ENDS: [char; 6] = ['。', '！', '？', '．', '｡', '။'];
/// What may stand between the mark and the blank: closing quotes and brackets, emphasis.
const CLOSES: [char; 16] = ['"', '\'', ')', ']', '}', '»', '«', '”', '’', '“', '」', '』', '）', '】', '*', '_'];

/// Words that are seldom the last of a sentence when a full stop follows, in lower case.
const ABBREVIATIONS: [&str; 34] = [
    "abb", "al", "approx", "bd", "bzw", "ca", "cf", "dept", "dr", "eds", "eq", "evtl", "fig", "figs", "ggf", "gov",
    "inkl", "jr", "messrs", "mlle", "mme", "mr", "mrs", "ms", "nr", "pp", "prof", "sen", "sra", "st", "usw", "vgl",
    "vol", "vs",
];

/// The ends of the sentences in `span`, with the blanks after them: rising, each within `span` and not at its end.
pub(super) fn ends(text: &str, span: &Range<usize>) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut chars = text[span.clone()].char_indices().map(|(i, c)| (span.start + i, c)).peekable();
    while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
    let mut before = chars.peek().map_or(span.end, |(first, _)| *first);
    while let Some((at, mark)) = chars.next() {
        let wide = WIDE_ENDS.contains(&mark);
        if !wide && !ENDS.contains(&mark) {
            continue;
        }
        let more = |c: char| ENDS.contains(&c) || WIDE_ENDS.contains(&c) || CLOSES.contains(&c);
        while chars.next_if(|(_, c)| more(*c)).is_some() {}
        let mut blank = false;
        while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {
            blank = true;
        }
        let Some((next, first)) = chars.peek().copied() else { break };
        let goes_on = || mark == '.' && (first.is_lowercase() || is_short(&text[before..at]));
        if wide || (blank && !goes_on()) {
            ends.push(next);
            before = next;
        }
    }
    ends
}

/// Whether the text before a full stop ends with a shortened word: a letter (`J.`, `e.g.`), an abbreviation, or a
/// number that is the whole text (`12.`).
fn is_short(sentence: &str) -> bool {
    let length: usize = sentence.chars().rev().take(9).take_while(|c| c.is_alphanumeric()).map(char::len_utf8).sum();
    let (rest, word) = sentence.split_at(sentence.len() - length);
    let mut letters = word.chars();
    match (letters.next(), letters.next()) {
        (Some(only), None) if only.is_alphabetic() => true,
        (Some(_), _) if rest.is_empty() => word.bytes().all(|b| b.is_ascii_digit()),
        _ => ABBREVIATIONS.contains(&word.to_lowercase().as_str()),
    }
}

/// The smallest spans that are kept together, in order and without gaps: sentences, and whole tables, lists,
/// code and quotes, or their rows, items and lines if they are longer than a chunk may be. A heading goes with what
/// follows it.
pub(super) fn units(note: &Note, span: &Range<usize>, config: &ChunkConfig, ruler: &Ruler<'_>) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    let mut at = span.start;
    let mut heading = false;
    let blocks = &note.blocks[note.blocks.partition_point(|b| b.span.end <= span.start)..];
    for block in blocks.iter().take_while(|b| b.span.start < span.end) {
        let end = block.span.end.clamp(at, span.end);
        let prose = matches!(block.kind, BlockKind::Paragraph | BlockKind::Html);
        let first = units.len();
        if prose {
            cut_block(note, at..end, &ends(&note.text, &(at..end)), config, ruler, &mut units);
        } else if ruler.tokens(&(at..end)) <= config.max {
            units.push(at..end);
        } else {
            cut_block(note, at..end, &block.cuts, config, ruler, &mut units);
        }
        if heading && first > 0 && first < units.len() {
            let whole = units[first - 1].start..units[first].end;
            if ruler.tokens(&whole) <= config.max {
                units.splice(first - 1..=first, [whole]);
            }
        }
        heading = block.kind == BlockKind::Heading;
        at = end;
    }
    match units.last_mut() {
        // Blank lines at the end.
        Some(last) if ruler.tokens(&(at..span.end)) == 0 => last.end = span.end,
        _ if at < span.end => cut_block(note, at..span.end, &[], config, ruler, &mut units),
        _ => {}
    }
    units
}

/// The chunks of strategy `sentence`.
pub(super) fn pack(note: &Note, config: &ChunkConfig, ruler: &Ruler<'_>) -> Vec<Piece> {
    let units = units(note, &(note.body..note.text.len()), config, ruler);
    let mut parts: Vec<Range<usize>> = Vec::new();
    // Tokens of the last part.
    let mut size = 0;
    let mut sections = note.sections.iter().map(|section| section.span.start).peekable();
    for unit in &units {
        let tokens = ruler.tokens(unit);
        let mut heads = false;
        while sections.next_if(|start| *start < unit.end).is_some() {
            heads = true;
        }
        let joins = tokens == 0
            || if size < config.min { size + tokens <= config.max } else { !heads && size + tokens <= config.target };
        match parts.last_mut() {
            Some(part) if joins => {
                part.end = unit.end;
                size += tokens;
            }
            _ => {
                parts.push(unit.clone());
                size = tokens;
            }
        }
    }
    if parts.is_empty() {
        parts.push(note.body..note.text.len());
    }
    if let [.., before, last] = parts.as_slice()
        && size < config.min
        && ruler.tokens(&(before.start..last.end)) <= config.max
    {
        let whole = before.start..last.end;
        parts.truncate(parts.len() - 2);
        parts.push(whole);
    }
    overlap(note, &mut parts, &units, config, ruler);
    parts.into_iter().map(|span| Piece { sections: sections_of(note, span.start, span.end), span }).collect()
}

/// Lets each part except the first begin with the last units of the part before, if they belong to its section.
pub(super) fn overlap(
    note: &Note,
    parts: &mut [Range<usize>],
    units: &[Range<usize>],
    config: &ChunkConfig,
    ruler: &Ruler<'_>,
) {
    let most = config.overlap_tokens();
    if most == 0 {
        return;
    }
    for i in 1..parts.len() {
        let (before, start) = (parts[i - 1].clone(), parts[i].start);
        let section = sections_of(note, start, start + 1).start;
        let section = note.sections.get(section).map_or(start, |section| section.content.start);
        let first = ruler.first_at(start).saturating_sub(most as usize);
        let Some(from) = ruler.token_starts.get(first) else { continue };
        // At most the second half of the part before is repeated, never all of it.
        let from = (*from as usize).max(before.start + before.len() / 2).max(section);
        let unit = units.get(units.partition_point(|unit| unit.start < from));
        parts[i].start = unit.map_or(start, |unit| unit.start.min(start));
    }
}
