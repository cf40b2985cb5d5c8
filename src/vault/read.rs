//! Reading one file of a vault, and nothing but a file of that vault.
//!
//! Links are never followed, neither the file's own nor one on the way to it. So a note has one place
//! (an event of a link's target names the target only, and a copy under the link's name would go
//! stale), and no name in a vault can make the program read what lies outside. The kernel checks this
//! while it opens the file: a check by name beforehand could be outrun.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use note::{FileStat, VaultPath};

/// Why a file was not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// It is not there (any more).
    #[error("it does not exist")]
    Gone,
    /// A folder, FIFO, socket or device.
    #[error("it is not a regular file")]
    NotAFile,
    /// It is a link or lies behind one, so it may be outside the vault.
    #[error("it is reached through a symbolic link, and links are not followed")]
    Outside,
    /// Its length in bytes, which is over the limit.
    #[error("it has {0} bytes, which is too large (`max_note_bytes`; documents: 128 MiB)")]
    TooLarge(u64),
    /// What was read may be half old and half new.
    #[error("it changed while it was read")]
    ChangedWhileRead,
    /// No permission.
    #[error("permission denied")]
    Denied,
    /// Anything else the system said.
    #[error("{0}")]
    Io(String),
}

/// The bytes of a regular file of at most `max_bytes`, and its state, which was the same before and
/// after. Never blocks on a FIFO, and never leaves the vault.
pub fn read(root: &Path, path: &VaultPath, max_bytes: u64) -> Result<(Vec<u8>, FileStat), ReadError> {
    let (mut file, before) = open_regular(root, path)?;
    if before.size > max_bytes {
        return Err(ReadError::TooLarge(before.size));
    }
    let mut bytes = Vec::with_capacity(before.size as usize + 1);
    (&mut file).take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    let after = file_stat(&file.metadata()?);
    if after.size > max_bytes {
        return Err(ReadError::TooLarge(after.size));
    }
    if before != after || bytes.len() as u64 != after.size {
        return Err(ReadError::ChangedWhileRead);
    }
    Ok((bytes, after))
}

/// A regular file, opened for reading, and its state.
pub(super) fn open_regular(root: &Path, path: &VaultPath) -> Result<(File, FileStat), ReadError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(root, path, flags)?);
    let stat = regular(&file.metadata()?).ok_or(ReadError::NotAFile)?;
    Ok((file, stat))
}

/// The state of a regular file that [`read`] could reach, or why there is none. Only [`ReadError::Gone`] says that the
/// file is not there: the system may as well have no descriptor left, or a server that does not answer.
pub fn file_state(root: &Path, path: &VaultPath) -> Result<FileStat, ReadError> {
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(root, path, flags)?);
    regular(&file.metadata()?).ok_or(ReadError::NotAFile)
}

impl ReadError {
    /// Whether the note is no note any more, rather than out of reach for now.
    pub fn is_final(&self) -> bool {
        match self {
            ReadError::Gone | ReadError::NotAFile | ReadError::Outside | ReadError::TooLarge(_) => true,
            ReadError::ChangedWhileRead | ReadError::Denied | ReadError::Io(_) => false,
        }
    }
}

fn regular(meta: &Metadata) -> Option<FileStat> {
    meta.is_file().then(|| file_stat(meta))
}

/// What is kept of the metadata of a file.
pub(super) fn file_stat(meta: &Metadata) -> FileStat {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    FileStat {
        size: meta.len(),
        mtime_ns: nanos(meta.mtime(), meta.mtime_nsec()),
        ctime_ns: nanos(meta.ctime(), meta.ctime_nsec()),
        dev: meta.dev(),
        ino: meta.ino(),
    }
}

/// Opens a path beneath the root without following any link below it.
fn open(root: &Path, path: &VaultPath, flags: OFlags) -> Result<OwnedFd, ReadError> {
    #[cfg(target_os = "linux")]
    let folder_flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let folder_flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::io::retry_on_intr(|| rustix::fs::open(root, folder_flags, Mode::empty()))?;
    let relative = path.to_relative();
    #[cfg(target_os = "linux")]
    match open_at_once(&root, &relative, flags) {
        // An old kernel or a container's filter does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {}
        other => return Ok(other?),
    }
    Ok(open_step_by_step(root, &relative, flags, folder_flags)?)
}

#[cfg(target_os = "linux")]
fn open_at_once(root: &OwnedFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags as Resolve;
    let resolve = Resolve::BENEATH | Resolve::NO_MAGICLINKS | Resolve::NO_SYMLINKS;
    rustix::io::retry_on_intr(|| rustix::fs::openat2(root, relative, flags, Mode::empty(), resolve))
}

/// The same guarantee with calls that every Unix has: a name with one component and without `..`
/// cannot leave its folder unless it is a link.
fn open_step_by_step(root: OwnedFd, relative: &Path, flags: OFlags, folder_flags: OFlags) -> Result<OwnedFd, Errno> {
    let open_in = |folder: &OwnedFd, name: &std::ffi::OsStr, flags: OFlags| {
        let flags = flags | OFlags::NOFOLLOW;
        rustix::io::retry_on_intr(|| rustix::fs::openat(folder, name, flags, Mode::empty()))
    };
    let mut folder = root;
    let mut names = relative.iter().peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            return open_in(&folder, name, flags);
        }
        folder = match open_in(&folder, name, folder_flags) {
            // A link that was not followed is no folder either; only the other call says that it is a link.
            Err(Errno::NOTDIR) if is_link(&folder, name) => return Err(Errno::LOOP),
            opened => opened?,
        };
    }
    Err(Errno::NOENT)
}

fn is_link(folder: &OwnedFd, name: &std::ffi::OsStr) -> bool {
    let stat = rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode as _).is_symlink())
}

impl From<Errno> for ReadError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR => ReadError::Gone,
            Errno::LOOP | Errno::XDEV => ReadError::Outside,
            Errno::ACCESS | Errno::PERM => ReadError::Denied,
            // A socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => ReadError::NotAFile,
            other => ReadError::Io(io::Error::from(other).to_string()),
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Errno::from_io_error(&error).map_or_else(|| ReadError::Io(error.to_string()), ReadError::from)
    }
}

#[cfg(test)]
mod tests;
