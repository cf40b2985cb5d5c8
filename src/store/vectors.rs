//! Cached vectors: one flat file per embedder and number of dimensions.
//!
//! A header (magic, format version, dimensions, identity, checksum), then records of one size: the input's
//! hash, the scale as a little-endian `f32`, one byte per dimension, four bytes of checksum. Records are
//! only ever appended and not fsynced: a vector can be made again, a lost one costs microseconds. Memory
//! holds a map from input to row; the vectors stay on disk, for the index keeps a copy of its own.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use platform::files::{read_exact_at, write_all_at};

use super::{StoreError, codec, salvage};
use index::embed::Vector;
use note::fingerprint::InputHash;

const MAGIC: [u8; 8] = *b"SITUVEC\x01";

/// The cache of one embedder's vectors.
pub(super) struct VectorFile {
    file: File,
    path: PathBuf,
    head: u64,
    dimensions: usize,
    rows: u32,
    index: HashMap<InputHash, u32>,
    /// The whole file, between opening and [`VectorFile::release`].
    loaded: Option<Vec<u8>>,
    dirty: bool,
}

/// Name of the file: readable, and unique by a hash of the identity.
fn file_name(identity: &str, dimensions: usize) -> String {
    let slug: String = identity.chars().take(40).map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let hash = blake3::hash(identity.as_bytes()).to_hex();
    format!("vectors-{}-{}-{dimensions}.bin", slug.to_ascii_lowercase(), &hash[..8])
}

fn header(identity: &str, dimensions: usize) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&(dimensions as u32).to_le_bytes());
    head.extend_from_slice(&(identity.len() as u32).to_le_bytes());
    head.extend_from_slice(identity.as_bytes());
    let sum = codec::checksum(&[&head]);
    head.extend_from_slice(&sum);
    head
}

/// Length of the header and dimensions, if the bytes begin with a whole one.
fn read_header(bytes: &[u8]) -> Option<(usize, usize)> {
    let number = |at: usize| {
        let four = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize)
    };
    let (dimensions, identity) = (number(8)?, number(12)?);
    let end = identity.checked_add(16)?;
    let sum = bytes.get(end..end + 8)?;
    let good = bytes.starts_with(&MAGIC) && codec::checksum(&[&bytes[..end]]) == sum;
    good.then_some((end + 8, dimensions))
}

const fn record_size(dimensions: usize) -> usize {
    16 + 4 + dimensions + 4
}

fn record_sum(record: &[u8]) -> [u8; 4] {
    let sum = codec::checksum(&[record]);
    [sum[0], sum[1], sum[2], sum[3]]
}

fn encode(input: InputHash, vector: &Vector, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&input.0);
    out.extend_from_slice(&vector.scale.to_le_bytes());
    out.extend(vector.values.iter().map(|v| v.cast_unsigned()));
    let sum = record_sum(&out[start..]);
    out.extend_from_slice(&sum);
}

/// The input of a record, if its checksum is right.
fn input_of(record: &[u8]) -> Option<InputHash> {
    let (body, sum) = record.split_at_checked(record.len().checked_sub(4)?)?;
    let input = body.first_chunk::<16>()?;
    (record_sum(body) == sum).then_some(InputHash(*input))
}

fn vector_of(record: &[u8]) -> Option<Vector> {
    let scale = record.get(16..)?.first_chunk::<4>()?;
    let values = record.get(20..record.len().checked_sub(4)?)?;
    Some(Vector { values: values.iter().map(|v| v.cast_signed()).collect(), scale: f32::from_le_bytes(*scale) })
}

impl VectorFile {
    /// Opens or creates the file of an embedder in `dir` and reads it whole. A torn last record is cut
    /// off, damaged records are left out.
    pub(super) fn open(dir: &Path, identity: &str, dimensions: usize) -> Result<Self, StoreError> {
        let path = dir.join(file_name(identity, dimensions));
        let fail = |error: io::Error| StoreError::io(&path, &error);
        let head = header(identity, dimensions);
        // A crash while the file was made can leave a part of the header. A whole file with a damaged
        // header is read all the same: its name says what it must be, and records have checksums.
        let options = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = options().map_err(fail)?;
        let mut bytes = fs::read(&path).map_err(fail)?;
        if !bytes.starts_with(&head) {
            if bytes.len() < head.len() {
                file.set_len(0).map_err(fail)?;
                bytes.clone_from(&head);
            } else {
                bytes[..head.len()].copy_from_slice(&head);
            }
            write_all_at(&file, &head, 0).map_err(fail)?;
        }
        let size = record_size(dimensions);
        let whole = (bytes.len() - head.len()) / size;
        let end = head.len() + whole * size;
        if end < bytes.len() {
            bytes.truncate(end);
            file.set_len(end as u64).map_err(fail)?;
        }
        let mut index = HashMap::with_capacity(whole);
        for (row, record) in bytes[head.len()..].chunks_exact(size).enumerate() {
            if let Some(input) = input_of(record) {
                index.insert(input, row as u32);
            }
        }
        let head = head.len() as u64;
        Ok(VectorFile { file, path, head, dimensions, rows: whole as u32, index, loaded: Some(bytes), dirty: false })
    }

    /// Frees the copy of the file in memory; vectors are read from disk from now on.
    pub(super) fn release(&mut self) {
        self.loaded = None;
    }

    /// Reads the file into memory again, for many look-ups.
    pub(super) fn load(&mut self) -> Result<(), StoreError> {
        let bytes = fs::read(&self.path).map_err(|error| StoreError::io(&self.path, &error))?;
        self.loaded = Some(bytes);
        Ok(())
    }

    /// Whether an input has a vector, as far as the map knows.
    pub(super) fn holds(&self, input: InputHash) -> bool {
        self.index.contains_key(&input)
    }

    /// How many inputs have a vector.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// The vector of an input; `None` as well if its record went bad on disk.
    pub(super) fn get(&self, input: InputHash) -> Option<Vector> {
        let row = *self.index.get(&input)?;
        let size = record_size(self.dimensions);
        let at = self.head + u64::from(row) * size as u64;
        // A record that was appended after the file was loaded is read from disk.
        let loaded = self.loaded.as_ref().and_then(|bytes| bytes.get(at as usize..at as usize + size));
        if let Some(record) = loaded {
            return vector_of(record);
        }
        let mut record = vec![0; size];
        read_exact_at(&self.file, &mut record, at).ok()?;
        (input_of(&record) == Some(input)).then(|| vector_of(&record)).flatten()
    }

    /// Appends the vectors of inputs that have none yet.
    pub(super) fn put(&mut self, vectors: &[(InputHash, Vector)]) -> Result<(), StoreError> {
        let fail = |message: String| StoreError::Io { path: self.path.clone(), message };
        let mut bytes = Vec::new();
        let mut inputs = Vec::new();
        let mut fresh = HashSet::new();
        for (input, vector) in vectors {
            if vector.values.len() != self.dimensions {
                let wrong = vector.values.len();
                return Err(fail(format!("a vector has {wrong} dimensions instead of {}", self.dimensions)));
            }
            if !self.index.contains_key(input) && fresh.insert(*input) {
                encode(*input, vector, &mut bytes);
                inputs.push(*input);
            }
        }
        if inputs.is_empty() {
            return Ok(());
        }
        let end = self.head + u64::from(self.rows) * record_size(self.dimensions) as u64;
        // Written at its place, not at the file's end: what a failed write left behind is written over.
        write_all_at(&self.file, &bytes, end).map_err(|error| fail(error.to_string()))?;
        self.dirty = true;
        machine::wrote(&self.path);
        for input in inputs {
            self.index.insert(input, self.rows);
            self.rows += 1;
        }
        Ok(())
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        if self.dirty {
            self.file.sync_data().map_err(|error| StoreError::io(&self.path, &error))?;
            self.dirty = false;
            machine::synced(&self.path);
        }
        Ok(())
    }
}

/// Rewrites every vector file in `dir`: without damaged and repeated records, and without the oldest of
/// those that no note names any more, as far as there are more than twice as many of them as of the
/// others. Those that stay make undo and branch switches cheap. Of an embedder that is not in force no note names
/// anything: twice as many of its newest stay as there are inputs, so that switching back is cheap too.
pub(super) fn compact(dir: &Path, live: &HashSet<InputHash>) -> Result<(), StoreError> {
    let fail = |error: io::Error| StoreError::io(dir, &error);
    for entry in fs::read_dir(dir).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("vectors-") && path.extension().is_some_and(|end| end == "bin") {
            compact_file(&path, live)?;
        }
    }
    salvage::sync_dir(dir)
}

fn compact_file(path: &Path, live: &HashSet<InputHash>) -> Result<(), StoreError> {
    let fail = |error: io::Error| StoreError::io(path, &error);
    let bytes = fs::read(path).map_err(fail)?;
    // Without its header the file does not say what it is; opening it under its name mends that.
    let Some((head, dimensions)) = read_header(&bytes) else {
        return Ok(());
    };
    let mut seen = HashSet::new();
    let good: Vec<(InputHash, &[u8])> = bytes[head..]
        .chunks_exact(record_size(dimensions))
        .filter_map(|record| Some((input_of(record)?, record)))
        .filter(|(input, _)| seen.insert(*input))
        .collect();
    let lives = good.iter().filter(|(input, _)| live.contains(input)).count();
    let kept = if lives == 0 { live.len() } else { lives };
    let mut drop = (good.len() - lives).saturating_sub(2 * kept);
    let mut out = bytes[..head].to_vec();
    for (input, record) in good {
        if drop > 0 && !live.contains(&input) {
            drop -= 1;
        } else {
            out.extend_from_slice(record);
        }
    }
    if out == bytes {
        return Ok(());
    }
    let temporary = path.with_extension("bin.new");
    let mut file = File::create(&temporary).map_err(fail)?;
    file.write_all(&out).and_then(|()| file.sync_all()).map_err(fail)?;
    fs::rename(&temporary, path).map_err(fail)
}

#[cfg(test)]
mod tests;
