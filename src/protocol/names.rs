//! Names that vaults have: of notes, tags, folders, kinds of notes and properties: `names`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audience::Audience;
use crate::is_default;

/// What is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameKind {
    /// Notes, by title and aliases.
    #[default]
    Notes,
    /// Tags, without `#`; `a` counts notes of `a/b` too.
    Tags,
    /// Folders; each counts the notes in and below it.
    Folders,
    /// Kinds of notes.
    Types,
    /// Properties of notes, as `prop.NAME:` asks for them.
    Properties,
}

/// Parameters of `names`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NamesRequest {
    /// Which names.
    pub what: NameKind,
    /// Only names that hold this, in any case; those that begin with it first.
    #[serde(skip_serializing_if = "is_default")]
    pub like: Option<String>,
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// Names at most, 1..=1000; 100 if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub limit: Option<usize>,
    /// Who hears the answer.
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// Answer of `names`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamesAnswer {
    /// Those that begin with what was asked for, then those of most notes; notes changed last first.
    pub names: Vec<Name>,
    /// Names in all.
    pub total: u64,
}

/// A name, in the answer of `names`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Name {
    /// As it is written most often; of a note the title, or the alias that was asked for.
    pub name: String,
    /// Notes that have it, in all vaults asked; 1 for a note.
    pub notes: u64,
    /// The note's path in its vault; absent for other names.
    #[serde(default, skip_serializing_if = "is_default")]
    pub path: Option<String>,
    /// The note's vault; absent for other names.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: Option<String>,
}
