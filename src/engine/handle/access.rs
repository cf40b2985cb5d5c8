//! What calls need of a vault to answer about its notes: its published snapshot, a note's bytes, which notes are hidden
//! from an audience, and the error for what is not there.

use std::sync::Arc;

use super::CallError;
use crate::VaultShared;
use crate::decide::NotePipeline;
use crate::disk_access::{Hangs, STATES_WITHIN, TEXT_WITHIN};
use index::{NoteEntry, Snapshot};
use note::{FileStat, Private, VaultPath};
use protocol::audience::Audience;
use store::record::NoteRecord;
use vault::documents::FileText;
use vault::read::ReadError;

/// What a vault answers from; waits for it while the vault is being opened.
pub(super) fn ready(vault: &VaultShared) -> Result<(Arc<Snapshot>, Arc<NotePipeline>), CallError> {
    vault.wait_opened();
    vault.open().ok_or_else(|| vault.closed_because().map_or(CallError::NotReady, CallError::Storage))
}

/// A vault while a request is answered from it: one snapshot, and the pipeline whose embedder made its vectors.
pub(super) struct Served {
    pub(super) vault: Arc<VaultShared>,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) pipeline: Arc<NotePipeline>,
    /// The notes that do not exist for the asker, if there are such.
    pub(super) hidden: Option<Arc<Private>>,
    /// Why saved notes may be missing from the snapshot, if so.
    pub(super) incomplete: Option<String>,
}

impl Served {
    /// With `hide` as if there were no private notes. Waits for the vault while it is being opened.
    pub(super) fn new(vault: &Arc<VaultShared>, hide: bool) -> Result<Self, CallError> {
        // Before the snapshot: what is missing from it is then not taken for complete.
        let incomplete = vault.incomplete_for(hide);
        let (snapshot, pipeline) = ready(vault)?;
        let hidden = hide.then(|| pipeline.private.clone());
        Ok(Served { vault: vault.clone(), snapshot, pipeline, hidden, incomplete })
    }

    /// Whether a note exists for the asker.
    pub(super) fn shows(&self, note: &NoteEntry) -> bool {
        !self.hidden.as_ref().is_some_and(|hidden| hidden.covers(&note.path, note.tags()))
    }
}

/// The notes that are hidden from an audience.
pub(super) fn hidden(pipeline: &NotePipeline, audience: Audience) -> Option<Arc<Private>> {
    audience.is_assistant().then(|| pipeline.private.clone())
}

/// The text of a note, or why it cannot be read.
///
/// # Errors
/// The vault's file system does not answer.
pub(super) fn read(
    vault: &VaultShared,
    path: &VaultPath,
    max_bytes: u64,
) -> Result<Result<FileText, ReadError>, CallError> {
    let (root, path) = (vault.path.clone(), path.clone());
    vault.disk.ask(TEXT_WITHIN, move |disk| disk.read(&root, &path, max_bytes)).map_err(|Hangs| hanging(vault))
}

/// What is at a path of a vault now, or why that is not known.
pub(super) fn state(vault: &VaultShared, path: &VaultPath) -> Result<Result<FileStat, ReadError>, Hangs> {
    let (root, path) = (vault.path.clone(), path.clone());
    vault.disk.ask(STATES_WITHIN, move |disk| disk.stat(&root, &path))
}

/// The error if a vault's file system does not answer.
pub(super) fn hanging(vault: &VaultShared) -> CallError {
    CallError::Storage(format!("vault `{}` does not answer: its file system hangs; try again later", vault.name))
}

/// What the store has of a note: its record, and its contexts.
pub(super) fn stored(
    pipeline: &NotePipeline,
    path: &VaultPath,
) -> Result<Option<(NoteRecord, Vec<context::ContextRecord>)>, CallError> {
    let Some(record) = pipeline.store.note(path)? else { return Ok(None) };
    let contexts = pipeline.store.contexts(path)?;
    Ok(Some((record, contexts)))
}

/// A path as a user gives it.
pub(super) fn parse_path(path: &str) -> Result<VaultPath, CallError> {
    VaultPath::parse(path).ok_or_else(|| {
        CallError::Invalid(format!("`{path}` is no path in a vault: give it relative to the vault, without `..`"))
    })
}

/// A number of things to answer with, if it is 1 to `most`.
pub(super) fn in_range(name: &str, number: usize, most: usize) -> Result<usize, CallError> {
    let wrong = || CallError::Invalid(format!("`{name}` must be 1 to {most}, not {number}"));
    (1..=most).contains(&number).then_some(number).ok_or_else(wrong)
}

/// An error that says what there is instead, or what to do.
pub(super) fn not_found(what: &'static str, name: &str, hint: &str) -> CallError {
    CallError::NotFound { what, name: name.to_owned(), hint: hint.to_owned() }
}
