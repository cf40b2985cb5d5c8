//! The source of a page: made what the parser reads as it was meant, and what its text shows made no Markdown.

use std::borrow::Cow;

/// What stands for a dollar, and for a number sign, of a page until it is converted: controls, which no page shows. The
/// converter takes neither sign for Markdown.
const DOLLAR: char = '\u{1C}';
const HASH: char = '\u{1B}';

/// Elements that have no content (HTML, 13.1.2).
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

/// How far into a page its namespace may stand, in bytes.
const NAMESPACE_WITHIN: usize = 1024;

/// Whether a page is written as XML.
pub(super) fn is_xml(html: &str) -> bool {
    let start = &html[..html.floor_char_boundary(NAMESPACE_WITHIN)];
    start.trim_start().starts_with("<?xml") || start.contains("\"http://www.w3.org/1999/xhtml\"")
}

/// The page for the parser. In XML any element may be closed where it is opened; the parser of HTML would take what follows
/// such a `<title/>` for its content.
pub(super) fn prepared(html: &str, is_xml: bool) -> String {
    let html = if is_xml { closed(html) } else { Cow::Borrowed(html) };
    let mut out = String::with_capacity(html.len());
    let mut rest = &*html;
    while let Some(at) = rest.find(['$', '#', '&', DOLLAR, HASH]) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let signs =
            [("$", DOLLAR), ("&#36;", DOLLAR), ("&dollar;", DOLLAR), ("#", HASH), ("&#35;", HASH), ("&num;", HASH)];
        let sign = signs.iter().find(|(sign, _)| from.starts_with(sign));
        // The number of a character is none of the page's number signs.
        let taken = match sign {
            Some((sign, mark)) => {
                out.push(*mark);
                sign.len()
            }
            None if from.starts_with("&#") => {
                out.push_str("&#");
                2
            }
            None => {
                out.extend(from.strip_prefix('&').map(|_| '&'));
                1
            }
        };
        rest = &from[taken..];
    }
    out.push_str(rest);
    out
}

/// With `<x></x>` for `<x/>`, but for elements that have no content.
fn closed(xml: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(open) = xml[at..].find('<').map(|step| at + step) {
        let rest = &xml[open..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        let skipped = skipped.into_iter().find(|(begin, _)| rest.starts_with(begin));
        let length = if let Some((begin, end)) = skipped {
            // One that never ends hides all the rest.
            let Some(length) = rest[begin.len()..].find(end) else { break };
            begin.len() + length + end.len()
        } else {
            let Some(length) = tag_length(rest) else {
                at = open + 1;
                continue;
            };
            length
        };
        at = open + length;
        let Some(tag) = xml[open + 1..at].strip_suffix("/>").filter(|_| skipped.is_none()) else { continue };
        let name = &tag[..tag.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(tag.len())];
        if name.starts_with(|c: char| c.is_ascii_alphabetic())
            && !VOID.iter().any(|void| void.eq_ignore_ascii_case(name))
        {
            out.push_str(&xml[copied..at - "/>".len()]);
            out.push_str("></");
            out.push_str(name);
            out.push('>');
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(xml);
    }
    out.push_str(&xml[copied..]);
    Cow::Owned(out)
}

/// The length of the tag that a text begins with, whose values may hold `>`.
fn tag_length(text: &str) -> Option<usize> {
    if !text[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            (b'<', None) if at > 0 => return None,
            (b'>', None) => return Some(at + 1),
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    None
}

/// The page's own signs within code, where nothing is Markdown.
pub(super) fn plain(text: &str) -> String {
    text.replace(DOLLAR, "$").replace(HASH, "#")
}

/// The page's own signs, with a backslash where they would be Markdown: math, a heading, a tag.
pub(super) fn finished(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let before = out.chars().next_back();
        match c {
            DOLLAR => out.push_str("\\$"),
            HASH => {
                let after = text[at + HASH.len_utf8()..].chars().next();
                let begins = out.trim_end_matches([' ', '\t']).chars().next_back().is_none_or(|c| c == '\n');
                let is_tag = before.is_none_or(|c| !c.is_alphanumeric()) && after.is_some_and(|c| !c.is_whitespace());
                out.push_str(if begins || is_tag { "\\#" } else { "#" });
            }
            c => out.push(c),
        }
    }
    out
}
