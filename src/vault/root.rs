//! The vault's folder itself: whether it is there, which one it is, and what file system it is on.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use parking_lot::Mutex;
use platform::files::FileId;
use thiserror::Error;

/// Why a vault cannot be walked or watched. The text says what to do.
#[derive(Debug, Error)]
pub enum VaultError {
    /// There is nothing at the path.
    #[error("the vault {} does not exist; create the folder, mount it, or correct the vault's `path`", .0.display())]
    Missing(PathBuf),
    /// The path is that of a file.
    #[error("the vault {} is not a folder; name the folder that holds the notes", .0.display())]
    NotAFolder(PathBuf),
    /// The folder cannot be listed.
    #[error("the vault {} cannot be read ({error}){}", .path.display(), remedy(error))]
    Unreadable {
        /// The vault's root.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A glob of the configuration is malformed.
    #[error("the glob `{glob}` in `exclude` is not valid: {error}; the syntax is that of .gitignore")]
    BadGlob {
        /// As the user wrote it.
        glob: String,
        /// What is wrong with it.
        error: String,
    },
    /// The walk was told to stop. What it had seen is not given out: it would look like a smaller vault.
    #[error("the walk was cancelled")]
    Cancelled,
    /// Watching cannot begin.
    #[error("the vault {} cannot be watched ({error}); set `poll = true` for it", .path.display())]
    Unwatchable {
        /// The vault's root.
        path: PathBuf,
        /// What the system said.
        error: String,
    },
}

/// What to do about a folder that cannot be listed, where the user's rights are the reason.
fn remedy(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied { "; give your user the right to list and read it" } else { "" }
}

impl VaultError {
    /// The error of looking at the root.
    pub(super) fn of_root(root: &Path, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => VaultError::Missing(root.to_owned()),
            io::ErrorKind::NotADirectory => VaultError::NotAFolder(root.to_owned()),
            _ => VaultError::Unreadable { path: root.to_owned(), error },
        }
    }
}

/// Which folder the root is: another one under the same name is another vault until proven otherwise.
/// A folder that is deleted and made again may get the same inode, so equality proves little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootId {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
}

/// The identity of the folder at `root` (links to it are followed), or why it is none.
pub fn root_id(root: &Path) -> Result<RootId, VaultError> {
    let meta = std::fs::metadata(root).map_err(|error| VaultError::of_root(root, error))?;
    if !meta.is_dir() {
        return Err(VaultError::NotAFolder(root.to_owned()));
    }
    let FileId { device, inode } = FileId::at(root).map_err(|error| VaultError::of_root(root, error))?;
    Ok(RootId { dev: device, ino: inode })
}

/// How long a look at a path may take that all vaults wait for.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// Paths at which a look has taken longer than that, and goes on.
static HANGING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// What `look` finds at `path`, where a file system that hangs must keep nobody waiting: it looks on a thread of its own,
/// which is waited for for a second, and not at all while an earlier look at the path hangs.
///
/// # Errors
/// What the system says, or that the file system does not answer.
pub fn look_at<T: Send + 'static>(
    path: &Path,
    look: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let hangs = || Err(io::Error::new(io::ErrorKind::TimedOut, "its file system does not answer"));
    if HANGING.lock().contains(path) {
        return hangs();
    }
    let (answer, answered) = mpsc::sync_channel(1);
    let place = path.to_owned();
    std::thread::Builder::new().name("look".to_owned()).spawn(move || {
        let _ = answer.send(look(&place));
        HANGING.lock().remove(&place);
    })?;
    if let Ok(found) = answered.recv_timeout(ANSWERS_WITHIN) {
        return found;
    }
    let mut hanging = HANGING.lock();
    // The thread takes the path out after it has answered.
    answered.try_recv().unwrap_or_else(|_| {
        hanging.insert(path.to_owned());
        hangs()
    })
}

/// Whether the modes of files let this process list the folder. If that fails all the same, something else forbids it,
/// such as a sandbox around the process.
pub fn is_readable_by_mode(root: &Path) -> bool {
    #[cfg(unix)]
    return rustix::fs::access(root, rustix::fs::Access::READ_OK | rustix::fs::Access::EXEC_OK).is_ok();
    #[cfg(not(unix))]
    return root.is_dir();
}

/// How long git may be at work. A lock that is older was left behind by one that was killed.
const LONGEST_LOCK: Duration = Duration::from_mins(1);

/// Whether git is at work in the vault or in the repository around it: its index lock exists, and is new.
pub fn git_locked(root: &Path) -> bool {
    let Some(git) = root.ancestors().find_map(git_folder) else { return false };
    let made = git.join("index.lock").symlink_metadata().and_then(|lock| lock.modified());
    // A lock from the future is of a clock that was wrong.
    made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age < LONGEST_LOCK))
}

/// The git folder of a work tree: `.git`, or what the file `.git` of a worktree or submodule points to.
fn git_folder(tree: &Path) -> Option<PathBuf> {
    let git = tree.join(".git");
    let meta = git.symlink_metadata().ok()?;
    if meta.is_dir() {
        return Some(git);
    }
    if !meta.is_file() || meta.len() > 4096 {
        return None;
    }
    let text = std::fs::read_to_string(&git).ok()?;
    Some(tree.join(text.strip_prefix("gitdir:")?.trim()))
}

/// The kind of file system `root` is on, if events are unreliable there: another machine, or another program behind
/// FUSE, changes files without this kernel's knowing.
#[cfg(target_os = "linux")]
pub fn needs_polling(root: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(root).ok()?.f_type;
    // The field is signed on some machines; the magic numbers are 32 bits wide on all of them.
    blind_kind(kind as u32)
}

/// As on Linux. On macOS, no event tells what other machines do to a network volume.
#[cfg(target_vendor = "apple")]
pub fn needs_polling(root: &Path) -> Option<&'static str> {
    const MNT_LOCAL: u32 = 0x1000;
    let flags = rustix::fs::statfs(root).ok()?.f_flags;
    (flags & MNT_LOCAL == 0).then_some("a network volume")
}

/// Elsewhere the kind of file system is not known, and watching is tried.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub fn needs_polling(_root: &Path) -> Option<&'static str> {
    None
}

/// By the magic numbers of `linux/magic.h` and of the out-of-tree modules that have one.
#[cfg(target_os = "linux")]
fn blind_kind(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => "SMB",
        0x6573_5546 => "FUSE",
        0x0102_1997 => "9p",
        0x00C3_6400 => "Ceph",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x564C => "NCP",
        0x786F_4256 => "a VirtualBox shared folder",
        0xBACB_ACBC => "a VMware shared folder",
        0x7C7C_6673 => "a Parallels shared folder",
        0x7461_636F => "OCFS2",
        0x0116_1970 => "GFS2",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
