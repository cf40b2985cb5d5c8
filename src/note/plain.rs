//! Text without structure of its own: the pages of a PDF, one in each line, and the lines of a file of settings.

use std::ops::Range;

use super::markdown::Pass;
use super::{Block, BlockKind};

/// The line spans of a text, each with its line feed.
pub(super) fn lines(text: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = start;
    text[start..].split_inclusive('\n').map(move |line| {
        at += line.len();
        at - line.len()..at
    })
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
