//! The files that an installation writes, and their exact undoing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub text: String,
    /// What is there now.
    pub before: Option<String>,
}

impl Write {
    /// Looks at what is there.
    pub fn new(path: PathBuf, text: String) -> Write {
        let before = fs::read_to_string(&path).ok();
        Write { path, text, before }
    }

    /// Whether it changes anything.
    pub fn changes(&self) -> bool {
        self.before.as_ref() != Some(&self.text)
    }
}

/// The steps that were done, to be undone in reverse order.
#[derive(Debug, Default)]
pub struct Undo(Vec<Done>);

#[derive(Debug)]
enum Done {
    Folder(PathBuf),
    Written(PathBuf, Option<String>),
    Removed(PathBuf, String),
    Linked(PathBuf),
}

impl Undo {
    /// Creates a folder and those above it.
    pub fn folder(&mut self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder).map_err(|error| told("create", folder, error))?;
            self.0.push(Done::Folder(folder.to_owned()));
        }
        Ok(())
    }

    /// Writes a file, all of it or nothing.
    pub fn write(&mut self, write: &Write) -> io::Result<()> {
        if !write.changes() {
            return Ok(());
        }
        if let Some(folder) = write.path.parent() {
            self.folder(folder)?;
        }
        put(&write.path, &write.text).map_err(|error| told("write", &write.path, error))?;
        self.0.push(Done::Written(write.path.clone(), write.before.clone()));
        Ok(())
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &Path) -> io::Result<()> {
        let before = fs::read_to_string(path).map_err(|error| told("read", path, error))?;
        fs::remove_file(path).map_err(|error| told("remove", path, error))?;
        self.0.push(Done::Removed(path.to_owned(), before));
        Ok(())
    }

    /// Creates `link` to `to`. A link that exists is left alone.
    pub fn link(&mut self, link: &Path, to: &Path) -> io::Result<()> {
        if link.symlink_metadata().is_ok() {
            return Ok(());
        }
        if let Some(folder) = link.parent() {
            self.folder(folder)?;
        }
        platform::files::symlink(to, link).map_err(|error| told("create", link, error))?;
        self.0.push(Done::Linked(link.to_owned()));
        Ok(())
    }

    /// Undoes everything; returns what could not be undone.
    pub fn take_back(self) -> Vec<String> {
        let mut failed = Vec::new();
        for done in self.0.into_iter().rev() {
            let (path, outcome) = match done {
                Done::Folder(path) => {
                    // Something else may have come into it meanwhile.
                    let outcome = fs::remove_dir(&path).or_else(|error| {
                        if error.kind() == io::ErrorKind::DirectoryNotEmpty { Ok(()) } else { Err(error) }
                    });
                    (path, outcome)
                }
                Done::Linked(path) | Done::Written(path, None) => {
                    let outcome = fs::remove_file(&path);
                    (path, outcome)
                }
                Done::Written(path, Some(before)) | Done::Removed(path, before) => {
                    let outcome = put(&path, &before);
                    (path, outcome)
                }
            };
            if let Err(error) = outcome {
                failed.push(format!("{}: {error}", path.display()));
            }
        }
        failed
    }
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    // launchd accepts no file that others may write to.
    platform::files::replace(path, text.as_bytes(), 0o644)
}

fn told(what: &str, path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(all(test, unix))]
mod tests;
