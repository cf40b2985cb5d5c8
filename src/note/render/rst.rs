//! reStructuredText as its reader sees it.

use std::ops::Range;

use super::{Gap, Rendered, Writer, has_words};
use crate::rst::{self, words};
use crate::{BlockKind, links, plain};

/// Renders a piece of reStructuredText. Comments, targets, options of directives and drawn lines are not shown.
pub(super) fn render(source: &str) -> Rendered<'_> {
    let pass = rst::pass(source, 0);
    let mut writer = Writer::new(source);
    let mut headings = pass.headings.into_iter().map(|(heading, _)| heading);
    for block in pass.blocks {
        if block.kind == BlockKind::Heading {
            if let Some(heading) = headings.next() {
                // A title may have a line above it.
                let text = &source[heading.span.clone()];
                let above = text.find(char::is_alphanumeric).unwrap_or(0);
                writer.heading(&heading, &heading.text, heading.span.start + above);
            }
            continue;
        }
        writer.gap = Gap::Block;
        for line in plain::lines(&source[..block.span.end], block.span.start) {
            if pass.found.comments.binary_search_by_key(&line.start, |comment| comment.start).is_err() {
                self::line(&mut writer, line);
            }
        }
    }
    // Which of two adornments is the outer one, the whole note tells.
    writer.headings.clear();
    writer.finish()
}

fn line(writer: &mut Writer<'_>, line: Range<usize>) {
    let place = links::trimmed(writer.source, line.clone());
    let Some(shown) = shown(&writer.source[place.clone()], place.start > line.start) else { return };
    let item = ["- ", "* ", "+ ", "#. "].iter().find_map(|bullet| shown.strip_prefix(bullet));
    if item.is_some() {
        writer.gap = Gap::Block;
    }
    writer.show(&words(item.unwrap_or(shown).trim_matches('|').trim()), place);
}

/// What a line shows; `None` if that is nothing.
fn shown(line: &str, indented: bool) -> Option<&str> {
    if !has_words(line) {
        return None;
    }
    let is_option = |line: &str| line.strip_prefix(':').is_some_and(|rest| rest.contains(": ") || rest.ends_with(':'));
    if let Some(marked) = line.strip_prefix(".. ") {
        // The text of a footnote or of a remark; not the file or language that other directives name.
        let footnote = marked.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(_, text)| text);
        let remark = || marked.split_once(":: ").map(|(_, text)| text).filter(|text| text.trim().contains(' '));
        return footnote.or_else(remark).map(str::trim);
    }
    if indented && is_option(line) {
        return None;
    }
    Some(line.strip_suffix("::").map_or(line, |before| &line[..=before.len()]))
}
