//! A section too long for one chunk, cut where it hurts least: between blocks, else between the lines,
//! items or rows of a block, else between tokens.

use std::ops::Range;

use super::{ChunkConfig, Ruler};
use crate::Note;

/// Cuts `span` into parts of about `target` and at most `max` tokens. Parts follow each other; each but the
/// first may begin a little inside the one before (`overlap_percent` of `target`), at a cut.
pub(super) fn split(note: &Note, span: &Range<usize>, config: &ChunkConfig, ruler: &Ruler<'_>) -> Vec<Range<usize>> {
    let units = units(note, span, config, ruler);
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut open: Option<(Range<usize>, u32)> = None;
    for unit in units {
        let tokens = ruler.tokens(&unit);
        match &mut open {
            Some((part, size))
                if tokens == 0
                    || *size + tokens <= config.target
                    || (*size < config.min && *size + tokens <= config.max) =>
            {
                part.end = unit.end;
                *size += tokens;
            }
            _ => {
                parts.extend(open.take().map(|(part, _)| part));
                open = Some((unit, tokens));
            }
        }
    }
    if let Some((last, size)) = open {
        // A remainder too small to stand alone goes with the part before it.
        match parts.last_mut() {
            Some(before) if size < config.min && ruler.tokens(before) + size <= config.max => before.end = last.end,
            _ => parts.push(last),
        }
    }
    overlap(note, parts, config, ruler)
}

/// The smallest spans that are kept together, in order and without gaps.
fn units(note: &Note, span: &Range<usize>, config: &ChunkConfig, ruler: &Ruler<'_>) -> Vec<Range<usize>> {
    let mut units = Vec::new();
    let mut at = span.start;
    let blocks = &note.blocks[note.blocks.partition_point(|b| b.span.end <= span.start)..];
    for block in blocks.iter().take_while(|b| b.span.start < span.end) {
        let end = block.span.end.clamp(at, span.end);
        if ruler.tokens(&(at..end)) <= config.max {
            units.push(at..end);
        } else {
            cut_block(note, at..end, &block.cuts, config, ruler, &mut units);
        }
        at = end;
    }
    if at < span.end {
        cut_block(note, at..span.end, &[], config, ruler, &mut units);
    }
    units
}

/// A block over the limit: at its cuts, lines that are still too long between tokens.
pub(super) fn cut_block(
    note: &Note,
    block: Range<usize>,
    cuts: &[usize],
    config: &ChunkConfig,
    ruler: &Ruler<'_>,
    units: &mut Vec<Range<usize>>,
) {
    let mut at = block.start;
    let inner = cuts.iter().copied().filter(|cut| *cut > block.start && *cut < block.end);
    for end in inner.chain([block.end]) {
        while let Some(cut) = ruler.position_after(at, config.max).filter(|cut| *cut < end) {
            let cut = sentence_end(note, at, cut);
            units.push(at..cut);
            at = cut;
        }
        if at < end {
            units.push(at..end);
            at = end;
        }
    }
}

/// The last end of a line or sentence before `cut`, if that is not too far back; else `cut`.
fn sentence_end(note: &Note, start: usize, cut: usize) -> usize {
    let half = note.text.floor_char_boundary(start + (cut - start) / 2);
    let tail = &note.text[half..cut];
    let ends = ["\n", ". ", "? ", "! ", "。", "？", "！"];
    let found = ends.iter().filter_map(|end| tail.rfind(end).map(|at| half + at + end.len())).max();
    found.unwrap_or(cut)
}

fn overlap(note: &Note, parts: Vec<Range<usize>>, config: &ChunkConfig, ruler: &Ruler<'_>) -> Vec<Range<usize>> {
    let most = config.target * config.overlap_percent / 100;
    let mut out: Vec<Range<usize>> = Vec::with_capacity(parts.len());
    for part in parts {
        let start = match out.last() {
            Some(before) if most > 0 => overlap_start(note, before, part.start, most, ruler),
            _ => part.start,
        };
        out.push(start..part.end);
    }
    out
}

/// The earliest line start in the second half of `before` from which at most `most` tokens lie before `start`.
fn overlap_start(note: &Note, before: &Range<usize>, start: usize, most: u32, ruler: &Ruler<'_>) -> usize {
    let first = ruler.first_at(start).saturating_sub(most as usize);
    let Some(from) = ruler.token_starts.get(first) else { return start };
    let from = (*from as usize).max(before.start + before.len() / 2).min(start);
    let from = note.text.ceil_char_boundary(from);
    if note.text[..from].ends_with('\n') {
        return from;
    }
    match note.text[from..start].find('\n') {
        Some(newline) => from + newline + 1,
        None => start,
    }
}
