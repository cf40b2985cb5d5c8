//! The archive: contexts that no chunk holds any more, or not yet, and the keys that find them.
//!
//! The archive has each context once, under its name, however many keys find it: chunks give up the same context with
//! one text after another. Older programs put a copy under each key. Those copies are still found, but what was
//! archived under their keys since comes first. Such a program does not see a context under its name, and finds it in
//! the journal.

use super::{Tree, Trees, Writes};
use crate::codec;
use crate::salvage::{Fault, guarded};
use context::ContextRecord;
use note::fingerprint::ContextKey;

impl Writes {
    /// Puts a context into the archive, where `key` finds it from now on.
    pub(crate) fn archive(&mut self, key: ContextKey, context: &ContextRecord) -> Result<(), Fault> {
        let record = codec::encode_contexts([context])?;
        let id = codec::id(&record);
        self.0.push((Tree::ArchiveKeys, key.0.to_vec(), Some(codec::seal(&id)?)));
        self.0.push((Tree::Archived, id.to_vec(), Some(record)));
        Ok(())
    }
}

impl Trees {
    /// Decodes the archive and returns its paid contexts that the caller does not know, with the keys that find them.
    /// The caller runs it under [`guarded`].
    pub(super) fn scan_archive(
        &self,
        is_known: impl Fn(ContextKey) -> bool,
    ) -> Result<Vec<(ContextKey, ContextRecord)>, Fault> {
        let mut unknown = Vec::new();
        for entry in self.all_of(&self.archive) {
            let (key, bytes) = entry?;
            let (key, context) = (archive_key(&key)?, codec::decode_context(&bytes)?);
            if context.is_paid() && !is_known(key) {
                unknown.push((key, context));
            }
        }
        for entry in self.all_of(&self.archived) {
            codec::decode_context(&entry?.1)?;
        }
        // Last, because these are the contexts that a key finds.
        for entry in self.all_of(&self.archive_keys) {
            let (key, id) = entry?;
            let (key, id): (_, codec::Id) = (archive_key(&key)?, codec::read_first(&id)?);
            let context = if is_known(key) { None } else { self.context_at(&self.archived, &id)? };
            unknown.extend(context.filter(ContextRecord::is_paid).map(|context| (key, context)));
        }
        Ok(unknown)
    }

    /// The context that was archived last under a key.
    pub(crate) fn archived_under(&self, key: ContextKey) -> Result<Option<ContextRecord>, Fault> {
        guarded(|| {
            if let Some(id) = self.archive_keys.get(key.0)? {
                self.touched_one(&id);
                return self.context_at(&self.archived, &codec::read_first::<codec::Id>(&id)?);
            }
            self.context_at(&self.archive, &key.0)
        })
    }

    /// The context under a key in a tree of contexts. The caller runs it under [`guarded`].
    fn context_at(&self, tree: &sled::Tree, key: &[u8]) -> Result<Option<ContextRecord>, Fault> {
        let bytes = tree.get(key)?;
        self.touched_one(bytes.as_deref().unwrap_or_default());
        Ok(bytes.map(|bytes| codec::decode_context(&bytes)).transpose()?)
    }

    /// Every key that finds a context of the archive, some perhaps twice.
    pub(crate) fn archive_keys(&self) -> Result<Vec<ContextKey>, Fault> {
        let entries = || self.all_of(&self.archive).chain(self.all_of(&self.archive_keys));
        guarded(|| entries().map(|entry| archive_key(&entry?.0)).collect())
    }
}

fn archive_key(bytes: &[u8]) -> Result<ContextKey, Fault> {
    let key = bytes.try_into().map_err(|_| Fault::Damaged("a key of the archive has another length".into()))?;
    Ok(ContextKey(key))
}
