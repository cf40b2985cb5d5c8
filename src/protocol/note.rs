//! Notes as they are on disk, and those that were changed last: `get` and `recent`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audience::Audience;
use crate::hit::LinkedNotes;
use crate::is_default;

/// Parameters of `get`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GetRequest {
    /// The note: its path in its vault, or a name.
    pub path: String,
    /// The vault by name; the default one if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// First line, 1-based.
    #[serde(default, skip_serializing_if = "is_default")]
    pub line: Option<u32>,
    /// Lines at most.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lines: Option<u32>,
    /// Whether the answer says which notes it links to, and which link to it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub links: bool,
    /// Who hears the answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// Answer of `get`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoteText {
    /// Vault.
    pub vault: String,
    /// Path in the vault.
    pub path: String,
    /// Title.
    pub title: String,
    /// The lines asked for, as they are on disk now.
    pub text: String,
    /// 1-based line of the first one.
    pub line: u32,
    /// Lines in the note.
    pub lines: u32,
    /// Modification time, seconds since 1970 (UTC).
    pub mtime: i64,
    /// Whether more lines were there than were asked for or may be sent.
    pub truncated: bool,
    /// What was odd about the note.
    pub warnings: Vec<String>,
    /// The notes it links to, the first 200, if they were asked for and it is indexed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkedNotes>,
    /// The notes that link to it, in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlinks: Option<LinkedNotes>,
}

/// Parameters of `recent`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecentRequest {
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// Notes at most, 1..=200; 20 if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub limit: Option<usize>,
    /// `next` of the answer before.
    #[serde(skip_serializing_if = "is_default")]
    pub after: Option<String>,
    /// Who hears the answer.
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// Answer of `recent`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecentAnswer {
    /// The note that was changed last comes first.
    pub notes: Vec<RecentNote>,
    /// Notes in all.
    pub total: u64,
    /// Give this as `after` to go on; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A note, in the answer of `recent`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecentNote {
    /// Vault.
    pub vault: String,
    /// Path in the vault.
    pub path: String,
    /// Title.
    pub title: String,
    /// Tags without `#`.
    pub tags: Vec<String>,
    /// Kind of note.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub note_type: Option<String>,
    /// Modification time when it was indexed, seconds since 1970 (UTC).
    pub mtime: i64,
    /// Bytes of its file.
    pub bytes: u64,
}
