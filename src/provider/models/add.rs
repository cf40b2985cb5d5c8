//! Puts a model on the shelf: complete, with its record and tried, or else only a download that can be resumed.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use platform::files::{Room, sync_folder};
use sha2::{Digest as _, Sha256};

use super::probe::{foresee, probe};
use super::{FileRecord, Installed, ModelError, ModelKind, ModelRecord, Origin, RECORD, Shelf, at, hex};
use crate::hub::{Held, Hub, HubError, ModelId, OWN_ORG, PARTIAL, Part, files_of};
use index::embed::models::name_of;

/// The file that says which commit the files of an unfinished download are of.
const COMMIT: &str = ".commit";

/// Suffix of a file that is not complete; its name says which content it is a part of.
const PART: &str = ".part";

/// Where a model is to come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A hub.
    Hub(ModelId),
    /// A folder of the user's.
    Folder(PathBuf),
}

/// What happens while a model is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddEvent<'a> {
    /// The hub has said what it knows.
    Described {
        /// As its makers name it.
        licence: Option<&'a str>,
        /// Bytes of all files that may be needed.
        bytes: Option<u64>,
    },
    /// A file is downloaded or copied.
    File {
        /// Relative to the model's folder.
        name: &'a str,
        /// Bytes that are here.
        here: u64,
        /// Bytes in all.
        all: Option<u64>,
    },
    /// All of it is here, and is tried now.
    Trying,
}

/// Called with each of these events.
pub type OnAdd<'a> = &'a (dyn Fn(AddEvent<'_>) + Send + Sync);

impl Source {
    /// What the user has typed: the path of a folder, or a hub's id.
    ///
    /// # Errors
    /// It is neither, or there is no such folder.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        if let Some(folder) = crate::hub::local(text) {
            return if folder.is_dir() { Ok(Source::Folder(folder)) } else { Err(HubError::NoFolder(folder).into()) };
        }
        let id = ModelId::parse(text).ok_or_else(|| HubError::Name(text.to_owned()))?;
        Ok(Source::Hub(id))
    }

    /// What it is going to be called on the shelf.
    ///
    /// # Errors
    /// The folder has a name that no model can have.
    pub fn id(&self) -> Result<ModelId, ModelError> {
        match self {
            Source::Hub(id) => Ok(id.clone()),
            Source::Folder(folder) => {
                let real = at(folder, folder.canonicalize())?;
                ModelId::own(&name_of(&real)).ok_or(ModelError::Unnamed(real))
            }
        }
    }
}

impl Shelf {
    /// Adds a model; the flag says whether it is new. A model of the same kind that is here already is tried again and
    /// stays.
    ///
    /// # Errors
    /// See [`ModelError`]. The shelf then has nothing new, except what has come of a download.
    pub async fn add(
        &self,
        source: &Source,
        kind: ModelKind,
        hub: impl FnOnce() -> Result<Hub, HubError>,
        hear: OnAdd<'_>,
    ) -> Result<(Installed, bool), ModelError> {
        let id = source.id()?;
        let _held = Held::take(self.folder(), &id.folder(), &id.to_string())?;
        let here = self.find(&id).filter(|model| !model.partial);
        if let Some(here) = here {
            return Ok((self.keep(here, source, kind, hear)?, false));
        }
        let partial = self.folder().join(format!("{}{PARTIAL}", id.folder()));
        match source {
            Source::Hub(id) if id.org() == OWN_ORG => return Err(HubError::Own(id.to_string()).into()),
            Source::Hub(id) => self.download(id, kind, &hub()?, &partial, hear).await?,
            Source::Folder(folder) => {
                let copied = copy(folder, kind, &partial, hear).and_then(|files| {
                    hear(AddEvent::Trying);
                    probe(Some(kind), &partial)
                        .map_err(|why| unfit(folder.display().to_string(), kind, &why, &partial))?;
                    let folder = at(folder, folder.canonicalize())?;
                    let origin = Origin::Folder(folder.to_string_lossy().into_owned());
                    at(&partial, ModelRecord::new(kind, origin, None, files).write(&partial))
                });
                // The folder is still there, so a copy of it need not be resumed.
                copied.inspect_err(|_| drop(std::fs::remove_dir_all(&partial)))?;
            }
        }
        let folder = self.folder().join(id.folder());
        at(&folder, std::fs::rename(&partial, &folder))?;
        at(self.folder(), sync_folder(self.folder()))?;
        let gone = || at(&folder, Err(std::io::ErrorKind::NotFound.into()));
        Ok((self.find(&id).map_or_else(gone, Ok)?, true))
    }

    /// The folder of the model that a configuration names, which is downloaded if it is not on this machine. Once it is
    /// here, the hub is not asked again, whatever becomes of the model there.
    ///
    /// # Errors
    /// As [`Shelf::add`].
    pub async fn fetch(&self, model: &str, kind: ModelKind) -> Result<PathBuf, ModelError> {
        if let Some(folder) = self.locate(model) {
            return Ok(folder);
        }
        let (added, _) = self.add(&Source::parse(model)?, kind, Hub::from_env, &|_| {}).await?;
        Ok(added.folder)
    }

    /// Checks a model that is here already: its files stay, and it gets a record if it has none.
    fn keep(
        &self,
        here: Installed,
        source: &Source,
        kind: ModelKind,
        hear: OnAdd<'_>,
    ) -> Result<Installed, ModelError> {
        let taken = |what: String| Err(ModelError::Taken { id: here.id.clone(), what });
        match &here.record {
            Some(Err(why)) => return taken(format!("and its {RECORD} cannot be used ({why})")),
            Some(Ok(record)) if record.kind != kind => return taken(format!("as {}", record.kind)),
            _ => {}
        }
        if let Source::Folder(folder) = source {
            let differs = files_of(kind.layout(), folder)?.into_iter().find(|file| {
                let of = |folder: &Path| FileRecord::of(folder, file).ok();
                of(folder) != of(&here.folder)
            });
            if let Some(file) = differs {
                return taken(format!("with another {file}"));
            }
        }
        hear(AddEvent::Trying);
        if let Some(fault) = self.check(&here).into_iter().next() {
            return taken(format!("damaged ({}: {})", fault.path.display(), fault.problem));
        }
        if here.record.is_none() {
            probe(Some(kind), &here.folder).map_err(|why| unfit(here.id.to_string(), kind, &why, &here.folder))?;
            let files = recorded(kind, &here.folder)?;
            at(&here.folder, ModelRecord::new(kind, Origin::Found, None, files).write(&here.folder))?;
        }
        Ok(self.find(&here.id).unwrap_or(here))
    }

    async fn download(
        &self,
        id: &ModelId,
        kind: ModelKind,
        hub: &Hub,
        partial: &Path,
        hear: OnAdd<'_>,
    ) -> Result<(), ModelError> {
        let info = hub.info(id).await;
        let wanted = info.sizes.iter().filter(|(name, _)| is_wanted(kind, name));
        let bytes: u64 = wanted.map(|(_, bytes)| bytes).sum();
        hear(AddEvent::Described { licence: info.licence.as_deref(), bytes: Some(bytes).filter(|bytes| *bytes > 0) });
        at(partial, std::fs::create_dir_all(partial))?;
        self.room(id, bytes.saturating_sub(super::bytes_below(partial)))?;
        begin(partial, info.commit.as_deref())?;
        let progress = |name: &str, here: u64, all: Option<u64>| hear(AddEvent::File { name, here, all });
        let (layout, commit) = (kind.layout(), info.commit.as_deref());
        let commit = hub.pull(id, commit, layout, Part::Texts, partial, &progress).await.inspect_err(|_| {
            // If only the note of the commit is here, no file came: there may be no such model.
            if super::bytes_below(partial) == std::fs::metadata(partial.join(COMMIT)).map_or(0, |note| note.len()) {
                drop(std::fs::remove_dir_all(partial));
            }
        })?;
        let refused = |why: String| {
            // It would be refused again, so what came of it is of no use.
            drop(std::fs::remove_dir_all(partial));
            unfit(id.to_string(), kind, &why, partial)
        };
        foresee(kind, partial).map_err(refused)?;
        hub.pull(id, commit.as_deref(), layout, Part::Weights, partial, &progress).await?;
        hear(AddEvent::Trying);
        probe(Some(kind), partial).map_err(refused)?;
        let origin = Origin::Hub { host: hub.host(), model: id.to_string(), commit };
        let record = ModelRecord::new(kind, origin, info.licence, recorded(kind, partial)?);
        at(partial, record.write(partial))?;
        // There is no such file if the hub has named no commit.
        drop(std::fs::remove_file(partial.join(COMMIT)));
        Ok(())
    }

    fn room(&self, id: &ModelId, needed: u64) -> Result<(), ModelError> {
        let Ok(Room { free, .. }) = Room::at(self.folder()) else { return Ok(()) };
        if needed <= free {
            return Ok(());
        }
        Err(ModelError::NoRoom { id: id.clone(), shelf: self.folder().to_owned(), needed, free })
    }
}

/// Whether a file that the hub lists may be asked for.
fn is_wanted(kind: ModelKind, name: &str) -> bool {
    let plain = kind.must_have().contains(&name);
    let small = kind.layout() == crate::hub::Layout::Transformer
        && Path::new(name).extension().is_some_and(|end| end == "json");
    // Weights in other formats, and whatever else is there, are not.
    plain || (small && !name.starts_with("onnx/") && !name.starts_with("openvino/") && !name.contains("index"))
}

/// Begins a download, or resumes one of the same commit. Complete files of another or an unknown commit are removed. An
/// incomplete file is named after its content, so it stays and is only resumed where it fits.
fn begin(partial: &Path, commit: Option<&str>) -> Result<(), ModelError> {
    let note = partial.join(COMMIT);
    if commit.is_some() && std::fs::read_to_string(&note).ok().as_deref() == commit {
        return Ok(());
    }
    clear(partial)?;
    commit.map_or(Ok(()), |commit| at(&note, std::fs::write(&note, commit)))
}

fn clear(folder: &Path) -> Result<(), ModelError> {
    for entry in at(folder, std::fs::read_dir(folder))? {
        let entry = at(folder, entry)?;
        let path = entry.path();
        if at(&path, entry.file_type())?.is_dir() {
            clear(&path)?;
        } else if path.extension().is_none_or(|ending| ending != &PART[1..]) {
            at(&path, std::fs::remove_file(&path))?;
        }
    }
    Ok(())
}

/// Copies the files that a model needs to `partial`, and replaces an earlier copy.
fn copy(folder: &Path, kind: ModelKind, partial: &Path, hear: OnAdd<'_>) -> Result<Vec<FileRecord>, ModelError> {
    if let Some(file) = kind.must_have().iter().find(|file| !folder.join(file).is_file()) {
        let needed = kind.must_have().join(", ");
        return Err(ModelError::Lacks { folder: folder.to_owned(), file, needed });
    }
    if partial.exists() {
        at(partial, std::fs::remove_dir_all(partial))?;
    }
    let copied = files_of(kind.layout(), folder)?.into_iter().map(|name| {
        let (from, to) = (folder.join(&name), partial.join(&name));
        let parent = to.parent().unwrap_or(partial);
        at(parent, std::fs::create_dir_all(parent))?;
        copy_file(&from, &to, &name, hear)
    });
    copied.collect()
}

/// Copies a file and hashes what is copied.
fn copy_file(from: &Path, to: &Path, name: &str, hear: OnAdd<'_>) -> Result<FileRecord, ModelError> {
    let mut source = at(from, File::open(from))?;
    let mut target = at(to, File::create(to))?;
    let all = source.metadata().ok().map(|meta| meta.len());
    let (mut hasher, mut buffer, mut here) = (Sha256::new(), vec![0; 1 << 20], 0_u64);
    loop {
        hear(AddEvent::File { name, here, all });
        let read = at(from, source.read(&mut buffer))?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        at(to, target.write_all(&buffer[..read]))?;
        here += read as u64;
    }
    at(to, target.sync_all())?;
    Ok(FileRecord { path: name.to_owned(), bytes: here, sha256: hex(hasher) })
}

fn recorded(kind: ModelKind, folder: &Path) -> Result<Vec<FileRecord>, ModelError> {
    let files = files_of(kind.layout(), folder)?.into_iter();
    files.map(|file| at(&folder.join(&file), FileRecord::of(folder, &file))).collect()
}

/// The error that `what` cannot be used as this kind. The reason is about its copy, so it gets the name of `what`
/// instead.
fn unfit(what: String, kind: ModelKind, why: &str, copy: &Path) -> ModelError {
    let why = why.replace(&*copy.to_string_lossy(), &what);
    ModelError::Unfit { what, kind: kind.name(), why }
}
