//! What holds for every note, whoever reads it: the tests of the crate `note`, and the bodies beside this one.

use std::collections::HashSet;
use std::ops::Range;

use super::{BlockKind, Note};

/// Every span lies in the text; sections, blocks and headings are in order, the sections without a gap.
pub(crate) fn whole(note: &Note) {
    let text = note.text.as_str();
    let inside = |span: &Range<usize>| assert!(text.get(span.clone()).is_some(), "{span:?} is no span of the text");
    let begins_line = |at: usize| at == note.body || matches!(text.as_bytes()[at - 1], b'\n' | b'\r');
    assert!(text.is_char_boundary(note.body));

    let mut at = note.body;
    for section in &note.sections {
        assert_eq!(section.span.start, at, "sections follow each other");
        at = section.span.end;
        inside(&section.span);
        inside(&section.content);
        assert!(section.content.start >= section.span.start && section.content.end == section.span.end);
        assert_eq!(section.path.last().copied(), section.heading);
        assert_eq!(note.heading_path(section).len(), section.path.len());
        let levels: Vec<u8> = section.path.iter().map(|heading| note.outline[*heading].level).collect();
        assert!(levels.is_sorted_by(|a, b| a < b));
    }
    assert_eq!(at, text.len(), "sections reach to the end");
    let keys: HashSet<_> = note.sections.iter().map(|section| section.key).collect();
    assert_eq!(keys.len(), note.sections.len(), "keys are unique");

    at = note.body;
    for block in &note.blocks {
        assert!(block.span.start >= at && block.span.start < block.span.end, "blocks are in order");
        at = block.span.end;
        inside(&block.span);
        assert!(begins_line(block.span.start), "{block:?}");
        assert!(block.cuts.is_sorted_by(|a, b| a < b), "{block:?}");
        for cut in &block.cuts {
            assert!(block.span.start < *cut && *cut < block.span.end && begins_line(*cut), "{block:?}");
            assert!(text.is_char_boundary(*cut));
        }
    }
    at = 0;
    for heading in &note.outline {
        assert!(heading.span.start >= at && (1..=6).contains(&heading.level));
        at = heading.span.end;
        inside(&heading.span);
        assert!(note.blocks.iter().any(|block| block.kind == BlockKind::Heading && block.span == heading.span));
    }
    assert!(note.links.is_sorted_by_key(|link| link.span.start));
    note.links.iter().for_each(|link| inside(&link.span));
    assert!(note.hidden.is_sorted_by(|a, b| a.end <= b.start));
    note.hidden.iter().for_each(inside);
    for (id, at) in &note.block_ids {
        let rest = &text[*at..];
        assert!(rest.strip_prefix('^').unwrap_or(rest).starts_with(id.as_str()) || rest.contains(id));
    }
    let last = note.line_of(text.len());
    assert!(note.warnings.iter().all(|warning| (1..=last).contains(&warning.line)));
}
