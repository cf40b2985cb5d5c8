//! Opens the store and the index of a vault.

use std::path::{Path, PathBuf};

use super::commit::{Room, open_index};
use crate::EngineError;
use index::{Index, Language};
use provider::Embedder;
use store::{ReadInputs, Store};

/// Whether the store is scanned before it is used.
#[derive(Clone, Copy)]
pub(super) enum Opening {
    /// No: it is scanned while it is loaded, which takes half the time. A damaged store is an error.
    Unscanned,
    /// Yes: a damaged store is moved aside.
    Scanned,
}

/// A damaged store that was moved aside.
pub(super) struct Quarantined {
    moved_to: PathBuf,
    why: String,
    /// How many contexts came back from the journal.
    recovered: u64,
    /// How many stretches of the journal cannot be read.
    damaged: u64,
}

impl Opening {
    /// Opens store and index in `dir`, and says what was moved aside.
    pub(super) fn open(
        self,
        dir: &Path,
        (embedder, language): (&Embedder, Option<Language>),
        room: &Room<'_>,
    ) -> Result<(Store, Index, Option<Quarantined>), EngineError> {
        let (identity, dimensions) = (embedder.identity(), embedder.dimensions());
        let lexical = dir.join("lexical");
        let has_room = || room(0).is_ok();
        let index = || open_index(&lexical, dimensions, language, room);
        match self {
            Opening::Unscanned => {
                // What the last stop saved answers queries without that.
                let inputs = if index::has_saved(&lexical) { ReadInputs::Later } else { ReadInputs::AtOnce };
                let (store, index) = Store::open_unscanned(dir, identity, dimensions, &has_room, inputs, index)?;
                Ok((store, index?, None))
            }
            Opening::Scanned => {
                let (store, opened) = Store::open_within(dir, identity, dimensions, &has_room)?;
                let (recovered, damaged) = (opened.contexts_recovered, opened.journal_damaged);
                let quarantined =
                    opened.quarantined.map(|(moved_to, why)| Quarantined { moved_to, why, recovered, damaged });
                if quarantined.is_some() && lexical.exists() {
                    // The new store numbers notes from the start: its numbers would match the old words of other notes.
                    std::fs::remove_dir_all(&lexical).map_err(|e| EngineError::io(&lexical, &e))?;
                }
                Ok((store, index()?, quarantined))
            }
        }
    }
}

impl Quarantined {
    /// The message for the user.
    pub(super) fn told(&self, vault: &str) -> String {
        let Quarantined { moved_to, why, recovered, damaged } = self;
        let lost = if *damaged == 0 {
            ""
        } else {
            ", which is damaged too: what it has lost of the contexts that were paid for is not there any more"
        };
        format!(
            "the store of vault `{vault}` was damaged ({why}); it was moved to {} and the index is rebuilt; {recovered} \
             contexts came back from the journal{lost}",
            moved_to.display(),
        )
    }
}
