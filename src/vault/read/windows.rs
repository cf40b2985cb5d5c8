//! Opening beneath a folder, on Windows: no call there refuses links on the way, so each folder is checked first. A
//! program that can change the vault could put a link in place after the check; but making links needs rights there
//! that few programs have.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_DIRECTORY, ERROR_FILE_NOT_FOUND, ERROR_INVALID_NAME, ERROR_PATH_NOT_FOUND,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES,
};

use super::ReadError;
use note::VaultPath;

/// Opens a file for reading.
pub(super) fn open(root: &Path, path: &VaultPath) -> Result<File, ReadError> {
    open_with(root, path, OpenOptions::new().read(true))
}

/// Opens a file to see what it is; no right to read it is needed.
pub(super) fn open_to_look(root: &Path, path: &VaultPath) -> Result<File, ReadError> {
    open_with(root, path, OpenOptions::new().access_mode(FILE_READ_ATTRIBUTES))
}

fn open_with(root: &Path, path: &VaultPath, options: &mut OpenOptions) -> Result<File, ReadError> {
    let mut place = PathBuf::from(root);
    for name in &path.to_relative() {
        // The folder that the next name is in; the root itself may be a link.
        if place != root && place.symlink_metadata()?.is_symlink() {
            return Err(ReadError::Outside);
        }
        place.push(name);
    }
    // Opens a link itself instead of following it, and opens folders too, to tell them from what is not there.
    let file = options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS).open(&place)?;
    if file.metadata()?.is_symlink() {
        return Err(ReadError::Outside);
    }
    Ok(file)
}

/// Device and inode. Windows tells them only of an open file, not of a name: so that both agree, neither is kept.
pub(super) fn numbers(_meta: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// What the system's error means; `None` if it is not one of the system's.
pub(super) fn reason(error: &io::Error) -> Option<ReadError> {
    Some(match error.raw_os_error()? as u32 {
        ERROR_FILE_NOT_FOUND | ERROR_PATH_NOT_FOUND | ERROR_DIRECTORY | ERROR_INVALID_NAME => ReadError::Gone,
        ERROR_ACCESS_DENIED => ReadError::Denied,
        _ => ReadError::Io(error.to_string()),
    })
}

#[cfg(test)]
mod tests;
