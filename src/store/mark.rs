//! How far the database was known to be on the disk.
//!
//! A sled file that was cut or zeroed near its end often opens without a word, as the older state that is
//! left. So the sequence number of the last durable flush is kept apart, in the lock file: a database that
//! opens with a lower one has lost something and is damaged. Sixteen bytes, number and checksum, written in
//! place; one that does not check says nothing.

use std::fs::File;

use platform::files::{read_exact_at, write_all_at};

use super::codec::checksum;

/// Remembers that everything up to `seq` is on the disk. That it does not last is no error: the mark of
/// the flush before is then in force.
pub(super) fn write(file: &File, seq: u64) {
    let number = seq.to_le_bytes();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number);
    bytes[8..].copy_from_slice(&checksum(&[&number]));
    let _ = write_all_at(file, &bytes, 0);
}

/// The last number that was remembered, 0 if there is none.
pub(super) fn read(file: &File) -> u64 {
    let (mut number, mut sum) = ([0; 8], [0; 8]);
    let read = read_exact_at(file, &mut number, 0).and_then(|()| read_exact_at(file, &mut sum, 8));
    if read.is_ok() && checksum(&[&number]) == sum { u64::from_le_bytes(number) } else { 0 }
}
