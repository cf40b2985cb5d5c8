//! Frames of the journal's file: finds them in bytes, and makes them from entries. Pure.

use crate::codec;
use crate::damage::Damage;
use crate::v1::Entry;

pub(crate) const MAGIC: [u8; 4] = [0xC7, 0x73, 0xF5, 0x0A];
pub(crate) const HEAD: usize = 8;

/// The largest payload: a context is some hundred words, so even one imported from elsewhere is far
/// smaller. A length above it is damage.
const MOST: usize = 16 << 20;

/// What reading the frames of a file found.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Frames {
    /// Offset and length of each whole frame, its head included.
    pub(crate) whole: Vec<(usize, usize)>,
    /// Stretches that are no frames.
    pub(crate) damaged: u64,
    /// Where a torn last frame begins, if the file ends in one.
    pub(crate) torn: Option<usize>,
}

/// Writes an entry as a frame behind what is in `out`.
pub(super) fn frame(entry: &Entry, out: &mut Vec<u8>) -> Result<(), Damage> {
    let payload = codec::encode_entry(entry)?;
    if payload.len() > MOST {
        return Err(Damage::Shape("it is too large".into()));
    }
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&payload);
    Ok(())
}

/// Finds the frames in the bytes of a journal.
pub(crate) fn scan(bytes: &[u8]) -> Frames {
    let mut frames = Frames::default();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(length) = whole_frame(&bytes[at..]) {
            frames.whole.push((at, length));
            at += length;
            continue;
        }
        let next = (at + 1..bytes.len()).find(|&p| bytes[p] == MAGIC[0] && whole_frame(&bytes[p..]).is_some());
        match next {
            Some(next) => {
                frames.damaged += 1;
                at = next;
            }
            None if is_torn(&bytes[at..]) => {
                frames.torn = Some(at);
                break;
            }
            None => {
                frames.damaged += 1;
                break;
            }
        }
    }
    frames
}

/// The length of the frame that the bytes begin with, if it is whole.
fn whole_frame(bytes: &[u8]) -> Option<usize> {
    let (length, rest) = declared(bytes)?;
    let payload = rest.get(..length)?;
    codec::is_sealed(payload).then_some(HEAD + length)
}

/// The payload's length that a frame's head declares, and what follows the head.
fn declared(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    (head[..4] == MAGIC && length <= MOST).then_some((length, rest))
}

/// Whether a tail without a whole frame is the remainder of a write that was cut short: the beginning of a frame, or
/// nothing but the zeros of a file that grew before its data came.
fn is_torn(tail: &[u8]) -> bool {
    let begins = MAGIC.starts_with(&tail[..tail.len().min(4)]) || tail.starts_with(&MAGIC);
    let cut = match declared(tail) {
        Some((length, rest)) => rest.len() <= length,
        None => tail.len() < HEAD,
    };
    (begins && cut) || tail.iter().all(|&b| b == 0)
}
