//! Replaces files whole, or not at all: an assistant's configuration, our own after a question, a page, an export.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use platform::files::{Private as _, mode, set_mode, sync_folder};

use super::exit;
use super::print::shown;
use super::session::CliFailure;
use crate::daemon::config::real_folder;

/// What is to replace a file, written beside it. Until it [lands](Draft::land) the file stays as it is; if it never does,
/// nothing is left of it. A pipe or a device cannot be replaced: it is written to.
pub(super) struct Draft {
    /// Takes the text.
    pub(super) out: File,
    file: PathBuf,
    /// Where the draft is, until it has landed; `None` for a pipe or a device.
    beside: Option<PathBuf>,
}

impl Draft {
    /// For a file that its user alone may read if it is new; an old one keeps its mode.
    pub(super) fn of(file: &Path) -> io::Result<Self> {
        // A symbolic link (as dotfiles often are) stays one: its target is replaced.
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        match std::fs::metadata(&file) {
            Ok(known) if !known.is_file() => {
                Ok(Draft { out: OpenOptions::new().write(true).open(&file)?, file, beside: None })
            }
            known => Draft::beside(&file, "new", known.map_or(0o600, |known| mode(&known) & 0o777)),
        }
    }

    /// A new file beside another, never over an existing one.
    fn beside(file: &Path, what: &str, mode: u32) -> io::Result<Self> {
        for n in 1..1_000 {
            let mut name = file.as_os_str().to_owned();
            name.push(if n == 1 { format!(".{what}") } else { format!(".{what}-{n}") });
            let path = PathBuf::from(name);
            match OpenOptions::new().write(true).create_new(true).private().open(&path) {
                Ok(out) => {
                    let draft = Draft { out, file: file.to_owned(), beside: Some(path.clone()) };
                    set_mode(&path, mode)?;
                    return Ok(draft);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("a thousand copies are beside it already"))
    }

    /// Takes the place of the file.
    pub(super) fn land(mut self) -> io::Result<()> {
        if let Some(beside) = &self.beside {
            self.out.sync_all()?;
            std::fs::rename(beside, &self.file)?;
            self.beside = None;
            sync_folder(parent(&self.file))?;
        }
        Ok(())
    }

    /// Stays where it is, which is returned.
    fn stay(mut self) -> io::Result<Option<PathBuf>> {
        self.out.sync_all()?;
        Ok(self.beside.take())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // One that cannot be removed does no harm, and an error is being told already.
            let _ = std::fs::remove_file(beside);
        }
    }
}

/// Replaces a file's text atomically. If `keep` is set, the old text is copied beside it; returns where the copy is.
pub(super) fn file(file: &Path, old: Option<&str>, new: &str, keep: bool) -> io::Result<Option<PathBuf>> {
    folder_of(file)?;
    // Such files hold other servers' keys: on an error, the copy goes too.
    let mut draft = Draft::of(file)?;
    draft.out.write_all(new.as_bytes())?;
    let mut backup = None;
    if let Some(old) = old.filter(|_| keep) {
        let mut copy = Draft::beside(file, "before-situated", mode(&draft.out.metadata()?) & 0o777)?;
        copy.out.write_all(old.as_bytes())?;
        backup = Some(copy);
    }
    // Another program may have written to it meanwhile: then nothing is done.
    if std::fs::read_to_string(file).ok().as_deref() != old {
        return Err(io::Error::other("it was changed by somebody else just now; nothing was written, try again"));
    }
    draft.land()?;
    Ok(backup.map(Draft::stay).transpose()?.flatten())
}

/// A page that its owner alone may read, for it says what is in notes. A vault is never written to, where the page would
/// be one more note.
pub(super) fn page<'a>(path: &Path, mut vaults: impl Iterator<Item = &'a Path>) -> Result<Draft, CliFailure> {
    if vaults.any(|vault| real_folder(parent(path)).starts_with(real_folder(vault))) {
        let message =
            format!("--html {}: it is in a vault, which is never written to; name another place", shown(path));
        return Err(CliFailure::usage(message));
    }
    let private = |draft: Draft| draft.beside.as_ref().map_or(Ok(()), |path| set_mode(path, 0o600)).map(|()| draft);
    Draft::of(path)
        .and_then(private)
        .map_err(|error| CliFailure::new(exit::CANNOT_CREATE, format!("--html {}: {error}", shown(path))))
}

fn parent(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the folder of a file if there is none.
pub(super) fn folder_of(file: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).private().create(parent(file))
}

#[cfg(test)]
mod tests;
