//! The lock file: the lock itself, and in it the last change that was known to be on the disk.
//!
//! A sled file that was cut or zeroed near its end often opens without an error, in an older state. So the lock file
//! keeps the sequence number of the last durable flush: a database that opens with a lower one has lost something and
//! is damaged. The mark is sixteen bytes, number and checksum, written in place; with a wrong checksum it counts as
//! absent.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use platform::files::{read_exact_at, write_all_at};

use super::codec::checksum;
use super::{LOCK, StoreError};

/// Takes the store's own lock, which guards all of its files. The system releases it with the process.
pub(super) fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(|error| StoreError::io(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(dir.to_path_buf())),
        Err(TryLockError::Error(error)) => Err(StoreError::io(&path, &error)),
    }
}

/// Records that everything up to `seq` is on the disk. A failed write is no error: then the mark of the previous flush
/// stays in force.
pub(super) fn write(file: &File, seq: u64) {
    let number = seq.to_le_bytes();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number);
    bytes[8..].copy_from_slice(&checksum(&[&number]));
    let _ = write_all_at(file, &bytes, 0);
}

/// The last number that was recorded, 0 if there is none.
pub(super) fn read(file: &File) -> u64 {
    let (mut number, mut sum) = ([0; 8], [0; 8]);
    let read = read_exact_at(file, &mut number, 0).and_then(|()| read_exact_at(file, &mut sum, 8));
    if read.is_ok() && checksum(&[&number]) == sum { u64::from_le_bytes(number) } else { 0 }
}
