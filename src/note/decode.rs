//! Bytes → text. Vaults hold files of many editors and decades; none of them may be lost to its encoding.

use super::Warning;

/// The text of a note and how it was found in the bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    /// The text; a UTF-8 byte order mark is kept in it, so that spans stay those of the file.
    pub(super) text: String,
    /// Where the text starts in `text`: after the byte order mark.
    pub(super) start: usize,
    /// Set if something had to be replaced.
    pub(super) warning: Option<Warning>,
}

/// How much of a text without a mark tells whether it is UTF-16, in units.
const LOOKED_AT: usize = 500;

/// Decodes UTF-8 and UTF-16 as told by the byte order mark, or by a null in most units; anything else lossily. A carriage
/// return alone, the line's end of old Macintoshes, becomes a line feed, which takes as many bytes.
pub(super) fn decode(bytes: &[u8]) -> Decoded {
    let mut decoded = match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => match unmarked(bytes) {
            Some(unit) => utf16(bytes, unit),
            None => utf8(bytes),
        },
    };
    if let Some(at) = decoded.text.find('\0').filter(|_| decoded.warning.is_none()) {
        let line = super::line_at(&decoded.text.as_bytes()[..at]);
        let message = "null characters: it may be no text, or in an encoding that is not read (UTF-32)".to_owned();
        decoded.warning = Some(Warning { line, message });
    }
    if decoded.text.split("\r\n").any(|line| line.contains('\r')) {
        let lines: Vec<String> = decoded.text.split("\r\n").map(|line| line.replace('\r', "\n")).collect();
        decoded.text = lines.join("\r\n");
    }
    decoded
}

/// How units of two bytes are read, if a text without a mark plainly consists of them: one of the two is null in most.
fn unmarked(bytes: &[u8]) -> Option<fn([u8; 2]) -> u16> {
    let units = &bytes.as_chunks::<2>().0;
    let units = &units[..units.len().min(LOOKED_AT)];
    let nulls = |n: usize| units.iter().filter(|unit| unit[n] == 0).count();
    match (nulls(0), nulls(1)) {
        (0, low) if low > 2 && low > units.len() / 2 => Some(u16::from_le_bytes),
        (high, 0) if high > 2 && high > units.len() / 2 => Some(u16::from_be_bytes),
        _ => None,
    }
}

fn utf8(bytes: &[u8]) -> Decoded {
    let warning = std::str::from_utf8(bytes).err().map(|error| Warning {
        line: super::line_at(&bytes[..error.valid_up_to()]),
        message: "bytes that are not UTF-8 are shown as U+FFFD".to_owned(),
    });
    let start = if bytes.starts_with("\u{FEFF}".as_bytes()) { 3 } else { 0 };
    Decoded { text: String::from_utf8_lossy(bytes).into_owned(), start, warning }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Decoded {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len() / 2);
    let mut line = 1;
    let mut broken = None;
    for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        if decoded.is_err() {
            broken = broken.or(Some(line));
        }
        let c = decoded.unwrap_or(char::REPLACEMENT_CHARACTER);
        line += u32::from(c == '\n');
        text.push(c);
    }
    if !odd.is_empty() {
        broken = broken.or(Some(line));
        text.push(char::REPLACEMENT_CHARACTER);
    }
    let warning =
        broken.map(|line| Warning { line, message: "units that are not UTF-16 are shown as U+FFFD".to_owned() });
    Decoded { text, start: 0, warning }
}

#[cfg(test)]
mod tests;
