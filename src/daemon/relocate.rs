//! Moves what an earlier version kept elsewhere to its present place when the daemon starts, before anything of it is
//! opened: by one rename under the lock of the data, so that a crash in between leaves it whole at one of the two
//! places. What cannot be moved stays where it is and is used there; nothing is ever copied, merged or removed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::serve::lock::{BindError, DataLock, make_private};
use protocol::folders::{Former, Location};
use protocol::locate;

/// What happened to something that an earlier version kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relocation {
    /// It is at its present place now.
    Moved {
        /// The former place.
        from: PathBuf,
        /// The present one.
        to: PathBuf,
    },
    /// It is used at its former place.
    Stays {
        /// The former place.
        at: PathBuf,
        /// Why it could not be moved.
        why: String,
    },
    /// There is something at both places, and the present one is used.
    LeftBehind {
        /// The former place.
        at: PathBuf,
        /// The present one.
        uses: PathBuf,
    },
}

impl Relocation {
    /// Logs it.
    pub fn tell(&self) {
        match self {
            Relocation::Moved { .. } => tracing::info!("{self}"),
            Relocation::Stays { .. } | Relocation::LeftBehind { .. } => tracing::warn!("{self}"),
        }
    }
}

impl fmt::Display for Relocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Relocation::Moved { from, to } => write!(f, "moved {} to {}", from.display(), to.display()),
            Relocation::Stays { at, why } => write!(f, "{} is used where it lies: {why}", at.display()),
            Relocation::LeftBehind { at, uses } => write!(
                f,
                "{} is used; what an earlier version kept in {} is left as it is, and not read",
                uses.display(),
                at.display()
            ),
        }
    }
}

/// Renames something, never over anything that exists.
type Rename<'a> = &'a dyn Fn(&Path, &Path) -> io::Result<()>;

/// Takes the lock of the data, after moving them to their present place if that is possible.
///
/// # Errors
/// As when the lock is taken; also if a daemon serves from the former place.
pub fn data(location: &Location) -> Result<(DataLock, Option<Relocation>), BindError> {
    data_by(location, &rename)
}

fn data_by(location: &Location, rename: Rename<'_>) -> Result<(DataLock, Option<Relocation>), BindError> {
    let serves = locate::data_dir(location);
    if let Some(former) = location.former.as_ref().filter(|former| former.path == serves) {
        // Another process may be moving the folder right now, so it must not be recreated for the lock.
        if let Some(lock) = DataLock::in_place(&former.path)? {
            // Otherwise a daemon that served from there has just ended, and the present place is the one to use.
            if location.left_behind().is_none() {
                return Ok(move_data(lock, former, &location.path, rename));
            }
        }
    }
    let lock = DataLock::acquire(&location.path)?;
    Ok((lock, left_behind(location)))
}

fn move_data(lock: DataLock, former: &Former, to: &Path, rename: Rename<'_>) -> (DataLock, Option<Relocation>) {
    let relocation = move_to(former, to, rename);
    let moved = matches!(relocation, Some(Relocation::Moved { .. }));
    (if moved { lock.moved_to(to.to_owned()) } else { lock }, relocation)
}

/// Moves the configuration file to its present place; the caller holds the lock of the data. Keys and other files that
/// it names by path stay where they are.
pub fn config_file(location: &Location) -> Option<Relocation> {
    config_file_by(location, &rename)
}

fn config_file_by(location: &Location, rename: Rename<'_>) -> Option<Relocation> {
    let former = location.former.as_ref().filter(|former| former.path == location.in_use());
    let Some(former) = former else { return left_behind(location) };
    move_to(former, &location.path, rename)
}

fn left_behind(location: &Location) -> Option<Relocation> {
    let at = location.left_behind()?.to_owned();
    Some(Relocation::LeftBehind { at, uses: location.path.clone() })
}

/// Moves what is at the former place, unless the user has named that place.
fn move_to(former: &Former, to: &Path, rename: Rename<'_>) -> Option<Relocation> {
    let at = former.path.clone();
    (!former.named).then(|| match try_move(&at, to, rename) {
        Ok(()) => Relocation::Moved { from: at, to: to.to_owned() },
        Err(why) => Relocation::Stays { at, why },
    })
}

fn try_move(from: &Path, to: &Path, rename: Rename<'_>) -> Result<(), String> {
    // Whoever made a link wants the files at its target: on another disk, or among the dotfiles of a repository.
    if let Some(link) = from.ancestors().take(3).find(|path| path.is_symlink()) {
        return Err(format!("{} is a link", link.display()));
    }
    if let Some(above) = to.parent() {
        make_private(above).map_err(|error| error.to_string())?;
    }
    // Removes only an empty folder, which counts as nothing.
    let _ = std::fs::remove_dir(to);
    rename(from, to).map_err(|error| match error.kind() {
        io::ErrorKind::CrossesDevices => format!("{} is on another file system", to.display()),
        _ => format!("it cannot be moved to {}: {error}", to.display()),
    })
}

/// Renames; fails if something is at `to`.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

/// On other platforms there never was a former place.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix))]
mod tests;
