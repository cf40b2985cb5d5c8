//! Records as bytes: a version byte, eight bytes of checksum, a bincode payload.
//!
//! bincode carries no schema: bytes of one shape read as another give nonsense or an error. So every
//! shape is frozen in a module of its own ([`super::v1`], [`super::v2`]), the version byte says which one it is, and the
//! checksum is over both. A version that is not known is damage like any other.

use bincode::Options;
use serde::{Deserialize, Serialize};

use super::damage::Damage;
use super::record::{ChunkRecord, NoteRecord};
use super::{v1, v2};
use context::ContextRecord;
use note::VaultPath;

/// The version of records that have no later one.
const VERSION: u8 = 1;

/// The version in which notes and their contexts are written.
const NOTES: u8 = 2;

/// Bytes before the payload.
const HEAD: usize = 1 + 8;

/// The largest payload: a note of 8 MiB that consists of headings stays below it.
const MOST: u64 = 64 << 20;

/// The hash of a context's bytes, which names it within the journal and the archive.
pub(super) type Id = [u8; 16];

/// The name of a context, from its encoded bytes.
pub(super) fn id(record: &[u8]) -> Id {
    let mut id = [0; 16];
    id.copy_from_slice(&blake3::hash(record).as_bytes()[..16]);
    id
}

/// Counters of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    /// The last sequence number given.
    pub seq: u64,
    /// The next note number to give; never 0.
    pub next_no: u32,
}

impl Default for Counters {
    fn default() -> Self {
        Counters { seq: 0, next_no: 1 }
    }
}

fn options() -> impl Options {
    bincode::DefaultOptions::new().with_limit(MOST)
}

/// The first eight bytes of BLAKE3 over `parts`.
pub(super) fn checksum(parts: &[&[u8]]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let mut out = [0; 8];
    out.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    out
}

/// Seals a payload of a version.
fn seal_as(version: u8, value: &impl Serialize) -> Result<Vec<u8>, Damage> {
    let shape = |error: bincode::Error| Damage::Shape(error.to_string());
    let size = options().serialized_size(value).map_err(shape)? as usize;
    let mut out = Vec::with_capacity(HEAD + size);
    out.extend_from_slice(&[0; HEAD]);
    options().serialize_into(&mut out, value).map_err(shape)?;
    out[0] = version;
    let sum = checksum(&[&[version], &out[HEAD..]]);
    out[1..HEAD].copy_from_slice(&sum);
    Ok(out)
}

/// Seals a payload that has no later version than the first: a context's name, or a small value of the engine.
pub(super) fn seal(value: &impl Serialize) -> Result<Vec<u8>, Damage> {
    seal_as(VERSION, value)
}

/// The version and payload of a record whose checksum is right.
fn unseal(bytes: &[u8]) -> Result<(u8, &[u8]), Damage> {
    let (head, payload) = bytes.split_at_checked(HEAD).ok_or(Damage::Short)?;
    if checksum(&[&head[..1], payload]) != head[1..] {
        return Err(Damage::Checksum);
    }
    Ok((head[0], payload))
}

/// Whether bytes are a whole record, of any version.
pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    unseal(bytes).is_ok()
}

fn read<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> Result<T, Damage> {
    options().deserialize(payload).map_err(|error| Damage::Shape(error.to_string()))
}

/// Reads a record that has no later version than the first.
pub(super) fn read_first<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Damage> {
    match unseal(bytes)? {
        (VERSION, payload) => read(payload),
        (other, _) => Err(Damage::Version(other)),
    }
}

/// A note, without its path, which is its key.
pub(super) fn encode_note(note: &NoteRecord) -> Result<Vec<u8>, Damage> {
    seal_as(NOTES, &v2::Note::from(note))
}

/// The note that was stored under `path`.
pub(super) fn decode_note(path: &[u8], bytes: &[u8]) -> Result<NoteRecord, Damage> {
    let path = std::str::from_utf8(path).ok().and_then(VaultPath::parse);
    let path = path.ok_or_else(|| Damage::Shape("its key is not a path".into()))?;
    match unseal(bytes)? {
        (1, payload) => read::<v1::Note<'_>>(payload)?.into_record(path),
        (2, payload) => read::<v2::Note<'_>>(payload)?.into_record(path),
        (other, _) => Err(Damage::Version(other)),
    }
}

/// Encodes the contexts of a note's chunks, in order. Text and sketch of a template's context are not kept.
pub(super) fn encode_contexts_of(chunks: &[ChunkRecord], contexts: &[ContextRecord]) -> Result<Vec<u8>, Damage> {
    seal_as(NOTES, &v2::Contexts::from_records(chunks, contexts))
}

/// The contexts in the bytes; `chunks` are the chunks that they were written with.
pub(super) fn decode_contexts_of(chunks: &[ChunkRecord], bytes: &[u8]) -> Result<Vec<ContextRecord>, Damage> {
    let contexts = match unseal(bytes)? {
        (1, payload) => read::<v1::Contexts<'_>>(payload)?.into_records()?,
        (2, payload) => read::<v2::Contexts<'_>>(payload)?.into_records(chunks)?,
        (other, _) => return Err(Damage::Version(other)),
    };
    if contexts.len() == chunks.len() { Ok(contexts) } else { Err(Damage::Shape("contexts of other chunks".into())) }
}

/// The paid contexts in the bytes, which are of so many chunks; each with the position of its chunk. Cheaper than
/// decoding all.
pub(super) fn decode_paid(chunks: usize, bytes: &[u8]) -> Result<Vec<(usize, ContextRecord)>, Damage> {
    let (all, contexts) = match unseal(bytes)? {
        (1, payload) => {
            let contexts = read::<v1::Contexts<'_>>(payload)?.into_records()?;
            (contexts.len(), contexts.into_iter().enumerate().collect())
        }
        (2, payload) => read::<v2::Contexts<'_>>(payload)?.into_others()?,
        (other, _) => return Err(Damage::Version(other)),
    };
    let paid = contexts.into_iter().filter(|(_, context): &(usize, ContextRecord)| context.is_paid()).collect();
    if all == chunks { Ok(paid) } else { Err(Damage::Shape("contexts of other chunks".into())) }
}

/// Encodes contexts of the archive or the journal. Text and sketch of a template's context are not kept.
pub(super) fn encode_contexts<'a>(contexts: impl IntoIterator<Item = &'a ContextRecord>) -> Result<Vec<u8>, Damage> {
    seal(&v1::Contexts::from_records(contexts))
}

/// The contexts in the bytes.
pub(super) fn decode_contexts(bytes: &[u8]) -> Result<Vec<ContextRecord>, Damage> {
    read_first::<v1::Contexts<'_>>(bytes)?.into_records()
}

/// The only context in the bytes.
pub(super) fn decode_context(bytes: &[u8]) -> Result<ContextRecord, Damage> {
    let mut contexts = decode_contexts(bytes)?;
    match (contexts.pop(), contexts.is_empty()) {
        (Some(context), true) => Ok(context),
        _ => Err(Damage::Shape("one context was expected".into())),
    }
}

/// The counters.
pub(super) fn encode_counters(counters: Counters) -> Result<Vec<u8>, Damage> {
    seal(&v1::Counters { seq: counters.seq, next_no: counters.next_no })
}

/// The counters in the bytes.
pub(super) fn decode_counters(bytes: &[u8]) -> Result<Counters, Damage> {
    let v1::Counters { seq, next_no } = read_first(bytes)?;
    Ok(Counters { seq, next_no: next_no.max(1) })
}

/// An entry of the journal, under the version that first had it: an older program then leaves it where it is.
pub(super) fn encode_entry(entry: &v1::Entry) -> Result<Vec<u8>, Damage> {
    seal_as(entry.version(), entry)
}

/// The entry in the bytes.
pub(super) fn decode_entry(bytes: &[u8]) -> Result<v1::Entry, Damage> {
    match unseal(bytes)? {
        (1..=3, payload) => read(payload),
        (other, _) => Err(Damage::Version(other)),
    }
}

#[cfg(test)]
pub(super) mod tests;
