//! Looks at notes for an embedder that does not serve yet: the inputs of each, and which of them it has not made
//! vectors of. Reads the vault and the store; writes only vectors that are made in no time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::disk::Disk;
use crate::decide::{NotePipeline, Task};
use crate::now_s;
use index::embed::Input;
use note::VaultPath;
use note::fingerprint::{InputHash, text_hash};
use store::StoreError;

/// A note, looked at.
pub(crate) struct DryRun {
    pub(crate) path: VaultPath,
    /// What was found; or the store failed.
    pub(crate) needs: Result<Needs, StoreError>,
}

/// What was found.
pub(crate) enum Needs {
    /// It is not in the store.
    Nothing,
    /// It differs from what the store knows, or cannot be read now: the next decision handles it.
    Unsettled,
    /// Its inputs by chunk, and documents that lack vectors.
    Inputs { inputs: Vec<Vec<InputHash>>, missing: Vec<Vec<Input>> },
}

/// Looks at notes for another embedder.
pub(crate) fn dry_run(disk: &dyn Disk, pipeline: &NotePipeline, paths: Vec<VaultPath>) -> Vec<DryRun> {
    let look = |path: VaultPath| {
        // As when it was decided about: a note that makes a parser panic is passed over.
        let needs = catch_unwind(AssertUnwindSafe(|| look_at(disk, pipeline, &path)));
        DryRun { needs: needs.unwrap_or(Ok(Needs::Unsettled)), path }
    };
    paths.into_iter().map(look).collect()
}

fn look_at(disk: &dyn Disk, pipeline: &NotePipeline, path: &VaultPath) -> Result<Needs, StoreError> {
    let Some(record) = pipeline.store.note(path)? else { return Ok(Needs::Nothing) };
    let Ok(text) = disk.read(&pipeline.root, path, pipeline.max_note_bytes) else {
        return Ok(Needs::Unsettled);
    };
    if text_hash(&text.bytes) != record.hash {
        return Ok(Needs::Unsettled);
    }
    let contexts = pipeline.store.contexts(path)?;
    let decided = pipeline.decide(&Task::again(path.clone()), text, Some((record, contexts)), now_s())?;
    pipeline.vectors.put(&decided.vectors)?;
    let chunks = decided.write.put.into_iter().flat_map(|(record, _)| record.chunks);
    Ok(Needs::Inputs { inputs: chunks.map(|chunk| chunk.inputs).collect(), missing: decided.missing })
}
