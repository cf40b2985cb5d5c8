//! What a journal of contexts holds, read beside whoever has the store open. Nothing is locked or written: the
//! journal only grows, and a frame that is being written just now is passed over.

use std::collections::HashMap;
use std::path::Path;

use super::journal::{HEAD, scan};
use super::v1::Entry;
use super::{JOURNAL, StoreError, codec};
use crate::context::ContextRecord;
use crate::fingerprint::ContextKey;

/// The last context under each key of the journal in a store's folder; none if there is no journal. What cannot
/// be read is passed over.
pub fn journaled(dir: &Path) -> Result<HashMap<ContextKey, ContextRecord>, StoreError> {
    let path = dir.join(JOURNAL);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(StoreError::io(&path, &error)),
    };
    let mut by_id: HashMap<[u8; 16], ContextRecord> = HashMap::new();
    let mut found = HashMap::new();
    for (offset, length) in scan(&bytes).whole {
        match codec::decode_entry(&bytes[offset + HEAD..offset + length]) {
            Ok(Entry::Context { keys, record }) => {
                if let Ok(context) = codec::decode_context(&record) {
                    found.extend(keys.into_iter().map(|key| (key, context.clone())));
                    by_id.insert(super::journal::id(&record), context);
                }
            }
            Ok(Entry::Alias { key, of }) => {
                if let Some(context) = by_id.get(&of) {
                    found.insert(key, context.clone());
                }
            }
            Err(_) => {}
        }
    }
    Ok(found)
}
