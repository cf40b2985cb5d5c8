//! Org mode as its reader sees it.

use std::ops::Range;

use super::{Gap, Rendered, Writer};
use crate::links::{self, Found};
use crate::marks::unmarked;
use crate::org::{self, MARKS};
use crate::{BlockKind, plain};

/// Renders a piece of Org mode. Drawers, comments and settings are not shown.
pub(super) fn render(source: &str) -> Rendered<'_> {
    let (pass, _) = org::pass(source, 0);
    let mut writer = Writer::new(source);
    let mut headings = pass.headings.into_iter().map(|(heading, _)| heading);
    for block in pass.blocks {
        if block.kind == BlockKind::Heading {
            if let Some(heading) = headings.next() {
                let shown = org::shown(&source[heading.span.clone()]);
                writer.heading(&heading, &shown, heading.span.start);
            }
            continue;
        }
        writer.gap = Gap::Block;
        for line in plain::lines(&source[..block.span.end], block.span.start) {
            let place = links::trimmed(source, line);
            let text = &source[place.clone()];
            match block.kind {
                _ if text.starts_with("#+") => {}
                BlockKind::Code => writer.show(text.strip_prefix(": ").unwrap_or(text), place),
                BlockKind::Table => row(&mut writer, place, &pass.found),
                _ => {
                    let bullet = usize::from(text.starts_with("- ") || text.starts_with("+ ")) * 2;
                    if block.kind == BlockKind::List && org::is_item(text) {
                        writer.gap = Gap::Block;
                    }
                    words(&mut writer, place.start + bullet..place.end, &pass.found);
                }
            }
        }
    }
    writer.finish()
}

/// Shows the cells of a row; a line between rows has none.
fn row(writer: &mut Writer<'_>, place: Range<usize>, found: &Found) {
    let source = writer.source;
    let text = source[place.clone()].trim_start_matches('|');
    if text.starts_with('-') {
        return;
    }
    let mut at = place.end - text.len();
    writer.gap = Gap::Block;
    for (n, cell) in text.trim_end_matches('|').split('|').enumerate() {
        if n > 0 {
            writer.gap = Gap::Cell;
        }
        words(writer, links::trimmed(source, at..at + cell.len()), found);
        at += cell.len() + 1;
    }
}

/// Shows text with its links as what they show.
fn words(writer: &mut Writer<'_>, place: Range<usize>, found: &Found) {
    let source = writer.source;
    let first = found.links.partition_point(|link| link.span.start < place.start);
    // A link that begins on a line before is shown there.
    let before = first.checked_sub(1).map_or(0, |before| found.links[before].span.end);
    let mut at = place.start.max(before.min(place.end));
    for link in found.links[first..].iter().take_while(|link| link.span.start < place.end) {
        writer.show(&unmarked(&source[at..link.span.start], &MARKS), at..link.span.start);
        writer.show(link.alias.as_deref().unwrap_or(&link.target), link.span.clone());
        at = link.span.end;
    }
    let end = at.max(place.end);
    writer.show(&unmarked(&source[at..end], &MARKS), at..end);
}
