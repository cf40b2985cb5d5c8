//! Lines that match a regular expression: `grep`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audience::Audience;
use crate::is_default;
use crate::search::SearchFilter;

/// Lines, or notes, of one answer at most.
pub const MAX_LINES: usize = 10_000;

/// Lines around a match at most, on each side.
pub const MAX_CONTEXT: u16 = 50;

/// Whether capitals matter in a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrepCase {
    /// Only if the pattern has one.
    #[default]
    Smart,
    /// They do.
    Sensitive,
    /// They do not.
    Insensitive,
}

/// What an answer of `grep` holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrepWhat {
    /// The lines that match.
    #[default]
    Lines,
    /// How many lines match in each note.
    Counts,
    /// The notes with a match; each is read up to its first one.
    Notes,
}

/// Parameters of `grep`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrepRequest {
    /// A regular expression in the syntax of Rust's `regex` (RE2's: without look-around and backreferences), 4,096 bytes at
    /// most. It is looked for in each line by itself.
    pub pattern: String,
    /// The vault by name; all if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// Which notes are looked at.
    #[serde(default, skip_serializing_if = "is_default")]
    pub filter: Option<SearchFilter>,
    /// The same in the query language: conditions alone, as `tag:work -path:archive`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub within: String,
    /// Whether capitals matter.
    #[serde(default, skip_serializing_if = "is_default")]
    pub case: GrepCase,
    /// Whether the pattern is a text as it stands.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fixed: bool,
    /// Whether only whole words match.
    #[serde(default, skip_serializing_if = "is_default")]
    pub word: bool,
    /// Lines before a match, 0..=50.
    #[serde(default, skip_serializing_if = "is_default")]
    pub before: u16,
    /// Lines after a match, 0..=50.
    #[serde(default, skip_serializing_if = "is_default")]
    pub after: u16,
    /// What the answer holds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub what: GrepWhat,
    /// Lines at most, or notes where the answer holds those, 1..=10,000; 100 if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limit: Option<usize>,
    /// Lines of one note at most.
    #[serde(default, skip_serializing_if = "is_default")]
    pub per_note: Option<usize>,
    /// Wait until notes that were saved before the request are known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fresh: bool,
    /// Who hears the answer: assistants are told neither of private notes nor of comments.
    #[serde(default, skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// Answer of `grep`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrepAnswer {
    /// Notes with a match, by vault and path.
    pub notes: Vec<GrepNote>,
    /// Lines that match in these notes, those that are not told included; of `what: notes` one for each.
    pub lines: u64,
    /// Notes that the conditions let through.
    pub searched: u64,
    /// Of these, the notes whose text was read; that no other can match was known before.
    pub read: u64,
    /// Whether there is more than was asked for.
    pub truncated: bool,
    /// What is missing: notes that could not be read, or searched to their end.
    pub warnings: Vec<String>,
    /// Milliseconds from request to answer.
    pub took_ms: f64,
}

/// A note with a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrepNote {
    /// Vault.
    pub vault: String,
    /// Path in the vault.
    pub path: String,
    /// Title, as of the last look at the note.
    pub title: String,
    /// Lines that match, those that are not told included.
    pub count: u64,
    /// The lines, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<GrepLine>,
}

/// A line that matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrepLine {
    /// Its number, 1-based.
    pub line: u32,
    /// The character at which its first match begins, 1-based.
    pub column: u32,
    /// The line as it stands in the note; of one that is longer than 400 bytes what stands around the first match, with `…`
    /// for the rest.
    pub text: String,
    /// Byte ranges of `text` that match.
    pub highlights: Vec<(u32, u32)>,
    /// Lines before it that no earlier match has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Lines after it, up to the next match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}
