//! Files, as Windows has them. Modes and owners are reported as for a file that is this user's alone: all of the
//! program's own files are in folders of the user's profile, whose access lists see to that.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{FileExt, MetadataExt};
use std::path::Path;

use winapi_util::Handle;
use winapi_util::file::information;
use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;

use super::{FileId, Room};

pub(super) fn private_file(_options: &mut OpenOptions) {}

pub(super) fn private_folder(_builder: &mut DirBuilder) {}

pub(super) fn id_of(file: &File) -> io::Result<FileId> {
    let found = information(file)?;
    Ok(FileId { device: found.volume_serial_number(), inode: found.file_index() })
}

pub(super) fn id_at(path: &Path) -> io::Result<FileId> {
    let found = information(Handle::from_path_any(path)?)?;
    Ok(FileId { device: found.volume_serial_number(), inode: found.file_index() })
}

pub(super) fn room(path: &Path) -> io::Result<Room> {
    let wide: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let (mut free, mut total) = (0, 0);
    // SAFETY: the path ends with a zero; both numbers outlive the call, and the third may be left out.
    #[allow(unsafe_code)]
    let done = unsafe { GetDiskFreeSpaceExW(wide.as_ptr(), &raw mut free, &raw mut total, std::ptr::null_mut()) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(Room { free, total }) }
}

/// This user.
pub fn owner(_meta: &Metadata) -> u32 {
    crate::user::id()
}

/// The mode of a file or folder that is its owner's alone.
pub fn mode(meta: &Metadata) -> u32 {
    if meta.is_dir() { 0o700 } else { 0o600 }
}

/// Does nothing: there are no modes.
///
/// # Errors
/// None.
pub fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// What a file takes on the disk: its length, for its metadata tell no more.
pub fn bytes_on_disk(meta: &Metadata) -> u64 {
    meta.len()
}

/// Whether it is a socket: never, for pipes are in no folder.
pub fn is_socket(_meta: &Metadata) -> bool {
    false
}

/// Modification time, and the time of creation in the place of a change time, in nanoseconds since 1970 (UTC).
pub fn times(meta: &Metadata) -> (i64, i64) {
    /// 1970 in the 100 ns since 1601 in which Windows counts.
    const EPOCH: i64 = 116_444_736_000_000_000;
    let nanos = |count: u64| (count as i64).saturating_sub(EPOCH).saturating_mul(100);
    (nanos(meta.last_write_time()), nanos(meta.creation_time()))
}

/// Checks that files can be made in a folder.
///
/// # Errors
/// Why not.
pub fn is_writable(folder: &Path) -> io::Result<()> {
    if std::fs::metadata(folder)?.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(())
}

/// Reads from `offset` on; says how many bytes.
///
/// # Errors
/// What the system says.
pub fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(into, offset)
}

pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(bytes, offset)
}

/// Pipes are no files here.
pub(super) fn at_once(_options: &mut OpenOptions) {}

/// Opens a file for writing: Windows flushes no other.
pub(super) fn open_to_sync(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Does nothing: names are written with the files, and there is no call for it.
///
/// # Errors
/// None.
pub fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Makes a symbolic link to a file.
///
/// # Errors
/// What the system says: few users may make links.
pub fn symlink(to: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(to, link)
}
