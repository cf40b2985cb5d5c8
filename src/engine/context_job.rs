//! What a note's contexts are ordered with, and what is said of them.

use std::sync::Arc;

use super::decide::NotePipeline;
use super::interrupted::Interrupted;
use context::ContextRecord;
use context::plan::PendingContext;
use context::quality::Flaw;
use note::VaultPath;
use note::fingerprint::ContextKey;
use provider::ledger::Purpose;

/// Tries with the whole note before the simpler prompt.
pub(super) const FULL_TRIES: u8 = 2;

/// Tries in all; then the template stays.
pub(super) const MOST_TRIES: u8 = FULL_TRIES + 1;

/// A note whose contexts are to be written.
pub(super) struct ContextJob {
    pub(super) vault: u64,
    pub(super) vault_name: String,
    pub(super) pipeline: Arc<NotePipeline>,
    pub(super) path: VaultPath,
    /// What is wanted: the chunk's sections and text, and why.
    pub(super) pending: Vec<(ContextKey, PendingContext)>,
    pub(super) purpose: Purpose,
    /// Micro-dollars and tokens that the rebuild may take.
    pub(super) rebuild: Option<(u64, u64)>,
}

/// What comes of a job, piece by piece; the last piece is [`ContextEvent::End`].
#[derive(Debug)]
pub(super) enum ContextEvent {
    /// A context is in the journal and the archive; with a record if it could not be put there.
    Written(ContextKey, Option<Box<ContextRecord>>),
    /// An answer was of no use; there are tries left.
    Tried(ContextKey),
    /// An answer was of no use, and it was the last try.
    GaveUp(ContextKey, Flaw),
    /// The job is done with; `Err` says what kept it from being carried out in full.
    End(Result<(), Interrupted>),
}
