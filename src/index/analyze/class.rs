//! The classes of characters that cutting a text into words tells apart.

use unicode_general_category::{GeneralCategory, get_general_category};

/// What a character is when words are cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Lower,
    Upper,
    Letter,
    Digit,
    /// Belongs to the word before it: a mark, a joiner without width.
    Extend,
    Apostrophe,
    Joiner,
    /// A character of a script that is indexed by pairs.
    Paired,
    Other,
}

pub(super) const ASCII: [Class; 128] = {
    let mut table = [Class::Other; 128];
    let mut b = 0u8;
    while b < 128 {
        table[b as usize] = match b {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b'\'' => Class::Apostrophe,
            b'_' | b'-' | b'.' => Class::Joiner,
            _ => Class::Other,
        };
        b += 1;
    }
    table
};

pub(super) fn class(c: char) -> Class {
    if c.is_ascii() {
        return ASCII[c as usize];
    }
    match u32::from(c) {
        0x2019 => Class::Apostrophe,
        0x2010 | 0x2011 => Class::Joiner,
        0xAD | 0x200C | 0x200D => Class::Extend,
        // Thai, Lao, Burmese, Hangul, Khmer, kana and other letters of East Asia, ideographs; not their digits.
        0x0E01..=0x0E3A
        | 0x0E40..=0x0E4E
        | 0x0E80..=0x0ECF
        | 0x0EDC..=0x0EDF
        | 0x1000..=0x103F
        | 0x104C..=0x108F
        | 0x109A..=0x109F
        | 0xAA60..=0xAA7F
        | 0xA9E0..=0xA9EF
        | 0x1100..=0x11FF
        | 0xA960..=0xA97C
        | 0xAC00..=0xD7FB
        | 0x1780..=0x17D3
        | 0x17D7
        | 0x17DC
        | 0x17DD
        | 0x3005..=0x3007
        | 0x3021..=0x302F
        | 0x3031..=0x3035
        | 0x3038..=0x303C
        | 0x3041..=0x309A
        | 0x309D..=0x309F
        | 0x30A1..=0x30FA
        | 0x30FC..=0x31FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFFDC
        | 0x1B000..=0x1B16F
        | 0x20000..=0x3FFFF => Class::Paired,
        _ if c.is_lowercase() => Class::Lower,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_numeric() => Class::Digit,
        _ if is_mark(c) => Class::Extend,
        _ if c.is_alphabetic() => Class::Letter,
        _ => Class::Other,
    }
}

pub(super) fn is_mark(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    matches!(get_general_category(c), NonspacingMark | SpacingMark | EnclosingMark)
}

/// Vowel and tone signs, and the vowels and finals of decomposed Hangul: part of the character before.
pub(super) fn extends_pair(c: char) -> bool {
    matches!(u32::from(c), 0x1160..=0x11FF | 0xD7B0..=0xD7FB | 0xFF9E | 0xFF9F) || is_mark(c)
}
