//! What stands where the daemon keeps a file, and is none: to read it would block for ever, or to write it would make a
//! file elsewhere.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// What is in the place of a file of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Strange {
    /// A pipe, socket or device, or a link to one.
    #[error("{} is a pipe, a socket or a device, where the daemon keeps a file: move it away and start again", .0.display())]
    NoFile(PathBuf),
    /// A link to nothing.
    #[error(
        "{} is a link to {}, which is not there: mount what it leads to, or remove the link, and start again",
        .0.display(), .1.display()
    )]
    Dangling(PathBuf, PathBuf),
}

impl Strange {
    /// What stands at `path`; `None` if it is a file, a folder, nothing, or must not be looked at.
    pub fn at(path: &Path) -> Option<Strange> {
        fs::symlink_metadata(path).ok().and_then(|meta| Strange::of(path, &meta))
    }

    /// The same of a path whose metadata are `meta`, links not followed.
    pub fn of(path: &Path, meta: &fs::Metadata) -> Option<Strange> {
        if meta.is_dir() || meta.is_file() {
            return None;
        }
        match fs::metadata(path) {
            Ok(target) if target.is_dir() || target.is_file() => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Some(Strange::Dangling(path.to_owned(), fs::read_link(path).unwrap_or_default()))
            }
            // A path that must not be looked at is reported by whoever opens it.
            Err(_) => None,
            Ok(_) => Some(Strange::NoFile(path.to_owned())),
        }
    }
}
