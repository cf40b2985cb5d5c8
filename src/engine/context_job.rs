//! A note whose contexts a model is to write, as it is now, and the events that report the outcome.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

use tokio::sync::watch;

use super::decide::NotePipeline;
use super::interrupted::Interrupted;
use context::Expansion;
use context::document::Document;
use context::plan::PendingContext;
use context::quality::Flaw;
use note::VaultPath;
use note::chunk::visible;
use note::fingerprint::{ContextKey, Sketch};
use provider::ledger::Purpose;
use vault::read::read;

/// Tries with the whole note before the simpler prompt.
pub(super) const FULL_TRIES: u8 = 2;

/// Tries in all; then the template stays.
pub(super) const MOST_TRIES: u8 = FULL_TRIES + 1;

/// A note whose contexts are to be written.
pub(super) struct ContextJob {
    pub(super) vault: u64,
    pub(super) vault_name: String,
    /// The folder of the vault's index.
    pub(super) dir: PathBuf,
    pub(super) path: VaultPath,
    /// The contexts to write: by the chunk's sections and text, and why.
    pub(super) pending: Vec<(ContextKey, PendingContext)>,
    pub(super) purpose: Purpose,
    /// Micro-dollars and tokens that the rebuild may take.
    pub(super) rebuild: Option<(u64, u64)>,
    /// Where the note is now: the indexer has the other end. Once that is gone, nothing more is asked: nobody wants it,
    /// or nobody may.
    pub(super) wanted: watch::Receiver<VaultPath>,
}

/// What comes of a job, piece by piece; the last piece is [`ContextEvent::End`].
#[derive(Debug)]
pub(super) enum ContextEvent {
    /// A context was written, and is in the journal and the archive.
    Written,
    /// The same for a context that a team had, which costs nothing.
    Given,
    /// An answer was of no use; there are tries left.
    Tried(ContextKey),
    /// An answer was of no use, and it was the last try.
    GaveUp(ContextKey, Flaw),
    /// The job is over; `Err` says why it was not carried out in full.
    End(Result<(), Interrupted>),
}

/// A context that a team has. Its author gets no credit: the text is judged as a model's answer is.
#[derive(Clone, Debug)]
pub(super) struct TeamContext {
    /// The team.
    pub(super) team: String,
    pub(super) key: ContextKey,
    pub(super) text: String,
    pub(super) expansion: Expansion,
    /// The contextualizer, model and prompt that wrote it.
    pub(super) by: String,
}

/// A note as it is now, with what is left to be written of it.
pub(super) struct Work {
    pub(super) document: Document,
    pub(super) sketches: HashMap<u32, Sketch>,
    /// Number of the passage → its key and the tries it had.
    pub(super) left: HashMap<u32, (ContextKey, u8)>,
    /// Whether only a model on this machine may see it.
    pub(super) private: bool,
}

/// Reads a note and finds the chunks whose contexts are `pending`; blocks.
/// A note that has become private since is not shown to a model elsewhere.
pub(super) fn prepare(
    pipeline: &NotePipeline,
    path: &VaultPath,
    pending: &[(ContextKey, PendingContext)],
) -> Result<Work, Interrupted> {
    let (bytes, _) = read(&pipeline.root, path, pipeline.max_note_bytes).map_err(|_| Interrupted::Changed)?;
    let note = note::parse(path, &bytes, &pipeline.rules);
    let known = pipeline.store.note(path).map_err(|_| Interrupted::Changed)?;
    let private = pipeline.private.covers_now(&note, known.as_ref().map(|known| known.tags.as_slice()));
    if pipeline.writer_leaves && private {
        return Err(Interrupted::Changed);
    }
    let chunks = index::chunk::cut(&note, pipeline.chunk.of(note.kind.as_deref()));
    let document = Document::new(&note, &chunks);
    let wanted_keys: HashMap<ContextKey, u8> = pending.iter().map(|(key, due)| (*key, due.tries)).collect();
    let wanted = document.passages.iter().filter_map(|p| Some((p.n, (p.key, *wanted_keys.get(&p.key)?))));
    let left: HashMap<u32, (ContextKey, u8)> = wanted.collect();
    if left.is_empty() {
        return Err(Interrupted::Changed);
    }
    // What is hidden, such as an application's own data, may change as it likes.
    let seen = |n: &u32| chunks.get(*n as usize - 1).map_or_else(Cow::default, |chunk| visible(&note, &chunk.span));
    let sketches = left.keys().map(|n| (*n, Sketch::of(&seen(n)))).collect();
    Ok(Work { document, sketches, left, private })
}
