//! Text of notes as an assistant may see it: what a person who reads the note would see, and nothing that hides in it.

use index::search::{printable, printable_lines};

/// Text of several lines: no invisible characters, nothing that turns the reading direction around or steers a terminal.
/// Lines stay where they are, so that their numbers hold. The daemon, which knows where a note has code, has taken comments
/// out.
pub(super) fn text(text: &str) -> String {
    seen(&printable_lines(text))
}

/// The same as one line.
pub(super) fn line(text: &str) -> String {
    seen(&printable(text))
}

/// The path of a note, or the name of a vault: hidden characters are written out as `\u{…}`, so that it can be seen and
/// still be found ([`named`]).
pub(super) fn name(text: &str) -> String {
    if line(text) == text {
        return text.to_owned();
    }
    text.chars().map(|c| if shows(c) { c.to_string() } else { format!("\\u{{{:x}}}", u32::from(c)) }).collect()
}

/// Digits of a code point, at most.
const LONGEST_CODE: usize = 6;

/// Undoes [`name`].
pub(super) fn named(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\u{") {
        let code = &rest[at + 3..];
        let end = code.bytes().take(LONGEST_CODE + 1).position(|byte| byte == b'}');
        let hidden =
            end.and_then(|end| Some((char::from_u32(u32::from_str_radix(&code[..end], 16).ok()?)?, &code[end + 1..])));
        let Some((c, after)) = hidden.filter(|(c, _)| !shows(*c)) else {
            out.push_str(&rest[..at + 3]);
            rest = &rest[at + 3..];
            continue;
        };
        out.push_str(&rest[..at]);
        out.push(c);
        rest = after;
    }
    out.push_str(rest);
    out
}

fn shows(c: char) -> bool {
    let alone = c.encode_utf8(&mut [0; 4]).to_owned();
    seen(&printable(&alone)) == alone
}

fn seen(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // It selects a shape of the character before it; a row of them says something only to a machine.
        let again = is_shape(c) && out.chars().next_back().is_none_or(|last| is_shape(last) || last.is_whitespace());
        if !is_invisible(c) && !again {
            out.push(c);
        }
    }
    out
}

/// Characters without a shape that [`printable()`] leaves, since they do no harm to a terminal.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{3164}' | '\u{FFA0}' | '\u{FE00}'..='\u{FE0D}' | '\u{1D173}'..='\u{1D17A}')
}

/// The two variation selectors that follow emoji: as text or as a picture.
fn is_shape(c: char) -> bool {
    matches!(c, '\u{FE0E}' | '\u{FE0F}')
}

#[cfg(test)]
mod tests;
