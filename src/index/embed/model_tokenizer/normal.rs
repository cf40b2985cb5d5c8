//! What a tokenizer does to a text before it cuts it into words: the steps of `normalizer`.

use serde::Deserialize;
use unicode_general_category::{GeneralCategory as G, get_general_category};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation as _;

use super::super::base64::bytes_of;
use super::super::tokenizer::is_ideograph;

/// A step.
#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Normal {
    BertNormalizer {
        clean_text: bool,
        handle_chinese_chars: bool,
        /// As `lowercase` if absent.
        strip_accents: Option<bool>,
        lowercase: bool,
    },
    Lowercase,
    #[serde(rename = "NFC")]
    Nfc,
    #[serde(rename = "NFD")]
    Nfd,
    #[serde(rename = "NFKC")]
    Nfkc,
    #[serde(rename = "NFKD")]
    Nfkd,
    StripAccents,
    Strip {
        strip_left: bool,
        strip_right: bool,
    },
    Prepend {
        prepend: String,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    /// SentencePiece's table of characters.
    Precompiled {
        precompiled_charsmap: Characters,
    },
    Sequence {
        normalizers: Vec<Normal>,
    },
}

impl Normal {
    /// The text after the step.
    pub(super) fn apply(&self, text: String) -> String {
        match self {
            Normal::BertNormalizer { clean_text, handle_chinese_chars, strip_accents, lowercase } => {
                let text = if *clean_text || *handle_chinese_chars {
                    spaced(&text, *clean_text, *handle_chinese_chars)
                } else {
                    text
                };
                let strip = strip_accents.unwrap_or(*lowercase) && !text.is_ascii();
                let mark = |c: &char| get_general_category(*c) == G::NonspacingMark;
                let text = if strip { text.nfd().filter(|c| !mark(c)).collect() } else { text };
                if *lowercase { lowered(text) } else { text }
            }
            Normal::Lowercase => lowered(text),
            Normal::Nfc | Normal::Nfd | Normal::Nfkc | Normal::Nfkd if text.is_ascii() => text,
            Normal::Nfc => text.nfc().collect(),
            Normal::Nfd => text.nfd().collect(),
            Normal::Nfkc => text.nfkc().collect(),
            Normal::Nfkd => text.nfkd().collect(),
            Normal::StripAccents => text.chars().filter(|c| !is_combining_mark(*c)).collect(),
            Normal::Strip { strip_left, strip_right } => {
                let left = if *strip_left { text.trim_start() } else { &text };
                (if *strip_right { left.trim_end() } else { left }).to_owned()
            }
            Normal::Prepend { prepend } if !text.is_empty() => format!("{prepend}{text}"),
            Normal::Prepend { .. } => text,
            Normal::Replace { pattern, content } => pattern.replace(text, content),
            Normal::Precompiled { precompiled_charsmap } => precompiled_charsmap.apply(&text),
            Normal::Sequence { normalizers } => normalizers.iter().fold(text, |text, step| step.apply(text)),
        }
    }
}

/// Without control characters, with spaces for white space and around ideographs.
fn spaced(text: &str, clean: bool, ideographs: bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if clean && (c.is_whitespace() || matches!(c, '\t' | '\n' | '\r')) {
            out.push(' ');
        } else if clean && (c == char::REPLACEMENT_CHARACTER || is_control(c)) {
        } else if ideographs && is_ideograph(c) {
            out.extend([' ', c, ' ']);
        } else {
            out.push(c);
        }
    }
    out
}

fn is_control(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    matches!(get_general_category(c), G::Control | G::Format | G::Unassigned | G::PrivateUse)
}

/// Character by character: no letter depends on its neighbours.
fn lowered(mut text: String) -> String {
    if text.is_ascii() {
        text.make_ascii_lowercase();
        return text;
    }
    text.chars().flat_map(char::to_lowercase).collect()
}

/// What is replaced.
#[derive(Deserialize)]
pub(super) enum Pattern {
    String(String),
    Regex(Run),
}

impl Pattern {
    fn replace(&self, text: String, by: &str) -> String {
        match self {
            Pattern::String(pattern) if pattern.is_empty() || !text.contains(pattern.as_str()) => text,
            Pattern::String(pattern) => text.replace(pattern.as_str(), by),
            Pattern::Regex(run) => run.replace(&text, by),
        }
    }
}

/// A run of white space: of all expressions that a tokenizer may have, the ones that tables use.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Run {
    least: usize,
    only_spaces: bool,
}

impl TryFrom<String> for Run {
    type Error = String;

    fn try_from(expression: String) -> Result<Self, String> {
        let run = |least, only_spaces| Ok(Run { least, only_spaces });
        match expression.as_str() {
            r"\s+" => run(1, false),
            r"\s{2,}" => run(2, false),
            " +" => run(1, true),
            " {2,}" => run(2, true),
            other => Err(format!("the expression `{}` is not known here", other.escape_debug())),
        }
    }
}

impl Run {
    fn replace(&self, text: &str, by: &str) -> String {
        let is_space = |c: char| if self.only_spaces { c == ' ' } else { c.is_whitespace() };
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_space) {
            let (before, after) = rest.split_at(start);
            let length = after.find(|c| !is_space(c)).unwrap_or(after.len());
            let (run, after) = after.split_at(length);
            out.push_str(before);
            out.push_str(if run.chars().count() >= self.least { by } else { run });
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// SentencePiece's table: a double array (Darts) that leads from the bytes of characters to their replacement.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Characters {
    units: Box<[u32]>,
    /// The replacements, each ended by a zero.
    texts: String,
}

impl TryFrom<String> for Characters {
    type Error = String;

    fn try_from(base64: String) -> Result<Self, String> {
        let damaged = || "the table of characters in `precompiled_charsmap` is damaged".to_owned();
        let bytes = bytes_of(&base64).ok_or_else(damaged)?;
        let (length, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let (units, texts) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
        let units = units.as_chunks().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        Ok(Characters { units, texts: String::from_utf8(texts.to_vec()).map_err(|_| damaged())? })
    }
}

impl Characters {
    /// Replaces a grapheme if it is short and in the table, else each of its characters that is in the table.
    fn apply(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for grapheme in text.graphemes(true) {
            if let Some(whole) = self.place_of(grapheme).filter(|_| grapheme.len() < 6) {
                out.push_str(whole);
                continue;
            }
            for c in grapheme.chars() {
                match self.place_of(c.encode_utf8(&mut [0; 4])) {
                    Some(other) => out.push_str(other),
                    None => out.push(c),
                }
            }
        }
        out
    }

    /// The replacement of the shortest beginning of `part` that is in the table, as in SentencePiece's readers.
    fn place_of(&self, part: &str) -> Option<&str> {
        let offset = |unit: u32| (unit >> 10) << ((unit & 0x200) >> 6);
        let mut place = offset(*self.units.first()?);
        for byte in part.bytes().take_while(|byte| *byte != 0) {
            place ^= u32::from(byte);
            let unit = *self.units.get(place as usize)?;
            if unit & 0x8000_00ff != u32::from(byte) {
                return None;
            }
            place ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let start = *self.units.get(place as usize)? & 0x7fff_ffff;
                return self.texts.get(start as usize..)?.split('\0').next();
            }
        }
        None
    }
}
