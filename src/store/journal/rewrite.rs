//! Rewriting a journal that nobody has open.

use std::fs;
use std::path::Path;

use super::Journal;
use super::entries::{Entries, held};
use super::frames::{HEAD, frame, scan};
use crate::codec::{self, Id, id};
use crate::damage::Damage;
use crate::v1::Entry;
use crate::{StoreError, salvage};
use note::fingerprint::ContextKey;

/// Rewrites the journal at `path` without damage, with each context's keys in one entry and each note's contexts in
/// one. Entries of another version are copied as they are; if there was damage, the file as it was stays beside the new
/// one.
pub(crate) fn compact(path: &Path) -> Result<(), StoreError> {
    if !path.exists() {
        return Ok(());
    }
    let fail = |error: std::io::Error| StoreError::io(path, &error);
    let (journal, damaged) = Journal::open(path)?;
    let bytes = fs::read(path).map_err(fail)?;
    let out = journal.with_entries(|entries| rewritten(entries, &bytes)).map_err(|damage| journal.unfit(&damage))?;
    if damaged > 0 {
        fs::copy(path, salvage::aside(path)).map_err(fail)?;
    }
    // Windows does not rename over an open file.
    drop(journal);
    platform::files::replace(path, &out, 0o600).map_err(fail)
}

/// The frames that say the same as `entries`, which were read from `bytes`.
fn rewritten(entries: &Entries, bytes: &[u8]) -> Result<Vec<u8>, Damage> {
    let places = entries.places();
    let mut keys: Vec<Vec<ContextKey>> = vec![Vec::new(); places.len()];
    let mut again = Vec::new();
    for key in entries.keys() {
        let mut order: Vec<u32> = entries.under(key).collect();
        order.reverse();
        order.iter().for_each(|&n| keys[n as usize].push(key));
        if !order.is_sorted() {
            again.push((key, order));
        }
    }
    // Where a key went back to an older context, its order is written again behind all contexts.
    again.sort_unstable();
    let mut out = Vec::new();
    let mut ids: Vec<Id> = Vec::with_capacity(keys.len());
    for (place, mut keys) in places.iter().zip(keys) {
        // A fixed order, with the newest key last as `learn` expects.
        keys.sort_unstable_by_key(|key| (*key == place.newest, *key));
        let start = place.offset as usize + HEAD;
        let payload = &bytes[start..start + place.length as usize - HEAD];
        if let Entry::Context { record, .. } = codec::decode_entry(payload)? {
            ids.push(id(&record));
            frame(&Entry::Context { keys, record }, &mut out)?;
        }
    }
    for (key, order) in again {
        for of in order.iter().filter_map(|&n| ids.get(n as usize).copied()) {
            frame(&Entry::Alias { key, of }, &mut out)?;
        }
    }
    for (holder, contexts) in entries.holders() {
        let of = contexts.iter().filter_map(|n| ids.get(*n as usize).copied()).collect();
        frame(&held(&holder.path, &holder.tags, holder.removed, of), &mut out)?;
    }
    // All expansions, also of contexts that only the database has at present.
    for (offset, length) in entries.expansions() {
        out.extend_from_slice(&bytes[offset as usize..][..length as usize]);
    }
    for (offset, length) in scan(bytes).whole {
        let whole = &bytes[offset..offset + length];
        if matches!(codec::decode_entry(&whole[HEAD..]), Err(Damage::Version(_))) {
            out.extend_from_slice(whole);
        }
    }
    Ok(out)
}
