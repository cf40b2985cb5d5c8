//! Files: creates them for this user alone, identifies them without their names, reads and writes them at an offset.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

mod mapped;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use mapped::Mapped;
pub use system::{bytes_on_disk, is_socket, is_writable, mode, owner, read_at, set_mode, symlink, sync_folder, times};

/// Creates what is opened or built for this user alone: 0600 and 0700. On Windows all of it is in the user's own
/// folders, which pass their access lists on to what is made in them.
pub trait Private {
    /// Gives nobody else any right, if the file or folder is created.
    fn private(&mut self) -> &mut Self;
}

impl Private for OpenOptions {
    fn private(&mut self) -> &mut Self {
        system::private_file(self);
        self
    }
}

impl Private for DirBuilder {
    fn private(&mut self) -> &mut Self {
        system::private_folder(self);
        self
    }
}

/// Opens what is there without blocking: opening a pipe that has no other end would block for ever.
pub trait AtOnce {
    /// After this, reading from such a pipe finds its end, and writing to it fails.
    fn at_once(&mut self) -> &mut Self;
}

impl AtOnce for OpenOptions {
    fn at_once(&mut self) -> &mut Self {
        system::at_once(self);
        self
    }
}

/// The identity of a file or folder, whatever its name. Another one may get the same numbers after it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Device, or serial number of the volume.
    pub device: u64,
    /// Inode, or index on the volume.
    pub inode: u64,
}

impl FileId {
    /// The identity of an open file.
    ///
    /// # Errors
    /// What the system says.
    pub fn of(file: &File) -> io::Result<FileId> {
        system::id_of(file)
    }

    /// The identity of the file or folder at `path`; links are followed.
    ///
    /// # Errors
    /// What the system says.
    pub fn at(path: &Path) -> io::Result<FileId> {
        system::id_at(path)
    }
}

/// Room on the file system of a path, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// What this user may still take.
    pub free: u64,
    /// All of it.
    pub total: u64,
}

impl Room {
    /// The room on the file system of `path`.
    ///
    /// # Errors
    /// What the system says.
    pub fn at(path: &Path) -> io::Result<Room> {
        system::room(path)
    }
}

/// Whether the mode gives anybody except the owner a right.
pub fn is_open_to_others(meta: &Metadata) -> bool {
    mode(meta) & 0o077 != 0
}

/// Takes away all rights of others on `path`, whose metadata are `meta`; returns whether there were any.
///
/// # Errors
/// What the system says.
pub fn close_to_others(path: &Path, meta: &Metadata) -> io::Result<bool> {
    if !is_open_to_others(meta) {
        return Ok(false);
    }
    set_mode(path, mode(meta) & 0o700).map(|()| true)
}

/// Reads as many bytes as fit, from `offset` on.
///
/// # Errors
/// What the system says; also if there are fewer.
pub fn read_exact_at(file: &File, mut into: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !into.is_empty() {
        match read_at(file, into, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                into = &mut into[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes all bytes, from `offset` on.
///
/// # Errors
/// What the system says.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match system::write_at(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = &bytes[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Opens a file for reading, without blocking ([`AtOnce`]).
///
/// # Errors
/// What the system says.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).at_once().open(path)
}

/// Waits until a file's content is on the disk. A file that no longer exists needs nothing.
///
/// # Errors
/// What the system says.
pub fn sync_file(path: &Path) -> io::Result<()> {
    match system::open_to_sync(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => opened?.sync_data(),
    }
}

/// Replaces a file, which has this mode from then on: writes the bytes beside it, as `NAME.new`, and renames that once it
/// is on the disk. After a power cut the file is the old one or the new one, whole.
///
/// # Errors
/// The bytes cannot be written: the old file stays, and nothing beside it. Or the folder cannot be synced.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).private().open(&fresh)?;
        set_mode(&fresh, mode)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // Windows does not rename an open file.
        drop(file);
        std::fs::rename(&fresh, path)
    };
    write().inspect_err(|_| drop(std::fs::remove_file(&fresh)))?;
    path.parent().map_or(Ok(()), sync_folder)
}

#[cfg(test)]
mod tests;
