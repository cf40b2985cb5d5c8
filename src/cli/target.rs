//! What a user means by a path: one in a vault, one on the disk, or a vault's name; and where on the disk a note is.

use std::path::{Path, PathBuf};

use note::{Format, VaultPath};
use protocol::client::{Client, ClientError};
use protocol::daemon::{HelloRequest, VaultInfo};
use protocol::envelope::ErrorKind;
pub(super) use protocol::hit::Lines;
use protocol::hit::{Hit, split_lines};
use protocol::jobs::Scope;
use protocol::note::GetRequest;

use super::open::{Place, file_url, host};
use super::session::{CliFailure, Session};
use crate::daemon::config::{Loaded, real_folder};
use vault::settings::VaultConfig;

/// The vaults that the daemon serves.
pub(super) fn vaults(client: &mut Client) -> Result<Vec<VaultInfo>, CliFailure> {
    Ok(client.call(&HelloRequest::of(concat!("situated-cli/", env!("CARGO_PKG_VERSION"))))?.vaults)
}

/// The vaults of the daemon; `None` if none runs.
pub(super) fn served(session: &Session) -> Result<Option<Vec<VaultInfo>>, CliFailure> {
    session.running()?.map(|mut client| vaults(&mut client)).transpose()
}

/// The place of the vault that a user calls so: as its name is written, or else as searches compare names.
pub(super) fn position<'a>(called: &str, mut names: impl Iterator<Item = &'a str> + Clone) -> Option<usize> {
    let written = names.clone().position(|name| name == called);
    written.or_else(|| names.position(|name| index::search::filter::is_vault(called, name)))
}

/// The place of the vault of the configuration that a user calls so, by its name or its folder. A folder that is there is
/// meant before a vault whose name is nearly the same.
pub(super) fn configured(called: &Path, vaults: &[VaultConfig]) -> Option<usize> {
    let written = vaults.iter().position(|vault| Path::new(&vault.name) == called);
    let of_folder = || vaults.iter().position(|vault| real_folder(&vault.path) == real_folder(called));
    let nearly = || position(called.to_str()?, vaults.iter().map(|vault| vault.name.as_str()));
    written.or_else(of_folder).or_else(|| nearly().filter(|_| !called.is_dir()))
}

/// The names of vaults, as a message lists them.
pub(super) fn names(vaults: &[VaultConfig]) -> String {
    vaults.iter().map(|vault| format!("`{}`", vault.name)).collect::<Vec<_>>().join(", ")
}

/// The configuration; if it names no vault, with those that a running daemon was given by hand.
pub(super) fn or_served(mut loaded: Loaded, session: &Session) -> Result<Loaded, CliFailure> {
    if loaded.config.engine.vaults.is_empty() {
        let served = served(session)?.unwrap_or_default().into_iter();
        loaded.config.engine.vaults = served.map(|vault| VaultConfig::new(vault.name, vault.path)).collect();
    }
    Ok(loaded)
}

/// The vaults that the daemon serves, as seen from the current folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Served {
    /// Names and folders.
    vaults: Vec<(String, PathBuf)>,
    here: PathBuf,
    /// The name of this machine.
    host: String,
}

impl Served {
    /// With these names and folders.
    pub(super) fn new(vaults: impl IntoIterator<Item = (String, PathBuf)>) -> Self {
        // Nothing lies below a current folder that is gone.
        let here = std::env::current_dir().unwrap_or_default();
        Served { vaults: vaults.into_iter().collect(), here, host: host() }
    }

    /// As the daemon says.
    pub(super) fn ask(client: &mut Client) -> Result<Self, CliFailure> {
        Ok(Served::new(vaults(client)?.into_iter().map(|vault| (vault.name, vault.path))))
    }

    /// Whether there are several.
    pub(super) fn are_several(&self) -> bool {
        self.vaults.len() > 1
    }

    /// What is meant by a vault's name, a folder or note on the disk, or a path in a vault, which may be given; by a hit's
    /// `NOTE:LINE` the note. `is_note` is that of [`Served::without_lines`].
    pub(super) fn scope(&self, what: Option<&Path>, vault: Option<&str>, is_note: impl FnOnce(&str) -> bool) -> Scope {
        let Some(what) = what else { return Scope { vault: vault.map(str::to_owned), path: None } };
        let names = self.vaults.iter().map(|(vault, _)| vault.as_str());
        let written = || names.clone().position(|vault| Path::new(vault) == what);
        // What is there is meant before a vault whose name is nearly the same.
        let nearly = || position(what.to_str()?, names.clone()).filter(|_| !self.exists(what));
        let called = if vault.is_none() { written().or_else(nearly) } else { None };
        match called {
            Some(at) => Scope { vault: Some(self.vaults[at].0.clone()), path: None },
            None => self.path(&self.without_lines(what, is_note).0, vault),
        }
    }

    /// What is meant by a note or folder. One that is nowhere is taken as a path in a vault: notes may be asked for after
    /// they are gone.
    pub(super) fn path(&self, what: &Path, vault: Option<&str>) -> Scope {
        let in_vault = |path: String| Scope { vault: vault.map(str::to_owned), path: Some(path) };
        if let Some(link) = what.to_str().filter(|text| note::link(text.trim()).is_some()) {
            return in_vault(link.to_owned());
        }
        if vault.is_some() {
            return in_vault(as_printed(what));
        }
        let on_disk = self.here.join(what);
        if !on_disk.exists() {
            if let Some(scope) = self.part(what) {
                return scope;
            }
            if let Some((vault, path)) = self.as_in_answers(what) {
                return Scope { vault: Some(vault.to_owned()), path: Some(as_printed(Path::new(path))) };
            }
            // The name of a note, or a path as an answer printed it.
            if is_name(what) || self.exists(what) {
                return in_vault(as_printed(what));
            }
        }
        self.on_disk(&on_disk).unwrap_or_else(|| in_vault(as_printed(what)))
    }

    /// The place in a vault of a part of a note on the disk, `NOTE#HEADING` or `NOTE^BLOCK`.
    fn part(&self, what: &Path) -> Option<Scope> {
        let text = what.to_str()?;
        let mut parted = text.match_indices(['#', '^']).map(|(at, _)| text.split_at(at));
        let (note, part) = parted.find(|(note, _)| self.here.join(note).is_file())?;
        let Scope { vault, path } = self.on_disk(&self.here.join(note))?;
        Some(Scope { vault, path: path.map(|path| path + part) })
    }

    /// Whether a path is there, from here or in a vault.
    fn exists(&self, path: &Path) -> bool {
        self.here.join(path).exists() || self.vaults.iter().any(|(_, folder)| folder.join(path).exists())
    }

    /// The vault and the path in it of `VAULT: PATH`, as answers over several vaults print places.
    fn as_in_answers<'a>(&'a self, what: &'a Path) -> Option<(&'a str, &'a str)> {
        let text = what.to_str()?;
        self.vaults.iter().find_map(|(vault, folder)| {
            let path = text.strip_prefix(vault.as_str())?.strip_prefix(": ")?;
            // What a vault holds whose folder is away, only the daemon knows.
            (folder.join(path).exists() || !folder.exists()).then_some((vault.as_str(), path))
        })
    }

    /// The place in a vault of something on the disk.
    fn on_disk(&self, path: &Path) -> Option<Scope> {
        // The file itself may be gone already; its folder tells which vault it was in.
        let found = path.canonicalize().ok();
        let gone = found.is_none();
        let real = match found {
            Some(real) => real,
            None => path.parent()?.canonicalize().ok()?.join(path.file_name()?),
        };
        self.vaults.iter().find_map(|(vault, folder)| {
            let relative = real.strip_prefix(real_folder(folder)).ok()?;
            // What is not on the disk under this name may have been copied from an answer.
            let path = if gone && relative.file_name().is_some() {
                Some(as_printed(relative))
            } else {
                VaultPath::from_relative(relative).map(|path| path.to_string())
            };
            Some(Scope { vault: Some(vault.clone()), path })
        })
    }

    /// Splits a trailing `:LINE` or `:LINE-LINE`, as hits, editors and `grep` write it, from its path, unless all of it is
    /// the name of a file. Without an extension before the colon all of it may be the name of a note (`John 3:16`), which
    /// `is_note` says.
    pub(super) fn without_lines(&self, what: &Path, is_note: impl FnOnce(&str) -> bool) -> (PathBuf, Option<Lines>) {
        let whole = || (what.to_path_buf(), None);
        let Some((text, (path, lines))) = what.to_str().and_then(|text| Some((text, split_lines(text)?))) else {
            return whole();
        };
        if self.exists(what) {
            return whole();
        }
        // Compilers and editors write a column behind the line.
        if let Some((file, line)) = line_in_file(path).filter(|_| lines.1.is_none() && !self.exists(Path::new(path))) {
            return (PathBuf::from(file), Some(line));
        }
        if Format::of(path).is_some() || !is_note(text) { (PathBuf::from(path), Some(lines)) } else { whole() }
    }

    /// Where a hit is on the disk.
    pub(super) fn place(&self, hit: &Hit) -> Option<Place> {
        self.place_of(&hit.vault, &hit.path, hit.best_line())
    }

    /// Where a line of a note is on the disk.
    pub(super) fn place_of(&self, vault: &str, path: &str, line: u32) -> Option<Place> {
        let (_, folder) = self.vaults.iter().find(|(name, _)| name == vault)?;
        Place::of(folder, path, line)
    }

    /// A hit's note as an address that terminals open.
    pub(super) fn url(&self, hit: &Hit) -> Option<String> {
        self.place(hit).map(|place| self.url_of(&place))
    }

    /// A place as an address that terminals open.
    pub(super) fn url_of(&self, place: &Place) -> String {
        file_url(&place.file, &self.host)
    }
}

/// Whether something is a note's name, or a link, rather than a path: the path of a file that is gone has an extension.
fn is_name(what: &Path) -> bool {
    let text = what.to_string_lossy();
    let is_bare = !text.contains('/') && Format::of(&text).is_none();
    is_bare || text.starts_with("[[") || text.starts_with("![[") || text.contains('#')
}

/// A path in a vault as answers print it, in which special characters stand for bytes that are not text.
fn as_printed(path: &Path) -> String {
    let printed = path.to_str().and_then(VaultPath::parse).or_else(|| VaultPath::from_relative(path));
    printed.map_or_else(|| path.to_string_lossy().into_owned(), |path| path.to_string())
}

/// The path of a note; a vault is an error.
pub(super) fn note(scope: &Scope) -> Result<String, CliFailure> {
    let path = scope.path.clone();
    path.ok_or_else(|| CliFailure::usage(format!("{} is a vault; name a note in it", named(scope))))
}

/// The note that a user means, as one name, and the lines behind it: a note on the disk by its whole path, because other
/// vaults may have a note at the same path, and naming a vault too would narrow the answer down to that. With a vault
/// given, it is the name of a note there, which may be a title, an alias or a link.
pub(super) fn by_one_name(
    what: &Path,
    vault: Option<&str>,
    client: &mut Client,
) -> Result<(String, Option<Lines>), CliFailure> {
    let served = Served::ask(client)?;
    let (what, lines) = served.without_lines(what, |name| is_note(name, vault, client));
    let scope = served.path(&what, vault);
    let path = note(&scope)?;
    let home = scope.vault.filter(|_| vault.is_none());
    let place = home.and_then(|home| served.place_of(&home, &path, 1));
    Ok((place.and_then(|place| place.file.to_str().map(str::to_owned)).unwrap_or(path), lines))
}

/// `notes/Projects/Plan.md`, `notes`, `all vaults`.
pub(super) fn named(scope: &Scope) -> String {
    let name = match (&scope.vault, &scope.path) {
        (Some(vault), Some(path)) => format!("{vault}/{path}"),
        (Some(name), None) | (None, Some(name)) => name.clone(),
        (None, None) => "all vaults".to_owned(),
    };
    super::session::safe(&name)
}

/// The file and the line, of a path with an extension and one line behind it.
fn line_in_file(path: &str) -> Option<(&str, Lines)> {
    split_lines(path).filter(|(file, lines)| lines.1.is_none() && Format::of(file).is_some())
}

/// Whether a note has this name, or several have; what is wrong otherwise, the next request says.
pub(super) fn is_note(name: &str, vault: Option<&str>, client: &mut Client) -> bool {
    let (path, vault) = (name.to_owned(), vault.map(str::to_owned));
    match client.call(&GetRequest { path, vault, lines: Some(0), ..GetRequest::default() }) {
        Ok(_) => true,
        Err(ClientError::Remote(error)) => error.kind != ErrorKind::NotFound.name(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests;
