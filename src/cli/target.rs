//! What a user means by a path: one in a vault, one on the disk, or a vault's name.

use std::path::{Path, PathBuf};

use note::{Format, VaultPath};
use protocol::client::{Client, ClientError};
use protocol::daemon::{HelloRequest, VaultInfo};
use protocol::envelope::ErrorKind;
pub(super) use protocol::hit::Lines;
use protocol::hit::split_lines;
use protocol::jobs::Scope;
use protocol::note::GetRequest;

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

/// The configuration; if it names no vault, with those that a running daemon was given by hand.
pub(super) fn or_served(mut loaded: Loaded, session: &Session) -> Loaded {
    if loaded.config.engine.vaults.is_empty() {
        let served = served(session).ok().flatten().unwrap_or_default();
        let served = served.into_iter().map(|vault| VaultConfig::new(vault.name, vault.path));
        loaded.config.engine.vaults = served.collect();
    }
    loaded
}

/// A vault by name, a folder or note on the disk, or a path in a vault, which may be given; of a hit's `NOTE:LINE` the
/// note. `is_note` is that of [`without_lines`].
pub(super) fn scope(
    what: Option<&Path>,
    vault: Option<&str>,
    vaults: &[VaultInfo],
    here: &Path,
    is_note: impl FnOnce(&str) -> bool,
) -> Scope {
    let Some(what) = what else {
        return Scope { vault: vault.map(str::to_owned), path: None };
    };
    if let Some(vault) = vaults.iter().find(|of| vault.is_none() && Path::new(&of.name) == what) {
        return Scope { vault: Some(vault.name.clone()), path: None };
    }
    let is_there = here.join(what).exists() || vaults.iter().any(|vault| vault.path.join(what).exists());
    let names = vaults.iter().map(|vault| vault.name.as_str());
    if let Some(at) = what.to_str().filter(|_| vault.is_none() && !is_there).and_then(|what| position(what, names)) {
        return Scope { vault: Some(vaults[at].name.clone()), path: None };
    }
    path(&without_lines(what, vaults, here, is_note).0, vault, vaults, here)
}

/// A note or folder: on the disk if it exists there inside a vault, else as a path in a vault. A path that exists in
/// neither is taken as one in a vault too: notes may be asked for after they are gone.
pub(super) fn path(what: &Path, vault: Option<&str>, vaults: &[VaultInfo], here: &Path) -> Scope {
    if let Some((of, path)) = as_in_answers(what, vaults).filter(|_| vault.is_none() && !here.join(what).exists()) {
        return Scope { vault: Some(of.name.clone()), path: Some(as_printed(Path::new(path))) };
    }
    let link = what.to_str().filter(|text| note::link(text.trim()).is_some());
    let printed = link.map_or_else(|| as_printed(what), str::to_owned);
    let in_vault = Scope { vault: vault.map(str::to_owned), path: Some(printed) };
    if link.is_some() {
        return in_vault;
    }
    if vault.is_some() || (is_name(what) && !here.join(what).exists()) {
        return in_vault;
    }
    // A vault may contain a folder with the vault's name. A path that exists in a vault but not from here is one that
    // an answer printed.
    let printed = |vault: &VaultInfo| vault.path.join(what).exists();
    if !here.join(what).exists() && vaults.iter().any(printed) {
        return in_vault;
    }
    on_disk(&here.join(what), vaults).unwrap_or(in_vault)
}

/// The vault and the path in it of `VAULT: PATH`, as answers over several vaults print places.
fn as_in_answers<'a>(what: &'a Path, vaults: &'a [VaultInfo]) -> Option<(&'a VaultInfo, &'a str)> {
    let text = what.to_str()?;
    vaults.iter().find_map(|vault| {
        let path = text.strip_prefix(vault.name.as_str())?.strip_prefix(": ")?;
        vault.path.join(path).exists().then_some((vault, path))
    })
}

/// Whether places name their vaults: an answer may be about any of several.
pub(super) fn name_vaults(asked: Option<&str>, client: &mut Client) -> Result<bool, CliFailure> {
    Ok(asked.is_none() && vaults(client)?.len() > 1)
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

/// The place in a vault of something on the disk.
fn on_disk(path: &Path, vaults: &[VaultInfo]) -> Option<Scope> {
    // The file itself may be gone already; its folder tells which vault it was in.
    let found = path.canonicalize().ok();
    let gone = found.is_none();
    let real = match found {
        Some(real) => real,
        None => path.parent()?.canonicalize().ok()?.join(path.file_name()?),
    };
    let root = |vault: &VaultInfo| -> PathBuf { vault.path.canonicalize().unwrap_or_else(|_| vault.path.clone()) };
    vaults.iter().find_map(|vault| {
        let relative = real.strip_prefix(root(vault)).ok()?;
        // What is not on the disk under this name may have been copied from an answer.
        let path = if gone && relative.file_name().is_some() {
            Some(as_printed(relative))
        } else {
            VaultPath::from_relative(relative).map(|path| path.to_string())
        };
        Some(Scope { vault: Some(vault.name.clone()), path })
    })
}

/// The path of a note; a vault is an error.
pub(super) fn note(scope: &Scope) -> Result<String, CliFailure> {
    let path = scope.path.clone();
    path.ok_or_else(|| CliFailure::usage(format!("{} is a vault; name a note in it", named(scope))))
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

/// Splits a trailing `:LINE` or `:LINE-LINE`, as hits, editors and `grep` write it, from its path, unless all of it is
/// the name of a file. Without an extension before the colon all of it may be the name of a note (`John 3:16`), which
/// `is_note` says.
pub(super) fn without_lines(
    what: &Path,
    vaults: &[VaultInfo],
    here: &Path,
    is_note: impl FnOnce(&str) -> bool,
) -> (PathBuf, Option<Lines>) {
    let exists = |name: &Path| here.join(name).exists() || vaults.iter().any(|vault| vault.path.join(name).exists());
    let whole = || (what.to_path_buf(), None);
    let Some((text, (path, lines))) = what.to_str().and_then(|text| Some((text, split_lines(text)?))) else {
        return whole();
    };
    if exists(what) {
        return whole();
    }
    // Compilers and editors write a column behind the line.
    if let Some((file, line)) = line_in_file(path).filter(|_| lines.1.is_none() && !exists(Path::new(path))) {
        return (PathBuf::from(file), Some(line));
    }
    if Format::of(path).is_some() || !is_note(text) { (PathBuf::from(path), Some(lines)) } else { whole() }
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
