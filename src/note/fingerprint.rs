//! Fingerprints: what the program compares instead of text.
//!
//! Every fingerprint is the first 16 bytes of a BLAKE3 hash over *length-prefixed* fields under a
//! *version tag*. The prefixes make `["ab", "c"]` and `["a", "bc"]` differ; the tag makes the hashes
//! of different kinds differ and lets one kind change its recipe without touching the others.
//! `std::hash` would not do: its output may change with the compiler. The golden digests in the tests
//! below pin every recipe: if one of them has to change, its version tag changes with it, and every
//! stored record that used it counts as unknown.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Feeds length-prefixed fields to BLAKE3 under a version tag.
#[derive(Clone)]
pub struct Fields(blake3::Hasher);

impl Fields {
    /// Starts a fingerprint of the kind and version named by `tag`, e.g. `"structure/1"`.
    pub fn new(tag: &str) -> Self {
        Fields(blake3::Hasher::new()).bytes(tag.as_bytes())
    }

    /// Adds one field.
    #[must_use]
    pub fn bytes(mut self, field: &[u8]) -> Self {
        self.0.update(&(field.len() as u64).to_le_bytes());
        self.0.update(field);
        self
    }

    /// Adds a number as a field of eight little-endian bytes.
    #[must_use]
    pub fn number(self, n: u64) -> Self {
        self.bytes(&n.to_le_bytes())
    }

    /// The first 16 bytes of the hash.
    pub fn finish(self) -> [u8; 16] {
        let mut out = [0; 16];
        out.copy_from_slice(&self.0.finalize().as_bytes()[..16]);
        out
    }
}

macro_rules! fingerprints {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub [u8; 16]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = BadFingerprint;
            fn from_str(s: &str) -> Result<Self, BadFingerprint> {
                parse_hex(s).map($name)
            }
        }
    )*};
}

fingerprints! {
    /// Of a note's or a chunk's raw bytes.
    TextHash;
    /// Of a note's outline: the headings in order, each level and normalised text.
    StructureHash;
    /// Of a section's heading path and its ordinal among equal paths.
    SectionKey;
    /// Of a chunk's place: note path, first section, ordinal within it. Content edits do not change it.
    ChunkId;
    /// Of the exact text that is embedded.
    InputHash;
    /// Of what a context was for: the chunk's sections and its text. Finds a context in the archive.
    ContextKey;
}

/// A fingerprint that is not 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a fingerprint: 32 hexadecimal digits are expected")]
pub struct BadFingerprint(String);

fn parse_hex(s: &str) -> Result<[u8; 16], BadFingerprint> {
    let bad = || BadFingerprint(s.chars().take(40).collect());
    if s.len() != 32 || !s.is_ascii() {
        return Err(bad());
    }
    let mut out = [0; 16];
    for (i, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&s[2 * i..2 * i + 2], 16).map_err(|_| bad())?;
    }
    Ok(out)
}

impl TextHash {
    /// Stands for a text that is not known: no text has this hash.
    pub const UNKNOWN: TextHash = TextHash([0; 16]);
}

/// The hash of raw bytes, for "is this the same text?".
pub fn text_hash(bytes: &[u8]) -> TextHash {
    TextHash(Fields::new("text/1").bytes(bytes).finish())
}

/// The hash of an outline: `(level, normalised text)` of every heading, in order.
pub fn structure_hash<'a>(outline: impl IntoIterator<Item = (u8, &'a str)>) -> StructureHash {
    let fields = outline
        .into_iter()
        .fold(Fields::new("structure/1"), |fields, (level, text)| fields.number(level.into()).bytes(text.as_bytes()));
    StructureHash(fields.finish())
}

/// The key of the section under `path` (outermost heading first; empty before the first heading),
/// the `ordinal`-th (from 0) with exactly this path in its note. Each heading is `(level, text)`:
/// a demoted heading is another section.
pub fn section_key<'a>(path: impl IntoIterator<Item = (u8, &'a str)>, ordinal: u32) -> SectionKey {
    let fields = path
        .into_iter()
        .fold(Fields::new("section/1"), |fields, (level, text)| fields.number(level.into()).bytes(text.as_bytes()));
    SectionKey(fields.number(ordinal.into()).finish())
}

/// The id of the `ordinal`-th (from 0) chunk that begins in section `first` of the note at `path`.
pub fn chunk_id(path: &str, first: SectionKey, ordinal: u32) -> ChunkId {
    ChunkId(Fields::new("chunk/1").bytes(path.as_bytes()).bytes(&first.0).number(ordinal.into()).finish())
}

/// The hash of the text that is embedded, context included.
pub fn input_hash(input: &str) -> InputHash {
    InputHash(Fields::new("input/1").bytes(input.as_bytes()).finish())
}

/// The archive's key for the context of a chunk that holds `sections` and reads `text`.
pub fn context_key(sections: &[SectionKey], text: TextHash) -> ContextKey {
    let fields = sections.iter().fold(Fields::new("context/1"), |fields, key| fields.bytes(&key.0));
    ContextKey(fields.bytes(&text.0).finish())
}

/// A small sample of a text's word shingles, to tell later how much of that text is left.
///
/// A shingle is three consecutive words, hashed to 32 bits; kept are those whose hash is divisible by
/// `2^shift`, with the smallest `shift` that leaves at most [`Sketch::MOST`]. Sampling by hash value
/// (FracMinHash: Irber et al., 2022, bioRxiv 2022.01.11.475838) picks the same shingles from both
/// texts, so containment can be estimated without keeping the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sketch {
    shift: u8,
    shingles: Vec<u32>,
}

impl Sketch {
    /// The most shingles kept of one text: containment is then known to about ±0.06 (one sigma).
    pub const MOST: usize = 64;

    /// The sketch of `text`.
    pub fn of(text: &str) -> Self {
        let mut shingles = shingles(text);
        shingles.sort_unstable();
        shingles.dedup();
        let mut shift = 0;
        while shingles.len() > Self::MOST && shift < 31 {
            shift += 1;
            shingles.retain(|s| s.trailing_zeros() >= shift);
        }
        Sketch { shift: shift as u8, shingles }
    }

    /// The share (0..=1) of the sketched text's shingles that `text` still holds; 1 for an empty sketch.
    pub fn left_in(&self, text: &str) -> f32 {
        if self.shingles.is_empty() {
            return 1.0;
        }
        let mut now = shingles(text);
        now.retain(|s| s.trailing_zeros() >= u32::from(self.shift));
        now.sort_unstable();
        let left = self.shingles.iter().filter(|s| now.binary_search(s).is_ok()).count();
        left as f32 / self.shingles.len() as f32
    }
}

fn shingles(text: &str) -> Vec<u32> {
    let words: Vec<&str> = text.split_whitespace().filter(|w| w.chars().any(char::is_alphanumeric)).collect();
    let width = words.len().clamp(1, 3);
    words
        .windows(width)
        .map(|window| {
            let fields = window.iter().fold(Fields::new("shingle/1"), |f, w| f.bytes(w.as_bytes()));
            let bytes = fields.finish();
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        })
        .collect()
}

#[cfg(test)]
mod tests;
