//! Opening beneath a folder, on Unix: the kernel looks for links while it opens.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::ReadError;
use note::VaultPath;

/// Opens a file for reading. Never blocks on a FIFO.
pub(super) fn open(root: &Path, path: &VaultPath) -> Result<File, ReadError> {
    open_with(root, path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC)
}

/// Opens a file to see what it is. This needs no right to read it where the system has such a way.
pub(super) fn open_to_look(root: &Path, path: &VaultPath) -> Result<File, ReadError> {
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    open_with(root, path, flags)
}

/// Device and inode.
pub(super) fn numbers(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

/// What the system's error means; `None` if it is not one of the system's.
pub(super) fn reason(error: &io::Error) -> Option<ReadError> {
    Errno::from_io_error(error).map(ReadError::from)
}

/// Opens a path beneath the root without following any link below it.
fn open_with(root: &Path, path: &VaultPath, flags: OFlags) -> Result<File, ReadError> {
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
        other => return Ok(File::from(other?)),
    }
    Ok(File::from(open_step_by_step(root, &relative, flags, folder_flags)?))
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
            // `NOTDIR` is also the error of a link that was not followed; only the other call tells them apart.
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

#[cfg(test)]
mod tests;
