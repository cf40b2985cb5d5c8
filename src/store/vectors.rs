//! Cached vectors: one flat file per embedder and number of dimensions.
//!
//! A header (magic, format version, dimensions, identity, checksum), then records of one size: the input's
//! hash, the scale as a little-endian `f32`, one byte per dimension, four bytes of checksum. Records are
//! appended, or overwrite one that was given up long ago ([`VectorFile::give_up`]), and are not fsynced: a vector
//! can be made again, a lost one costs microseconds. Memory holds a map from input to record ([`inputs`]). The vectors
//! stay on disk, and the index reads them through a memory map of the file ([`index::Matrix`]). Getting a record checks
//! its checksum; a search takes records as they are.

mod inputs;

use std::collections::{HashSet, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::files::{Mapped, read_exact_at, write_all_at};

use super::{StoreError, codec};
use index::Rows;
use index::embed::Vector;
pub(super) use inputs::Records;
use inputs::{Inputs, Slot};
use note::fingerprint::InputHash;

/// Vectors without a note that are kept in any case, however few vectors notes name.
pub(super) const SPARE: usize = 1000;

const MAGIC: [u8; 8] = *b"SITUVEC\x01";

/// The cache of one embedder's vectors.
pub(super) struct VectorFile {
    file: Arc<File>,
    path: PathBuf,
    head: u64,
    dimensions: usize,
    records: u32,
    inputs: Inputs,
    /// Whether `inputs` has those that were in the file when it was opened.
    is_read: bool,
    /// The memory map of the file up to its last record; `None` where the system cannot map files.
    mapped: Option<Mapped>,
    dirty: bool,
    /// Free records, which are overwritten next, the oldest first.
    free: VecDeque<u32>,
    /// Records that the last call of [`VectorFile::give_up`] gave up: a search under way may still read them.
    resting: Vec<u32>,
    /// Where the search for the oldest record starts: records are given up, and so overwritten, in a ring.
    hand: u32,
}

/// The name of the file: readable, and unique because of a hash of the identity.
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

/// Where a record's values begin.
const VALUES: usize = 16 + 4;

/// The input of a record, if its checksum is right.
fn input_of(record: &[u8]) -> Option<InputHash> {
    let (body, sum) = record.split_at_checked(record.len().checked_sub(4)?)?;
    let input = body.first_chunk::<16>()?;
    (record_sum(body) == sum).then_some(InputHash(*input))
}

/// The vector of a record, if it is this input's.
fn vector_of(record: &[u8], input: InputHash) -> Option<Vector> {
    if input_of(record)? != input {
        return None;
    }
    let scale = record.get(16..)?.first_chunk::<4>()?;
    let values = record.get(VALUES..record.len().checked_sub(4)?)?;
    Some(Vector { values: values.iter().map(|v| v.cast_signed()).collect(), scale: f32::from_le_bytes(*scale) })
}

/// Writes the header if it is wrong. A crash while the file was made can leave a part of it. A whole file with a
/// damaged header is still read: its name says what the header must be, and records have checksums.
fn mend_header(file: &File, head: &[u8]) -> io::Result<()> {
    let mut found = vec![0; head.len()];
    if file.metadata()?.len() < head.len() as u64 {
        file.set_len(0)?;
    } else {
        read_exact_at(file, &mut found, 0)?;
    }
    if found == head { Ok(()) } else { write_all_at(file, head, 0) }
}

impl VectorFile {
    /// Opens or creates the file of an embedder in `dir`. A torn last record is cut off. Nothing is known of its inputs
    /// until [`VectorFile::read_inputs`] has read them.
    pub(super) fn open(dir: &Path, identity: &str, dimensions: usize) -> Result<Self, StoreError> {
        let path = dir.join(file_name(identity, dimensions));
        let fail = |error: io::Error| StoreError::io(&path, &error);
        let options = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = options().map_err(fail)?;
        let head = header(identity, dimensions);
        let length = file.metadata().map_err(fail)?.len().max(head.len() as u64);
        mend_header(&file, &head).map_err(fail)?;
        let (head, size) = (head.len() as u64, record_size(dimensions) as u64);
        let records = (length - head) / size;
        if head + records * size < length {
            file.set_len(head + records * size).map_err(fail)?;
        }
        let records = u32::try_from(records).map_err(|_| fail(io::ErrorKind::FileTooLarge.into()))?;
        let mut file = VectorFile {
            file: Arc::new(file),
            path,
            head,
            dimensions,
            records,
            inputs: Inputs::default(),
            is_read: false,
            mapped: None,
            dirty: false,
            free: VecDeque::new(),
            resting: Vec::new(),
            hand: 0,
        };
        file.map();
        Ok(file)
    }

    /// The same, and reads its inputs.
    pub(super) fn open_and_read(
        dir: &Path,
        identity: &str,
        dimensions: usize,
        room: &dyn Fn() -> bool,
    ) -> Result<Self, StoreError> {
        let mut file = VectorFile::open(dir, identity, dimensions)?;
        file.read_inputs(room)?;
        Ok(file)
    }

    /// Where a record begins.
    fn place(&self, record: u32) -> u64 {
        self.head + u64::from(record) * record_size(self.dimensions) as u64
    }

    /// Maps all records into memory.
    fn map(&mut self) {
        let end = self.place(self.records) as usize;
        let mapped = self.mapped.as_ref().map_or_else(|| Mapped::of(&self.file, end), |mapped| mapped.grown(end));
        // If that fails, the old map stays, and records outside it are read from the file.
        self.mapped =
            mapped.inspect_err(|error| tracing::debug!(%error, "vectors are not mapped")).ok().or(self.mapped.take());
    }

    /// Fills the map from inputs to records, unless that was done before; the last record of an input counts.
    ///
    /// # Errors
    /// `room` says that there is no memory for it, though a few records always fit; or the file is cut.
    pub(super) fn read_inputs(&mut self, room: &dyn Fn() -> bool) -> Result<(), StoreError> {
        /// Checks for room after every so many records.
        const ASK_AFTER: usize = 1 << 16;
        if self.is_read {
            return Ok(());
        }
        let mut slots = Vec::with_capacity(self.records as usize);
        for first in (0..self.records).step_by(ASK_AFTER) {
            if first > 0 && !room() {
                return Err(StoreError::NoRoom);
            }
            for record in first..self.records.min(first + ASK_AFTER as u32) {
                let cut = || StoreError::io(&self.path, &io::ErrorKind::UnexpectedEof.into());
                slots.push(Slot::new(self.input_at(record, true).ok_or_else(cut)?, record));
            }
        }
        self.inputs = Inputs::of(slots, |one, other| self.input_at(one, true) == self.input_at(other, true));
        self.is_read = true;
        Ok(())
    }

    /// Goes on as if no input had a vector.
    pub(super) fn know_none(&mut self) {
        self.is_read = true;
    }

    /// The input that a record names, if the file has the record; its checksum is not checked. With `mapped` it is read
    /// from the memory map: the caller has just checked that the file is not cut.
    fn input_at(&self, record: u32, mapped: bool) -> Option<InputHash> {
        let at = self.place(record);
        let mut input = [0; 16];
        let place = at as usize..at as usize + input.len();
        match self.mapped.as_ref().filter(|_| mapped).and_then(|mapped| mapped.get(place)) {
            Some(bytes) => input.copy_from_slice(bytes),
            None => read_exact_at(&self.file, &mut input, at).ok()?,
        }
        Some(InputHash(input))
    }

    /// The record of an input; for `mapped` see [`VectorFile::input_at`].
    pub(super) fn record_of(&self, input: InputHash, mapped: bool) -> Option<u32> {
        self.inputs.get(input, |record| self.input_at(record, mapped) == Some(input))
    }

    /// The records as rows of an index's matrix; `None` if the file is not mapped. Does not check that the file is not
    /// cut.
    pub(super) fn rows(&self) -> Option<Rows> {
        let bytes = self.mapped.clone()?;
        let (stride, dimensions) = (record_size(self.dimensions), self.dimensions);
        Some(Rows { bytes: Some(bytes), first: self.head as usize + VALUES, stride, dimensions })
    }

    /// Whether an input has a vector, as far as the map knows.
    pub(super) fn holds(&self, input: InputHash) -> bool {
        self.record_of(input, false).is_some()
    }

    /// How many inputs have a vector.
    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// The vector of an input, and which record has it. If the record is damaged on disk, forgets it and returns
    /// `None`. For `mapped` see [`VectorFile::input_at`].
    pub(super) fn get(&mut self, input: InputHash, mapped: bool) -> Option<(u32, Vector)> {
        self.read(input, mapped, |record| vector_of(record, input))
    }

    /// Which record has the vector of an input, if it is whole. Otherwise as [`VectorFile::get`].
    pub(super) fn whole_record_of(&mut self, input: InputHash, mapped: bool) -> Option<u32> {
        self.read(input, mapped, |record| (input_of(record)? == input).then_some(())).map(|(record, ())| record)
    }

    /// Reads something from the record of an input; if that gives `None`, the record is damaged and is forgotten.
    fn read<T>(&mut self, input: InputHash, mapped: bool, read: impl Fn(&[u8]) -> Option<T>) -> Option<(u32, T)> {
        let record = self.record_of(input, mapped)?;
        let (at, size) = (self.place(record), record_size(self.dimensions));
        let place = at as usize..at as usize + size;
        let seen = self.mapped.as_ref().filter(|_| mapped).and_then(|mapped| mapped.get(place));
        let found = if let Some(bytes) = seen {
            read(bytes)
        } else {
            let mut bytes = vec![0; size];
            read_exact_at(&self.file, &mut bytes, at).ok().and_then(|()| read(&bytes))
        };
        if found.is_none() {
            self.inputs.remove(input, record);
        }
        Some((record, found?))
    }

    /// How many records the file has, and when it was written last, in nanoseconds since 1970 (UTC). While both are the
    /// same, so is what the records have.
    pub(super) fn version(&self) -> Result<(u32, i64), StoreError> {
        let meta = self.file.metadata().map_err(|error| StoreError::io(&self.path, &error))?;
        Ok((self.records, platform::files::times(&meta).0))
    }

    /// Keeps the vectors of inputs that have none yet.
    pub(super) fn put(&mut self, vectors: &[(InputHash, Vector)]) -> Result<(), StoreError> {
        let fail = |message: String| StoreError::Io { path: self.path.clone(), message };
        if let Some((_, wrong)) = vectors.iter().find(|(_, vector)| vector.values.len() != self.dimensions) {
            let wrong = wrong.values.len();
            return Err(fail(format!("a vector has {wrong} dimensions instead of {}", self.dimensions)));
        }
        let mut fresh = HashSet::new();
        let mut is_new = |input: &InputHash| !self.holds(*input) && fresh.insert(*input);
        let lacking: Vec<&(InputHash, Vector)> = vectors.iter().filter(|(input, _)| is_new(input)).collect();
        if lacking.is_empty() {
            return Ok(());
        }
        let (over, appended) = lacking.split_at(lacking.len().min(self.free.len()));
        let over: Vec<(u32, &(InputHash, Vector))> = self.free.drain(..over.len()).zip(over.iter().copied()).collect();
        let mut bytes = Vec::new();
        for (record, (input, vector)) in &over {
            bytes.clear();
            encode(*input, vector, &mut bytes);
            write_all_at(&self.file, &bytes, self.place(*record)).map_err(|error| fail(error.to_string()))?;
        }
        bytes.clear();
        appended.iter().for_each(|(input, vector)| encode(*input, vector, &mut bytes));
        // Written at their place, not at the file's end: this overwrites what a failed write left behind.
        write_all_at(&self.file, &bytes, self.place(self.records)).map_err(|error| fail(error.to_string()))?;
        self.dirty = true;
        machine::wrote(&self.path);
        over.iter().for_each(|(record, (input, _))| self.inputs.add(*input, *record));
        for (input, _) in appended {
            self.inputs.add(*input, self.records);
            self.records += 1;
        }
        self.map();
        Ok(())
    }

    /// Gives up the oldest vectors that are not `named`. The newest of them stay, half as many as are named plus
    /// [`SPARE`]: they make undo and branch switches cheap. From now on writes overwrite the records that the previous
    /// call gave up. No one may be about to name a vector that is not in `named`.
    pub(super) fn give_up(&mut self, named: &Records) {
        self.free.extend(self.resting.drain(..));
        let mut idle: Vec<u32> = self.inputs.records().filter(|record| !named.has(*record)).collect();
        let most = (self.inputs.len() - idle.len()) / 2 + SPARE;
        let hand = self.hand;
        idle.sort_unstable_by_key(|record| (*record < hand, *record));
        idle.truncate(idle.len().saturating_sub(most));
        let mut given_up = Records::default();
        idle.iter().for_each(|record| given_up.add(*record));
        self.inputs.retain(|record| !given_up.has(record));
        self.hand = idle.last().map_or(hand, |last| last + 1);
        self.resting = idle;
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

/// Rewrites every vector file in `dir` without damaged and repeated records. Of the vectors that no note names any
/// more, the last of the file stay, up to twice as many as notes name: they make undo and branch switches cheap. They are
/// the newest, except where records were written over. No note names vectors of an embedder that is not in force: of
/// these the last stay, up to twice as many as there are inputs, so that switching back is cheap too.
pub(super) fn compact(dir: &Path, live: &HashSet<InputHash>) -> Result<(), StoreError> {
    let fail = |error: io::Error| StoreError::io(dir, &error);
    for entry in fs::read_dir(dir).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("vectors-") && path.extension().is_some_and(|end| end == "bin") {
            compact_file(&path, live)?;
        }
    }
    Ok(())
}

fn compact_file(path: &Path, live: &HashSet<InputHash>) -> Result<(), StoreError> {
    let fail = |error: io::Error| StoreError::io(path, &error);
    let bytes = fs::read(path).map_err(fail)?;
    // Without a good header the file does not say what it is. Opening it under its name repairs the header.
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
    platform::files::replace(path, &out, 0o600).map_err(fail)
}

#[cfg(test)]
mod tests;
