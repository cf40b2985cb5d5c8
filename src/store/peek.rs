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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::{context_key, text_hash};
    use crate::store::journal::Journal;
    use crate::store::tests::{paid, section};

    #[test]
    fn the_last_context_under_each_key_is_found_and_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(journaled(dir.path()).unwrap().len(), 0, "no journal, no contexts");
        let path = dir.path().join(JOURNAL);
        let (mut journal, _) = Journal::open(&path).unwrap();
        let of = |n: u8, text: &str| paid(&[section(n)], text_hash(&[n]), text);
        let key = |n: u8, text: u8| context_key(&[section(n)], text_hash(&[text]));
        let (first, second, third) = (of(1, "first"), of(2, "second"), of(1, "better"));
        // The second also serves an edited text, and the third comes after the first.
        journal.append([(key(1, 1), &first), (key(2, 2), &second), (key(2, 9), &second), (key(1, 1), &third)]).unwrap();
        journal.sync().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend(&bytes.clone()[..20]);
        std::fs::write(&path, &bytes).unwrap();

        let found = journaled(dir.path()).unwrap();
        let text = |key: ContextKey| found.get(&key).map(|context| context.text.as_str());
        assert_eq!(text(key(1, 1)), Some("better"));
        assert_eq!((text(key(2, 2)), text(key(2, 9))), (Some("second"), Some("second")));
        assert_eq!((text(key(3, 3)), found.len()), (None, 3));
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "the torn frame is left to the one who has it open");
    }
}
