//! The texts of a note's chunks, several of them packed as one: a hit is shown with its neighbours, so a reader of one
//! text mostly needs the others too, and texts compress better together than separately.
//!
//! A pack is stored in the document of its first chunk: the length of the raw data (four bytes), then the deflated
//! data. The raw data are the number of chunks, the lengths of text and context of each (four bytes each, least
//! significant first), and then the texts and contexts in turn.

use std::ops::Range;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::scratch::Scratch;
use crate::{ChunkDoc, LexicalError};

/// From this many bytes of text on a pack is full. Unpacking one takes some 25 microseconds; twice the size would make
/// packs smaller by a twentieth.
const FULL: usize = 8 << 10;

/// Largest raw length that a pack may state: notes are read up to 8 MiB, and each of the few chunks of a pack has its
/// context.
const MOST: usize = 64 << 20;

/// The level of zlib. Level 1 packs 10 MB of real notes into .44 of their size, level 2 into .34, level 3 into .33, in
/// 7, 13 and 15 milliseconds per MB; higher levels gain hardly anything.
const LEVEL: u32 = 3;

/// Bytes of a number.
const NUMBER: usize = 4;

/// Packs texts.
pub(super) struct Packer {
    deflate: Compress,
    raw: Vec<u8>,
}

impl Default for Packer {
    fn default() -> Self {
        Packer { deflate: Compress::new(Compression::new(LEVEL), false), raw: Vec::new() }
    }
}

/// Which chunks are packed together: each range is a pack.
pub(super) fn ranges(chunks: &[ChunkDoc]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, chunk) in chunks.iter().enumerate() {
        bytes += chunk.text.len() + chunk.context.len();
        if bytes >= FULL || at + 1 == chunks.len() {
            ranges.push(start..at + 1);
            (start, bytes) = (at + 1, 0);
        }
    }
    ranges
}

impl Packer {
    /// Packs the texts and contexts of chunks.
    pub(super) fn pack(&mut self, chunks: &[ChunkDoc]) -> Result<Vec<u8>, LexicalError> {
        let raw = &mut self.raw;
        raw.clear();
        put(raw, chunks.len());
        for chunk in chunks {
            put(raw, chunk.text.len());
            put(raw, chunk.context.len());
        }
        for chunk in chunks {
            raw.extend_from_slice(chunk.text.as_bytes());
            raw.extend_from_slice(chunk.context.as_bytes());
        }
        // Deflate adds five bytes to a block of up to 64 KiB that it cannot make smaller, and a few at the end.
        let mut packed = Vec::with_capacity(NUMBER + raw.len() + raw.len() / 1000 + 64);
        put(&mut packed, raw.len());
        self.deflate.reset();
        match self.deflate.compress_vec(raw, &mut packed, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => {}
            other => return Err(LexicalError::Failed(format!("a text cannot be packed: {other:?}"))),
        }
        packed.shrink_to_fit();
        Ok(packed)
    }
}

/// What a pack holds.
pub(super) struct Unpacked {
    raw: Vec<u8>,
    count: usize,
}

impl Unpacked {
    /// Unpacks; `None` if these bytes are no pack.
    pub(super) fn new(packed: &[u8]) -> Option<Self> {
        // Reused: a decompressor takes some tens of kilobytes.
        static INFLATE: Scratch<Decompress> = Scratch::new();
        let (length, deflated) = packed.split_at_checked(NUMBER)?;
        let length = number(length).filter(|length| *length <= MOST)?;
        let mut raw = Vec::with_capacity(length);
        let mut inflate = INFLATE.take().unwrap_or_else(|| Decompress::new(false));
        inflate.reset(false);
        let status = inflate.decompress_vec(deflated, &mut raw, FlushDecompress::Finish);
        INFLATE.give(inflate);
        if !matches!(status, Ok(Status::StreamEnd)) || raw.len() != length {
            return None;
        }
        let count = number(raw.get(..NUMBER)?)?;
        Some(Unpacked { raw, count })
    }

    /// How many chunks it has.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Text and context of its chunk `at`.
    pub(super) fn get(&self, at: usize) -> Option<(&str, &str)> {
        if at >= self.count {
            return None;
        }
        let lengths = self.raw.get(NUMBER..NUMBER.checked_add(self.count.checked_mul(2 * NUMBER)?)?)?;
        let mut lengths = lengths.chunks_exact(NUMBER).map(|bytes| number(bytes).unwrap_or_default());
        let before: usize = lengths.by_ref().take(2 * at).sum();
        let (text, context) = (lengths.next()?, lengths.next()?);
        let start = NUMBER + self.count * 2 * NUMBER + before;
        let (text, context) = self.raw.get(start..start.checked_add(text)?.checked_add(context)?)?.split_at(text);
        Some((std::str::from_utf8(text).ok()?, std::str::from_utf8(context).ok()?))
    }
}

fn put(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn number(bytes: &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
}

#[cfg(test)]
mod tests;
