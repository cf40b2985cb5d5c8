//! Replaces a configuration atomically: an assistant's, or our own after a question.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use platform::files::{Private as _, mode, set_mode, sync_folder};

use super::session::{CliFailure, Session};
use crate::daemon::config::{Config, Overrides};
use protocol::daemon::Problem;

/// Replaces a file's text atomically. If `keep` is set, the old text is copied beside it; returns where the copy is.
pub(super) fn file(file: &Path, old: Option<&str>, new: &str, keep: bool) -> std::io::Result<Option<PathBuf>> {
    let folder = folder_of(file)?;
    // Such files hold other servers' keys: a new one is readable by its user alone, an old one keeps its mode.
    let mode = std::fs::metadata(file).map_or(0o600, |known| mode(&known) & 0o777);
    let backup = old.filter(|_| keep).map(|old| beside(file, "before-situated", old, mode)).transpose()?;
    let fresh = beside(file, "new", new, mode)?;
    // Another program may have written to it meanwhile: then nothing is done.
    if std::fs::read_to_string(file).ok().as_deref() != old {
        std::fs::remove_file(&fresh)?;
        return Err(std::io::Error::other("it was changed by somebody else just now; nothing was written, try again"));
    }
    std::fs::rename(&fresh, file)?;
    sync_folder(folder)?;
    Ok(backup)
}

/// The folder of a file, which is made if there is none.
pub(super) fn folder_of(file: &Path) -> std::io::Result<&Path> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).private().create(folder)?;
    Ok(folder)
}

/// Writes a new file beside another, never over an existing one.
pub(super) fn beside(file: &Path, what: &str, text: &str, mode: u32) -> std::io::Result<PathBuf> {
    folder_of(file)?;
    for n in 1..1_000 {
        let mut name = file.as_os_str().to_owned();
        name.push(if n == 1 { format!(".{what}") } else { format!(".{what}-{n}") });
        let path = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).private().open(&path) {
            Ok(mut out) => {
                set_mode(&path, mode)?;
                out.write_all(text.as_bytes())?;
                out.sync_all()?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("a thousand copies are beside it already"))
}

/// What would be wrong with a text as the configuration in this file. For that it is written beside the file and removed
/// again.
pub(super) fn problems_of(file: &Path, text: &str, session: &Session) -> Result<Vec<Problem>, CliFailure> {
    // If nothing can be written beside the file, writing the file itself will report why.
    let Ok(probe) = beside(file, "check", text, 0o600) else { return Ok(Vec::new()) };
    let (_, mut problems) = Config::read(&Overrides { config: Some(probe.clone()), ..session.overrides() });
    std::fs::remove_file(&probe)?;
    for problem in problems.iter_mut().filter(|problem| problem.file.as_ref() == Some(&probe)) {
        problem.file = Some(file.to_owned());
    }
    Ok(problems)
}
