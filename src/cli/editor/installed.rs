//! What is in a plugin's folder, compared with what was written there and with what this program contains.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::carried::{PACKAGE, Plugin};
use crate::service::files::{Undo, Write};

/// Name of the record in the plugin's folder.
const RECORD: &str = ".situated.json";

/// The folder of documentation in Neovim's plugin, where Neovim's `:helptags` leaves an index.
const HELP: &str = "doc";

/// What was written. It tells a file that somebody has changed from one of an older version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Version of the program that wrote it.
    version: String,
    /// Paths in the folder, and the BLAKE3 of what was written, in hexadecimal digits.
    files: BTreeMap<String, String>,
}

/// A plugin's folder.
#[derive(Debug)]
pub(super) struct Installed {
    folder: PathBuf,
    record: Option<Record>,
}

/// Which version of a plugin is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing of it is there.
    Absent,
    /// This program's version, whole.
    Current,
    /// Another version, or a part of one.
    Other(String),
}

impl Installed {
    pub(super) fn look(folder: PathBuf) -> Self {
        let record = fs::read(folder.join(RECORD)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Installed { folder, record }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn standing(&self, plugin: &Plugin) -> Standing {
        let Some(record) = &self.record else { return Standing::Absent };
        let carried = plugin.files.iter().map(|(path, text)| ((*path).to_owned(), hash(text)));
        let is_whole = record.files.keys().all(|path| self.folder.join(path).is_file());
        if is_whole && carried.collect::<BTreeMap<_, _>>() == record.files {
            Standing::Current
        } else {
            Standing::Other(record.version.clone())
        }
    }

    /// Files that somebody has changed: they are neither as they were written nor as this version would write them.
    pub(super) fn changed(&self, plugin: &Plugin) -> Vec<String> {
        let written = |path: &str| self.record.as_ref().and_then(|record| record.files.get(path));
        let carried = |path: &str| plugin.files.iter().find(|(known, _)| *known == path).map(|(_, text)| hash(text));
        let mut paths: Vec<&str> = plugin.files.iter().map(|(path, _)| *path).collect();
        paths.extend(self.record.iter().flat_map(|record| record.files.keys().map(String::as_str)));
        paths.sort_unstable();
        paths.dedup();
        let is_changed = |path: &&str| {
            let Ok(bytes) = fs::read(self.folder.join(path)) else { return false };
            let now = blake3::hash(&bytes).to_hex().to_string();
            Some(&now) != written(path) && Some(now) != carried(path)
        };
        paths.into_iter().filter(is_changed).map(str::to_owned).collect()
    }

    /// What an installation writes.
    pub(super) fn writes(&self, plugin: &Plugin) -> Vec<Write> {
        let files = plugin.files.iter().map(|(path, text)| ((*path).to_owned(), hash(text))).collect();
        let record = Record { version: env!("CARGO_PKG_VERSION").to_owned(), files };
        let record = serde_json::to_string_pretty(&record).unwrap_or_default() + "\n";
        let texts = plugin.files.iter().map(|(path, text)| (self.folder.join(path), (*text).to_owned()));
        // The record comes first: even if not all of the files after it get written, they are known to be ours.
        let all = std::iter::once((self.folder.join(RECORD), record)).chain(texts);
        all.map(|(path, text)| Write::new(path, text)).filter(Write::changes).collect()
    }

    /// Writes the plugin, all or nothing, and removes files of an older version that this one no longer has.
    ///
    /// # Errors
    /// A file cannot be written; what was written before it is undone.
    pub(super) fn install(&self, plugin: &Plugin) -> io::Result<()> {
        let mut undo = Undo::default();
        let gone = self.record.iter().flat_map(|record| record.files.keys());
        let gone = gone.filter(|path| !plugin.files.iter().any(|(known, _)| known == path));
        let gone: Vec<PathBuf> = gone.map(|path| self.folder.join(path)).filter(|path| path.is_file()).collect();
        let written = self.writes(plugin).iter().try_for_each(|write| undo.write(write));
        written.and_then(|()| gone.iter().try_for_each(|path| undo.remove(path))).map_err(|error| {
            let left = undo.take_back();
            if left.is_empty() { error } else { io::Error::other(format!("{error}; left behind: {}", left.join("; "))) }
        })
    }

    /// Removes what was written, and the folders that this leaves empty. Files that somebody has changed stay, and are
    /// returned.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub(super) fn uninstall(&self, plugin: &Plugin) -> io::Result<Vec<String>> {
        let Some(record) = &self.record else { return Ok(Vec::new()) };
        let changed = self.changed(plugin);
        for path in record.files.keys().filter(|path| !changed.contains(path)) {
            let file = self.folder.join(path);
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let why = format!("{} cannot be removed: {error}", file.display());
                    return Err(io::Error::new(error.kind(), why));
                }
                Ok(()) | Err(_) => {}
            }
        }
        fs::remove_file(self.folder.join(RECORD))?;
        // The editor makes it of our documentation, as the user was told to have done, and can make it anew.
        if record.files.keys().any(|path| Path::new(path).starts_with(HELP)) {
            let _ = fs::remove_file(self.folder.join(HELP).join("tags"));
        }
        for path in record.files.keys() {
            // The record's paths are the plugin's own: none leads out of its folder.
            for folder in Path::new(path).ancestors().skip(1) {
                // This removes empty folders only.
                let _ = fs::remove_dir(self.folder.join(folder));
            }
        }
        if self.folder.ends_with(PACKAGE) {
            for folder in self.folder.ancestors().skip(1).take(2) {
                let _ = fs::remove_dir(folder);
            }
        }
        Ok(changed)
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::editor::carried::PLUGINS;

    fn tree(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() { folders.push(entry.path()) } else { found.push(entry.path()) }
            }
        }
        found
    }

    #[test]
    fn what_is_installed_can_be_taken_out_without_a_trace() {
        for plugin in &PLUGINS {
            let dir = tempfile::tempdir().unwrap();
            let folder = dir.path().join("deep/er");
            let look = || Installed::look(folder.clone());
            assert_eq!(look().standing(plugin), Standing::Absent);
            look().install(plugin).unwrap();
            assert_eq!(look().standing(plugin), Standing::Current);
            assert_eq!(tree(dir.path()).len(), plugin.files.len() + 1);
            assert!(look().writes(plugin).is_empty(), "a second time nothing is written");
            fs::remove_file(folder.join(plugin.files[0].0)).unwrap();
            assert!(matches!(look().standing(plugin), Standing::Other(_)), "a part is missing");
            look().install(plugin).unwrap();
            if folder.join(HELP).exists() {
                fs::write(folder.join(HELP).join("tags"), "as `:helptags` makes it").unwrap();
            }
            assert_eq!(look().uninstall(plugin).unwrap(), [""; 0]);
            assert!(tree(dir.path()).is_empty());
            assert!(!folder.exists());
        }
    }

    #[test]
    fn a_package_goes_with_its_plugin_unless_it_holds_another() {
        let (dir, plugin) = (tempfile::tempdir().unwrap(), &PLUGINS[0]);
        let look = || Installed::look(dir.path().join(PACKAGE));
        for other in ["pack/other", "pack/situated/opt"] {
            look().install(plugin).unwrap();
            fs::create_dir_all(dir.path().join(other)).unwrap();
            look().uninstall(plugin).unwrap();
            assert_eq!(dir.path().join("pack/situated").exists(), other.contains("situated"), "{other}");
            assert!(!dir.path().join("pack/situated/start").exists());
        }
    }

    #[test]
    fn what_somebody_has_changed_is_told_from_an_older_version() {
        let (dir, plugin) = (tempfile::tempdir().unwrap(), &PLUGINS[0]);
        let look = || Installed::look(dir.path().to_owned());
        look().install(plugin).unwrap();
        let (path, _) = plugin.files[0];
        // As an older version would have left it: its record knows of the text.
        fs::write(dir.path().join(path), "older").unwrap();
        let record = fs::read_to_string(dir.path().join(RECORD)).unwrap();
        fs::write(dir.path().join(RECORD), record.replace(&hash(plugin.files[0].1), &hash("older"))).unwrap();
        assert_eq!(look().changed(plugin), [""; 0]);
        assert!(matches!(look().standing(plugin), Standing::Other(_)));
        fs::write(dir.path().join(path), "mine").unwrap();
        assert_eq!(look().changed(plugin), [path]);
        assert_eq!(look().uninstall(plugin).unwrap(), [path]);
        assert_eq!(fs::read_to_string(dir.path().join(path)).unwrap(), "mine");
        assert_eq!(look().changed(plugin), [path], "also without a record");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_left_as_it_was() {
        let (dir, plugin) = (tempfile::tempdir().unwrap(), &PLUGINS[0]);
        // A file is where a folder would have to be.
        fs::write(dir.path().join("lua"), "mine").unwrap();
        let failed = Installed::look(dir.path().to_owned()).install(plugin).unwrap_err();
        assert!(failed.to_string().contains("lua"), "{failed}");
        assert_eq!(tree(dir.path()), [dir.path().join("lua")]);
    }
}
