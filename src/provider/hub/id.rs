//! How models are named: `org/name`, or a folder; and where a model of that name is on this machine.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::transformer::MUST_HAVE;
use protocol::folders;

/// The organisation of models that came from a folder of the user. No hub is ever asked for one of them: whoever
/// registers that name there could put another model in its place.
pub const OWN_ORG: &str = "local";

/// The revision of a model that names none.
const MAIN: &str = "main";

/// A model of a hub, or one of the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelId {
    org: String,
    name: String,
    revision: String,
}

impl ModelId {
    /// `org/name` or `org/name@revision`; `None` for all else. No part of it has a character that means anything in a
    /// path or an address, and none begins with a dot.
    pub fn parse(model: &str) -> Option<Self> {
        let (path, revision) = model.split_once('@').unwrap_or((model, MAIN));
        let (org, name) = path.split_once('/')?;
        let fine = [org, name, revision].into_iter().all(is_word);
        fine.then(|| ModelId { org: org.to_owned(), name: name.to_owned(), revision: revision.to_owned() })
    }

    /// The id of a model that comes from a folder with this name.
    pub fn own(folder: &str) -> Option<Self> {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        ModelId::parse(&format!("{OWN_ORG}/{name}"))
    }

    /// The id of the model whose folder has this name; the reverse of [`ModelId::folder`].
    pub fn of_folder(folder: &str) -> Option<Self> {
        ModelId::parse(&folder.replacen("--", "/", 1)).filter(|id| id.folder() == folder)
    }

    /// The organisation that the model belongs to.
    pub fn org(&self) -> &str {
        &self.org
    }

    /// Its name within the organisation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Branch, tag or commit.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The name of its folder.
    pub fn folder(&self) -> String {
        self.to_string().replacen('/', "--", 1)
    }

    /// What another program has downloaded to the shared cache: `models--org--name/refs/<revision>` has the commit,
    /// and `snapshots/<commit>` its files.
    pub(super) fn snapshot(&self, shared: &Path) -> Option<PathBuf> {
        let home = shared.join(format!("models--{}--{}", self.org, self.name));
        let commit = std::fs::read_to_string(home.join("refs").join(&self.revision));
        let commit = commit.unwrap_or_else(|_| self.revision.clone());
        let snapshot = home.join("snapshots").join(Some(commit.trim()).filter(|commit| is_word(commit))?);
        MUST_HAVE.iter().all(|file| snapshot.join(file).is_file()).then_some(snapshot)
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.org, self.name)?;
        if self.revision == MAIN { Ok(()) } else { write!(f, "@{}", self.revision) }
    }
}

/// The folder of a model that is on this machine: the one that `model` names, or that of `org/name` in `cache` or else
/// in `shared`, the cache of other programs. Does not use the network.
pub fn located(model: &str, cache: &Path, shared: &Path) -> Option<PathBuf> {
    if let Some(folder) = local(model) {
        return folder.is_dir().then_some(folder);
    }
    let id = ModelId::parse(model)?;
    Some(cache.join(id.folder())).filter(|folder| folder.is_dir()).or_else(|| id.snapshot(shared))
}

/// The folder that `model` names, if it is written as a path.
pub(crate) fn local(model: &str) -> Option<PathBuf> {
    if let Some(rest) = model.strip_prefix("~/") {
        return Some(folders::home()?.join(rest));
    }
    let path = Path::new(model);
    let relative = model == "." || model == ".." || model.starts_with("./") || model.starts_with("../");
    (path.is_absolute() || relative).then(|| path.to_owned())
}

/// Whether a text can be part of a hub's name: only such text is ever put into a path or an address.
pub(super) fn is_word(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !text.is_empty() && text.len() <= 96 && !text.starts_with('.') && text.chars().all(fine)
}
