//! The models on this machine's shelf, `<data>/models`: which there are, of which kind, where they came from, and
//! whether their files are still the same.
//!
//! Each model has its own folder, with a record beside its files ([`record`]). It comes from a hub or from a folder of
//! the user ([`add`]), and counts as added once the code that will use it has opened it and tried it on one input
//! ([`probe`]).

mod add;
mod probe;
mod record;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

pub use add::{AddEvent, OnAdd, Source};
pub use record::{FileRecord, ModelRecord, Origin, RECORD};

use crate::hub::{self, Held, HubError, Layout, ModelId, OWN_ORG, PARTIAL, located};
use crate::transformer::MUST_HAVE;
use protocol::folders::Folders;

/// What a model does.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ModelKind {
    /// Reads a query and a passage together, and says how well the one answers the other.
    CrossEncoder,
    /// Gives texts their vectors.
    Embedder,
    /// Has a vector for each token.
    Static,
}

impl ModelKind {
    /// As it is written on the command line and in the record.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Which files it has.
    pub fn layout(self) -> Layout {
        match self {
            ModelKind::CrossEncoder | ModelKind::Embedder => Layout::Transformer,
            ModelKind::Static => Layout::Table,
        }
    }

    /// The message that a configured model is not on this machine, and what to do.
    pub fn absent(self, name: &str) -> String {
        match ModelId::parse(name) {
            Some(id) if id.org() == OWN_ORG => {
                format!("the model {id} is not here; from its folder: situated models add {self} FOLDER")
            }
            Some(id) => format!("the model {id} is not here; to download it: situated models add {self} {id}"),
            None => format!("there is no folder {name}; a model of a hub: situated models add {self} ORG/NAME"),
        }
    }

    /// Files without which there is no model of this kind.
    fn must_have(self) -> &'static [&'static str] {
        match self {
            ModelKind::CrossEncoder | ModelKind::Embedder => &MUST_HAVE,
            ModelKind::Static => &crate::TABLE_FILES,
        }
    }
}

/// A model cannot be added, read or removed.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The hub, the network, another process, or a file.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// It is not what was asked for.
    #[error("{what} cannot be used as {kind}: {why}")]
    Unfit {
        /// A model, or a folder.
        what: String,
        /// What it was to be.
        kind: &'static str,
        /// In the words of the code that would use it.
        why: String,
    },
    /// The folder lacks a file.
    #[error("{} has no {file}: name a folder that has {needed}", folder.display())]
    Lacks {
        /// The user's folder.
        folder: PathBuf,
        /// The first that is not there.
        file: &'static str,
        /// All that must be.
        needed: String,
    },
    /// Another model has the name.
    #[error("{id} is here already, {what}; take it away first: situated models remove {id}")]
    Taken {
        /// The name.
        id: ModelId,
        /// How it differs.
        what: String,
    },
    /// A folder has a name that no model can have.
    #[error("{} cannot be a model's name: rename the folder, with letters, digits, `.`, `_` and `-` alone", .0.display())]
    Unnamed(PathBuf),
    /// The disk has less room than the model needs.
    #[error("{id} needs {needed} bytes, and {} has {free}: make room, or choose a smaller model", shelf.display())]
    NoRoom {
        /// The model.
        id: ModelId,
        /// Where the model would go.
        shelf: PathBuf,
        /// Bytes.
        needed: u64,
        /// Bytes.
        free: u64,
    },
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, ModelError> {
    Ok(hub::at(path, result)?)
}

/// A model on the shelf.
#[derive(Clone, Debug, PartialEq)]
pub struct Installed {
    /// Its name.
    pub id: ModelId,
    /// Where it is.
    pub folder: PathBuf,
    /// Bytes of all its files.
    pub bytes: u64,
    /// The record from when it was added; `None` if an older version fetched it: that wrote none.
    pub record: Option<Result<ModelRecord, String>>,
    /// Whether it is not all there: a download that ended early, which goes on when the model is added again.
    pub partial: bool,
}

impl Installed {
    /// What was written down, if that can be read.
    pub fn known(&self) -> Option<&ModelRecord> {
        self.record.as_ref()?.as_ref().ok()
    }
}

/// What is wrong with a model, and where.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ModelFault {
    /// The file, or the folder if it is about all of it.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: String,
}

/// A folder of models.
#[derive(Clone, Debug)]
pub struct Shelf {
    folder: PathBuf,
}

impl Shelf {
    /// The shelf of a data folder.
    pub fn of(data_dir: &Path) -> Self {
        Shelf { folder: data_dir.join("models") }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All models and unfinished downloads, by name. A folder is skipped if its name is not that of a model.
    pub fn list(&self) -> io::Result<Vec<Installed>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            let (plain, partial) = name.strip_suffix(PARTIAL).map_or((name, false), |plain| (plain, true));
            let id = ModelId::of_folder(plain);
            found.extend(id.and_then(|id| self.read(id, partial)));
        }
        found.sort_by_key(|model| (model.id.to_string(), model.partial));
        Ok(found)
    }

    /// The folder of the model that a configuration names, here or in the cache of other programs, if it is on this
    /// machine.
    pub fn locate(&self, model: &str) -> Option<PathBuf> {
        located(model, &self.folder, &Folders::here().hub_cache)
    }

    /// A model, or else an unfinished download of it.
    pub fn find(&self, id: &ModelId) -> Option<Installed> {
        self.read(id.clone(), false).or_else(|| self.read(id.clone(), true))
    }

    fn read(&self, id: ModelId, partial: bool) -> Option<Installed> {
        let folder = self.place(&id, partial);
        if !folder.is_dir() {
            return None;
        }
        let record = record::read(&folder);
        // The record knows the true name; the name of a folder does not tell where the organisation's ends.
        let id = match &record {
            Some(Ok(ModelRecord { origin: Origin::Hub { model, .. }, .. })) => {
                ModelId::parse(model).filter(|named| named.folder() == id.folder()).unwrap_or(id)
            }
            _ => id,
        };
        let bytes = bytes_below(&folder);
        Some(Installed { id, folder, bytes, record, partial })
    }

    fn place(&self, id: &ModelId, partial: bool) -> PathBuf {
        self.folder.join(if partial { format!("{}{PARTIAL}", id.folder()) } else { id.folder() })
    }

    /// Compares a model's files with its record, opens it, and tries it on one input. Returns nothing if all is well.
    pub fn check(&self, model: &Installed) -> Vec<ModelFault> {
        let fault = |path: &Path, problem: String| ModelFault { path: path.to_owned(), problem };
        if model.partial {
            return vec![fault(&model.folder, "its download ended early".to_owned())];
        }
        let record = match &model.record {
            Some(Err(why)) => return vec![fault(&model.folder.join(RECORD), why.clone())],
            Some(Ok(record)) => Some(record),
            None => None,
        };
        let mut faults = Vec::new();
        for file in record.iter().flat_map(|record| &record.files) {
            let path = model.folder.join(&file.path);
            match FileRecord::of(&model.folder, &file.path) {
                Ok(found) if found == *file => {}
                Ok(found) if found.bytes != file.bytes => {
                    faults.push(fault(&path, format!("it has {} bytes, and had {}", found.bytes, file.bytes)));
                }
                Ok(found) => {
                    faults.push(fault(&path, format!("its sha256 is {}, and was {}", found.sha256, file.sha256)));
                }
                Err(error) => faults.push(fault(&path, error.to_string())),
            }
        }
        if faults.is_empty()
            && let Err(why) = probe::probe(record.map(|record| record.kind), &model.folder)
        {
            faults.push(fault(&model.folder, why));
        }
        faults
    }

    /// Removes a model, with all files of its folder.
    ///
    /// # Errors
    /// Another process works on it, or the disk fails; [`Shelf::check`] then finds what is left.
    pub fn remove(&self, model: &Installed) -> Result<(), ModelError> {
        let _held = Held::take(&self.folder, &model.id.folder(), &model.id.to_string())?;
        at(&model.folder, std::fs::remove_dir_all(&model.folder))
    }
}

/// Bytes of all files below a folder; files that cannot be read count as 0.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes_below(&entry.path()),
        Ok(meta) if meta.is_file() => meta.len(),
        _ => 0,
    });
    bytes.sum()
}

/// The SHA-256 of a file, in lower case hexadecimal.
pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(hex(hasher))
}

fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
