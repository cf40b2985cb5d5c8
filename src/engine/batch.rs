//! Rebuilds through the provider's batch interface: all wishes of a run handed in at once, at half the price, and
//! answered within a day. When a batch begins, and what follows it, the indexer says (`indexer::batches`).
//!
//! While a run is `batch`, its wishes are not asked for one by one. A batch ends by making the run an ordinary one:
//! what it left is asked for in the normal way.

mod draft;
mod file;
mod judge;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::decide::Desk;
use super::writer::Told;
use context::plan::Due;
pub(super) use file::Files;
use note::VaultPath;
use note::fingerprint::ContextKey;
pub(super) use work::carry_out;

/// Which contexts of which notes are wanted.
pub(super) type Wishes = Vec<(VaultPath, Vec<(ContextKey, Due)>)>;

/// A batch to be handed in, or to be gone on with.
pub(super) struct BatchOrder {
    /// The vault's folder among the daemon's data.
    pub(super) dir: PathBuf,
    pub(super) run: u64,
    pub(super) vault: u64,
    pub(super) vault_name: String,
    pub(super) desk: Arc<Desk>,
    /// What is wanted of which notes; of no account if the batch is under way.
    pub(super) wishes: Wishes,
    /// Micro-dollars and tokens that the rebuild may take.
    pub(super) rebuild: (u64, u64),
    /// Closed when nobody waits for it any more.
    pub(super) control: watch::Receiver<Control>,
    pub(super) tell: Arc<Tell>,
}

/// Tells the engine.
pub(super) type Tell = dyn Fn(BatchTold) + Send + Sync;

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

/// What comes of a batch; the last is [`BatchTold::End`].
#[derive(Debug)]
pub(super) enum BatchTold {
    /// What it is at, for whoever looks at the job.
    Phase(String),
    /// Of a note.
    Note(VaultPath, Told),
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
