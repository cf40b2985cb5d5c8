//! Files, as every Unix has them.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::{FileId, Room};

pub(super) fn private_file(options: &mut OpenOptions) {
    options.mode(0o600);
}

pub(super) fn private_folder(builder: &mut DirBuilder) {
    builder.mode(0o700);
}

pub(super) fn id_of(file: &File) -> io::Result<FileId> {
    Ok(id(&file.metadata()?))
}

pub(super) fn id_at(path: &Path) -> io::Result<FileId> {
    Ok(id(&std::fs::metadata(path)?))
}

fn id(meta: &Metadata) -> FileId {
    FileId { device: meta.dev(), inode: meta.ino() }
}

pub(super) fn room(path: &Path) -> io::Result<Room> {
    let found = rustix::fs::statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Room { free: bytes(found.f_bavail), total: bytes(found.f_blocks) })
}

/// User id of the owner.
pub fn owner(meta: &Metadata) -> u32 {
    meta.uid()
}

/// Rights of the owner, the group and others, with the bits above them.
pub fn mode(meta: &Metadata) -> u32 {
    meta.mode() & 0o7777
}

/// Sets the mode.
///
/// # Errors
/// What the system says.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

/// What a file takes on the disk.
pub fn bytes_on_disk(meta: &Metadata) -> u64 {
    // `st_blocks` counts in 512 bytes whatever the file system's block size.
    meta.blocks() * 512
}

/// Whether it is a socket.
pub fn is_socket(meta: &Metadata) -> bool {
    meta.file_type().is_socket()
}

/// Modification time and change time, in nanoseconds since 1970 (UTC).
pub fn times(meta: &Metadata) -> (i64, i64) {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    (nanos(meta.mtime(), meta.mtime_nsec()), nanos(meta.ctime(), meta.ctime_nsec()))
}

/// Checks that files can be made in a folder. Modes do not tell: a file system may be mounted read-only.
///
/// # Errors
/// Why not.
pub fn is_writable(folder: &Path) -> io::Result<()> {
    use rustix::fs::Access;
    Ok(rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Reads from `offset` on; says how many bytes.
///
/// # Errors
/// What the system says.
pub fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(into, offset)
}

pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

pub(super) fn at_once(options: &mut OpenOptions) {
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
}

pub(super) fn open_to_sync(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Waits until the names in a folder are on the disk.
///
/// # Errors
/// What the system says.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes a symbolic link to a file.
///
/// # Errors
/// What the system says.
pub fn symlink(to: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, link)
}
