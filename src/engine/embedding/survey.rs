//! What notes look like to another embedder than the one that serves: the inputs of each, and which of them it has
//! not made vectors of yet. Reads the vault and the store, writes nothing but vectors made in no time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::decide::{Desk, Task};
use super::super::now_s;
use crate::embed::Input;
use crate::fingerprint::{InputHash, text_hash};
use crate::store::StoreError;
use crate::vault::VaultPath;
use crate::vault::read::read;

/// A note, looked at.
pub(in crate::engine) struct Surveyed {
    pub(in crate::engine) path: VaultPath,
    pub(in crate::engine) found: Found,
}

/// What was found.
pub(in crate::engine) enum Found {
    /// It is not in the store.
    Nothing,
    /// It is not what the store knows, or cannot be read now: whoever decides about it next will see to it.
    Unsettled,
    /// Its inputs by chunk, and documents that lack vectors.
    Inputs { inputs: Vec<Vec<InputHash>>, missing: Vec<Vec<Input>> },
    /// The store failed.
    Failed(StoreError),
}

/// Looks at notes with another embedder's eyes.
pub(in crate::engine) fn survey(desk: &Desk, paths: Vec<VaultPath>) -> Vec<Surveyed> {
    let look = |path: VaultPath| {
        // As when it was decided about: a note that makes a parser panic is passed over.
        let found = catch_unwind(AssertUnwindSafe(|| look_at(desk, &path)));
        Surveyed { found: found.unwrap_or(Ok(Found::Unsettled)).unwrap_or_else(Found::Failed), path }
    };
    paths.into_iter().map(look).collect()
}

fn look_at(desk: &Desk, path: &VaultPath) -> Result<Found, StoreError> {
    let Some(record) = desk.store.note(path)? else { return Ok(Found::Nothing) };
    let Ok((bytes, stat)) = read(&desk.root, path, desk.max_note_bytes) else { return Ok(Found::Unsettled) };
    if text_hash(&bytes) != record.hash {
        return Ok(Found::Unsettled);
    }
    let contexts = desk.store.contexts(path)?;
    let decided = desk.decide(&Task::again(path.clone()), &bytes, stat, Some((record, contexts)), now_s())?;
    desk.vectors.put(&decided.vectors)?;
    let chunks = decided.write.put.into_iter().flat_map(|(record, _)| record.chunks);
    Ok(Found::Inputs { inputs: chunks.map(|chunk| chunk.inputs).collect(), missing: decided.missing })
}
