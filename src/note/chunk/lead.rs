//! What stands at the head of a block and is needed to understand any part of it: the header of a table, the
//! opening line of a fence, the title of a callout, the line that leads to a list.

use std::ops::Range;

use super::Ruler;
use crate::{Block, BlockKind, Note};

/// A longer head would drown the words of the part that it is put before.
const MOST_TOKENS: u32 = 96;
/// The same in bytes, since a ruler or a single odd word can be of any length.
const MOST_BYTES: usize = 2048;

/// The head of the block that holds `start`, if the block has one that ends before `start`; bytes of [`Note::text`].
pub(super) fn lead(note: &Note, start: usize, ruler: &Ruler<'_>) -> Option<Range<usize>> {
    let index = note.blocks.partition_point(|block| block.span.end <= start);
    let block = note.blocks.get(index).filter(|block| block.span.start <= start)?;
    let text = note.text.get(block.span.clone())?;
    let inside = block.span.start < start;
    let head = match block.kind {
        BlockKind::Table if inside => block.span.start..*block.cuts.first()?,
        BlockKind::Code if inside && ["```", "~~~"].iter().any(|fence| text.trim_start().starts_with(fence)) => {
            first_line(block)
        }
        BlockKind::Quote if inside && text.trim_start_matches(['>', ' ']).starts_with("[!") => first_line(block),
        BlockKind::List => lead_in(note, index, ruler)?,
        _ => return None,
    };
    let head = trimmed(note, head);
    (head.end <= start && fits(note, &head, ruler)).then_some(head)
}

/// The paragraph right before a list, or its last line if it is long, if it ends with a colon.
fn lead_in(note: &Note, list: usize, ruler: &Ruler<'_>) -> Option<Range<usize>> {
    let [before, list] = note.blocks.get(list.checked_sub(1)?..=list)? else { return None };
    let between = note.text.get(before.span.end..list.span.start)?;
    let paragraph = trimmed(note, before.span.clone());
    let text = &note.text[paragraph.clone()];
    if before.kind != BlockKind::Paragraph || !between.trim().is_empty() || !text.ends_with([':', '：']) {
        return None;
    }
    let last = text.rfind('\n').map_or(paragraph.start, |newline| paragraph.start + newline + 1);
    Some(if fits(note, &paragraph, ruler) { paragraph } else { last..paragraph.end })
}

fn first_line(block: &Block) -> Range<usize> {
    let end = block.cuts.first().copied().unwrap_or(block.span.end);
    block.span.start..end
}

fn trimmed(note: &Note, span: Range<usize>) -> Range<usize> {
    let text = note.text.get(span.clone()).unwrap_or_default();
    span.start..span.start + text.trim_end().len()
}

fn fits(note: &Note, span: &Range<usize>, ruler: &Ruler<'_>) -> bool {
    let words = &note.text[span.clone()];
    // The ruler below a table's header has many tokens and no words: neither lane sees it.
    let line = words.find('\n').map_or(span.end, |newline| span.start + newline);
    let counted = if words.starts_with('|') { span.start..line } else { span.clone() };
    !span.is_empty() && span.len() <= MOST_BYTES && ruler.tokens(&counted) <= MOST_TOKENS
}
