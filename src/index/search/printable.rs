//! What may reach a terminal.
//!
//! Text of notes, file names and models can hold sequences that recolour, retitle or rewrite a terminal,
//! turn the reading direction around, or hide. Everything the program prints that it did not write itself
//! goes through [`printable`] or [`printable_lines`].

use std::borrow::Cow;

/// `text` as one line that cannot do anything to a terminal but be shown: no escape sequences, control
/// characters, bidirectional controls or invisible characters; tabs and line ends become spaces.
pub fn printable(text: &str) -> Cow<'_, str> {
    clean(text, false)
}

/// As [`printable`], but line feeds and tabs stay. What else ends a line somewhere becomes a space, so that lines keep
/// their numbers.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    clean(text, true)
}

/// JSON in which the characters that a terminal must not get are escaped as `\uXXXX`: the same value, and harmless. In
/// JSON such characters are only in strings, so no other text may be given.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    use std::fmt::Write as _;
    let wild = |c: char| is_hidden(c) || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
    if !json.contains(wild) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if wild(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn clean(text: &str, lines: bool) -> Cow<'_, str> {
    // Nearly all text passes here, and the processor checks many bytes at a time.
    if text.bytes().all(|b| matches!(b, b' '..=b'~') || (lines && matches!(b, b'\n' | b'\t'))) {
        return Cow::Borrowed(text);
    }
    let is_shown = |c: char| !is_hidden(c) && !is_joiner(c) && (!is_space(c) || (lines && matches!(c, '\n' | '\t')));
    let tame = |c: char| matches!(c, ' '..='~') || is_shown(c);
    if text.chars().all(tame) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = after;
        match c {
            '\u{1B}' => rest = after_escape(after),
            '\u{90}' | '\u{98}' | '\u{9B}' | '\u{9D}'..='\u{9F}' => {
                rest = after_sequence(c, after).unwrap_or(after);
            }
            '\r' if after.starts_with('\n') => {}
            '\t' => out.push(if lines { '\t' } else { ' ' }),
            '\n' if lines => out.push('\n'),
            '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push(' '),
            c if is_joiner(c) => {
                if joins(out.chars().next_back(), after.chars().next()) {
                    out.push(c);
                }
            }
            c if is_hidden(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// White space that moves the cursor.
fn is_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\u{B}' | '\u{C}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Never printed: C0 and C1 controls and DEL, bidirectional controls, and characters without a shape
/// (zero-width space, word joiner and its kin, byte order mark, annotation marks, tag characters, which
/// can carry a whole hidden message).
fn is_hidden(c: char) -> bool {
    (c.is_control() && !is_space(c))
        || matches!(c,
            '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{206F}'
            | '\u{200B}' | '\u{2060}'..='\u{2065}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{180E}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Zero-width joiner and non-joiner: spelling in Persian and the scripts of India, glue in emoji.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}')
}

/// Joiners stay between two visible characters of such scripts; anywhere else they only hide something.
fn joins(before: Option<char>, after: Option<char>) -> bool {
    let visible = |c: char| !c.is_ascii() && !c.is_whitespace() && !is_joiner(c) && !is_hidden(c) && !is_space(c);
    before.is_some_and(visible) && after.is_some_and(visible)
}

/// What follows an escape sequence whose ESC stood just before `rest`. A sequence that is not complete
/// loses its ESC only: the rest of it is harmless then, and text must not vanish because of a stray byte.
fn after_escape(rest: &str) -> &str {
    let c1 = match rest.bytes().next() {
        Some(b'[') => '\u{9B}',
        Some(b']') => '\u{9D}',
        Some(b'P') => '\u{90}',
        Some(b'X') => '\u{98}',
        Some(b'^') => '\u{9E}',
        Some(b'_') => '\u{9F}',
        // The choice of a character set, as `tput sgr0` writes it.
        Some(b'(' | b')' | b'*' | b'+') => {
            let chosen = matches!(rest.as_bytes().get(1), Some(0x30..=0x7E));
            return if chosen { &rest[2..] } else { rest };
        }
        _ => return rest,
    };
    after_sequence(c1, &rest[1..]).unwrap_or(rest)
}

/// What follows the control sequence or control string that `introducer` began; `None` if it does not
/// end (for a string: on the same line).
fn after_sequence(introducer: char, rest: &str) -> Option<&str> {
    if introducer == '\u{9B}' {
        let end = rest.bytes().position(|b| !(0x20..=0x3F).contains(&b))?;
        return (0x40..=0x7E).contains(&rest.as_bytes()[end]).then(|| &rest[end + 1..]);
    }
    // Whatever control comes first ends the search, so that a flood of introducers costs no more than its length.
    let end = rest.find(|c: char| c.is_control() && c != '\t')?;
    match rest[end..].chars().next()? {
        '\u{1B}' => rest[end..].strip_prefix("\u{1B}\\"),
        terminator @ ('\u{7}' | '\u{9C}') => Some(&rest[end + terminator.len_utf8()..]),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
