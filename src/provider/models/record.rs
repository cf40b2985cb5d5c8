//! The record of a model beside its files, in `situated.json`.

use std::io::{self, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ModelKind, sha256};

/// The name of the file.
pub const RECORD: &str = "situated.json";

/// The version that is written; one that is newer is not read.
const VERSION: u32 = 1;

/// Longest record: a model has a dozen files.
const MOST_BYTES: u64 = 1 << 20;

/// Where a model came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A hub.
    Hub {
        /// Its host, with its port if that is not the usual one.
        host: String,
        /// `org/name`, with `@revision` if one was asked for.
        model: String,
        /// The commit that all files are of, if the hub said it.
        commit: Option<String>,
    },
    /// A folder of the user's.
    Folder(String),
    /// It was on the shelf before it had a record.
    Found,
}

/// A file, as it was when the model was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Relative to the model's folder.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// In hexadecimal.
    pub sha256: String,
}

impl FileRecord {
    /// The file `path` of `folder` as it is now.
    pub(super) fn of(folder: &Path, path: &str) -> io::Result<Self> {
        let file = folder.join(path);
        let bytes = std::fs::metadata(&file)?.len();
        Ok(FileRecord { path: path.to_owned(), bytes, sha256: sha256(&file)? })
    }
}

/// The record of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRecord {
    version: u32,
    /// What it was added as.
    pub kind: ModelKind,
    /// Where it came from.
    pub origin: Origin,
    /// As its makers name it; `None` if the hub did not say.
    pub licence: Option<String>,
    /// When it was added: RFC 3339, in UTC.
    pub added: String,
    /// Its files.
    pub files: Vec<FileRecord>,
}

impl ModelRecord {
    /// The record of a model that is added now.
    pub(super) fn new(kind: ModelKind, origin: Origin, licence: Option<String>, files: Vec<FileRecord>) -> Self {
        let added = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        ModelRecord { version: VERSION, kind, origin, licence, added, files }
    }

    /// Writes the record beside the files.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        platform::files::replace(&folder.join(RECORD), &serde_json::to_vec_pretty(self)?, 0o600)
    }
}

/// The record in a folder, `None` if there is none; or why it cannot be used.
pub(super) fn read(folder: &Path) -> Option<Result<ModelRecord, String>> {
    #[derive(Deserialize)]
    struct Peek {
        version: u32,
    }
    let path = folder.join(RECORD);
    match std::fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(error.to_string())),
        Ok(meta) if meta.len() > MOST_BYTES => return Some(Err("it is far too long".to_owned())),
        Ok(_) => {}
    }
    let read = || -> Result<ModelRecord, String> {
        let bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
        let damaged = |error: serde_json::Error| format!("it is damaged: {error}");
        let Peek { version } = serde_json::from_slice(&bytes).map_err(damaged)?;
        if version > VERSION {
            return Err(format!("it is of version {version}, which a newer situated has written"));
        }
        serde_json::from_slice(&bytes).map_err(damaged)
    };
    Some(read())
}
