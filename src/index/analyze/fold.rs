//! The normal form of a word.

use unicode_normalization::UnicodeNormalization as _;

use super::{Kind, LONGEST};

/// Whether words of a kind have stems.
pub(super) fn stems(kind: Kind) -> bool {
    matches!(kind, Kind::Word | Kind::Part | Kind::Whole)
}

/// Appends the normal form of a word.
pub(super) fn normalize(word: &str, kind: Kind, out: &mut String) {
    if word.is_ascii() {
        normalize_ascii(word, kind, out);
    } else if matches!(kind, Kind::Pair | Kind::Single) {
        let selector = |c: &char| matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}');
        out.extend(word.nfkc().filter(|c| !selector(c)).flat_map(char::to_lowercase));
    } else {
        for c in word.chars().take(LONGEST * 2).nfkd().flat_map(char::to_lowercase).nfkd() {
            push_folded(c, kind, out);
        }
    }
    if out.len() > LONGEST {
        out.truncate(out.floor_char_boundary(LONGEST));
    }
}

fn normalize_ascii(word: &str, kind: Kind, out: &mut String) {
    let word = &word[..word.len().min(LONGEST * 2)];
    // The whole of a date or a version keeps its joiners: 3.14 is not 314.
    let numeric = kind == Kind::Whole && !word.bytes().any(|b| b.is_ascii_alphabetic());
    for b in word.bytes() {
        if numeric || kind == Kind::Symbols || b.is_ascii_alphanumeric() {
            out.push(char::from(b.to_ascii_lowercase()));
        }
    }
}

fn push_folded(c: char, kind: Kind, out: &mut String) {
    let folded = match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ł' => "l",
        'ħ' => "h",
        'ı' => "i",
        'þ' => "th",
        'ς' => "σ",
        // Apostrophes, joiners, and characters without width are no part of a word's form.
        '\u{AD}' | '\u{200C}' | '\u{200D}' | '\u{2019}' | '\u{2010}' | '\u{2011}' | '\'' | '_' | '-' | 'ـ' => "",
        '.' if kind == Kind::Whole => "",
        // The accents of Latin, Greek and Cyrillic; the points of Hebrew and Arabic.
        '\u{300}'..='\u{36F}'
        | '\u{483}'..='\u{487}'
        | '\u{591}'..='\u{5C7}'
        | '\u{610}'..='\u{61A}'
        | '\u{64B}'..='\u{65F}'
        | '\u{670}'
        | '\u{6D6}'..='\u{6ED}'
        | '\u{1AB0}'..='\u{1AFF}'
        | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20F0}'
        | '\u{FE20}'..='\u{FE2F}' => "",
        _ => return out.push(c),
    };
    out.push_str(folded);
}
