//! Looks again at the notes of a batch just before it leaves the machine, which may be long after its questions were
//! written: a note that has become private, reads differently or is gone is left out.

use std::collections::{HashMap, HashSet};

use super::file::Item;
use crate::context_job::prepare;
use crate::decide::NotePipeline;
use context::document::Document;
use context::plan::{PendingContext, Reason};
use note::VaultPath;
use note::fingerprint::ContextKey;
use store::StoreError;
use vault::read::file_state;

/// The notes of questions, as the questions show them.
pub(super) struct Shown(HashMap<VaultPath, (Document, Vec<(ContextKey, PendingContext)>)>);

impl Shown {
    pub(super) fn of(items: &[Item]) -> Self {
        let mut notes = HashMap::new();
        for item in items {
            let (_, pending): &mut (_, Vec<_>) =
                notes.entry(item.path.clone()).or_insert_with(|| (item.document.clone(), Vec::new()));
            pending.extend(
                item.keys.iter().map(|wanted| {
                    (wanted.key, PendingContext { reason: Reason::Rebuild, since: wanted.since, tries: 0 })
                }),
            );
        }
        Shown(notes)
    }

    /// The notes that may not leave as they are shown; blocks. `None` if the vault is out of reach.
    pub(super) fn withheld(&self, pipeline: &NotePipeline) -> Result<Option<HashSet<VaultPath>>, StoreError> {
        let mut withheld = HashSet::new();
        for (path, (document, pending)) in &self.0 {
            match prepare(pipeline, path, pending) {
                Ok(work) if work.document == *document => continue,
                // Whether a note is gone, its indexer decides: perhaps the whole vault is, for a while.
                Err(_) if file_state(&pipeline.root, path).is_err() && pipeline.store.note(path)?.is_some() => {
                    return Ok(None);
                }
                _ => withheld.insert(path.clone()),
            };
        }
        Ok(Some(withheld))
    }
}
