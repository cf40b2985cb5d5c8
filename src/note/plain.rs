//! Text without structure of its own: the pages of a PDF, one in each line, and the lines of a file of settings.

use std::ops::Range;

use super::markdown::Pass;
use super::{Block, BlockKind};

/// A longer line above a row of dashes is a paragraph, in characters.
const LONGEST_TITLE: usize = 80;

/// The line spans of a text, each with its line feed.
pub(super) fn lines(text: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = start;
    text[start..].split_inclusive('\n').map(move |line| {
        at += line.len();
        at - line.len()..at
    })
}

/// Whether what Markdown takes for a heading is one in plain text, where rows of dashes part paragraphs, too: one line
/// of the length of a title above the row, behind a blank line.
pub(super) fn is_heading(text: &str, body: usize, span: &Range<usize>) -> bool {
    let heading = text[span.clone()].trim();
    let title = heading.lines().next().unwrap_or_default();
    let is_apart = text[body..span.start].lines().next_back().is_none_or(|line| line.trim().is_empty());
    heading.starts_with('#') || is_apart && heading.lines().count() <= 2 && title.chars().count() <= LONGEST_TITLE
}

/// Each line a paragraph: a page.
pub(super) fn pages(text: &str, start: usize) -> Pass {
    let told = lines(text, start).filter(|span| !text[span.clone()].trim().is_empty());
    let page = |span| Block { kind: BlockKind::Paragraph, span, cuts: Vec::new() };
    Pass { blocks: told.map(page).collect(), ..Pass::default() }
}

/// All of it one block of code, which may be cut at any line.
pub(super) fn settings(text: &str, start: usize) -> Pass {
    let span = start..text.len();
    let cuts = lines(text, start).map(|line| line.start).skip(1).collect();
    let blocks = if text[span.clone()].trim().is_empty() {
        Vec::new()
    } else {
        vec![Block { kind: BlockKind::Code, span, cuts }]
    };
    Pass { blocks, ..Pass::default() }
}
