//! Opens the store and the index of a vault.

use std::path::Path;

use super::commit::{Room, open_index};
use crate::EngineError;
use index::{Index, Language};
use provider::Embedder;
use store::{Opened, ReadInputs, Store};

/// Whether the store is scanned before it is used.
#[derive(Clone, Copy)]
pub(super) enum Opening {
    /// No: it is scanned while it is loaded, which takes half the time. A damaged store is an error.
    Unscanned,
    /// Yes: a damaged store is moved aside.
    Scanned,
}

impl Opening {
    /// Opens store and index of a vault in `dir`; also returns what the user is to know of it.
    pub(super) fn open(
        self,
        (vault, dir): (&str, &Path),
        (embedder, language): (&Embedder, Option<Language>),
        room: &Room<'_>,
    ) -> Result<(Store, Index, Option<String>), EngineError> {
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
                if opened.quarantined.is_some() && lexical.exists() {
                    // The new store numbers notes from the start: its numbers would match the old words of other notes.
                    std::fs::remove_dir_all(&lexical).map_err(|e| EngineError::io(&lexical, &e))?;
                }
                Ok((store, index()?, told(vault, &opened)))
            }
        }
    }
}

/// What the user is to know of a damaged store that was moved aside.
fn told(vault: &str, opened: &Opened) -> Option<String> {
    let (moved_to, why) = opened.quarantined.as_ref()?;
    let lost = if opened.journal_damaged == 0 {
        ""
    } else {
        ", which is damaged too: what it has lost of the contexts that were paid for is not there any more"
    };
    Some(format!(
        "the store of vault `{vault}` was damaged ({why}); it was moved to {} and the index is rebuilt; {} contexts came \
         back from the journal{lost}",
        moved_to.display(),
        opened.contexts_recovered,
    ))
}
