//! The notes on disk. The disk is the truth; events are hints that something may have changed.
//!
//! [`walk`] and [`read`] get at the truth, [`watch`] turns operating-system events into [`Hint`]s, and the pure
//! [`pending`] decides when enough quiet has passed to look again. [`policy`] says for all of them what is a note;
//! [`root`] knows the vault's folder itself; [`documents`] reads files that are not text, through another program;
//! [`obsidian`] knows how Obsidian names notes. Nothing here writes to a vault.

pub mod documents;
pub mod obsidian;
pub mod pending;
pub mod policy;
pub mod read;
pub mod root;
pub mod settings;
#[cfg(test)]
mod testing;
pub mod walk;
pub mod watch;

use std::collections::BTreeSet;

use note::VaultPath;
use serde::{Deserialize, Serialize};

/// Something that may have changed, from the operating system or from a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A path was touched in some way; it may be a note, gone, or neither.
    Path(VaultPath),
    /// The program that wrote a file closed it, or renamed the complete file to this: it can be looked at almost at
    /// once.
    Saved(VaultPath),
    /// A folder appeared or moved; what is in it must be walked (its watch stands already).
    Folder(VaultPath),
    /// Events may have been lost, or there is another reason to look at everything.
    Rescan(RescanReason),
}

/// Why a whole vault is walked; the later ones say more about the vault, and are kept of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RescanReason {
    /// The regular reconciling walk.
    Interval,
    /// The vault is polled.
    Poll,
    /// More paths changed at once than are worth looking at one by one.
    Storm,
    /// The machine slept.
    Resume,
    /// The operating system dropped events.
    Overflow,
    /// A watch could not be placed or was lost.
    WatchLost,
    /// A change is doubted (a vault that seems empty) and needs a second look.
    Doubt,
    /// A user or client asked.
    Asked,
    /// The daemon started.
    Start,
    /// The vault's root was gone, replaced or renamed.
    RootChanged,
}

/// What to look at now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// These paths, and everything in these folders.
    Paths {
        /// Single paths.
        paths: BTreeSet<VaultPath>,
        /// Folders to walk.
        folders: BTreeSet<VaultPath>,
    },
    /// Everything.
    Walk(RescanReason),
}
