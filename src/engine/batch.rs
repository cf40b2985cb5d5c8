//! Rebuilds through the provider's batch interface: all wanted of a run handed in at once, at half the price, and
//! answered within a day. When a batch begins, and what follows it, the indexer says (`indexer::batches`).
//!
//! While a run is `batch`, its wanted are not asked for one by one. A batch ends by making the run an ordinary one:
//! what it left is asked for in the normal way.

mod draft;
mod file;
mod judge;
mod work;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::context_job::ContextEvent;
use super::decide::NotePipeline;
use context::plan::PendingContext;
pub(super) use file::Files;
use note::VaultPath;
use note::fingerprint::ContextKey;
pub(super) use work::carry_out;

/// Which contexts of which notes are wanted.
pub(super) type PendingByNote = Vec<(VaultPath, Vec<(ContextKey, PendingContext)>)>;

/// A batch to be handed in, or to be gone on with.
pub(super) struct BatchJob {
    /// The vault's folder among the daemon's data.
    pub(super) dir: PathBuf,
    pub(super) run: u64,
    pub(super) vault: u64,
    pub(super) vault_name: String,
    pub(super) pipeline: Arc<NotePipeline>,
    /// What is wanted of which notes; of no account if the batch is under way.
    pub(super) wanted: PendingByNote,
    /// Micro-dollars and tokens that the rebuild may take.
    pub(super) rebuild: (u64, u64),
    /// Closed when nobody waits for it any more.
    pub(super) control: watch::Receiver<Control>,
    pub(super) tell: Arc<Tell>,
}

/// Tells the engine.
pub(super) type Tell = dyn Fn(BatchEvent) + Send + Sync;

/// What is wanted of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// That it is handed in and waited for.
    Go,
    /// That nothing is handed in for a while.
    Pause,
    /// That it is given up; what is answered is taken all the same.
    Cancel,
}

/// What comes of a batch; the last is [`BatchEvent::End`].
#[derive(Debug)]
pub(super) enum BatchEvent {
    /// What it is doing, for `situated jobs`.
    Phase(String),
    /// Of a note.
    Note(VaultPath, ContextEvent),
    /// It is over.
    End(End),
}

/// How a batch ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Everything that was answered is in the journal.
    Done,
    /// It was not handed in, or cannot be gone on with, and why.
    OneByOne(String),
    /// The budget does not allow it.
    Stopped(String),
    /// Something cannot be written or read: it is gone on with when the vault is opened again.
    Failed(String),
}

/// Why the work ends without an end.
enum Halt {
    /// The vault was closed, or the writer is to end: the next process that opens it goes on.
    Gone,
    /// Something cannot be written or read.
    Store(String),
    /// With this.
    End(End),
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Halt::Store(format!("the batch's files: {error}"))
    }
}
