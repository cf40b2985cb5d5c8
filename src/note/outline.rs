//! Headings → outline, sections and the title.

use std::collections::HashMap;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::{Heading, Section};
use crate::fingerprint::section_key;

/// The longest text of a heading in bytes. A longer one is a misplaced paragraph. Every section's key covers the texts
/// of its whole path, so cutting them keeps the work linear.
const LONGEST_HEADING: usize = 300;

/// A heading's text as the outline holds it: white space folded, NFC, without a trailing block id and
/// without trailing `{#id .class}` attributes. `shown` is free of inline markup already.
pub(super) fn heading_text(shown: &str) -> String {
    let folded = fold(&without_comments(shown));
    let mut text = folded.as_str();
    loop {
        let shorter = without_attributes(without_block_id(text));
        if shorter.len() == text.len() {
            break;
        }
        text = shorter;
    }
    let mut text = if is_nfc(text) { text.to_owned() } else { text.nfc().collect() };
    if text.len() > LONGEST_HEADING {
        text.truncate(text.floor_char_boundary(LONGEST_HEADING));
        text.truncate(text.trim_end().len());
    }
    text
}

/// Folds runs of white space to one space each and trims the ends.
pub(super) fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn without_comments(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find("%%") {
        let Some(length) = rest[open + 2..].find("%%") else {
            break;
        };
        left.push_str(&rest[..open]);
        rest = &rest[open + 2 + length + 2..];
    }
    left.push_str(rest);
    left
}

/// Whether `id` is what Obsidian makes and accepts after a caret.
pub(super) fn is_block_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// A line's text without the `^block-id` that it ends with.
pub(super) fn without_block_id(text: &str) -> &str {
    match text.rsplit_once('^') {
        Some((before, id)) if is_block_id(id) && (before.is_empty() || before.ends_with(' ')) => before.trim_end(),
        _ => text,
    }
}

/// Only `{…}` of words that begin with `#` or `.` counts: `{{date}}` and `{a, b}` belong to the heading,
/// which is why the parser's own reading of heading attributes is off.
fn without_attributes(text: &str) -> &str {
    let attributes = text.strip_suffix('}').and_then(|text| text.rsplit_once('{'));
    match attributes {
        Some((before, inside))
            if !inside.trim().is_empty()
                && inside.split_whitespace().all(|word| word.len() > 1 && word.starts_with(['#', '.'])) =>
        {
            before.trim_end()
        }
        _ => text,
    }
}

/// Cuts `body..text.len()` at the headings.
pub(super) fn sections(text: &str, body: usize, outline: &[Heading]) -> Vec<Section> {
    let mut sections = Vec::with_capacity(outline.len() + 1);
    let first = outline.first().map_or(text.len(), |heading| heading.span.start);
    let leads = outline.is_empty() || !text[body..first].trim().is_empty();
    if leads {
        let key = section_key([], 0);
        sections.push(Section { heading: None, path: Vec::new(), key, span: body..first, content: body..first });
    }
    let mut path: Vec<usize> = Vec::new();
    // Equal paths are recognized by the equal path above and the heading's own text, without reading the whole
    // path again: each distinct path has the number of the first heading that had it.
    let mut first_with: HashMap<(Option<usize>, u8, &str), (usize, u32)> = HashMap::with_capacity(outline.len());
    let mut numbers: Vec<usize> = Vec::with_capacity(outline.len());
    for (index, heading) in outline.iter().enumerate() {
        while path.last().is_some_and(|&above| outline[above].level >= heading.level) {
            path.pop();
        }
        let above = path.last().map(|&above| numbers[above]);
        let (number, count) = first_with.entry((above, heading.level, heading.text.as_str())).or_insert((index, 0));
        let ordinal = *count;
        *count += 1;
        numbers.push(*number);
        path.push(index);
        let texts = path.iter().map(|&at| (outline[at].level, outline[at].text.as_str()));
        let key = section_key(texts, ordinal);
        let start = if index == 0 && !leads { body } else { heading.span.start };
        let end = outline.get(index + 1).map_or(text.len(), |next| next.span.start);
        let content = heading.span.end.min(end)..end;
        sections.push(Section { heading: Some(index), path: path.clone(), key, span: start..end, content });
    }
    sections
}

/// The heading that is the note's title if its reader sees nothing before it: the first one, if it is the only one of
/// level 1.
pub(super) fn title(outline: &[Heading]) -> Option<&Heading> {
    let (first, others) = outline.split_first()?;
    (first.level == 1 && !first.text.is_empty() && others.iter().all(|other| other.level > 1)).then_some(first)
}

#[cfg(test)]
mod tests;
