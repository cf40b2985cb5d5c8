//! Cuts a block that is too long for one chunk into units that fit.

use std::ops::Range;

use super::{ChunkConfig, Ruler};
use crate::Note;

/// Cuts a block over the limit at its cuts, and lines that are still too long between tokens.
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

/// The last end of a line or sentence before `cut`, or else of a word or clause, if one is not too far back; else `cut`.
fn sentence_end(note: &Note, start: usize, cut: usize) -> usize {
    let half = note.text.floor_char_boundary(start + (cut - start) / 2);
    let tail = &note.text[half..cut];
    let ends = ["\n", ". ", "? ", "! ", "。", "？", "！"];
    let sentence = ends.iter().filter_map(|end| Some(tail.rfind(end)? + end.len())).max();
    let after =
        |is_end: fn(char) -> bool| tail.char_indices().rfind(|(_, c)| is_end(*c)).map(|(at, c)| at + c.len_utf8());
    let is_mark = |c: char| c.is_ascii_punctuation() || matches!(c, '，' | '、' | '；');
    sentence.or_else(|| after(char::is_whitespace)).or_else(|| after(is_mark)).map_or(cut, |end| half + end)
}
