//! Rebuilds through the provider's batch interface: all contexts that a run wants are handed in at once, at half the
//! price, and answered within a day. The indexer (`indexer::batches`) says when a batch begins, and what follows it.
//!
//! While a run is `batch`, its contexts are not asked for one by one. When the batch ends, the run becomes an ordinary
//! one, which asks for what is left in the normal way.

mod draft;
mod file;
mod judge;
mod look;
mod work;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::context_job::ContextEvent;
use super::decide::NotePipeline;
use crate::VaultShared;
use context::plan::PendingContext;
pub(super) use file::Files;
use note::VaultPath;
use note::fingerprint::ContextKey;
use store::StoreError;
pub(super) use work::carry_out;

/// Which contexts of which notes are wanted.
pub(super) type PendingByNote = Vec<(VaultPath, Vec<(ContextKey, PendingContext)>)>;

/// A batch to hand in, or to go on with.
pub(super) struct BatchJob {
    /// The vault's folder among the daemon's data.
    pub(super) dir: PathBuf,
    pub(super) run: u64,
    pub(super) vault: Arc<VaultShared>,
    pub(super) pipeline: Arc<NotePipeline>,
    /// Which contexts of which notes are wanted; ignored if the batch is already under way.
    pub(super) wanted: PendingByNote,
    /// Micro-dollars and tokens that the rebuild may take.
    pub(super) rebuild: (u64, u64),
    /// Closed when nobody waits for it any more.
    pub(super) control: watch::Receiver<Control>,
    pub(super) tell: Arc<Tell>,
}

/// Reports an event to the engine.
pub(super) type Tell = dyn Fn(BatchEvent) + Send + Sync;

/// What a batch is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// It is handed in and waited for.
    Go,
    /// Nothing is handed in for a while.
    Pause,
    /// It is given up; what is answered is taken all the same.
    Cancel,
}

/// What comes of a batch; the last is [`BatchEvent::End`].
#[derive(Debug)]
pub(super) enum BatchEvent {
    /// What it is doing, for `situated jobs`.
    Phase(String),
    /// What came of one of its notes.
    Note(VaultPath, ContextEvent),
    /// It is over.
    End(End),
}

/// How a batch ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Everything that was answered is in the journal.
    Done,
    /// Some of its requests came back without an answer, as this says.
    Unanswered(String),
    /// It was not handed in, or cannot go on, for this reason.
    OneByOne(String),
    /// The budget does not allow it.
    Stopped(String),
    /// Something cannot be written or read: the batch goes on when the vault is opened again.
    Failed(String),
}

/// Why the work stops early.
enum Halt {
    /// The vault was closed, or the writer is to end: the next process that opens it goes on.
    Gone,
    /// Something cannot be written or read.
    Store(String),
    /// The batch is over, with this end.
    End(End),
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Halt::Store(format!("the batch's files: {error}"))
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Halt::Store(error.to_string())
    }
}

#[cfg(test)]
mod tests;
